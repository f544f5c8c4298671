"""Going through the nodes of a file once, each with where it stands."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from attrs import evolve

from tessera_rules.check.subjects import Load, Where
from tessera_rules.syntax import nodes

_PARTS: dict[type, tuple[str, ...]] = {}
_PLAIN = frozenset({"str", "int", "float", "bool", "int | None", "str | None"})


def _part_names(kind: type) -> tuple[str, ...]:
    found = _PARTS.get(kind)
    if found is None:
        fields = getattr(kind, "__attrs_attrs__", ())
        found = tuple(each.name for each in fields if each.eq and str(each.type) not in _PLAIN)
        _PARTS[kind] = found
    return found


def walk(file: nodes.File, load: Load) -> Iterator[tuple[Any, Where]]:
    """Yield every node of a file in reading order, the file first."""
    top = Where(load, file)
    yield file, top
    stack: list[tuple[Any, Where]] = [(item, top) for item in (*reversed(file.items), *reversed(file.uses))]
    while stack:
        node, where = stack.pop()
        if isinstance(node, nodes.Declaration | nodes.Predicate):
            if node.damaged:
                continue
            where = evolve(where, declaration=node)
        elif isinstance(node, nodes.Field):
            where = evolve(where, field=node)
        yield node, where
        for name in reversed(_part_names(type(node))):
            value = getattr(node, name)
            if isinstance(value, tuple):
                _push(value, where, stack)
            elif value is not None and hasattr(type(value), "__attrs_attrs__"):
                stack.append((value, where))


def _push(values: tuple[Any, ...], where: Where, stack: list[tuple[Any, Where]]) -> None:
    for value in reversed(values):
        if isinstance(value, tuple):
            _push(value, where, stack)
        elif hasattr(type(value), "__attrs_attrs__"):
            stack.append((value, where))
