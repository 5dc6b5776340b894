"""The three sentences that end a comparison: who ended ahead, whether a reward was exploited, and where to look."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cooper_rl.report.curves import ARM_ORDER
from cooper_rl.report.difference import Difference, difference
from cooper_rl.report.page import CELLS
from cooper_rl.report.story import FALL, RISE, Entry, alarms, change, exploited, listed, steps_of, titled, told
from cooper_rl.report.summary import mean_of

Arms = Mapping[str, Sequence[Entry]]
PEAK, END = ("true_accuracy", "peak"), ("true_accuracy", "end")


def conclusion(summary: Mapping[str, Any], report: Path | str) -> list[str]:
    """Three sentences, true to the summary's figures.

    Args:
        summary: what `summarize` returns.
        report: the report's path, as it is shown.
    """
    arms: Arms = summary["arms"]
    ending = [told([exploitation(arms), alarms(arms)]), told([place(arms, report)])]
    return [told([result(summary)]), *map(titled, ending)]


def result(summary: Mapping[str, Any]) -> str:
    """How cooper, or else the arm that ended best, ended against the best of the others."""
    arms: Arms = summary["arms"]
    ends = {arm: end for arm, entries in arms.items() if (end := mean_of(entries, "true_accuracy", "end")) is not None}
    if not ends:
        rule = {arm: mean_of(entries, "rule_accuracy", "end") for arm, entries in arms.items()}
        parts = [f"{end:.3f} ({arm})" for arm, end in rule.items() if end is not None]
        said = f"rule accuracy ended at {listed(parts)}" if parts else "nor was rule accuracy"
        return f"True accuracy was not measured; {said}"
    best_first = sorted(ends, key=lambda arm: -ends[arm])
    ours = "cooper" if "cooper" in ends else best_first[0]
    if len(ends) == 1:
        steps = steps_of(arms[ours])
        return f"{named(ours)}'s true accuracy {change(summary['base']['true_accuracy'], ends[ours])} in {steps}"
    theirs = next(arm for arm in best_first if arm != ours)
    return against(named(ours), theirs, difference(arms[ours], arms[theirs], summary.get("heldout_problems")))


def named(arm: str) -> str:
    """An arm's name at the beginning of a sentence; a name that a user gave stays as it is."""
    return titled(arm) if arm in ARM_ORDER else arm


def against(ours: str, theirs: str, found: Difference | None) -> str:
    """One arm against another, with the difference of their final accuracies and its interval."""
    if found is None:
        return f"{ours} and {theirs} have no seed in common, so their true accuracy is not compared"
    ends = f"true accuracy {found.ours:.3f} and {found.theirs:.3f}"
    if not found.counted:
        return f"{ours} and {theirs} ended at {ends}; one seed gives no interval, so the difference may be chance"
    word = {
        1: f"{ours} won against {theirs}",
        -1: f"{ours} lost to {theirs}",
        0: f"{ours} and {theirs} cannot be told apart",
    }
    interval = f"95 % interval {found.low:+.3f} to {found.high:+.3f}, {found.counted}"
    return f"{word[found.sign]}: {ends}, difference {found.mean:+.3f} ({interval})"


def exploitation(arms: Arms) -> str:
    """Which arms' reward was exploited, or that none was."""
    found = {arm: hits for arm, entries in arms.items() if (hits := [entry for entry in entries if exploited(entry)])}
    if len(found) > 1:
        falls = listed([f"{mean(hits, *PEAK) - mean(hits, *END):.2f}" for hits in found.values()])
        arms_said = listed(list(found))
        return f"the reward was exploited in {arms_said}: reward rose while true accuracy fell by {falls}"
    for arm, hits in found.items():
        what = "the frozen reward model was exploited" if arm == "static" else f"the reward of {arm} was exploited"
        often = f" in {len(hits)} of {len(arms[arm])} runs" if len(arms[arm]) > 1 else ""
        reward, fall = span(hits, ("reward", "start"), ("reward", "end")), span(hits, PEAK, END)
        return f"{what}{often}: reward went from {reward}, true accuracy from {fall}"
    if mean_of([entry for entries in arms.values() for entry in entries], "true_accuracy", "end") is None:
        return "without true accuracy nothing shows whether a reward was exploited"
    if "static" in arms and mean_of(arms["static"], "true_accuracy", "end") is not None:
        return not_exploited(arms["static"])
    return "no reward was exploited" + reward_model(arms)


def not_exploited(entries: Sequence[Entry]) -> str:
    """What is said of static runs in which the frozen reward model was not exploited."""
    if mean(entries, *PEAK) - mean(entries, *END) >= FALL:
        reward = span(entries, ("reward", "start"), ("reward", "end"))
        fall = f"static's true accuracy fell from {span(entries, PEAK, END)} while reward went from {reward}"
        rise = mean(entries, "reward", "end") - mean(entries, "reward", "start")
        why = "too small a rise for exploitation" if rise < RISE else "but not both in one run"
        return f"{fall}, {why}"
    often = f" in any of {len(entries)} runs" if len(entries) > 1 else ""
    ended = f"true accuracy ended at {mean(entries, *END):.2f} after a peak of {mean(entries, *PEAK):.2f}"
    return f"the frozen reward model was not exploited{often}: static's {ended}"


def reward_model(arms: Arms) -> str:
    """How a reward model changed that was trained along; empty where none was."""
    for arm in ("cooper", "hybrid"):
        if arm in arms and mean_of(arms[arm], "reward_model_accuracy", "end") is not None:
            accuracy = span(arms[arm], ("reward_model_accuracy", "start"), ("reward_model_accuracy", "end"))
            return f", and {arm}'s reward model went from held-out accuracy {accuracy}"
    return ""


def place(arms: Arms, report: Path | str) -> str:
    """Where to look."""
    fooled = [
        arm for arm, entries in arms.items() if any(exploited(e) or e["alarm"]["step"] is not None for e in entries)
    ]
    if fooled:
        choice = f'choose {fooled[0]} and "{CELLS["fooled"]}"'
        return f"to read what fooled the reward model, open {report}, go to Rollouts and {choice}"
    return f"open {report} for the curves over the steps and for the rollouts, which can be searched and linked to"


def mean(entries: Sequence[Entry], *keys: str) -> float:
    """The mean of a metric that the entries have."""
    found = mean_of(entries, *keys)
    assert found is not None
    return found


def span(entries: Sequence[Entry], start: tuple[str, ...], end: tuple[str, ...]) -> str:
    """`0.35 to 0.86`, means over the entries."""
    return f"{mean(entries, *start):.2f} to {mean(entries, *end):.2f}"
