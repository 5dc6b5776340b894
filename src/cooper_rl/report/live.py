"""`cooper monitor`: shows a run's files as a live page on loopback. It only reads, and runs no text of a model."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from cooper_rl.jsonl import whole_records
from cooper_rl.report.curves import charts
from cooper_rl.report.page import (
    CHARTS,
    HOW_TO_READ,
    PLOTLY,
    STYLE,
    cell_of,
    charts_frame,
    escape,
    html_table,
    pair,
    rollout,
)
from cooper_rl.report.rollouts import Shelf, filters, find, select, source_of
from cooper_rl.report.runs import Run, read_run
from cooper_rl.report.story import EXPLOITED, is_exploited, story
from cooper_rl.report.summary import summarize

SCRIPTS = {
    "/plotly.js": PLOTLY,
    "/charts.js": CHARTS,
    "/live.js": Path(__file__).with_name("live.js").read_text(),
}
SHOWN = 20  # rollouts on a page
KINDS = {"rollouts": "rollouts", "heldout": "held-out problems", "pairs": "pairs", "rolled_back": "rolled-back pairs"}
COMPLETIONS = ("rollouts", "heldout")
POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'self'; connect-src 'self';"
    " base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
METRICS = (
    "reward",
    "accuracy/rule",
    "hacking/false_positive_rate",
    "hacking/gap",
    "eval/true_accuracy",
    "eval/reward_model_accuracy",
    "reward_model/rolled_back",
    "kl",
    "completions/mean_length",
    "pairs/yield",
    "step_time",
)


class Monitor(ThreadingHTTPServer):
    """Serves one run folder on 127.0.0.1.

    Raises:
        MissingFileError: there is no such folder.
        BadInputError: the folder holds no run.
    """

    daemon_threads = True

    def __init__(self, folder: Path, port: int = 0) -> None:
        self.folder = folder
        read_run(folder)
        super().__init__(("127.0.0.1", port), Handler)

    @property
    def url(self) -> str:
        """The address of the page."""
        return f"http://127.0.0.1:{self.server_address[1]}/"


class Handler(BaseHTTPRequestHandler):
    """Answers GET requests for the page, its scripts and its three parts."""

    server: Monitor

    def do_GET(self) -> None:
        """Answers the known paths, but only requests that name this host, so that no other site can read the page."""
        address = urlsplit(self.path)
        query = {key: values[0] for key, values in parse_qs(address.query).items()}
        if self.headers.get("Host", "").partition(":")[0] not in ("127.0.0.1", "localhost"):
            self.send_error(HTTPStatus.FORBIDDEN)
        elif address.path == "/":
            self.answer(page(self.server.folder), "text/html")
        elif address.path in SCRIPTS:
            self.answer(SCRIPTS[address.path], "text/javascript")
        elif address.path == "/charts":
            self.answer(charts([read_run(self.server.folder)]), "application/json")
        elif address.path == "/overview":
            self.answer(overview(read_run(self.server.folder)), "text/html")
        elif address.path == "/rollouts":
            self.answer(rollouts(read_run(self.server.folder), query), "text/html")
        else:
            self.send_error(HTTPStatus.NOT_FOUND)

    def answer(self, text: str, kind: str) -> None:
        """Sends one answer with the page's security policy."""
        data = text.encode("utf-8", "replace")
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(data)))
        self.send_header("Content-Security-Policy", POLICY)
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Cache-Control", "no-store")
        with suppress(ConnectionError):  # a browser that no longer waits
            self.end_headers()
            self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Logs nothing, instead of a line for each request."""


def page(folder: Path) -> str:
    """The frame of the page. Its script loads the other parts."""
    name = escape(folder.resolve().name)
    search = '<label>search <input id="text" type="search" placeholder="question, answer or completion"></label>'
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Cooper: {name}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{STYLE}</style></head>'
        f'<body data-state="loading"><main><h1>{name}</h1><div id="overview"></div>'
        f'<h2>Over the steps</h2><p class="muted">{HOW_TO_READ}</p>{charts_frame()}'
        f'<h2>Rollouts and pairs</h2><div class="choice">{search}</div><div id="rollouts"></div></main>'
        f"{''.join(f'<script src={name}></script>' for name in SCRIPTS)}</body></html>"
    )


def overview(run: Run) -> str:
    """The run's story in one sentence, its state, its alarm and its last metrics."""
    last = run.metrics[-1] if run.metrics else {}
    total = int(run.config.get("max_steps", -1))
    state = "finished" if run.finished else "running or stopped"
    summary = summarize([run])
    meant = f" {EXPLOITED}" if is_exploited(summary["arms"][run.arm][0]) else ""
    step = f"step {last.get('step', 0)}{f' of {total}' if total > 0 else ''}, {state}."
    parts = [f'<p class="lead">{escape(story(summary))}</p><p class="muted">{step}{meant}</p>']
    if run.alarm_step is not None:
        action = escape(run.config.get("alarm_action", "log"))
        link = f'<a href="#{run.address}/{run.alarm_step}/1">its rollouts of that step</a>'
        parts.append(f'<div class="alarm">hacking alarm from step {run.alarm_step} (action: {action}); {link}</div>')
    rows = [["metric", "now", "mean of last 10", "first"]]
    for name in METRICS:
        values = run.values(name)
        if values:
            recent = values[-10:]
            mean = "-" if name.startswith("eval/") else f"{math.fsum(recent) / len(recent):.4g}"  # 10 are most of a run
            rows.append([name, f"{values[-1]:.4g}", mean, f"{values[0]:.4g}"])
    return "".join([*parts, html_table(rows)])


