"""Every shipped recipe is read and checked as the commands do it."""

from dataclasses import replace
from pathlib import Path

import pytest
from trl import SFTConfig

from cooper_rl.engines.trl.cooper_trainer import run_training
from cooper_rl.errors import BadInputError, MissingFileError
from cooper_rl.method.build import check_parts
from cooper_rl.method.pairs import share_out
from cooper_rl.settings.asking import AnnotateConfig, CollectConfig
from cooper_rl.settings.checks import check_train_settings
from cooper_rl.settings.recipe import load_recipe, parse_overrides, variants_of
from cooper_rl.settings.train import TrainSettings

RECIPES = sorted((Path(__file__).parents[2] / "recipes").glob("*.yaml"))
REWARD_MODEL = {path.stem for path in RECIPES if path.stem.endswith("-reward-model") or "-verifyrm" in path.stem}
COMMANDS = {path.stem: path.stem.partition("-")[0] for path in RECIPES}
ANNOTATION = {name: command for name, command in COMMANDS.items() if command in ("collect", "annotate")}
NANO_POLICIES = ("nano-policy", "nano-weekdays-policy", "nano-kinship-policy")
STARTS = ("passages-start", "smollm2-start")
TRAIN = [path for path in RECIPES if path.stem not in {*REWARD_MODEL, *ANNOTATION, *NANO_POLICIES, *STARTS}]


@pytest.fixture(autouse=True)
def no_hub(monkeypatch):
    """The hub's models that a recipe names are taken to be there."""
    monkeypatch.setattr("cooper_rl.settings.files.check_hub", lambda name, where: None)


def check(recipe):
    settings = TrainSettings.from_recipe(recipe)
    check_train_settings(settings)
    check_parts(settings, settings.reward_model_type)


def test_there_are_recipes():
    assert {"quickstart", "smollm2-135m", "qwen2.5-1.5b", "llama-3.2-1b"} <= {path.stem for path in TRAIN}
    assert len(REWARD_MODEL) >= 4 and len(ANNOTATION) >= 5


@pytest.mark.parametrize("path", TRAIN, ids=lambda p: p.stem)
def test_train_recipes(path, tmp_path):
    check({**made(load_recipe(path)), "output_dir": str(tmp_path / "run")})


@pytest.mark.parametrize("path", TRAIN, ids=lambda p: p.stem)
def test_a_recipe_whose_header_names_arms_has_no_variants_that_would_take_their_place(path):
    assert "--arms" not in path.read_text() or not variants_of(path)


@pytest.mark.parametrize("name", STARTS)
def test_the_short_start(name, monkeypatch):
    monkeypatch.syspath_prepend(RECIPES[0].parents[1] / "scripts")
    from short_start import demonstrations, read_recipe

    recipe = replace(read_recipe(RECIPES[0].parent / f"{name}.yaml"), problems=8)
    assert len(demonstrations(recipe)) == 8 and demonstrations(recipe) == demonstrations(recipe)
    SFTConfig(output_dir="unused", report_to="none", use_cpu=True, **recipe.trainer)


@pytest.mark.parametrize("name", ["qwen2.5-1.5b", "llama-3.2-1b"])
def test_the_papers_settings_generate_by_vllm_and_ask_a_server(name):
    recipe = load_recipe(f"recipes/{name}.yaml")
    assert recipe["use_vllm"] and recipe["vllm_enable_sleep_mode"] and recipe["vllm_mode"] == "colocate"
    assert recipe["assistant_base_url"] and recipe["assistant_model"] == recipe["model_name_or_path"]
    assert recipe.get("bf16") is not False
    server = (
        f"vllm serve {recipe['assistant_model']} --port {recipe['assistant_base_url'].split(':')[-1].split('/')[0]} "
    )
    assert server in Path(f"recipes/{name}.yaml").read_text()
    rows = recipe["per_device_train_batch_size"] * recipe["gradient_accumulation_steps"] * 8
    assert (rows, recipe["num_generations"], recipe["max_steps"]) == (1024, 16, 300), "of the paper"


def made(recipe):
    """The recipe with what ships in place of what the user makes first, as the recipe's header says."""
    return {
        k: "nano" if str(v).startswith(("models/", "runs/")) and k != "output_dir" else v for k, v in recipe.items()
    }


