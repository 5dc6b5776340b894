"""Puts the method together from its settings."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from cooper_rl.errors import BadInputError
from cooper_rl.method.alarm import AcceptanceAlarm, HackingAlarm
from cooper_rl.method.counterfactual import Counterfactual, threshold_of
from cooper_rl.method.doubt import Doubt
from cooper_rl.method.guard import Guard
from cooper_rl.method.journal import Journal
from cooper_rl.method.labelled import Labelled
from cooper_rl.method.loop import Cooper
from cooper_rl.method.monitor import Audit, Monitor, Schedule
from cooper_rl.method.negatives import NegativeSource, find_source
from cooper_rl.method.pairs import Pairs
from cooper_rl.method.protocols import REWARD_MODEL_GROUP, REWARD_MODELS, Alone, Ranks, RewardModel
from cooper_rl.method.reward import make_reward
from cooper_rl.parts import check_contract, find
from cooper_rl.records import LabelledCompletion
from cooper_rl.settings.files import check_file, local_file
from cooper_rl.verifiers import RuleVerifier
from cooper_rl.verifiers.kinds import misses_per_hit

if TYPE_CHECKING:
    from cooper_rl.settings.method import CooperSettings, MethodSettings

logger = logging.getLogger(__name__)


def make_cooper(
    settings: MethodSettings,
    verifier: RuleVerifier,
    reward_model: RewardModel | None,
    *,
    assistant: Callable[[], NegativeSource] | None = None,
    rehearsal: Sequence[LabelledCompletion] = (),
    anchors: Sequence[LabelledCompletion] = (),
    ranks: Ranks | None = None,
    journal: Journal | None = None,
) -> Cooper:
    """The method as the settings describe it.

    Args:
        assistant: makes the negative source `assistant`. It is called only where the settings ask for that source.
        rehearsal: labelled triples of the reward model's own training, for `rehearsal_per_step`.
        anchors: labelled triples that nothing is trained on. Where given, the guard checks the reward model's updates.

    Raises:
        BadInputError: a part has a name that is not known.
    """
    ranks = ranks or Alone()
    journal = journal or Journal(settings.output_dir, ranks.rank == 0, settings.rollouts_steps)
    sources = {
        name: assistant() if name == "assistant" and assistant else find_source(name)()
        for name in source_names(settings)
    }
    given = settings.rule_misses_per_hit
    misses = misses_per_hit(verifier.kind) if given is None else given
    doubt = Doubt(misses, settings.mined_max_right, reward_model if settings.reads_doubt else None)
    warn_of_no_use(settings, reward_model is not None)
    asking = None
    if reward_model is not None and settings.asked_for:
        asking = Counterfactual(settings, verifier, reward_model, ranks, read_answers(settings.counterfactual_answers))
    alone = settings.reward_model_alone_steps if settings.cotrain else 0
    schedule = Schedule(settings.reward_model_update_steps, alone)
    own = [monitor for monitor in (schedule, doubt if settings.cotrain else None, asking) if monitor]
    return Cooper(
        settings,
        verifier,
        reward_model,
        Pairs(settings, verifier, sources, ranks, asking),
        Labelled(settings, rehearsal if settings.cotrain else (), ranks, asking),
        doubt,
        asking,
        schedule,
        [*own, *make_monitors(settings, reward_model, anchors, ranks, misses)],
        ranks,
        journal,
    )


def make_verifier(settings: CooperSettings) -> RuleVerifier:
    """The rule verifier with the limits of the settings."""
    return RuleVerifier(
        settings.verifier,
        workers=settings.verifier_workers,
        deadline_seconds=settings.verifier_deadline_seconds,
        batch_seconds=settings.verifier_batch_seconds,
    )


def source_names(settings: CooperSettings) -> list[str]:
    """The negative sources that a run needs, each once."""
    if not settings.cotrain:
        return []
    names = [name for name, weight in settings.negative_sources.items() if weight > 0]
    if settings.negative_fallback != "none":
        names.append(settings.negative_fallback)
    return list(dict.fromkeys(names))


def check_parts(settings: CooperSettings, reward_model_type: str = "verifyrm") -> None:
    """Looks up every part that the settings name, before anything heavy is loaded.

    Raises:
        BadInputError: a part has a name that is not known or another kind's base class, or a reward needs a model and
            there is none.
    """
    make_reward(settings.reward)
    if reward_model_type not in REWARD_MODELS:  # ours need torch
        find(REWARD_MODEL_GROUP, reward_model_type, REWARD_MODELS)
    for name in source_names(settings):
        check_contract("negative source", name, find_source(name), NegativeSource)
    for name in settings.monitors:
        check_contract("monitor", name, find("cooper_rl.monitors", name, {}), Monitor)


def make_monitors(
    settings: MethodSettings,
    reward_model: RewardModel | None,
    anchors: Sequence[LabelledCompletion],
    ranks: Ranks,
    misses: float,
) -> list[Monitor]:
    """The monitors in their order: the audit, the alarm, the user's own, and the guard, which decides what is kept."""
    monitors: list[Monitor] = [Audit(misses)]
    if reward_model is not None:
        asks = "monitor" in settings.asked_for
        monitors.append(HackingAlarm("log" if asks else settings.alarm_action, alone=not asks))
        if asks:
            probability, threshold = settings.alarm_probability, threshold_of(settings)
            monitors.append(AcceptanceAlarm(settings.alarm_action, probability=probability, threshold=threshold))
    monitors += [find("cooper_rl.monitors", name, {})() for name in settings.monitors]
    if reward_model is not None and settings.cotrain and anchors and settings.guard_steps:
        monitors.append(Guard(settings, reward_model, anchors, ranks))
    return monitors


def warn_of_no_use(settings: MethodSettings, has_reward_model: bool) -> None:
    """One line where accepted completions would be asked and nothing would come of it."""
    number, uses = settings.counterfactual_references, settings.counterfactual_uses
    if number and not has_reward_model:
        logger.warning("counterfactual_references: arm %s has no reward model; nothing is asked", settings.arm)
    elif number != 0 and uses is not None and not {*uses} - (set() if settings.cotrain else {"negatives"}):
        message = "counterfactual_uses: %s has no effect in arm %s; choose reward or monitor"
        logger.warning(message, uses, settings.arm)


def read_answers(file: str) -> list[str]:
    """The answers in a text file, one a line; none without a file.

    Raises:
        MissingFileError: there is no such file.
        BadInputError: it is empty, or no text in UTF-8.
    """
    if not file:
        return []
    check_file(file, "counterfactual_answers")
    try:
        lines = Path(str(local_file(file))).read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise BadInputError(f"counterfactual_answers: {file}: not a text in UTF-8; save it as one") from error
    return [line.strip() for line in lines if line.strip()]
