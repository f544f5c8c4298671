"""Going through the nodes of a file once, each with where it stands."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tessera_rules.check.subjects import Load, Where
from tessera_rules.syntax import nodes

_PLAIN = frozenset({"str", "int", "float", "bool", "int | None", "str | None"})
_NOTHING: tuple[tuple[str, ...], bool, bool] = ((), False, False)
_KINDS: dict[type, tuple[tuple[str, ...], bool, bool]] = {}
"""For each type of node: the fields that hold nodes, and whether it is a declaration or a field."""


def _kind(kind: type) -> tuple[tuple[str, ...], bool, bool]:
    fields = getattr(kind, "__attrs_attrs__", None)
    if fields is None:
        found = _NOTHING
    else:
        names = tuple(each.name for each in reversed(fields) if each.eq and str(each.type) not in _PLAIN and not str(each.type).startswith("Literal"))
        found = names, issubclass(kind, nodes.Declaration | nodes.Predicate), issubclass(kind, nodes.Field)
    _KINDS[kind] = found
    return found


def walk(file: nodes.File, load: Load) -> Iterator[tuple[Any, Where]]:
    """Yield every node of a file in reading order, the file first. What lies in a damaged declaration is left out."""
    top = Where(load, file)
    yield file, top
    stack: list[tuple[Any, Where]] = [(item, top) for item in (*reversed(file.items), *reversed(file.uses))]
    while stack:
        node, where = stack.pop()
        kind = type(node)
        if kind is tuple:
            stack.extend([(each, where) for each in reversed(node)])
            continue
        names, declares, is_field = _KINDS.get(kind) or _kind(kind)
        if declares:
            if node.damaged:
                continue
            where = Where(load, file, node)
        elif is_field:
            where = Where(load, file, where.declaration, node)
        elif not names and kind not in _LEAVES:
            continue
        yield node, where
        for name in names:
            value = getattr(node, name)
            if value is not None and value != ():
                stack.append((value, where))


_LEAVES = frozenset({nodes.IntLit, nodes.FloatLit, nodes.StrLit, nodes.BoolLit, nodes.NullLit, nodes.NameRef, nodes.Name, nodes.FlagField, nodes.SelectorItem})
