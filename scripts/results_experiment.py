"""An experiment of docs/data, and what its page can ask of it. scripts/rebuild_results.py writes the pages."""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from statistics import fmean, stdev
from textwrap import fill
from typing import Any

import yaml
from jinja2 import Environment, FileSystemLoader, StrictUndefined, TemplateError
from results_alarms import alarms_by_page
from results_drawing import band, drawn
from results_grid import grid_drawing

from cooper_rl.errors import BadInputError, CooperError
from cooper_rl.intervals import mean_interval, student
from cooper_rl.report.summary import COLUMNS, difference

DRAWN = {
    "reward": "mean reward",
    "eval/true_accuracy": "true accuracy",
    "eval/reward_model_accuracy": "reward model accuracy",
}
METRICS: dict[str, tuple[str, ...]] = dict(COLUMNS) | {
    "base": ("base",),
    "false positives start": ("false_positive_rate", "start"),
    "false positives end": ("false_positive_rate", "end"),
    "wrong accepted": ("last_errors", "wrong_accepted"),
    "right rejected": ("last_errors", "right_rejected"),
    "blank, most": ("blank", "most"),
    "blank end": ("blank", "end"),
    "anchors first": ("anchor_accuracy", "first"),
    "anchors min": ("anchor_accuracy", "min"),
    "rolled back": ("rolled_back",),
    "guard's share of time": ("guard_share",),
    "seconds of a step": ("step_seconds",),
    "peak GB": ("peak_gigabytes",),
    "KL end": ("kl", "end"),
    "pairs": ("pairs", "count"),
    "pairs held back": ("pairs", "held_back"),
    "accepted under both start": ("accepted_under_both", "start"),
    "accepted under both end": ("accepted_under_both", "end"),
    "alarm fired": ("alarm_step",),
    "alarm by the rule": ("rule_alarm_step",),
    "5 points lost": ("loss_step",),
}
OF_MEANS = [
    "reward start",
    "reward end",
    "rule accuracy end",
    "true accuracy end",
    "RM accuracy min",
    "RM accuracy end",
]
SHORT = {"accuracy ": "", "false positives": "FP", "guard's share of time": "guard time"}  # in the table of the runs
WHOLE = {"rolled back", "alarm fired", "alarm by the rule", "5 points lost", "pairs", "pairs held back"}
TENTHS = {"seconds of a step", "peak GB"}

Data = dict[str, Any]
environment = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "pages"),
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
)


def run(main: Callable[[], None]) -> None:
    """Runs a script's `main`; an error of Cooper's is one line, and the exit code is 2."""
    try:
        main()
    except CooperError as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(2)


def markdown(rows: Sequence[Sequence[str]]) -> str:
    """Header and rows as a table."""
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([lines[0], "|" + "---|" * len(rows[0]), *lines[1:]])


def wrap(text: str, indent: int = 0) -> str:
    """A paragraph or a list's entry in lines of at most 160 characters."""
    whole = text.replace(" ± ", "\u00a0±\u00a0").replace(" %", "\u00a0%")
    whole = re.sub(r" (?=\d+\.\s)", "\u00a0", whole)  # "0." at a line's start would begin a list
    lines = fill(whole, 160, subsequent_indent=" " * indent, break_long_words=False, break_on_hyphens=False)
    return lines.replace("\u00a0", " ")


environment.filters["wrap"] = wrap


def number(value: float, form: str) -> str:
    """As text; what rounds to nought has no sign."""
    text = f"{value:{form}}"
    return (text if text.strip("+-0.%") else text.lstrip("+-")).replace("%", " %")


def with_interval(values: Sequence[float], form: str = ".3f") -> str:
    """The mean and, of two to ten values that differ, half its 95 % interval (Student's t)."""
    if not values:
        return "-"
    spread = student(len(values)) * stdev(values) if 2 <= len(values) <= 10 else 0.0
    half = f"{spread / math.sqrt(len(values)):{form.lstrip('+')}}"
    return number(fmean(values), form) + (f" ± {half}" if half.strip("0.") else "")


def reached(measured: Sequence[Sequence[float]], level: float) -> float | None:
    """The step at which (step, value) first reaches the level, straight between two measurements."""
    if measured[0][1] >= level:
        return measured[0][0]
    return next((crossing(a, b, level) for a, b in pairwise(measured) if b[1] >= level), None)


def crossing(before: Sequence[float], after: Sequence[float], level: float) -> float:
    """The step at which a straight line from one (step, value) to another, which differs, has the level."""
    return before[0] + (level - before[1]) / (after[1] - before[1]) * (after[0] - before[0])


