"""The command line as a user meets it: real processes, one clear line, exit code 2."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cooper_rl.settings.recipe import CONFIGS, known_keys
from cooper_rl.settings.schema import describe

ROOT = Path(__file__).parents[2]
COMMANDS = ["train", "compare", "verify", "score", "collect", "annotate", "train-rm", "eval-rm", "eval"]
COMMANDS += ["report", "monitor", "doctor"]
QUICKSTART = str(ROOT / "recipes" / "quickstart.yaml")


def cooper(*arguments, stdin="", cwd=ROOT):
    """The ended process, and the modules that it imported."""
    command = [sys.executable, "-X", "importtime", "-m", "cooper_rl.cli", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, input=stdin, cwd=cwd)
    lines = done.stderr.splitlines(keepends=True)
    imports = [line for line in lines if line.startswith("import time:")]
    done.stderr = "".join(line for line in lines if line not in imports)
    return done, {line.rpartition("|")[2].strip() for line in imports}


def test_help_names_every_command():
    done, imported = cooper("--help")
    assert done.returncode == 0
    for command in COMMANDS:
        assert f"  {command} " in done.stdout
        help_text = cooper(command, "--help")[0].stdout
        assert "Example: " in help_text and f"cooper {command}" in help_text
    assert "typer" in imported and "torch" not in imported  # an answer within a second


@pytest.mark.parametrize("command", CONFIGS)
def test_help_names_every_key(command):
    """Under headings, with its sentence, type and default; a train recipe may have TRL's fields besides."""
    sections = describe(CONFIGS[command])
    described = {key: text for _, keys in sections for key, text in keys}
    known = {f"--{key}" for key in known_keys(command)}
    of_training = command in ("train", "serve")  # both take a training recipe
    assert described.keys() < known if of_training else described.keys() == known
    done, imported = cooper(command, "--help")
    assert all(f"  {key} " in done.stdout or f"  {key}\n" in done.stdout for key in described)
    assert all(f"\n{heading}:\n" in done.stdout for heading, _ in sections)
    assert ("and every field of TRL's GRPOConfig" in done.stdout.splitlines()[-1]) == of_training
    assert "torch" not in imported
    if command == "eval":
        assert described["--num_samples"] == "Number of completions per problem. [a whole number; default 8]"
    if command == "train":
        headings = [heading for heading, _ in sections]
        assert headings == [
            *("Data", "Models", "Verifier", "Reward (stage 1)", "Credit of steps", "Pairs (stage 2)"),
            *(
                "The reward model's step (stage 2)",
                "Counterfactual references",
                "Guard and alarm",
                "Measuring",
                "Policy and trainer",
            ),
        ]
        assert described["--alarm_action"].endswith(" [log, stop or hybrid; default log]")
        assert described["--cotrain"].endswith(" [true or false]")  # whose default is the arm's


