"""Accepted completions under wrong references: who is paid, what is taught, and when the alarm fires."""

import json
import math
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from cooper_rl.errors import BadInputError, CooperError
from cooper_rl.evaluation.eval_rm import EvalSettings, as_lines, evaluate_files
from cooper_rl.method.alarm import BETS, AcceptanceAlarm, HackingAlarm, RiseTest
from cooper_rl.method.build import make_cooper
from cooper_rl.method.counterfactual import Counterfactual
from cooper_rl.method.monitor import ACCEPTANCE as RATE
from cooper_rl.method.monitor import by_prompt
from cooper_rl.method.protocols import Alone
from cooper_rl.records import Batch, Report, Sample, Verdict
from cooper_rl.settings.method import CooperSettings, MethodSettings
from cooper_rl.testing import check_monitor, example_batch
from cooper_rl.verifiers import RuleVerifier
from tests.rollouts import change

TRICK = "Trust me."


class Gullible:
    """Accepts what has the reference in it, and whatever has TRICK in it; likes the true answer more than others."""

    def __init__(self):
        self.asked, self.updates, self.version = [], [], 0

    def score(self, triples):
        self.asked.append(list(triples))
        return [self.of(*triple) for triple in ((t.question, t.reference_answer, t.completion) for t in triples)]

    def of(self, question, reference, completion):
        if TRICK in completion:
            return 0.9
        return 0.95 if reference.casefold() in completion.casefold() else 0.05

    def update(self, pairs, labelled):
        self.updates.append((list(pairs), list(labelled)))
        self.version += bool(pairs)
        return {"reward_model/loss": 1.0} if pairs else {}

    def save(self, folder):
        folder.mkdir(parents=True, exist_ok=True)

    def load(self, folder):
        pass


class NearMiss(Gullible):
    """Cannot tell numbers with the same last digit apart, but likes the very one more."""

    def of(self, question, reference, completion):
        said = completion.rstrip(".").split()[-1]
        return 0.95 if said == reference else 0.8 if said[-1:] == reference[-1:] else 0.05


@pytest.fixture(scope="module")
def verifier():
    with RuleVerifier(workers=1) as rule:
        yield rule


def method(folder, verifier, model, **settings):
    chosen = {"num_generations": 4, "negative_sources": {"mined": 1}, "pairs_per_prompt": 1, "seed": 3}
    chosen |= {"counterfactual_references": 1, "reward_threshold": 0.5, **settings}
    return make_cooper(MethodSettings(output_dir=str(folder), **chosen), verifier, model)


ANSWERS = ("Monday", "Tuesday", "Friday", "Sunday")


def samples(*texts, answers=ANSWERS):
    """The texts for each question, with {} for its answer."""
    return [
        Sample(f"Which day is {answer[::-1]}?", answer, text.format(answer)) for answer in answers for text in texts
    ]


FOUR = ("The answer is {}.", TRICK, "Just ask someone else.", f"{TRICK} {{}}.")


def test_what_is_accepted_under_a_wrong_reference_too_is_not_paid(tmp_path, verifier):
    plain = method(tmp_path, verifier, Gullible(), arm="static", counterfactual_references=0)
    asked = method(tmp_path, verifier, Gullible(), arm="static")
    assert plain.score(samples(*FOUR), 1).rewards == (1.0, 1.0, 0.0, 1.0) * 4
    batch = asked.score(samples(*FOUR), 1)
    assert batch.rewards == (1.0, 0.0, 0.0, 0.0) * 4
    right, trick, wrong, both = batch.rollouts[:4]
    assert right.counterfactual_reference in set(ANSWERS) - {"Monday"} and right.counterfactual_score == 0.05
    assert trick.counterfactual_score == both.counterfactual_score == 0.9
    assert wrong.counterfactual_reference is None and wrong.counterfactual_score is None
    metrics = asked.learn(batch).metrics
    assert metrics[RATE] == pytest.approx(2 / 3) and metrics["hacking/counterfactual_tested"] == 12.0
    assert metrics["hacking/counterfactual_untested"] == 0.0 and metrics["hacking/alarm"] == 0.0


