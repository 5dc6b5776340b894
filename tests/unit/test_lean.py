"""Log-probabilities with a shared prompt and no padding are TRL's own, with their gradients."""

import pytest
import torch
from datasets import Dataset
from peft import PrefixTuningConfig, PromptTuningConfig, get_peft_model
from test_decode import OTHERS, PLAIN, model_of
from trl import GRPOConfig, GRPOTrainer
from trl.trainer.utils import add_fused_lm_head

from cooper_rl.fast import lean
from cooper_rl.settings.files import resolve_model

WITHOUT_DROPOUT = {"opt": {"dropout": 0.0}, "gpt2": dict.fromkeys(("attn_pdrop", "embd_pdrop", "resid_pdrop"), 0.0)}
PROMPTS = [[5, 6, 7, 8, 9], [10, 11, 12], [13, 14]]
PLACES = [0, 1, 0, 2, 0, 1, 2, 2]  # as shuffled as TRL's batches are
LENGTHS = [3, 7, 1, 4, 0, 7, 2, 5]  # one completion is left out, as a truncated one can be


def batch(vocabulary):
    """Ids and mask of 8 rows, prompts padded on the left to 6 and completions on the right to 8."""
    generator = torch.Generator().manual_seed(0)
    ids, mask = torch.zeros((8, 14), dtype=torch.long), torch.zeros((8, 14), dtype=torch.long)
    for row, (place, length) in enumerate(zip(PLACES, LENGTHS, strict=True)):
        prompt = PROMPTS[place]
        ids[row, 6 - len(prompt) : 6] = torch.tensor(prompt)
        mask[row, 6 - len(prompt) : 6 + length] = 1
        ids[row, 6 : 6 + length] = torch.randint(3, vocabulary, (length,), generator=generator)
    return ids, mask


@pytest.fixture(autouse=True)
def several_passes(monkeypatch):
    monkeypatch.setattr(lean, "tokens_of_a_pass", lambda device: 12)


@pytest.mark.parametrize("kind", [*PLAIN, "mixtral"])
def test_log_probabilities_entropies_and_gradients_are_trls(kind, monkeypatch):
    if kind == "mixtral":
        monkeypatch.setitem(PLAIN, kind, {**PLAIN["llama"], "num_local_experts": 3})
    model = model_of(kind, **WITHOUT_DROPOUT.get(kind, {})).train()
    add_fused_lm_head(model, temperature=0.8, outputs=("log_probs", "entropy"))
    ids, mask = batch(40)
    assert lean.continues_prompts(model)
    labels = ids.masked_fill(mask == 0, -100)
    labels[:, :6] = -100
    theirs = model(input_ids=ids, attention_mask=mask, labels=labels, fused_lm_head=True)
    logps, entropies = lean.completion_logps(model, ids, mask, 8)
    torch.testing.assert_close(logps, theirs.log_probs[:, -8:], atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(entropies, theirs.entropy[:, -8:], atol=1e-5, rtol=1e-5)
    weights = torch.linspace(-1, 1, logps.numel()).reshape(logps.shape)
    gradients = []
    for found in (logps, theirs.log_probs[:, -8:]):
        model.zero_grad()
        (found * weights).sum().backward()
        gradients.append(torch.cat([p.grad.flatten() for p in model.parameters() if p.grad is not None]))
    assert gradients[1].norm() > 0.1
    assert (gradients[0] - gradients[1]).norm() < 1e-5 * gradients[1].norm()


def test_equal_completions_are_computed_once_and_have_a_gradient_each():
    model = model_of("llama").train()
    add_fused_lm_head(model, temperature=0.8, outputs=("log_probs", "entropy"))
    ids, mask = batch(40)
    ids, mask = ids.repeat_interleave(2, dim=0), mask.repeat_interleave(2, dim=0)
    computed, gradients = [], []
    model.base_model.register_forward_pre_hook(
        lambda _, __, kwargs: computed.append(kwargs["input_ids"]), with_kwargs=True
    )
    weights = torch.arange(1.0, 17.0)[:, None].expand(16, 8)
    for rows, factors in ((slice(None), weights), (slice(0, None, 2), weights[::2] + weights[1::2])):
        computed.clear()
        model.zero_grad()
        logps, _ = lean.completion_logps(model, ids[rows], mask[rows], 8)
        (logps * factors).sum().backward()
        gradients.append(torch.cat([p.grad.flatten() for p in model.parameters() if p.grad is not None]))
        assert sum(map(len, computed)) == 3 + 7  # prompts, and the completions that are not empty
    assert (gradients[0] - gradients[1]).norm() < 1e-5 * gradients[1].norm() and gradients[1].norm() > 0.1


@pytest.mark.parametrize("kind", [PromptTuningConfig, PrefixTuningConfig])
def test_virtual_tokens_are_left_to_trl(kind):
    model = get_peft_model(model_of("llama"), kind(task_type="CAUSAL_LM", num_virtual_tokens=4))
    assert not lean.continues_prompts(model)


def test_windows_states_and_dropout_are_left_to_trl():
    assert not any(lean.continues_prompts(model_of(kind)) for kind in OTHERS)
    model = model_of("gpt2")  # its dropouts are 0.1
    assert lean.continues_prompts(model)
    assert not lean.continues_prompts(model.train())


@pytest.fixture(params=[False])
def trainer(tmp_path, request):
    settings = GRPOConfig(
        str(tmp_path),
        per_device_train_batch_size=8,
        num_generations=4,
        max_completion_length=8,
        beta=0.01,
        report_to="none",
        use_cpu=True,
        bf16=request.param,
        gradient_checkpointing=False,
        model_init_kwargs={"dtype": "float32"},
    )
    rows = Dataset.from_list([{"prompt": [{"role": "user", "content": f"What is {i} + 4?"}]} for i in range(8)])

    def length(completions, **_):
        return [float(len(completion[0]["content"])) for completion in completions]

    return lean.LeanGRPOTrainer(resolve_model("nano", "policy"), length, args=settings, train_dataset=rows)


def test_a_step_is_trls_step(trainer, monkeypatch):
    """The same completions through both: loss, gradient and the reference's log-probabilities."""
    trainer.model.train()
    trainer.current_gradient_accumulation_steps = 1
    torch.manual_seed(0)
    with torch.no_grad():
        for parameter in trainer.model.parameters():  # away from the reference
            parameter.add_(0.01 * torch.randn_like(parameter))
    rows = [row for row in trainer.train_dataset.select(range(2)) for _ in range(4)]
    written = trainer._generate_single_turn([[5, 6, 7], [8, 9]] * 4, None, {}, 4)
    monkeypatch.setattr(trainer, "_generate_single_turn", lambda *_, **__: written)
    outcomes = {}
    for name in ("lean", "trl"):
        if name == "trl":
            monkeypatch.setattr(trainer, "_is_lean", lambda *_: False)
        inputs = trainer._generate_and_score_completions(rows)
        trainer.model.zero_grad()
        loss = trainer.compute_loss(trainer.model, inputs)
        loss.backward()
        gradient = torch.cat([p.grad.flatten() for p in trainer.model.parameters()])
        outcomes[name] = inputs["ref_per_token_logps"], loss.detach(), gradient
    assert list(trainer._equal_models.values()) == [True, True]  # policy and reference took the short way
    for ours, theirs in zip(outcomes["lean"], outcomes["trl"], strict=True):
        torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=1e-4)
    assert (outcomes["lean"][2] - outcomes["trl"][2]).norm() < 1e-5 * outcomes["trl"][2].norm()


