"""Whether what the rule calls wrong is right after all; and answers of one group that help each other."""

import json
import math
from dataclasses import replace
from itertools import count

import numpy as np
import pytest

from cooper_rl.method.doubt import (
    NEIGHBOURS,
    WINDOW_STEPS,
    Doubt,
    Neighbours,
    complete,
    held_back_metrics,
    logits,
    shares,
)
from cooper_rl.method.negatives import rank_mined
from cooper_rl.method.reward import HybridReward, RuleReward
from cooper_rl.records import Batch, Reason, Report, Verdict
from cooper_rl.testing import example_batch
from cooper_rl.verifiers.kinds import misses_per_hit
from rollouts import make_rollout

RIGHT = (Verdict.CORRECT, Reason.MATCH)
WRONG = (Verdict.INCORRECT, Reason.MISMATCH)
OPEN = (Verdict.UNPARSEABLE, Reason.UNKNOWN_FORM)
BLANK = (Verdict.INCORRECT, Reason.NO_ANSWER)
GROUPS = count()


def rollout(judged, score, answer=None, group=-1, several=False):
    text = f"{judged[1]} {score} {answer}"
    return make_rollout("q", "4", text, score, *judged, 0.0, group, several_answers=several, answer=answer)


def apart(judged, score, count):
    """Rollouts in groups of one, so that all have the same share."""
    return [rollout(judged, score, str(i), group=next(GROUPS)) for i in range(count)]


def weighed(rollouts, misses=0.03, max_right=0.05):
    return weighed_by(Doubt(misses, max_right), rollouts, 1)


def weighed_by(doubt, rollouts, step):
    """The rollouts with what `Doubt.weigh` tells of each."""
    doubts = zip(rollouts, doubt.weigh(rollouts, step), strict=True)
    return [replace(rollout, right_estimate=right, held_back=by) for rollout, (right, by) in doubts]


def settled(ranks, size, reward):
    return complete([(rollout, None) for rank in ranks for rollout in rank], size, reward)


def of(judged, score, rollouts):
    """The one estimate of the rollouts of this kind."""
    (estimate,) = {round(r.right_estimate, 9) for r in rollouts if (r.verdict, r.reason) == judged and r.score == score}
    return estimate


def test_a_few_that_score_as_the_right_ones_do_are_probably_right():
    """60 CORRECT at 0.9, 20 wrong there and 20 at 0.1: of the first 20 about 0.03 * 60 / 20 are right."""
    found = weighed(apart(RIGHT, 0.9, 60) + apart(WRONG, 0.9, 20) + apart(WRONG, 0.1, 20))
    assert of(WRONG, 0.9, found) == pytest.approx(0.09) and of(WRONG, 0.1, found) == 0.0
    assert {r.score for r in found if r.held_back} == {0.9} and sum(bool(r.held_back) for r in found) == 20
    assert {text.split()[1] for text in rank_mined(found)} == {"0.1"}


def test_what_scored_as_the_right_ones_do_when_the_run_began_is_held_back_though_it_scores_low_now():
    """20 wrong ones score 0.1 now and scored 0.9 then, as 60 CORRECT ones did."""
    then = [replace(r, start_score=0.9) for r in apart(RIGHT, 0.8, 60) + apart(WRONG, 0.1, 20)]
    found = weighed(then + [replace(r, start_score=0.1) for r in apart(WRONG, 0.2, 20)])
    assert of(WRONG, 0.1, found) == pytest.approx(0.09) and of(WRONG, 0.2, found) == 0.0
    assert sum(bool(r.held_back) for r in found) == 20


def test_a_flood_of_exploits_is_mined():
    """600 wrong ones score as 60 CORRECT ones do: 0.03 * 60 / 600."""
    found = weighed(apart(RIGHT, 0.9, 60) + apart(WRONG, 0.9, 600))
    assert of(WRONG, 0.9, found) == pytest.approx(0.003) and not any(r.held_back for r in found)


def test_the_nearest_by_score_are_compared():
    """Each has 20 neighbours, itself among them: 10 at its own score and as many of the next one."""
    found = weighed(apart(WRONG, 0.5, 10) + apart(WRONG, 0.6, 10) + apart(RIGHT, 0.6, 4) + apart(RIGHT, 0.99, 100))
    assert NEIGHBOURS == 20
    assert of(WRONG, 0.5, found) == of(WRONG, 0.6, found) == pytest.approx(0.03 * 4 / 20)


