"""What would be wrong or hang on several ranks: on two gloo processes, or with the switch of a sharded policy set."""

import json
import os
import subprocess
from types import SimpleNamespace

import pytest
import torch
from transformers import PreTrainedModel, TrainingArguments
from transformers.integrations import deepspeed

from cooper_rl.checkpoints import complete_checkpoint
from cooper_rl.distributed import add_up_all, loading_whole
from cooper_rl.engines.config import CooperConfig
from cooper_rl.engines.loading import place_model
from cooper_rl.errors import BadInputError
from cooper_rl.fast.decode import complete
from cooper_rl.generation.in_process import TransformersGenerator
from cooper_rl.records import LabelledCompletion
from cooper_rl.settings.files import resolve_model
from cooper_rl.settings.reward_model import RewardModelTrainConfig
from cooper_rl.verifyrm import VerifyRM
from cooper_rl.verifyrm.rm_trainer import RewardModelTrainer
from ranks import TWO_RANKS

BATCHES = """
import sys, torch
from cooper_rl.records import LabelledCompletion
from cooper_rl.settings.files import resolve_model
from cooper_rl.settings.reward_model import RewardModelTrainConfig
from cooper_rl.verifyrm import VerifyRM
from cooper_rl.verifyrm.rm_trainer import RewardModelTrainer
texts = [LabelledCompletion(f"What is {i}?", str(i), f"It is {i}." * (1 + i % 5), True) for i in range(37)]
path = resolve_model("nano", "reward_model")
config = RewardModelTrainConfig(model_name_or_path=path, train_files=["unused"], output_dir=sys.argv[1],
                                per_device_train_batch_size=4)
trainer = RewardModelTrainer(VerifyRM.from_pretrained(path), texts, [], config)
steps = [batch["labels"].numel() for batch in trainer.get_train_dataloader()]
sys.stdout.write(f"ranks {trainer.buckets.at_once}, batches {len(steps)}\\n")
"""
DIFFERENT = """
import os, sys, torch
import torch.distributed as dist
from cooper_rl.distributed import check_same
from cooper_rl.engines.config import CooperConfig
from cooper_rl.engines.loading import place_model
from cooper_rl.errors import BadInputError
from cooper_rl.settings.files import resolve_model
from cooper_rl.verifyrm import VerifyRM
dist.init_process_group("gloo")
weights = [torch.ones(3)]
check_same(weights, "reward model")
try:
    check_same([torch.zeros(3)] if dist.get_rank() else weights, "reward model")
except BadInputError as error:
    sys.stdout.write(f"refused: {error}\\n")
for sharded in (False, True):
    model = VerifyRM.from_pretrained(resolve_model("nano", "reward_model"))
    if dist.get_rank():
        for each in model.model.parameters():
            each.data.zero_()
    try:
        place_model(model, CooperConfig(output_dir="unused", reward_model_sharded=sharded))
    except BadInputError as error:
        sys.stdout.write(f"refused: {error}\\n")
dist.destroy_process_group()
"""

