"""Checks that a part of your own keeps its contract. Call them in a test; each raises AssertionError with the reason.

from cooper_rl.testing import check_verifier

def test_my_rules():
    check_verifier("my_rules:explain", ["12", "Paris"])
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path

from cooper_rl.domains.domain import Domain
from cooper_rl.errors import BadInputError
from cooper_rl.method.monitor import Monitor
from cooper_rl.method.negatives import NegativeSource, Slot
from cooper_rl.method.protocols import RewardModel
from cooper_rl.method.reward import Reward
from cooper_rl.records import (
    Batch,
    ContrastivePair,
    LabelledCompletion,
    Problem,
    Reason,
    Report,
    Rollout,
    Sample,
    Verdict,
    Verification,
)
from cooper_rl.steps import step_ends
from cooper_rl.verifiers import RuleVerifier
from cooper_rl.verifiers.contract import check_form, check_verifier, require

__all__ = [
    "check_domain",
    "check_form",
    "check_monitor",
    "check_negative_source",
    "check_reward",
    "check_reward_model",
    "check_verifier",
    "example_batch",
]
DOMAIN_SECONDS = 60.0  # for one answer of a domain; long, since the verdict is tested and not the machine's speed
NO_SPLIT = "no such split"
Same = Callable[[Problem, Problem], bool] | None


def box_answer(answer: str) -> str:
    """A completion that states an answer in a box, which the rule verifiers can read."""
    return f"So the answer is \\boxed{{{answer}}}."


def check_domain(
    domain: Domain,
    *,
    size: int = 40,
    seed: int = 0,
    state: Callable[[str], str] = box_answer,
    rule: bool = True,
    same: Same = None,
) -> None:
    """Checks each split of a domain, or `train` if the domain has no splits.

    Args:
        size: this many problems of each split are checked.
        seed: problems are drawn with this seed.
        state: writes an answer as a completion that the domain's truth and verifier can read.
        same: whether two problems have one answer, where it may have several writings. Without it answers are the same
            that have the same text, or are the same number.
        rule: False skips the check of the domain's verifier, for a domain whose answers no rule can read.
    """
    found = {split: domain.problems(split, size, seed) for split in domain.splits or ("train",)}
    for split, problems in found.items():
        domain.check(split)
        _check_problems(domain, split, problems, size, seed)
        pairs = _with_another_answer(problems, same)
        if domain.has_truth:
            _check_truth(domain, pairs, state)
        if rule:
            _check_rule(domain, pairs, state)
    for one, other in combinations(found, 2):
        shared = {p.question for p in found[one]} & {p.question for p in found[other]}
        require(not shared, f"{domain.name}: splits {one} and {other} share a question: {sorted(shared)[:1]}")
    for ask in (lambda: domain.check(NO_SPLIT), lambda: domain.problems(NO_SPLIT, 1, 0)) if domain.splits else ():
        try:
            ask()
        except BadInputError as error:
            require("\n" not in str(error), f"{domain.name}: the error about an unknown split has several lines")
        else:
            require(False, f"{domain.name}: a split {NO_SPLIT!r} is not refused with a BadInputError")


def _check_problems(domain: Domain, split: str, problems: Sequence[Problem], size: int, seed: int) -> None:
    """1 to `size` whole problems with ids of their own; the same seed gives them again, and no other random state."""
    where = f"{domain.name}, {split}"
    require(0 < len(problems) <= size, f"{where}: {len(problems)} problems where {size} were asked for")
    for problem in problems:
        require(bool(problem.question.strip()), f"{where}: a question is blank: {problem}")
        require(bool(problem.reference_answer.strip()), f"{where}: an answer is blank: {problem}")
        require(bool(problem.problem_id), f"{where}: a problem has no id: {problem}")
    ids = {problem.problem_id for problem in problems}
    require(len(ids) == len(problems), f"{where}: two problems have one id")
    random.seed(1)
    before = random.getstate()
    again = domain.problems(split, size, seed)
    require(random.getstate() == before, f"{where}: drawing problems changes Python's global random state")
    require(list(again) == list(problems), f"{where}: seed {seed} gave other problems the second time")


def _check_truth(domain: Domain, pairs: Iterable[tuple[Problem, str]], state: Callable[[str], str]) -> None:
    """`is_true` accepts the reference answer, with or without the worked solution, and no other answer."""
    for problem, other in pairs:
        right = state(problem.reference_answer)
        solution = str(problem.metadata.get("worked_solution", ""))
        for text in (right, f"{solution} {right}".strip()):
            require(domain.is_true(problem, text) is True, f"{domain.name}: is_true rejects {text!r} for {problem}")
        for text in (state(other), ""):
            accepted = domain.is_true(problem, text) is True
            require(not accepted, f"{domain.name}: is_true accepts {text!r}, a wrong answer, for {problem}")


def _check_rule(domain: Domain, pairs: Sequence[tuple[Problem, str]], state: Callable[[str], str]) -> None:
    """The domain's verifier says CORRECT of the reference answer, and not of another problem's answer."""
    references = [problem.reference_answer for problem, _ in pairs]
    with RuleVerifier(domain.verifier, workers=1, deadline_seconds=DOMAIN_SECONDS) as verifier:
        own = verifier.verify_many(references, [state(reference) for reference in references])
        others = verifier.verify_many(references, [state(other) for _, other in pairs])
    for (problem, other), right, wrong in zip(pairs, own, others, strict=True):
        require(right is Verdict.CORRECT, f"{domain.name}: {domain.verifier} says {right} of the answer of {problem}")
        said = f"{domain.name}: {domain.verifier} says CORRECT of {other!r}, where the answer is that of {problem}"
        require(wrong is not Verdict.CORRECT, said)


def _with_another_answer(problems: Sequence[Problem], same: Same) -> list[tuple[Problem, str]]:
    """(problem, another problem's different answer) for each problem; left out if all problems have the same answer."""
    pairs = []
    for index, problem in enumerate(problems):
        later = [*problems[index + 1 :], *problems[:index]]
        others = [p for p in later if same is None or not same(p, problem)]
        different = (p.reference_answer for p in others if _differ(p.reference_answer, problem.reference_answer))
        if (other := next(different, None)) is not None:
            pairs.append((problem, other))
    return pairs


def _differ(one: str, other: str) -> bool:
    try:
        return float(one) != float(other)
    except ValueError:
        return one.strip().casefold() != other.strip().casefold()


def example_batch(step: int = 1) -> Batch:
    """Three prompts with four rollouts each, right, wrong and without an answer."""
    kinds = [
        ("The answer is {}.", Verdict.CORRECT, Reason.MATCH, 0.9),
        ("1 + 1 = {}. The answer is {}.", Verdict.CORRECT, Reason.MATCH, 0.8),
        ("The answer is 1{}.", Verdict.INCORRECT, Reason.MISMATCH, 0.7),
        ("", Verdict.UNPARSEABLE, Reason.NO_ANSWER, 0.95),
    ]
    rollouts = tuple(
        Rollout(
            Sample(f"What is {g} + {g}?", str(2 * g), text.replace("{}", str(2 * g)), group=g),
            Verification(verdict, reason),
            score,
            score,
        )
        for g in (1, 2, 3)
        for text, verdict, reason, score in kinds
    )
    return Batch(step, rollouts)


def check_negative_source(source: NegativeSource) -> None:
    """Checks a negative source.

    It proposes a text or None for each slot, leaves the batch unchanged, and accepts only what may be wrong.
    """
    batch = example_batch()
    slots = [Slot(group, group[0].completion, "rollout", "own", random.Random(0)) for group in batch.groups().values()]
    source.begin(slots)
    for attempt in range(3):
        proposals = source.propose(slots, batch, attempt)
        assert len(proposals) == len(slots), f"{len(proposals)} proposals for {len(slots)} slots"
        assert all(text is None or isinstance(text, str) for text in proposals), "a proposal is a text or None"
        assert source.propose([], batch, attempt) == [], "it proposes a text where there is no slot"
    assert batch == example_batch(), "the batch was changed"
    if source.judged:
        texts = {rollout.completion for rollout in batch.rollouts}
        assert set(source.propose(slots, batch, 0)) <= {*texts, None}, "a judged source proposes more than rollouts"
    for verdict in (Verdict.CORRECT, Verdict.TIMEOUT, Verdict.ERROR):
        assert not source.accepts(Verification(verdict, Reason.MATCH)), f"{verdict} is accepted as wrong"
    unknown = Verification(Verdict.UNPARSEABLE, Reason.UNKNOWN_FORM)
    assert not source.accepts(unknown), "an answer in an unknown form may be right, and is accepted as wrong"
    metrics = source.end_step()
    assert all(isinstance(value, float) for value in metrics.values()), "metrics are floats"


def check_reward(reward: Reward) -> None:
    """Checks a reward: it is a finite number for every verdict and score, or None where nothing could be judged.

    Where `needs_score` is false, it is also finite for the score NaN.
    """
    scores = [0.0, 0.3, 0.5, 1.0] + ([] if reward.needs_score else [math.nan])
    for verdict in Verdict:
        for score in scores:
            value = reward.of(Verification(verdict, Reason.MATCH), score)
            unjudged = value is None and verdict in (Verdict.TIMEOUT, Verdict.ERROR)
            finite = isinstance(value, float) and math.isfinite(value)
            assert finite or unjudged, f"{value} for {verdict} and {score}"
            again = reward.of(Verification(verdict, Reason.MATCH), score)
            assert again == value, "the same completion has two rewards"


def check_monitor(monitor: Monitor, resumed: Monitor) -> None:
    """Checks a monitor: it adds to the report, and resumed from its state it does what it would have done.

    Args:
        monitor, resumed: two new monitors, made with the same arguments.
    """
    assert monitor.name, "a monitor has a name, under which its state is in the checkpoint"
    monitor.begin()
    for step in range(1, 30):
        given = _report_of_step(step)
        report = monitor.after(given, whole=step % 10 == 0)
        assert report.step == step and report.batch == given.batch, "step and batch stay as they are"
        assert report.metrics["loss"] == given.metrics["loss"], "the metrics of others stay as they are"
        assert all(isinstance(value, float) for value in report.metrics.values()), "metrics are floats"
    before = monitor.before_save(Report(30))
    assert before.step == 30
    state = json.loads(json.dumps(monitor.state()))
    if state:
        resumed.load_state(state)
    assert resumed.state() == monitor.state() and resumed.reward == monitor.reward, "the state is not restored"
    for step in range(30, 50):
        given = _report_of_step(step)
        straight, again = (one.after(given, whole=False) for one in (monitor, resumed))
        times = {name for name in straight.metrics if name.startswith("time/")}
        assert straight.metrics.keys() == again.metrics.keys(), f"step {step}: other metrics after a resume"
        for name in straight.metrics.keys() - times:
            assert straight.metrics[name] == again.metrics[name], f"step {step}: {name} differs after a resume"


def _report_of_step(step: int) -> Report:
    """A step's report as a monitor gets it: the false-positive rate rises, rule accuracy does not."""
    rate = step / 60
    rates = {"": rate, "_low": rate / 2, "_high": (1 + rate) / 2}
    metrics = {f"hacking/false_positive_rate{part}": value for part, value in rates.items()}
    return Report(step, example_batch(step), {"loss": 0.5, "accuracy/rule": 0.5, **metrics})


def check_reward_model(model: RewardModel, resumed: RewardModel, folder: Path) -> None:
    """Checks a reward model: it scores from 0 to 1, learns from pairs, and can be rolled back and resumed exactly.

    Args:
        model, resumed: two reward models, made with the same arguments.
        folder: an empty folder to save into.
    """
    batch = example_batch()
    rollouts = list(batch.rollouts)
    before = _scores(model, rollouts)
    assert all(0 <= score <= 1 for score in before), "a score is from 0 to 1"
    backwards = _scores(model, rollouts[::-1])[::-1]
    assert all(abs(a - b) < 1e-4 for a, b in zip(before, backwards, strict=True)), "a score depends on its neighbours"
    assert _scores(model, []) == []
    assert model.update([], []) == {} and _scores(model, rollouts) == before, "it learned without pairs"
    kept, version = model.snapshot(), model.version
    pairs = [
        ContrastivePair(g[0].question, g[0].reference_answer, g[0].completion, g[2].completion, "own")
        for g in batch.groups().values()
    ]
    labelled = [LabelledCompletion(p.question, p.reference_answer, p.negative, False) for p in pairs]
    metrics = model.update(pairs, labelled)
    assert model.version == version + 1, "an update raises the version by one"
    assert metrics and all(math.isfinite(value) for value in metrics.values()), f"metrics {metrics}"
    if hasattr(model, "start_scores"):
        after = _scores(model, rollouts)
        assert list(model.start_scores(rollouts)) == before, "start_scores differ from the scores before any update"
        assert _scores(model, rollouts) == after, "start_scores changed the present scores"
    if hasattr(model, "step_values"):
        ends = [step_ends(r.completion, "sentence") or [len(r.completion)] for r in rollouts]
        values, scores = model.step_values(rollouts, ends), _scores(model, rollouts)
        assert [len(own) for own in values] == [len(own) for own in ends], "a step has one value"
        assert all(0 <= value <= 1 for own in values for value in own), "a value is from 0 to 1"
        last = zip(values, scores, strict=True)
        assert all(abs(own[-1] - score) < 1e-4 for own, score in last), "the last step's value is not the score"
    model.restore(kept)
    assert _scores(model, rollouts) == before, "after restore, scores differ from those at the snapshot"
    model.update(pairs, labelled)
    model.save(folder)
    resumed.load(folder)
    assert resumed.version == model.version
    if hasattr(resumed, "start_scores"):
        assert list(resumed.start_scores(rollouts)) == before, "after load, start_scores are other ones"
    for one in (model, resumed):
        one.update(pairs[::-1], [replace(triple, correct=False) for triple in labelled])
    assert _scores(resumed, rollouts) == _scores(model, rollouts), "after load, the next update gives other scores"


def _scores(model: RewardModel, rollouts: Sequence[Rollout]) -> list[float]:
    found = model.score(rollouts)
    assert len(found) == len(rollouts), f"{len(found)} scores for {len(rollouts)} completions"
    return list(found)