def test_the_estimate_is_a_probability_and_nothing_where_the_rule_never_misses():
    few = apart(RIGHT, 0.9, 500) + apart(WRONG, 0.9, 3)
    assert of(WRONG, 0.9, weighed(few)) == 1.0
    assert of(WRONG, 0.9, weighed(few, misses=0.0)) == 0.0
    assert not any(r.held_back for r in weighed(few, max_right=1.0))
    assert of(WRONG, 0.9, weighed(apart(WRONG, 0.9, 3))) == 0.0


@pytest.mark.parametrize("score", [0.0, 1.0, math.nan])
def test_any_score_has_a_place(score):
    (found,) = weighed([rollout(WRONG, score, "5")])
    assert found.right_estimate == 0.0
    assert logits([found])[0] == {0.0: -13.8, 1.0: 13.8}.get(score, 0.0)


def test_what_states_no_answer_or_several_is_never_held_back():
    sure = [rollout(BLANK, 0.9), rollout(WRONG, 0.9, several=True), rollout((WRONG[0], Reason.CONTRADICTION), 0.9)]
    found = weighed(apart(RIGHT, 0.9, 500) + sure)
    assert found[500:] == sure and all(r.teachable_as_wrong for r in sure)
    open_one = weighed([*apart(RIGHT, 0.9, 500), rollout(OPEN, 0.9, "x")])[-1]
    assert not open_one.teachable_as_wrong and not open_one.held_back


def group(number, *answers):
    """A group of four in which 4 is right; all score 0.9."""
    return [rollout(RIGHT if answer == "4" else WRONG, 0.9, answer, number) for answer in answers]


def test_the_agreement_of_the_group_is_a_second_witness():
    """30 groups agree on the right answer and one on 5, which may be right in another form.

    With a share of 1 there are 120 CORRECT and 4 wrong: 0.03 * 120 / 4 = 0.9. The lonely wrong ones have all 120
    CORRECT and 4 + 400 wrong beside them: 0.03 * 120 / 404.
    """
    agreeing = [r for number in range(30) for r in group(number, "4", "4", "4", "4")]
    lonely = [r for number in range(100, 200) for r in group(number, "5", "6", "7", "8")]
    found = weighed(agreeing + group(99, "5", "5", "5", "5") + lonely)
    assert {round(r.right_estimate, 12) for r in found if r.group == 99} == {0.9}
    assert {round(r.right_estimate, 12) for r in found if r.group >= 100} == {round(3.6 / 404, 12)}
    assert {r.held_back for r in found} == {"", "agreement"}
    assert held_back_metrics(found) == {
        "pairs/held_back": 4.0,
        "pairs/held_back_score": 0.0,
        "pairs/held_back_agreement": 4.0,
        "pairs/replayed_right_estimate": pytest.approx(3.6 / 404),
    }


def learned(doubt, rollouts, step):
    doubt.after(Report(step, Batch(step, tuple(rollouts), ())), whole=False)


def test_only_the_last_steps_count():
    doubt = Doubt(0.03, 0.05)
    one = [rollout(WRONG, 0.9, "5")]
    learned(doubt, apart(RIGHT, 0.9, 20), 1)
    assert doubt.weigh(one, WINDOW_STEPS) == doubt.weigh(one, WINDOW_STEPS)
    learned(doubt, one, WINDOW_STEPS)
    assert weighed_by(doubt, one, WINDOW_STEPS)[0].right_estimate == 0.6  # a step counts once
    assert weighed_by(doubt, one, WINDOW_STEPS + 1)[0].right_estimate == 0.0


def test_resumed_it_holds_back_what_it_would_have():
    straight, resumed = Doubt(0.03, 0.05), Doubt(0.03, 0.05)
    learned(straight, apart(RIGHT, 0.87, 60) + apart(WRONG, 0.6, 7), 1)
    resumed.load_state(json.loads(json.dumps(straight.state())))
    later = apart(WRONG, 0.9, 20)
    assert resumed.weigh(later, 2) == straight.weigh(later, 2) and resumed.seen == straight.seen
    assert {r.right_estimate for r in weighed_by(straight, later, 2)} == {0.09}


def test_rounding_of_a_score_does_not_show():
    """Two ranks score with other rounding errors than one."""
    found = weighed(apart(RIGHT, 0.8, 60) + apart(WRONG, 0.8, 20) + apart(WRONG, 0.8 + 1e-7, 5))
    assert len({r.right_estimate for r in found if r.verdict is Verdict.INCORRECT}) == 1


