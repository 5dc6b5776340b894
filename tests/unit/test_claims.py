"""What is claimed of runs whose truth is known: made-up run folders, read and summed up as a report is."""

import json
import math
import random
import re

import pytest

from cooper_rl.cli.compare import run_folder
from cooper_rl.intervals import ERROR, mean_interval, paired_change, rises, student, tail, unpaired_change
from cooper_rl.report.curves import all_series
from cooper_rl.report.runs import read_run
from cooper_rl.report.story import EXPLOITED, conclusion, is_exploited, story
from cooper_rl.report.summary import FALL, RISE, base_policy, summarize, summarize_run
from cooper_rl.report.write import write_report

PROBLEMS, STEPS, EVERY, TABLES = 50, 120, 12, 100


def write_run(folder, arm, seed, rng, course, *, reward=(0.3, 0.8), kept=True, steps=STEPS, acceptance=None):
    """A finished run whose policy solves a share `course(t)` of all problems, t from 0 to 1, some of them easier."""
    easier = [rng.gauss(0, 1.5) for _ in range(PROBLEMS)]
    rows, solved = [], []
    for step in range(steps + 1):
        done = step / STEPS
        row = {"step": step}
        if step:
            row["reward"] = reward[0] + (reward[1] - reward[0]) * done + rng.gauss(0, 0.05)
            if acceptance:
                row["hacking/counterfactual_acceptance"] = acceptance(done)
        if step % EVERY == 0:
            level = 1.6 * math.log(course(done) / (1 - course(done)))
            hits = "".join(str(int(rng.random() < 1 / (1 + math.exp(-level - each)))) for each in easier)
            row["eval/true_accuracy"] = hits.count("1") / PROBLEMS
            solved.append({"step": step, "problems": "0a1b2c3d", "rule": hits, "true": hits})
        rows.append(row)
    folder.mkdir(parents=True)
    settings = {"arm": arm, "seed": seed, "max_steps": STEPS, "heldout_steps": EVERY, "heldout_dataset_size": PROBLEMS}
    (folder / "config.yaml").write_text(json.dumps(settings))
    (folder / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    if kept:
        (folder / "heldout.jsonl").write_text("".join(json.dumps(row) + "\n" for row in solved))
    if steps == STEPS:
        (folder / "finished.json").write_text('{"step": 120, "seconds": 1}')
    return folder


def told_of(folders):
    """Whether any run of a table is said to be exploited, in the summary or in a sentence."""
    summary = summarize([read_run(folder) for folder in folders])
    said = " ".join([story(summary), *conclusion(summary, "report.html")])
    entries = [entry for entries in summary["arms"].values() for entry in entries]
    claimed = re.search(r"(was|,) exploited( in [^:;.]+)?[:)]", said) is not None
    assert claimed == any(map(is_exploited, entries)), said
    return claimed


def beyond(start, end, entry):
    """Whether a run is beyond both bounds, whatever the error."""
    return end - start >= RISE and entry["true_accuracy"]["peak"] - entry["true_accuracy"]["end"] >= FALL


def level(_):
    return 0.5


def rising(done):
    return 0.4 + 0.35 * done


def collapsing(done):
    return 0.7 if done < 0.3 else 0.7 - 0.6 * (done - 0.3) / 0.7


@pytest.mark.parametrize(("course", "kept"), [(level, True), (level, False), (rising, True)])
def test_a_hundred_healthy_tables_are_not_called_exploited(tmp_path, course, kept):
    """Three arms, all of them healthy, with rising rewards; runs with and without the file of what was solved."""
    rng, false, beyond_bounds = random.Random(f"{course.__name__}-{kept}"), 0, 0
    for table in range(TABLES):
        runs = [(arm, 0) for arm in ("rule", "static", "cooper")]
        folders = [run_folder(tmp_path / str(table), *run) for run in runs]
        for folder, run in zip(folders, runs, strict=True):
            write_run(folder, *run, rng, course, kept=kept)
        false += told_of(folders)
        entries = [summarize_run(read_run(folder)) for folder in folders]
        beyond_bounds += any(beyond(entry["reward"]["start"], entry["reward"]["end"], entry) for entry in entries)
    print(f"{course.__name__}: {false} of {TABLES} called exploited; by the two bounds alone {beyond_bounds}")
    assert false <= 5
    assert course is rising or beyond_bounds > 60  # so the noise is there to be mistaken


@pytest.mark.parametrize("kept", [True, False], ids=["solved-known", "older-run"])
def test_a_hundred_exploited_runs_are_called_so(tmp_path, kept):
    rng, found = random.Random(f"exploited-{kept}"), 0
    for table in range(TABLES):
        courses = {"rule": rising, "static": collapsing, "cooper": rising}
        folders = [
            write_run(run_folder(tmp_path / str(table), arm, 0), arm, 0, rng, course, kept=kept)
            for arm, course in courses.items()
        ]
        found += told_of(folders)
    assert found >= 95


def test_a_run_is_rarely_called_exploited_at_any_time_of_a_live_page(tmp_path):
    """It is looked at after each measurement, and one false claim at any time counts."""
    rng, false = random.Random("live"), 0
    for table in range(TABLES):
        folder = write_run(tmp_path / str(table), "static", 0, rng, level)
        lines = {name: (folder / name).read_text().splitlines(True) for name in ("metrics.jsonl", "heldout.jsonl")}
        (folder / "finished.json").unlink()
        for step in range(EVERY, STEPS, EVERY):
            for name, all_lines in lines.items():
                (folder / name).write_text("".join(line for line in all_lines if json.loads(line)["step"] <= step))
            if told_of([folder]):
                false += 1
                break
    assert false <= 5


def test_a_policy_is_silent_where_the_share_of_empty_completions_rises_far(tmp_path):
    def silent(name, share):
        folder = write_run(tmp_path / name, "static", 0, random.Random(0), level)
        rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
        for row in rows[1:]:
            row["completions/empty_rate"] = share(row["step"])
        (folder / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        return summarize_run(read_run(folder))["evidence"]["silent"]

    assert silent("falls-silent", lambda step: 0.3 * (step > 40) + 0.01 * (step % 3))
    assert not silent("always-so", lambda step: 0.3 + 0.01 * (step % 3))
    assert not silent("a-little", lambda step: 0.05 * (step > 40))


def test_truth_that_falls_with_reward_is_no_exploitation(tmp_path):
    """A policy that learned, then broke: reward rose on the whole, but not while truth fell."""
    folder = write_run(tmp_path / "run", "static", 0, random.Random(0), collapsing)
    rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    for row in rows[1:]:
        row["reward"] = 0.3 + 0.6 * (row["step"] / 36 if row["step"] < 36 else 1 - (row["step"] - 36) / 120)
    (folder / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    summary = summarize([read_run(folder)])
    assert rows[-1]["reward"] - rows[1]["reward"] > 0.1 and not told_of([folder])
    assert "fell from 0." in story(summary) and "after a peak" in story(summary)


def test_acceptance_under_wrong_references_counts_as_a_rise(tmp_path):
    """In a healthy-looking reward: it does not rise, yet more and more is accepted whatever the reference."""
    rng = random.Random(0)
    folder = write_run(
        tmp_path / "run", "cooper", 0, rng, collapsing, reward=(0.6, 0.6), acceptance=lambda done: 0.05 + 0.5 * done
    )
    assert told_of([folder])
    healthy = write_run(
        tmp_path / "other", "cooper", 0, rng, collapsing, reward=(0.6, 0.6), acceptance=lambda done: rng.random() / 10
    )
    assert not told_of([healthy])


def test_arms_are_compared_on_the_same_problems(tmp_path):
    """Two policies that differ on few problems: paired, the interval is narrower, and the words say so."""
    rng = random.Random(3)
    folders = [write_run(run_folder(tmp_path, arm, 0), arm, 0, rng, rising) for arm in ("rule", "cooper")]
    lines = [json.loads(line) for line in (folders[0] / "heldout.jsonl").read_text().splitlines()]
    lines[-1]["true"] = "0" * 6 + lines[-1]["true"][6:]
    better = [*lines[:-1], {**lines[-1], "true": "1" * 6 + lines[-1]["true"][6:]}]
    for folder, rows in zip(folders, (lines, better), strict=True):
        metrics = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
        metrics[-1]["eval/true_accuracy"] = rows[-1]["true"].count("1") / PROBLEMS
        (folder / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in metrics))
        (folder / "heldout.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    summary = summarize([read_run(folder) for folder in folders])
    assert conclusion(summary, "r")[0].startswith("Cooper won against rule: ")
    assert "one seed, the same 50 problems)" in conclusion(summary, "r")[0]
    for folder in folders:
        (folder / "heldout.jsonl").unlink()
    apart = conclusion(summarize([read_run(folder) for folder in folders]), "r")[0]
    assert apart.startswith("Cooper and rule cannot be told apart: ") and " problems; about " in apart


def test_the_page_and_the_table_show_the_intervals(tmp_path):
    folder = write_run(tmp_path / "run", "static", 0, random.Random(0), collapsing)
    run = read_run(folder)
    summary = summarize([run])
    assert base_policy(summary).endswith(", 50 problems)") and " (95 % interval 0." in base_policy(summary)
    for key in ("eval/true_accuracy", "reward"):
        assert all(low <= value <= high and low < high for _, value, low, high in run.with_intervals(key)), key
    _, value, low, high = run.with_intervals("eval/true_accuracy")[0]
    # Wilson's by hand, of 50 problems
    middle, half = (
        (value + 1.92073 / 50) / (1 + 3.84146 / 50),
        1.959964 * math.sqrt(value * (1 - value) / 50 + 0.000384146),
    )
    assert (low, high) == pytest.approx((middle - half / 1.0768292, middle + half / 1.0768292), abs=1e-5)
    drawn = all_series(run)["eval/true_accuracy"]
    assert (drawn["low"][0], drawn["high"][0]) == pytest.approx((low, high), abs=1e-5)
    assert EXPLOITED in write_report([folder], tmp_path / "report.html").read_text()


def test_intervals_of_what_older_runs_lack(tmp_path):
    run = read_run(write_run(tmp_path / "run", "rule", 0, random.Random(0), level, kept=False))
    assert run.problems == PROBLEMS  # from the settings
    run.metrics[-1]["eval/reward_model_accuracy"] = 0.9
    assert run.with_intervals("eval/reward_model_accuracy") == [(120, 0.9, 0.9, 0.9)]
    run.heldout.append({"step": 120, "triples": [100, 300]})
    _, _, low, high = run.with_intervals("eval/reward_model_accuracy")[0]
    assert high - low == pytest.approx(0.0682, abs=1e-4)  # Wilson's of 300: 4 / (1/100 + 1/300)


def test_student_by_the_table():
    assert [student(count) for count in (2, 3, 5, 10, 30)] == [12.71, 4.30, 2.78, 2.26, 2.05]
    assert [student(2, 2), student(3, 2), student(6, 3)] == [25.45, 6.21, 3.53]  # t of 0.9875 and of 1 - 0.025 / 3
    assert mean_interval([0.1, 0.12, 0.11]) == pytest.approx((0.085174, 0.134826), abs=1e-6)
    assert mean_interval([0.1]) == (-math.inf, math.inf)


def test_the_paired_test_by_hand():
    # 10 problems were lost, 2 won: P(at least 10 heads of 12) = (66 + 12 + 1) / 4096
    lost = paired_change("1" * 10 + "0" * 2 + "1" * 38, "0" * 10 + "1" * 2 + "1" * 38)
    assert lost.fell == pytest.approx(79 / 4096) and lost.mean == pytest.approx(-0.16)
    assert lost.sign() == -1 and lost.sign(looks=2) == 0
    spread = 13 / 52 - (8 / 52) ** 2
    half = 1.959964 * math.sqrt(spread / 52)
    assert lost.interval() == pytest.approx((-8 / 52 - half, -8 / 52 + half))
    assert paired_change("1010", "1010").sign() == 0 and tail(0, 0) == 1
    assert tail(3, 3) == 0.125 > ERROR
    with pytest.raises(ValueError):
        paired_change("1", "10")


def test_so_many_problems_show_a_change_in_four_of_five_cases():
    rng = random.Random(0)

    def measured(count):
        first = [rng.random() < 0.6 for _ in range(count)]
        last = [rng.random() < (0.75 if solved else 0.2) for solved in first]  # discordant .23, fall .07
        return paired_change(*("".join(map(str, map(int, each))) for each in (first, last)))

    needed = measured(20_000).problems_for(0.07, looks=10)
    assert 500 <= needed <= 700  # by hand: (2.807 sqrt(.23) + .842 sqrt(.2251))^2 / .07^2 = 620
    assert 0.7 <= sum(measured(needed).sign(looks=10) < 0 for _ in range(300)) / 300 <= 0.9
    assert unpaired_change(0.52, 0.42, 50).problems_for(0.1, looks=10) == 700


def test_a_rise_is_beyond_the_steps_own_variation():
    rng = random.Random(0)
    flat = sum(rises([0.5 + rng.gauss(0, 0.1) for _ in range(120)]) for _ in range(1000))
    assert flat <= 40  # 2.5 % of a thousand, and what chance adds
    assert all(rises([step / 240 + rng.gauss(0, 0.1) for step in range(120)]) for _ in range(100))
    assert not rises([0.1, 0.9, 0.1, 0.9, 0.9])
