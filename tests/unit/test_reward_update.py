"""The reward model's step: float32, reproducible, restorable."""

from dataclasses import replace

import pytest
import torch
from torch.optim import SGD

from cooper_rl import distributed
from cooper_rl.engines.config import CooperConfig
from cooper_rl.errors import BadInputError
from cooper_rl.packing import pad
from cooper_rl.records import ContrastivePair, LabelledCompletion
from cooper_rl.settings.files import resolve_model
from cooper_rl.verifyrm import VerifyRM
from cooper_rl.verifyrm.updater import RewardModelUpdater
from rounding import assert_same_but_for_rounding, logit_error

PAIRS = [
    ContrastivePair(f"What is {i} + 2?", str(i + 2), f"It is {i + 2}.", f"It is {i + 5}.", "perturb") for i in range(6)
]


def updater(**settings):
    config = CooperConfig(output_dir="unused", num_generations=2, per_device_train_batch_size=2, **settings)
    return RewardModelUpdater(VerifyRM.from_pretrained(resolve_model("nano", "reward_model")), config)


def weights(u):
    return torch.cat([p.detach().flatten() for p in u.parameters])


def test_small_steps_are_not_lost():
    """Known fault 1: weights and optimiser in bf16 lose a step of 1e-5 in rounding."""
    u = updater(reward_model_learning_rate=1e-5)
    before = weights(u).clone()
    u.update(PAIRS)
    moved = weights(u) - before
    assert weights(u).dtype == torch.float32
    assert (moved != 0).float().mean() > 0.9
    lost = before.bfloat16() + moved.bfloat16() == before.bfloat16()
    assert lost.float().mean() > 0.5  # the same step in bf16 would mostly vanish
    assert all(s["exp_avg"].dtype == torch.float32 for s in u.optimizer.state.values())


def test_pairs_are_learned():
    u = updater(reward_model_learning_rate=3e-4)
    first = u.update(PAIRS)["reward_model/loss"]
    for _ in range(10):
        last = u.update(PAIRS)["reward_model/loss"]
    assert last < first


def test_without_a_valid_pair_nothing_moves():
    u = updater(reward_model_weight_decay=0.5)
    before = weights(u).clone()
    assert u.update([]) == {} and torch.equal(weights(u), before)


def test_rehearsal_alone_is_not_a_step_and_beside_pairs_it_holds_the_labels():
    triples = [
        LabelledCompletion(p.question, p.reference_answer, text, label, "", "")
        for p in PAIRS
        for text, label in ((p.positive, True), (p.negative, False))
    ]
    u = updater(reward_model_learning_rate=3e-4)
    assert u.update([], triples) == {}
    first = u.update(PAIRS, triples)["reward_model/label_loss"]
    for _ in range(15):
        last = u.update(PAIRS, triples)["reward_model/label_loss"]
    assert last < first


def test_the_pairs_own_labels_are_learned_too():
    """With `label_pairs` positives rise above and negatives fall below the threshold, not only apart."""
    u = updater(reward_model_learning_rate=3e-4, label_pairs=True)
    first = u.update(PAIRS)["reward_model/label_loss"]
    for _ in range(15):
        last = u.update(PAIRS)["reward_model/label_loss"]
    assert last < first / 2
    questions, references = [p.question for p in PAIRS], [p.reference_answer for p in PAIRS]
    assert u.reward_model.score(questions, references, [p.positive for p in PAIRS]).min() > 0.5
    assert u.reward_model.score(questions, references, [p.negative for p in PAIRS]).max() < 0.5


@pytest.mark.numeric
@pytest.mark.parametrize(("size", "pairs", "rehearsed"), [(1, 6, 5), (4, 6, 0), (5, 1, 20)])
def test_in_several_passes_it_is_the_same_step(size, pairs, rehearsed):
    """Weights to within rounding. So the metrics: the logarithm of a pair's loss changes by at most what its margin
    does, the errors of two logits; twice that leaves room for the weights' difference in the second step."""
    triples = [LabelledCompletion(p.question, p.reference_answer, p.positive, True, "", "") for p in PAIRS] * 4
    settings = {"reward_model_learning_rate": 1e-4, "label_pairs": True}
    whole, parts = updater(**settings), updater(**settings, reward_model_pairs_per_pass=size)
    seen, error = [], 4 * logit_error(whole.reward_model.model)
    parts.reward_model.logits_of = lambda records, **given: (
        seen.append(len(records)) or VerifyRM.logits_of(parts.reward_model, records, **given)
    )
    for _ in range(2):
        expected = whole.update(PAIRS[:pairs], triples[:rehearsed])
        assert parts.update(PAIRS[:pairs], triples[:rehearsed]) == pytest.approx(expected, rel=error)
    tokens = (2 * pairs + rehearsed) * 30  # about 30 of each text
    trained = [dict(u.reward_model.model.named_parameters()) for u in (parts, whole)]
    assert_same_but_for_rounding(*trained, [1e-4] * 2, summands=tokens)
    assert len(seen) > 2 and max(seen) <= 4 * size


