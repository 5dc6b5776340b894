// The charts of the report and of the live page. Plotly draws them; what they show is chosen here, for all at once.
// Names come from settings and folders, so Plotly gets them with `plain`, which leaves no tags in them.
const at = (id) => document.getElementById(id);
const visible = (text) => text.replace(/[\u200e\u200f\u061c\u202a-\u202e\u2066-\u2069]/g,
  (mark) => `\\u${mark.charCodeAt(0).toString(16).padStart(4, "0")}`);  // marks that turn the direction of text
const make = (tag, text, name) => {
  const element = document.createElement(tag);
  if (text !== undefined) element.textContent = visible(text);
  if (name) element.className = name;
  return element;
};
const plain = (text) => visible(text).replace(/&/g, "&amp;").replace(/</g, "&lt;");
const option = (value, text) => Object.assign(make("option", text), { value });
const labelled = (text, field) => { const label = make("label", `${text} `); label.append(field); return label; };
const menu = (id, options) => {
  const select = Object.assign(make("select"), { id });
  select.append(...options.map(([value, text]) => option(value, text)));
  return select;
};

function bytesOf(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const letters = atob(text), bytes = new Uint8Array(letters.length);
  for (let i = 0; i < letters.length; i++) bytes[i] = letters.charCodeAt(i);
  return bytes;
}
const inflate = (text) =>
  new Response(new Blob([bytesOf(text)]).stream().pipeThrough(new DecompressionStream("gzip"))).json();