BAD = {
    "missing recipe": (["train", "--config", "nowhere.yaml"], "nowhere.yaml: no such recipe"),
    "unknown key": (["train", "--config", QUICKSTART, "--learning_rat", "1"], "did you mean 'learning_rate'"),
    "group of one": (["train", "--config", QUICKSTART, "--num_generations", "1"], "at least 2"),
    "batch": (["train", "--config", QUICKSTART, "--per_device_train_batch_size", "12"], "not a multiple"),
    "missing data": (["train", "--config", QUICKSTART, "--dataset_name", "no.jsonl"], "no.jsonl: no such file"),
    "missing model": (["score", "--model", "/no/model"], "/no/model: no such model folder"),
    "missing file": (["verify", "no.jsonl"], "no.jsonl: no such file"),
    "missing triples": (
        ["train-rm", "--model_name_or_path", "nano", "--train_files", "none.jsonl", "--output_dir", "x"],
        "none.jsonl: no such file",
    ),
    "no recipe": (["compare"], "--config is missing"),
    "bad arm": (
        ["compare", "--config", QUICKSTART, "--arms", "both"],
        f"--arms: 'both' is not an arm or a variant of {QUICKSTART}; choose from rule, static, cooper, hybrid",
    ),
    "a seed for a comparison": (
        ["compare", "--config", QUICKSTART, "--seed", "5"],
        "--seed: each run of a comparison has its own; give --seeds, or set it in the recipe",
    ),
    "an arm for a comparison": (
        ["compare", "--config", QUICKSTART, "--arms", "rule", "--arm", "static"],
        "--arm: each run of a comparison has its own; give --arms",
    ),
    "a negative weight": (
        ["train", "--config", QUICKSTART, "--negative_sources", "{mined: 1, shuffle: -1}", "--output_dir", "unused"],
        "a weight must be 0 or more",
    ),
    "a monitor that is not one's own": (
        ["train", "--config", QUICKSTART, "--monitors", "[guard]", "--output_dir", "unused"],
        "no monitor 'guard'",
    ),
    "unknown loss": (["train", "--config", QUICKSTART, "--loss_type", "nope"], "loss_type: 'nope' is not grpo, dapo"),
    "a seed below 0": (["train", "--config", QUICKSTART, "--seed=-1"], "seed = -1: must be from 0 to"),
    "bad seeds": (["compare", "--config", QUICKSTART, "--seeds", "a"], "whole numbers"),
    "unknown data set": (["train", "--config", QUICKSTART, "--dataset_name", "gsm9k"], "no data set 'gsm9k'"),
    "no such split": (["train", "--config", QUICKSTART, "--dataset_name", "svamp"], "svamp has no split 'train'"),
    "not a number": (
        ["train", "--config", QUICKSTART, "--learning_rate", "fast"],
        "command line: learning_rate: 'fast' is not a number",
    ),
    "no run": (["report", "tests"], "no run in it"),
    "wrong type": (
        ["train", "--config", QUICKSTART, "--lora_rank", "2.5"],
        "line: lora_rank: 2.5 is not a whole number",
    ),
    "wrong type of train-rm": (
        ["train-rm", "--class_balance", "nope"],
        "command line: class_balance: 'nope' is not true or false",
    ),
    "contradiction": (
        ["train", "--config", QUICKSTART, "--arm", "cooper", "--reward", "hybrid"],
        "command line: reward: hybrid contradicts arm cooper, which means reward score and cotrain true",
    ),
    "no such engine": (
        ["train", "--config", QUICKSTART, "--engine", "jax"],
        "--engine jax: no such engine; choose trl, plain or verl",
    ),
    "a schedule that verl lacks": (
        ["train", "--config", QUICKSTART, "--engine", "verl", "--output_dir", "unused"],
        "lr_scheduler_type = 'warmup_stable_decay': the verl engine supports 'constant'",
    ),
    "unknown verifier": (["verify", "--verifier", "maths"], "no verifier named 'maths'"),
}


@pytest.mark.parametrize("case", BAD, ids=str)
def test_bad_input_is_one_line_and_exit_code_2(case):
    arguments, message = BAD[case]
    done, imported = cooper(*arguments)
    assert done.returncode == 2, done.stderr
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr
    assert done.stderr.startswith("cooper: error: ") and message in done.stderr
    assert "trl" not in imported  # which takes ten seconds


FILES = {
    "wrong.jsonl": '{"q": "1 + 1?", "answer": "2"}\n',
    "empty.jsonl": "",
    "pickled/pytorch_model.bin": "",
    "run/config.yaml": "model_name_or_path: another\narm: cooper\n",
    "broken/config.yaml": "arm: [cooper\n",
    "itself.yaml": "extends: itself.yaml\n",
    "listed.yaml": "extends: [itself.yaml]\n",
    "latin.yaml": "seed: 1  # caf\xe9\n".encode("latin-1"),
}
BAD_FILES = {
    "wrong field": (["--dataset_name", "wrong.jsonl"], "wrong.jsonl:1: the record needs one of question"),
    "empty data set": (["--dataset_name", "empty.jsonl"], "empty.jsonl: the file is empty"),
    "pickle": (["--reward_model_name_or_path", "./pickled"], "pytorch_model.bin is pickled and is not loaded"),
    "another model's checkpoint": (
        ["--resume", "--output_dir", "run"],
        "run: was made with model_name_or_path = 'another', not 'nano-weekdays'; choose another --output_dir",
    ),
    "a run folder's broken settings": (["--resume", "--output_dir", "broken"], "config.yaml: not valid YAML"),
    "a recipe that extends itself": (["--config", "itself.yaml"], "itself.yaml: extends: the recipe extends itself"),
    "a recipe that extends two": (["--config", "listed.yaml"], "listed.yaml: extends: give the path of one recipe"),
    "a recipe in another encoding": (["--config", "latin.yaml"], "latin.yaml: not a text in UTF-8"),
    "a run is there": (["--output_dir", "run"], "run: already holds a run; continue it with --resume"),
}


