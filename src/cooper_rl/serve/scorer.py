"""Scores the samples of calls, several calls at once, and records the answers before anyone gets them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cooper_rl.method.loop import Cooper
from cooper_rl.records import Rollout, Sample
from cooper_rl.serve.ledger import Entry, Ledger
from cooper_rl.serve.wire import Answer, RefusedError, SampleBody, ScoreAnswer, ScoreBody, join_answers
from cooper_rl.settings.asking import ServeSettings

GATHERED = "gather:"  # begins the ids of the batches that the server gathers
Key = tuple[str, str]  # stream and id of a sample
Found = tuple[bytes, Answer]


@dataclass(frozen=True)
class Draft:
    """A call, and those of its samples that have no answer yet."""

    call: ScoreBody
    stream: str  # within which ids are unique; a batch, or a name under which the server gathers
    known: Mapping[str, Answer]
    new: Mapping[str, tuple[bytes, SampleBody]]  # by their ids, with their fingerprints

    @property
    def recorded(self) -> bool:
        """Whether the call belongs to a batch. Other calls are only scored."""
        return bool(self.call.batch or self.call.gather)


class Scorer:
    """Answers calls from the record, and what is not in it from the verifier and the reward model."""

    def __init__(self, cooper: Cooper, ledger: Ledger, settings: ServeSettings) -> None:
        self.cooper, self.ledger, self.settings = cooper, ledger, settings
        self.completed: list[str] = []  # batches that were completed and that nobody has taken note of yet

    @property
    def version(self) -> int:
        """How many updates the reward model has had."""
        return self.cooper.reward_model.version if self.cooper.reward_model else 0

    def score(self, calls: Sequence[ScoreBody]) -> list[ScoreAnswer | RefusedError]:
        """The answer to each call, or why it is refused. A call that is refused changes nothing."""
        drafts: list[Draft | RefusedError] = []
        taken: dict[Key, bytes] = {}
        for place, call in enumerate(calls):
            try:
                drafts.append(self._draft(call, f"call:{place}", taken))
            except RefusedError as error:
                drafts.append(error)
        accepted = [draft for draft in drafts if isinstance(draft, Draft)]
        rollouts, seconds = self._judge(accepted)
        version = self.version
        fresh = {key: Answer.of(rollout, version) for key, rollout in rollouts.items()}
        if any(draft.recorded for draft in accepted):
            with self.ledger.writing():
                for draft in accepted:
                    self._record(draft, rollouts, fresh, seconds / max(1, len(rollouts)))
        return [draft if isinstance(draft, RefusedError) else self._answer(draft, fresh, version) for draft in drafts]

    def _answer(self, draft: Draft, fresh: Mapping[Key, Answer], version: int) -> ScoreAnswer:
        found = (draft.known.get(sample.id) or fresh[draft.stream, sample.id] for sample in draft.call.samples)
        return join_answers(found, version)

    def _draft(self, call: ScoreBody, alone: str, taken: dict[Key, bytes]) -> Draft:
        """What is left to do of a call. `taken` holds what earlier calls of the same round do.

        Raises:
            RefusedError: it contradicts what was recorded, or is one batch too many.
        """
        if call.batch.startswith(GATHERED):
            raise RefusedError(400, f"batch {call.batch!r}: ids that begin so are the server's own")
        stream = f"batch:{call.batch}" if call.batch else f"{GATHERED}{call.gather}" if call.gather else alone
        before = {} if stream == alone else self.ledger.find_answers(stream, [sample.id for sample in call.samples])
        new = {}
        for sample in call.samples:
            digest = sample.digest()
            recorded = before[sample.id][0] if sample.id in before else taken.get((stream, sample.id))
            if recorded is None:
                new[sample.id] = (digest, sample)
            elif recorded != digest:
                raise RefusedError(
                    409, f"sample {sample.id!r}: another text was answered under this id; give it a new id"
                )
        if call.batch:
            self._check_batch(call, len(new))
        elif call.gather and self.ledger.open_batch(stream) is None:
            self._check_open()
        taken.update({(stream, id): digest for id, (digest, _) in new.items()})
        return Draft(call, stream, {id: answer for id, (_, answer) in before.items()}, new)

    def _check_batch(self, call: ScoreBody, new: int) -> None:
        batch, limit = self.ledger.batch(call.batch), self.settings.max_batch_samples
        if batch is None:
            if not call.samples:
                raise RefusedError(400, f"batch {call.batch!r}: it has no sample")
            if not call.last:
                self._check_open()
        elif batch.completed is not None and new:
            raise RefusedError(409, f"batch {call.batch!r}: it is complete; give further samples in a new batch")
        elif batch.size + new > limit:
            raise RefusedError(413, f"batch {call.batch!r}: it would have more than {limit} samples")

    def _check_open(self) -> None:
        limit = self.settings.max_open_batches
        if self.ledger.count("completed IS NULL") >= limit:
            raise RefusedError(429, f"{limit} batches are not complete; complete one of them first")

    def _judge(self, drafts: Sequence[Draft]) -> tuple[dict[Key, Rollout], float]:
        """The rollouts of all new samples, judged and scored together, and the seconds that it took.

        Of one prompt, the samples that come together help each other (`method.doubt`).
        """
        keys: list[Key] = []
        samples: list[Sample] = []
        prompts: dict[Key, int] = {}
        for draft in drafts:
            for _, body in draft.new.values():
                group = prompts.setdefault((draft.stream, body.prompt), len(prompts))
                texts = body.question, body.reference_answer, body.completion, body.problem_id, body.worked_solution
                aliases = tuple(filter(str.strip, body.aliases))
                samples.append(Sample(*texts, group=group, aliases=aliases))
                keys.append((draft.stream, body.id))
        if not samples:
            return {}, 0.0
        batch = self.cooper.judge_alone(samples, step=self.version + 1)  # learned from in that step, as a rule
        return dict(zip(keys, batch.rollouts, strict=True)), batch.seconds

    def _record(
        self, draft: Draft, rollouts: Mapping[Key, Rollout], fresh: Mapping[Key, Answer], seconds: float
    ) -> None:
        entries = [
            Entry(id, sample.prompt, digest, fresh[draft.stream, id], rollouts[draft.stream, id])
            for id, (digest, sample) in draft.new.items()
        ]
        if draft.call.gather:
            self._gather(draft, entries, seconds)
        elif draft.call.batch:
            batch = self.ledger.batch(draft.call.batch) or self.ledger.begin(draft.call.batch, draft.stream)
            self.ledger.add(batch, draft.stream, entries, seconds * len(entries))
            if draft.call.last and batch.completed is None:
                self.ledger.complete(batch)
                self.completed.append(batch.id)

    def _gather(self, draft: Draft, entries: list[Entry], seconds: float) -> None:
        """Adds samples to the stream's open batch; each time it is full, it is complete and a new one is begun."""
        while entries:
            batch = self.ledger.open_batch(draft.stream)
            if batch is None:
                number = self.ledger.count("stream = ?", draft.stream) + 1
                batch = self.ledger.begin(f"{draft.stream}:{number}", draft.stream)
            room = max(0, self.settings.gathered - batch.size)  # 0: gather_samples was made smaller on resume
            some, entries = entries[:room], entries[room:]
            self.ledger.add(batch, draft.stream, some, seconds * len(some))
            if len(some) == room:
                self.ledger.complete(batch)
                self.completed.append(batch.id)