FOLDER = RECIPES[0].parent / "experiments"
EXPERIMENTS = [(path, variant) for path in sorted(FOLDER.glob("*.yaml")) for variant in variants_of(path)]


@pytest.mark.parametrize(("path", "variant"), EXPERIMENTS, ids=lambda part: getattr(part, "stem", part))
def test_experiments(path, variant, tmp_path):
    recipe = load_recipe(path, ["--variant", variant, "--output_dir", str(tmp_path / "run")])
    assert recipe["max_completion_length"] == 64 and recipe["variant"] == variant and "variants" not in recipe
    check(made(recipe))
    assert f"--config recipes/experiments/{path.name} --seeds" in path.read_text()


@pytest.mark.parametrize("variant", variants_of(RECIPES[0].parent / "passages.yaml"))
def test_the_arms_on_passages(variant, tmp_path):
    given = ["--variant", variant, "--output_dir", str(tmp_path / "run")]
    recipe = load_recipe(RECIPES[0].parent / "passages.yaml", given)
    assert recipe["max_completion_length"] == 24 and recipe["max_steps"] >= 300 and recipe["verifier"] == "text"
    check(made(recipe))


@pytest.mark.parametrize(
    ("name", "variant", "sources"),
    [
        ("pairs-alone", None, "mined mined mined perturb"),
        ("negatives", "mined-and-perturbed", "mined mined mined perturb"),
        ("negatives", "shuffled", "shuffle shuffle shuffle shuffle"),
        ("reward", "continuous", "mined mined mined perturb"),
        ("label-noise", "noise-20", "mined mined mined perturb"),
        ("guard", "guarded", "mined mined mined perturb"),
        ("long", "cooper", "mined mined mined perturb"),
        ("reference", "without-reference", "mined mined mined perturb"),
        ("mined", "mined-and-perturbed", "mined mined mined perturb"),
        ("mined", "perturbed", "perturb perturb perturb perturb"),
        ("assistant", "mined-and-base-policy", "mined mined mined assistant"),
        ("domain", "cooper", "mined mined mined shuffle"),
        ("replay", "replay", "mined mined"),
        ("replay", "replay-without-mined", "perturb perturb"),
        ("guard-closely", "guarded", "mined mined"),
        ("misjudged", "cooper-30", "mined mined"),
        ("steps", "outcome", "mined mined"),
        ("credit", "outcome", "mined mined"),
    ],
)
def test_an_experiment_has_the_pairs_of_its_published_runs(name, variant, sources):
    recipe = load_recipe(FOLDER / f"{name}.yaml", ["--variant", variant] if variant else [])
    assert share_out(recipe["negative_sources"], recipe["pairs_per_prompt"]) == sources.split()


def test_a_variant_lies_between_the_recipe_and_the_command_line(tmp_path):
    (tmp_path / "base.yaml").write_text("max_steps: 5\nseed: 1\nbeta: 0.5\n")
    recipe = tmp_path / "sub" / "recipe.yaml"
    recipe.parent.mkdir()
    recipe.write_text("extends: ../base.yaml\nseed: 2\nvariants: {a: {seed: 3, max_steps: 7}, b: {arm: static}}\n")
    assert load_recipe(recipe) == {"max_steps": 5, "seed": 2, "beta": 0.5}
    assert load_recipe(recipe, ["--variant", "a", "--max_steps", "9"]) == {
        "variant": "a",
        "max_steps": 9,
        "seed": 3,
        "beta": 0.5,
    }
    assert list(variants_of(recipe)) == ["a", "b"]
    with pytest.raises(BadInputError, match=r"no variant 'c'; it has a, b"):
        load_recipe(recipe, ["--variant", "c"])
    recipe.write_text("variants: {a: {sead: 3}}\n")
    with pytest.raises(BadInputError, match=r"recipe.yaml: variant a: unknown key 'sead'; did you mean 'seed'"):
        load_recipe(recipe)
    recipe.write_text("variants: [a]\n")
    with pytest.raises(BadInputError, match="variants: give"):
        load_recipe(recipe)
    recipe.write_text("extends: nowhere.yaml\n")
    with pytest.raises(MissingFileError, match=r"nowhere.yaml: no such recipe"):
        load_recipe(recipe)


@pytest.mark.parametrize("name", sorted(REWARD_MODEL))
def test_reward_model_recipes(name):
    from cooper_rl.settings.reward_model import RewardModelTrainConfig

    path = next(path for path in RECIPES if path.stem == name)
    RewardModelTrainConfig(**load_recipe(path, command="train-rm"))


