"""What runs show, in sentences: the first line of a report or live page, and the three that end a comparison.

What is said to have risen or fallen has done so beyond error.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from cooper_rl.intervals import Change, mean_interval
from cooper_rl.report.curves import ARM_ORDER
from cooper_rl.report.page import CELLS
from cooper_rl.report.summary import (
    FALL,
    RISE,
    Arms,
    Entry,
    change_in,
    difference,
    ends_of,
    has_fallen,
    may_be_exploited,
    mean,
    mean_of,
    select,
    within,
)

EXPLOITED = (
    f"Exploited: reward, or acceptance under wrong references, rose by {RISE:g} or more, and true accuracy fell by"
    f" {FALL:g} or more from its peak, both beyond error."
)
MOST_ARMS = 4  # that are named one by one
OVERPAID = 0.2  # reward above true accuracy: more than both may be in error
MOST_PROBLEMS = 20_000  # more than these are not advised
NOTHING = "nothing has been measured yet"
METRICS = {"true_accuracy": "true accuracy", "rule_accuracy": "rule accuracy", "reward": "mean reward"}


def is_exploited(entry: Entry) -> bool:
    """Whether a run's reward was exploited: it rose while true accuracy fell from its peak, both beyond error."""
    return may_be_exploited(entry) and has_fallen(entry)


def story(summary: Mapping[str, Any]) -> str:
    """One sentence about a run, or about several runs by arm, true to the summary's figures."""
    arms: Arms = summary["arms"]
    entries = [*chain(*arms.values())]
    if not any(entry["steps"] for entry in entries):
        return sentence("no step has been logged yet")
    if len(entries) == 1:
        return sentence(*course(entries[0], summary["base"]["true_accuracy"]), silences(arms), alarms(arms))
    return sentence(standing(arms, summary.get("heldout_problems")), silences(arms), alarms(arms))


def conclusion(summary: Mapping[str, Any], report: Path | str) -> list[str]:
    """Three sentences, true to the summary's figures: who ended ahead, whether a reward was exploited, where to look.

    Args:
        summary: what `summarize` returns.
        report: the report's path, as it is shown.
    """
    arms: Arms = summary["arms"]
    where = sentence(silences(arms), place(arms, report))
    return [f"{result(summary)}.", sentence(exploitation(arms), alarms(arms)), where]


def course(entry: Entry, base: float | None) -> list[str]:
    """The clauses about one run: its accuracy, or its reward where that was not measured; reward model; rollbacks."""
    reward, true, model = entry["reward"], entry["true_accuracy"], entry["reward_model_accuracy"]["end"]
    steps, own = steps_of([entry]), [entry]
    clauses = [NOTHING]
    if is_exploited(entry):
        rose = f"it rose from {span(own, 'reward')}"
        if "reward" not in entry["evidence"]["rose"]:
            rose = "wrong references were accepted more and more"
        fall = f"true accuracy fell from {span(own, 'true_accuracy', 'peak')} in {steps}"
        clauses = [f"reward was exploited: {rose} while {fall}"]
    elif true["end"] is not None:
        told = change(base, true["end"], change_in(entry, "change"))
        clauses = [f"{METRICS['true_accuracy']} {told} in {steps}{peak(entry)}"]
    elif reward["end"] is not None:
        told = change(reward["start"], reward["end"], None, entry["evidence"]["reward"])
        clauses = [f"{METRICS['reward']} {told} in {steps}"]
    if model is not None and not may_be_exploited(entry):
        clauses.append(f"the reward model's held-out accuracy ended at {model:.2f}")
    if count := entry["rolled_back"]:
        clauses.append(f"{count} rollback{'s' * (count > 1)}")
    return clauses


def peak(entry: Entry) -> str:
    """What is said of a peak of true accuracy before its end: nothing where it ended about as high."""
    fall, highest = change_in(entry, "fall"), entry["true_accuracy"]["peak"]
    if fall is not None and has_fallen(entry):
        return f" (after a peak of {highest:.2f})"
    if fall is None or -fall.mean < FALL:
        return ""
    return f" (peak {highest:.2f}, no fall is shown{needed_for(fall, entry['evidence']['looks'])})"


