"""The joint step without any engine and without torch: what `score` and `learn` do, in which order, and resuming."""

import json
import math
import pickle
import random
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from cooper_rl.errors import BadInputError, CooperError
from cooper_rl.method.build import make_cooper, source_names
from cooper_rl.method.journal import Journal, read_metrics
from cooper_rl.method.monitor import Monitor
from cooper_rl.method.protocols import Alone
from cooper_rl.records import Batch, LabelledCompletion, Reason, Report, Sample, Verdict, Verification
from cooper_rl.settings.method import MethodSettings
from cooper_rl.verifiers import RuleVerifier


class Counting:
    """A reward model whose score of a completion falls with each update in which that text was a negative."""

    def __init__(self):
        self.seen, self.version, self.log = {}, 0, []

    def score(self, triples):
        self.log.append("score")
        return [0.9 ** (1 + self.seen.get(triple.completion, 0)) for triple in triples]

    def update(self, pairs, labelled):
        self.log.append("update")
        for pair in pairs:
            self.seen[pair.negative] = self.seen.get(pair.negative, 0) + 1
        self.version += bool(pairs)
        return {"reward_model/loss": 1.0, "reward_model/labelled": float(len(labelled))} if pairs else {}

    def snapshot(self):
        return dict(self.seen)

    def restore(self, snapshot):
        self.seen = dict(snapshot)

    def save(self, folder):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "seen.json").write_text(json.dumps([self.seen, self.version]))

    def load(self, folder):
        self.seen, self.version = json.loads((folder / "seen.json").read_text())


@pytest.fixture(scope="module")
def verifier():
    with RuleVerifier(workers=1) as rule:
        yield rule


def method(folder, verifier, model, *, anchors=(), rehearsal=(), **settings):
    settings = {"counterfactual_references": 0, "pairs_per_prompt": 1, "seed": 3, **settings}
    settings = {"num_generations": 4, "negative_sources": {"mined": 1}, **settings}
    return make_cooper(
        MethodSettings(output_dir=str(folder), **settings), verifier, model, anchors=anchors, rehearsal=rehearsal
    )


def samples(step, groups=3):
    """Four completions a prompt: right, wrong by one, wrong by `step`, and nothing."""
    return [
        Sample(f"What is {g} + {g}?", str(2 * g), text)
        for g in range(10, 10 + groups)
        for text in (f"The answer is {2 * g}.", f"The answer is {2 * g + 1}.", f"The answer is {2 * g + 1 + step}.", "")
    ]


def test_the_rewards_of_a_step_are_from_before_its_update(tmp_path, verifier):
    model = Counting()
    cooper = method(tmp_path, verifier, model)
    batch = cooper.score(samples(1), 1)
    assert batch.rewards == (0.9,) * 12 and batch.version == 0
    assert [rollout.group for rollout in batch.rollouts] == [0] * 4 + [1] * 4 + [2] * 4
    report = cooper.learn(batch)
    assert model.log == ["score", "update"] and model.version == 1
    assert len(report.pairs) == 3 and report.metrics["pairs/yield"] == 1.0
    assert report.metrics["accuracy/rule"] == 0.25 and report.metrics["verifier/no_answer_rate"] == 0.25
    again = cooper.score(samples(1), 2)
    lowered = {rollout.completion for rollout in again.rollouts if rollout.score < 0.9}
    assert lowered == {pair.negative for pair in report.pairs} and again.version == 1


def test_batches_and_reports_cross_processes(tmp_path, verifier):
    cooper = method(tmp_path, verifier, Counting())
    batch = cooper.score(samples(1), 1)
    assert pickle.loads(pickle.dumps(batch)) == batch
    report = cooper.learn(pickle.loads(pickle.dumps(batch)))
    assert pickle.loads(pickle.dumps(report)) == report


def test_a_batch_that_was_scored_elsewhere_is_learned_alike(tmp_path, verifier):
    """The draws are those of seed, step and prompt, whoever scored the batch."""
    first, second = (method(tmp_path / name, verifier, Counting(), counterfactual_references=1) for name in "ab")
    batch = first.score(samples(1), 1)
    pairs = first.learn(batch).pairs
    assert pairs == second.learn(batch).pairs and any(pair.negative_source == "counterfactual" for pair in pairs)


