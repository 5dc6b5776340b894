"""GRPO's loss and advantages against numbers worked out by hand."""

import math

import pytest
import torch

from cooper_rl.engines.plain import advantages, grpo_loss

CLIP = {"epsilon_low": 0.2, "epsilon_high": 0.2}


def test_advantages_by_hand():
    """Rewards 1, 0, 0, 1: mean 0.5, standard deviation 0.57735; a group that agrees has none."""
    found = advantages(torch.tensor([1.0, 0.0, 0.0, 1.0, 0.3, 0.3, 0.3, 0.3]), 4)
    one = 0.5 / (0.5773503 + 1e-4)
    torch.testing.assert_close(found, torch.tensor([one, -one, -one, one, 0, 0, 0, 0]))


def test_a_reward_that_could_not_be_judged_is_in_no_mean():
    """Of 1, 0 and nan the mean is 0.5 and the standard deviation 0.70711; what is alone in its group has none."""
    found = advantages(torch.tensor([1.0, 0.0, math.nan, math.nan, math.nan, 1.0]), 3)
    one = 0.5 / (0.7071068 + 1e-4)
    torch.testing.assert_close(found, torch.tensor([one, -one, 0.0, 0.0, 0.0, 0.0]))


def log(*rows):
    return torch.tensor([[math.log(p) for p in row] for row in rows])


def test_the_loss_by_hand():
    """Two completions of two and one tokens; rho = 1, so the loss is minus the mean advantage, plus 0.1 of the KL."""
    logprobs, ref = log([0.5, 0.25], [0.5, 0.5]), log([0.25, 0.25], [0.5, 0.125])
    mask = torch.tensor([[1.0, 1.0], [1.0, 0.0]])
    loss, metrics = grpo_loss(logprobs, logprobs, ref, mask, torch.tensor([2.0, -1.0]), beta=0.1, **CLIP)
    k3 = 0.5 + math.log(2) - 1  # d = log 0.25 - log 0.5
    expected = ((-2.0 + 0.1 * k3 / 2) + 1.0) / 2
    assert loss.item() == pytest.approx(expected) and metrics["kl"] == pytest.approx(k3 / 3)


@pytest.mark.parametrize(
    ("new", "advantage", "expected"),
    [(0.75, 1.0, -1.2), (0.25, -1.0, 0.8), (0.75, -1.0, 1.5), (0.25, 1.0, -0.5)],
)
def test_the_ratio_is_clipped_where_that_is_the_smaller_gain(new, advantage, expected):
    """rho is 1.5 or 0.5: gains beyond the clip are not rewarded, losses beyond it are."""
    old = log([0.5])
    loss, _ = grpo_loss(log([new]), old, log([new]), torch.ones(1, 1), torch.tensor([advantage]), beta=0.0, **CLIP)
    assert loss.item() == pytest.approx(expected)


def test_a_masked_token_has_no_gradient():
    logprobs = log([0.5, 0.25]).requires_grad_()
    loss, _ = grpo_loss(
        logprobs, logprobs.detach(), log([0.1, 0.1]), torch.tensor([[1.0, 0.0]]), torch.ones(1), beta=0.1, **CLIP
    )
    loss.backward()
    assert logprobs.grad[0, 0] != 0 and logprobs.grad[0, 1] == 0


def test_shapes_that_would_broadcast_are_refused():
    two = torch.zeros(2, 3)
    with pytest.raises(ValueError, match="grpo_loss needs"):
        grpo_loss(two, two, two, two, torch.zeros(2, 1), beta=0.0, **CLIP)
    with pytest.raises(ValueError, match="advantages needs"):
        advantages(torch.zeros(5), 2)


def test_a_wrong_sign_would_be_seen():
    """Wrong on purpose: with the advantages negated the loss falls where it should rise."""
    logprobs, mask, up = log([0.5]), torch.ones(1, 1), torch.tensor([1.0])
    right, _ = grpo_loss(logprobs, logprobs, logprobs, mask, up, beta=0.0, **CLIP)
    wrong, _ = grpo_loss(logprobs, logprobs, logprobs, mask, -up, beta=0.0, **CLIP)
    assert right.item() == -1.0 and wrong.item() == 1.0