@pytest.mark.parametrize("case", BAD_FILES, ids=str)
def test_bad_files_are_named_and_nothing_is_written(case, tmp_path):
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    before = sorted(tmp_path.rglob("*"))
    arguments, message = BAD_FILES[case]
    out = [] if "--output_dir" in arguments else ["--output_dir", "out"]
    recipe = [] if "--config" in arguments else ["--config", QUICKSTART]
    done, imported = cooper("train", *recipe, *arguments, *out, cwd=tmp_path)
    assert done.returncode == 2 and len(done.stderr.strip().splitlines()) == 1, done.stderr
    assert done.stderr.startswith("cooper: error: ") and message in done.stderr
    assert sorted(tmp_path.rglob("*")) == before
    assert "trl" not in imported


@pytest.mark.parametrize("given", [{}, {"OMP_WAIT_POLICY": "ACTIVE"}])
def test_waiting_threads_do_not_spin_unless_the_user_says_so(given):
    program = "import os, sys, cooper_rl.cli; print(os.environ['OMP_WAIT_POLICY'], 'torch' in sys.modules)"
    environment = {name: value for name, value in os.environ.items() if name != "OMP_WAIT_POLICY"} | given
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment)
    assert done.stdout.split() == [given.get("OMP_WAIT_POLICY", "PASSIVE"), "False"]  # set before torch reads it


def test_usage_errors_are_exit_code_2():
    assert cooper("no-such-command")[0].returncode == 2


@pytest.mark.parametrize("name", [[], ["-"]])
def test_verify_a_stream(name):
    records = [
        {"reference": "1/2", "completion": r"\boxed{0.5}", "id": 7},
        {"answer": "3", "completion": "It is four."},
    ]
    done, _ = cooper(
        "verify", *name, "--explain", "--workers", "1", stdin="".join(json.dumps(r) + "\n" for r in records)
    )
    first, second = map(json.loads, done.stdout.splitlines())
    assert first == {
        **records[0],
        "verdict": "CORRECT",
        "reason": "match",
        "parsed_reference": "1/2",
        "parsed_answer": "0.5",
    }
    assert (second["verdict"], second["reason"]) == ("UNPARSEABLE", "unknown_form")
    assert "CORRECT 1, UNPARSEABLE 1" in done.stderr


def test_verify_names_the_bad_line(tmp_path):
    path = tmp_path / "answers.jsonl"
    path.write_text('{"reference": "1", "completion": "1"}\nnot json\n')
    done, _ = cooper("verify", str(path), "--workers", "1")
    assert done.returncode == 2 and f"{path}:2: not JSON" in done.stderr
    assert json.loads(done.stdout)["verdict"] == "CORRECT"  # what was judged before is not lost


def test_a_run_folder_is_not_written_over(tmp_path):
    shutil.copy(QUICKSTART, tmp_path / "config.yaml")
    with (tmp_path / "config.yaml").open("a") as config:
        config.write("arm: cooper\n")
    done, _ = cooper("train", "--config", QUICKSTART, "--output_dir", str(tmp_path))
    assert done.returncode == 2 and "already holds a run" in done.stderr
    for changed in (["--arm", "static"], ["--cotrain", "false"], ["--reward", "hybrid"]):
        done, _ = cooper("train", "--config", QUICKSTART, "--output_dir", str(tmp_path), "--resume", *changed)
        assert done.returncode == 2 and "was made with arm = 'cooper'" in done.stderr
