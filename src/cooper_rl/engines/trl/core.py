"""The method in a trainer of TRL's: what the trainer tells it, and the generator that its assistant asks."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from typing import Any

from cooper_rl.devices import own_device
from cooper_rl.engines.parts import placed
from cooper_rl.engines.world import TorchWorld
from cooper_rl.errors import BadInputError
from cooper_rl.generation import Generator
from cooper_rl.generation.in_process import TransformersGenerator
from cooper_rl.method.build import make_cooper
from cooper_rl.method.journal import Journal
from cooper_rl.method.loop import Cooper
from cooper_rl.method.negatives.assistant import Assistant
from cooper_rl.settings.method import MethodSettings

ALONE = {"output_dir": "", "seed": 42}  # of a run without a trainer that tells


def make_core(reward: Any, args: Any, group_size: int) -> Cooper:
    """The method as a CooperReward's settings and parts describe it, with the folder, seed and device of the trainer.

    Args:
        args: the trainer's, or None where it is not known; then nothing is written.
        group_size: completions of a prompt.
    """
    run: dict[str, Any] = {name: getattr(args, name, usual) for name, usual in ALONE.items()}
    settings = MethodSettings(**run, num_generations=group_size, **asdict(reward.settings))
    device = args.device if args else own_device()
    world = TorchWorld(device)
    return make_cooper(
        settings,
        reward.verifier,
        None if reward.given is None else placed(reward.given, settings, device),
        assistant=lambda: make_assistant(reward, args, settings.seed),
        rehearsal=reward.rehearsal,
        anchors=reward.anchors,
        world=world,
        journal=Journal(settings.output_dir, writes=world.rank == 0 and args is not None),
    )


def make_assistant(reward: Any, args: Any, seed: int) -> Assistant:
    """The negative source `assistant`: the generator that was given, or the policy's base model."""
    generator = reward.assistant
    if generator is None:
        base = reward.callback.base_generator or partial(copy_of_policy, reward.callback.model)
        generator = base()
        if isinstance(generator, TransformersGenerator):
            generator.template = getattr(args, "chat_template_kwargs", None)
    return Assistant(generator, getattr(args, "max_completion_length", None) or 512, seed)


def copy_of_policy(model: Any) -> Generator:
    """The policy as it was loaded, which every rank has for itself.

    Raises:
        BadInputError: it was not loaded from anywhere.
    """
    name = getattr(getattr(model, "config", None), "_name_or_path", "")
    if not name:
        raise BadInputError(
            "negative source assistant: there is no model that could rewrite; give assistant=..., or other sources, as"
            " in negative_sources={'mined': 1, 'perturb': 1}"
        )
    return TransformersGenerator.from_pretrained(name)


def base_of(trainer: Any) -> Generator:
    """A trainer's reference policy; a copy where it has none, or where it is sharded and ranks would wait for it."""
    if trainer.ref_model is None or trainer.is_fsdp_enabled or trainer.is_deepspeed_enabled:
        return copy_of_policy(trainer.model)
    reference = trainer.accelerator.unwrap_model(trainer.ref_model)
    return TransformersGenerator(reference, trainer.processing_class, bf16=trainer.args.bf16)