def test_a_model_that_differs_is_left_to_trl(trainer, monkeypatch, caplog):
    """The first batch is compared; a model whose continuation is another one goes TRL's way, and the user is told."""
    trainer.model.train()
    ids, mask = batch(40)
    expected, _, _ = GRPOTrainer._get_per_token_logps_and_entropies(trainer, trainer.model, ids, mask, 8)
    shorter = lean.spread
    monkeypatch.setattr(lean, "spread", lambda cache, places, width, config: shorter(cache, places * 0, width, config))
    logps, entropies, _ = trainer._get_per_token_logps_and_entropies(trainer.model, ids, mask, 8, compute_entropy=True)
    assert torch.equal(logps, expected) and entropies is not None
    assert "TRL's own way" in caplog.text


def test_the_switch_leaves_all_to_trl(trainer, monkeypatch):
    monkeypatch.setenv("COOPER_FAST", "0")
    monkeypatch.setattr(lean, "completion_logps", None)
    monkeypatch.setattr(lean, "complete", None)
    trainer.model.train()
    ids, mask = batch(40)
    expected, _, _ = GRPOTrainer._get_per_token_logps_and_entropies(trainer, trainer.model, ids, mask, 8)
    logps, _, _ = trainer._get_per_token_logps_and_entropies(trainer.model, ids, mask, 8)
    assert torch.equal(logps, expected)
    written, _ = trainer._generate_single_turn([[5, 6, 7], [8, 9]] * 2, None, {}, 4)
    assert len(written) == 4 and all(1 <= len(row) <= 8 for row in written)


@pytest.mark.parametrize("trainer", [False, True], indirect=True, ids=["float32", "bfloat16"])
def test_completions_are_drawn_by_the_models_probabilities(trainer):
    """What the trainer's settings ask for: at temperature 1 the drawn tokens' surprise is their entropy, on average."""
    trainer.model.train()
    precisions = set()
    trainer.model.register_forward_hook(lambda *_: precisions.add(torch.is_autocast_enabled("cpu")))
    torch.manual_seed(0)
    prompts = [[5, 6, 7, 8]] * 400
    written, logprobs = trainer._generate_single_turn(prompts, None, {}, 4)
    assert precisions == {trainer.args.bf16}
    assert logprobs is None and all(1 <= len(row) <= 8 for row in written)
    ids = torch.tensor([prompt + row + [0] * (8 - len(row)) for prompt, row in zip(prompts, written, strict=True)])
    mask = torch.tensor([[1] * (4 + len(row)) + [0] * (8 - len(row)) for row in written])
    with torch.no_grad():
        logps, entropies, _ = trainer._get_per_token_logps_and_entropies(
            trainer.model, ids, mask, 8, compute_entropy=True
        )
    excess = (-logps - entropies).sum(1)  # of a row; its mean is 0 where the tokens are drawn as the model says
    assert abs(excess.mean()) < 5 * excess.std() / len(written) ** 0.5
    assert entropies.sum(1).mean() > 0.1
