// Asks for the parts of the page again and again. What comes is data for the charts, which charts.js draws, and HTML in
// which a model's text is escaped already.
const value = (id) => encodeURIComponent(at(id)?.value ?? "");
const seen = {}, turns = {};
async function part(id, query) {
  const turn = turns[id] = (turns[id] ?? 0) + 1;
  const answer = await fetch(`/${id}${query}`);
  if (!answer.ok) throw new Error(answer.status);
  const html = await answer.text();
  if (turn !== turns[id] || html === seen[id]) return;
  seen[id] = html;
  at(id).innerHTML = html;
}
async function curves() {
  const answer = await fetch("/charts"), text = await answer.text();
  if (!answer.ok || text === seen.charts) return;
  seen.charts = text;
  Charts.show(JSON.parse(text));
}
let offset = 0;
const overview = () => part("overview", "").then(curves).then(() => { document.body.dataset.state = "live"; })
  .catch(() => { document.body.dataset.state = "gone"; });
const rollouts = (step = value("step"), kind = value("kind"), chosen = (name) => value(name) || "all") => part("rollouts",
  `?kind=${kind}&step=${step}&text=${value("text")}&offset=${offset}${
    ["cell", "verdict", "source"].map((name) => `&${name}=${chosen(name)}`).join("")}`).catch(() => {});
async function follow() {
  const [name, ...places] = location.hash.slice(1).split("/"), [step, number] = places.map(Number);
  if (!(step >= 0 && number >= 1)) return false;
  offset = Math.floor((number - 1) / 20) * 20;
  at("text").value = "";
  await rollouts(step, name.endsWith("-heldout") ? "heldout" : "rollouts", () => "all");
  document.querySelectorAll(".aim").forEach((element) => element.classList.remove("aim"));
  const element = at(location.hash.slice(1));
  element?.classList.add("aim");
  element?.scrollIntoView({ block: "center" });
  return true;
}
document.addEventListener("change", (event) => { if (event.target.matches("#rollouts select")) { offset = 0; rollouts(); } });
document.addEventListener("click", (event) => {
  if (event.target.dataset.offset) { offset = Number(event.target.dataset.offset); rollouts(); }
});
let wait;
at("text").addEventListener("input", () => {
  clearTimeout(wait);
  offset = 0;
  wait = setTimeout(() => rollouts(at("text").value ? "all" : value("step")), 300);
});
window.addEventListener("hashchange", follow);
overview().then(follow).then((followed) => followed || rollouts());
setInterval(overview, 3000);
