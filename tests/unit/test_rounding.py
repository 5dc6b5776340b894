"""The bound on rounding in trained weights: it holds for AdamW, real rounding is within it, and real faults are not."""

import itertools

import pytest
import torch
from torch.nn.functional import logsigmoid
from transformers import AutoModelForSequenceClassification

from cooper_rl.settings.files import resolve_model
from rounding import FRACTIONS, U, allowed, assert_same_but_for_rounding, farthest

pytestmark = pytest.mark.numeric

PAIRS, LENGTH, STEPS, RATE = 12, 40, 5, 1e-4
TOKENS = PAIRS * 2 * LENGTH
EVEN, UNEVEN = (6, 6), (10, 2)  # how the pairs are shared out over two ranks


def mean_over_all(share):
    """The weight of one pair's loss: the same, whatever share it is in."""
    return 1 / PAIRS


def mean_of_means(share):
    """The fault: each rank divides by its own pairs, and the ranks' gradients are averaged."""
    return 1 / (2 * share)


class Run:
    """The nano reward model trained by the contrastive loss on pairs of token ids, a share of them at a time."""

    def __init__(self):
        self.model = AutoModelForSequenceClassification.from_pretrained(resolve_model("nano", "reward_model")).eval()
        draw = torch.Generator().manual_seed(0)
        self.pairs_N2T = torch.randint(5, 1000, (PAIRS, 2, LENGTH), generator=draw)

    def gradients(self, shares, weigh):
        """Name -> gradient of the weighted sum of the pairs' losses."""
        self.model.zero_grad()
        for ids_N2T in self.pairs_N2T.split(shares):
            z_N2 = self.model(ids_N2T.flatten(0, 1)).logits.view(-1, 2)
            (-logsigmoid(z_N2[:, 0] - z_N2[:, 1]).sum() * weigh(len(z_N2))).backward()
        return {name: p.grad.clone() for name, p in self.model.named_parameters()}

    def train(self, shares, weigh=mean_over_all):
        """Name -> weights after the steps."""
        optimizer = torch.optim.AdamW(self.model.parameters(), lr=RATE)
        for _ in range(STEPS):
            self.gradients(shares, weigh)
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            optimizer.step()
        return {name: p.detach() for name, p in self.model.named_parameters()}


@pytest.fixture(scope="module")
def whole():
    return Run().train((PAIRS,))


def same(found, expected):
    assert_same_but_for_rounding(found, expected, [RATE] * STEPS, summands=TOKENS)


def moved_by_adamw(gradients_KN):
    """How far AdamW moves N weights at a learning rate of 1 in each of K steps, in float64."""
    weights_N = torch.zeros(gradients_KN.shape[1], dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.AdamW([weights_N], lr=1.0, weight_decay=0.0, eps=0.0)
    places = [torch.zeros_like(weights_N)]
    for gradient_N in gradients_KN:
        weights_N.grad = gradient_N.clone()
        optimizer.step()
        places.append(weights_N.detach().clone())
    return torch.stack(places).diff(dim=0).abs()


def test_the_farthest_distance_by_hand():
    # c_1 = 1; c_2 = 0.1 / 0.19 * sqrt(1.999 * (1 + 0.81 / 0.999)) = 1.001358
    assert farthest([3e-4]) == pytest.approx(6e-4)
    assert farthest([1e-4, 5e-5]) == pytest.approx(2 * (1e-4 + 5e-5 * 1.001358), rel=1e-6)


def test_no_gradients_move_a_weight_farther_and_some_move_it_as_far():
    steps = [farthest([0.0] * t + [1.0]) / 2 for t in range(10)]
    draw = torch.Generator().manual_seed(0)
    wild_KN = torch.randn(10, 20_000, generator=draw, dtype=torch.float64) ** 5
    assert (moved_by_adamw(wild_KN) <= torch.tensor(steps, dtype=torch.float64)[:, None] * (1 + 1e-9)).all()
    worst_K1 = torch.tensor([[(0.9 / 0.999) ** (9 - t)] for t in range(10)], dtype=torch.float64)  # Cauchy-Schwarz
    assert moved_by_adamw(worst_K1)[-1].item() == pytest.approx(steps[-1], rel=1e-9)


def test_the_error_of_a_gradient_is_within_what_the_bound_takes_it_for():
    run = Run()
    expected, found = (run.gradients(shares, mean_over_all) for shares in ((PAIRS,), (1,) * PAIRS))
    for name, gradient in expected.items():
        error = (found[name] - gradient).norm() / gradient.norm()
        assert error < U * TOKENS**0.5, (name, error.item())


@pytest.mark.parametrize("shares", [EVEN, UNEVEN, (1,) * PAIRS], ids=str)
def test_the_same_pairs_in_other_shares_are_the_same_training(whole, shares):
    same(Run().train(shares), whole)


def test_a_mean_over_ranks_with_unequal_pair_counts_is_another_training(whole):
    same(Run().train(EVEN, mean_of_means), whole)  # with equal counts it is no fault
    faulty = Run().train(UNEVEN, mean_of_means)
    with pytest.raises(AssertionError, match="rounding explains"):
        same(faulty, whole)
    for name in whole:  # each tensor alone shows it, the smallest of 128 elements as well
        with pytest.raises(AssertionError, match=name):
            same({**whole, name: faulty[name]}, whole)


def test_a_pair_left_out_is_another_training(whole):
    with pytest.raises(AssertionError, match="rounding explains"):
        same(Run().train((PAIRS - 1, 1), lambda share: 1 / PAIRS if share > 1 else 0.0), whole)


def test_what_is_refused_and_what_is_not(whole):
    most = farthest([RATE] * STEPS)
    name, tensor = next(itertools.islice(whole.items(), 1, None))

    def off(by, count):
        changed = tensor.clone()
        changed.view(-1)[:count] += by
        return {**whole, name: changed}

    same(off(0.9 * most, 1), whole)  # a sign that rounding turned over
    with pytest.raises(AssertionError, match="cannot move it farther"):
        same(off(1.1 * most, 1), whole)
    for fraction in FRACTIONS:
        few = int(allowed(tensor.numel(), fraction, TOKENS))
        with pytest.raises(AssertionError, match="rounding explains"):
            same(off(1.5 * fraction * most, few + 1), whole)
    with pytest.raises(AssertionError, match="missing"):
        same({}, whole)
    # 2 * 2^-24 * sqrt(960) / 0.1 of 10,000 elements are 0.369; with four roots and four elements 6.8
    assert allowed(10_000, 0.1, 960) == pytest.approx(6.80, abs=0.01)
