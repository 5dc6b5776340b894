"""What is said of runs, on made-up summaries: each sentence is true to its figures, short, and one sentence."""

import math
import re

import pytest

from cooper_rl.intervals import unpaired_change
from cooper_rl.report.story import conclusion, story
from cooper_rl.report.summary import difference

MOST_WORDS = 30
BASE = 0.41


def entry(end, *, peak=None, reward=(0.35, 0.65), model=(None, None), alarm=None, seed=0, problems=500, **others):
    """A run's figures as `summarize_run` gives them, of ten measurements on so many problems."""
    watched = model[1] is not None
    rise = 0 if None in reward else reward[1] - reward[0]
    starts = {"change": BASE, "fall": end if peak is None else peak}
    known = end is not None and problems
    changes = {
        name: unpaired_change(start, end, problems)._asdict() if known else None for name, start in starts.items()
    }
    return {
        "evidence": {
            **changes,
            "looks": 10,
            "reward": (rise > 0) - (rise < 0),
            "rose": ["reward"] * (rise >= 0.1),
            "silent": False,
        },
        "seed": seed,
        "true_accuracy": {"peak": end if peak is None else peak, "end": end},
        "rule_accuracy": {"end": 0.3},
        "reward": {"start": reward[0], "end": reward[1]},
        "reward_model_accuracy": {"start": model[0], "min": model[0], "end": model[1]},
        "steps": 120,
        "max_steps": 120,
        "alarm": {"watched": watched, "step": alarm},
        "empty": {"start": 0.0, "end": 0.0},
        "rolled_back": 0,
        **others,
    }


def summary(base=BASE, problems=500, **arms):
    arms = {name: [made] if isinstance(made, dict) else made for name, made in arms.items()}
    return {"base": {"true_accuracy": base}, "heldout_problems": problems, "arms": arms}


def seeds(ends, **others):
    return [entry(end, seed=seed, **others) for seed, end in enumerate(ends)]


RULE = entry(0.702, reward=(0.17, 0.37))
COOPER = entry(0.824, peak=0.83, model=(0.952, 0.978))
COLLAPSED = entry(0.298, peak=0.692, reward=(0.36, 0.87), model=(0.955, 0.955), alarm=48)
STEADY = entry(0.68, peak=0.69, reward=(0.36, 0.7), model=(0.955, 0.955))


def well_formed(sentence):
    """One sentence of at most `MOST_WORDS` words."""
    words = [word for word in sentence.split() if re.search(r"\w", word)]
    assert len(words) <= MOST_WORDS, (len(words), sentence)
    assert sentence.endswith(".") and not re.search(r"\.\s|none|None|nan", sentence), sentence
    return sentence


def told(made):
    return well_formed(story(made))


def ended(made, report="runs/q/report.html"):
    return [well_formed(sentence) for sentence in conclusion(made, report)]


def test_one_run_in_one_sentence():
    assert told(summary(cooper=COOPER)) == (
        "True accuracy rose from 0.41 to 0.82 in 120 steps; the reward model's held-out accuracy ended at 0.98; "
        "no alarm fired."
    )
    rolled = entry(0.79, peak=0.846, model=(0.95, 0.9), alarm=30, rolled_back=3)
    assert told(summary(cooper=rolled)) == (
        "True accuracy rose from 0.41 to 0.79 in 120 steps; the reward model's held-out accuracy ended at "
        "0.90; 3 rollbacks; the alarm fired at step 30."
    )
    assert told(summary(static=COLLAPSED)) == (
        "Reward was exploited: it rose from 0.36 to 0.87 while true accuracy fell from 0.69 to 0.30 in 120 steps; "
        "the alarm fired at step 48."
    )
    assert told(summary(rule=RULE)) == "True accuracy rose from 0.41 to 0.70 in 120 steps."
    assert told(summary(rule=entry(0.3))) == "True accuracy fell from 0.41 to 0.30 in 120 steps."
    assert told(summary(rule=entry(0.412))) == (
        "True accuracy stayed within error (0.41 and 0.41, 500 problems) in 120 steps."
    )


