"""CooperTrainer from Python: what its folder holds, what it refuses, and what an evaluation or a callback may do."""

import json
import math
import re
from contextlib import nullcontext
from types import SimpleNamespace

import pytest
import torch
import yaml
from datasets import Dataset
from transformers import GenerationConfig, TrainerCallback

from cooper_rl import CooperConfig, CooperTrainer, VerifyRM
from cooper_rl.cli import app
from cooper_rl.distributed import check_launched, precision
from cooper_rl.domains import load_problems
from cooper_rl.engines import loading
from cooper_rl.engines.trl.callback import check_engine
from cooper_rl.engines.trl.cooper_trainer import run_training
from cooper_rl.engines.trl.folder import restore_order
from cooper_rl.engines.trl.rows import check_rows, training_rows
from cooper_rl.errors import BadInputError, CooperError
from cooper_rl.fast.lean import is_split
from cooper_rl.generation import Sampling, in_process
from cooper_rl.generation.in_process import TransformersGenerator
from cooper_rl.method.build import make_verifier
from cooper_rl.method.protocols import Alone
from cooper_rl.serve.http import make_core
from cooper_rl.settings.asking import ServeSettings
from cooper_rl.settings.files import EMBEDDED
from cooper_rl.settings.recipe import load_recipe
from cooper_rl.settings.reward_model import RewardModelTrainConfig
from cooper_rl.verifyrm import rm_trainer
from cooper_rl.verifyrm.triples import read_triples

NANO = EMBEDDED["nano"]


def trainer(folder, anchors=(), rows=None, **settings):
    chosen = {"max_steps": 2, "save_strategy": "no", "per_device_train_batch_size": 8, "num_generations": 4}
    chosen |= {"max_completion_length": 24, "verifier_workers": 1, "reward_model_learning_rate": 1e-3}
    chosen |= {"negative_sources": {"perturb": 1}, "pairs_per_prompt": 1, "guard_probes": 1, **settings}
    args = CooperConfig(str(folder), arm="cooper", **chosen)
    rows = training_rows(load_problems("nano", size=16, seed=0)) if rows is None else rows
    more = {"eval_dataset": rows} if args.eval_strategy != "no" else {}
    reward_model = VerifyRM.from_pretrained(NANO["reward_model"])
    return CooperTrainer(str(NANO["policy"]), reward_model, args, rows, anchors=anchors, **more)


def train(made):
    with made.verifier:
        made.train()


def lines(folder):
    return [json.loads(line) for line in (folder / "metrics.jsonl").open()]


def test_the_folder_of_a_run_from_python_and_a_second_run_into_it(tmp_path):
    first = trainer(tmp_path, learning_rate=3e-4)
    train(first)
    written = yaml.safe_load((tmp_path / "config.yaml").read_text())
    assert written["learning_rate"] == 3e-4 and written["negative_sources"] == {"perturb": 1}
    assert written["model_name_or_path"] == str(NANO["policy"]) and "beta" not in written, "defaults are left out"
    assert json.loads((tmp_path / "finished.json").read_text())["step"] == 2
    before = lines(tmp_path)
    with pytest.raises(BadInputError, match="already holds a run; continue it with"):
        train(first)
    with pytest.raises(BadInputError, match="already holds a run; continue it with"):
        train(trainer(tmp_path))
    assert lines(tmp_path) == before


def test_an_evaluation_draws_no_pairs_and_stands_in_its_steps_line(tmp_path):
    made = trainer(tmp_path, eval_strategy="steps", eval_steps=1, num_generations_eval=2, per_device_eval_batch_size=8)
    prepared, prepare = [], made.cooper.pairs.prepare
    made.cooper.pairs.prepare = lambda batch: (prepared.append(batch.step), prepare(batch))
    train(made)
    assert prepared == [1, 2]
    rows = lines(tmp_path)
    assert [row["step"] for row in rows] == [1, 2]
    assert all({"reward", "eval_reward"} <= row.keys() for row in rows)


