// The reader of a report's rollouts. They are in the page, compressed by step. Their text is only ever set as text.
const SHOWN = 20;
const KEPT = 12;  // unpacked blocks that are remembered
const VERDICTS = ["CORRECT", "INCORRECT", "UNPARSEABLE", "TIMEOUT", "ERROR"];
const at = (id) => document.getElementById(id);
const index = JSON.parse(at("index").textContent);
for (const run of index.runs) {
  run.steps = run.blocks.flatMap((block) => block.steps);
  run.counts = run.blocks.flatMap((block) => block.counts);
  run.holder = run.blocks.flatMap((block, number) => block.steps.map((_, place) => [number, place]));
}
const loaded = new Promise((done) => document.addEventListener("DOMContentLoaded", done));
const unpacked = new Map();
const columns = [];

const make = (tag, text, name) => {
  const element = document.createElement(tag);
  if (text !== undefined) element.textContent = text;
  if (name) element.className = name;
  return element;
};
const marked = (tag, text, wanted) => {
  const element = make(tag), lower = text.toLowerCase();
  let from = 0;
  for (let found = wanted ? lower.indexOf(wanted) : -1; found >= 0; found = lower.indexOf(wanted, from)) {
    element.append(text.slice(from, found), make("mark", text.slice(found, found + wanted.length)));
    from = found + wanted.length;
  }
  element.append(text.slice(from));
  return element;
};
const thousands = (number) => number.toLocaleString("en");

function bytesOf(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const letters = atob(text), bytes = new Uint8Array(letters.length);
  for (let i = 0; i < letters.length; i++) bytes[i] = letters.charCodeAt(i);
  return bytes;
}

async function read(run, number) {
  if (number + 1 < index.runs[run].blocks.length) await loaded;  // each run's last block comes before this script
  const stream = new Blob([bytesOf(at(`block-${run}-${number}`).textContent)]).stream();
  return new Response(stream.pipeThrough(new DecompressionStream("gzip"))).json();
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

// The rollouts that are asked for, as [place of the step, place in the step].
async function find(run, asked, told, current) {
  const { steps, counts, holder, blocks } = index.runs[run];
  const places = [...steps.keys()].filter((place) => asked.step === "all" || steps[place] === Number(asked.step));
  const found = [], filtered = asked.text || asked.cell !== "all";
  const fits = (row) => (asked.cell === "all" || row[4] === asked.cell) &&
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
  element.append(letters.slice(start).join(""));
  return element;
}

function shown(run, place, i, row, wanted) {
  const { name, steps } = index.runs[run], [question, reference, completion, verdict, cell, score, reward, values = []] = row;
  const element = make("article", undefined, `rollout cell-${cell}`);
  element.id = `${name}/${steps[place]}/${i + 1}`;
  const link = make("a", "link");
  link.href = `#${name}/${steps[place]}/${i + 1}`;
  link.title = "the address of this rollout";
  const judged = make("div", undefined, "muted");
  const known = VERDICTS.includes(verdict) ? verdict : "";
  const worth = `${score === null ? "" : `score ${score.toFixed(3)}, `}${reward === null ? "not judged, no reward" : `reward ${reward.toFixed(3)}`}`;
  judged.append(`step ${steps[place]}, rollout ${i + 1} · reference `, marked("span", reference, wanted), " · ",
    make("span", verdict, known), ` · ${worth} · `, link);
  const text = values.length ? valued(completion, values, wanted) : marked("pre", completion, wanted);
  element.append(marked("div", question, wanted), text, judged);
  return element;
}

class Column {
  constructor(section, choice) {
    Object.assign(this, { section, choice, offset: 0, turn: 0 });
  }

  async show(offset) {
    const turn = ++this.turn, run = this.choice.value, current = () => turn === this.turn;
    this.section.hidden = run === "";
    if (run === "") return;
    const asked = { step: at("step").value, cell: at("cell").value, text: at("text").value.trim().toLowerCase() };
    const status = make("div", "searching", "muted");
    this.section.replaceChildren(make("h3", index.runs[run].title), status);
    const found = await find(run, asked, (text) => { status.textContent = text; }, current);
    if (!current()) return;
    this.offset = Math.min(offset, Math.max(0, found.length - 1));
    const page = found.slice(this.offset, this.offset + SHOWN);
    const rows = await Promise.all(page.map(([place, i]) => rowsOf(run, place).then((rows) => rows[i])));
    if (!current()) return;
    status.textContent = found.length
      ? `${thousands(this.offset + 1)} to ${thousands(this.offset + page.length)} of ${thousands(found.length)}`
      : asked.text || asked.cell !== "all" ? "none found" : "this run has no rollouts of this step";
    const turns = make("div", undefined, "choice");
    if (this.offset) turns.append(this.button("before", Math.max(0, this.offset - SHOWN)));
    if (this.offset + SHOWN < found.length) turns.append(this.button("after", this.offset + SHOWN));
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
  const before = at("step").value, run = index.runs[at("run").value];
  const options = [["all", "all steps"], ...[...run.steps].reverse().map((step) => [String(step), `step ${step}`])];
  at("step").replaceChildren(...options.map(([value, title]) => Object.assign(make("option", title), { value })));
  at("step").value = options.some(([value]) => value === before) ? before : options[Math.min(1, options.length - 1)][0];
}

const showAll = () => Promise.all(columns.map((column) => column.show(0)));

async function follow() {
  const [name, step, number] = location.hash.slice(1).split("/").map((part, place) => place ? Number(part) : part);
  const run = index.runs.findIndex((each) => each.name === name);
  if (run < 0 || !index.runs[run].steps.includes(step)) return false;
  at("run").value = run;
  fillSteps();
  Object.assign(at("step"), { value: step });
  at("cell").value = "all";
  at("text").value = "";
  columns.slice(1).forEach((column) => column.show(0));
  await columns[0].show(Math.floor((number - 1) / SHOWN) * SHOWN);
  document.querySelectorAll(".aim").forEach((element) => element.classList.remove("aim"));
  const element = at(`${index.runs[run].name}/${step}/${number}`);
  element?.classList.add("aim");
  element?.scrollIntoView({ block: "center" });
  return true;
}

async function start() {
  columns.push(new Column(at("first"), at("run")));
  if (at("beside")) columns.push(new Column(at("second"), at("beside")));
  fillSteps();
  at("run").addEventListener("change", () => { fillSteps(); showAll(); });
  for (const id of ["step", "cell", "beside"]) at(id)?.addEventListener("change", showAll);
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
