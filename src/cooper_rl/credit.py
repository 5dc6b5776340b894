"""Credit: what part of a completion's advantage each of its steps gets. (Ours, not the paper's.)

Off by default (`credit: outcome`). An engine imports this module only where the setting asks for it.

In a group, A_i is the advantage of completion i, and v_is the value after its step s: the reward model's probability
that the completion will be right. The value after the last step is the score. w is `credit_weight`.

    outcome         A_is = A_i
    first_error     A_is = 0 where A_i < 0 and s comes before the first step with v < 0.5, else A_i (VPPO, 2601.18984)
    centred         A_is = A_i + w (v_is - mean v), over the group's steps with A of the same sign (PROGRS, 2604.02341)
    difference      A_is = A_i + w (v_is - v_i(s-1)), where v_i0 is the group's mean score
    reference_gain  as difference, v being the policy's probability of the reference answer (GRPO-VPS, 2604.20659)
    random          as centred, with the group's own parts shuffled over its steps
    shared_prefix   A_is = mean A of the group's completions that begin as i does up to step s

In a group whose advantages are all 0 every step gets 0: without an outcome to tell apart, values alone teach nothing.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from statistics import fmean
from typing import Any, cast

import torch
import torch.nn.functional as F
from torch import Tensor

from cooper_rl.errors import BadInputError
from cooper_rl.generation.in_process import render_chat
from cooper_rl.method.loop import Cooper
from cooper_rl.method.protocols import ValuesSteps
from cooper_rl.packing import buckets, pad, tokens_of_a_pass
from cooper_rl.records import THRESHOLD, Batch, Rollout, Sample
from cooper_rl.settings.method import VALUED_BY_MODEL
from cooper_rl.steps import first_below, step_ends, tokens_before

TOKENS_OF_LOGITS = 4096  # of a pass whose logits are wanted: with a vocabulary of 150,000 up to 2.5 GB
CUE = " The answer is"  # stands between the beginning of a completion and the reference answer
Ends = Sequence[Sequence[int]]
Values = Sequence[Sequence[float]]


class Credit:
    """Values the steps of completions while the core judges them, and shares their advantages out.

    Args:
        core: the method; it asks this object for scores from now on.
        policy: gives the policy, whose values `reference_gain` needs.

    Raises:
        BadInputError: the reward model does not value steps, and the credit needs it to.
    """

    def __init__(self, core: Cooper, tokenizer: Any = None, policy: Callable[[], Any] | None = None) -> None:
        self.core, self.settings, self.kind = core, core.settings, core.settings.credit
        self.tokenizer, self.policy = tokenizer, policy
        self.prompts: Sequence[Sequence[int]] = ()  # token ids of the prompts of the samples that are scored next
        self.valued_by_model = self.kind in VALUED_BY_MODEL
        if self.valued_by_model and not hasattr(core.reward_model, "step_values"):
            raise BadInputError(f"credit = {self.kind}: it needs a reward model that values steps; set outcome")
        core.value_steps = self.value_steps

    def value_steps(self, samples: Sequence[Sample]) -> tuple[Sequence[float], list[tuple[Any, Any]]]:
        """Scores, and for each sample where its steps end and their values.

        Both come from one pass of the reward model. The scores are empty where it values no steps.
        """
        ends = [tuple(step_ends(sample.completion, self.settings.credit_steps)) for sample in samples]
        scores: Sequence[float] = ()
        values: Values = [()] * len(samples)
        if self.valued_by_model:
            whole = [ends_S or (len(sample.completion),) for ends_S, sample in zip(ends, samples, strict=True)]
            found = cast(ValuesSteps, self.core.reward_model).step_values(samples, whole)
            scores = [values_S[-1] for values_S in found]
            values = [values_S[: len(ends_S)] for values_S, ends_S in zip(found, ends, strict=True)]
        elif self.kind == "reference_gain":
            values = self.ask_policy(samples, ends)
        return scores, list(zip(ends, map(tuple, values), strict=True))

    def ask_policy(self, samples: Sequence[Sample], ends: Ends) -> Values:
        """The policy's own values of steps."""
        assert self.policy
        found: Values = reference_values(self.policy(), self.tokenizer, self.prompts, samples, ends)
        return found

    def share(self, batch: Batch, advantages: Sequence[float]) -> list[list[tuple[int, float]]]:
        """Where the steps of this rank's samples end, and the advantage of each.

        Args:
            advantages: those of this rank's samples. Every rank makes this call.
        """
        ranks = self.core.ranks.gather([list(advantages)])
        flat = iter([advantage for rank in ranks for advantage in rank])
        rng = random.Random(f"credit-{self.settings.seed}-{batch.step}")
        found = []
        for group in batch.groups().values():
            own = [next(flat) for _ in group]
            steps = step_advantages(self.kind, group, own, self.settings.credit_weight, rng)
            found += [list(zip(r.step_ends, steps_S, strict=True)) for r, steps_S in zip(group, steps, strict=True)]
        first = sum(map(len, ranks[: self.core.ranks.rank]))
        return found[first : first + len(advantages)]

    def share_over_tokens(
        self, batch: Batch, completions: Sequence[Sequence[int]], advantages_B: Tensor, length: int
    ) -> Tensor:
        """The advantage of each token of this rank's completions, shape (B, length)."""
        steps = self.share(batch, advantages_B.tolist())
        return token_advantages(self.tokenizer, completions, steps, advantages_B, length)