def test_a_checkpoint_that_a_callback_asks_for_holds_a_checked_reward_model(tmp_path):
    class SaveNow(TrainerCallback):
        def on_step_end(self, args, state, control, **_):
            control.should_save = state.global_step == 1

    made = trainer(tmp_path, read_triples(NANO["reward_model"] / "anchors.jsonl.gz")[:20], guard_steps=50)
    made.add_callback(SaveNow())
    guard, unchecked = made.cooper.monitors[-1], []
    save = made.cooper.save
    made.cooper.save = lambda folder: (unchecked.append(len(guard.tried)), save(folder))
    train(made)
    assert unchecked == [0] and (tmp_path / "checkpoint-1" / "complete.json").is_file()
    assert any(len(list(path.open())) for path in (tmp_path / "pairs").iterdir()), "there was something to check"


def test_an_epoch_has_the_order_of_a_straight_run():
    from torch.utils.data import DataLoader
    from trl.trainer.utils import RepeatSampler

    made = RepeatSampler(range(10), mini_repeat_count=1, batch_size=5, seed=3)
    straight = [list(made) for _ in range(3)]
    for epoch in (2, 0, 1):
        again = RepeatSampler(range(10), mini_repeat_count=1, batch_size=5, seed=3)
        restore_order(DataLoader(range(10), sampler=again, batch_size=5), epoch)
        assert list(again) == straight[epoch]
    assert straight[1] != straight[0]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"gradient_accumulation_steps": 4, "steps_per_generation": 1}, "steps_per_generation x num_iterations = 1 is"),
        ({"gradient_accumulation_steps": 2, "steps_per_generation": 3}, "steps_per_generation x num_iterations = 3 is"),
        ({"temperature": 0.0}, "temperature = 0.0: completions are sampled; set it above 0"),
        ({"max_steps": 0}, "max_steps = 0: set the number of steps, or -1"),
    ],
)
def test_settings_that_would_make_a_wrong_run_are_refused(tmp_path, settings, message):
    with pytest.raises(BadInputError, match=message):
        CooperConfig(str(tmp_path), arm="rule", num_generations=4, per_device_train_batch_size=8, **settings)


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ({"reference_answer": " "}, "row 1: column 'reference_answer' is blank"),
        ({"reference_answer": None}, "row 1: the record needs one of"),
        ({"reference_answer": math.nan}, "row 1: column 'reference_answer' is nan"),
        ({"reference_answer": None, "answer": "4", "solution": "4"}, "row 1: answer and solution may both be"),
        ({"prompt": ""}, "row 1: column 'prompt' is empty"),
        ({"prompt": None}, "row 1: column 'prompt' is empty"),
        ({"prompt": []}, "row 1: column 'prompt' is empty"),
        ({"prompt": [{"role": "user", "content": [{"type": "image"}]}]}, "row 1: column 'prompt': a prompt has a part"),
    ],
)
def test_a_data_set_is_looked_through_before_training(row, told):
    good = {"prompt": "1 + 1?", "reference_answer": "2"}
    with pytest.raises(BadInputError, match=re.escape(told)) as refused:
        check_rows([good, {**good, **row}])
    assert "\n" not in str(refused.value)


def test_what_a_data_set_may_have():
    check_rows(Dataset.from_list([{"prompt": "1 + 1?", "reference_answer": 2}]))
    check_rows(
        [{"prompt": "1 + 1?", "question": None, "answer": "So.\n#### 2"}, {"prompt": "2?", "gold": ["2", "2.0"]}]
    )
    check_rows([{"prompt": "1 + 1?", "mine": "2", "answer": "x", "solution": "y"}], reference_column="mine")
    check_rows(Dataset.from_list([{"prompt": "1 + 1?", "answer": "2"}]).to_iterable_dataset())
    tensors = Dataset.from_list([{"prompt": "1 + 1?", "reference_answer": 2}])
    tensors.set_format("torch")
    with pytest.raises(BadInputError, match="row 0: column 'reference_answer' holds a tensor"):
        check_rows(tensors)
    with pytest.raises(BadInputError, match="the training data set is empty"):
        check_rows(Dataset.from_list([]))


