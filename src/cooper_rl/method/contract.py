"""Checks that a part of your own keeps its contract. Call them in a test; each raises AssertionError with the reason.

For verifiers and answer forms see `cooper_rl.verifiers.contract`, for domains `cooper_rl.domains.contract`.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from cooper_rl.method.monitor import Monitor
from cooper_rl.method.negatives import NegativeSource, Slot
from cooper_rl.method.protocols import RewardModel
from cooper_rl.method.reward import Reward
from cooper_rl.records import (
    Batch,
    ContrastivePair,
    LabelledCompletion,
    Reason,
    Report,
    Rollout,
    Sample,
    Verdict,
    Verification,
)
from cooper_rl.steps import step_ends


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

    Raises:
        AssertionError: the source breaks its contract; the message says how.
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

    Raises:
        AssertionError: the reward breaks its contract; the message says how.
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

    Raises:
        AssertionError: the monitor breaks its contract; the message says how.
    """
    assert monitor.name, "a monitor has a name, under which its state is in the checkpoint"
    monitor.begin()
    for step in range(1, 30):
        given = _given(step)
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
        given = _given(step)
        straight, again = (one.after(given, whole=False) for one in (monitor, resumed))
        times = {name for name in straight.metrics if name.startswith("time/")}
        assert straight.metrics.keys() == again.metrics.keys(), f"step {step}: other metrics after a resume"
        for name in straight.metrics.keys() - times:
            assert straight.metrics[name] == again.metrics[name], f"step {step}: {name} differs after a resume"


def _given(step: int) -> Report:
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

    Raises:
        AssertionError: the reward model breaks its contract; the message says how.
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