class TrainerCredit(Credit):
    """The credit in a trainer of TRL's: the advantages of its batches become those of tokens, (B, T).

    Raises:
        BadInputError: the credit needs the whole policy on each rank, and it is sharded.
    """

    def __init__(self, trainer: Any) -> None:
        check_credit(trainer.reward.settings.credit, sharded=trainer.is_fsdp_enabled or trainer.is_deepspeed_enabled)
        reward, whole = trainer.reward, trainer._generate_and_score_completions
        super().__init__(
            reward.build(), trainer.processing_class, lambda: trainer.accelerator.unwrap_model(trainer.model)
        )
        self.template = trainer.args.chat_template_kwargs
        self.given: Sequence[Any] = ()  # the prompts, as the trainer has them
        self.completions: Sequence[Sequence[int]] = ()

        def generate_and_score(inputs: Any) -> dict[str, Any]:
            output: dict[str, Any] = whole(inputs)
            if reward.batch is not None:
                advantages_B, length = output["advantages"], output["completion_ids"].shape[1]
                output["advantages"] = self.share_over_tokens(reward.batch, self.completions, advantages_B, length)
            return output

        trainer._generate_and_score_completions = generate_and_score

    def take(self, prompts: Sequence[Any], completions: Sequence[Sequence[int]]) -> None:
        """Takes in what is scored next: prompts, and token ids of completions."""
        self.given, self.completions = prompts, completions

    def ask_policy(self, samples: Sequence[Sample], ends: Ends) -> Values:
        self.prompts = [  # as TRL encodes them: a plain prompt gets the tokenizer's first token, a template its own
            self.tokenizer(prompt)["input_ids"]
            if isinstance(prompt, str)
            else self.tokenizer(render_chat(self.tokenizer, [prompt], self.template)[0], add_special_tokens=False)[
                "input_ids"
            ]
            for prompt in self.given
        ]
        return super().ask_policy(samples, ends)


def check_credit(credit: str, *, sharded: bool) -> None:
    """Refuses a credit that needs the whole policy on each rank, where it is sharded."""
    if credit == "reference_gain" and sharded:
        raise BadInputError(
            "credit = reference_gain: a sharded policy values no steps; run it without FSDP and DeepSpeed"
        )


def step_advantages(
    credit: str, group: Sequence[Rollout], advantages: Sequence[float], weight: float, rng: random.Random
) -> list[list[float]]:
    """The advantage of each step of a group's rollouts, by the equations above.

    Args:
        credit: the setting of this name.
        advantages: those of the rollouts, which GRPO gave them.
        weight: `credit_weight`.
        rng: shuffles for `random`.
    """
    outcome = [[a] * len(r.step_ends) for r, a in zip(group, advantages, strict=True)]
    if credit == "outcome" or not any(advantages) or len({rollout.reward for rollout in group}) == 1:
        return outcome  # equal rewards may have advantages that are not quite 0, by rounding
    if credit == "shared_prefix":
        return shared_prefix(group, advantages)
    if credit == "first_error":
        return first_error(group, advantages)
    if credit == "difference":
        own = differences(group, [rollout.score for rollout in group])
    elif credit == "reference_gain":
        own = differences(group, [rollout.step_values[-1] for rollout in group if rollout.step_values])
    else:
        own = centred(group, advantages)
    if credit == "random":
        parts = [part for own_S in own for part in own_S]
        rng.shuffle(parts)
        shuffled = iter(parts)
        own = [[next(shuffled) for _ in own_S] for own_S in own]
    return [
        [a + weight * part for a, part in zip(a_S, own_S, strict=True)] for a_S, own_S in zip(outcome, own, strict=True)
    ]


def first_error(group: Sequence[Rollout], advantages: Sequence[float]) -> list[list[float]]:
    """Nothing before a wrong completion's first value below 0.5. Where there is no such value, no step is spared."""
    found = []
    for rollout, advantage in zip(group, advantages, strict=True):
        first = first_below(rollout.step_values, THRESHOLD) if advantage < 0 else 0
        found.append([0.0 if step < first else advantage for step in range(len(rollout.step_ends))])
    return found


def centred(group: Sequence[Rollout], advantages: Sequence[float]) -> list[list[float]]:
    """How far each value is above the mean of the group's steps with an advantage of the same sign."""
    found: list[list[float]] = [[] for _ in group]
    for wrong in (True, False):
        rows = [row for row, advantage in enumerate(advantages) if (advantage < 0) is wrong]
        values = [value for row in rows for value in group[row].step_values]
        mean = fmean(values) if values else 0.0
        for row in rows:
            found[row] = [value - mean for value in group[row].step_values]
    return found