@pytest.mark.numeric
@pytest.mark.parametrize(("most", "rehearsed"), [(1, 5), (150, 0), (150, 9)])
def test_a_pass_has_at_most_so_many_tokens_and_it_is_the_same_step(most, rehearsed):
    """A pair or a triple alone may have more."""
    triples = [LabelledCompletion(p.question, p.reference_answer, p.positive, True, "", "") for p in PAIRS] * 4
    settings = {"reward_model_learning_rate": 1e-4}
    whole, parts = updater(**settings), updater(**settings, reward_model_tokens_per_pass=most)
    model, seen = parts.reward_model, []
    model.logits_of = lambda records, **given: (
        seen.append((len(records), sum(map(len, model.encode(records))))) or VerifyRM.logits_of(model, records, **given)
    )
    expected = whole.update(PAIRS, triples[:rehearsed])
    error = 4 * logit_error(model.model)
    assert parts.update(PAIRS, triples[:rehearsed]) == pytest.approx(expected, rel=error)
    trained = [dict(u.reward_model.model.named_parameters()) for u in (parts, whole)]
    assert_same_but_for_rounding(*trained, [1e-4], summands=(12 + rehearsed) * 30)
    assert len(seen) >= 2 and all(tokens <= most or count <= 2 for count, tokens in seen)
    assert sum(count for count, _ in seen) == 12 + rehearsed


@pytest.mark.parametrize("settings", [{}, {"prefix_weight": 0.5}, {"reward_model_tokens_per_pass": 100}])
def test_a_text_is_encoded_once_in_a_step(settings):
    u, seen = updater(**settings), []
    model = u.reward_model
    model.encode = lambda records: seen.extend(records) or VerifyRM.encode(model, records)
    triples = [LabelledCompletion(p.question, p.reference_answer, p.positive, True, "", "") for p in PAIRS]
    u.update(PAIRS, [*triples, LabelledCompletion("What is 9 + 2?", "11", "It is 11.", True)])
    assert len(seen) == len(set(seen)) == 13


@pytest.mark.parametrize("settings", [{}, {"prefix_weight": 0.5}])
def test_with_gradient_checkpointing_it_is_the_same_step(settings):
    settings |= {"reward_model_learning_rate": 1e-4}
    plain, again = updater(**settings), updater(**settings, reward_model_gradient_checkpointing=True)
    assert (plain.recomputes, again.recomputes) == (False, True)
    calls = []
    again.reward_model.model.base_model.layers[0].mlp.register_forward_pre_hook(lambda *_: calls.append(1))
    plain.reward_model.model.base_model.layers[0].mlp.register_forward_pre_hook(lambda *_: calls.append(0))
    assert again.update(PAIRS) == plain.update(PAIRS)
    assert calls.count(1) == 2 * calls.count(0) > 0
    trained = [dict(u.reward_model.model.named_parameters()) for u in (again, plain)]
    assert_same_but_for_rounding(*trained, [1e-4], summands=12 * 30)