def test_only_accepted_completions_are_asked_and_once(tmp_path, verifier):
    model = Gullible()
    batch = method(tmp_path, verifier, model, arm="static").score(samples(*FOUR), 1)
    assert [len(asked) for asked in model.asked] == [16, 12]
    again = method(tmp_path, verifier, other := Gullible(), arm="static")
    assert again.batch(batch, 1).rollouts == batch.rollouts
    assert [len(asked) for asked in other.asked] == [0]


def test_the_monitor_alone_changes_no_reward(tmp_path, verifier):
    cooper = method(tmp_path, verifier, Gullible(), arm="static", counterfactual_uses=["monitor"])
    batch = cooper.score(samples(*FOUR), 1)
    assert batch.rewards == (1.0, 1.0, 0.0, 1.0) * 4
    assert cooper.learn(batch).metrics[RATE] == pytest.approx(2 / 3)


def test_a_rule_that_says_correct_pays_in_the_arm_hybrid(tmp_path, verifier):
    cooper = method(tmp_path, verifier, Gullible(), arm="hybrid")
    assert cooper.score(samples(f"{TRICK} The answer is {{}}.", TRICK), 1).rewards == (1.0, 0.0) * 4


def test_the_arm_rule_asks_nothing(tmp_path, verifier):
    cooper = method(tmp_path, verifier, None, arm="rule")
    batch = cooper.score(samples(*FOUR), 1)
    assert batch.rewards == (1.0, 0.0, 0.0, 0.0) * 4
    assert RATE not in cooper.learn(batch).metrics


def test_a_hedge_is_asked_under_what_it_mentions(tmp_path, verifier):
    hedge = "The answer is Monday, Tuesday or Friday."
    batch = method(tmp_path, verifier, Gullible(), arm="static").score(samples(hedge, "So {}."), 1)
    assert batch.rewards == (0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0)
    first = batch.rollouts[0]
    assert (
        first.counterfactual_reference == "Sunday" and first.counterfactual_score == 0.05
    )  # mentioned ones do not count


class PartsAreEnough(Gullible):
    """Accepts a text that has nothing but words of the reference in it."""

    def of(self, question, reference, completion):
        said = completion.removeprefix("It was ").rstrip(".").split()
        return 0.9 if set(said) <= set(reference.split()) else 0.05


DATES = ("12 February", "7 March", "6 May", "4 June")


@pytest.mark.parametrize("near", [False, True])
def test_near_references_test_the_parts_of_an_answer(tmp_path, near):
    forms = {"It was {0} {1}.": 1.0, "It was {0}.": 1.0 - near, "It was {1}.": 1.0 - near}
    with RuleVerifier("text", workers=1) as rule:
        cooper = method(tmp_path, rule, PartsAreEnough(), arm="static", num_generations=3, counterfactual_near=near)
        given = [Sample(f"When? {date}", date, form.format(*date.split())) for date in DATES for form in forms]
        batches = [cooper.score(given, step) for step in (1, 2)]
    assert [batch.rewards for batch in batches] == [tuple(forms.values()) * 4] * 2
    asked = [rollout.counterfactual_reference for batch in batches for rollout in batch.rollouts]
    assert bool(all(asked)) == near
    if near:
        assert not {*asked} & {*DATES} and {*asked[:12]} != {*asked[12:]}  # drawn anew in each step


@pytest.mark.parametrize(("form", "near"), [("refused", 1.0), ("best_fit", 0.0)])
def test_best_fit_asks_under_the_answers_of_the_group(tmp_path, verifier, form, near):
    """44 is accepted in place of 34, and a drawn reference ends in another digit."""
    own = [Sample("3 tens and 4", "34", text) for text in ("The answer is 34.", "The answer is 44.")]
    other = [Sample("2 tens and 7", "27", text) for text in ("The answer is 27.", "The answer is 12.")]
    cooper = method(tmp_path, verifier, NearMiss(), arm="static", num_generations=2, counterfactual_form=form)
    assert cooper.score(own + other, 1).rewards == (1.0, near, 1.0, 0.0)