def differences(group: Sequence[Rollout], lasts: Sequence[float]) -> list[list[float]]:
    """How much each step raises the value. Before the first step it is the mean of `lasts`, the group's last values."""
    start = fmean(lasts) if lasts else 0.0
    return [
        [value - before for before, value in zip((start, *r.step_values), r.step_values, strict=False)] for r in group
    ]


def shared_prefix(group: Sequence[Rollout], advantages: Sequence[float]) -> list[list[float]]:
    """The mean advantage of the completions that begin as this one does, up to each of its steps."""
    begun = [{rollout.completion[:end] for end in rollout.step_ends} for rollout in group]
    rows = list(zip(begun, advantages, strict=True))
    return [
        [fmean(a for prefixes, a in rows if rollout.completion[:end] in prefixes) for end in rollout.step_ends]
        for rollout in group
    ]


def token_advantages(
    tokenizer: Any,
    completions: Sequence[Sequence[int]],
    steps: Sequence[Sequence[tuple[int, float]]],
    advantages_B: Tensor,
    length: int,
) -> Tensor:
    """The advantage of each token, shape (B, length): that of the step which the token ends in.

    What follows the last step, such as the end of the completion, has the last step's. A completion without steps
    keeps its own advantage.

    Args:
        completions: token ids of each completion; its steps lie in the text that they decode to.
        steps: for each step of a completion the offset just after it, and its advantage (`Credit.share`).
        advantages_B: the completions' own advantages.
    """
    found_B_T = advantages_B[:, None].repeat(1, length)
    places: dict[tuple[int, ...], list[int]] = {}  # of equal completions once
    for row, (ids_T, steps_S) in enumerate(zip(completions, steps, strict=True)):
        if not steps_S:
            continue
        ids = tuple(ids_T)
        if ids not in places:
            places[ids] = tokens_before(tokenizer, ids, [end for end, _ in steps_S[:-1]])
        for start, (_, advantage) in zip((0, *places[ids]), steps_S, strict=True):
            found_B_T[row, start:] = advantage
    return found_B_T


@torch.no_grad()  # type: ignore[untyped-decorator]
def reference_values(
    policy: Any,
    tokenizer: Any,
    prompts: Sequence[Sequence[int]],
    samples: Sequence[Sample],
    ends: Ends,
) -> Values:
    """The policy's probability of the reference answer after each step, as if it stopped there to state its answer.

    It is the geometric mean over the reference answer's tokens, from 0 to 1 (GRPO-VPS, arXiv 2604.20659).

    Args:
        prompts: token ids of each sample's prompt.
        ends: offsets of characters just after the steps.
    """
    cue = tokenizer(CUE, add_special_tokens=False)["input_ids"]
    rows: dict[tuple[int, ...], int] = {}  # each sequence once, with the number of its answer's tokens
    places: list[list[tuple[int, ...]]] = []
    for prompt, sample, ends_S in zip(prompts, samples, ends, strict=True):
        answer = tokenizer(f" {sample.reference_answer}", add_special_tokens=False)["input_ids"]
        begun = [tokenizer(sample.completion[:end], add_special_tokens=False)["input_ids"] for end in ends_S]
        places.append([(*prompt, *ids, *cue, *answer) for ids in begun])
        rows |= dict.fromkeys(places[-1], len(answer))
    sequences, training = list(rows), policy.training
    values: dict[tuple[int, ...], float] = {}
    policy.eval()
    lengths = list(map(len, sequences))
    at_once = min(tokens_of_a_pass(policy.device.type), TOKENS_OF_LOGITS)
    for batch in buckets(range(len(sequences)), lengths, at_once):
        own = [sequences[row] for row in batch]
        found = answer_values(policy, own, [rows[sequence] for sequence in own], tokenizer.pad_token_id)
        values |= dict(zip(own, found, strict=True))
    policy.train(training)
    return [[values[sequence] for sequence in own] for own in places]


def answer_values(policy: Any, ids_B_T: Sequence[Sequence[int]], lasts_B: Sequence[int], pad_id: int) -> list[float]:
    """The geometric mean of the probabilities of each sequence's last tokens, `lasts_B` of them.

    Logits are computed only where one of the sequences has such a token.
    """
    rows = torch.tensor([row for row, count in enumerate(lasts_B) for _ in range(count)])
    ends = zip(ids_B_T, lasts_B, strict=True)
    places = torch.tensor([place for ids, count in ends for place in range(len(ids) - count, len(ids))])
    ids, mask = pad(ids_B_T, pad_id)
    kept, slots = (places - 1).unique(return_inverse=True)  # a token is predicted by the one before
    inputs = {"input_ids": ids, "attention_mask": mask, "logits_to_keep": kept}
    logits_B_K_V = policy(**{name: tensor.to(policy.device) for name, tensor in inputs.items()}).logits
    logits_N_V = logits_B_K_V[rows.to(policy.device), slots.to(policy.device)].float()
    logprobs_N = -F.cross_entropy(logits_N_V, ids[rows, places].to(policy.device), reduction="none").cpu()
    return [own.mean().exp().item() for own in logprobs_N.split(list(lasts_B))]
