"""Positives and negatives: what may be taught as right and as wrong."""

import random
from collections import Counter

import pytest

from cooper_rl.engines.config import CooperConfig
from cooper_rl.errors import BadInputError
from cooper_rl.method.negatives import KNOWN, NegativeSource, Slot, find_source, rank_mined
from cooper_rl.method.pairs import PairResult, Pairs, draw_positive, propose, share_out
from cooper_rl.records import Batch, Reason, Verdict, Verification
from cooper_rl.verifiers import RuleVerifier
from rollouts import change, make_rollout


@pytest.fixture(scope="module")
def verifier():
    with RuleVerifier(workers=1) as rule:
        yield rule


def config(**settings):
    settings = {"negative_sources": {"assistant": 1}, "pairs_per_prompt": 1, **settings}
    return CooperConfig(output_dir="unused", num_generations=2, per_device_train_batch_size=2, **settings)


def rollout(completion, verdict, score=0.5, group=0, reason=Reason.MATCH, reference="12"):
    return make_rollout(f"question {group}", reference, completion, score, verdict, reason, score, group)


class Scripted(NegativeSource):
    """Proposes what a function of slots and attempt gives."""

    def __init__(self, answers):
        self.answers = answers

    def propose(self, slots, batch, attempt):
        return self.answers(slots, attempt)


class Rank:
    """One of several ranks."""

    def __init__(self, rank, size):
        self.rank, self.size = rank, size


def build(rollouts, settings, verifier, *, seed=0, ranks=None, **sources):
    """The pairs of a step; of the sources that are not given, ours."""
    settings.seed = seed
    named = {name: sources.get(name) or find_source(name)() for name in settings.negative_sources}
    batch = Batch(1, tuple(rollouts), tuple(r.reward for r in rollouts))
    return Pairs(settings, verifier, named, ranks).build(batch)


RIGHT = [rollout(f"{i} + {12 - i} = 12. The answer is 12.", Verdict.CORRECT) for i in range(8)]
WRONG = [rollout(f"The answer is {20 + i}.", Verdict.INCORRECT, score=i / 10) for i in range(4)]


def test_the_positive_is_drawn_at_random_and_reproducibly():
    """Known fault 4: the first correct rollout taken, in the order of a set."""
    drawn = [draw_positive(RIGHT, config(), random.Random(seed)) for seed in range(200)]
    assert drawn == [draw_positive(RIGHT, config(), random.Random(seed)) for seed in range(200)]
    counts = Counter(text for text, _ in drawn)
    assert len(counts) == 8 and max(counts.values()) < 60


def test_label_noise_draws_positives_among_the_others():
    noisy = [draw_positive(RIGHT + WRONG, config(positive_label_noise=0.3), random.Random(s)) for s in range(400)]
    share = sum("answer is 2" in text for text, _ in noisy) / 400
    assert 0.22 < share < 0.38
    assert all("= 12" in draw_positive(RIGHT + WRONG, config(), random.Random(s))[0] for s in range(50))


def with_solution(rollouts, text):
    return [change(rollout, worked_solution=text) for rollout in rollouts]


def test_worked_solution_only_where_no_rollout_is_right(verifier):
    fallback = config(positive_fallback="worked_solution", negative_sources={"mined": 1})
    good, bad = with_solution(WRONG, "6 + 6 = 12."), with_solution(WRONG, "6 + 7 = 13.")
    assert draw_positive(good, config(), random.Random(0)) is None
    assert draw_positive(good, fallback, random.Random(0)) == ("6 + 6 = 12.", "worked_solution")
    assert draw_positive(with_solution(RIGHT, "6 + 6 = 12."), fallback, random.Random(0))[1] == "rollout"
    assert [p.positive_source for p in build(good, fallback, verifier).pairs] == ["worked_solution"]
    assert build(bad, fallback, verifier).pairs == ()


