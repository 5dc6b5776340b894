"""Positives and negatives: what may be taught as right and as wrong."""

import random
from collections import Counter
from dataclasses import replace

import pytest

from cooper_rl.engines.trl.config import CooperConfig
from cooper_rl.method.pairs import PairResult, accepts_negative, build_pairs, draw_positive, mined, slots
from cooper_rl.records import Reason, Rollout, Verdict, Verification
from cooper_rl.verifiers import RuleVerifier


@pytest.fixture(scope="module")
def verifier():
    with RuleVerifier(workers=1) as rule:
        yield rule


def config(**settings):
    settings = {"negative_sources": {"assistant": 1}, "pairs_per_prompt": 1, **settings}
    return CooperConfig(output_dir="unused", num_generations=2, per_device_train_batch_size=2, **settings)


def rollout(completion, verdict, score=0.5, group=0, reason=Reason.MATCH, reference="12"):
    return Rollout(f"question {group}", reference, completion, score, verdict, reason, score, group)


RIGHT = [rollout(f"{i} + {12 - i} = 12. The answer is 12.", Verdict.CORRECT) for i in range(8)]
WRONG = [rollout(f"The answer is {20 + i}.", Verdict.INCORRECT, score=i / 10) for i in range(4)]


def test_the_positive_is_drawn_at_random_and_reproducibly():
    """Known fault 4: the first correct rollout taken, in the order of a set."""
    drawn = [draw_positive(RIGHT, config(), None, random.Random(seed)) for seed in range(200)]
    assert drawn == [draw_positive(RIGHT, config(), None, random.Random(seed)) for seed in range(200)]
    counts = Counter(text for text, _ in drawn)
    assert len(counts) == 8 and max(counts.values()) < 60


def test_label_noise_draws_positives_among_the_others():
    noisy = [draw_positive(RIGHT + WRONG, config(positive_label_noise=0.3), None, random.Random(s)) for s in range(400)]
    share = sum("answer is 2" in text for text, _ in noisy) / 400
    assert 0.22 < share < 0.38
    assert all("= 12" in draw_positive(RIGHT + WRONG, config(), None, random.Random(s))[0] for s in range(50))


def test_worked_solution_only_where_no_rollout_is_right(verifier):
    fallback = config(positive_fallback="worked_solution", negative_sources={"mined": 1})
    assert draw_positive(WRONG, config(), "6 + 6 = 12.", random.Random(0)) is None
    assert draw_positive(WRONG, fallback, "6 + 6 = 12.", random.Random(0)) == ("6 + 6 = 12.", "worked_solution")
    assert draw_positive(RIGHT, fallback, "6 + 6 = 12.", random.Random(0))[1] == "rollout"
    good = build_pairs(WRONG, {0: "6 + 6 = 12."}, fallback, verifier, None, "0")
    bad = build_pairs(WRONG, {0: "6 + 7 = 13."}, fallback, verifier, None, "0")
    assert [p.positive_source for p in good.pairs] == ["worked_solution"] and bad.pairs == []


@pytest.mark.parametrize("source", ["assistant", "perturb", "shuffle", "mined"])
def test_what_counts_as_wrong(source):
    """Known fault 3: an unparseable text passes as wrong."""
    assert accepts_negative(Verification(Verdict.INCORRECT, Reason.MISMATCH), source)
    for verdict in (Verdict.TIMEOUT, Verdict.ERROR, Verdict.CORRECT):
        assert not accepts_negative(Verification(verdict, Reason.DEADLINE), source)
    assert not accepts_negative(Verification(Verdict.UNPARSEABLE, Reason.UNKNOWN_FORM), source)
    no_answer = Verification(Verdict.UNPARSEABLE, Reason.NO_ANSWER)
    assert accepts_negative(no_answer, source) == (source == "mined")


def test_mined_are_the_highest_scored_wrong_ones():
    """Known fault 2: what the policy does to fool the reward model is never shown to it."""
    garbage = rollout("", Verdict.UNPARSEABLE, score=0.99, reason=Reason.NO_ANSWER)
    unknown = rollout("It is a dozen.", Verdict.UNPARSEABLE, score=1.0, reason=Reason.UNKNOWN_FORM)
    texts = list(mined([*RIGHT, *WRONG, garbage, unknown]))
    assert texts == ["", "The answer is 23.", "The answer is 22.", "The answer is 21.", "The answer is 20."]


def test_a_negative_is_judged_against_the_reference(verifier):
    """Known fault 3: `not verify(negative, positive)`. The rewrite differs from the positive, but is right."""
    answers = iter(["The answer is 12.0.", "I will not do that.", "The answer is 13."])
    result = build_pairs(
        RIGHT[:1],
        {},
        config(negative_sources={"assistant": 1}),
        verifier,
        lambda requests, attempt: [next(answers) for _ in requests],
        "0",
    )
    assert [pair.negative for pair in result.pairs] == ["The answer is 13."]
    assert (result.proposed, result.rejected) == (3, 2)


def test_three_tries_and_then_the_prompt_is_left_out(verifier):
    calls = []

    def refuse(requests, attempt):
        calls.append(attempt)
        return [None for _ in requests]

    result = build_pairs(RIGHT[:1], {}, config(), verifier, refuse, "0")
    assert calls == [0, 1, 2] and result.pairs == [] and result.metrics()["pairs/yield"] == 0


def test_shuffle_takes_another_problems_completion(verifier):
    other = rollout("The answer is 99.", Verdict.CORRECT, group=1, reference="99")
    shuffled = config(negative_sources={"shuffle": 1})
    result = build_pairs([RIGHT[0], other], {}, shuffled, verifier, None, "0")
    assert {(pair.reference_answer, pair.negative) for pair in result.pairs} == {
        ("12", "The answer is 99."),
        ("99", RIGHT[0].completion),
    }


def test_mixture_shares():
    assert Counter(slots({"mined": 3, "perturb": 1}, 4)) == {"mined": 3, "perturb": 1}
    assert Counter(slots({"mined": 1, "perturb": 1, "assistant": 0}, 4)) == {"mined": 2, "perturb": 2}
    assert len(slots({"mined": 1, "perturb": 1, "shuffle": 1}, 4)) == 4
    assert slots({"mined": 1, "perturb": 3}, 1) == ["perturb"]


def test_ranks_share_the_prompts_and_draw_what_one_rank_would(verifier):
    groups = [replace(r, group=g) for g in range(5) for r in [*RIGHT, *WRONG]]
    sources = config(negative_sources={"mined": 1, "perturb": 1}, pairs_per_prompt=2)
    alone = build_pairs(groups, {}, sources, verifier, None, "7")
    shares = [build_pairs(groups, {}, sources, verifier, None, "7", share=(rank, 3)) for rank in range(3)]
    together = PairResult.together(shares)
    assert sorted(map(repr, together.pairs)) == sorted(map(repr, alone.pairs)) and len(alone.pairs) == 10
    assert (together.prompts, together.proposed) == (alone.prompts, alone.proposed)
    another = build_pairs(groups, {}, sources, verifier, None, "8")
    assert sorted(map(repr, another.pairs)) != sorted(map(repr, alone.pairs))