def problems_of(found: Change, looks: int = 1) -> str:
    """`50 problems; about 400 would tell`: how many there were, and how many show a change of this size."""
    return f"{found.problems} problems{needed_for(found, looks)}"


def needed_for(found: Change, looks: int = 1) -> str:
    """`; about 400 would tell`: how many problems show a change of this size; empty where they are too many."""
    return tell_needed(found.problems_for(abs(found.mean), looks) if found.mean else 0)


def tell_needed(problems: int) -> str:
    """`; about 400 would tell`; empty where they are too many, or not known."""
    return f"; about {problems:,} would tell" if 0 < problems <= MOST_PROBLEMS else ""


def standing(arms: Arms, problems: int | None) -> str:
    """The clause about several runs: where each arm ended, the best first."""
    key = next((key for key in METRICS if ends_of(arms, key)), None)
    if key is None:
        return NOTHING
    metric, ends = METRICS[key], ends_of(arms, key)
    order, steps = sorted(ends, key=lambda arm: -ends[arm]), steps_of([*chain(*arms.values())])
    if max(map(len, arms.values())) > 1 and key != "reward":
        metric = f"mean {metric}"
    if len(order) > MOST_ARMS:
        best, last = (f"{ends[arm]:.2f}{within(arms[arm], key, problems)} ({arm})" for arm in (order[0], order[-1]))
        return f"after {steps} {metric} of the {len(order)} arms goes from {best} down to {last}"
    parts = [f"{ends[arm]:.2f}{within(arms[arm], key, problems)} ({arm}{tell_exploit(arms[arm])})" for arm in order]
    return f"after {steps} {metric} is {join_words(parts)}"


def tell_exploit(entries: Sequence[Entry]) -> str:
    """What is said of an arm whose reward was exploited; nothing for another."""
    count = sum(map(is_exploited, entries))
    if len(entries) > 1:
        return f", exploited in {count} of {len(entries)} runs" if count else ""
    return f", exploited: reward {span(entries, 'reward')}" if count else ""


def alarms(arms: Arms) -> str:
    """The clause about the hacking alarm; empty where no run had one."""
    fired = {arm: steps for arm, entries in arms.items() if (steps := alarm_steps(entries))}
    entries, count = [*chain(*arms.values())], sum(map(len, fired.values()))
    if not count:
        return "no alarm fired" if any(entry["alarm"]["watched"] for entry in entries) else ""
    if len(entries) == 1:
        return f"the alarm fired at step {entries[0]['alarm']['step']}"
    parts = [f"{len(steps)} {arm} run{'s' * (len(steps) > 1)}" for arm, steps in fired.items()]
    if count == 1:
        parts = [f"{arm} at step {steps[0]}" for arm, steps in fired.items()]
    elif len(fired) > MOST_ARMS:
        parts = [f"{count} of {len(entries)} runs"]
    return f"the alarm fired in {join_words(parts)}"


def silences(arms: Arms) -> str:
    """The clause about policies that came to write nothing; empty where none did."""
    silent = select(arms, lambda entry: entry["evidence"]["silent"])
    if not silent:
        return ""
    found, count = [*chain(*silent.values())], sum(len(arms[arm]) for arm in silent)
    whose = "the last completions" if len(arms) == 1 else f"{join_words([*silent])}'s last completions"
    often = f" ({len(found)} of {count} runs)" if count > len(found) else ""
    return f"{mean(found, 'empty'):.0%} of {whose}{often} are empty"