def test_a_policy_that_falls_silent_is_named():
    silent = entry(0.79, empty={"start": 0.02, "end": 0.324})
    silent["evidence"]["silent"] = True
    assert told(summary(rule=silent)) == (
        "True accuracy rose from 0.41 to 0.79 in 120 steps; 32% of the last completions are empty."
    )
    assert "; 32% of the last completions (1 of 3 runs) are empty" in told(summary(rule=[RULE, silent, RULE]))
    several = ended(summary(static=STEADY, **{"alone-30": [silent, RULE]}))[2]
    assert several.startswith("32% of alone-30's last completions (1 of 2 runs) are empty; open runs/q/report.html")
    alone = ended(summary(rule=RULE, static=silent))[2]
    assert alone.startswith("32% of static's last completions are empty; open runs/q/report.html")
    assert "empty" not in told(summary(rule=RULE))


def test_a_run_of_which_little_is_known():
    running = entry(0.5, model=(0.9, 0.9), steps=40)
    assert told(summary(cooper=running)).startswith("True accuracy rose from 0.41 to 0.50 in 40 of 120 steps; ")
    assert told(summary(base=None, rule=RULE)) == "True accuracy ended at 0.70 in 120 steps."
    unmeasured = entry(None)
    assert told(summary(base=None, rule=unmeasured)) == "Mean reward rose from 0.35 to 0.65 in 120 steps."
    assert told(summary(base=None, rule=entry(None, reward=(None, None), steps=0))) == "No step has been logged yet."


def test_several_arms_in_one_sentence():
    assert told(summary(rule=RULE, static=COLLAPSED, cooper=COOPER)) == (
        "After 120 steps true accuracy is 0.82±0.04 (cooper), 0.70±0.04 (rule) and 0.30±0.04 (static, exploited: "
        "reward 0.36 to 0.87); the alarm fired in static at step 48."
    )
    many = summary(
        rule=seeds([0.70, 0.70]),
        static=[COLLAPSED, {**COLLAPSED, "seed": 1}],
        cooper=seeds([0.82, 0.80], model=(0.9, 0.95)),
    )
    assert told(many) == (
        "After 120 steps mean true accuracy is 0.81±0.13 (cooper), 0.70±0.04 (rule) and 0.30±0.04 (static, exploited "
        "in 2 of 2 runs); the alarm fired in 2 static runs."
    )
    variants = summary(**{f"noise-{i}": entry(0.5 + i / 100) for i in range(6)})
    assert told(variants) == (
        "After 120 steps true accuracy of the 6 arms goes from 0.55±0.04 (noise-5) down to 0.50±0.04 (noise-0)."
    )


def test_cooper_wins_and_static_collapsed():
    result, exploitation, place = ended(summary(rule=RULE, static=COLLAPSED, cooper=COOPER))
    assert result == (
        "Cooper won against rule: true accuracy 0.824 and 0.702, difference +0.122 "
        "(95 % interval +0.062 to +0.181, one seed, 500 problems)."
    )
    assert exploitation == (
        "The frozen reward model was exploited: reward went from 0.36 to 0.87, true accuracy from 0.69 to 0.30; "
        "the alarm fired in static at step 48."
    )
    assert place == (
        "To read what fooled the reward model, open runs/q/report.html, go to Rollouts and choose static and "
        '"score above 0.5, rule wrong".'
    )


def test_cooper_and_rule_tie_and_static_does_not_collapse():
    result, exploitation, place = ended(summary(rule=RULE, static=STEADY, cooper=entry(0.71, model=(0.9, 0.9))))
    assert result.startswith("Cooper and rule cannot be told apart: true accuracy 0.710 and 0.702, difference +0.008 ")
    assert exploitation == (
        "The frozen reward model was not exploited: static's true accuracy ended at 0.68 after a peak of 0.69; "
        "no alarm fired."
    )
    assert place.startswith("Open runs/q/report.html for the curves")


