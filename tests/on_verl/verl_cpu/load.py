"""Registers the platform "cpu", the FSDP engine on it, and the rollout server "seeded"."""

import sys  # noqa: I001  # the order below matters
import time

import cooper_rl.engines.verl.plugin  # noqa: F401  # verl loads it after this module, and what follows needs it
import verl_cpu.platform  # noqa: F401  # before the modules of verl that ask for the platform
import verl.utils.distributed as distributed
from verl.workers.engine import EngineRegistry
from verl.workers.engine.fsdp import transformer_impl
from verl.workers.rollout.base import _ROLLOUT_REGISTRY
from verl.workers.rollout.replica import RolloutReplicaRegistry

from verl_cpu.platform import constant


if "vllm" in sys.modules:  # a process of vLLM's: its CPU kernels would drop the weights as they were loaded
    import vllm._custom_ops as ops

    ops._supports_onednn = False


def with_gloo(timeout_second=None, backend=None, start=distributed.initialize_global_process_group_ray):
    """verl asks torch for the backend "cpu:gloo,cpu:gloo", which torch refuses."""
    return start(timeout_second, backend or "gloo")


distributed.initialize_global_process_group_ray = with_gloo
EngineRegistry.register(model_type="language_model", backend=["fsdp2"], device="cpu")(
    transformer_impl.FSDPEngineWithLMHead
)
transformer_impl.CPUOffloadPolicy = constant(None)  # the reference policy's: it pins memory, which needs a device


def seeded():
    from verl_cpu.rollouts import SeededReplica

    return SeededReplica


def ask_again(self, _, last_told):
    """verl asks every two seconds whether all rollouts are there. nano's take less."""
    time.sleep(0.1)
    return last_told


from verl.trainer.ppo.v1.replay_buffer import ReplayBuffer  # noqa: E402  # it reads what is replaced above

ReplayBuffer._wait_for_next_poll = ask_again
RolloutReplicaRegistry.register("seeded", seeded)
_ROLLOUT_REGISTRY["seeded", "async"] = "verl_cpu.rollouts.SeededAdapter"
