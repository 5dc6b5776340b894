"""The losses against numbers worked out by hand."""

import math

import pytest
import torch

from cooper_rl.verifyrm.losses import bce_loss, contrastive_loss, prefix_loss, step_margin_loss


def test_contrastive_loss_by_hand():
    # margins 2 and -1: log(1 + e^-2) = 0.126928, log(1 + e^1) = 1.313262; their mean 0.720095
    loss, metrics = contrastive_loss(torch.tensor([3.0, 0.0]), torch.tensor([1.0, 1.0]), torch.tensor([True, True]))
    assert loss.item() == pytest.approx(0.720095, abs=1e-6)
    assert metrics["margin"] == pytest.approx(0.5)
    assert metrics["pair_accuracy"] == pytest.approx(0.5)


def test_swapped_pairs_are_not_the_same_loss():
    right, wrong = torch.tensor([3.0]), torch.tensor([1.0])
    valid = torch.tensor([True])
    assert contrastive_loss(right, wrong, valid)[0] < contrastive_loss(wrong, right, valid)[0]


def test_masked_pairs_change_neither_loss_nor_gradient():
    positive = torch.tensor([3.0, -50.0], requires_grad=True)
    negative = torch.tensor([1.0, 50.0], requires_grad=True)
    loss, _ = contrastive_loss(positive, negative, torch.tensor([True, False]))
    loss.backward()
    assert loss.item() == pytest.approx(math.log1p(math.exp(-2)), abs=1e-6)
    assert positive.grad[1] == 0 and negative.grad[1] == 0 and positive.grad[0] < 0 < negative.grad[0]


def test_no_valid_pair_is_exactly_zero_without_nan():
    positive = torch.tensor([float("inf")], requires_grad=True)
    loss, _ = contrastive_loss(positive, torch.tensor([0.0]), torch.tensor([False]))
    loss.backward()
    assert loss.item() == 0.0 and positive.grad.item() == 0.0


def test_column_against_row_is_refused():
    """Known fault 6: (B, 1) * (B,) makes a (B, B) matrix in which a mask masks nothing."""
    column, row = torch.zeros(3, 1), torch.zeros(3)
    with pytest.raises(ValueError, match="shape"):
        contrastive_loss(column, row, torch.ones(3, dtype=torch.bool))
    with pytest.raises(ValueError, match="shape"):
        contrastive_loss(column, column, torch.ones(3, 1, dtype=torch.bool))
    with pytest.raises(ValueError):
        bce_loss(column, row)


def test_bce_by_hand():
    # z = 0 and z = ln 3 (sigmoid 0.75), labels 1 and 0: -ln 0.5 = 0.693147, -ln 0.25 = 1.386294
    loss, metrics = bce_loss(torch.tensor([0.0, math.log(3)]), torch.tensor([1.0, 0.0]))
    assert loss.item() == pytest.approx(1.0397207, abs=1e-6)
    assert metrics["accuracy"] == 0.0 and metrics["positive_rate"] == 0.5


def test_losses_are_float32_whatever_the_logits_are():
    half = torch.tensor([1.0], dtype=torch.bfloat16)
    assert contrastive_loss(half, half, torch.tensor([True]))[0].dtype == torch.float32
    assert bce_loss(half, half)[0].dtype == torch.float32


def test_prefix_loss_by_hand():
    # first completion: -log sigmoid(2) = 0.126928 and -log sigmoid(1) = 0.313262, mean 0.220095
    # second: one step of label 0, -log sigmoid(-3) = 3.048587; mean of both 1.634341; the third has no step
    logits = torch.tensor([[2.0, -1.0], [3.0, 9.0], [5.0, 5.0]], requires_grad=True)
    labels = torch.tensor([[1, 0], [0, 1], [0, 0]])
    valid = torch.tensor([[True, True], [True, False], [False, False]])
    loss, metrics = prefix_loss(logits, labels, valid)
    assert loss.item() == pytest.approx(1.634341, abs=1e-6)
    assert metrics["prefix_accuracy"] == pytest.approx(0.5)  # the first has both, the second has none
    loss.backward()
    assert logits.grad[1, 1] == 0 and not logits.grad[2].any() and logits.grad[0, 0] < 0 < logits.grad[0, 1]
    assert prefix_loss(logits, labels, torch.zeros(3, 2, dtype=torch.bool))[0].item() == 0
    with pytest.raises(ValueError, match=r"\(B, S\)"):
        prefix_loss(logits, labels, valid[:, 0])


def test_step_margin_loss_by_hand():
    # first completion: z = 2 right, -1 and 1.5 wrong: -log sigmoid(2) = 0.126928, -log sigmoid(-0.5) = 0.974077
    # second: it has no wrong step, so no pair; third: z = 1 right, 3 wrong, -log sigmoid(-3) = 3.048587
    logits = torch.tensor([[2.0, -1.0, 1.5], [3.0, 9.0, 0.0], [1.0, 3.0, 0.0]], requires_grad=True)
    labels = torch.tensor([[1, 0, 0], [1, 0, 0], [1, 0, 0]])
    valid = torch.tensor([[True, True, True], [True, False, False], [True, True, False]])
    loss, metrics = step_margin_loss(logits, labels, valid, 1.0)
    assert loss.item() == pytest.approx(((0.126928 + 0.974077) / 2 + 3.048587) / 2, abs=1e-6)
    assert metrics["step_order"] == pytest.approx(0.5)  # both pairs of the first, not the third's
    loss.backward()
    assert not logits.grad[1].any() and logits.grad[0, 0] < 0 < logits.grad[0, 1] < logits.grad[0, 2]
    assert step_margin_loss(logits, labels, torch.zeros(3, 3, dtype=torch.bool), 1.0)[0].item() == 0
