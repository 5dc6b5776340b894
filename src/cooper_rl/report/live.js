// Asks for the two parts of the page again and again; what comes is HTML in which a model's text is escaped already.
const part = (id, query) =>
  fetch(`/${id}${query}`).then((answer) => answer.ok ? answer.text() : Promise.reject(answer.status))
    .then((html) => { document.getElementById(id).innerHTML = html; });
const value = (id) => encodeURIComponent(document.getElementById(id)?.value ?? "");
let offset = 0;
const overview = () => part("overview", "").then(() => { document.body.dataset.state = "live"; })
  .catch(() => { document.body.dataset.state = "gone"; });
const rollouts = () => part("rollouts", `?kind=${value("kind")}&step=${value("step")}&cell=${value("cell")}&offset=${offset}`);
document.addEventListener("change", (event) => { if (event.target.matches("select")) { offset = 0; rollouts(); } });
document.addEventListener("click", (event) => {
  if (event.target.dataset.offset) { offset = Number(event.target.dataset.offset); rollouts(); }
});
overview();
rollouts();
setInterval(overview, 3000);