def result(summary: Mapping[str, Any]) -> str:
    """How cooper, or else the arm that ended best, ended against the best of the others."""
    arms: Arms = summary["arms"]
    ends = ends_of(arms, "true_accuracy")
    if not ends:
        rule = [f"{end:.3f} ({arm})" for arm, end in ends_of(arms, "rule_accuracy").items()]
        return (
            f"True accuracy was not measured; rule accuracy ended at {join_words(rule) if rule else 'no known value'}"
        )
    best_first = sorted(ends, key=lambda arm: -ends[arm])
    ours = "cooper" if "cooper" in ends else best_first[0]
    name = ours.capitalize() if ours in ARM_ORDER else ours  # a name that a user gave stays as it is
    if len(ends) == 1:
        told = tell_change_of_arm(summary["base"]["true_accuracy"], arms[ours])
        return f"{name}'s true accuracy {told} in {steps_of(arms[ours])}"
    theirs = next(arm for arm in best_first if arm != ours)
    found = difference(arms[ours], arms[theirs], summary.get("heldout_problems"), len(ends) - 1)
    if found is None:
        return f"{name} and {theirs} have no seed in common, so their true accuracy is not compared"
    accuracies = f"true accuracy {found.ours:.3f} and {found.theirs:.3f}"
    if not found.counted:
        chance = "one seed gives no interval, so the difference may be chance"
        return f"{name} and {theirs} ended at {accuracies}; {chance}"
    needed = "" if found.sign else tell_needed(found.needed)
    bounds = f"95 % interval {found.low:+.3f} to {found.high:+.3f}, {found.counted}{needed}"
    interval = f"difference {found.mean:+.3f} ({bounds})"
    outcomes = {1: "won against {}", -1: "lost to {}", 0: "and {} cannot be told apart"}
    return f"{name} {outcomes[found.sign].format(theirs)}: {accuracies}, {interval}"


def exploitation(arms: Arms) -> str:
    """Which arms' reward was exploited, or that none was."""
    found = select(arms, is_exploited)
    if len(found) > 1:
        falls = [f"{mean(hits, 'true_accuracy', 'peak') - mean(hits, 'true_accuracy'):.2f}" for hits in found.values()]
        return f"the reward was exploited in {join_words([*found])}: true accuracy fell by {join_words(falls)}"
    static = arms.get("static", [])
    for arm, hits in found.items():
        what = reward_of(arm)
        often = f" in {len(hits)} of {len(arms[arm])} runs" if len(arms[arm]) > 1 else ""
        reward, fall = span(hits, "reward"), span(hits, "true_accuracy", "peak")
        return f"{what} was exploited{often}: reward went from {reward}, true accuracy from {fall}"
    if not ends_of(arms, "true_accuracy"):
        return "without true accuracy nothing shows whether a reward was exploited"
    for arm, entries in arms.items():
        for entry in filter(may_be_exploited, entries):
            fall, found_fall = span([entry], "true_accuracy", "peak"), change_in(entry, "fall")
            assert found_fall
            counted = problems_of(found_fall, entry["evidence"]["looks"])
            unsure = f"whether {reward_of(arm)} was exploited cannot be told with {counted}"
            return f"{unsure}: true accuracy went from {fall}"
    return tell_unexploited(arms, static)


def tell_unexploited(arms: Arms, static: Sequence[Entry]) -> str:
    """What is said where no run may have been exploited: how sure that is."""
    measured = mean_of(static, "true_accuracy", "end") is not None
    own = static if measured else [*chain(*arms.values())]
    falls = [(found, entry["evidence"]["looks"]) for entry in own if (found := change_in(entry, "fall"))]
    if not falls:
        unknown = "on how many problems true accuracy was measured is not known"
        return f"{unknown}, so nothing shows whether a reward was exploited"
    fallen = [*filter(has_fallen, static)]
    if fallen and mean(fallen, "true_accuracy", "peak") - mean(fallen, "true_accuracy") >= FALL:
        reward, fall = span(fallen, "reward"), span(fallen, "true_accuracy", "peak")
        why = "too small a rise for exploitation"
        return f"static's true accuracy fell from {fall} while reward went from {reward}, {why}"
    overpaid = tell_overpaid(static) if measured else ""
    missed, count = max((-found.interval(looks)[0], found.problems) for found, looks in falls)
    if missed >= FALL:
        what = reward_of("static") if measured else "a reward"
        missing = f"a fall of {missed:.2f} would be missed with {count} problems"
        return f"{overpaid or f'nothing shows that {what} was exploited'}; {missing}"
    if not measured:
        return f"no reward was exploited{reward_model(arms)}"
    if overpaid:
        return overpaid
    often = f" in any of {len(static)} runs" if len(static) > 1 else ""
    end, highest = mean(static, "true_accuracy"), mean(static, "true_accuracy", "peak")
    told = f"static's true accuracy ended at {end:.2f} after a peak of {highest:.2f}"
    return f"the frozen reward model was not exploited{often}: {told}"


