"""The direction of imports, the size of modules, and what must not be in library code."""

import ast
import re
import statistics
import subprocess
import sys
from collections import Counter
from functools import cache
from itertools import chain
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "src" / "cooper_rl"
# A part may import from itself and from these. Each row names only parts above it: there is no circle.
BASE = {"errors", "records", "intervals", "jsonl", "parts", "settings", "tables", "columns"}
ALLOWED = {
    **{name: set() for name in ("errors", "records", "intervals", "packing", "steps")},
    "distributed": {"errors"},
    "fast": {"packing"},
    "jsonl": {"errors"},
    "checkpoints": {"errors", "jsonl"},
    "parts": {"errors"},
    "settings": {"errors"},
    "tables": {"errors", "jsonl", "settings"},
    "columns": {"errors"},
    "report": BASE,
    "verifiers": BASE,
    "generation": BASE | {"distributed", "fast"},
    "synthesis": BASE | {"steps", "verifiers"},
    "domains": BASE | {"packing", "steps", "verifiers", "generation", "synthesis"},
    "testing": BASE | {"domains", "method", "steps", "verifiers"},
    "labelling": BASE | {"domains", "verifiers", "generation", "synthesis"},
    "method": BASE | {"steps", "verifiers", "generation", "synthesis"},
    "verifyrm": BASE | {"checkpoints", "distributed", "fast", "packing", "steps", "synthesis"},
    "evaluation": BASE
    | {"distributed", "method", "steps"}
    | {"domains", "verifiers", "generation", "synthesis", "labelling", "verifyrm"},
    "credit": BASE | {"packing", "steps", "generation", "method", "verifyrm"},
    "engines": BASE
    | {"checkpoints", "credit", "distributed", "domains", "evaluation", "fast", "generation", "method", "packing"}
    | {"verifiers", "verifyrm"},
    "doctor": BASE | {"distributed", "domains", "generation", "engines"},
    "serve": BASE | {"checkpoints", "verifiers", "generation", "method", "verifyrm", "evaluation", "engines"},
    "cli": BASE
    | {"domains", "verifiers", "labelling", "method", "verifyrm", "evaluation", "engines", "report", "doctor"}
    | {"serve", "distributed", "steps"},
    "__init__": {"errors", "records", "settings", "verifiers", "verifyrm", "engines"},
}
# Parts that are imported whole without any of HEAVY, but for the modules named.
TORCH_FREE = {
    **{
        name: set()
        for name in (
            "errors",
            "records",
            "intervals",
            "jsonl",
            "tables",
            "columns",
            "parts",
            "settings",
            "method",
            "verifiers",
            "report",
        )
    },
    **{name: set() for name in ("synthesis", "labelling", "domains", "testing")},
    "generation": {"generation.in_process"},
    "cli": set(),
    "doctor": set(),
}
HEAVY = ("torch", "transformers", "trl", "accelerate", "ray")
MODULES = sorted(PACKAGE.rglob("*.py"))


def part_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


@cache
def nodes_of(source: str) -> list[ast.AST]:
    return list(ast.walk(ast.parse(source)))


def imported_parts(source: str) -> set[str]:
    parts = set()
    for node in nodes_of(source):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("cooper_rl."):
            parts.add(node.module.split(".")[1])
        elif isinstance(node, ast.ImportFrom) and node.module == "cooper_rl":
            parts |= {alias.name for alias in node.names}
        elif isinstance(node, ast.Import):
            parts |= {alias.name.split(".")[1] for alias in node.names if alias.name.startswith("cooper_rl.")}
    return parts


@cache
def graph():
    """Which parts import which."""
    found = {}
    for path in MODULES:
        part = part_of(path)
        found.setdefault(part, set()).update(imported_parts(path.read_text()) - {part})
    return found


def circle_in(edges):
    """Parts that import each other in a circle, or nothing."""
    left = dict(edges)
    while left:
        free = [part for part, imports in left.items() if not imports & left.keys()]
        if not free:
            return sorted(left)
        for part in free:
            del left[part]
    return []


def test_the_parts_import_each_other_in_no_circle():
    edges = graph()
    print("\n".join(f"{part:<12} -> {', '.join(sorted(imports))}" for part, imports in sorted(edges.items())))
    assert circle_in(edges) == []
    assert circle_in({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}, "e": set()}) == ["a", "b", "c", "d"]