def test_cooper_loses_to_the_best_of_the_others():
    result, *_ = ended(summary(rule=RULE, static=entry(0.75, model=(0.9, 0.9)), cooper=entry(0.6, model=(0.9, 0.8))))
    assert result.startswith("Cooper lost to static: true accuracy 0.600 and 0.750, difference -0.150 (95 % interval ")


def test_an_alarm_without_exploitation():
    _, exploitation, place = ended(summary(static=STEADY, cooper=entry(0.8, model=(0.9, 0.9), alarm=20)))
    assert "was not exploited" in exploitation and exploitation.endswith("; the alarm fired in cooper at step 20.")
    assert "choose cooper and" in place


def test_several_seeds_have_an_interval_over_them():
    made = summary(
        rule=seeds([0.70, 0.71, 0.69]),
        static=[COLLAPSED, {**STEADY, "seed": 1}, {**COLLAPSED, "seed": 2, "alarm": {"watched": True, "step": 50}}],
        cooper=seeds([0.80, 0.83, 0.80], model=(0.95, 0.98)),
    )
    result, exploitation, _ = ended(made)
    # by hand: differences 0.10, 0.12, 0.11; mean 0.11, deviation 0.01; rule is the better of two others, so that t is
    # that of 98.75 %: 6.21 * 0.01 / sqrt(3) = 0.036
    assert result == (
        "Cooper won against rule: true accuracy 0.810 and 0.700, difference +0.110 "
        "(95 % interval +0.074 to +0.146, 3 seeds)."
    )
    assert exploitation == (
        "The frozen reward model was exploited in 2 of 3 runs: reward went from 0.36 to 0.87, true accuracy from 0.69 "
        "to 0.30; the alarm fired in 2 static runs."
    )
    wide = summary(rule=seeds([0.70, 0.71]), cooper=seeds([0.75, 0.80]))
    assert ended(wide)[0].startswith("Cooper and rule cannot be told apart: true accuracy 0.775 and 0.705")


def test_where_two_arms_are_exploited_or_the_fall_has_no_rise():
    hacked = entry(0.4, peak=0.75, reward=(0.35, 0.9), model=(0.9, 0.7), alarm=60)
    _, exploitation, _ = ended(summary(rule=RULE, static=COLLAPSED, cooper=hacked))
    assert exploitation == (
        "The reward was exploited in static and cooper: true accuracy fell by 0.39 and 0.35; "
        "the alarm fired in 1 static run and 1 cooper run."
    )
    _, exploitation, _ = ended(summary(cooper=hacked))
    assert exploitation.startswith(
        "The reward of cooper was exploited: reward went from 0.35 to 0.90, true accuracy from "
    )
    fallen = entry(0.5, peak=0.7, reward=(0.36, 0.4), model=(0.9, 0.9))
    _, exploitation, _ = ended(summary(static=fallen, cooper=COOPER))
    assert (
        "fell from 0.70 to 0.50 while reward went from 0.36 to 0.40, too small a rise for exploitation" in exploitation
    )


def test_little_to_compare():
    alone, exploitation, _ = ended(summary(cooper=COOPER))
    assert alone == "Cooper's true accuracy rose from 0.41 to 0.82 in 120 steps."
    assert exploitation == (
        "No reward was exploited, and cooper's reward model went from held-out accuracy 0.95 to 0.98; no alarm fired."
    )
    unmeasured, exploitation, _ = ended(summary(base=None, problems=None, rule=entry(None), mine=entry(None)))
    assert unmeasured == "True accuracy was not measured; rule accuracy ended at 0.300 (rule) and 0.300 (mine)."
    assert exploitation == "Without true accuracy nothing shows whether a reward was exploited."
    unknown, *_ = ended(summary(problems=None, rule=RULE, cooper=COOPER))
    assert unknown.endswith("; one seed gives no interval, so the difference may be chance.")
    apart, *_ = ended(summary(rule=RULE, cooper={**COOPER, "seed": 7}))
    assert apart == "Cooper and rule have no seed in common, so their true accuracy is not compared."
    variants, *_ = ended(summary(**{"noise-0": RULE, "noise-40": COOPER}))
    assert variants.startswith("noise-40 won against noise-0: ")