@pytest.mark.parametrize("base", [-2.2, -1.1, 0.4, 0.6, 1.7])
def test_half_a_logit_is_near_whatever_the_rounding_of_a_difference(base):
    seen = np.array([(0, True, round(base + 0.5, 1), 1.0)] * 40 + [(0, False, base, 1.0)])
    assert Neighbours(seen).estimate(0.03, base, None) == 1.0


def one_by_one(seen_N4, misses, logit, share):
    """The estimate by going through all rollouts, as its definition says."""
    alike_N = seen_N4[:, 3] >= (0.0 if share is None else share)
    correct_N = seen_N4[:, 1] == 1
    if logit is not None:
        distance_N = np.abs(seen_N4[:, 2] - logit).round(1)
        nearest = np.sort(distance_N[alike_N & ~correct_N])[:NEIGHBOURS]
        alike_N &= distance_N <= nearest.max(initial=0.5)
    return min(1.0, misses * (alike_N & correct_N).sum() / max(1, (alike_N & ~correct_N).sum()))


@pytest.mark.parametrize("size", [0, 1, 5, 40, 300])
def test_the_table_of_neighbours_counts_as_going_through_all_does(size):
    rng = np.random.default_rng(size)
    for _ in range(40):
        columns = [rng.integers(0, 20, size), rng.integers(0, 2, size), rng.normal(0, 4, size).round(1)]
        seen = np.stack([*columns, rng.integers(1, 9, size) / 8], 1).reshape(-1, 4)
        for logit in (None, *rng.normal(0, 6, 4).round(1).tolist()):
            for share in (None, 0.125, 0.5, 1.0):
                assert Neighbours(seen).estimate(0.03, logit, share) == one_by_one(seen, 0.03, logit, share)


def test_the_report_gets_the_metrics_of_the_batch():
    report = Doubt(0.03, 0.05).after(Report(1, example_batch()), whole=False)
    assert report.metrics == {
        "pairs/held_back": 0.0,
        "pairs/held_back_score": 0.0,
        "pairs/held_back_agreement": 0.0,
        "pairs/replayed_right_estimate": 0.0,
    }


def test_open_answers_get_the_verdict_of_the_same_answer_in_their_group():
    first = [rollout(RIGHT, 0.9, "4"), rollout(OPEN, 0.3, "4"), rollout(OPEN, 0.3, "5"), rollout(WRONG, 0.3, "5")]
    other = [rollout(OPEN, 0.3, "4"), rollout(OPEN, 0.3), rollout(BLANK, 0.3), rollout(OPEN, 0.3, "9")]
    found = settled([first[:3], [*first[3:], *other]], 4, RuleReward())
    judged = [(r.verdict, r.reason) for r in found]
    assert judged == [RIGHT, RIGHT, WRONG, WRONG, OPEN, OPEN, BLANK, OPEN]
    assert [r.group for r in found] == [0] * 4 + [1] * 4
    assert [r.reward for r in found[:4]] == [
        0.0,
        1.0,
        0.0,
        0.0,
    ]  # those that were judged keep the reward they came with
    assert settled([first], 4, HybridReward())[1].reward == 1.0


def test_where_the_group_does_not_agree_with_itself_an_answer_stays_open():
    both = [rollout(RIGHT, 0.9, "4"), rollout(WRONG, 0.9, "4"), rollout(OPEN, 0.9, "4")]
    assert settled([both], 3, RuleReward())[2].verdict is Verdict.UNPARSEABLE
    late = [rollout((Verdict.TIMEOUT, Reason.DEADLINE), 0.9), rollout(RIGHT, 0.9)]
    assert settled([late], 2, RuleReward())[0].verdict is Verdict.TIMEOUT


def test_shares_of_a_group():
    answers = ["4", "4", "5", None, None]
    assert shares([rollout(WRONG, 0.5, answer) for answer in answers]) == [0.4, 0.4, 0.2, 0.2, 0.2]


def test_known_rates_of_the_verifiers():
    assert [misses_per_hit(kind) for kind in ("math", "math_verify", "choice", "own:explain")] == [0.005, *[0.03] * 3]
    assert [misses_per_hit(kind) for kind in ("text", "auto")] == [0.002, 0.005]