SHARES = """
import sys, torch
from types import SimpleNamespace
import torch.distributed as dist
from cooper_rl import distributed
from cooper_rl.engines.config import CooperConfig
from cooper_rl.records import ContrastivePair
from cooper_rl.settings.files import resolve_model
from cooper_rl.verifyrm import VerifyRM, sharding
from cooper_rl.verifyrm.updater import RewardModelUpdater
dist.init_process_group("gloo")
rank = dist.get_rank()
pairs = [ContrastivePair(f"What is {i} + 2?", str(i + 2), f"It is {i + 2}.", f"It is {i + 5}.", "perturb")
         for i in range(6)]
def made(sharded=False, **settings):
    model = VerifyRM.from_pretrained(resolve_model("nano", "reward_model"))
    if sharded:
        sharding.shard(model.model)
    config = CooperConfig(output_dir="unused", num_generations=2, per_device_train_batch_size=2,
                          negative_sources={"mined": 1}, reward_model_learning_rate=1e-3, **settings)
    return RewardModelUpdater(model, config)
def everything(updater):
    return {name: tensor.clone() for name, tensor, _ in updater._tensors()}
def say(name, right):
    sys.stdout.write(f"{name}: {'yes' if right else 'no'}\\n")

updater, own = made(), pairs[: 2 + 2 * rank]  # unequal shares
first, fresh = updater.score([p.wrong for p in pairs]), updater.snapshot()
updater.update(own)
later, kept = everything(updater), updater.snapshot()
held = torch.tensor([float(sum(v.nbytes for v in kept.values())), float(sum(v.nbytes for v in later.values()))])
say("a share each", 0.35 < held[0] / held[1] < 0.65)
updater.update(own)
now = everything(updater)
say("as it began", updater.start_scores([p.wrong for p in pairs]) == first)
say("as it was", all(torch.equal(v, now[n]) for n, v in everything(updater).items()))
updater.restore(kept)
again = everything(updater)
say("restored", again.keys() == later.keys() and all(torch.equal(v, again[n]) for n, v in later.items()))
updater.restore(fresh)
say("restored to the start", updater.score([p.wrong for p in pairs]) == first and not updater.optimizer.state)

tensors = [torch.full((size,), float(size + rank)) for size in (3, 1, 7, 2)]
for distributed.BUCKET_BYTES in (4, 20, 10**6):
    found = [t.clone() for t in tensors]
    distributed.add_up_all(found)
    say("summed", all(torch.equal(f, torch.full_like(f, 2.0 * len(f) + 1)) for f in found))
torch.manual_seed(rank)
tensors, seen, reduce = [torch.randn(size) for size in (30, 10, 70, 20, 50, 40)], [], dist.all_reduce
def noted(flat, **given):
    work = reduce(flat, **given)
    seen.append("begun")
    return SimpleNamespace(wait=lambda: seen.append("waited") or work.wait())
expected, dist.all_reduce, distributed.BUCKET_BYTES = [distributed.add_up(t) for t in tensors], noted, 200
distributed.add_up_all(tensors)
dist.all_reduce = reduce
say("the same sums", all(torch.equal(*both) for both in zip(tensors, expected)))
say("several on their way", seen[:3] == ["begun"] * 3 and sorted(seen) == ["begun"] * 5 + ["waited"] * 5)

whole, sharded = made(), made(sharded=True, reward_model_gradient_checkpointing=True, reward_model_tokens_per_pass=60)
same = whole.update(own), sharded.update(own)  # passes: two on one rank, four on the other
say("loss", abs(same[0]["reward_model/loss"] - same[1]["reward_model/loss"]) < 1e-5)
say("norm", abs(same[0]["reward_model/grad_norm"] - same[1]["reward_model/grad_norm"]) < 1e-4)
dist.destroy_process_group()
"""


CHECKED = """
import os, sys
from pathlib import Path
import torch.distributed as dist
from cooper_rl import checkpoints
from cooper_rl.distributed import of_first
from cooper_rl.engines.trl import folder
dist.init_process_group("gloo")
read = []
def counted(path, own=checkpoints._fingerprint):
    read.append(path.name)
    return own(path)
checkpoints._fingerprint = counted
class args: output_dir = sys.argv[1]
found = folder.find_checkpoint(args, True)
sys.stdout.write(f"{dist.get_rank()} found {found.name}, read {len(read)}\\n")
dist.destroy_process_group()
"""


RESUMED = """
import json, os, sys
from pathlib import Path
from cooper_rl import checkpoints
from cooper_rl.distributed import of_first, rank
from cooper_rl.errors import BadInputError
from cooper_rl.settings.files import resolve_model
from cooper_rl.settings.reward_model import RewardModelTrainConfig
from cooper_rl.verifyrm.train_rm import train_reward_model
folder, read, own = Path(sys.argv[1]) / "rm", [], checkpoints._fingerprint
checkpoints._fingerprint = lambda path: read.append(path.name) or own(path)
config = RewardModelTrainConfig(model_name_or_path=resolve_model("nano", "reward_model"), output_dir=str(folder),
    train_files=[sys.argv[1] + "/triples.jsonl"], max_steps=2, save_steps=1, per_device_train_batch_size=4,
    heldout_fraction=0)
train_reward_model(config)
def damage():
    record = json.loads((folder / "recipe.json").read_text())
    (folder / "recipe.json").unlink()
    (folder / "checkpoint-2" / "trainer_state.json").write_text("damaged")
    return record
before = of_first(damage)
read.clear()
train_reward_model(config, resume=True)
after = of_first(lambda: json.loads((folder / "recipe.json").read_text()))
try:
    train_reward_model(config)
except BadInputError as error:
    refused = "already holds checkpoints" in str(error)
sys.stdout.write(f"{rank()} read {bool(read)}, same {after == before}, refused {refused}\\n")
"""