def test_a_negative_is_wrong_by_every_reference(verifier, monkeypatch):
    monkeypatch.setattr(Slot, "references", property(lambda slot: (slot.reference_answer, "20")))
    texts = iter(["The answer is 20.", "The answer is 21."])
    source = Scripted(lambda slots, attempt: [next(texts)])
    found = build(RIGHT, config(negative_tries=2), verifier, assistant=source)
    assert [pair.negative for pair in found.pairs] == ["The answer is 21."] and found.rejected == 1
    worked = with_solution(WRONG, "So it is 20.")
    fallback = config(positive_fallback="worked_solution", negative_sources={"mined": 1})
    assert [pair.positive for pair in build(worked, fallback, verifier).pairs] == ["So it is 20."]


@pytest.mark.parametrize("name", KNOWN)
def test_what_counts_as_wrong(name):
    """Known fault 3: an unparseable text passes as wrong."""
    source = Scripted(None) if name == "assistant" else find_source(name)()
    no_answer = Verification(Verdict.UNPARSEABLE, Reason.NO_ANSWER)
    others = [Verification(verdict, Reason.DEADLINE) for verdict in (Verdict.TIMEOUT, Verdict.ERROR, Verdict.CORRECT)]
    others.append(Verification(Verdict.UNPARSEABLE, Reason.UNKNOWN_FORM))
    assert source.accepts(Verification(Verdict.INCORRECT, Reason.MISMATCH)) and not source.accepts(no_answer)
    assert no_answer.surely_wrong and not any(v.surely_wrong or source.accepts(v) for v in others)


def test_mined_are_the_highest_scored_wrong_ones(verifier):
    """Known fault 2: what the policy does to fool the reward model is never shown to it."""
    garbage = rollout("", Verdict.UNPARSEABLE, score=0.99, reason=Reason.NO_ANSWER)
    unknown = rollout("It is a dozen.", Verdict.UNPARSEABLE, score=1.0, reason=Reason.UNKNOWN_FORM)
    group = [*RIGHT, *WRONG, garbage, unknown]
    best = ["", "The answer is 23.", "The answer is 22.", "The answer is 21.", "The answer is 20."]
    assert list(rank_mined(group)) == best
    three = build(group, config(negative_sources={"mined": 1}, pairs_per_prompt=3), verifier)
    assert [pair.negative for pair in three.pairs] == best[:3] and three.paired == 1
    seven = build(group, config(negative_sources={"mined": 1}, pairs_per_prompt=7), verifier)
    assert [pair.negative for pair in seven.pairs] == best and seven.fallback == 0


def test_a_negative_is_judged_against_the_reference(verifier):
    """Known fault 3: `not verify(negative, positive)`. The rewrite differs from the positive, but is right."""
    answers = iter(["The answer is 12.0.", "I will not do that.", "The answer is 13."])
    assistant = Scripted(lambda slots, attempt: [next(answers) for _ in slots])
    result = build(RIGHT[:1], config(), verifier, assistant=assistant)
    assert [pair.negative for pair in result.pairs] == ["The answer is 13."]
    assert (result.proposed, result.rejected) == (3, 2)


def test_three_tries_and_then_the_prompt_is_left_out(verifier):
    calls = []

    def refuse(slots, attempt):
        calls.append(attempt)
        return [None for _ in slots]

    result = build(RIGHT[:1], config(), verifier, assistant=Scripted(refuse))
    assert calls == [0, 1, 2] and result.pairs == () and result.metrics()["pairs/yield"] == 0


def test_shuffle_takes_another_problems_completion(verifier):
    other = rollout("The answer is 99.", Verdict.CORRECT, group=1, reference="99")
    result = build([RIGHT[0], other], config(negative_sources={"shuffle": 1}), verifier)
    assert {(pair.reference_answer, pair.negative) for pair in result.pairs} == {
        ("12", "The answer is 99."),
        ("99", RIGHT[0].completion),
    }


