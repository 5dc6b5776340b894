"""The direction of imports, the size of modules, and what must not be in library code."""

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "src" / "cooper_rl"
# A part may import from itself and from these.
ALLOWED = {
    "errors": set(),
    "devices": set(),
    "ranks": set(),
    "records": set(),
    "confusion": set(),
    "packing": set(),
    "console": set(),
    "jsonl": {"errors"},
    "parts": {"errors"},
    "extras": {"errors"},
    "settings": {"errors"},
    "verifiers": {"records", "errors", "extras", "jsonl"},
    "generation": {"records", "errors", "devices"},
    "domains": {
        "records",
        "errors",
        "parts",
        "extras",
        "packing",
        "settings",
        "jsonl",
        "verifiers",
        "generation",
        "synthesis",
    },
    "synthesis": {"records", "verifiers"},
    "verifyrm": {"records", "confusion", "errors", "extras", "devices", "settings", "jsonl", "synthesis", "engines"},
    "labelling": {"records", "errors", "settings", "jsonl", "domains", "verifiers", "generation", "synthesis"},
    "method": {"records", "errors", "jsonl", "verifiers", "generation", "synthesis", "verifyrm", "engines"},
    "evaluation": {
        *("records", "confusion", "errors", "settings", "jsonl", "domains", "verifiers", "generation", "synthesis"),
        *("verifyrm", "labelling", "engines"),
    },
    "engines": {
        *("records", "errors", "settings", "jsonl", "domains", "verifiers", "generation", "verifyrm", "method"),
        *("evaluation",),
    },
    "report": {"records", "errors", "jsonl"},
    "compare": {"errors", "jsonl", "report", "console"},
    "doctor": {"settings", "memory"},
    "memory": {"errors", "settings", "engines", "domains", "generation"},
    "cli": {
        *("errors", "settings", "domains", "verifiers", "verifyrm", "labelling", "evaluation", "engines", "compare"),
        *("report", "doctor", "console", "ranks"),
    },
    "__init__": {"records", "engines", "verifiers", "verifyrm"},
}
MODULES = sorted(PACKAGE.rglob("*.py"))


def part_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported_parts(source: str) -> set[str]:
    parts = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("cooper_rl."):
            parts.add(node.module.split(".")[1])
        elif isinstance(node, ast.ImportFrom) and node.module == "cooper_rl":
            parts |= {alias.name for alias in node.names}
        elif isinstance(node, ast.Import):
            parts |= {alias.name.split(".")[1] for alias in node.names if alias.name.startswith("cooper_rl.")}
    return parts


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_imports_go_one_way(path):
    part = part_of(path)
    assert imported_parts(path.read_text()) - {part} <= ALLOWED[part]


def imported_modules(source: str) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return found


def test_the_product_imports_no_demonstration():
    nano = "cooper_rl.domains.nano"
    product = [path for path in MODULES if PACKAGE / "domains" / "nano" not in path.parents]
    assert {path: imported_modules(path.read_text()) for path in product if nano in path.read_text()}.keys() == {
        PACKAGE / "domains" / "problems.py"  # which knows the worlds by their import paths
    }
    for path in product:
        assert not [name for name in imported_modules(path.read_text()) if f"{name}.".startswith(f"{nano}.")], path
    assert nano in imported_modules("from cooper_rl.domains import nano")


NANO_FREE = """
import sys
from typer.testing import CliRunner
import cooper_rl
from cooper_rl.cli import app
for arguments, given in {arguments!r}:
    done = CliRunner().invoke(app, arguments, input=given)
    assert done.exit_code == 0, done.output
    loaded = [name for name in sys.modules if name.startswith(("cooper_rl.domains.nano", "reasoning_gym"))]
    assert not loaded, (arguments, loaded)
"""


def test_nano_is_not_imported_by_who_does_not_run_it():
    verified = json.dumps({"reference": "1/2", "completion": "It is 0.5."}) + "\n"
    scored = json.dumps({"question": "1 + 1?", "reference": "2", "completion": "It is 2."}) + "\n"
    arguments = [(["--help"], None), (["verify"], verified), (["score", "--model", "nano"], scored)]
    done = subprocess.run([sys.executable, "-c", NANO_FREE.format(arguments=arguments)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_check_sees_an_upward_import():
    assert imported_parts("from cooper_rl.method.pairs import build_pairs") - ALLOWED["verifiers"] == {"method"}
    assert imported_parts("import cooper_rl.engines.trl.config\nfrom cooper_rl import cli") == {"engines", "cli"}


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_modules_and_functions_are_short(path):
    source = path.read_text()
    assert path.name != "utils.py"
    assert len(source.splitlines()) <= 400
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.end_lineno - node.lineno < 60, f"{node.name} is too long"
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert node.func.id not in ("print", "eval", "exec"), f"{path}:{node.lineno}"


def test_one_importer_of_math_verify():
    importers = {
        p.name for p in MODULES if "math_verify import" in p.read_text() or "import math_verify" in p.read_text()
    }
    assert importers == {"maths.py"}


def test_no_unsafe_loading():
    for path in MODULES:
        source = path.read_text()
        assert "trust_remote_code=True" not in source
        assert "import pickle" not in source
        assert "yaml.load(" not in source
        assert "torch.load(" not in source


def test_light_modules_import_without_torch():
    names = ["records", "errors", "verifiers", "report.write", "domains", "settings.recipe", "cli", "compare"]
    code = "import sys\n" + "".join(
        f"import cooper_rl.{name}\nassert 'torch' not in sys.modules, '{name}'\n"
        for name in names
        if "verifyrm" not in name
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_no_clock_that_can_jump():
    """A step of the system's clock must not end a time limit or spoil a duration."""
    for path in MODULES:
        assert not re.search(r"\btime\.time\(|datetime\.(now|utcnow)\(", path.read_text()), path
