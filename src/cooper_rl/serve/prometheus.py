"""`GET /metrics`: the server's and the last step's metrics in Prometheus's text format."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from cooper_rl.serve.desk import Desk

TYPE = "text/plain; version=0.0.4; charset=utf-8"


def lines(desk: Desk, answers: Mapping[int, int]) -> Iterator[str]:
    """The lines of the page.

    Args:
        answers: how many requests got each status.
    """
    learner = desk.learner
    yield from metric("version", "gauge", "Updates that the reward model has had.", [("", learner.version)])
    yield from metric("steps", "gauge", "Batches that were learned from.", [("", learner.step)])
    yield from metric("waiting", "gauge", "Calls that wait.", [("", desk.waiting)])
    yield from metric("stopped", "gauge", "Whether the run has stopped.", [("", int(bool(desk.stopped)))])
    yield from metric("samples_total", "counter", "Samples asked for since the start.", [("", desk.samples)])
    yield from metric("rounds_total", "counter", "Times that waiting calls were scored.", [("", desk.rounds)])
    by_status = [(f'{{status="{status}"}}', count) for status, count in sorted(answers.items())]
    yield from metric("answers_total", "counter", "Requests answered since the start, by status.", by_status)
    of_step = [(f'{{name="{name}"}}', value) for name, value in learner.metrics.items() if value is not None]
    yield from metric("step_metric", "gauge", "The last step's line of metrics.jsonl.", of_step)


def metric(name: str, kind: str, help: str, values: Iterable[tuple[str, float]]) -> Iterator[str]:
    """One metric: its two comments, then a line for each (labels, value)."""
    yield f"# HELP cooper_{name} {help}"
    yield f"# TYPE cooper_{name} {kind}"
    for labels, value in values:
        yield f"cooper_{name}{labels} {value:.10g}"
