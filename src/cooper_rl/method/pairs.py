"""Stage 2's pairs (paper, section 3.3): a right completion and wrong ones, each confirmed by the rule verifier."""

from __future__ import annotations

import logging
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeVar

from cooper_rl.errors import BadInputError
from cooper_rl.method.counterfactual import SOURCE as COUNTERFACTUAL
from cooper_rl.method.counterfactual import Counterfactual
from cooper_rl.method.negatives import NegativeSource, Slot
from cooper_rl.method.protocols import Alone, Ranks
from cooper_rl.records import Batch, ContrastivePair, Rollout, Verdict
from cooper_rl.settings.method import VALUED_BY_MODEL
from cooper_rl.steps import step_ends
from cooper_rl.verifiers import RuleVerifier

if TYPE_CHECKING:
    from cooper_rl.settings.method import MethodSettings

logger = logging.getLogger(__name__)
Key = TypeVar("Key", str, int)


@dataclass(frozen=True)
class PairResult:
    """The pairs of a step, and the counts behind its `pairs/*` metrics."""

    pairs: tuple[ContrastivePair, ...] = ()
    prompts: int = 0
    paired: int = 0  # prompts with at least one pair
    proposed: int = 0
    rejected: int = 0
    fallback: int = 0  # pairs that `negative_fallback` was asked for
    mined_right: float = 0.0  # estimated number of mined negatives that are right after all

    @classmethod
    def together(cls, results: Sequence[PairResult]) -> PairResult:
        """The results of several ranks added up."""
        pairs = tuple(pair for result in results for pair in result.pairs)
        counts = ("prompts", "paired", "proposed", "rejected", "fallback", "mined_right")
        return cls(pairs, **{name: sum(getattr(result, name) for result in results) for name in counts})

    def metrics(self) -> dict[str, float]:
        """`pairs/*` as logged; `yield` is the share of prompts with at least one pair."""
        mined = sum(pair.negative_source == "mined" for pair in self.pairs)
        asked = sum(pair.negative_source == COUNTERFACTUAL for pair in self.pairs)
        return {
            "pairs/yield": self.paired / max(1, self.prompts),
            "pairs/count": float(len(self.pairs)),
            "pairs/negative_reject_rate": self.rejected / max(1, self.proposed),
            "pairs/fallback": float(self.fallback),
            "pairs/mined": float(mined),
            **({"pairs/counterfactual": float(asked)} if asked else {}),
            **({"pairs/mined_right_estimate": self.mined_right / mined} if mined else {}),
        }


@dataclass
class Filled:
    """The pairs that a source's slots became, and the slots that are still open."""

    negatives: list[tuple[Slot, str]] = field(default_factory=list)
    still_open: list[Slot] = field(default_factory=list)  # the fallback source may fill these
    proposed: int = 0
    rejected: int = 0