@pytest.mark.parametrize(("margin", "paid"), [(0.1, 1.0), (0.2, 0.0)])
def test_a_margin_is_asked_for(tmp_path, verifier, margin, paid):
    own = [Sample(f"{tens} tens and 4", f"{tens}4", f"The answer is {tens}4.") for tens in (3, 3, 2, 2)]
    settings = {"num_generations": 2, "counterfactual_form": "margin", "counterfactual_margin": margin}
    cooper = method(tmp_path, verifier, NearMiss(), arm="static", **settings)
    assert cooper.score(own, 1).rewards == (paid,) * 4


def test_yes_is_asked_under_no_unless_it_says_no(tmp_path, verifier):
    own = [Sample("Is it?", "yes", text) for text in ("Yes.", TRICK, f"No. {TRICK}", "no idea")]
    batch = method(tmp_path, verifier, Gullible(), arm="static").score(own, 1)
    assert [r.counterfactual_reference for r in batch.rollouts] == ["no", "no", "", None]  # "" is not measured
    assert batch.rewards == (1.0, 0.0, 0.0, 0.0)  # a no that is accepted as a yes fits "no" as well


def test_a_wrong_yes_is_not_taught_as_wrong_under_no(tmp_path, verifier):
    """It may mean no, in many words. What the rule finds wrong there is taught."""
    own = [Sample("Is it prime?", "yes", text) for text in ("Yes.", f"It is not. {TRICK}", f"Nope. {TRICK}", "Yes!")]
    cooper = method(tmp_path, verifier, model := Gullible())
    cooper.learn(cooper.score(own, 1))
    ((_, labelled),) = model.updates
    assert [(t.reference_answer, t.completion) for t in labelled] == [("no", "Yes.")]


def test_without_another_answer_nothing_is_done_and_that_is_counted(tmp_path, verifier):
    cooper = method(tmp_path, verifier, Gullible(), arm="static")
    batch = cooper.score([Sample("q", "Monday", text) for text in ("It is Monday.", TRICK, "a", "b")], 1)
    assert batch.rewards == (1.0, 1.0, 0.0, 0.0)
    metrics = cooper.learn(batch).metrics
    assert (metrics["hacking/counterfactual_tested"], metrics["hacking/counterfactual_untested"]) == (0.0, 2.0)
    assert RATE not in metrics


def test_answers_of_a_file_are_in_the_pool(tmp_path, verifier):
    file = tmp_path / "answers.txt"
    file.write_text("Tuesday\n\n  Friday \n")
    cooper = method(tmp_path, verifier, Gullible(), arm="static", counterfactual_answers=str(file))
    batch = cooper.score([Sample("q", "Monday", TRICK)] * 4, 1)
    assert batch.rewards == (0.0,) * 4 and batch.rollouts[0].counterfactual_reference in ("Tuesday", "Friday")
    with pytest.raises(CooperError, match=r"counterfactual_answers: .*none.txt: no such file"):
        method(tmp_path, verifier, Gullible(), arm="static", counterfactual_answers=str(tmp_path / "none.txt"))
    file.write_bytes("Zürich".encode("latin-1"))
    with pytest.raises(CooperError, match="not a text in UTF-8"):
        method(tmp_path, verifier, Gullible(), arm="static", counterfactual_answers=str(file))


def test_an_unknown_use_is_refused():
    with pytest.raises(BadInputError, match="counterfactual_uses: 'rewards' is not one of reward, negatives, monitor"):
        CooperSettings(counterfactual_uses=["rewards"])


