"""Shows the default of a setting as its value in the API reference; griffe loads this (mkdocs.yml).

A setting with a range is written `name: type = setting(default, least=0)`.
"""

from __future__ import annotations

import ast
from typing import Any

import griffe


class SettingDefaults(griffe.Extension):
    """Takes the default of a setting from its call."""

    def on_attribute_instance(self, *, node: Any, attr: griffe.Attribute, **_: Any) -> None:
        """Changes the attribute where it is a setting, and leaves any other as it is."""
        call = getattr(node, "value", None)
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "setting":
            attr.value = ast.unparse(call.args[0])