@pytest.mark.parametrize("name", sorted(ANNOTATION))
def test_annotation_recipes(name):
    settings = load_recipe(RECIPES[0].parent / f"{name}.yaml", command=ANNOTATION[name])
    made = {"collect": CollectConfig, "annotate": AnnotateConfig}[ANNOTATION[name]](**settings)
    folder = {"schoolbook": "smollm2", "passages": "passages"}.get(name.rpartition("-")[2], "verifyrm")
    assert Path(made.output).parent == Path("runs") / folder


@pytest.mark.parametrize("path", sorted((RECIPES[0].parent / "accelerate").glob("*.yaml")), ids=lambda p: p.stem)
def test_accelerate_recipes(path):
    from accelerate.commands.config.config_args import load_config_from_file

    config = load_config_from_file(str(path))
    assert config.num_processes == 8 and config.mixed_precision == "bf16"
    sharded = config.fsdp_config
    assert not sharded or sharded["fsdp_cpu_ram_efficient_loading"] is False, "see distributed.loading_whole"


@pytest.mark.parametrize("name", NANO_POLICIES)
def test_nano_policy_recipe(name):
    import yaml

    from studies.nano.pretrain import PretrainConfig

    path = next(path for path in RECIPES if path.stem == name)
    PretrainConfig(**yaml.safe_load(path.read_text()))


def test_overrides():
    arguments = ["--seed", "3", "--arm=rule", "--bf16", "--learning_rate", "1e-5", "--beta", "-0.5"]
    arguments += ["--negative_sources", "{mined: 3, perturb: 1}"]
    overrides = parse_overrides(arguments)
    assert overrides == {
        "seed": 3,
        "arm": "rule",
        "bf16": True,
        "learning_rate": "1e-5",
        "beta": -0.5,
        "negative_sources": {"mined": 3, "perturb": 1},
    }


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"arm": "both"}, "arm: 'both' is not one of rule, static, cooper, hybrid"),
        (
            {"arm": "static", "cotrain": True},
            "cotrain: true contradicts arm static, which means reward score and cotrain",
        ),
        ({"num_generations": 1}, "at least 2"),
        ({"per_device_train_batch_size": 12}, "not a multiple"),
        ({"negative_sources": {"mined": 0}}, "at least one source a positive weight"),
        ({"negative_sources": {"mine": 1}}, "no negative source 'mine': did you mean mined"),
        ({"negative_fallback": "suffle"}, "no negative source 'suffle': did you mean shuffle"),
        ({"reward_model_type": "verifirm"}, "no reward model 'verifirm': did you mean verifyrm"),
        ({"reward": "scores"}, "no reward 'scores': did you mean score"),
        ({"monitors": ["gard"]}, "no monitor 'gard': none is known by name; give your own as module:Name"),
        ({"reward_model_name_or_path": None}, "reward model"),
        ({"model_name_or_path": "/no/such/model"}, "no such model folder"),
        ({"assistant_model": "/no/such/model"}, "assistant_model: /no/such/model: no such model folder"),
        ({"dataset_name": "nowhere.jsonl"}, "nowhere.jsonl"),
        ({"output_dir": ""}, "output_dir is not set"),
    ],
)
def test_bad_settings(settings, message, tmp_path):
    good = {**load_recipe(RECIPES[-1].parent / "quickstart.yaml"), "output_dir": str(tmp_path / "run")}
    check(good)
    with pytest.raises(BadInputError, match=message):
        check({**good, **settings})


def test_pickled_weights_are_refused(tmp_path):
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "pytorch_model.bin").write_bytes(b"\x80\x04")
    recipe = load_recipe(RECIPES[-1].parent / "quickstart.yaml", ["--model_name_or_path", str(tmp_path / "model")])
    with pytest.raises(BadInputError, match=r"pytorch_model.bin is pickled"):
        check(recipe)


def test_a_schedule_with_another_ones_settings(tmp_path):
    words = ["--lr_scheduler_type", "linear", "--output_dir", str(tmp_path / "run")]
    with pytest.raises(BadInputError, match=r"lr_scheduler_kwargs .*num_decay_steps.* do not fit .* linear"):
        run_training(load_recipe(RECIPES[0].parent / "quickstart.yaml", words))
    assert not (tmp_path / "run").exists()