class Experiment:
    """The runs of an experiment and its words. Its public methods are what words and templates can ask for.

    A metric is a title of `METRICS`, or of `metrics` in the words; an arm is a variant's or an arm's name.
    """

    def __init__(self, name: str, docs: Path) -> None:
        self.name = name
        self._data = docs / "data"
        self.runs: list[Data] = json.loads((self._data / f"{name}.json").read_text())
        raw = yaml.safe_load((self._data / f"{name}.yaml").read_text())
        self._metrics = METRICS | {title: (key,) for title, key in raw.get("metrics", {}).items()}
        self.arms: dict[str, list[Data]] = {}
        for run in self.runs:
            arm, folder = run.get("arm") or run["variant"], run.get("name", "").partition("/")[0]
            self.arms.setdefault(f"{folder}, {arm}" if raw.get("by_folder") else arm, []).append(run)
        self.arms = {arm: self._of(arm) for arm in raw.get("arms", self.arms)}
        self.words: Data = self._filled(raw)

    def _filled(self, part: Any) -> Any:
        if isinstance(part, str):
            methods = {name: getattr(self, name) for name in dir(self) if not name.startswith("_") and name != "words"}
            try:
                return environment.from_string(part).render(methods).strip()
            except TemplateError as error:
                raise BadInputError(f"docs/data/{self.name}.yaml: {error.message} (in {part.strip()!r})") from error
        if isinstance(part, dict):
            return {key: self._filled(value) for key, value in part.items()}
        return [self._filled(value) for value in part] if isinstance(part, list) else part

    def _of(self, arm: str) -> list[Data]:
        if arm not in self.arms:
            raise BadInputError(f"docs/data/{self.name}.json has no run of {arm!r}, which {self.name}.yaml names")
        return self.arms[arm]

    def _value(self, run: Data, metric: str) -> float | None:
        value: Any = run
        for key in self._metrics[metric]:
            value = value.get(key) if isinstance(value, dict) else None
        return None if value is None or math.isnan(value) else float(value)

    def values(self, arm: str, metric: str) -> list[float]:
        """Of those of the arm's runs that have it."""
        return [value for run in self._of(arm) if (value := self._value(run, metric)) is not None]

    def mean(self, arm: str, metric: str = "true accuracy end") -> str:
        """Over the arm's seeds."""
        return f"{fmean(self.values(arm, metric)):.3f}"

    def means_of(self, arms: Sequence[str], metric: str) -> list[float]:
        """Over each arm's seeds."""
        return [fmean(self.values(arm, metric)) for arm in arms]

    def interval(self, arm: str, metric: str = "true accuracy end") -> str:
        """The mean and half its 95 % interval."""
        return with_interval(self.values(arm, metric))

    def span(self, arm: str, metric: str = "true accuracy end", form: str = ".3f") -> str:
        """The least and the greatest value."""
        return self.extent(self.values(arm, metric), form)

    def extent(self, values: Sequence[float], form: str = ".3f") -> str:
        """The least and the greatest of them."""
        least, greatest = number(min(values), form), number(max(values), form)
        return least if least == greatest else f"{least} to {greatest}"

    def average(self, values: Sequence[float], form: str = ".2f") -> str:
        """Their mean."""
        return number(fmean(values), form)

    def listed(self, values: Sequence[float], form: str = ".3f") -> str:
        """All of them."""
        *others, last = (number(value, form) for value in values)
        return f"{', '.join(others)} and {last}" if others else last

    def at(self, arm: str, step: int, key: str = "eval/true_accuracy") -> list[float]:
        """True accuracy at a step, or another metric whose series is kept; of each run."""
        return [dict(run["series"][key])[step] for run in self._of(arm)]

    def late(self, arm: str, step: int, key: str = "eval/true_accuracy") -> list[float]:
        """True accuracy at a step and after it, or another metric whose series is kept; of all runs."""
        return [value for run in self._of(arm) for at, value in run["series"][key] if at >= step]

    def read(self, arm: str, step: int) -> list[float]:
        """How many held-out answers the rule says CORRECT to for each right one, in each run."""
        by_rule, true = self.at(arm, step, "eval/rule_accuracy"), self.at(arm, step)
        return [a / b for a, b in zip(by_rule, true, strict=True)]

    def steps_to(self, arm: str, level: float) -> list[float]:
        """Where true accuracy first reaches the level, straight between measurements; of each run that reaches it."""
        return [
            step for run in self._of(arm) if (step := reached(run["series"]["eval/true_accuracy"], level)) is not None
        ]

    def change(self, arm: str, start: str, end: str) -> list[float]:
        """From one metric to another, of each run."""
        return [b - a for a, b in zip(self.values(arm, start), self.values(arm, end), strict=True)]

    def paired(self, arm: str, other: str, metric: str = "true accuracy end") -> list[float]:
        """The differences, arm less other, over the seeds that both have."""
        theirs = {run["seed"]: self._value(run, metric) for run in self._of(other)}
        found = [(self._value(run, metric), theirs.get(run["seed"])) for run in self._of(arm)]
        return [mine - other for mine, other in found if mine is not None and other is not None]

    def difference(self, arm: str, other: str, metric: str = "true accuracy end") -> str:
        """Its mean, and half its 95 % interval."""
        return with_interval(self.paired(arm, other, metric), "+.3f")

    def over_places(self, arm: str, other: str, places: Sequence[int], metric: str = "true accuracy end") -> str:
        """The mean difference over pairs of arms, paired by seed, and half its 95 % interval; `{}` is for a place."""
        values = [value for at in places for value in self.paired(arm.format(at), other.format(at), metric)]
        low, high = mean_interval(values)
        return f"{number(fmean(values), '+.3f')} ± {(high - low) / 2:.3f}"

    def over_problems(self, arm: str, other: str, problems: int) -> str:
        """How far the arm ends above the other in true accuracy; with one seed the interval is over the problems."""
        found = difference(self._of(arm), self._of(other), problems)
        if found is None:
            raise BadInputError(f"{self.name}: {arm} and {other} have no seed in common")
        return f"{found.mean:+.3f} (95 % interval {found.low:+.3f} to {found.high:+.3f})"

    def ahead(self, arm: str, other: str, metric: str = "true accuracy end") -> str:
        """The same without its sign: how far the arm is above the other."""
        return with_interval(self.paired(arm, other, metric))

    def seeds(self) -> str:
        """How many runs an arm has."""
        counts = sorted({len(runs) for runs in self.arms.values()})
        if counts == [1]:
            return "1 seed"
        return f"{counts[0]} seeds" if len(counts) == 1 else f"{counts[0]} to {counts[-1]} seeds"

    def alarms(self, arm: str = "") -> str:
        """How often the alarm fired, and how often there was harm; of one arm or of all."""
        runs = self._of(arm) if arm else self.runs
        fired, harmed = ([run for run in runs if run[key]] for key in ("alarm_step", "loss_step"))
        both = [run for run in fired if run["loss_step"]]
        early = sum(run["loss_step"] > run["alarm_step"] for run in both)
        many = f"{len(harmed)} run{'s' if len(harmed) > 1 else ''}" if harmed else "no run"
        none = ", without an alarm" if harmed and not both else ""
        found = f" The alarm fired in {len(both)} of these, in {early} before the loss." if both else ""
        return (
            f"{f'In the arm `{arm}` the' if arm else 'The'} alarm fired in {len(fired)} of {len(runs)} runs. "
            f"True accuracy fell by 5 points or more in {many}{none}.{found}"
        )

    def leads(self, folder: str) -> list[float]:
        """Steps from the alarm to the loss of 5 points, in order, of the runs in a folder that have both."""
        runs = [run for run in self.runs if run["name"].startswith(f"{folder}/") and run["loss_step"]]
        return sorted(run["loss_step"] - run["alarm_step"] for run in runs if run["alarm_step"])

    def false_alarms(self, arm: str) -> int:
        """Runs in which the alarm fired and that never lost 5 points."""
        return sum(bool(run["alarm_step"]) and not run["loss_step"] for run in self._of(arm))

    def alarms_elsewhere(self) -> str:
        """In how many runs of the other pages each of the two alarms fired."""
        return markdown(alarms_by_page(self._data, without=self.name))

    def alarms_in_all(self) -> tuple[str, ...]:
        """The last row of that table, without its title."""
        return alarms_by_page(self._data, without=self.name)[-1][1:]

    def harmed(self) -> list[Data]:
        """The runs that lost 5 points."""
        return [run for run in self.runs if run["loss_step"]]

    def unharmed(self) -> list[Data]:
        """The runs that never lost 5 points."""
        return [run for run in self.runs if not run["loss_step"]]

    def last(self, arm: str, asked: str, key: str) -> list[float]:
        """Of the last steps' rollouts that ask for something, in each run that has some.

        Args:
            key: `reward`, `rule`, `true` or `no_answer`.
        """
        return [run["last_rollouts"][asked][key] for run in self._of(arm) if asked in run["last_rollouts"]]

    def wrong_accepted(self, arm: str, after: int, to: int) -> str:
        """Of the arm's wrong rollouts after one step and up to another, how many its reward model accepts.

        Runs whose record has no such counts are left out.
        """
        blocks = [b for run in self._of(arm) for b in run.get("wrong_in_blocks", ()) if after < b[0] <= to]
        wrong, accepted = (sum(block[at] for block in blocks) for at in (1, 2))
        return f"{accepted / wrong:.1%} ({accepted} of {wrong:,})"

    def aims_met(self, arm: str) -> str:
        """In how many runs the default's aims for this arm are met."""
        if arm == "static":
            pairs = zip(
                self.change(arm, "reward start", "reward end"),
                self.change(arm, "true accuracy peak", "true accuracy end"),
                strict=True,
            )
            met = [rise >= 0.3 and fall <= -0.1 for rise, fall in pairs]
        else:
            dips = self.change(arm, "RM accuracy start", "RM accuracy min")
            triples = zip(self.change(arm, "base", "true accuracy end"), self.paired(arm, "rule"), dips, strict=True)
            met = [gain >= 0.05 and ahead >= 0 and dip >= -0.01 for gain, ahead, dip in triples]
        return f"{sum(met)} of {len(met)}"

    def within(self, arm: str, bound: float) -> int:
        """Runs whose reward model was never measured further than `bound` below its start."""
        falls = self.change(arm, "RM accuracy start", "RM accuracy min")
        return sum(fall >= -bound for fall in falls)

    def means_table(self) -> str:
        """A row for each arm: means over seeds with 95 % intervals. Columns that nothing is in are left out."""
        titles = self.words.get("columns", OF_MEANS)
        rows = [["arm", "seeds", *titles]]
        for arm, runs in self.arms.items():
            cells = [with_interval(self.values(arm, title), ".1f" if title in WHOLE else ".3f") for title in titles]
            rows.append([arm, str(len(runs)), *cells])
        return markdown(filled_columns(rows))

    def differences_table(self) -> str:
        """A row for each pair of arms in `compare`, a column for each metric in `compared`."""
        metrics = self.words.get("compared", ["true accuracy end"])
        rows = [["difference, paired by seed", *metrics]]
        for arm, other in self.words.get("compare", []):
            rows.append([f"{arm} - {other}", *(self.difference(arm, other, metric) for metric in metrics)])
        return markdown(rows) if len(rows) > 1 else ""

    def rollouts_table(self) -> str:
        """The last steps' rollouts by what is asked for; means over an arm's runs."""
        rows = [["asked for", "arm", "mean reward", "rule says CORRECT", "true accuracy", "no answer in it"]]
        for asked in sorted({asked for run in self.runs for asked in run["last_rollouts"]}):
            for arm in self.arms:
                found = (fmean(self.last(arm, asked, key)) for key in ("reward", "rule", "true", "no_answer"))
                rows.append([asked, arm, *(f"{mean:.3f}" for mean in found)])
        return markdown(rows)

    def runs_table(self) -> str:
        """A row for each run, with every metric that one of them has."""
        titles = [title for title in self._metrics if title != "anchors first"]
        rows = [["run", *titles, "commit"]]
        for arm, runs in self.arms.items():
            for run in runs:
                cells = [cell(self._value(run, title), title) for title in titles]
                rows.append([run.get("name") or f"{arm}-seed{run['seed']}", *cells, run["commit"]])
        for long, short in SHORT.items():
            rows[0] = [title.replace(long, short) for title in rows[0]]
        return markdown(filled_columns(rows))

    def commits(self) -> str:
        """Of the runs."""
        return ", ".join(sorted({run["commit"] for run in self.runs}))

    def figures(self) -> list[str]:
        """The titles of the page's drawings: those of `figures` in its words for which there are data."""
        titles = {title for title, _ in self.drawings()}
        return [title for title in self.words.get("figures", ["true accuracy"]) if title in titles]

    def drawings(self) -> Iterator[tuple[str, str]]:
        """Title and drawing: of each metric over the steps, of each of `curves` in the words, and of their `grid`."""
        for key, title in DRAWN.items():
            found = {
                arm: [run["series"][key] for run in self._of(arm) if run.get("series", {}).get(key)]
                for arm in self.words.get("drawn_arms", self.arms)
            }
            if lines := {arm: band(series) for arm, series in found.items() if series}:
                yield title, drawn(lines)
        for title, curve in self.words.get("curves", {}).items():
            metric = curve.get("metric", title)
            lines = {
                name: [(x, fmean(v), min(v), max(v)) for x, arm in points.items() if (v := self.values(arm, metric))]
                for name, points in curve["lines"].items()
            }
            yield title, drawn(lines, curve["label"])
        if grid := self.words.get("grid"):
            yield grid["title"], grid_drawing(self.words["curves"], grid, lambda arm: self.values(arm, grid["metric"]))

    def page(self) -> str:
        """As Markdown."""
        return environment.get_template("experiment.md.j2").render(experiment=self, **self.words)


def cell(value: float | None, metric: str) -> str:
    """Of one run's value."""
    digits = 0 if metric in WHOLE else 1 if metric in TENTHS else 3
    return "-" if value is None else f"{value:.{digits}f}"


def filled_columns(rows: Sequence[Sequence[str]]) -> list[list[str]]:
    """The rows without the columns in which every cell is a dash or a nought."""
    columns = list(zip(*rows, strict=True))
    kept = [column for column in columns if not {"-", "0", "0.000"}.issuperset(column[1:])]
    return [list(row) for row in zip(*kept, strict=True)]
