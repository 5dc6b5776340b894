"""Settings: their sentences, their types, the arms as names of pairs, and that each stands once."""

import dataclasses
import subprocess
import sys
from pathlib import Path
from typing import Any, Literal

import pytest

from cooper_rl.errors import BadInputError, MissingFileError
from cooper_rl.settings.checks import check_output_dir, check_train_settings
from cooper_rl.settings.method import ARMS, MethodSettings
from cooper_rl.settings.recipe import CONFIGS, known_keys, load_recipe, trl_fields
from cooper_rl.settings.schema import (
    WrongTypeError,
    default_of,
    describe_type,
    fit,
    fits,
    groups_of,
    sentences_of,
    types_of,
)
from cooper_rl.settings.train import PolicySettings, TrainSettings

ROOT = Path(__file__).parents[2]
OWN = [(command, item) for command, cls in CONFIGS.items() for _, group in groups_of(cls) for item in group]


@pytest.mark.parametrize(("command", "item"), OWN, ids=lambda part: getattr(part, "name", part))
def test_each_setting_has_a_sentence_and_a_default_of_its_type(command, item):
    text = sentences_of(CONFIGS[command])[item.name]
    assert text[0].isupper() and text.endswith(".") and "  " not in text and len(text) > 20
    kind, default = types_of(CONFIGS[command])[item.name], default_of(item)
    assert fits(default, kind) or (item.name in ("arm", "reward", "cotrain") and default is None)


@pytest.mark.parametrize("cls", CONFIGS.values())
def test_every_field_is_in_a_group_once(cls):
    names = [item.name for _, group in groups_of(cls) for item in group]
    assert len(set(names)) == len(names)
    assert set(names) == {item.name for item in dataclasses.fields(cls)} - {"trainer_kwargs"}


def test_settings_import_no_torch():
    modules = [f"cooper_rl.settings.{path.stem}" for path in (ROOT / "src/cooper_rl/settings").glob("[!_]*.py")]
    code = f"import sys, {', '.join(modules)}\nassert not {{'torch', 'trl', 'pydantic', 'httpx'}} & set(sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_list_of_trls_fields_is_current():
    sys.path.insert(0, str(ROOT / "scripts"))
    try:
        from trl_fields import TARGET, fields_of_trl, text_of
    finally:
        sys.path.pop(0)
    assert TARGET.read_text() == text_of(fields_of_trl()), "run python scripts/trl_fields.py"
    assert fields_of_trl() == trl_fields()


def test_the_known_keys_are_those_of_the_real_class():
    from cooper_rl.engines.config import CooperConfig

    real = {field.name for field in dataclasses.fields(CooperConfig) if field.init}
    own = {item.name for item in dataclasses.fields(TrainSettings)} - {"trainer_kwargs"}
    assert known_keys("train").keys() == real | own


OURS = {  # TRL has other defaults for these
    *("loss_type", "beta", "use_bias_correction_kl", "num_generations", "bf16", "gradient_checkpointing"),
    *("logging_steps", "save_total_limit", "disable_tqdm", "output_dir", "per_device_train_batch_size"),
}


def test_the_other_defaults_of_the_policy_are_trls():
    from trl import GRPOConfig

    of_trl = {field.name: field.default for field in dataclasses.fields(GRPOConfig)}
    different = {f.name for f in dataclasses.fields(PolicySettings) if default_of(f) != of_trl[f.name]}
    assert different <= OURS


def test_a_recipe_reaches_the_trainers_settings(tmp_path):
    from cooper_rl.engines.config import CooperConfig

    recipe = {**load_recipe(ROOT / "recipes/quickstart.yaml"), "output_dir": str(tmp_path), "arm": "hybrid"}
    settings = TrainSettings.from_recipe(recipe)
    assert settings.trainer_kwargs.keys() >= {"temperature", "lr_scheduler_type"}
    config = CooperConfig(**settings.trainer_settings())
    for item in dataclasses.fields(MethodSettings):
        assert getattr(config, item.name) == getattr(settings, item.name)
    assert (config.temperature, config.lr_scheduler_type, config.cotrain) == (1.0, "warmup_stable_decay", False)


@pytest.mark.parametrize(("arm", "pair"), ARMS.items())
def test_an_arm_is_a_name_for_a_pair(arm, pair):
    reward, cotrain = pair
    for settings in (MethodSettings(arm=arm), MethodSettings(reward=reward, cotrain=cotrain)):
        assert (settings.arm, settings.reward, settings.cotrain) == (arm, reward, cotrain)
        assert settings.needs_reward_model == (arm != "rule")
        assert settings.asks_assistant == cotrain  # the default sources have the assistant


