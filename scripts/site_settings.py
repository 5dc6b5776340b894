"""Shows the sentence of a setting as its documentation in the API reference; griffe loads this (mkdocs.yml).

A setting is written `name: type = setting(default, "A sentence.")`, so it has no docstring that griffe would find.
"""

from __future__ import annotations

import ast
from typing import Any

import griffe


class SettingSentences(griffe.Extension):
    """Takes the docstring and the default of a setting from its call."""

    def on_attribute_instance(self, *, node: Any, attr: griffe.Attribute, **_: Any) -> None:
        """Changes the attribute where it is a setting, and leaves any other as it is."""
        call = getattr(node, "value", None)
        if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "setting"):
            return
        default, *rest = call.args
        if rest and isinstance(rest[0], ast.Constant) and isinstance(rest[0].value, str):
            attr.docstring = griffe.Docstring(rest[0].value, lineno=node.lineno, parent=attr)
            attr.value = ast.unparse(default)