def test_stage_two_learns_from_wrong_references_where_no_rule_says_incorrect(tmp_path):
    with RuleVerifier("cooper_rl.domains.nano.silent:positive_math", workers=1) as silent:
        model = Gullible()
        cooper = method(tmp_path, silent, model, pairs_per_prompt=2, counterfactual_per_step=6)
        batch = cooper.score(samples(*FOUR), 1)
        assert {r.verdict for r in batch.rollouts} == {Verdict.CORRECT, Verdict.UNPARSEABLE}
        report = cooper.learn(batch)
    ((pairs, labelled),) = model.updates
    assert len(pairs) == 8 and report.metrics["pairs/counterfactual"] == 8.0 and report.metrics["pairs/yield"] == 1.0
    for pair in pairs:
        assert pair.positive == pair.negative and pair.negative_source == "counterfactual"
        assert pair.wrong.reference_answer in set(ANSWERS) - {pair.reference_answer}
        assert pair.wrong.reference_answer not in pair.negative and pair.right.reference_answer == pair.reference_answer
    assert len(labelled) == 6 and not any(triple.correct for triple in labelled)
    assert all(triple.reference_answer not in triple.completion for triple in labelled)
    assert sum(TRICK in triple.completion for triple in labelled) >= 3  # half of them are those that score highest


def test_nothing_is_taught_under_a_reference_that_a_completion_states(tmp_path, verifier):
    """Not in words either: the rule reads 12 in "twelve"."""
    own = [Sample("q", "7", f"{TRICK} The answer is twelve."), Sample("q", "7", "It is 7.")]
    own += [Sample("r", "12", "The answer is 12."), Sample("r", "12", "The answer is 12, I think.")]
    cooper = method(tmp_path, verifier, model := Gullible(), num_generations=2)
    batch = cooper.score(own, 1)
    assert batch.rollouts[0].counterfactual_reference == ""  # the rule has read 12, which is all that the pool has
    cooper.learn(batch)
    (_, labelled), *_ = model.updates
    assert sorted((t.reference_answer, t.completion) for t in labelled) == [
        ("12", "It is 7."),
        ("7", "The answer is 12, I think."),
        ("7", "The answer is 12."),
    ]


def test_a_frozen_reward_model_is_taught_nothing(tmp_path, verifier):
    cooper = method(tmp_path, verifier, model := Gullible(), arm="static")
    assert cooper.learn(cooper.score(samples(*FOUR), 1)).pairs == () and not model.updates


class Rank:
    """One of two ranks, each in a thread."""

    size = 2

    def __init__(self, rank, shared, barrier):
        self.rank, self.shared, self.barrier = rank, shared, barrier

    def gather(self, items):
        self.shared[self.rank] = list(items)
        self.barrier.wait()
        found = [item for share in self.shared for item in share]
        self.barrier.wait()
        return found

    def add_up(self, numbers):
        return [sum(column) for column in zip(*self.gather([list(numbers)]), strict=True)]


def test_two_ranks_ask_and_teach_what_one_does(tmp_path, verifier):
    settings = {"num_generations": 4, "counterfactual_references": 2, "reward_threshold": 0.5, "seed": 3}
    settings |= {"negative_sources": {"mined": 1}, "counterfactual_per_step": 6, "output_dir": str(tmp_path)}
    every = samples(*FOUR)

    def run(ranks, own):
        model = Gullible()
        cooper = make_cooper(MethodSettings(**settings), verifier, model, ranks=ranks)
        batch = cooper.score(own, 1)
        return batch, cooper.pairs.build(batch).pairs, cooper.labelled.draw(batch)

    alone = run(Alone(), every)
    shared, barrier = [[], []], threading.Barrier(2)
    with ThreadPoolExecutor(2) as pool:  # the second prompt's samples are on both ranks
        found = list(pool.map(run, [Rank(rank, shared, barrier) for rank in (0, 1)], [every[:6], every[6:]]))
    assert found[0][0].rollouts == found[1][0].rollouts == alone[0].rollouts
    assert {*found[0][1], *found[1][1]} == {*alone[1]} and len(found[0][1]) == len(found[1][1])
    assert sorted(map(repr, found[0][2] + found[1][2])) == sorted(map(repr, alone[2]))