class Pairs:
    """Builds the pairs of each batch: the sources propose, the verifier disposes.

    Draws depend on seed, step and prompt alone. A resumed run therefore draws what the uninterrupted one did, and
    several ranks together draw what one would.

    Args:
        sources: a `NegativeSource` for each name in `negative_sources` and for `negative_fallback`.
        counterfactual: makes pairs of its own beside those of the sources; None makes none.
    """

    def __init__(
        self,
        settings: MethodSettings,
        verifier: RuleVerifier,
        sources: Mapping[str, NegativeSource],
        ranks: Ranks | None = None,
        counterfactual: Counterfactual | None = None,
    ) -> None:
        self.settings = settings
        self.verifier = verifier
        self.sources, self.counterfactual = sources, counterfactual
        self.ranks = ranks or Alone()
        self.prepared: tuple[int, list[Slot]] = (-1, [])  # step, slots
        weights, count = settings.negative_sources, settings.pairs_per_prompt
        unused = ", ".join(sorted({*weights} - {*share_out(weights, count)}))
        if unused and self.ranks.rank == 0:
            logger.warning("negative_sources: pairs_per_prompt = %d leaves no pair for %s; raise it", count, unused)

    def prepare(self, batch: Batch) -> None:
        """Draws the batch's slots, so that a slow source can start to work on them."""
        self.prepared = (batch.step, self._slots(batch))
        for name, slots in group_by_source(self.prepared[1]):
            self.sources[name].begin(slots)

    def build(self, batch: Batch) -> PairResult:
        """This rank's pairs of the batch. A prompt without a valid pair is left out.

        A slot's source is asked up to `negative_tries` times for a text that the verifier finds wrong. If all tries
        fail and `negative_fallback` names a source, that one is asked as often.
        """
        step, slots = self.prepared
        if step != batch.step:
            slots = self._slots(batch)
        found: list[Filled] = []
        for _, of_source in sorted(group_by_source(slots), key=lambda item: not self.sources[item[0]].judged):
            found.append(self._fill(of_source, batch))
        unfilled = [slot for filled in found for slot in filled.still_open]
        fallback = self.settings.negative_fallback != "none"
        if fallback and unfilled:
            for slot in unfilled:
                slot.negative_source = self.settings.negative_fallback
            found.append(self._fill(unfilled, batch))
        own = [group for group in batch.groups() if group % self.ranks.size == self.ranks.rank]
        negatives = [(slot, text) for filled in found for slot, text in filled.negatives]
        pairs = [slot.pair(text) for slot, text in negatives]
        if self.settings.prefix_weight:
            groups = (slot.group for slot, _ in negatives)
            kind, valued = self.settings.credit_steps, self.settings.credit in VALUED_BY_MODEL
            pairs = [mark_parting(*each, kind, valued=valued) for each in zip(pairs, groups, strict=True)]
        added = self.counterfactual.pairs(batch, own) if self.counterfactual else []
        return PairResult(
            pairs=(*pairs, *(pair for _, pair in added)),
            prompts=len(own),
            paired=len({*(slot.group[0].group for slot, _ in negatives), *(group for group, _ in added)}),
            proposed=sum(filled.proposed for filled in found),
            rejected=sum(filled.rejected for filled in found),
            fallback=len(unfilled) if fallback else 0,
            mined_right=sum(slot.right_estimate(text) for slot, text in negatives if slot.negative_source == "mined"),
        )

    def end_step(self) -> dict[str, float]:
        """The sources' own metrics of the step."""
        return {name: value for source in self.sources.values() for name, value in source.end_step().items()}

    def _slots(self, batch: Batch) -> list[Slot]:
        """The slots of this rank's prompts, each with its positive. Prompts are shared out by their number."""
        drawn: list[Slot] = []
        groups = batch.groups()
        counts = dict.fromkeys(groups, self.settings.pairs_per_prompt)
        if not self.settings.pairs_balanced:
            counts = count_by_wrong(groups, self.settings)
        for index, group in groups.items():
            if index % self.ranks.size != self.ranks.rank:
                continue
            rng = random.Random(f"{self.settings.seed}-{batch.step}-{index}")
            for source in share_out(self.settings.negative_sources, counts[index]):
                positive = draw_positive(group, self.settings, rng)
                if positive is not None:
                    drawn.append(Slot(group, *positive, source, rng))
        return self._without_wrong_worked_solutions(drawn)

    def _without_wrong_worked_solutions(self, slots: list[Slot]) -> list[Slot]:
        """Leaves out slots whose positive is a worked solution that the rule does not find CORRECT."""
        worked = [slot for slot in slots if slot.positive_source == "worked_solution"]
        verdicts = self.verifier.verify_many([s.references for s in worked], [s.positive for s in worked])
        refused = {slot for slot, verdict in zip(worked, verdicts, strict=True) if verdict is not Verdict.CORRECT}
        return [slot for slot in slots if slot not in refused]

    def _fill(self, slots: Sequence[Slot], batch: Batch) -> Filled:
        """Asks a source for the negatives of its slots. All slots have the same source."""
        source = self.sources[slots[0].negative_source]
        if source.judged:
            rows = list(zip(slots, propose(source, slots, batch, 0), strict=True))
            made = [(slot, text) for slot, text in rows if text is not None and text != slot.positive]
            filled_slots = {slot for slot, _ in made}
            return Filled(made, still_open=[slot for slot in slots if slot not in filled_slots])
        filled = Filled(still_open=list(slots))
        for attempt in range(self.settings.negative_tries):
            if not filled.still_open:
                break
            texts = propose(source, filled.still_open, batch, attempt)
            made = [(slot, text) for slot, text in zip(filled.still_open, texts, strict=True) if text is not None]
            judged = self.verifier.explain_many([s.references for s, _ in made], [text for _, text in made])
            for (slot, text), verification in zip(made, judged, strict=True):
                filled.proposed += 1
                if source.accepts(verification) and text != slot.positive:
                    filled.negatives.append((slot, text))
                    filled.still_open.remove(slot)
                else:
                    filled.rejected += 1
        return filled


