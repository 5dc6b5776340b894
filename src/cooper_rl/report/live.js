// Asks for the two parts of the page again and again; what comes is HTML in which a model's text is escaped already.
const at = (id) => document.getElementById(id);
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
let offset = 0;
const overview = () => part("overview", "").then(() => { document.body.dataset.state = "live"; })
  .catch(() => { document.body.dataset.state = "gone"; });
const rollouts = (step = value("step"), kind = value("kind"), cell = value("cell")) =>
  part("rollouts", `?kind=${kind}&step=${step}&cell=${cell}&text=${value("text")}&offset=${offset}`).catch(() => {});
async function follow() {
  const [, step, number] = location.hash.slice(1).split("/").map(Number);
  if (!(step >= 0 && number >= 1)) return false;
  offset = Math.floor((number - 1) / 20) * 20;
  at("text").value = "";
  await rollouts(step, "rollouts", "all");
  document.querySelectorAll(".aim").forEach((element) => element.classList.remove("aim"));
  const element = at(location.hash.slice(1));
  element?.classList.add("aim");
  element?.scrollIntoView({ block: "center" });
  return true;
}
document.addEventListener("change", (event) => { if (event.target.matches("select")) { offset = 0; rollouts(); } });
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