@pytest.mark.parametrize(
    ("settings", "updates", "files"),
    [
        ({"arm": "static"}, 0, ["rollouts"]),
        ({"arm": "cooper"}, 1, ["pairs", "rollouts"]),
        ({"reward": "rule", "cotrain": True}, 1, ["pairs", "rollouts"]),
        ({"arm": "hybrid+cotrain"}, 1, ["pairs", "rollouts"]),
    ],
    ids=str,
)
def test_reward_and_co_training_are_two_settings(tmp_path, verifier, settings, updates, files):
    model = Counting()
    cooper = method(tmp_path, verifier, model, **settings)
    batch = cooper.score(samples(1), 1)
    cooper.learn(batch)
    assert model.log.count("update") == updates == model.version
    assert sorted(path.name for path in tmp_path.iterdir()) == files
    right = {"rule": 1.0, "hybrid": 1.0, "score": 0.9}[cooper.settings.reward]
    wrong = {"rule": 0.0, "hybrid": 0.9, "score": 0.9}[cooper.settings.reward]
    assert batch.rewards[:2] == (right, wrong)


def test_the_rule_alone_needs_no_reward_model(tmp_path, verifier):
    cooper = method(tmp_path, verifier, None, arm="rule")
    batch = cooper.score(samples(1), 1)
    assert batch.rewards[:4] == (1.0, 0.0, 0.0, 0.0) and all(math.isnan(r.score) for r in batch.rollouts)
    report = cooper.learn(batch)
    assert "hacking/alarm" not in report.metrics and report.pairs == ()
    (row, *_) = (tmp_path / "rollouts" / "step_000001.jsonl").read_text().splitlines()
    assert json.loads(row)["score"] is None and "worked_solution" not in json.loads(row)


ANCHORS = [LabelledCompletion(f"a{i}", "1", "yes" if i % 2 else "no", bool(i % 2)) for i in range(20)]


def test_killed_and_resumed_it_is_the_run_that_would_have_been(tmp_path, verifier):
    settings = {"replay_per_step": 4, "rehearsal_per_step": 2, "guard_probes": 0, "guard_steps": 2, "guard_sample": 4}
    parts = {"anchors": ANCHORS, "rehearsal": ANCHORS, **settings}
    straight = method(tmp_path / "straight", verifier, Counting(), **parts)
    straight.begin()
    expected = [straight.learn(straight.score(samples(step), step), saving=step == 4) for step in range(1, 9)]
    first = method(tmp_path / "cut", verifier, Counting(), **parts)
    first.begin()
    found = [first.learn(first.score(samples(step), step), saving=step == 4) for step in range(1, 5)]
    first.save(tmp_path / "checkpoint-4")
    second = method(tmp_path / "cut", verifier, Counting(), **parts)
    second.load(tmp_path / "checkpoint-4")
    found += [second.learn(second.score(samples(step), step)) for step in range(5, 9)]
    for ours, theirs in zip(found, expected, strict=True):
        timeless = [{k: v for k, v in r.metrics.items() if not k.startswith("time/")} for r in (ours, theirs)]
        assert timeless[0] == timeless[1] and ours.pairs == theirs.pairs
    assert second.reward_model.seen == straight.reward_model.seen


class Stopper(Monitor):
    """Asks for another reward in step 2 and for the end in step 3."""

    name = "stopper"

    def after(self, report, *, whole):
        self.reward = "rule" if report.step >= 2 else None
        return report.having({"own/step": float(report.step)}, stop=report.stop or report.step == 3)


class Silent(Monitor):
    name = "silent"

    def after(self, report, *, whole):
        pass


def says_yes(reference, completion):
    return True


def test_what_a_monitor_asks_for(tmp_path, verifier):
    cooper = method(tmp_path, verifier, Counting(), monitors=["test_loop:Stopper"])
    reports, rewards = [], []
    for step in range(1, 4):
        batch = cooper.score(samples(step), step)
        rewards.append(batch.rewards[0])
        reports.append(cooper.learn(batch))
    assert [report.stop for report in reports] == [False, False, True] and rewards == [0.9, 0.9, 1.0]
    assert [monitor.name for monitor in cooper.monitors] == ["schedule", "doubt", "audit", "alarm", "stopper"]


def test_too_many_steps_without_a_finite_gradient_end_the_run(tmp_path, verifier):
    model = Counting()
    model.update = lambda pairs, labelled: {"reward_model/skipped": 1.0}
    cooper = method(tmp_path, verifier, model, max_skipped_steps=1)
    cooper.learn(cooper.score(samples(1), 1))
    with pytest.raises(CooperError, match="2 steps in a row had a reward model gradient"):
        cooper.learn(cooper.score(samples(2), 2))


def test_a_monitor_that_returns_no_report_is_named(tmp_path, verifier):
    cooper = method(tmp_path, verifier, Counting(), monitors=["test_loop:Silent"])
    with pytest.raises(BadInputError, match="monitor Silent: returned a NoneType, not the Report"):
        cooper.learn(cooper.score(samples(1), 1))