def test_half_a_pair_is_filled_up_from_the_default():
    assert MethodSettings().arm == "cooper"
    assert MethodSettings(cotrain=False).arm == "static"
    assert MethodSettings(reward="hybrid").arm == "hybrid+cotrain"
    assert not MethodSettings(negative_sources={"mined": 1}).asks_assistant


def test_a_layer_above_replaces_an_arm_or_half_of_its_pair(tmp_path):
    recipe = tmp_path / "r.yaml"
    recipe.write_text("arm: cooper\n")
    assert load_recipe(recipe, ["--reward", "hybrid"]) == {"reward": "hybrid", "cotrain": True}
    assert load_recipe(recipe, ["--arm", "rule"]) == {"arm": "rule"}
    recipe.write_text("reward: hybrid\ncotrain: true\nvariants: {a: {arm: static}}\n")
    assert load_recipe(recipe, ["--variant", "a"]) == {"arm": "static", "variant": "a"}
    contradiction = (
        "reward: hybrid contradicts arm cooper, which means reward score and cotrain true; leave one of them out"
    )
    with pytest.raises(BadInputError) as error:
        load_recipe(recipe, ["--arm", "cooper", "--reward", "hybrid"])
    assert str(error.value) == f"command line: {contradiction}"
    with pytest.raises(BadInputError) as error:
        MethodSettings(arm="cooper", reward="hybrid")
    assert str(error.value) == contradiction


@pytest.mark.parametrize("key", ["dataset_config", "reference_column"])
def test_a_run_is_not_continued_on_other_references_or_another_configuration(tmp_path, key):
    own = {"arm": "rule", "output_dir": str(tmp_path)}
    (tmp_path / "config.yaml").write_text("arm: rule\n")  # as a run before there was this setting wrote it
    check_output_dir(TrainSettings.from_recipe(own), resume=True)
    with pytest.raises(BadInputError, match=f"was made with {key} = None, not 'other'"):
        check_output_dir(TrainSettings.from_recipe({**own, key: "other"}), resume=True)


def test_a_csv_that_is_not_there_is_refused_with_its_setting():
    recipe = {"arm": "rule", "dataset_name": "none.csv", "output_dir": "runs/none"}
    with pytest.raises(MissingFileError, match=r"dataset_name: none\.csv: no such file"):
        check_train_settings(TrainSettings.from_recipe(recipe))


def test_a_reward_of_ones_own_has_no_arm_and_is_resumed_as_itself(tmp_path):
    own = {"reward": "mine:Reward", "cotrain": False, "output_dir": str(tmp_path)}
    settings = TrainSettings.from_recipe(own)
    assert (settings.arm, settings.reward, settings.cotrain) == (None, "mine:Reward", False)
    (tmp_path / "config.yaml").write_text("arm: null\nreward: mine:Reward\ncotrain: false\n")
    check_output_dir(settings, resume=True)
    with pytest.raises(BadInputError, match="was made with reward = 'mine:Reward', not 'mine:Other'"):
        check_output_dir(TrainSettings.from_recipe({**own, "reward": "mine:Other"}), resume=True)
    again = load_recipe(tmp_path / "config.yaml", ["--reward", "mine:Other"])
    assert again == {"arm": None, "reward": "mine:Other", "cotrain": False}


BAD = [  # command, key, value as YAML, what the message ends with
    ("train-rm", "class_balance", "nope", "class_balance: 'nope' is not true or false"),
    ("train-rm", "optim", "sgd", "optim: 'sgd' is not adamw_torch_fused or adamw_torch"),
    ("train-rm", "augment_wrong", "2", "augment_wrong = 2: must be from 0 to 1"),
    ("train", "lora_rank", "2.5", "lora_rank: 2.5 is not a whole number"),
    ("train", "lora_rank", "true", "lora_rank: True is not a whole number"),
    ("train", "beta", "[1]", "beta: [1] is not a number"),
    ("train", "beta", "null", "beta: None is not a number"),
    ("train", "dataset_size", "many", "dataset_size: 'many' is not a whole number or null"),
    ("train", "dataset_name", "5", "dataset_name: 5 is not text"),
    ("train", "negative_sources", "mined", "negative_sources: 'mined' is not {name: a number}"),
    ("train", "negative_sources", "{mined: a}", "negative_sources: {'mined': 'a'} is not {name: a number}"),
    ("train", "alarm_action", "shout", "alarm_action: 'shout' is not log, stop or hybrid"),
    ("train", "save_strategy", "often", "save_strategy: 'often' is not no, steps, epoch or best"),
    ("train", "fp16", "1", "fp16: 1 is not true or false"),
    ("train", "guard_steps", "-1", "guard_steps = -1: must be at least 0"),
    ("train", "verifier_deadline_seconds", "0", "verifier_deadline_seconds = 0: must be at least 0.001"),
    ("train", "verifier_batch_seconds", "-1", "verifier_batch_seconds = -1: must be at least 0.001"),
    ("train", "learning_rat", "1", "unknown key 'learning_rat'; did you mean 'learning_rate'?"),
    ("collect", "models", "{a: b}", "models: {'a': 'b'} is not a list of text"),
    ("annotate", "ngram", "ten", "ngram: 'ten' is not a whole number"),
    ("eval", "greedy", "3", "greedy: 3 is not true or false"),
]


