"""The verifier by itself: what it imports, how fast, and the distribution that has nothing else."""

import ast
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tomllib
import venv
from importlib.metadata import distribution
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ALONE = ROOT / "packaging" / "verifier"
IMPORT_SECONDS = 0.3
HEAVY = ("torch", "transformers", "trl", "accelerate", "datasets", "numpy", "yaml", "httpx", "safetensors")
NEEDS = ("math-verify", "latex2sympy2_extended", "sympy", "mpmath", "antlr4-python3-runtime")
NEEDS += ("pint", "flexcache", "flexparser", "platformdirs", "typing_extensions")

TIMED = f"""
import sys, time
started = time.process_time()
import cooper_rl
from cooper_rl import RuleVerifier
seconds = time.process_time() - started
print(seconds)
print(*[name for name in {HEAVY!r} if name in sys.modules])
"""


def project(folder):
    return tomllib.loads((folder / "pyproject.toml").read_text())["project"]


def setup_module_of_the_distribution():
    spec = importlib.util.spec_from_file_location("verifier_setup", ALONE / "setup.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def python(program, *arguments, **changes):
    environment = {**os.environ, **changes}
    return subprocess.run(
        [sys.executable, "-c", program, *arguments], capture_output=True, text=True, env=environment, timeout=120
    )


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """A folder with the modules of the distribution and no other of the package."""
    folder = tmp_path_factory.mktemp("alone")
    for path in setup_module_of_the_distribution().needed(ROOT / "src"):
        copy = folder / path.relative_to(ROOT / "src")
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)
    return folder


def test_the_verifier_is_imported_at_once():
    """Seconds of one processor, the best of five: how long one waits depends on what else runs."""
    done = [python(TIMED) for _ in range(5)]
    seconds, heavy = zip(*(each.stdout.splitlines() for each in done), strict=True)
    assert set(heavy) == {""} and min(map(float, seconds)) < IMPORT_SECONDS, (seconds, heavy)


LIGHT = f"""
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {HEAVY!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Absent())
"""


def test_every_module_of_the_distribution_is_imported_without_the_others(alone):
    names = [".".join(path.relative_to(alone).with_suffix("").parts) for path in alone.rglob("*.py")]
    program = f"""{LIGHT}
import importlib
for name in {names!r}:
    module = importlib.import_module(name.removesuffix(".__init__"))
    assert module.__file__.startswith({str(alone)!r}), module.__file__
"""
    done = python(program, PYTHONPATH=str(alone))
    assert done.returncode == 0, done.stderr
    parts = {path.relative_to(alone / "cooper_rl").parts[0].removesuffix(".py") for path in alone.rglob("*.py")}
    assert {"verifiers", "cli", "records"} <= parts and not parts & {"engines", "method", "settings", "verifyrm"}


def test_imports_inside_of_functions_are_found_too(tmp_path):
    package = tmp_path / "cooper_rl"
    package.mkdir()
    for name in ("__init__", "first", "second", "third", "typed", "unneeded"):
        (package / f"{name}.py").touch()
    (package / "first.py").write_text(
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from cooper_rl import typed\n"
        "def late():\n    from cooper_rl.second import value\n    import cooper_rl.third\n"
    )
    found = setup_module_of_the_distribution().needed(tmp_path, ["first.py"])
    assert {path.stem for path in found} == {"__init__", "first", "second", "third"}


def test_what_it_lacks_is_said_in_one_line(alone):
    done = python("from cooper_rl import CooperTrainer", PYTHONPATH=str(alone))
    told = "CooperTrainer is not in cooper-rl-verifier: in a clone of cooper-rl, pip install '.'"
    assert done.stderr.splitlines()[-1] == f"ImportError: {told}"
    bare = (
        LIGHT.replace("('torch'", "('typer', 'torch'")
        + "from cooper_rl.cli.running import verify_alone; verify_alone()"
    )
    done = python(bare, "verify", PYTHONPATH=str(alone))
    line = "cooper: error: the command needs typer: in a clone of cooper-rl, pip install './packaging/verifier[cli]'\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", line)


def verify(alone, *arguments):
    program = f"{LIGHT}from cooper_rl.cli.running import verify_alone; verify_alone()"
    return python(program, "verify", *map(str, arguments), PYTHONPATH=str(alone))


def test_its_command_judges_a_file(alone, tmp_path):
    file = tmp_path / "answers.jsonl"
    file.write_text('{"reference": "1/2", "completion": "It is \\\\boxed{0.5}."}\n')
    done = verify(alone, file, "--explain", "--workers", "1")
    assert done.returncode == 0 and json.loads(done.stdout)["verdict"] == "CORRECT", done.stderr


BAD = {
    "no such file": (None, (), "answers.jsonl: no such file"),
    "a folder": ("", (), "answers.jsonl: a folder, not a file"),
    "no JSON": ('{"reference": "1", "completion": "1"}\nx\n', (), "answers.jsonl:2: not JSON (Expecting value)"),
    "no text": (
        '{"reference": 1, "completion": "1"}\n',
        (),
        "answers.jsonl:1: field 'reference' must be text, not int",
    ),
    "no field": (
        '{"reference": "1"}\n',
        (),
        "answers.jsonl:1: field 'completion' is missing; the record has reference",
    ),
    "no verifier": ("{}\n", ("--verifier", "maths"), "no verifier named 'maths': there are math, math_verify"),
    "no module": (
        '{"reference": "1", "completion": "1"}\n',
        ("--verifier", "none:explain"),
        "the verifier none:explain cannot be loaded in a worker process: ModuleNotFoundError",
    ),
    "output in a file": ("{}\n", ("--output", "{file}/out.jsonl"), "answers.jsonl is not a folder; give another --out"),
    "output a folder": ("{}\n", ("--output", "{folder}"), ": a folder; give a file as --output"),
}