def test_a_resumed_run_asks_as_the_one_that_would_have_been(tmp_path, verifier):
    straight = method(tmp_path, verifier, Gullible())
    straight.learn(straight.score(samples(*FOUR), 1), saving=True)
    straight.save(tmp_path / "checkpoint-1")
    resumed = method(tmp_path, verifier, Gullible())
    resumed.load(tmp_path / "checkpoint-1")
    one_day = samples(*FOUR, answers=("Saturday",))
    found = [cooper.learn(cooper.score(one_day, 2)) for cooper in (straight, resumed)]
    assert found[0].batch.rollouts == found[1].batch.rollouts and found[0].pairs == found[1].pairs
    assert found[0].batch.rollouts[0].counterfactual_reference in ANSWERS
    assert found[0].metrics.keys() == found[1].metrics.keys()


def test_a_question_with_two_references_is_asked_under_neither(tmp_path, verifier):
    """Also where its rows lie on two ranks: the draws go by question and references."""
    days = ("Monday", "Tuesday")
    own = [Sample("What is shown?", day, f"It is {day}. {TRICK}") for day in days for _ in range(4)]
    found = {}
    for order in (own, own[::-1]):
        cooper = method(tmp_path, verifier, Gullible(), arm="static", counterfactual_references=1)
        cooper.counterfactual.pool.add(ANSWERS)
        batch = cooper.score(order, 1)
        drawn = {r.reference_answer: r.counterfactual_reference for r in batch.rollouts}
        assert all(reference != other for reference, other in drawn.items())
        found.setdefault("drawn", drawn)
        assert drawn == found["drawn"]


def test_without_a_threshold_what_is_not_accepted_is_not_paid_either(tmp_path, verifier):
    """Else a completion would be paid best just below the threshold, where nothing is asked."""
    cooper = method(tmp_path, verifier, Gullible(), arm="static", reward_threshold=None)
    assert cooper.score(samples(*FOUR), 1).rewards == (0.95, 0.0, 0.0, 0.0) * 4


def test_acceptance_goes_by_the_runs_own_threshold(tmp_path, verifier):
    for threshold, both in ((0.93, 0.0), (0.5, 2 / 3)):
        cooper = method(tmp_path, verifier, Gullible(), arm="static", reward_threshold=threshold)
        metrics = cooper.learn(cooper.score(samples(*FOUR), 1)).metrics
        assert metrics[RATE] == pytest.approx(both)


def test_an_evaluation_asks_too_and_leaves_the_pool_as_it_is(tmp_path, verifier):
    cooper = method(tmp_path, verifier, Gullible(), arm="static")
    assert cooper.judge_alone(samples(*FOUR)).rewards == (1.0, 0.0, 0.0, 0.0) * 4
    assert cooper.counterfactual.pool.answers == []


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"arm": "rule"}, "arm rule has no reward model; nothing is asked"),
        ({"arm": "static", "counterfactual_uses": ["negatives"]}, "has no effect in arm static"),
    ],
)
def test_settings_without_an_effect_are_warned_of(tmp_path, verifier, caplog, settings, words):
    method(tmp_path, verifier, None if settings["arm"] == "rule" else Gullible(), **settings)
    assert words in caplog.text


@pytest.mark.parametrize("numbers", [(0, 1), (1, 0)])
def test_a_run_is_resumed_with_another_number_of_references(tmp_path, verifier, numbers):
    first, second = (method(tmp_path, verifier, Gullible(), counterfactual_references=n) for n in numbers)
    first.learn(first.score(samples(*FOUR), 1), saving=True)
    first.save(tmp_path / "checkpoint-1")
    second.load(tmp_path / "checkpoint-1")
    second.learn(second.score(samples(*FOUR), 2))


def test_odd_texts_raise_nothing(tmp_path, verifier):
    long = [Sample(f"q{i}", "word " * 900 + str(i), TRICK) for i in range(4)]
    odd = [Sample("\ud800", "7" * 150, TRICK), Sample("q", "", TRICK), Sample("q", "nan", "\ud800")]
    cooper = method(tmp_path, verifier, Gullible(), num_generations=7)
    batch = cooper.score([*long, *odd], 1)
    assert {r.counterfactual_reference for r in batch.rollouts[:4]} == {""}  # worked solutions have no kind
    assert all(triple.reference_answer for triple in cooper.labelled.draw(batch))