def propose(source: NegativeSource, slots: Sequence[Slot], batch: Batch, attempt: int) -> list[str | None]:
    """A source's proposals.

    Raises:
        BadInputError: it does not give a text, or None, for each slot.
    """
    found = source.propose(slots, batch, attempt)
    name = f"negative source {slots[0].negative_source!r}"
    if len(found) != len(slots):
        raise BadInputError(f"{name}: proposed {len(found)} texts for {len(slots)} slots; give one, or None, for each")
    others = [text for text in found if not isinstance(text, str | None)]
    if others:
        raise BadInputError(f"{name}: proposed a {type(others[0]).__name__}; give a text, or None, for each slot")
    return list(found)


def group_by_source(slots: Iterable[Slot]) -> Iterator[tuple[str, list[Slot]]]:
    """(source, its slots), in the order in which the sources first occur."""
    found: dict[str, list[Slot]] = {}
    for slot in slots:
        found.setdefault(slot.negative_source, []).append(slot)
    yield from found.items()


def draw_positive(group: Sequence[Rollout], settings: MethodSettings, rng: random.Random) -> tuple[str, str] | None:
    """(text, source) of a positive drawn uniformly among the CORRECT rollouts, or None.

    With probability `positive_label_noise` it is drawn from the others instead (the precision ablation). Where no
    rollout is CORRECT, `positive_fallback` may name the problem's worked solution.
    """
    right = [r.completion for r in group if r.verdict is Verdict.CORRECT]
    others = [r.completion for r in group if r.verdict is not Verdict.CORRECT]
    if others and rng.random() < settings.positive_label_noise:
        return rng.choice(others), "rollout"
    if right:
        return rng.choice(right), "rollout"
    if settings.positive_fallback == "worked_solution" and group[0].sample.worked_solution:
        return group[0].sample.worked_solution, "worked_solution"
    return None


def count_by_wrong(groups: Mapping[int, Sequence[Rollout]], settings: MethodSettings) -> dict[int, int]:
    """How many pairs each prompt has where those with a positive share them by wrong rollouts; all ranks agree."""
    worked = settings.positive_fallback == "worked_solution"
    paired = {
        index: float(sum(r.teachable_as_wrong for r in group))
        for index, group in groups.items()
        if any(r.verdict is Verdict.CORRECT for r in group) or (worked and group[0].sample.worked_solution)
    }
    shared = Counter(share_out(paired, settings.pairs_per_prompt * len(paired)))
    return {index: shared[index] for index in groups}


def share_out(weights: Mapping[Key, float], pairs: int) -> list[Key]:
    """The source of each of a prompt's pairs, or the prompt of a step's, by weight with the largest remainders."""
    total = sum(weights.values())
    exact = {source: weight / total * pairs for source, weight in weights.items() if weight > 0}
    counts = {source: int(share) for source, share in exact.items()}
    by_remainder = sorted(exact, key=lambda source: counts[source] - exact[source])
    for source in by_remainder[: pairs - sum(counts.values())]:
        counts[source] += 1
    return [source for source, count in counts.items() for _ in range(count)]


def mark_parting(pair: ContrastivePair, group: Sequence[Rollout], kind: str, *, valued: bool) -> ContrastivePair:
    """The pair with `at`: of the negative's steps from the first that differs on, the one with the highest value.

    After it stage 2 compares the two completions as well: there the reward model is the most wrong about a mined
    exploit. Where the negative's steps have no values, it is the first step that differs. A pair that parts at the
    negative's last step only has none.

    Args:
        group: the prompt's rollouts.
        kind: what the steps are, as in `step_ends`.
        valued: whether the rollouts' step values are the reward model's.
    """
    ends = step_ends(pair.negative, kind)
    right = [pair.positive[:end] for end in step_ends(pair.positive, kind)]
    first = sum(pair.negative[:end] in right for end in ends)
    steps = range(first, len(ends) - 1)
    values = next((r.step_values for r in group if valued and r.completion == pair.negative and r.step_values), ())
    at = max(steps, key=lambda step: values[step] if values else -step, default=None)
    return replace(pair, at=at)