def test_a_verifier_that_fails_on_everything_ends_the_run(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))
    with RuleVerifier(f"{__name__}:says_yes", workers=1) as broken:
        assert (
            broken.explain("1", "It is 1.").parsed_answer
            == "TypeError: a verifier must return a Verification, not bool"
        )
        cooper = method(tmp_path, broken, Counting(), max_skipped_steps=1)
        report = cooper.learn(cooper.score(samples(1), 1))
        assert report.metrics["verifier/error_rate"] == 1
        with pytest.raises(CooperError, match="in 2 steps in a row the verifier failed on every completion"):
            cooper.learn(cooper.score(samples(2), 2))


def test_only_the_first_rank_writes(tmp_path):
    for writes in (False, True):
        journal = Journal(tmp_path / str(writes), writes=writes)
        journal.begin({"a": 1}, {"b": 2}, -1)
        journal.log(1, {"x": math.nan})
        journal.write(Report(1))
        journal.finish(1, 2.0)
    assert not (tmp_path / "False").exists()
    assert read_metrics(tmp_path / "True") == [{"step": 1, "x": None}]


@pytest.mark.parametrize(("every", "written"), [(1, [1, 2, 3, 4]), (2, [2, 4]), (0, [])])
def test_rollouts_of_every_few_steps(tmp_path, every, written):
    journal = Journal(tmp_path, every=every)
    for step in range(1, 5):
        journal.write(Report(step, Batch(step, ()), metrics={"pairs/count": 0.0}))
    for kind in ("rollouts", "pairs"):
        assert [int(path.stem[-6:]) for path in sorted((tmp_path / kind).glob("*.jsonl"))] == written


@pytest.mark.parametrize("every", [2, 0])
def test_held_out_completions_are_written_and_taken_back_with_their_measurement(tmp_path, every):
    journal = Journal(tmp_path, every=every)
    for step in (0, 3, 6):
        journal.log(step, {})
        journal.log_heldout(step, {"true": "01", "answers": [{"completion": f"{step}"}, {"completion": "7"}]})
    journal.begin({}, {}, 3)
    lines = [json.loads(line) for line in (tmp_path / "heldout.jsonl").open()]
    assert lines == [{"step": 0, "true": "01"}, {"step": 3, "true": "01"}]
    files = sorted((tmp_path / "heldout").glob("*"))
    assert [file.name for file in files] == ["step_000000.jsonl", "step_000003.jsonl"][: every * 2]
    for step, file in zip((0, 3), files, strict=False):
        read = [json.loads(line) for line in file.open()]
        assert read == [{"step": step, "completion": f"{step}"}, {"step": step, "completion": "7"}]


def test_a_folder_that_another_process_writes_is_refused(tmp_path):
    """Until that process ends, even by SIGKILL. What is there stays; the same process may go on."""
    code = "import sys; from cooper_rl.method.journal import Journal; journal = Journal(sys.argv[1])"
    code += "; journal.begin({'a': 1}, {}, -1); print('begun', flush=True); sys.stdin.read()"
    other = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert other.stdout.readline() == "begun\n"
    with pytest.raises(BadInputError, match=f"{tmp_path}: another process is writing this run; let it end"):
        Journal(tmp_path).begin({"a": 2}, {}, -1)
    assert yaml.safe_load((tmp_path / "config.yaml").read_text()) == {"a": 1}
    other.kill()
    other.communicate()
    for _ in range(2):
        Journal(tmp_path).begin({"a": 2}, {}, -1)
    assert yaml.safe_load((tmp_path / "config.yaml").read_text()) == {"a": 2}


def test_sources_that_a_run_needs():
    assert source_names(MethodSettings(arm="static")) == []
    weights = {"mined": 1.0, "assistant": 0.0, "perturb": 2.0}
    assert source_names(MethodSettings(negative_sources=weights)) == ["mined", "perturb"]
    assert source_names(MethodSettings(negative_sources=weights, negative_fallback="shuffle"))[-1] == "shuffle"


def test_the_order_of_the_world_does_not_matter_to_the_draws(tmp_path, verifier):
    """Draws do not touch Python's own random state, which belongs to the engine."""
    random.seed(1)
    before = random.getstate()
    cooper = method(tmp_path, verifier, Counting(), negative_sources={"perturb": 1}, replay_per_step=4)
    cooper.learn(cooper.score(samples(1), 1))
    assert random.getstate() == before


