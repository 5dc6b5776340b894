"""The guard: what is kept, what is rolled back, and that nothing else changes."""

import copy

import pytest
import torch

from cooper_rl.engines.config import CooperConfig
from cooper_rl.method.guard import Guard, Standing, permutation
from cooper_rl.records import ContrastivePair, LabelledCompletion, Report
from cooper_rl.settings.files import resolve_model
from cooper_rl.verifyrm import VerifyRM
from cooper_rl.verifyrm.updater import RewardModelUpdater

ANCHORS = [
    LabelledCompletion(f"What is {i} + 3?", str(i + 3), f"The answer is {i + 3 + wrong}.", not wrong)
    for i in range(12)
    for wrong in (0, 4)
]
GOOD = [
    ContrastivePair(f"What is {i} + 2?", str(i + 2), f"It is {i + 2}.", f"It is {i + 5}.", "perturb") for i in (1, 4)
]
BATCH = {"num_generations": 2, "per_device_train_batch_size": 2}
POISON = [ContrastivePair(p.question, p.reference_answer, p.negative, p.positive, "perturb") for p in GOOD]


@pytest.fixture
def guarded(nano_reward_model):
    def make(**settings):
        settings = {
            "guard_tolerance": 0.01,
            "guard_probe_tolerance": 0.01,
            "guard_steps": 2,
            "guard_sample": 0,
            "guard_probes": 2,
            "label_pairs": True,
            **settings,
        }
        config = CooperConfig(output_dir="unused", **BATCH, **settings)
        model = VerifyRM.from_pretrained(resolve_model("nano", "reward_model"))
        updater = RewardModelUpdater(model, config)
        guard = Guard(config, updater, ANCHORS)
        guard.begin()
        return updater, guard

    return make


def run(updater, guard, pairs, times, *, whole=False):
    found = []
    for _ in range(times):
        updater.update(pairs)
        found.append(check(guard, pairs, whole=whole))
    return found


def check(guard, pairs=GOOD, *, whole=True):
    """(metrics, pairs that were rolled back) of one check."""
    report = guard.after(Report(1, pairs=tuple(pairs)), whole=whole)
    return report.metrics, list(report.rolled_back)


def weights(updater):
    return torch.cat([p.detach().flatten() for p in updater.parameters])


def test_below_is_either_figure_beyond_the_tolerance():
    best = Standing(0.9, 0.8)
    config = CooperConfig(output_dir="unused", **BATCH, guard_tolerance=0.01, guard_probe_tolerance=0.1)
    assert not Standing(0.895, 0.705).below(best, config)
    assert Standing(0.88, 0.95).below(best, config)
    assert Standing(0.95, 0.69).below(best, config)
    assert Standing(0.95, 0.7).best_of(best) == Standing(0.95, 0.8)


@pytest.mark.parametrize(("best", "now"), [(1.0, 0.95), (0.8, 0.75), (0.7, 0.65)])
def test_a_fall_of_exactly_the_tolerance_is_within_it(best, now):
    settings = CooperConfig(output_dir="unused", **BATCH, guard_tolerance=0.05, guard_probe_tolerance=0.1)
    assert not Standing(now, now - 0.05).below(Standing(best, best), settings)
    assert Standing(now - 1e-3, best).below(Standing(best, best), settings)


def test_a_poisoned_update_is_rolled_back_with_the_optimiser(guarded):
    updater, guard = guarded(reward_model_learning_rate=1e-2)
    before, state = weights(updater).clone(), copy.deepcopy(updater.optimizer.state_dict()["state"])
    (kept, none), (metrics, rolled_back) = run(updater, guard, POISON, 2)
    assert kept["reward_model/rolled_back"] == 0 and none == []
    assert metrics["reward_model/rolled_back"] == 1 and rolled_back == POISON + POISON
    assert metrics["reward_model/anchor_accuracy"] < guard.best.anchor_accuracy - 0.01
    assert torch.equal(weights(updater), before)
    assert updater.optimizer.state_dict()["state"] == state == {}
    assert guard.tried == []


def test_a_harmless_update_stays_and_moves_the_point_of_return(guarded):
    updater, guard = guarded(reward_model_learning_rate=1e-6)
    before = weights(updater).clone()
    _, (metrics, rolled_back) = run(updater, guard, GOOD, 2)
    assert metrics["reward_model/rolled_back"] == 0 and rolled_back == []
    after = weights(updater).clone()
    assert not torch.equal(after, before)
    moments = {k: v.clone() for k, v in updater._optimizer_tensors().items()}
    updater.optimizer.param_groups[0]["lr"] = 1e-2
    _, (metrics, _) = run(updater, guard, POISON, 2)
    assert metrics["reward_model/rolled_back"] == 1
    assert torch.equal(weights(updater), after)
    restored = updater._optimizer_tensors()
    assert restored.keys() == moments.keys() and all(torch.equal(restored[k], moments[k]) for k in moments)


def test_a_fall_on_the_sample_calls_for_the_whole_set_at_once(guarded):
    updater, guard = guarded(reward_model_learning_rate=3e-2, guard_steps=1000, guard_sample=16)
    found = run(updater, guard, POISON, 3)
    back = [metrics["reward_model/rolled_back"] for metrics, _ in found]
    assert 1.0 in back
    unsampled, guard = guarded(reward_model_learning_rate=3e-2, guard_steps=1000, guard_sample=0)
    assert not any(m["reward_model/rolled_back"] for m, _ in run(unsampled, guard, POISON, 3))


