"""The platform "cpu" of verl's registry."""

import types
from contextlib import contextmanager

import torch
from verl.plugin.platform import PlatformBase, PlatformRegistry


def constant(value):
    return lambda *_, **__: value


# What verl asks of torch.cuda. It is "not available", so that no memory is managed.
DEVICE = types.ModuleType("cpu_device")
for names, answer in (
    (("is_available",), False),
    (("current_device",), "cpu"),
    (("device_count",), 1),
    (("get_device_name",), "CPU"),
    (("mem_get_info",), (2**34, 2**34)),
    (("memory_allocated", "memory_reserved", "max_memory_allocated", "max_memory_reserved"), 0),
    (("set_device", "empty_cache", "synchronize", "manual_seed", "manual_seed_all", "set_rng_state"), None),
):
    for name in names:
        setattr(DEVICE, name, constant(answer))


def without_device(name):
    """A method of the platform that has nothing to do."""
    return lambda self, *_, **__: None


NOTHING = ("set_device", "synchronize", "set_allocator_settings", "empty_cache", "profiler_start", "profiler_stop")


@PlatformRegistry.register(platform="cpu")
class CPU(PlatformBase):
    """gloo ranks on one machine. The "GPU"s that Ray is told of are counters: one for each rank."""

    device_name = vendor_name = "cpu"
    device_module = DEVICE
    locals().update({name: without_device(name) for name in (*NOTHING, "cudart")})

    def is_available(self):
        return True

    def is_platform_available(self, use_smi_check=False):
        return False  # only VERL_PLATFORM=cpu asks for it

    def current_device(self):
        return "cpu"  # verl passes it to Tensor.to

    def device_count(self):
        return 1

    def manual_seed(self, seed):
        torch.manual_seed(seed)

    def manual_seed_all(self, seed):
        torch.manual_seed(seed)

    def get_device_capability(self, device_index=0):
        return None, None

    def communication_backend_name(self):
        return "gloo"

    def visible_devices_envvar(self):
        return "CUDA_VISIBLE_DEVICES"

    @contextmanager
    def nvtx_range(self, msg):
        yield

    def ray_resource_name(self):
        return "GPU"

    def ray_noset_envvars(self):
        return ["RAY_EXPERIMENTAL_NOSET_CUDA_VISIBLE_DEVICES"]

    def is_ipc_supported(self):
        return False