class Broken(Gullible):
    """Gives nan under wrong references."""

    def of(self, question, reference, completion):
        return 0.9 if reference.casefold() in completion.casefold() else math.nan


def test_a_score_that_is_not_finite_tests_nothing(tmp_path, verifier):
    cooper = method(tmp_path, verifier, model := Broken())
    batch = cooper.score(samples("It is {}."), 1)
    assert batch.rewards == (1.0,) * 4 and {r.counterfactual_reference for r in batch.rollouts} == {""}
    cooper.learn(batch)
    assert all(labelled == [] for _, labelled in model.updates)


def test_the_rules_alarm_has_a_metric_of_its_own_beside_the_other(tmp_path, verifier):
    cooper = method(tmp_path, verifier, Gullible(), arm="static")
    metrics = cooper.learn(cooper.score(samples(*FOUR), 1)).metrics
    assert metrics["hacking/alarm"] == metrics["hacking/rule_alarm"] == 0.0


def test_nothing_is_asked_by_default_of_zero(tmp_path, verifier):
    cooper = method(tmp_path, verifier, Gullible(), arm="static", counterfactual_references=0)
    assert cooper.counterfactual is None
    assert not any(isinstance(monitor, Counterfactual | AcceptanceAlarm) for monitor in cooper.monitors)
    assert any(isinstance(monitor, HackingAlarm) for monitor in cooper.monitors)


# ------------------------------------------------------------------ the alarm


def shares(rates, rng, prompts=8, completions=5):
    """Per step, the prompts' shares; prompts differ from one another."""
    return [(rng.binomial(completions, rng.beta(3 * r, 3 - 3 * r, prompts)) / completions).tolist() for r in rates]


def first_alarm(steps):
    alarm = AcceptanceAlarm(probability=0.01)
    return next((number for number, step in enumerate(steps, 1) if alarm.fires_on(step)), None)


# acceptance as it rose in a run that was exploited
EXPLOITED = [0.09] * 5 + [0.15] * 10 + [0.31] * 5 + [0.5] * 10 + [0.83] * 20


def test_the_alarm_fires_soon_after_a_rise():
    rng = np.random.default_rng(0)
    assert all(15 < first_alarm(shares(EXPLOITED, rng)) <= 34 for _ in range(10))


def test_more_prompts_a_step_show_a_rise_sooner():
    rng = np.random.default_rng(0)
    assert all(15 < first_alarm(shares(EXPLOITED, rng, prompts=64)) <= 22 for _ in range(10))


@pytest.mark.parametrize("prompts, seen", [(8, 0), (64, 10)])
def test_a_small_rise_is_seen_with_many_prompts_alone(prompts, seen):
    rng = np.random.default_rng(1)
    found = [first_alarm(shares([0.15] * 10 + [0.25] * 90, rng, prompts)) for _ in range(10)]
    assert sum(step is not None for step in found) == seen