@pytest.mark.numeric
@pytest.mark.parametrize(("size", "rehearsed"), [(1, 5), (4, 1), (2, 12)])
def test_with_prefixes_it_is_the_same_step_in_several_passes(size, rehearsed):
    """Passes differ in how many pairs have a step where they part, and how many triples have steps before the last."""
    pairs = [
        replace(p, positive=f"We add. {p.positive}", negative=f"We add. Or not. {p.negative}", at=(None, 0, 2)[i % 3])
        for i, p in enumerate(PAIRS)
    ]
    triples = [
        LabelledCompletion(p.question, p.reference_answer, f"{'First. ' * (i % 3)}{p.positive}", i % 2 == 0, "", "")
        for i, p in enumerate(PAIRS * 2)
    ]
    settings = {"reward_model_learning_rate": 1e-4, "prefix_weight": 0.5}
    whole, parts = updater(**settings), updater(**settings, reward_model_pairs_per_pass=size)
    error = 4 * logit_error(whole.reward_model.model)
    expected = whole.update(pairs, triples[:rehearsed])
    assert (expected.get("reward_model/prefix_loss", 0.0) > 0) is (rehearsed > 1)  # one of one step is not measured
    assert expected["reward_model/step_margin"] != 0
    assert parts.update(pairs, triples[:rehearsed]) == pytest.approx(expected, rel=error)
    trained = [dict(u.reward_model.model.named_parameters()) for u in (parts, whole)]
    assert_same_but_for_rounding(*trained, [1e-4], summands=(12 + rehearsed) * 40)


def test_a_lower_precision_of_the_forward_pass_leaves_the_weights_alone():
    u = updater(reward_model_learning_rate=1e-5)
    columns = [p.question for p in PAIRS], [p.reference_answer for p in PAIRS], [p.positive for p in PAIRS]
    exact = u.reward_model.score(*columns)
    u.reward_model.autocast = torch.bfloat16
    rounded = u.reward_model.score(*columns)
    assert rounded.dtype == torch.float32 and not torch.equal(rounded, exact)
    # sums are float32; each product's weights and result are rounded to bfloat16, with 2^15 times float32's error
    width = u.reward_model.model.config.hidden_size
    error = logit_error(u.reward_model.model) / width**0.5 * 2**15 * 2**0.5
    assert (rounded - exact).abs().max() < error / 4 < 0.1
    before = weights(u).clone()
    u.update(PAIRS)
    assert weights(u).dtype == torch.float32 and (weights(u) != before).float().mean() > 0.9
    assert all(s["exp_avg"].dtype == torch.float32 for s in u.optimizer.state.values())


def test_under_a_lower_precision_the_head_computes_in_float32():
    """Scores that 16 bits cannot tell apart are told apart, in scoring and in the forward pass of `train-rm`."""
    model = VerifyRM.from_pretrained(resolve_model("nano", "reward_model"), bf16=True)
    records = [t for p in PAIRS for t in (p.right, p.wrong)]
    with torch.no_grad():
        scored = model.logits_of(records)
        ids, mask = pad(model.encode(records), model.model.config.pad_token_id)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            trained = model.model(ids, attention_mask=mask).logits[:, 0]
            by_steps = model.step_logits(records, [[len(record.completion)] for record in records])
    for logits in (scored, trained, torch.cat(by_steps)):
        assert logits.dtype == torch.float32
        assert (logits != logits.bfloat16().float()).float().mean() > 0.8
    assert (scored - trained).abs().max() < 0.1


def test_on_a_gpu_the_optimiser_is_fused_and_layers_are_computed_again(monkeypatch):
    """The type of the device decides; what the kernels do there is not tested here."""
    made = []
    monkeypatch.setattr("torch.optim.AdamW", lambda parameters, **given: made.append(given["fused"]) or SGD(parameters))
    updater()
    monkeypatch.setattr(RewardModelUpdater, "device", torch.device("cuda"))
    assert updater().recomputes and not updater(reward_model_gradient_checkpointing=False).recomputes
    assert made == [None, True, True]


def test_the_optimisers_state_waits_in_main_memory_and_the_steps_are_the_same(monkeypatch, tmp_path):
    """A stand-in: the device is the CPU too, so only the way there and back is tested, not what a GPU saves."""
    moved, move = [], distributed.to_main_memory
    monkeypatch.setattr(distributed, "to_main_memory", lambda t, buffer=None: moved.append(buffer) or move(t, buffer))
    plain, away = (updater(reward_model_learning_rate=1e-3, reward_model_offload=on) for on in (False, True))
    assert not away.offloads, "on a CPU there is nowhere else"
    away.offloads = True
    moved.clear()  # the start's copies

    def in_their_place():
        held = {id(value) for value in away.away.values()}
        moments = [v for state in away.optimizer.state.values() for v in state.values() if v.dim()]
        return len(moments) == 2 * len(away.parameters) and all(id(value) in held for value in moments)

    assert away.update(PAIRS) == plain.update(PAIRS) and in_their_place()
    assert len(moved) == 2 * len(away.parameters) and not any(buffer is not None for buffer in moved)
    moved.clear()
    assert away.update(PAIRS[:3]) == plain.update(PAIRS[:3]) and in_their_place()
    assert len(moved) == 2 * len(away.parameters) and all(buffer is not None for buffer in moved), "the same memory"
    kept = plain.snapshot(), away.snapshot()
    for u, own in zip((plain, away), kept, strict=True):
        u.update(PAIRS)
        u.save(tmp_path / str(u.offloads))
        u.restore(own)
    assert in_their_place() and away.update(PAIRS[3:]) == plain.update(PAIRS[3:])
    for u in (plain, away):
        u.load(tmp_path / str(u.offloads))
    assert in_their_place() and away.update(PAIRS[3:]) == plain.update(PAIRS[3:])
    assert torch.equal(weights(away), weights(plain))


