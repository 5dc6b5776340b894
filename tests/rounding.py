"""What rounding may alter: the weights that AdamW trained, and a logit.

How far may two runs of AdamW be apart that add up the same gradients in another order?

Other batches, ranks, threads or kernels add the same float32 numbers in another order, so each gradient differs by a
rounding error. AdamW is scale-free, so it can make of such an error a step as large as the learning rate. One number
for all weights is therefore no bound. This one is, derived step by step:

1. How far one weight can be off. In step t AdamW moves a weight by lr_t m_t / (sqrt(v_t) + eps), both averages with
   their bias corrected. m_t is a weighted sum of the weight's own gradients g_1..g_t and v_t is a weighted sum of their
   squares. Cauchy-Schwarz gives |m_t| / sqrt(v_t) <= c_t with

       c_t = (1 - b1) / (1 - b1^t) * sqrt((1 - b2^t) / (1 - b2)) * sqrt(sum_{j < t} (b1^2 / b2)^j)

   (c_1 = 1, c_10 = 1.04). Clipping scales all g_t, eps > 0 makes the step smaller, and weight decay shrinks the two
   weights' distance. So no weight is off by more than `farthest` = 2 sum_t lr_t c_t, whatever its gradients were.
2. How far most are. m_t / sqrt(v_t) is c_t times the cosine between the weight's gradient history and a fixed vector:
   it depends on the history's direction alone. An error d of a history g turns it by at most 2 |d| / |g|, so the
   weight is off by at most `farthest` times max_t |d_t| / |g_t|.
   To be off by more than the fraction f of `farthest`, its gradients must be smaller than their error divided by f.
3. How many those are. A sum of n float32 numbers of either sign has a rounding error of about u sqrt(n) of its size,
   u = 2^-24 (Higham and Mary, SIAM J. Sci. Comput. 41, 2019). n is `summands`: the tokens of one step, over which the
   gradient of a weight is a sum. Gradients within a tensor are spread around 0. Measured in their root mean square,
   their density at 0 is about 1 (0.4 if normal, 0.7 if Laplace). The share of gradients below the error divided by f
   is then

       share(f) = 2 u sqrt(n) / f

   Of k elements k share(f) are expected, and as a count of rare events that scatters by its root: four roots and four
   elements are added, so that a small tensor does not fail by chance.
4. What storing adds. Each step rounds the weight at most twice (decay, step), by u |w| each, in both runs: 4 K u |w|.

What the weights' difference adds to later gradients is not in this bound: it is of second order, since only the few
weights of 3. differ noticeably. `tests/unit/test_rounding.py` measures the error of 3. and the tail of 2. on a model.

What a fault does instead: a gradient with other weights on its parts points elsewhere. With a mean over ranks of
unequal pair counts, 40 % or more of each tensor's elements are off by more than a hundredth of `farthest`; with one
pair of twelve left out, 26 % or more. Rounding explains 0.04 %. A factor on the whole gradient, the same in each step,
cannot be seen in weights that AdamW trained: compare the logged gradient norms for that.
"""

import math
from collections.abc import Mapping, Sequence

import torch

U = 2.0**-24  # the largest relative error of one rounding to float32
FRACTIONS = (1e-3, 1e-2, 1e-1)  # of `farthest`, each with the share of elements that may be beyond it


def farthest(learning_rates: Sequence[float], betas: tuple[float, float] = (0.9, 0.999)) -> float:
    """The distance that no weight can exceed after steps with these learning rates: 2 sum_t lr_t c_t (see 1.)."""
    b1, b2 = betas
    total = 0.0
    for t, rate in enumerate(learning_rates, start=1):
        spread = sum((b1 * b1 / b2) ** j for j in range(t))
        total += rate * (1 - b1) / (1 - b1**t) * math.sqrt((1 - b2**t) / (1 - b2) * spread)
    return 2 * total


def allowed(elements: int, fraction: float, summands: int) -> float:
    """How many of so many elements may be beyond this fraction of `farthest` (see 3.)."""
    expected = elements * 2 * U * math.sqrt(summands) / fraction
    return expected + 4 * math.sqrt(expected) + 4


def assert_same_but_for_rounding(
    found: Mapping[str, torch.Tensor],
    expected: Mapping[str, torch.Tensor],
    learning_rates: Sequence[float],
    *,
    summands: int,
) -> None:
    """Fails unless two runs from the same weights, each with AdamW, end alike up to the bound above, tensor by tensor.

    Args:
        learning_rates: of each step of the run, in order.
        summands: how many tokens one step's gradient is a sum over.

    Raises:
        AssertionError: names the tensor, how many of its elements are how far off, and how many may be.
    """
    assert expected.keys() <= found.keys(), f"missing: {sorted(expected.keys() - found.keys())}"
    most, steps = farthest(learning_rates), len(learning_rates)
    for name, theirs in expected.items():
        ours, theirs = found[name].double(), theirs.double()
        off = (ours - theirs).abs() - 4 * steps * U * torch.maximum(ours.abs(), theirs.abs())
        assert (off <= most).all(), f"{name}: off by {off.max():.3g}; AdamW cannot move it farther than {most:.3g}"
        for fraction in FRACTIONS:
            count, bound = int((off > fraction * most).sum()), allowed(off.numel(), fraction, summands)
            beyond = f"{count} of {off.numel()} elements are off by more than {fraction * most:.3g}"
            assert count <= bound, f"{name}: {beyond}; rounding explains {bound:.1f}"


def logit_error(model: torch.nn.Module) -> float:
    """How far a sequence classifier's logit can be off where the same text is in another batch or padded otherwise.

    The logit is the product of the score's weights w with the last norm's output, whose size is that of its gains times
    sqrt(width). Before it lie 7 matrix products a layer (4 of the attention, 3 of the MLP), each a sum over at least
    `width` numbers with a relative error of u sqrt(width). Independent errors add as squares, and four standard
    deviations leave room for the largest of many texts: 4 u sqrt(7 layers width) |w gain| sqrt(width).
    A score is off by at most a quarter of it, the sigmoid's steepest slope.
    """
    width, layers = model.config.hidden_size, model.config.num_hidden_layers
    largest = (model.score.weight * model.model.norm.weight).norm().item() * math.sqrt(width)
    return 4 * U * math.sqrt(7 * layers * width) * largest