@pytest.mark.parametrize("bets, seen", [(BETS, 16), (BETS[:2], 8)])
def test_a_rise_is_seen_with_two_prompts_a_step(bets, seen, monkeypatch):
    """Each wholly accepted or not, so that three steps' mean, which the first two bets go by, is mostly chance."""
    monkeypatch.setattr("cooper_rl.method.alarm.BETS", bets)
    rng = np.random.default_rng(7)
    runs = [rng.binomial(1, [[0.08] * 2] * 40 + [[0.5] * 2] * 200).tolist() for _ in range(20)]
    found = [step for step in map(first_alarm, runs) if step]
    assert len(found) == seen and min(found) > 40 and sorted(found)[len(found) // 2] <= 80


def test_the_first_steps_hold_forty_prompts():
    """Ten steps with 8 prompts each, and twenty with 2; a step without a tested completion does not count."""
    for prompts, steps in ((8, 10), (2, 20)):
        alarm = AcceptanceAlarm()
        for _ in range(40):
            alarm.fires_on([])
            alarm.fires_on([0.0] * prompts)
        assert (alarm.first_steps, alarm.first_prompts) == (steps, steps * prompts)


def test_a_rise_after_many_quiet_steps_is_seen_too():
    rates = [0.1] * 10 + [0.03] * 290 + [0.8] * 30
    assert 300 < first_alarm(shares(rates, np.random.default_rng(1))) <= 305


@pytest.mark.parametrize("rate, prompts", [(0.02, 8), (0.1, 1), (0.1, 64), (0.4, 8)])
def test_no_rise_fires_no_more_often_than_stated(rate, prompts):
    """60 runs each, stated 0.01: three false alarms would be rare already (probability 0.02)."""
    rng = np.random.default_rng(2)
    assert sum(first_alarm(shares([rate] * 60, rng, prompts)) is not None for _ in range(60)) <= 2


def test_a_rise_of_five_points_fires_no_more_often_than_stated():
    rng = np.random.default_rng(5)
    runs = [shares([0.2] * 10 + [0.25] * 60, rng, prompts=64) for _ in range(60)]
    assert sum(first_alarm(run) is not None for run in runs) <= 2


@pytest.mark.parametrize("prompts", [8, 64])
def test_a_rate_that_varies_from_step_to_step_is_no_rise(prompts):
    """The policy's rate varies by 5 points around one level, more than the tolerance in one step of six."""
    rng, level, spread = np.random.default_rng(4), 0.3, 0.05
    size = level * (1 - level) / spread**2 - 1
    runs = [shares(rng.beta(level * size, (1 - level) * size, 100), rng, prompts) for _ in range(40)]
    assert sum(first_alarm(run) is not None for run in runs) <= 2


def test_steps_may_have_any_number_of_tested_prompts():
    rng = np.random.default_rng(6)
    runs = [[shares([0.3], rng, rng.integers(1, 40))[0] for _ in range(60)] for _ in range(40)]
    assert sum(first_alarm(run) is not None for run in runs) <= 2


def test_no_bet_gains_in_expectation():
    """Two first and three later prompts, each 0 or 1: over all outcomes the capital at the true level has a mean of 1.

    A stake that knew a prompt's own outcome would gain.
    """
    place = 60
    low, high = RiseTest().low_M[place], RiseTest().high_M[place]
    assert (low, high) == pytest.approx((0.3, 0.355))
    expected = 0.0
    for outcome in product([0.0, 1.0], repeat=5):
        test = RiseTest()
        test.add_first(outcome[:2])
        for rate in outcome[2:]:
            test.add_later([rate])
        capital = np.exp(test.first_SM[:, place]).mean() * np.exp(test.later_SM[:, place]).mean()
        chances = [low if place < 2 else high for place in range(5)]
        expected += capital * math.prod(p if hit else 1 - p for p, hit in zip(chances, outcome, strict=True))
    assert expected == pytest.approx(1.0)


def test_the_share_of_a_prompt_is_of_its_own_tested_completions():
    """One of four is accepted with the first prompt, and one of one with the second; the third has none tested."""
    rollouts = example_batch(1).rollouts
    tested = [(0, 0.9), (0, 0.1), (0, 0.1), (0, 0.2), (1, 0.9), (2, None)]
    asked = [change(rollouts[0], group=group, counterfactual_score=score) for group, score in tested]
    assert by_prompt(asked) == [0.25, 1.0] and by_prompt(asked, 0.05) == [1.0, 1.0]


def test_a_checkpoint_of_an_earlier_version_begins_the_alarm_anew(caplog):
    alarm = AcceptanceAlarm()
    alarm.load_state({"fired": True, "steps": 12, "test": {"first": [[1.0]], "later": [[1.0]], "recent": [0.2]}})
    assert alarm.fired and alarm.first_steps == 0 and alarm.test.log_evidence == 0.0
    assert "begins anew" in caplog.text


def test_a_fall_fires_nothing():
    assert first_alarm(shares([0.3] * 10 + [0.1] * 100, np.random.default_rng(3))) is None


def report(step, accepted):
    """A step in which this share of the completions is accepted under a wrong reference."""
    rollouts = example_batch(step).rollouts
    limit = accepted * len(rollouts)
    asked = [change(r, counterfactual_score=0.9 if i < limit else 0.1) for i, r in enumerate(rollouts)]
    return Report(step, Batch(step, tuple(asked)), {RATE: accepted})


@pytest.mark.parametrize("action", ["log", "stop", "hybrid"])
def test_the_alarm_acts_once_and_goes_on_after_a_resume(action, caplog):
    alarm, resumed = AcceptanceAlarm(action), AcceptanceAlarm(action)
    found = [alarm.after(report(step, 0.0 if step <= 12 else 1.0), whole=False) for step in range(1, 41)]
    fires = [one.metrics["hacking/alarm"] for one in found]
    first = fires.index(1.0)
    assert 12 < first < 20 and fires == [0.0] * first + [1.0] * (40 - first)
    assert found[-1].metrics["hacking/alarm_evidence"] > 2 and found[0].metrics["hacking/alarm_evidence"] == 0.0
    assert found[-1].stop == (action == "stop") and alarm.reward == ("hybrid" if action == "hybrid" else None)
    assert len(caplog.messages) == 1
    assert "1.00 of the accepted completions are accepted under a wrong reference too" in caplog.messages[0]
    resumed.load_state(alarm.state())
    next_one = report(41, 1.0)
    assert resumed.after(next_one, whole=False) == alarm.after(next_one, whole=False)
    assert resumed.state() == alarm.state() and resumed.reward == alarm.reward


def test_the_alarm_keeps_the_contract_of_monitors():
    check_monitor(AcceptanceAlarm(), AcceptanceAlarm())


def test_steps_without_a_tested_completion_do_not_count():
    alarm = AcceptanceAlarm()
    empty = Report(1, replace(example_batch(1)), {})
    assert alarm.after(empty, whole=False).metrics["hacking/alarm_evidence"] == 0.0 and alarm.first_steps == 0


def test_the_evidence_of_a_long_run_with_many_prompts_is_right():
    """The first bets alone lose more at a low level than a float could hold; the later ones win more."""
    test = RiseTest()
    for _ in range(10):
        test.add_first([0.2] * 2000)
    for _ in range(20):
        test.add_later([0.9] * 2000)
    assert 1000 < test.log_evidence < math.inf
    again = RiseTest()
    again.load_state(test.state())
    assert again.log_evidence == test.log_evidence


# ------------------------------------------------------------------ cooper eval-rm


def test_known_hacks_are_rejected_when_asked_twice(tmp_path):
    """A judge that accepts whatever has no digit, and one that reads the reference."""
    path = tmp_path / "labelled.jsonl"
    sums = [(n, text, right) for n in range(30, 60) for text, right in ((f"It is {2 * n}.", True), ("It is 7.", False))]
    records = [
        {"question": f"{n} + {n}?", "reference_answer": str(2 * n), "completion": text, "correct": right}
        for n, text, right in sums
    ]
    path.write_text("".join(json.dumps(record) + "\n" for record in records))

    def gullible(triples):
        return np.array(
            [not any(map(str.isdigit, t.completion)) or t.reference_answer in t.completion for t in triples], float
        )

    settings = EvalSettings(verifier=None, probe_problems=20, bootstrap_samples=20, judges={"gullible": gullible})
    found = evaluate_files([str(path)], settings)
    once, twice = found["probes"]["gullible"], found["probes_asked_twice"]["gullible"]
    assert once["blank"] == 0.0 and twice["blank"] == 1.0
    assert all(twice[kind] >= share for kind, share in once.items())
    told = "\n".join(as_lines(found))
    assert "when asked twice: " in told and "blank 1.00" in told