def test_the_models_own_generation_settings_have_no_say():
    """Training draws without them, so measuring does too."""
    generator = TransformersGenerator.from_pretrained(str(NANO["policy"]))
    prompts = [[{"role": "user", "content": f"What is {i} + {i}?"}] for i in range(6)]
    sampling = Sampling(24, 0.0)
    plain = generator.generate_or_none(prompts, sampling, 0)
    own = GenerationConfig(repetition_penalty=5.0, eos_token_id=generator.tokenizer.eos_token_id)
    generator.model.generation_config = own
    assert generator.generate_or_none(prompts, sampling, 0) == plain
    assert generator.model.generation_config is own


def test_arguments_of_the_chat_template_reach_every_prompt(monkeypatch):
    generator = TransformersGenerator.from_pretrained(str(NANO["policy"]))
    seen = []
    generator.tokenizer.chat_template = "{{ 'short' if brief else 'long' }} {{ messages[-1]['content'] }}"
    batch = in_process.generate_batch
    monkeypatch.setattr(in_process, "generate_batch", lambda *args: (seen.extend(args[2]), batch(*args))[1])
    generator.template = {"brief": True}
    generator.generate_or_none([[{"role": "user", "content": "1 + 1?"}]], Sampling(4, 0.0), 0)
    assert seen == ["short 1 + 1?"]


def test_the_environment_of_a_run_without_an_optional_package(monkeypatch):
    monkeypatch.setattr(loading, "PACKAGES", ("torch", "no-such-package"))
    found = loading.environment(3)["versions"]
    assert found["torch"] and found["no-such-package"] is None


def test_one_process_that_sees_several_gpus_says_how_to_start_one_for_each(tmp_path, monkeypatch):
    """TRL would split the policy's layers over both, and the caches of the lean path lie on the first alone."""
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    recipe = {"arm": "rule", "dataset_size": 4, "max_steps": 1, "output_dir": str(tmp_path)}
    with pytest.raises(BadInputError, match=r"2 GPUs are visible .*--nproc_per_node 2.* or set CUDA_VISIBLE_DEVICES=0"):
        run_training(recipe)
    with pytest.raises(BadInputError, match="2 GPUs are visible"):
        trainer(tmp_path)
    monkeypatch.setenv("WORLD_SIZE", "2")
    check_launched()


def test_a_policy_whose_layers_are_on_two_devices_takes_trls_own_way(tmp_path):
    made = trainer(tmp_path)
    made.model.hf_device_map = {"model.layers.0": "cpu", "model.layers.1": "cpu"}
    whole = torch.ones((2, 8), dtype=torch.long)
    assert made._is_lean(made.model, whole, whole, 4) and not is_split(made.model)
    made.model.hf_device_map["model.layers.1"] = "meta"
    assert not made._is_lean(made.model, whole, whole, 4)


@pytest.mark.parametrize(
    ("given", "able", "expected"),
    [
        ({}, True, (True, True)),
        ({}, False, (False, None)),
        ({"bf16": False}, True, (False, None)),
        ({"bf16": True, "tf32": False}, True, (True, False)),
        ({"use_cpu": True}, True, (False, None)),
        ({"fp16": True}, True, (False, True)),
    ],
)
def test_without_a_word_the_device_decides_on_16_bits(monkeypatch, given, able, expected):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: able)
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation=True: not including_emulation)
    assert precision(**{"bf16": None, **given}) == expected
    assert CooperConfig("out", use_cpu=True).bf16 is False, "a CPU computes as before"


