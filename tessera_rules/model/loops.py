"""Loop names: what `for` binds, and how it is put into names, strings and expressions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal

from attrs import frozen

from tessera_rules.model.codes import LOOP_NAME
from tessera_rules.model.report import Findings
from tessera_rules.nearest import did_you_mean
from tessera_rules.source import Span
from tessera_rules.syntax import nodes


@frozen
class LoopValue:
    """The value of a loop name: ``kind`` says how it was written; a bare ``name`` may mean a dtype, a word, a dimension or a target."""

    kind: Literal["int", "float", "bool", "string", "name", "null"]
    value: Any

    @property
    def text(self) -> str:
        """The value as it goes into a name or a string."""
        if self.kind == "bool":
            return "true" if self.value else "false"
        return "null" if self.kind == "null" else str(self.value)


Loops = Mapping[str, LoopValue]

_PART = re.compile(r"\{\{|\}\}|\{([A-Za-z_][A-Za-z0-9_]*)\}|[{}]")


def fill(text: str, loops: Loops, span: Span, findings: Findings, *, string: bool = False) -> str:
    """Put loop values in place of ``{s}``. Strings outside any ``for`` stay as they are.

    Reports TSR216 for a name that no ``for`` around binds.
    """
    if "{" not in text and "}" not in text:
        return text
    if string and not loops:
        return text

    def replace(match: re.Match[str]) -> str:
        name = match.group(1)
        if name is None:
            return match.group()[0]
        if name in loops:
            return loops[name].text
        hint = did_you_mean(name, loops, "loop name") if loops else "no `for` is around it"
        findings.add(LOOP_NAME.at(span, f"'{{{name}}}' names no loop", hint=hint if not string else f"{hint}; a brace itself is written '{{{{'"))
        return name

    return _PART.sub(replace, text)


def name_text(name: nodes.Name, loops: Loops, findings: Findings) -> str:
    """Return a name with its loop parts filled; a loop name standing bare means its value."""
    if name.text in loops:
        return loops[name.text].text
    return fill(name.text, loops, name.span, findings)


def declared_text(name: nodes.Name, loops: Loops, findings: Findings) -> str:
    """Return the name that a declaration introduces: only ``{s}`` parts are filled, a bare loop name is an ordinary name."""
    return fill(name.text, loops, name.span, findings)