def on_two_ranks(code, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(code)
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    command = [*TWO_RANKS, str(script), str(tmp_path)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.splitlines()


@pytest.mark.slow  # two processes
def test_the_first_rank_alone_reads_the_checkpoints_through(tmp_path):
    for step in (1, 2):
        folder = tmp_path / f"checkpoint-{step}"
        folder.mkdir()
        (folder / "weights").write_bytes(b"1" * step)
        complete_checkpoint(folder, step)
    (tmp_path / "checkpoint-2" / "weights").write_bytes(b"00")
    assert sorted(on_two_ranks(CHECKED, tmp_path)) == ["0 found checkpoint-1, read 2", "1 found checkpoint-1, read 0"]


@pytest.mark.slow  # two processes
def test_the_first_rank_alone_finds_what_a_reward_model_s_training_goes_on_from(tmp_path):
    """Both read the checkpoints through, and renamed the damaged one: the second rank ended with an error."""
    rows = [{"question": f"What is {i}?", "reference_answer": str(i), "completion": f"It is {i}."} for i in range(16)]
    lines = [json.dumps({**row, "label": i % 2}) + "\n" for i, row in enumerate(rows)]
    (tmp_path / "triples.jsonl").write_text("".join(lines))
    told = "same True, refused True"
    assert sorted(on_two_ranks(RESUMED, tmp_path)) == [f"0 read True, {told}", f"1 read False, {told}"]
    assert (tmp_path / "rm" / "damaged-checkpoint-2").is_dir()


@pytest.mark.slow  # two processes
def test_training_a_reward_model_knows_its_ranks_before_it_divides_the_batches(tmp_path):
    """Ten batches, the last one short: asked too early, it was one rank, and the ranks could take unequal numbers."""
    assert on_two_ranks(BATCHES, tmp_path) == ["ranks 2, batches 5"] * 2


def test_the_number_of_ranks_is_that_of_the_training_arguments(monkeypatch, tmp_path):
    """As above in one process: they make the process group, which is not there before."""
    monkeypatch.setattr(TrainingArguments, "world_size", property(lambda arguments: 2))
    path = resolve_model("nano", "reward_model")
    texts = [LabelledCompletion(f"What is {i}?", str(i), f"It is {i}.", True) for i in range(9)]
    config = RewardModelTrainConfig(model_name_or_path=path, train_files=["unused"], output_dir=str(tmp_path))
    assert RewardModelTrainer(VerifyRM.from_pretrained(path), texts, [], config).buckets.at_once == 2


def test_small_tensors_are_summed_together_and_several_sums_are_under_way(monkeypatch):
    calls = []

    def reduced(flat, async_op=False):  # by two ranks with equal tensors
        calls.append(flat.numel())
        return SimpleNamespace(wait=lambda: (calls.append("waited"), flat.mul_(2)))

    monkeypatch.setattr(torch.distributed, "all_reduce", reduced)
    monkeypatch.setattr("cooper_rl.distributed.BUCKET_BYTES", 40)
    tensors = [torch.full((size,), float(size)) for size in (3, 4, 12, 2, 8, 1, 9, 10)]
    add_up_all(tensors)
    assert [each for each in calls if each != "waited"] == [7, 12, 10, 10, 10]
    assert calls.index("waited") == 4, "four are begun before the first is waited for"
    assert all(torch.equal(each, torch.full_like(each, 2.0 * len(each))) for each in tensors)


@pytest.mark.slow  # two processes
def test_ranks_with_other_weights_are_refused_at_the_start(tmp_path):
    lines = on_two_ranks(DIFFERENT, tmp_path)
    assert len(lines) == 6 and all(line.startswith("refused: reward model: the ranks hold different") for line in lines)


@pytest.mark.parametrize("sharded", [False, True])
def test_a_reward_model_of_which_another_rank_has_no_weights_is_refused(monkeypatch, sharded):
    """As above in one process, with the other rank's part of the sum set by hand."""
    reward_model = VerifyRM.from_pretrained(resolve_model("nano", "reward_model"))
    monkeypatch.setattr("cooper_rl.distributed.size", lambda: 2)
    monkeypatch.setattr(torch.distributed, "all_reduce", lambda both, op=None: both.clamp_(min=0.0))  # of zeros
    with pytest.raises(BadInputError, match=r"the ranks hold different weights \(sums of -?0 to"):
        place_model(reward_model, CooperConfig(output_dir="unused", use_cpu=True, reward_model_sharded=sharded))


@pytest.mark.slow  # two processes
def test_ranks_share_snapshots_and_sum_gradients_together(tmp_path):
    """Each keeps about half of a snapshot, and all get the whole back, to the last bit. Sharded, with layers computed
    again and other numbers of passes, the step is the same."""
    lines = on_two_ranks(SHARES, tmp_path)
    assert len(lines) == 24 and all(line.endswith(": yes") for line in lines), lines


class Zero3:
    """What accelerate announces for a policy under ZeRO-3."""

    def __init__(self):
        self.config = {"zero_optimization": {"stage": 3}}

    def is_zero3(self):
        return True


@pytest.fixture
def zero3():
    announced = Zero3()
    deepspeed.set_hf_deepspeed_config(announced)
    yield announced
    deepspeed.unset_hf_deepspeed_config()


def test_what_was_announced_for_the_policy_is_set_aside_while_a_model_is_loaded(zero3, monkeypatch):
    monkeypatch.setenv("FSDP_CPU_RAM_EFFICIENT_LOADING", "true")
    with loading_whole():
        assert os.environ["FSDP_CPU_RAM_EFFICIENT_LOADING"] == "false"
        assert not deepspeed.is_deepspeed_zero3_enabled()
    assert os.environ["FSDP_CPU_RAM_EFFICIENT_LOADING"] == "true" and deepspeed.is_deepspeed_zero3_enabled()


@pytest.mark.parametrize(
    "load", [VerifyRM.from_pretrained, VerifyRM.from_backbone, TransformersGenerator.from_pretrained]
)
def test_every_model_beside_the_policy_is_loaded_whole(zero3, monkeypatch, load):
    """Under ZeRO-3 transformers would share its weights out, for which it imports deepspeed, which is not installed."""
    monkeypatch.setenv("FSDP_CPU_RAM_EFFICIENT_LOADING", "true")
    part, seen = "reward_model" if load == VerifyRM.from_pretrained else "policy", []
    own = PreTrainedModel.from_pretrained.__func__

    def watched(cls, *arguments, **settings):
        seen.append((os.environ["FSDP_CPU_RAM_EFFICIENT_LOADING"], deepspeed.is_deepspeed_zero3_enabled()))
        return own(cls, *arguments, **settings)

    monkeypatch.setattr(PreTrainedModel, "from_pretrained", classmethod(watched))
    model = load(resolve_model("nano", part)).model
    assert seen == [("false", False)] and all(each.numel() for each in model.parameters())


def test_a_whole_model_beside_a_sharded_policy_generates_alone(zero3, monkeypatch):
    """Ranks ask the assistant for different numbers of rewrites; in step with the others they would wait for ever."""
    generator = TransformersGenerator.from_pretrained(resolve_model("nano", "policy"))
    asked = []
    generate = generator.model.generate

    def watched(*arguments, **settings):
        asked.append(settings.get("synced_gpus"))
        return generate(*arguments, **settings)

    monkeypatch.setattr(generator.model, "generate", watched)
    complete(generator.model, [[5, 6]], 0, [1], max_new_tokens=2, do_sample=False)
    for parameter in generator.model.parameters():
        parameter.ds_id = 0  # what ZeRO-3 puts on a parameter that it has shared out
    with torch.no_grad():
        complete(generator.model, [[5, 6]], 0, [1], max_new_tokens=2, do_sample=False)
    assert asked == [False, None]