def rollouts(run: Run, query: Mapping[str, str]) -> str:
    """A page of rollouts, held-out completions or pairs, of one step or of all, with controls to choose others.

    Args:
        query: `kind`, `step` (`all` for all), `verdict`, `cell`, `source`, `text` to be
            found, and `offset` of the first that is shown.
    """
    kind = query["kind"] if query.get("kind") in KINDS else "rollouts"
    files = {path.stem.split("_")[1].lstrip("0") or "0": path for path in run.steps_of(kind)}
    step = query.get("step", "")
    if step != "all" and step not in files:
        step = max(files, key=int, default="all")
    asked = {name: query.get(name, "all") for name in ("verdict", "cell", "source")} if kind in COMPLETIONS else {}
    offset = int(query["offset"]) if query.get("offset", "").isdigit() else 0
    chosen = list(files.values()) if step == "all" else [files[step]]
    keep = keeper(asked)
    total, found = find(chosen, query.get("text", "").strip(), keep, offset, SHOWN)
    steps = {"all": "all steps", **{step: f"step {step}" for step in reversed(files)}}
    menus = {"show": select("kind", KINDS, {"kind": kind}), "step": select("step", steps, {"step": step})}
    if kind in COMPLETIONS:
        menus |= filters({source_of(record) for path in chosen[-1:] for record in whole_records(path)}, asked)
    choice = "".join(f"<label>{name} {menu}</label>" for name, menu in menus.items())
    if offset:
        choice += f'<button data-offset="{max(0, offset - SHOWN)}">previous page</button>'
    if offset + SHOWN < total:
        choice += f'<button data-offset="{offset + SHOWN}">next page</button>'
    count = f'<span class="muted">{offset + 1 if found else 0} to {offset + len(found)} of {total:,}</span>'
    address = Shelf(run, kind).address
    shown = [rollout(each, address, at) if kind in COMPLETIONS else pair(each) for at, each in found]
    return f'<div class="choice">{choice}{count}</div>{"".join(shown)}'


def keeper(asked: Mapping[str, str]) -> Callable[[Mapping[str, Any]], bool] | None:
    """Whether a rollout is of the verdict, cell and source that are asked for; None where all are."""
    readers: dict[str, Callable[[Mapping[str, Any]], str]] = {
        "verdict": lambda record: str(record.get("verdict")),
        "cell": cell_of,
        "source": source_of,
    }
    tests = [(readers[name], wanted) for name, wanted in asked.items() if wanted != "all"]
    return (lambda record: all(read(record) == wanted for read, wanted in tests)) if tests else None
