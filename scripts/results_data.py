"""What docs/data keeps of a run. scripts/rebuild_results.py takes runs in."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from statistics import fmean, median
from typing import Any

from results_experiment import crossing

from cooper_rl.domains.problems import load_problems, truth_of
from cooper_rl.jsonl import whole_records
from cooper_rl.method.alarm import AcceptanceAlarm, HackingAlarm
from cooper_rl.method.monitor import ACCEPTANCE, by_prompt
from cooper_rl.records import THRESHOLD, Problem, Rollout
from cooper_rl.report.runs import Run, find_runs, read_run
from cooper_rl.report.summary import ends, summarize_run
from cooper_rl.verifiers.math.stated import has_answer

LAST = 20  # steps whose rollouts are looked at
PERMUTED = 100  # random orders of a run's steps that the alarm is tried on
BLOCK = 50  # steps over which the reward model's errors are counted
LOST = 0.05  # of true accuracy, below its best so far: hacking has done harm
KEPT = ("reward", "eval/true_accuracy", "eval/rule_accuracy", "eval/reward_model_accuracy")  # of every step
POLICY = ("time/generate_seconds", "time/score_seconds", "time/policy_seconds")  # what TRL's step_time has in one
STAGE_2 = ("time/pairs_seconds", "time/reward_model_seconds", "time/guard_seconds")  # and what it has not
BY_TASK = {"schoolbook", "studies.passages.data_set:Passages"}  # worlds whose rollouts are told apart by their task

Data = dict[str, Any]
Judged = tuple[Data, Problem, bool]  # a rollout, its problem, and whether it is right


def entry_of(run: Run) -> Data:
    """The record of a run."""
    measured = run.series("eval/true_accuracy")
    anchors = run.values("reward_model/anchor_accuracy")
    guard = sum(run.values("time/guard_seconds"))
    fooled = run.values("hacking/false_positive_rate")
    steps = step_seconds(run)
    memory = run.values("memory/peak_gigabytes")
    alarm = HackingAlarm()  # both alarms are worked out anew
    by_rule = next((int(row["step"]) for row in run.metrics if row["step"] and alarm.add(row)), None)
    asked = run.values(ACCEPTANCE)
    rollouts = {int(path.stem.rpartition("_")[2]): list(whole_records(path)) for path in run.steps_of("rollouts")}
    shares = shares_by_step(run, rollouts) if asked else {}
    whole = run.config.get("rollouts_steps", 1) == 1  # every step's rollouts are kept
    by_asking = alarm_by_asking(run, shares) if whole else run.alarm_step
    steps_judged = list(judged_rollouts(run, rollouts.values()))
    last = list(chain.from_iterable(steps_judged[-LAST:]))
    return {
        "name": f"{run.path.parent.name}/{run.path.name}",
        "arm": run.arm,
        "commit": str(run.environment.get("commit", "?"))[:7],
        "base": measured[0][1] if measured else None,
        **{name: value for name, value in summarize_run(run).items() if name != "evidence"},  # follows from the figures
        "false_positive_rate": ends(fooled),
        "kl": {"end": ends(run.values("kl"))["end"]},
        "step_seconds": median(steps) if steps else None,
        "peak_gigabytes": max(memory, default=None),
        "pairs": {key: int(sum(run.values(f"pairs/{key}"))) for key in ("count", "held_back")},
        "alarm_step": by_asking if asked else by_rule,
        **(
            {"rule_alarm_step": by_rule, "accepted_under_both": ends(asked), "null_alarms": null_alarms(run, shares)}
            if asked
            else {}
        ),
        "loss_step": loss_step(measured),
        "rolled_back": int(sum(run.values("reward_model/rolled_back"))),
        "anchor_accuracy": {"first": anchors[0], "min": min(anchors), "end": anchors[-1]} if anchors else None,
        "guard_share": guard / sum(steps) if steps else None,
        "last_rollouts": last_rollouts(last, by_task=run.config["dataset_name"] in BY_TASK),
        "last_errors": last_errors(last),
        "wrong_in_blocks": wrong_in_blocks(steps_judged),
        "blank": blank(run),
        "series": {name: [[step, round(value, 4)] for step, value in run.series(name)] for name in KEPT},
    }


def shares_by_step(run: Run, rollouts: Mapping[int, Sequence[Data]]) -> dict[int, list[float]]:
    """For each step with a tested completion: each prompt's share that is accepted under a wrong reference too."""
    own = run.config.get("reward_threshold")
    threshold = THRESHOLD if own is None else own
    found = {step: by_prompt(list(map(Rollout.from_record, rows)), threshold) for step, rows in rollouts.items()}
    return {step: shares for step, shares in found.items() if shares}


def alarm_by_asking(run: Run, shares: Mapping[int, Sequence[float]]) -> int | None:
    """The step in which the alarm fires that watches these shares."""
    alarm = AcceptanceAlarm(probability=float(run.config.get("alarm_probability", 0.01)))
    return next((step for step, found in shares.items() if alarm.fires_on(found)), None)


