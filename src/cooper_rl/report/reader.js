// The reader of a report's rollouts. They are in the page, compressed by step. Their text is only ever set as text.
// `at`, `make`, `visible`, `option` and `inflate` are those of charts.js.
const SHOWN = 20;
const KEPT = 12;  // unpacked blocks that are remembered
const VERDICTS = ["CORRECT", "INCORRECT", "UNPARSEABLE", "TIMEOUT", "ERROR"];
const index = JSON.parse(at("index").textContent);
for (const run of index.runs) {
  run.steps = run.blocks.flatMap((block) => block.steps);
  run.counts = run.blocks.flatMap((block) => block.counts);
  run.holder = run.blocks.flatMap((block, number) => block.steps.map((_, place) => [number, place]));
}
const loaded = new Promise((done) => document.addEventListener("DOMContentLoaded", done));
const unpacked = new Map();
const columns = [];
let only = null;  // what before and after are asked of: a question, or a source

const marked = (tag, text, wanted) => {
  const element = make(tag), lower = text.toLowerCase();
  let from = 0;
  for (let found = wanted ? lower.indexOf(wanted) : -1; found >= 0; found = lower.indexOf(wanted, from)) {
    element.append(visible(text.slice(from, found)), make("mark", text.slice(found, found + wanted.length)));
    from = found + wanted.length;
  }
  element.append(visible(text.slice(from)));
  return element;
};
const thousands = (number) => number.toLocaleString("en");

async function read(run, number) {
  if (number + 1 < index.runs[run].blocks.length) await loaded;  // each run's last block comes before this script
  return inflate(at(`block-${run}-${number}`).textContent);
}

function unpack(run, number) {
  const key = `${run}-${number}`;
  if (!unpacked.has(key)) {
    unpacked.set(key, read(run, number));
    if (unpacked.size > KEPT) unpacked.delete(unpacked.keys().next().value);
  }
  return unpacked.get(key);
}

async function rowsOf(run, place) {
  const [number, within] = index.runs[run].holder[place];
  return (await unpack(run, number))[within];
}

const narrowed = (asked) => asked.text || only || ["cell", "verdict", "source"].some((name) => asked[name] !== "all");

// The rollouts that are asked for, as [place of the step, place in the step].
async function find(run, asked, told, current) {
  const { steps, counts, holder, blocks } = index.runs[run];
  const places = [...steps.keys()].filter((place) => asked.step === "all" || steps[place] === Number(asked.step));
  const found = [], filtered = narrowed(asked);
  const fits = (row) => (asked.cell === "all" || row[4] === asked.cell) &&
    (asked.verdict === "all" || row[3] === asked.verdict) && (asked.source === "all" || row[7] === asked.source) &&
    (!only?.question || row[0] === only.question) && (only?.source === undefined || row[7] === only.source) &&
    (!asked.text || [0, 1, 2].some((part) => row[part].toLowerCase().includes(asked.text)));
  let paused = performance.now();
  for (const [done, place] of places.entries()) {
    const rows = filtered ? await rowsOf(run, place) : null;
    const ahead = holder[place][0] + 1;
    if (filtered && places.length > 1 && ahead < blocks.length) unpack(run, ahead);  // while this one is searched
    for (let i = 0; i < counts[place]; i++) {
      if (!filtered || fits(rows[i])) found.push([place, i]);
    }
    if (performance.now() - paused > 100) {
      told(`${thousands(found.length)} found in ${thousands(done + 1)} of ${thousands(places.length)} steps`);
      await new Promise((next) => setTimeout(next));
      if (!current()) return [];
      paused = performance.now();
    }
  }
  return found;
}

// A completion, its steps coloured by their values. Offsets count code points.
function valued(completion, steps, wanted) {
  const element = make("pre"), letters = Array.from(completion);
  let start = 0;
  for (const [end, value] of steps) {
    const span = marked("span", letters.slice(start, end).join(""), wanted);
    span.className = "step";
    span.style.setProperty("--value", value);
    span.title = `value ${value.toFixed(3)}`;
    element.append(span);
    start = end;
  }
  element.append(visible(letters.slice(start).join("")));
  return element;
}

function shown(run, place, i, row, wanted) {
  const { name, steps } = index.runs[run], [question, reference, completion, verdict, cell, score, reward, source, values = []] = row;
  const element = make("article", undefined, `rollout cell-${cell}`);
  element.id = `${name}/${steps[place]}/${i + 1}`;
  const link = make("a", "link");
  link.href = `#${name}/${steps[place]}/${i + 1}`;
  link.title = "the address of this rollout";
  const judged = make("div", undefined, "muted");
  const known = VERDICTS.includes(verdict) ? verdict : "";
  const paid = reward === null ? "not judged, no reward" : `reward ${reward.toFixed(3)}`;
  const solved = reward === null ? "no scorer" : reward ? "solved" : "not solved";
  const worth = `${score === null ? "" : `score ${score.toFixed(3)}, `}${index.runs[run].heldout ? solved : paid}`;
  const over = make("button", "before and after", "quiet");
  over.title = "the same problem at its first and its last step";
  over.addEventListener("click", () => compare(run, question, source));
  judged.append(`step ${steps[place]}, rollout ${i + 1} · reference `, marked("span", reference, wanted), " · ",
    make("span", verdict, known), ` · ${worth}${source && ` · ${visible(source)}`} · `, link, " · ", over);
  const text = !completion ? make("pre", "(empty)", "muted") : values.length ? valued(completion, values, wanted) : marked("pre", completion, wanted);
  element.append(marked("div", question, wanted), text, judged);
  return element;
}

class Column {
  constructor(section, choice, step, latestFirst) {
    Object.assign(this, { section, choice, step, latestFirst, offset: 0, turn: 0 });
  }