def test_two_prompts_with_one_question_are_two_in_the_yield(verifier):
    groups = [change(r, group=g, question="the same") for g in range(2) for r in [*RIGHT, *WRONG]]
    assert build(groups, config(negative_sources={"mined": 1}), verifier).metrics()["pairs/yield"] == 1.0
    one_of_two = [*groups[:12], *(change(r, group=1, question="the same") for r in WRONG)]
    assert build(one_of_two, config(negative_sources={"mined": 1}), verifier).metrics()["pairs/yield"] == 0.5


def test_mixture_shares():
    assert Counter(share_out({"mined": 3, "perturb": 1}, 4)) == {"mined": 3, "perturb": 1}
    assert Counter(share_out({"mined": 1, "perturb": 1, "assistant": 0}, 4)) == {"mined": 2, "perturb": 2}
    assert len(share_out({"mined": 1, "perturb": 1, "shuffle": 1}, 4)) == 4
    assert share_out({"mined": 1, "perturb": 3}, 1) == ["perturb"]


def test_ranks_share_the_prompts_and_draw_what_one_rank_would(verifier):
    groups = [change(r, group=g) for g in range(5) for r in [*RIGHT, *WRONG]]
    sources = config(negative_sources={"mined": 1, "perturb": 1}, pairs_per_prompt=2)
    alone = build(groups, sources, verifier, seed=7)
    parts = [build(groups, sources, verifier, seed=7, ranks=Rank(rank, 3)) for rank in range(3)]
    together = PairResult.together(parts)
    assert sorted(map(repr, together.pairs)) == sorted(map(repr, alone.pairs)) and len(alone.pairs) == 10
    assert (together.prompts, together.proposed) == (alone.prompts, alone.proposed) and together.paired == 5
    another = build(groups, sources, verifier, seed=8)
    assert sorted(map(repr, another.pairs)) != sorted(map(repr, alone.pairs))


@pytest.mark.parametrize("balanced", [True, False])
def test_the_prompts_share_a_steps_pairs(verifier, balanced):
    """By number, or by how often the policy fails on them; a prompt without a right rollout has none."""
    right, wrong = {0: 3, 1: 1, 2: 0, 3: 4}, {0: 1, 1: 3, 2: 4, 3: 0}
    rollouts = [
        change(each, group=group, question=f"question {group}")
        for group in right
        for each in [*RIGHT[: right[group]], *WRONG[: wrong[group]]]
    ]
    settings = config(negative_sources={"mined": 1}, pairs_per_prompt=1, pairs_balanced=balanced)
    parts = [build(rollouts, settings, verifier, ranks=Rank(rank, 2)) for rank in range(2)]
    found = Counter(pair.question for part in parts for pair in part.pairs)
    # three prompts have a right rollout; of their 4 wrong ones they have 1, 3 and 0: of 3 pairs 0.75, 2.25 and none
    shares = {"question 0": 1, "question 1": 1} if balanced else {"question 0": 1, "question 1": 2}
    assert found == shares
    assert len(build([*RIGHT], settings, verifier).pairs) == 0  # nothing wrong, nothing to share


def test_a_source_that_gets_no_pair_is_told(verifier, caplog):
    for count in (4, 2):
        assert not caplog.text
        build([*RIGHT, *WRONG], config(negative_sources={"mined": 3, "perturb": 1}, pairs_per_prompt=count), verifier)
    assert "pairs_per_prompt = 2 leaves no pair for perturb" in caplog.text


@pytest.mark.parametrize(
    ("proposals", "message"),
    [([], "proposed 0 texts for 1 slots"), ([3], "proposed a int; give a text, or None")],
)
def test_a_source_that_breaks_its_contract_is_named(proposals, message):
    class Own(NegativeSource):
        def propose(self, slots, batch, attempt):
            return proposals

    slot = Slot([], "2", "rollout", "my:Own", random.Random(0))
    with pytest.raises(BadInputError, match=f"negative source 'my:Own': {message}"):
        propose(Own(), [slot], None, 0)


def test_a_source_that_nobody_knows_is_refused():
    """It was silently treated as `shuffle`."""
    with pytest.raises(BadInputError, match="no negative source 'suffle': did you mean shuffle"):
        find_source("suffle")
