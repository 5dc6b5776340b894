"""GRPO's two equations as pure functions (paper, section 3.3; DeepSeekMath, arXiv 2402.03300, equations 3 and 4).

Shapes: B completions, P prompts, G completions of a prompt (B = P * G), T tokens.
"""

from __future__ import annotations

import torch
from torch import Tensor


def advantages(rewards_B: Tensor, group_size: int) -> Tensor:
    """A_i = (r_i - mean of the group) / (std of the group + 1e-4), shape (B,).

    A reward that is nan could not be judged: it is in no mean and no std, and its advantage is 0, as in TRL.

    Raises:
        ValueError: `rewards_B` is not a vector whose length is a multiple of `group_size`.
    """
    if rewards_B.dim() != 1 or len(rewards_B) % group_size:
        raise ValueError(f"advantages needs (B,) with B a multiple of {group_size}, got {tuple(rewards_B.shape)}")
    rewards_P_G = rewards_B.view(-1, group_size)
    centred_P_G = rewards_P_G - rewards_P_G.nanmean(1, keepdim=True)
    std_P_1 = rewards_P_G.std(1, keepdim=True)
    if rewards_B.isnan().any():
        judged_P = [own_G[~own_G.isnan()] for own_G in rewards_P_G]
        std_P_1 = torch.stack([r.std() if len(r) > 1 else r.new_tensor(torch.nan) for r in judged_P])[:, None]
    return torch.nan_to_num(centred_P_G / (std_P_1 + 1e-4)).flatten()


def grpo_loss(
    logprobs_B_T: Tensor,
    old_logprobs_B_T: Tensor,
    ref_logprobs_B_T: Tensor,
    mask_B_T: Tensor,
    advantages: Tensor,
    *,
    beta: float,
    epsilon_low: float,
    epsilon_high: float,
) -> tuple[Tensor, dict[str, float]]:
    """-min(rho A, clip(rho, 1 - e, 1 + e) A) + beta (exp(d) - d - 1), mean over tokens, then over completions.

    rho = exp(log pi - log pi_old) and d = log pi_ref - log pi; the last term is the k3 estimate of the KL divergence.

    Args:
        logprobs_B_T: log-probabilities under the policy, with gradient.
        old_logprobs_B_T: under the policy that sampled the completions.
        ref_logprobs_B_T: under the reference policy.
        mask_B_T: 1 where a token belongs to a completion, else 0.
        advantages: as the function `advantages` gives them, shape (B,), or those of single tokens, shape (B, T).
        beta: weight of the KL term.
        epsilon_low, epsilon_high: rho is clipped to [1 - epsilon_low, 1 + epsilon_high].

    Returns:
        The loss, a scalar, and the metrics `loss` and `kl` (mean over tokens).

    Raises:
        ValueError: the shapes are not (B, T), and (B,) or (B, T) for the advantages.
    """
    shapes = {tuple(t.shape) for t in (logprobs_B_T, old_logprobs_B_T, ref_logprobs_B_T, mask_B_T)}
    if len(shapes) != 1 or advantages.shape not in (logprobs_B_T.shape[:1], logprobs_B_T.shape):
        raise ValueError(f"grpo_loss needs (B, T) four times and (B,), got {sorted(shapes)}, {advantages.shape}")
    advantages_B_T = advantages if advantages.dim() == 2 else advantages[:, None]
    ratio_B_T = torch.exp(logprobs_B_T - old_logprobs_B_T)
    clipped_B_T = ratio_B_T.clamp(1 - epsilon_low, 1 + epsilon_high)
    gain_B_T = torch.minimum(ratio_B_T * advantages_B_T, clipped_B_T * advantages_B_T)
    difference_B_T = ref_logprobs_B_T - logprobs_B_T
    kl_B_T = torch.exp(difference_B_T) - difference_B_T - 1
    tokens_B = mask_B_T.sum(1).clamp(min=1)
    loss = (((beta * kl_B_T - gain_B_T) * mask_B_T).sum(1) / tokens_B).mean()
    kl = (kl_B_T * mask_B_T).sum() / mask_B_T.sum().clamp(min=1)
    return loss, {"loss": loss.item(), "kl": kl.item()}