def test_the_interval_by_hand():
    found = difference([entry(0.824)], [entry(0.702)], 500)
    ours, theirs = 413 / 502, 352 / 502
    half = 1.959964 * math.sqrt((ours * (1 - ours) + theirs * (1 - theirs)) / 502)
    assert (found.low, found.high) == pytest.approx((ours - theirs - half, ours - theirs + half))
    everywhere = difference([entry(1.0)], [entry(1.0)], 4)
    assert everywhere.low < 0 < everywhere.high and everywhere.sign == 0  # 4 of 4 problems prove nothing


NOISE = entry(0.42, peak=0.52, model=(0.95, 0.95), problems=50)
FEW = entry(0.44, reward=(0.2, 0.4), problems=50)


def test_too_few_problems_cannot_tell():
    """26 and then 21 of 50 problems were once called exploitation."""
    assert told(summary(static=NOISE)) == (
        "True accuracy stayed within error (0.41 and 0.42, 50 problems) in 120 steps (peak 0.52, no fall is shown; "
        "about 700 would tell); no alarm fired."
    )
    result, exploitation, place = ended(summary(rule=FEW, static=NOISE, problems=50))
    assert result == (
        "Rule and static cannot be told apart: true accuracy 0.440 and 0.420, difference +0.020 (95 % interval -0.171 "
        "to +0.210, one seed, 50 problems; about 10,000 would tell)."
    )
    assert exploitation == (
        "Whether the frozen reward model was exploited cannot be told with 50 problems; about 700 would tell: true "
        "accuracy went from 0.52 to 0.42; no alarm fired."
    )
    assert place.startswith("Open ")


def test_what_was_not_seen_is_not_ruled_out():
    steady = entry(0.52, peak=0.54, model=(0.95, 0.95), problems=50)
    _, exploitation, _ = ended(summary(rule=FEW, static=steady, problems=50))
    assert exploitation == (
        "Nothing shows that the frozen reward model was exploited; a fall of 0.29 would be missed with 50 problems; "
        "no alarm fired."
    )
    _, exploitation, _ = ended(summary(rule=FEW, problems=50))
    assert exploitation.startswith("Nothing shows that a reward was exploited; a fall of ")
    overpaid = entry(0.52, peak=0.54, reward=(0.1, 0.9), model=(0.95, 0.95), problems=50)
    _, exploitation, _ = ended(summary(rule=FEW, static=overpaid, problems=50))
    assert exploitation == (
        "The frozen reward model pays wrong completions too (reward 0.90, true accuracy 0.52); a fall of 0.29 would be "
        "missed with 50 problems; no alarm fired."
    )
    _, exploitation, _ = ended(summary(static=entry(0.52, problems=None), problems=None))
    assert exploitation.startswith("On how many problems true accuracy was measured is not known, so nothing shows ")


def test_acceptance_under_wrong_references_is_a_rise_too():
    accepted = entry(0.3, peak=0.7, reward=(0.5, 0.5))
    assert not told(summary(cooper=accepted)).startswith("Reward was exploited")
    accepted["evidence"]["rose"] = ["acceptance"]
    assert told(summary(cooper=accepted)) == (
        "Reward was exploited: wrong references were accepted more and more while true accuracy fell from 0.70 to "
        "0.30 in 120 steps."
    )