def test_a_reward_is_made_once_and_may_keep_a_state(tmp_path, verifier):
    cooper = method(tmp_path, verifier, Counting())
    made = cooper.reward
    cooper.learn(cooper.score(samples(1), 1))
    assert cooper.reward is made


class Grudging:
    """A verifier that calls what ends in "!" unreadable, and else compares the last words."""

    kind = "own:explain"

    def begin_many(self, references, completions):
        return lambda: self.explain_many(references, completions)

    def explain_many(self, references, completions):
        return [self.explain(right[0], said) for right, said in zip(references, completions, strict=True)]

    def verify_many(self, references, completions):
        return [found.verdict for found in self.explain_many(references, completions)]

    def explain(self, reference, completion):
        answer = completion.strip("!").split()[-1]
        if completion.endswith("!"):
            return Verification(Verdict.UNPARSEABLE, Reason.UNKNOWN_FORM, answer=answer)
        return replace(Verification.compared(answer == reference, reference, answer), answer=answer)


class Thread:
    """One of several ranks, each in a thread of its own."""

    def __init__(self, rank, shared, barrier):
        self.rank, self.size, self.shared, self.barrier = rank, len(shared), shared, barrier

    def gather(self, items):
        self.shared[self.rank] = list(items)
        self.barrier.wait()
        found = [item for share in self.shared for item in share]
        self.barrier.wait()
        return found


def scored(folder, ranks, own):
    settings = {"num_generations": 4, "negative_sources": {"mined": 1}, "arm": "hybrid+cotrain", "seed": 3}
    cooper = make_cooper(
        MethodSettings(output_dir=str(folder), rule_misses_per_hit=0.5, **settings), Grudging(), Counting(), ranks=ranks
    )
    return cooper.score(own, 1)


def test_ranks_that_share_a_group_settle_and_weigh_it_as_one_rank_does(tmp_path):
    """The second group's judged answers are on one rank, and its open ones on the other."""
    texts = ["It is 1", "It is 1", "It is 2", "It is 3", "It is 1", "It is 7", "So 1!", "So 7!", *["It is 1"] * 4]
    samples = [Sample(f"q{i // 4}", "1", text) for i, text in enumerate(texts)]
    alone = scored(tmp_path, Alone(), samples)
    assert [r.verdict.value[:5] for r in alone.rollouts[4:8]] == ["CORRE", "INCOR", "CORRE", "INCOR"]
    assert alone.rewards[4:8] == (1.0, 0.9, 1.0, 0.9)
    assert [r.right_estimate for r in alone.rollouts[2:4]] == [1.0, 1.0]  # 0.5 times 8 CORRECT, of 4 wrong ones
    shared, barrier = [[], []], threading.Barrier(2)
    with ThreadPoolExecutor(2) as pool:
        worlds = [Thread(rank, shared, barrier) for rank in range(2)]
        first, second = pool.map(scored, [tmp_path] * 2, worlds, [samples[:6], samples[6:]])
    assert first.rollouts == second.rollouts == alone.rollouts
    assert (*first.rewards, *second.rewards) == alone.rewards


def test_what_is_held_back_is_remembered_over_a_resume(tmp_path, verifier):
    """Step 2's wrong answers are weighed with step 1's right ones."""

    def made():
        return method(tmp_path, verifier, Counting(), rule_misses_per_hit=1.0, replay_per_step=4)

    right = [Sample("q", "20", "The answer is 20.")] * 12
    straight = made()
    straight.learn(straight.score(right, 1), saving=True)
    straight.save(tmp_path / "checkpoint-1")
    resumed = made()
    resumed.load(tmp_path / "checkpoint-1")
    reports = [cooper.learn(cooper.score(samples(2), 2)) for cooper in (straight, resumed)]
    assert reports[0].batch.rollouts == reports[1].batch.rollouts and reports[0].pairs == reports[1].pairs
    assert reports[0].metrics["pairs/held_back"] == 6.0  # 15 CORRECT and 6 wrong ones score alike
    assert {pair.negative for pair in reports[0].pairs} == {""}
    assert reports[0].metrics["pairs/mined_right_estimate"] == 0.0
    fresh = made()
    assert fresh.learn(fresh.score(samples(2), 2)).metrics["pairs/held_back"] == 6.0  # 3 of 6


class Remembering(Counting):
    """As `Counting`, but knows its first scores."""

    def start_scores(self, triples):
        self.log.append("start")
        return [0.9] * len(triples)