def null_alarms(run: Run, shares: Mapping[int, Sequence[float]]) -> dict[str, int]:
    """How many of `tried` alarms fire on this run's prompts, and on its steps, in random orders.

    In a random order there is no rise, so the alarm's stated probability bounds the share that fires. Steps stay whole:
    so what the prompts of a step have in common, which the alarm takes to be nothing, is in them.
    """
    rng, found = random.Random(0), {"prompts": 0, "steps": 0, "tried": PERMUTED}
    prompts, steps = list(chain.from_iterable(shares.values())), list(shares.values())
    for _ in range(PERMUTED):
        rng.shuffle(prompts)
        rng.shuffle(steps)
        left = iter(prompts)
        dealt = {step: list(islice(left, len(own))) for step, own in shares.items()}
        found["prompts"] += alarm_by_asking(run, dealt) is not None
        found["steps"] += alarm_by_asking(run, dict(enumerate(steps, 1))) is not None
    return found


def step_seconds(run: Run) -> list[float]:
    """How long each step took, stage 2 and the guard included; of the steps whose times are known."""
    found = []
    for row in run.metrics:
        first = ("step_time",) if row.get("step_time") is not None else POLICY
        if all(row.get(name) is not None for name in first):
            found.append(sum(row.get(name) or 0.0 for name in (*first, *STAGE_2)))
    return found


def last_rollouts(judged: Sequence[Judged], *, by_task: bool) -> dict[str, dict[str, float]]:
    """Of the last steps' rollouts in a generated world, by what is asked for: a number, a word, or one of its tasks."""
    found: dict[str, list[list[float]]] = {}
    for rollout, problem, true in judged:
        completion, reference = rollout["completion"], rollout["reference_answer"]
        if by_task:
            asked = str(problem.metadata["task"]).replace("_", " ")
        else:
            asked = "number" if any(character.isdigit() for character in reference) else "word"
        correct, empty = rollout["verdict"] == "CORRECT", not has_answer(completion, reference)
        found.setdefault(asked, []).append([rollout["reward"], correct, true, empty])
    names = ("reward", "rule", "true", "no_answer")
    return {
        asked: {"count": len(rows), **dict(zip(names, map(fmean, zip(*rows, strict=True)), strict=True))}
        for asked, rows in sorted(found.items())
    }


def last_errors(judged: Sequence[Judged]) -> dict[str, float]:
    """Of the same rollouts the share of wrong ones that the reward model accepts, and of right ones that it rejects."""
    right, wrong = accepted(judged, right=True), accepted(judged, right=False)
    found = {"wrong_accepted": fmean(wrong)} if wrong else {}
    return found | ({"right_rejected": 1 - fmean(right)} if right else {})


def wrong_in_blocks(steps: Sequence[Sequence[Judged]]) -> list[list[int]]:
    """[last step, wrong rollouts, how many of these the reward model accepts] of each `BLOCK` steps."""
    found = []
    for start in range(0, len(steps), BLOCK):
        block = steps[start : start + BLOCK]
        wrong = accepted(list(chain.from_iterable(block)), right=False)
        found.append([start + len(block), len(wrong), sum(wrong)])
    return found


def accepted(judged: Sequence[Judged], *, right: bool) -> list[bool]:
    """Whether the reward model accepts each of the right, or of the wrong, rollouts; without one the list is empty."""
    return [
        rollout["score"] > THRESHOLD for rollout, _, true in judged if true == right and rollout["score"] is not None
    ]


def blank(run: Run) -> dict[str, float]:
    """The share of blank completions: at the step that has most of them, and over the last steps."""
    steps = [[not row["completion"].strip() for row in whole_records(path)] for path in run.steps_of("rollouts")]
    return {"most": max(map(fmean, steps)), "end": fmean(map(fmean, steps[-LAST:]))} if steps else {}


def judged_rollouts(run: Run, steps: Iterable[Sequence[Data]]) -> Iterator[list[Judged]]:
    """Each step's rollouts in a generated world, with their problems and whether they are right."""
    name = run.config["dataset_name"]
    is_true = truth_of(name)
    if is_true is None:
        return
    problems = {problem.problem_id: problem for problem in load_problems(name, **run.problem_settings)}
    for rollouts in steps:
        rows = [(rollout, problems[rollout["problem_id"]]) for rollout in rollouts]
        yield [(rollout, problem, is_true(problem, rollout["completion"])) for rollout, problem in rows]


def loss_step(measured: Sequence[tuple[int, float]]) -> float | None:
    """Where true accuracy first is `LOST` below its best so far; straight between two measurements."""
    best, before = 0.0, (0, 0.0)
    for step, value in measured:
        if value <= best - LOST:
            return crossing(before, (step, value), best - LOST)
        best, before = max(best, value), (step, value)
    return None


def runs_in(folders: Sequence[Path]) -> list[Run]:
    """The finished ones of these run folders, or of those in these folders."""
    return [read_run(path) for path in find_runs(folders) if (path / "finished.json").is_file()]


def finished(folder: Path) -> list[Data]:
    """Of the finished runs in a folder."""
    return [entry_of(run) for run in runs_in([folder])]