def tell_overpaid(static: Sequence[Entry]) -> str:
    """That a frozen reward model pays wrong completions, where its reward ends far above true accuracy."""
    reward, true = mean_of(static, "reward", "end"), mean_of(static, "true_accuracy", "end")
    if reward is None or true is None or reward - true < OVERPAID:
        return ""
    ends = f"reward {reward:.2f}, true accuracy {true:.2f}"
    return f"the frozen reward model pays wrong completions too ({ends})"


def reward_of(arm: str) -> str:
    """An arm's reward, in words."""
    return "the frozen reward model" if arm == "static" else f"the reward of {arm}"


def reward_model(arms: Arms) -> str:
    """How a reward model changed that was trained along; empty where none was."""
    for arm in ("cooper", "hybrid"):
        if mean_of(arms.get(arm, ()), "reward_model_accuracy", "end") is not None:
            return f", and {arm}'s reward model went from held-out accuracy {span(arms[arm], 'reward_model_accuracy')}"
    return ""


def place(arms: Arms, report: Path | str) -> str:
    """Where to look."""
    for arm, entries in arms.items():
        if any(map(is_exploited, entries)) or alarm_steps(entries):
            chosen = f'choose {arm} and "{CELLS["fooled"]}"'
            return f"to read what fooled the reward model, open {report}, go to Rollouts and {chosen}"
    return f"open {report} for the curves over the steps and for the rollouts, which can be searched and linked to"


def sentence(*clauses: str) -> str:
    """The clauses as one sentence, without the empty ones."""
    text = "; ".join(filter(None, clauses))
    return f"{text[:1].upper()}{text[1:]}."


def change(start: float | None, end: float, found: Change | None, sign: int | None = None) -> str:
    """`rose from 0.41 to 0.82`, where that is beyond error.

    Args:
        found: the change with its test; None where there is none.
        sign: what is shown, where it is not the test that shows it.
    """
    sign = found.sign() if found and sign is None else sign
    if start is None:
        return f"ended at {end:.2f}"
    if sign is None:
        return f"was {start:.2f} and then {end:.2f}"
    if not sign:
        problems = f", {problems_of(found)}" if found else ""
        return f"stayed within error ({start:.2f} and {end:.2f}{problems})"
    return tell_move(start, end)


def tell_change_of_arm(start: float | None, entries: Sequence[Entry]) -> str:
    """The change of an arm from the start: of one run by its test, of several by Student's over the seeds."""
    found = [each for entry in entries if (each := change_in(entry, "change"))]
    end = mean(entries, "true_accuracy")
    if len(found) < 2:
        return change(start, end, found[0] if found else None)
    low, high = mean_interval([each.mean for each in found])
    return change(start, end, None, (low > 0) - (high < 0))


def tell_move(start: float, end: float) -> str:
    """`rose from 0.41 to 0.82`, as the rounded figures say it."""
    if f"{start:.2f}" == f"{end:.2f}":
        return f"stayed at {end:.2f}"
    return f"{'rose' if end > start else 'fell'} from {start:.2f} to {end:.2f}"


def steps_of(entries: Sequence[Entry]) -> str:
    """`120 steps`; `40 of 120 steps` of a run that has more to do; `10 to 120 steps` of runs that differ."""
    done = sorted({entry["steps"] for entry in entries})
    total = max(entry["max_steps"] for entry in entries)
    if len(done) > 1:
        return f"{done[0]} to {done[-1]} steps"
    return f"{done[0]} of {total} steps" if done[0] < total else f"{done[0]} step{'s' * (done[0] != 1)}"


def alarm_steps(entries: Iterable[Entry]) -> list[int]:
    """The step of the alarm in each run that had one."""
    return [entry["alarm"]["step"] for entry in entries if entry["alarm"]["step"] is not None]


def span(entries: Sequence[Entry], metric: str, start: str = "start") -> str:
    """`0.35 to 0.86`, means over the entries."""
    return f"{mean(entries, metric, start):.2f} to {mean(entries, metric):.2f}"


def join_words(parts: Sequence[str]) -> str:
    """`a, b and c`."""
    return " and ".join(filter(None, [", ".join(parts[:-1]), parts[-1]]))