def test_a_check_before_saving_is_of_the_whole_set(guarded):
    updater, guard = guarded(reward_model_learning_rate=1e-2, guard_steps=1000)
    before = weights(updater).clone()
    run(updater, guard, POISON, 2)
    assert not torch.equal(weights(updater), before)
    metrics, rolled_back = check(guard, [])
    assert metrics["reward_model/rolled_back"] == 1 and len(rolled_back) == 4
    assert torch.equal(weights(updater), before)


def test_a_lucky_check_is_not_what_all_later_ones_must_reach(guarded, monkeypatch, caplog):
    """The best is that of a moving average; a guard that rolls everything back says so, once."""
    _, guard = guarded(guard_tolerance=0.05, guard_probe_tolerance=0.1)
    figures = iter([(0.9, 0.9), (0.9, 1.0), *[(0.86, 0.8)] * 3, (0.8, 0.95), *[(0.9, 0.7)] * 6])
    monkeypatch.setattr(guard, "_whole", lambda: (guard.right_N, Standing(*next(figures))))
    guard.begin()
    assert check(guard)[0]["reward_model/rolled_back"] == 0
    assert guard.best.probe_pass_rate == pytest.approx(0.92)  # 0.9 + 0.2 (1.0 - 0.9)
    assert [check(guard)[0]["reward_model/rolled_back"] for _ in range(2)] == [1, 1]  # 0.8 < 0.92 - 0.1
    guard.best = guard.level = Standing(0.9, 0.9)
    assert check(guard)[0]["reward_model/rolled_back"] == 0  # as far as the tolerance goes
    assert guard.level == Standing(pytest.approx(0.892), pytest.approx(0.88)) and guard.best == Standing(0.9, 0.9)
    assert [check(guard)[0]["reward_model/rolled_back"] for _ in range(7)] == [1] * 7
    assert [record.levelname for record in caplog.records] == ["WARNING"] and "hardly changes" in caplog.text


def test_the_state_of_a_checkpoint_goes_on(guarded):
    updater, guard = guarded()
    run(updater, guard, GOOD, 3, whole=True)
    state = guard.state()
    again = Guard(guard.settings, updater, ANCHORS)
    again.load_state(state)
    assert again.state() == state
    assert (again.right_N == guard.right_N).all()


def test_a_save_without_a_fresh_batch_checks_the_whole_set(guarded):
    updater, guard = guarded(reward_model_learning_rate=1e-2, guard_steps=1000)
    before = weights(updater).clone()
    run(updater, guard, POISON, 2)
    report = guard.before_save(Report(3))
    assert report.metrics["reward_model/rolled_back"] == 1 and len(report.rolled_back) == 4
    assert torch.equal(weights(updater), before)


@pytest.mark.parametrize(("size", "seed"), [(5, 0), (1190, 0), (45, 12345)])
def test_the_order_of_the_samples_is_the_one_that_earlier_runs_had(size, seed):
    expected = torch.randperm(size, generator=torch.Generator().manual_seed(seed))
    assert permutation(size, seed).tolist() == expected.tolist()


def test_where_nothing_moved_nothing_is_scored(guarded, monkeypatch):
    updater, guard = guarded(guard_steps=2, guard_sample=16)
    run(updater, guard, GOOD, 2)
    monkeypatch.setattr(updater, "score", None)  # a call would fail
    for whole in (False, True):
        metrics, rolled_back = check(guard, [], whole=whole)
        assert metrics["reward_model/rolled_back"] == 0 and rolled_back == []
    assert guard.before_save(Report(3)).metrics["reward_model/rolled_back"] == 0 and guard.updates == 2


def test_a_rank_without_a_share_of_the_set_sums_with_the_others():
    """More ranks than anchors and probes: the sample of such a rank is empty, and the others wait for its zeros."""

    class Six:
        rank, size, sums = 5, 6, 0

        def gather(self, items):
            return list(items)

        def add_up(self, numbers):
            self.sums += 1
            return list(numbers)

    class Still:
        def score(self, triples):
            return [0.9] * len(triples)

        def snapshot(self):
            return None

    ranks, settings = Six(), CooperConfig(output_dir="unused", **BATCH, guard_sample=4, guard_probes=0, guard_steps=9)
    guard = Guard(settings, Still(), ANCHORS[:3], ranks)
    assert not guard.triples
    guard.begin()
    guard.after(Report(1, pairs=tuple(GOOD)), whole=False)
    assert ranks.sums == 3  # at the start, and the sample before and after


def test_the_approved_state_is_freed_before_the_next_one_is_made(guarded):
    """Both together would be twice 18 GB of main memory with 1.5 billion parameters."""
    updater, guard = guarded(reward_model_learning_rate=1e-6, guard_steps=1)
    snapshot, alive = updater.snapshot, []

    updater.snapshot = lambda: alive.append(guard.approved) or snapshot()
    assert guard.approved
    run(updater, guard, GOOD, 2)
    assert alive == [None, None] and guard.approved