const Charts = (() => {
  const DASHES = ["solid", "dash", "dot", "longdash", "dashdot"];
  const SMOOTH = [[1, "off"], [5, "5 points"], [10, "10 points"], [25, "25 points"], [50, "50 points"]];
  const LIGHT = { fg: "#1c2430", muted: "#5b6675", line: "#dfe4ea", bg: "#fff" };
  const TOUCH = matchMedia("(pointer: coarse)").matches;
  const look = { by: "arm", hidden: new Set(), smooth: 1, range: null, chosen: null };
  const figures = new Map();  // by their key: what is on the page
  let data = null, watcher = null;

  const number = (value) => value !== 0 && (Math.abs(value) < 1e-3 || Math.abs(value) >= 1e5)
    ? value.toExponential(2) : Math.abs(value) < 10 ? value.toFixed(3) : value.toFixed(1);
  const faint = (colour) => `rgba(${[1, 3, 5].map((i) => parseInt(colour.slice(i, i + 2), 16)).join(",")},0.16)`;
  const theme = () => {
    const style = getComputedStyle(document.documentElement);
    return Object.fromEntries(Object.keys(LIGHT).map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
  };
  const clean = (name) => name.replace(/[^A-Za-z0-9]+/g, "-").replace(/^-|-$/g, "");

  function save(name, text, type) {
    const link = Object.assign(make("a"), { download: name, href: URL.createObjectURL(new Blob([text], { type })) });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  }
  const table = (rows) => rows.map((row) => row.map((cell) => {
    const text = String(cell ?? "");
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  }).join(",")).join("\r\n") + "\r\n";

  // The mean over an arm's runs at the steps that all have reached, from the least to the greatest; a run that was not
  // measured at a step stands where it last was. One run keeps its interval.
  function together(all) {
    if (all.length < 2) return all[0];
    const first = Math.max(...all.map(({ step }) => step[0])), last = Math.min(...all.map(({ step }) => step.at(-1)));
    const steps = [...new Set(all.flatMap(({ step }) => step))].filter((s) => s >= first && s <= last).sort((a, b) => a - b);
    const places = all.map(() => 0);
    const found = steps.map((s) => all.map(({ step, value }, run) => {
      while (step[places[run] + 1] <= s) places[run]++;
      return value[places[run]];
    }));
    const over = (what) => found.map(what);
    return { step: steps, value: over((v) => v.reduce((a, b) => a + b) / v.length),
      low: over((v) => Math.min(...v)), high: over((v) => Math.max(...v)) };
  }

  // What the legend names: arms, or runs. Seeds of an arm have its colour; of the only arm each has its own.
  function names() {
    const { arms, runs } = data;
    if (look.by === "arm") return arms.map((arm, i) => ({ ...arm, dash: DASHES[Math.floor(i / 8) % DASHES.length] }));
    const palette = ["#1f8a70", "#d9572b", "#6b7f99", "#8a5fbf", "#b9a03a", "#3a7ab9", "#b94a7c", "#5f8f3a"];
    const before = {};
    return runs.map((run, i) => {
      const turn = before[run.arm] = (before[run.arm] ?? -1) + 1;
      const colour = arms.length > 1 ? arms.find((arm) => arm.name === run.arm).colour : palette[i % palette.length];
      return { name: run.name, colour, dash: DASHES[(arms.length > 1 ? turn : Math.floor(i / 8)) % DASHES.length] };
    });
  }

  function linesOf(key) {
    return names().map((each) => {
      const own = data.runs.filter((run) => (look.by === "arm" ? run.arm : run.name) === each.name);
      return { ...each, ...together(own.map((run) => run.series[key]).filter(Boolean)) };
    }).filter((line) => line.value?.length);
  }

  // Held-out measurements stay as they are: they are few, and their mean would hide where the policy stands.
  function smoothed(line, key) {
    if (look.smooth === 1 || key.startsWith("eval/")) return line;
    const mean = (values) => values?.map((_, i) => {
      const part = values.slice(Math.max(0, i - look.smooth + 1), i + 1);
      return part.reduce((a, b) => a + b) / part.length;
    });
    return { ...line, value: mean(line.value), low: mean(line.low), high: mean(line.high) };
  }

  function pathsOf() {
    return data.runs.filter((run) => run.path.length > 1).map((run) => {
      const own = names().find((each) => each.name === (look.by === "arm" ? run.arm : run.name));
      const seen = run.path.filter(([step]) => !look.range || (step >= look.range[0] && step <= look.range[1]));
      return { ...own, group: own.name, name: run.name, step: seen.map(([, across]) => across),
        value: seen.map(([, , reward]) => reward), at: seen.map(([step]) => step) };
    });
  }

  // All figures that are to be on the page, by their section.
  function wanted() {
    const found = data.curves.filter(({ key }) => look.chosen.has(key))
      .map((curve) => ({ ...curve, lines: () => linesOf(curve.key).map((line) => smoothed(line, curve.key)), raw: () => linesOf(curve.key) }));
    if (pathsOf().length) {
      found.splice(found.findLastIndex(({ group }) => group === "Reward and truth") + 1, 0, {
        key: "reward against truth", group: "Reward and truth", title: "Reward against truth", share: true,
        unit: "both from 0 to 1", note: "mean reward upwards, true accuracy to the right; a ring marks the start",
        path: true, lines: pathsOf, raw: pathsOf });
    }
    for (const cells of data.cells) {
      const lines = () => cells.lines.map((line) => ({ ...line, dash: "solid" }));
      found.push({ ...cells, key: `cells ${cells.title}`, group: "cells", share: true,
        lines: () => lines().map((line) => smoothed(line, "cells")), raw: lines });
    }
    return found;
  }

  const shown = (line) => !look.hidden.has(line.group ?? line.name);
  const within = (line, i) => !look.range || (line.step[i] >= look.range[0] && line.step[i] <= look.range[1]);

  // From the least to the greatest value that is drawn; shares from 0 to 1 as long as nothing is zoomed.
  function fitted(spec, lines) {
    if (spec.share && !look.range) return [-0.02, 1.02];
    const ends = lines.flatMap((line) => line.value.flatMap((value, i) =>
      within(line, i) || spec.path ? [value, line.low?.[i] ?? value, line.high?.[i] ?? value] : []));
    if (!ends.length) return [0, 1];
    const low = ends.reduce((a, b) => Math.min(a, b)), high = ends.reduce((a, b) => Math.max(a, b));
    const pad = (high - low) * 0.06 || Math.abs(high) * 0.1 || 1;
    return [low - pad, high + pad];
  }

  function said(line, i) {
    const spread = line.low && number(line.low[i]) !== number(line.high[i])
      ? ` (${number(line.low[i])} to ${number(line.high[i])})` : "";
    return line.at ? `${line.name}, step ${line.at[i]}: true ${number(line.step[i])}, reward ${number(line.value[i])}`
      : `${line.name} ${number(line.value[i])}${spread}`;
  }

  function traces(spec, lines) {
    const bands = lines.filter((line) => line.low).map((line) => ({
      x: [...line.step, ...line.step.toReversed()], y: [...line.high, ...line.low.toReversed()], fill: "toself",
      fillcolor: faint(line.colour), line: { width: 0 }, mode: "lines", hoverinfo: "skip", showlegend: false }));
    const drawn = lines.map((line) => ({
      x: line.step, y: line.value, name: plain(line.name), mode: line.value.length < 13 ? "lines+markers" : "lines",
      line: { color: line.colour, dash: line.dash, width: 2 },
      marker: { size: spec.path ? line.step.map((_, i) => (i ? 5 : 10)) : 5, color: line.colour,
        symbol: spec.path ? line.step.map((_, i) => (i ? "circle" : "circle-open")) : "circle" },
      customdata: line.step.map((_, i) => plain(said(line, i))), hovertemplate: "%{customdata}<extra></extra>" }));
    return [...bands, ...drawn];
  }

  function layout(spec, lines, colours, height) {
    const axis = { gridcolor: colours.line, linecolor: colours.line, zeroline: false, automargin: true };
    const alarms = spec.path || spec.group === "cells" ? [] : data.runs.filter((run) => run.alarm !== null &&
      lines.some((line) => line.name === (look.by === "arm" ? run.arm : run.name)));
    return {
      height, margin: { l: 46, r: 10, t: 8, b: 38 }, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      font: { family: "system-ui, sans-serif", size: 12, color: colours.muted }, showlegend: false, uirevision: 1,
      hovermode: spec.path ? "closest" : "x unified", hoverdistance: -1, dragmode: TOUCH || spec.path ? false : "zoom",
      hoverlabel: { bgcolor: colours.bg, bordercolor: colours.line, namelength: -1,
        font: { color: colours.fg, size: 12 } },
      xaxis: { ...axis, title: { text: spec.path ? "true accuracy" : "step", standoff: 6 }, unifiedhovertitle:
        { text: "step %{x}" }, spikethickness: -1, spikecolor: colours.muted, spikedash: "dot", fixedrange: Boolean(spec.path), ...(spec.path ? { range: [-0.02, 1.02] }
        : look.range ? { range: look.range } : { autorange: true }) },
      yaxis: { ...axis, fixedrange: true, range: fitted(spec, lines), exponentformat: "power" },
      shapes: alarms.map((run) => ({ type: "line", x0: run.alarm, x1: run.alarm, yref: "paper", y0: 0, y1: 1,
        line: { color: data.arms.find((arm) => arm.name === run.arm).colour, dash: "dash", width: 1.5 } })),
    };
  }

  // What a screen reader says of a figure: its title, its unit and where each line begins and ends.
  function described({ title, unit }, lines) {
    const ends = lines.map(({ name, step, value, at: own }) => {
      const steps = own ?? step;
      return `${name} from ${number(value[0])} at step ${steps[0]} to ${number(value.at(-1))} at step ${steps.at(-1)}`;
    });
    return visible(`${title}, ${unit || "value"}: ${ends.join("; ") || "nothing shown"}`);
  }

  function draw(figure) {
    if (!figure.near) { figure.stale = true; return; }
    figure.stale = false;
    const { spec, chart, element } = figure, lines = figure.lines = spec.lines().filter(shown);
    const height = element.classList.contains("large") ? 440 : 240;
    chart.setAttribute("aria-label", described(spec, lines));
    const first = !chart.data;
    Plotly.react(chart, traces(spec, lines), layout(spec, lines, theme(), height),
      { displayModeBar: false, responsive: true, doubleClick: false, showTips: false });
    if (!first) return;
    chart.firstElementChild.setAttribute("aria-hidden", "true");  // the chart itself has a name
    chart.on("plotly_relayout", (event) => {
      const [from, to] = [event["xaxis.range[0]"], event["xaxis.range[1]"]].map(Number);
      if (to > from) zoom([Math.round(from), Math.max(Math.round(to), Math.round(from) + 1)]);
    });
    chart.on("plotly_doubleclick", () => zoom(null));
    chart.addEventListener("keydown", (event) => keyed(figure, event));
    chart.addEventListener("blur", () => { Plotly.Fx.unhover(chart); figure.place = undefined; });
  }
  const drawAll = () => figures.forEach(draw);

  function zoom(range) {
    look.range = range;
    [["from", 0], ["to", 1]].forEach(([id, end]) => { at(id).value = range ? Math.round(range[end] * 100) / 100 : ""; });
    drawAll();
  }

  // Left and right read the next step, + and - zoom around it, 0 and Escape show all.
  function keyed(figure, event) {
    const { chart, lines, spec } = figure;
    const places = [...new Set(lines.flatMap((line) => (line.at ?? line.step).filter((_, i) => spec.path || within(line, i))))]
      .sort((a, b) => a - b);
    const moved = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity }[event.key];
    if (moved !== undefined && places.length) {
      const from = figure.place === undefined ? (moved > 0 ? -1 : places.length) : figure.place;
      figure.place = Math.max(0, Math.min(places.length - 1, from + moved));
      const step = places[figure.place], bands = lines.filter((line) => line.low).length;
      const found = lines.map((line, line_) => [line_ + bands, (line.at ?? line.step).indexOf(step), line])
        .filter(([, i]) => i >= 0);
      Plotly.Fx.hover(chart, spec.path ? found.map(([curveNumber, pointNumber]) => ({ curveNumber, pointNumber })) : { xval: step });
      figure.reading.textContent = visible([`step ${step}`, ...found.map(([, i, line]) => said(line, i))].join("; "));
    } else if ((event.key === "+" || event.key === "-") && places.length && !spec.path) {
      const [low, high] = look.range ?? [places[0], places.at(-1)];
      const middle = figure.place === undefined ? (low + high) / 2 : places[figure.place];
      const half = (high - low) / (event.key === "+" ? 4 : 1);
      const all = lines.flatMap((line) => [line.step[0], line.step.at(-1)]);
      const range = [Math.max(middle - half, Math.min(...all)), Math.min(middle + half, Math.max(...all))];
      figure.place = undefined;
      zoom(range[0] <= Math.min(...all) && range[1] >= Math.max(...all) ? null : range);
    } else if (event.key === "0" || event.key === "Escape") {
      figure.place = undefined;
      zoom(null);
    } else return;
    event.preventDefault();
  }

  function csv({ spec }) {
    const lines = spec.raw().filter(shown);
    if (spec.path) {
      return table([["run", "step", "true accuracy", "mean reward"],
        ...lines.flatMap((line) => line.at.map((step, i) => [line.name, step, line.step[i], line.value[i]]))]);
    }
    const steps = [...new Set(lines.flatMap((line) => line.step))].sort((a, b) => a - b);
    const head = lines.flatMap(({ name, low }) => (low ? [name, `${name} low`, `${name} high`] : [name]));
    const places = lines.map((line) => new Map(line.step.map((step, i) => [step, i])));
    return table([["step", ...head], ...steps.map((step) => [step, ...lines.flatMap((line, each) => {
      const i = places[each].get(step);
      return line.low ? [line.value[i], line.low[i], line.high[i]] : [line.value[i]];
    })])]);
  }

  const everything = () => table([["run", "arm", "step", "metric", "value", "low", "high"],
    ...data.runs.flatMap((run) => Object.entries(run.series).flatMap(([key, s]) =>
      s.step.map((step, i) => [run.name, run.arm, step, key, s.value[i], s.low?.[i], s.high?.[i]])))]);

  // In the colours of paper, with its title and its legend.
  async function svg({ spec }) {
    const lines = spec.lines().filter(shown), base = layout(spec, lines, LIGHT, 420);
    const title = `${spec.title}${spec.unit ? ` (${spec.unit})` : ""}`;
    const figure = { data: traces(spec, lines), layout: { ...base, width: 720, paper_bgcolor: "#fff", showlegend: true,
      title: { text: plain(title), font: { size: 15, color: LIGHT.fg } }, margin: { l: 60, r: 20, t: 50, b: 50 } } };
    const address = await Plotly.toImage(figure, { format: "svg", width: 720, height: 420 });
    return decodeURIComponent(address.slice(address.indexOf(",") + 1));
  }

  const button = (text, about, action) => {
    const made = Object.assign(make("button", text), { type: "button", title: about });
    made.setAttribute("aria-label", about);
    made.addEventListener("click", () => action(made));
    return made;
  };

  function build(spec) {
    const element = make("div", undefined, "plot"), head = make("div", undefined, "head"), title = make("h4", spec.title);
    const chart = make("div", undefined, "chart"), reading = make("div", undefined, "unseen");
    const figure = { spec, element, chart, reading, near: false, stale: true };
    const about = make("div", undefined, "muted");
    if (spec.unit) about.append(make("b", spec.unit, "unit"));
    about.append([spec.unit && spec.note ? "; " : "", spec.note ?? ""].join(""));
    chart.tabIndex = 0;
    chart.setAttribute("role", "img");
    chart.setAttribute("aria-label", spec.title);
    reading.setAttribute("aria-live", "polite");
    head.append(title,
      button("csv", `${spec.title} as csv`, () => save(`${clean(spec.title)}.csv`, csv(figure), "text/csv")),
      button("svg", `${spec.title} as svg`, () =>
        svg(figure).then((text) => save(`${clean(spec.title)}.svg`, text, "image/svg+xml"))),
      button("large", `${spec.title}: large or small`, (made) => {
        made.setAttribute("aria-pressed", element.classList.toggle("large"));
        draw(figure);
        Plotly.Plots.resize(chart);
      }));
    element.append(head, about, chart, reading);
    return figure;
  }

  function legend(lines, name) {
    const element = make("div", undefined, "legend");
    element.setAttribute("role", "group");
    element.setAttribute("aria-label", name);
    element.append(...lines.map((line) => {
      const made = Object.assign(make("button"), { type: "button", title: "show or hide it in all figures" });
      const swatch = make("i");
      swatch.style.borderTop = `3px ${line.dash === "solid" ? "solid" : line.dash === "dot" ? "dotted" : "dashed"} ${line.colour}`;
      made.append(swatch, visible(line.name));
      made.setAttribute("aria-pressed", !look.hidden.has(line.name));
      made.addEventListener("click", () => {
        if (!look.hidden.delete(line.name)) look.hidden.add(line.name);
        made.setAttribute("aria-pressed", !look.hidden.has(line.name));
        drawAll();
      });
      return made;
    }));
    return element;
  }

  function controls() {
    const bar = make("div", undefined, "choice");
    if (data.runs.length > data.arms.length) {
      const by = menu("lines", [["arm", "mean by arm"], ["run", "each run"]]);
      by.value = look.by;
      by.addEventListener("change", () => { look.by = by.value; look.hidden.clear(); showLegend(); drawAll(); });
      bar.append(labelled("lines", by));
    }
    const smooth = menu("smooth", SMOOTH);
    smooth.value = look.smooth;
    smooth.addEventListener("change", () => { look.smooth = Number(smooth.value); drawAll(); });
    const ends = ["from", "to"].map((id) => Object.assign(make("input"), { id, type: "number", placeholder: "all" }));
    const typed = () => {
      const last = Math.max(...data.runs.flatMap((run) => Object.values(run.series).map((s) => s.step.at(-1))));
      const [from, to] = ends.map((end) => end.value);
      const range = [Number(from || 0), to === "" ? last : Number(to)];
      if (from === "" && to === "") zoom(null);
      else if (range[1] > range[0]) { look.range = range; drawAll(); }
    };
    ends.forEach((end) => end.addEventListener("change", typed));
    bar.append(labelled("smooth over", smooth), labelled("steps from", ends[0]), labelled("to", ends[1]),
      button("all steps", "show all steps", () => zoom(null)),
      button("all as csv", "all metrics of all runs as csv", () => save("metrics.csv", everything(), "text/csv")));
    return bar;
  }

  function picker() {
    const element = make("details", undefined, "pick"), boxes = make("div", undefined, "boxes");
    element.append(make("summary", "Choose metrics"), boxes);
    const measured = new Set(data.runs.flatMap((run) => Object.keys(run.series)));
    for (const { key, title } of data.curves.filter((curve) => measured.has(curve.key))) {
      const box = Object.assign(make("input"), { type: "checkbox", checked: look.chosen.has(key), value: key });
      box.addEventListener("change", () => { look.chosen[box.checked ? "add" : "delete"](key); place(); });
      const label = make("label");
      label.append(box, ` ${visible(title)}`);
      boxes.append(label);
    }
    const missing = data.curves.filter((curve) => !measured.has(curve.key)).map((curve) => curve.title);
    if (missing.length) element.append(make("p", `Not measured in these runs: ${missing.join(", ")}.`, "muted"));
    return element;
  }

  const showLegend = () => at("legend").replaceChildren(legend(names(), "lines"));

  // Puts the figures that are wanted into their sections; those that stay keep their state.
  function place() {
    const specs = wanted(), keys = new Set(specs.map(({ key }) => key));
    for (const [key, { element, chart }] of figures) {
      if (!keys.has(key)) { watcher.unobserve(chart); Plotly.purge(chart); element.remove(); figures.delete(key); }
    }
    for (const spec of specs) {
      const known = figures.get(spec.key);
      if (known) known.spec = spec;
      else {
        const figure = build(spec);
        figures.set(spec.key, figure);
        watcher.observe(figure.chart);
      }
    }
    const groups = Map.groupBy(specs, ({ group }) => group);
    const sections = [...groups].filter(([group]) => group !== "cells").flatMap(([group, own]) => {
      const grid = make("div", undefined, "grid");
      grid.append(...own.map(({ key }) => figures.get(key).element));
      return [make("h3", group), grid];
    });
    at("figures").replaceChildren(...sections);
    if (at("cells")) {
      const grid = make("div", undefined, "grid"), own = groups.get("cells") ?? [];
      grid.append(...own.map(({ key }) => figures.get(key).element));
      at("cells").replaceChildren(legend(own[0]?.lines() ?? [], "how rollouts are judged"), grid);
    }
  }

  function show(found) {
    data = found;
    const measured = new Set(data.runs.flatMap((run) => Object.keys(run.series)));
    look.chosen ??= new Set();
    for (const { key, first } of data.curves) if (first && measured.has(key) && !look.known?.has(key)) look.chosen.add(key);
    look.known = measured;
    const open = document.querySelector(".pick")?.open ?? false, frame = at("charts");
    if (!watcher) {
      watcher = new IntersectionObserver((seen) => {
        for (const { target, isIntersecting } of seen) {
          const figure = [...figures.values()].find(({ chart }) => chart === target);
          if (figure) { figure.near = isIntersecting; if (isIntersecting && figure.stale) draw(figure); }
        }
      }, { rootMargin: "300px" });
      matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
      for (const id of ["legend", "bar", "picker", "figures"]) frame.append(Object.assign(make("div"), { id }));
    }
    if (!at("bar").contains(document.activeElement)) at("bar").replaceChildren(controls());
    if (look.range) [["from", 0], ["to", 1]].forEach(([id, end]) => { at(id).value = look.range[end]; });
    if (!at("picker").contains(document.activeElement)) {
      at("picker").replaceChildren(picker());
      document.querySelector(".pick").open = open;
    }
    if (!at("legend").contains(document.activeElement)) showLegend();
    place();
    drawAll();
    document.body.dataset.charts = "ready";
  }

  if (at("charts-data")) inflate(at("charts-data").textContent).then(show);
  return { show };
})();
