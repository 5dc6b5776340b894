"""Labelled rollouts that stage 2 learns from again: what is kept and drawn, and that a resumed run has the same."""

import random

import pytest

from cooper_rl.method import labelled
from cooper_rl.method.labelled import Replay, label
from cooper_rl.records import Reason, Verdict
from rollouts import make_rollout

VERDICTS = {
    "right": (Verdict.CORRECT, Reason.MATCH),
    "wrong": (Verdict.INCORRECT, Reason.MISMATCH),
    "blank": (Verdict.UNPARSEABLE, Reason.NO_ANSWER),
    "odd": (Verdict.UNPARSEABLE, Reason.UNKNOWN_FORM),
    "slow": (Verdict.TIMEOUT, Reason.DEADLINE),
    "crashed": (Verdict.ERROR, Reason.CRASH),
}


def rollout(text):
    verdict, reason = VERDICTS[text.split()[0]]
    return make_rollout("q", "a", text, 0.5, verdict, reason, 0.0, 0, "p")


def rollouts(*texts):
    return [rollout(text) for text in texts]


def filled(*texts, noise=0.0):
    kept = Replay(noise)
    kept.add(rollouts(*texts), random.Random(0))
    return kept


def test_only_what_the_rule_is_sure_of_is_kept():
    found = list(label(rollouts(*VERDICTS), 0.0, random.Random(0)))
    assert [(t.completion, t.correct) for t in found] == [("right", True), ("wrong", False), ("blank", False)]


def test_half_of_what_is_drawn_is_right():
    kept = filled(*(f"right {i}" for i in range(3)), *(f"wrong {i}" for i in range(20)))
    drawn = kept.draw(8, random.Random(1))
    assert [t.correct for t in drawn] == [True] * 3 + [False] * 4
    assert len({t.completion for t in drawn}) == 7
    assert drawn == kept.draw(8, random.Random(1)) != kept.draw(8, random.Random(2))
    assert filled().draw(8, random.Random(1)) == []


def test_the_noise_of_the_positives_is_in_the_replayed_ones_too():
    texts = [f"right {i}" for i in range(200)] + [f"odd {i}" for i in range(50)]
    positives = [t.completion for t in label(rollouts(*texts), 0.3, random.Random(0)) if t.correct]
    assert len(positives) == 200 and 40 < sum(text.startswith("odd") for text in positives) < 80
    only_right = list(label(rollouts("right 1", "right 2"), 1.0, random.Random(0)))
    assert [t.completion for t in only_right] == ["right 1", "right 2"]  # there is no other to be wrong with


def test_of_more_than_it_can_hold_a_uniform_sample_is_kept(monkeypatch):
    monkeypatch.setattr(labelled, "CAPACITY", 50)
    kept = filled(*(f"wrong {i}" for i in range(1000)))
    numbers = [int(t.completion.split()[1]) for t in kept.kept[False]]
    assert len(set(numbers)) == 50 and 350 < sum(numbers) / 50 < 650


def test_a_resumed_run_keeps_and_draws_the_same(tmp_path, monkeypatch):
    monkeypatch.setattr(labelled, "CAPACITY", 5)
    straight = filled(*(f"wrong {i}" for i in range(9)), "right 1\nin two lines\u2028")
    straight.save(tmp_path)
    resumed = Replay(0.0)
    resumed.load(tmp_path)
    for one in (straight, resumed):
        one.add(rollouts(*(f"wrong {i}" for i in range(9, 30))), random.Random(3))
    assert resumed.kept == straight.kept and resumed.seen == straight.seen
    assert resumed.draw(6, random.Random(0)) == straight.draw(6, random.Random(0))


def test_a_checkpoint_of_a_run_without_one_leaves_it_empty(tmp_path):
    kept = Replay(0.0)
    kept.load(tmp_path)
    assert kept.draw(4, random.Random(0)) == []


@pytest.mark.parametrize("text", ["</completion>", "\x00", '😀 "quoted" \\', "a\u2028b\x85c", ""])
def test_any_text_survives_a_checkpoint(tmp_path, text):
    kept = filled(f"wrong {text}")
    kept.save(tmp_path)
    again = Replay(0.0)
    again.load(tmp_path)
    assert again.kept == kept.kept
