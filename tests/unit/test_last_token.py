"""A score without the last layer's work on other tokens is the same score, with the same gradient.

So it is where the backward pass computes the layers again.
"""

from contextlib import nullcontext

import pytest
import torch
from transformers import AutoConfig, AutoModelForSequenceClassification

from cooper_rl.fast.layers import KNOWN, only_last
from cooper_rl.packing import pad
from cooper_rl.verifyrm.logits import recomputing, score_ids

SIZES = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 3, "num_attention_heads": 2}
GENERATOR = torch.Generator().manual_seed(0)
SHARED = torch.randint(1, 40, (30,), generator=GENERATOR).tolist()
OWN = [torch.randint(1, 40, (length,), generator=GENERATOR).tolist() for length in (1, 5, 9, 12, 3, 7)]
IDS = [*OWN, *(SHARED + own for own in OWN)]


def model_of(kind):
    torch.manual_seed(3)
    config = AutoConfig.for_model(
        kind, vocab_size=40, num_key_value_heads=1, head_dim=8, num_labels=1, pad_token_id=0, **SIZES
    )
    model = AutoModelForSequenceClassification.from_config(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.mul_(10)  # small random weights make all sequences alike
    return model


def tokens_of(model, seen):
    """Makes the model note how many tokens the last layer's MLP transforms."""
    model.base_model.layers[-1].mlp.register_forward_hook(
        lambda _, inputs, __: seen.append(inputs[0].shape[:2].numel())
    )


@pytest.mark.numeric
@pytest.mark.parametrize("kind", sorted(KNOWN))
def test_scores_and_gradients_are_those_of_the_whole_layer(kind):
    model, seen, outcomes = model_of(kind), [], []
    tokens_of(model, seen)
    ids, mask = pad(IDS, 0)
    for whole in (True, False):
        seen.clear()
        model.zero_grad()
        logits = model(ids, attention_mask=mask).logits[:, 0] if whole else score_ids(model, IDS, batch_tokens=100)
        (logits * torch.linspace(-1, 1, len(IDS))).sum().backward()
        gradient = torch.cat([p.grad.flatten() for p in model.parameters()])
        outcomes.append((logits.detach(), gradient))
    assert sum(seen) == 30 + len(IDS)  # the shared prefix, which is continued, and a token of each row
    assert outcomes[0][0].std() > 0.1 and outcomes[0][1].norm() > 0.1
    torch.testing.assert_close(outcomes[1][0], outcomes[0][0], atol=1e-5, rtol=1e-5)
    assert (outcomes[1][1] - outcomes[0][1]).norm() < 1e-5 * outcomes[0][1].norm()


@pytest.mark.parametrize("dtype", [None, torch.bfloat16])
@pytest.mark.parametrize("kind", [*sorted(KNOWN), "gemma"])
def test_layers_that_are_computed_again_give_the_same_scores_and_gradients(kind, dtype):
    """With a shared prefix and without; autograd keeps a layer's inputs in place of all that it computes."""
    model, outcomes, kept = model_of(kind), [], []

    def keep(tensor):
        sizes[tensor.data_ptr()] = tensor.nbytes
        return tensor

    for context in (nullcontext(), recomputing(model)):
        sizes = {parameter.data_ptr(): 0 for parameter in model.parameters()}
        model.zero_grad()
        hooks = torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor)
        with context, hooks, torch.autocast("cpu", dtype=dtype, enabled=dtype is not None):
            logits = score_ids(model, IDS, batch_tokens=100)
        kept.append(sum(sizes.values()))
        (logits * torch.linspace(-1, 1, len(IDS))).sum().backward()
        outcomes.append((logits.detach(), [p.grad.clone() for p in model.parameters()]))
    assert outcomes[0][0].std() > 0.1 and torch.equal(outcomes[1][0], outcomes[0][0])
    for found, expected in zip(outcomes[1][1], outcomes[0][1], strict=True):
        assert (found - expected).norm() <= (1e-5 if dtype is None else 1e-2) * expected.norm() + 1e-9
    assert kept[1] < kept[0] / 2  # with three layers, of which the last keeps everything
    assert "forward" not in vars(model.base_model.layers[0])


@pytest.mark.parametrize("switch", ["0", "1"])
def test_training_mode_other_kinds_and_the_switch_compute_every_token(switch, monkeypatch):
    monkeypatch.setenv("COOPER_FAST", switch)
    last = torch.tensor([2, 4])
    ids = torch.randint(1, 40, (2, 5), generator=GENERATOR)
    for model in (model_of("llama").train(switch == "1"), model_of("gemma")):
        seen = []
        tokens_of(model, seen)
        with only_last(model, last):
            model(ids)
        assert seen == [10]


def test_afterwards_the_model_is_whole_again():
    model = model_of("llama")
    ids = torch.randint(1, 40, (2, 5), generator=GENERATOR)
    before = model(ids).logits
    with pytest.raises(RuntimeError, match="stop"), only_last(model, torch.tensor([0, 0])):
        assert not torch.equal(model(ids).logits, before)  # the first token's, where the head reads the last one's
        raise RuntimeError("stop")
    assert torch.equal(model(ids).logits, before)


def test_padded_rows_are_their_ids_and_then_the_padding():
    ids, mask = pad([[5, 6, 7], [8], [9, 1]], 3)
    assert ids.tolist() == [[5, 6, 7], [8, 3, 3], [9, 1, 3]] and mask.tolist() == [[1, 1, 1], [1, 0, 0], [1, 1, 0]]
    assert ids.dtype == mask.dtype == torch.long