  asked() {
    const chosen = (id) => at(id)?.value ?? "all";  // there is no menu of sources where all come from one
    return { step: at(this.step).value || at("step").value, cell: chosen("cell"), verdict: chosen("verdict"),
      source: chosen("source"), text: at("text").value.trim().toLowerCase() };
  }

  async show(offset) {
    const turn = ++this.turn, run = this.choice.value, current = () => turn === this.turn;
    this.section.hidden = run === "";
    if (run === "") return;
    const asked = this.asked();
    const status = make("div", "searching", "muted");
    const order = only ? `, from the ${this.latestFirst ? "last" : "first"} step` : "";
    this.section.replaceChildren(make("h3", `${index.runs[run].title}${order}`), status);
    const found = await find(run, asked, (text) => { status.textContent = text; }, current);
    if (!current()) return;
    if (only && this.latestFirst) found.reverse();
    this.offset = Math.min(offset, Math.max(0, found.length - 1));
    const page = found.slice(this.offset, this.offset + SHOWN);
    const rows = await Promise.all(page.map(([place, i]) => rowsOf(run, place).then((rows) => rows[i])));
    if (!current()) return;
    status.textContent = found.length
      ? `${thousands(this.offset + 1)} to ${thousands(this.offset + page.length)} of ${thousands(found.length)}`
      : narrowed(asked) ? "none found" : "this run has no rollouts of this step";
    const turns = make("div", undefined, "choice");
    if (this.offset) turns.append(this.button("previous page", Math.max(0, this.offset - SHOWN)));
    if (this.offset + SHOWN < found.length) turns.append(this.button("next page", this.offset + SHOWN));
    const articles = page.map(([place, i], row) => shown(run, place, i, rows[row], asked.text));
    this.section.append(...articles, turns);
  }

  button(text, offset) {
    const button = make("button", text);
    button.addEventListener("click", () => this.show(offset).then(() => this.section.scrollIntoView()));
    return button;
  }
}

function fillSteps() {
  const latest = (run) => [["all", "all steps"],
    ...index.runs[run].steps.toReversed().map((step) => [String(step), `step ${step}`])];
  const fill = (id, options, usual) => {
    const before = at(id).value;
    at(id).replaceChildren(...options.map(([value, title]) => option(value, title)));
    at(id).value = options.some(([value]) => value === before) ? before : usual;
  };
  const own = latest(at("run").value);
  fill("step", own, own[Math.min(1, own.length - 1)][0]);
  fill("step2", [["", "the same"], ...(at("beside").value === "" ? [] : latest(at("beside").value))], "");
  at("step2").closest("label").hidden = at("beside").value === "";
}

// Two steps of a run beside each other.
function showSteps(run, first, second) {
  Object.assign(at("run"), { value: run });
  Object.assign(at("beside"), { value: run });
  fillSteps();
  Object.assign(at("step"), { value: first });
  Object.assign(at("step2"), { value: second });
  return showAll();
}

// The rollouts of a problem, from its first step on and from its last step back. Where it was asked in one step only,
// those of all problems from the same source.
async function compare(run, question, source) {
  clear();
  only = { question };
  const found = await find(run, { ...columns[0].asked(), step: "all" }, () => {}, () => true);
  const steps = new Set(found.map(([place]) => place));
  const once = steps.size < 2, from = source ? `the problems of ${source}` : "all problems";
  if (once) only = source ? { source } : {};
  at("only").firstChild.textContent = visible(once
    ? `This problem was asked in one step only. Shown: ${from}, the first step first on the left, the last on the right. `
    : `One problem, asked in ${steps.size} steps: the first step first on the left, the last on the right. `);
  at("only").hidden = false;
  await showSteps(run, "all", "all");
  at("choice").scrollIntoView({ block: "start" });
}

function clear() {
  only = null;
  at("only").hidden = true;
  for (const id of ["cell", "verdict", "source"]) if (at(id)) at(id).value = "all";
  at("text").value = "";
}

const showAll = () => Promise.all(columns.map((column) => column.show(0)));

async function follow() {
  const [name, step, number] = location.hash.slice(1).split("/").map((part, place) => place ? Number(part) : part);
  const run = index.runs.findIndex((each) => each.name === name);
  if (run < 0 || !index.runs[run].steps.includes(step)) return false;
  at("run").value = run;
  fillSteps();
  Object.assign(at("step"), { value: step });
  clear();
  columns.slice(1).forEach((column) => column.show(0));
  await columns[0].show(Math.floor((number - 1) / SHOWN) * SHOWN);
  document.querySelectorAll(".aim").forEach((element) => element.classList.remove("aim"));
  const element = at(`${index.runs[run].name}/${step}/${number}`);
  element?.classList.add("aim");
  element?.scrollIntoView({ block: "center" });
  return true;
}

async function start() {
  columns.push(new Column(at("first"), at("run"), "step", false), new Column(at("second"), at("beside"), "step2", true));
  fillSteps();
  at("run").addEventListener("change", () => { fillSteps(); showAll(); });
  at("beside").addEventListener("change", () => { fillSteps(); showAll(); });
  for (const id of ["step", "step2", "cell", "verdict", "source"]) at(id)?.addEventListener("change", showAll);
  at("all-problems").addEventListener("click", () => { clear(); showAll(); });
  at("ends").addEventListener("click", () => {
    const run = at("run").value, { steps } = index.runs[run];
    showSteps(run, steps[0], steps.at(-1));
  });
  let wait;
  at("text").addEventListener("input", () => {
    clearTimeout(wait);
    if (at("text").value) at("step").value = "all";
    wait = setTimeout(showAll, 250);
  });
  window.addEventListener("hashchange", follow);
  if (!await follow()) await showAll();
  document.body.dataset.state = "ready";
}
start();