@pytest.fixture(params=[True, False])
def gpu(request, monkeypatch):
    """Whether a GPU says that it has bfloat16, and what was asked of TF32."""
    asked = []
    monkeypatch.setattr("cooper_rl.distributed.has_bfloat16", lambda: request.param)
    monkeypatch.setattr("transformers.utils.import_utils.enable_tf32", asked.append)
    return SimpleNamespace(able=request.param, asked=asked)


def types_of_scores(monkeypatch, *arguments):
    """The type of forward passes, in turn, of each VerifyRM that a command loads."""
    found, load = [], VerifyRM.from_pretrained
    monkeypatch.setattr(VerifyRM, "from_pretrained", lambda *a, **k: found.append(load(*a, **k)) or found[-1])
    app([*arguments], standalone_mode=False)
    return [model.autocast for model in found]


@pytest.mark.parametrize(("given", "bf16"), [([], None), (["--bf16"], True), (["--no-bf16"], False)])
def test_without_a_word_the_device_decides_in_score_and_eval_rm(gpu, monkeypatch, tmp_path, given, bf16):
    row = {"question": "1 + 1?", "reference": "2", "completion": "It is 2.", "correct": True}
    (tmp_path / "one.jsonl").write_text(json.dumps(row) + "\n")
    half = gpu.able if bf16 is None else bf16
    for command in (["score"], ["eval-rm", "--no-probes", "--verifier", "none"]):
        arguments = (*command, "--model", "nano", str(tmp_path / "one.jsonl"), *given)
        assert types_of_scores(monkeypatch, *arguments) == [torch.bfloat16 if half else None], command
    assert gpu.asked == [True, True] * (gpu.able and bf16 is not False), "float32 is float32 where it is asked for"


@pytest.mark.parametrize("given", [{}, {"bf16": False}, {"bf16": True}, {"tf32": False}])
def test_without_a_word_the_device_decides_in_serve(gpu, given):
    settings = ServeSettings.from_recipe({**load_recipe("recipes/quickstart.yaml"), "arm": "static", **given})
    with make_verifier(settings) as verifier:
        model = make_core(settings, verifier).reward_model.reward_model
    assert model.autocast == (torch.bfloat16 if given.get("bf16", gpu.able) else None)
    assert gpu.asked == [True] * (gpu.able and False not in given.values())


@pytest.mark.parametrize("given", [{}, {"bf16": True}, {"bf16": False}])
def test_without_a_word_the_device_decides_in_train_rm(gpu, monkeypatch, given):
    monkeypatch.setattr(rm_trainer, "TrainingArguments", SimpleNamespace)
    config = RewardModelTrainConfig("nano", ["unused"], "out", **given)
    found = rm_trainer.arguments(config, evaluated=False)
    assert (found.bf16, found.tf32) == (given.get("bf16", False), None), "a CPU computes as before"
    monkeypatch.setattr(torch.accelerator, "is_available", lambda: True)
    found = rm_trainer.arguments(config, evaluated=False)
    assert found.bf16 == given.get("bf16", gpu.able)
    assert found.tf32 == (True if gpu.able and found.bf16 else None)


@pytest.mark.parametrize("norm", [None, 0.5, torch.tensor(2.0), math.nan, math.inf])
def test_a_gradient_that_is_not_finite_under_deepspeed_ends_the_run(norm):
    """There is no `.grad` there, and the step is taken within the backward pass."""
    engine = SimpleNamespace(get_global_grad_norm=lambda: norm)
    accelerator = SimpleNamespace(deepspeed_engine_wrapped=SimpleNamespace(engine=engine))
    core = SimpleNamespace(ranks=Alone())
    corrupted = norm is not None and not math.isfinite(norm)
    with pytest.raises(CooperError, match="DeepSpeed has taken the step") if corrupted else nullcontext():
        check_engine(accelerator, core)
    check_engine(SimpleNamespace(deepspeed_engine_wrapped=None), core)
    check_engine(None, core)