@pytest.mark.parametrize(("command", "key", "value", "message"), BAD, ids=lambda part: str(part)[:20])
def test_bad_values_are_named_with_their_source(command, key, value, message, tmp_path):
    recipe = tmp_path / "r.yaml"
    recipe.write_text("{}")
    cases = [("command line", f"--{key}={value}", "{}")]
    cases += [
        (str(recipe), "", f"{key}: {value}"),
        (f"{recipe}: variant a", "", f"variants: {{a: {{{key}: {value}}}}}"),
    ]
    for source, word, text in cases:
        recipe.write_text(text)
        with pytest.raises(BadInputError) as error:
            load_recipe(recipe, [word] if word else [], command=command)
        assert str(error.value) == f"{source}: {message}"


def test_a_key_that_is_there_twice_is_refused(tmp_path):
    path = tmp_path / "r.yaml"
    path.write_text("max_steps: 1\narm: rule\nmax_steps: 2\n")
    with pytest.raises(BadInputError, match=r"r.yaml: not valid YAML: max_steps is given twice in .*, line 3"):
        load_recipe(path)


def test_a_mistyped_option_is_not_taken_for_a_setting():
    with pytest.raises(BadInputError, match=r"unknown key 'confg'; did you mean 'config'\?"):
        load_recipe(None, ["--confg", "r.yaml"])


def test_the_recipe_that_is_extended_is_named(tmp_path):
    (tmp_path / "base.yaml").write_text("lora_rank: a\n")
    (tmp_path / "r.yaml").write_text("extends: base.yaml\n")
    with pytest.raises(BadInputError, match=r"base\.yaml: lora_rank: 'a' is not a whole number$"):
        load_recipe(tmp_path / "r.yaml")


def test_yamls_traps_are_undone():
    words = ["--learning_rate", "1e-5", "--save_strategy", "no", "--run_name", "1e-5", "--beta", "0"]
    found = load_recipe(None, [*words, "--negative_sources", "{mined: 1e-1}"])
    assert found == {
        "learning_rate": 1e-5,
        "save_strategy": "no",
        "run_name": "1e-5",
        "beta": 0,
        "negative_sources": {"mined": 0.1},
    }
    assert load_recipe(None, ["--models", "a, b"], command="collect") == {"models": ["a", "b"]}


def test_types_by_hand(tmp_path):
    assert fit(3, float) == 3 and isinstance(fit(3, float), int)  # a recipe's numbers stay as they are written
    assert fit("5", str | float | None) == "5" and fit("5", float | None) == 5.0
    assert fit(False, Literal["no", "yes"]) == "no" and fit(tmp_path, str) == str(tmp_path)
    assert fit({"a": [1]}, dict[str, Any]) == {"a": [1]}
    for value, kind in [(1, str), (True, int), (True, float), ("a", int), (1.0, int), (1, list[str]), (None, int)]:
        with pytest.raises(WrongTypeError):
            fit(value, kind)
    assert fit("a,b", list[str]) == ["a", "b"] and fit(None, list[str]) == []
    assert fit(None, list[str] | None) is None
    assert describe_type(dict[str, Any] | str | None) == "{name: value} or text or null"


@pytest.mark.parametrize("settings", [{"class_weight": 1}, {"lora_rank": 1}])
def test_python_refuses_names_that_are_none_of_the_methods(settings):
    with pytest.raises(TypeError):
        MethodSettings(**settings)


def test_python_callers_get_the_same_checks():
    from cooper_rl.engines.config import CooperConfig

    for wrong, message in [
        ({"label_pairs": "nope"}, "label_pairs: 'nope' is not true or false"),
        ({"num_generations": 1}, "num_generations = 1: must be at least 2"),
        ({"save_total_limit": 1}, "save_total_limit = 1: must be at least 2"),
        ({"negative_sources": {"mined": 0}}, "give at least one source a positive weight"),
    ]:
        with pytest.raises(BadInputError, match=message):
            CooperConfig(output_dir="x", **wrong)