@pytest.mark.parametrize(
    ("settings", "asked"),
    [
        ({}, 1),
        ({"mined_max_right": 1.0}, 0),
        ({"arm": "static"}, 0),
        ({"arm": "hybrid+cotrain"}, 1),
        ({"negative_sources": {"perturb": 1, "mined": 0}}, 0),
        ({"negative_sources": {"perturb": 1}, "replay_per_step": 4}, 1),
    ],
)
def test_the_reward_models_first_scores_are_asked_for_where_doubt_needs_them(tmp_path, verifier, settings, asked):
    """Before the first update they are the present ones, which are known."""
    model = Remembering()
    cooper = method(tmp_path, verifier, model, **settings)
    first = cooper.score(samples(1), 1)
    cooper.learn(first)
    batch = cooper.score(samples(1), 2)
    cooper.learn(batch)
    assert model.log.count("start") == asked
    assert [r.start_score for r in first.rollouts] == [r.score if asked else None for r in first.rollouts]
    assert {rollout.start_score for rollout in batch.rollouts} == ({0.9} if asked else {None})
    assert (min(rollout.score for rollout in batch.rollouts) < 0.9) == (settings.get("arm") != "static")


def test_of_several_right_answers_the_first_scores_are_those_of_the_first(tmp_path, verifier):
    """The best of them gives the score, so the model is asked again before its first update too."""
    cooper = method(tmp_path, verifier, Remembering())
    batch = cooper.score([replace(sample, aliases=("twenty",)) for sample in samples(1)], 1)
    assert cooper.reward_model.log.count("start") == 1
    assert {rollout.start_score for rollout in batch.rollouts} == {0.9}


def test_mined_max_right_of_one_is_cooper_as_it_was(tmp_path, verifier):
    cooper = method(tmp_path, verifier, Counting(), rule_misses_per_hit=1.0, mined_max_right=1.0)
    report = cooper.learn(cooper.score(samples(2), 2))
    assert report.metrics["pairs/held_back"] == 0.0 and "" not in {pair.negative for pair in report.pairs}
    assert report.metrics["pairs/mined_right_estimate"] == 0.5  # 3 CORRECT and 6 wrong ones score alike


def test_a_verifiers_known_rate_of_misses_is_the_default(tmp_path, verifier):
    def rates(**settings):
        cooper = method(tmp_path, verifier, Counting(), **settings)
        return cooper.doubt.misses_per_hit, cooper.monitors[1].misses_per_hit

    assert rates() == (0.005, 0.005) and rates(rule_misses_per_hit=0.0) == (0.0, 0.0)


def test_the_reward_model_learns_on_every_second_batch_and_replays_the_others(tmp_path, verifier):
    """A run that is resumed between two updates makes the next one on the same batch as the whole run."""

    def run(folder, first, last, cooper=None):
        cooper = cooper or method(folder, verifier, Counting(), reward_model_update_steps=2, replay_per_step=12)
        if first == 1:
            cooper.begin()
        reports = [cooper.learn(cooper.score(samples(step), step)) for step in range(first, last + 1)]
        return cooper, [(bool(r.pairs), r.metrics.get("reward_model/labelled")) for r in reports]

    cooper, found = run(tmp_path / "whole", 1, 5)
    assert [paired for paired, _ in found] == [False, True, False, True, False]
    assert [count for _, count in found] == [None, 12.0, None, 12.0, None]  # of the first two batches' right ones, 6
    assert cooper.reward_model.version == 2 and cooper.labelled.replay.seen[True] == 15
    assert sorted(path.name for path in (tmp_path / "whole" / "pairs").iterdir()) == [
        "step_000002.jsonl",
        "step_000004.jsonl",
    ]
    cooper, _ = run(tmp_path / "cut", 1, 3)
    cooper.save(tmp_path / "checkpoint")
    again = method(tmp_path / "cut", verifier, Counting(), reward_model_update_steps=2, replay_per_step=12)
    again.load(tmp_path / "checkpoint")
    assert run(tmp_path / "cut", 4, 5, again)[1] == found[3:]


@pytest.mark.parametrize(("arm", "waits"), [("cooper", 2), ("static", 0)])
def test_the_policy_waits_while_the_reward_model_learns_alone(tmp_path, verifier, arm, waits):
    """Where none learns there is nothing to wait for."""
    cooper = method(tmp_path, verifier, Counting(), arm=arm, reward_model_alone_steps=2)
    told = []
    for step in range(1, 4):
        batch = cooper.score(samples(step), step)
        before = cooper.schedule.policy_waits()
        report = cooper.learn(batch)
        told.append((before, cooper.schedule.policy_waits(fresh=False), report.metrics.get("policy/frozen")))
    assert told == [(step <= waits, step <= waits, float(step <= waits) if waits else None) for step in (1, 2, 3)]
