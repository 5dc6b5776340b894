"""Makes the pages of the site that are not in docs/; MkDocs calls its hooks (mkdocs.yml).

The home page is README.md, and the pages of the project are the Markdown files beside it. Each example's README is a
page too. The API reference has a page for each module of the package. A document may link to any file of the
repository: a module leads to its page in the reference, any other file to a page that shows it. A public name without
a docstring is a warning, which ends the build.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import griffe
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.plugins import get_plugin_logger
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[1]
DOCS, PACKAGE, EXAMPLES = ROOT / "docs", ROOT / "src" / "cooper_rl", ROOT / "examples"
PROJECT = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "CHANGELOG.md": "project/changelog.md",
    "SECURITY.md": "project/security.md",
}
LINK = re.compile(r"(?<=\]\()(?!\w+:|#)([^)\s#]+)")  # the file that a relative link names, without its anchor
PICTURE = re.compile(r'<picture>\s*<source [^>]*srcset="([^"]+)">\s*<img src="([^"]+)" alt="([^"]*)">\s*</picture>')
FENCE = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
LANGUAGES = {".py": "python", ".yaml": "yaml", ".toml": "toml", ".json": "json"}
FOLDERS = {  # the section of a page that the navigation does not name
    "": "How-to",
    "decisions": "Decisions",
    "experiments": "Results",
    "notes": "Results",
}
log = get_plugin_logger("site_pages")


def modules() -> list[Path]:
    """Every module of the package that has a public name, as a path from src/."""
    paths = (path.relative_to(PACKAGE.parent) for path in PACKAGE.rglob("*.py"))
    return sorted(path for path in paths if path.stem == "__init__" or not path.stem.startswith("_"))


def page_of_module(path: Path) -> str:
    """The reference page of a module, given as a path from src/."""
    return (Path("reference") / path.with_name(path.name.replace("__init__", "index"))).with_suffix(".md").as_posix()


def page_of(path: Path) -> str:
    """The page of the site for a file or a folder of the repository."""
    if path.is_relative_to(DOCS):
        return (path / "README.md" if path.is_dir() else path).relative_to(DOCS).as_posix()
    if path.is_relative_to(EXAMPLES) and (path.is_dir() or path.name == "README.md"):
        folder = path if path.is_dir() else path.parent
        return (folder.relative_to(ROOT) / "index.md").as_posix()
    if path.is_dir() and (path / "__init__.py").is_file() and path.is_relative_to(PACKAGE):
        path = path / "__init__.py"
    if path.suffix == ".py" and path.is_relative_to(PACKAGE):
        return page_of_module(path.relative_to(PACKAGE.parent))
    name = path.relative_to(ROOT).as_posix()
    return PROJECT.get(name, f"source/{name}.md")


def documents() -> dict[str, Path]:
    """The Markdown files that are pages, by their place in the site."""
    project = {page: ROOT / name for name, page in PROJECT.items() if (ROOT / name).is_file()}
    project |= {page_of(path): path for path in sorted(EXAMPLES.rglob("README.md"))}
    return project | {path.relative_to(DOCS).as_posix(): path for path in sorted(DOCS.rglob("*.md"))}


def targets(path: Path, text: str) -> Iterator[Path]:
    """What a document links to in the repository; a target that does not exist is left to MkDocs, which reports it."""
    for part in FENCE.split(text)[::2]:
        for match in LINK.finditer(part):
            target = (path.parent / match[1]).resolve()
            if target.exists() and target.is_relative_to(ROOT):
                yield target


def shown(path: Path) -> str:
    """The page of a file, or of a folder with a link to each of its files."""
    title = f"# `{path.relative_to(ROOT).as_posix()}`\n\n"
    if path.is_dir():
        files = (file for file in sorted(path.iterdir()) if file.is_file())
        return title + "".join(f"- [`{file.name}`]({path.name}/{file.name}.md)\n" for file in files)
    return f"{title}````{LANGUAGES.get(path.suffix, 'text')}\n{path.read_text(encoding='utf-8')}\n````\n"


def source_pages() -> dict[str, Path]:
    """The files of the repository that documents link to and that have no other page."""
    found: dict[str, Path] = {}
    for document in documents().values():
        for target in targets(document, document.read_text(encoding="utf-8")):
            files = [file for file in target.iterdir() if file.is_file()] if target.is_dir() else []
            pages = {page_of(file): file for file in (target, *files)}
            found |= {page: file for page, file in pages.items() if page.startswith("source/")}
    return found


def themed(text: str) -> str:
    """The text with each <picture> as two images; the theme shows the one that fits its colours."""
    return PICTURE.sub(r"![\3](\2#only-light)\n![\3](\1#only-dark)", text)


def relinked(text: str, path: Path, page: str) -> str:
    """The text of a document with its links leading to the pages of the site."""

    def link(match: re.Match[str]) -> str:
        target = (path.parent / match[1]).resolve()
        if not target.exists() or not target.is_relative_to(ROOT):
            return match[1]
        return Path(os.path.relpath(page_of(target), Path(page).parent)).as_posix()

    parts = FENCE.split(text)
    return "".join(part if place % 2 else LINK.sub(link, part) for place, part in enumerate(parts))


def undocumented(found: griffe.Object) -> Iterator[str]:
    """Public modules, classes, functions and methods without a docstring.

    A method of a class with a base may take its base's; `main` is told by its module.
    """
    for name, member in found.members.items():
        if member.is_alias or member.is_attribute or name.startswith("_") or name == "main":
            continue
        told = isinstance(found, griffe.Class) and found.bases
        if not member.has_docstring and not told:
            yield member.path
        if member.is_module or member.is_class:
            yield from undocumented(member)  # type: ignore[arg-type]


def first_sentence(found: griffe.Object | griffe.Alias) -> str:
    """The first line of a docstring."""
    return found.docstring.value.splitlines()[0] if found.docstring else ""


def reference_index(package: griffe.Object) -> str:
    """What is imported from the package itself, and each of its parts with the first line of its docstring."""
    public = [f"- [`{name}`][{package[name].target_path}]\n" for name in sorted(package.exports or ())]
    rows = ["| Part | What it is |\n|---|---|\n"]
    for name, part in sorted(package.members.items()):
        if not part.is_alias and part.is_module and not name.startswith("_"):
            inside = f"{name}/index.md" if (PACKAGE / name).is_dir() else f"{name}.md"
            rows.append(f"| [`{part.path}`]({inside}) | {first_sentence(part)} |\n")
    return f"# API\n\n`from cooper_rl import ...`\n\n{''.join(public)}\n## Parts\n\n{''.join(rows)}"


def reference_pages() -> dict[str, str]:
    """The page of each module: its docstring and its public names."""
    package = griffe.load("cooper_rl", search_paths=[str(PACKAGE.parent)])
    for name in undocumented(package):  # type: ignore[arg-type]
        log.warning("%s is public and has no docstring", name)
    pages = {}
    for path in modules():
        name = ".".join(path.with_suffix("").parts).removesuffix(".__init__")
        pages[page_of_module(path)] = f"# `{name}`\n\n::: {name}\n    options: {{show_root_heading: false}}\n"
    return pages | {"reference/cooper_rl/index.md": reference_index(package)}  # type: ignore[arg-type]


def tree(pages: list[str]) -> list[Any]:
    """Pages of one folder and of those below it as a part of the navigation, by module name."""
    entries: list[Any] = []
    for page in sorted(pages, key=lambda page: Path(page).with_suffix("").parts):
        inside, parts = entries, Path(page).parts[2:]
        for folder in parts[:-1]:
            section = next((entry for entry in inside if folder in entry), None)
            if section is None:
                section = {folder: []}
                inside.append(section)
            inside = section[folder]
        inside.insert(0, page) if parts[-1] == "index.md" else inside.append({Path(page).stem: page})
    return entries


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Adds the pages that mkdocs.yml does not name to the navigation."""
    sections: dict[str, list[Any]] = {title: inside for entry in config.nav or [] for title, inside in entry.items()}
    named = str(config.nav)
    for page, path in documents().items():
        folder = Path(page).parent.as_posix().removeprefix(".")
        if f"'{page}'" not in named and path.is_relative_to(DOCS):
            sections.setdefault(FOLDERS.get(folder, folder.capitalize()), []).append(page)
    examples = [page for page in documents() if page.startswith("examples/")]
    sections["Examples"] = sorted(examples, key=lambda page: (page.count("/"), page))
    sections["Reference"].append({"API": tree([page_of_module(path) for path in modules()])})
    sections["Project"] = [page for page in documents() if page.startswith("project/")]
    config.nav = [{title: inside} for title, inside in sections.items()]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the pages that are not in docs/."""
    for page, path in documents().items():
        if not path.is_relative_to(DOCS):
            files.append(File.generated(config, page, content=path.read_text(encoding="utf-8")))
    for page, text in reference_pages().items():
        files.append(File.generated(config, page, content=text))
    for page, path in source_pages().items():
        hidden = InclusionLevel.NOT_IN_NAV
        files.append(File.generated(config, page, content=shown(path), inclusion=hidden))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Makes links to files of the repository lead to their pages."""
    place = page.file.src_uri
    path = documents().get(place) or source_pages().get(place)
    return relinked(themed(markdown), path, place) if path and path.suffix != ".py" else markdown