@pytest.mark.parametrize(("text", "options", "message"), BAD.values(), ids=BAD)
def test_bad_input_is_one_line_and_exit_code_2(alone, tmp_path, text, options, message):
    file = tmp_path / "answers.jsonl"
    if text == "":
        file.mkdir()
    elif text is not None:
        file.write_text(text)
    done = verify(alone, file, *(option.format(file=file, folder=tmp_path) for option in options))
    assert done.returncode == 2 and done.stderr.startswith("cooper: error: "), done.stderr
    errors = [line for line in done.stderr.splitlines() if line.startswith("cooper: ")]
    assert message in errors[0] and len(done.stderr.splitlines()) == 1, done.stderr


def test_both_distributions_say_the_same():
    whole, own = project(ROOT), project(ALONE)
    assert [own[key] for key in ("version", "license", "requires-python")] == [
        whole[key] for key in ("version", "license", "requires-python")
    ]
    assert set(own["dependencies"]) <= set(whole["dependencies"])
    assert set(own["optional-dependencies"]["cli"]) <= set(whole["dependencies"])
    third = set()
    for path in setup_module_of_the_distribution().needed(ROOT / "src"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [node.module] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            third |= {name.partition(".")[0] for name in names}
    third -= {*sys.stdlib_module_names, "cooper_rl", "reasoning_gym"}
    named = {each.partition(">")[0] for each in [*own["dependencies"], *own["optional-dependencies"]["cli"]]}
    brought = {"sympy", "latex2sympy2-extended", "mpmath"}  # by math-verify
    assert {name.replace("_", "-") for name in third} <= named | brought


def made_wheel(folder):
    """The wheel of the distribution, from its sdist, as where there is no repository around it."""
    repository, sdists = folder / "repository", folder / "sdists"
    shutil.copytree(
        ROOT / "src" / "cooper_rl", repository / "src" / "cooper_rl", ignore=shutil.ignore_patterns("shipped")
    )
    ignored = shutil.ignore_patterns("src", "build", "LICENSE")
    shutil.copytree(ALONE, repository / "packaging" / "verifier", ignore=ignored)
    shutil.copy(ROOT / "LICENSE", repository)
    program = "import sys; from setuptools.build_meta import build_sdist; build_sdist(sys.argv[1])"
    sdists.mkdir()
    command = [sys.executable, "-c", program, sdists]
    subprocess.run(command, cwd=repository / "packaging" / "verifier", check=True, capture_output=True)
    with tarfile.open(next(sdists.iterdir())) as archive:
        archive.extractall(folder / "unpacked", filter="data")
    shutil.rmtree(repository)
    source = next((folder / "unpacked").iterdir())
    command = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--no-deps",
        "--no-build-isolation",
        "-w",
        folder / "wheels",
        source,
    ]
    subprocess.run(command, check=True, capture_output=True)
    return next((folder / "wheels").iterdir())


def linked_needs(folder):
    """A folder with what the verifier needs from other projects, taken from this environment, and nothing else."""
    folder.mkdir()
    for name in NEEDS:
        try:
            found = distribution(name)
        except ImportError:
            continue
        for top in {Path(file).parts[0] for file in found.files or () if not str(file).startswith("..")}:
            if top != "__pycache__":
                (folder / top).symlink_to(found.locate_file(top))
    return folder


USED = """
import sys
from cooper_rl import RuleVerifier
with RuleVerifier(workers=1) as rule:
    print(*rule.verify_many(["1/2", "12", "$x^2+1$"], [r"\\\\boxed{0.5}", "It is 13.", r"\\\\boxed{1+x^2}"]))
print(*[name for name in ("torch", "transformers", "trl") if name in sys.modules])
"""


@pytest.mark.slow
def test_the_wheel_in_a_fresh_environment(tmp_path):
    wheel = made_wheel(tmp_path)
    assert wheel.name == f"cooper_rl_verifier-{project(ROOT)['version']}-py3-none-any.whl"
    venv.create(tmp_path / "fresh", with_pip=False)
    fresh = tmp_path / "fresh" / "bin" / "python"
    command = [sys.executable, "-m", "pip", "--python", fresh, "install", "--no-index", "--no-deps", wheel]
    subprocess.run(command, check=True, capture_output=True)
    (packages,) = (tmp_path / "fresh").glob("lib/python*/site-packages")
    (packages / "needs.pth").write_text(str(linked_needs(tmp_path / "needs")))
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [fresh, "-c", USED.replace("\\\\", "\\")]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=tmp_path)
    assert done.stdout.splitlines() == ["CORRECT INCORRECT CORRECT", ""], done.stderr
    command = [tmp_path / "fresh" / "bin" / "cooper", "verify"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 2 and "pip install './packaging/verifier[cli]'" in done.stderr