def test_the_state_leaves_a_gpu_where_the_setting_says_so(monkeypatch):
    monkeypatch.setattr(RewardModelUpdater, "device", torch.device("cuda"))
    monkeypatch.setattr("torch.optim.AdamW", lambda parameters, **_: SGD(parameters))
    assert updater(reward_model_offload=True).offloads and not updater().offloads
    with pytest.raises(BadInputError, match="reward_model_offload: a sharded"):
        CooperConfig(output_dir="unused", reward_model_offload=True, reward_model_sharded=True)


def test_a_snapshot_takes_the_memory_of_one_that_nothing_refers_to():
    u = updater(reward_model_learning_rate=1e-3)
    u.update(PAIRS)
    first = u.snapshot()
    tensors, before = dict(first), {name: value.clone() for name, value in first.items()}
    u.update(PAIRS)
    second = u.snapshot()
    assert all(value is not tensors[name] for name, value in second.items()), "the first one is still wanted"
    assert all(torch.equal(value, before[name]) for name, value in first.items())
    u.restore(first)
    del first
    third = u.snapshot()
    assert third.keys() == tensors.keys() and all(value is tensors[name] for name, value in third.items())
    assert all(torch.equal(value, before[name]) for name, value in third.items())


def test_saved_and_restored_it_goes_on_alike(tmp_path):
    u = updater(reward_model_warmup_steps=4, reward_model_learning_rate=1e-4)
    u.update(PAIRS)
    u.save(tmp_path)
    expected = [u.update(PAIRS[::-1]) for _ in range(2)]
    v = updater(reward_model_warmup_steps=4, reward_model_learning_rate=1e-4)
    v.load(tmp_path)
    assert [v.update(PAIRS[::-1]) for _ in range(2)] == expected
    assert torch.equal(weights(u), weights(v))
    assert not [p for p in tmp_path.iterdir() if p.suffix in (".bin", ".pt", ".pth", ".pkl")]


def test_the_learning_rate_falls_as_scheduled_and_resumes_where_it_was(tmp_path):
    settings = {"reward_model_lr_scheduler_type": "linear", "reward_model_learning_rate": 1e-4}
    u = updater(**settings)
    u.create_scheduler(4)
    rates = [u.update(PAIRS)["reward_model/learning_rate"] for _ in range(2)]
    u.save(tmp_path)
    rates += [u.update(PAIRS)["reward_model/learning_rate"] for _ in range(2)]
    assert rates == pytest.approx([1e-4, 0.75e-4, 0.5e-4, 0.25e-4])
    v = updater(**settings)
    v.create_scheduler(4)
    v.load(tmp_path)
    assert v.update(PAIRS)["reward_model/learning_rate"] == pytest.approx(0.5e-4)


def test_a_schedule_of_updates_ends_with_the_run():
    """Four batches with an update on every second one: the learning rate has fallen by half at the second update."""
    u = updater(reward_model_lr_scheduler_type="linear", reward_model_learning_rate=1e-4, reward_model_update_steps=2)
    u.create_scheduler(4)
    rates = [u.update(PAIRS)["reward_model/learning_rate"] for _ in range(2)]
    assert rates == pytest.approx([1e-4, 0.5e-4]) and u.scheduler.get_last_lr() == [0]


def test_a_checkpoint_of_another_model_is_refused(tmp_path):
    from safetensors.torch import save_file

    u = updater()
    u.save(tmp_path)
    save_file({"score.weight": torch.zeros(1, 7)}, tmp_path / "model.safetensors")
    with pytest.raises(BadInputError, match="another reward model"):
        u.load(tmp_path)
