"""Copies the verifier's modules and all that they import from the repository into `src` beside this file, and builds.

An sdist has this copy, and no repository around it: there the copy is built as it is.
"""

import ast
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

from setuptools import setup

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PACKAGE = "cooper_rl"
SEEDS = ("verifiers", "cli/running.py")  # in the package: a folder stands for all its modules


def path_of(module: str, source: Path) -> Path | None:
    """The file of a module of the package; None where this is no such module."""
    stem = source.joinpath(*module.split("."))
    return next((path for path in (stem.with_suffix(".py"), stem / "__init__.py") if path.is_file()), None)


def statements(tree: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a module, also those inside of functions, without what is for type checkers alone."""
    for node in ast.iter_child_nodes(tree):
        if not (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"):
            yield node
            yield from statements(node)


def imported(path: Path) -> Iterator[str]:
    """The names that a module imports from the package; some may be no modules but what these hold."""
    for node in statements(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield from (node.module, *(f"{node.module}.{alias.name}" for alias in node.names))
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def needed(source: Path, seeds: Iterable[str] = SEEDS) -> set[Path]:
    """The files of the seeds and of all that they import, with the packages that these are in."""
    places = [source / PACKAGE / seed for seed in seeds]
    waiting = [path for place in places for path in (place.rglob("*.py") if place.is_dir() else [place])]
    found: set[Path] = set()
    while waiting:
        path = waiting.pop()
        if path in found:
            continue
        found.add(path)
        folders = [folder for folder in path.parents if source / PACKAGE in (folder, *folder.parents)]
        names = (name for name in imported(path) if f"{name}.".startswith(f"{PACKAGE}."))
        waiting += [folder / "__init__.py" for folder in folders] + [p for n in names if (p := path_of(n, source))]
    return found


def copy_sources() -> None:
    """Makes `src` anew from the repository."""
    source, target = ROOT / "src", HERE / "src"
    shutil.rmtree(target, ignore_errors=True)
    shutil.rmtree(HERE / "build", ignore_errors=True)  # which setuptools would take removed modules from
    for path in [*needed(source), source / PACKAGE / "py.typed"]:
        copy = target / path.relative_to(source)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)
    shutil.copyfile(ROOT / "LICENSE", HERE / "LICENSE")


if __name__ == "__main__":
    if (ROOT / "src" / PACKAGE).is_dir():
        copy_sources()
    setup()