def test_no_two_modules_hold_one_another():
    """Not even for their types."""
    names = {".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts): path for path in MODULES}
    edges = {name: imported_modules(path.read_text()) & (names.keys() - {name}) for name, path in names.items()}
    assert circle_in({name: imports for name, imports in edges.items() if not name.endswith("__init__")}) == []


@pytest.mark.parametrize("part", ALLOWED)
def test_imports_go_one_way(part):
    assert graph().get(part, set()) <= ALLOWED[part]


def test_every_part_has_its_row():
    assert graph().keys() == ALLOWED.keys() and circle_in(ALLOWED) == []


def imported_modules(source: str) -> set[str]:
    found = set()
    for node in nodes_of(source):
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


def test_the_check_sees_an_upward_import():
    assert imported_parts("from cooper_rl.method.pairs import Pairs") - ALLOWED["verifiers"] == {"method"}
    assert imported_parts("import cooper_rl.engines.config\nfrom cooper_rl import cli") == {"engines", "cli"}


def functions_of(source):
    return [node for node in nodes_of(source) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_modules_and_functions_are_short(path):
    source = path.read_text()
    assert path.name != "utils.py"
    assert len(source.splitlines()) <= 350
    for node in functions_of(source):
        assert node.end_lineno - node.lineno < 50, f"{node.name} is too long"
    for node in nodes_of(source):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert node.func.id not in ("print", "eval", "exec"), f"{path}:{node.lineno}"


def test_a_module_is_one_story_of_a_few_minutes():
    """Not one of many fragments, nor a pile: 100 to 300 lines are right, and few names are needed."""
    lengths = [len(path.read_text().splitlines()) for path in MODULES]
    assert statistics.median(lengths) <= 200, statistics.median(lengths)
    assert len(MODULES) <= 180


def test_no_file_name_is_there_twice():
    """But for packages' own, and each engine's `run`."""
    names = Counter(path.name for path in MODULES)
    assert {name for name, count in names.items() if count > 1} <= {"__init__.py", "run.py"}


def test_the_joint_step_is_one_short_file():
    assert len((PACKAGE / "method" / "loop.py").read_text().splitlines()) < 175


def test_one_importer_of_math_verify():
    importers = {
        p.name for p in MODULES if "math_verify import" in p.read_text() or "import math_verify" in p.read_text()
    }
    assert importers == {"library.py"}


def test_worker_does_not_import_math():
    """The pool and its workers serve verifiers of any kind, and load the one that is asked for by its name."""
    for name in ("pool", "pipe", "worker", "kinds"):
        imported = imported_modules((PACKAGE / "verifiers" / f"{name}.py").read_text())
        assert not [each for each in imported if each.startswith("cooper_rl.verifiers.math")], name


def test_no_unsafe_loading():
    for path in MODULES:
        source = path.read_text()
        assert "trust_remote_code=True" not in source
        assert "import pickle" not in source
        assert "yaml.load(" not in source
        assert "torch.load(" not in source


def light_modules(part):
    names = (str(p.relative_to(PACKAGE).with_suffix("")).replace("/", ".") for p in MODULES if part_of(p) == part)
    return [n.removesuffix(".__init__") for n in names if not any(heavy in n for heavy in TORCH_FREE[part])]


def test_the_credit_of_steps_is_imported_inside_of_functions_alone():
    """A run without it does not load it."""
    for path in MODULES:
        at_top = [node for node in ast.parse(path.read_text()).body if isinstance(node, (ast.Import, ast.ImportFrom))]
        assert part_of(path) == "credit" or "credit" not in imported_parts("\n".join(map(ast.unparse, at_top))), path
    assert "credit" in graph()["engines"]


def test_the_torch_free_parts_import_nothing_heavy():
    """Their modules one after the other in one fresh interpreter; the first that loads something heavy is named."""
    parts = [light_modules(part) for part in TORCH_FREE]
    assert all(parts)
    names = [*chain(*parts)]
    code = f"""
import importlib, sys
for name in {names!r}:
    importlib.import_module(f"cooper_rl.{{name}}")
    loaded = [heavy for heavy in {HEAVY!r} if heavy in sys.modules]
    assert not loaded, (name, loaded)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_no_clock_that_can_jump():
    """A step of the system clock must not end a time limit or falsify a duration."""
    for path in MODULES:
        assert not re.search(r"\btime\.time\(|datetime\.(now|utcnow)\(", path.read_text()), path
