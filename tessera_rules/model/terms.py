"""Resolved expressions: constants, facts by key, and operators. What every evaluator, printer and analysis reads.

A term holds no names to look up any more: dimensions, attributes, layouts, device facts and probes are `Fact` with a
key, loop names and words are `Const`, predicates are put in place of their names.

Keys of facts (``reads`` of a clause is a set of these):

``dim:M``  ``attr:act``  ``dtype`` (the request's)  ``dtype:w`` (an operand's)  ``given:bias``  ``threads``
``align:q`` (largest power of two, up to 4096, that divides the address)  ``stride:q:0`` (elements)  ``contiguous:q``
``broadcast:q``  ``max_offset:q``  ``device:arch`` (a fact of the candidate's target)  ``os``
``amax:q``  ``amin:q``  ``all_finite:q`` (data, in ``guard`` only)
``probe:library:NAME``  ``probe:symbol:LIB:NAME``  ``probe:executable:…``  ``probe:file:…``  ``probe:env:NAME``
``probe:python:REQ``  ``probe:cpu:FLAG``  ``probe:call:module:callable``  ``probe:smoke:TEXT``
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from attrs import define, field, frozen

from tessera_rules.model.types import Type
from tessera_rules.source import Span


@frozen(order=False)
class Version:
    """A version compared by component: numbers by value, words below numbers, absent parts as 0.

    >>> Version("12.10") > Version("12.9"), Version("1.0") == Version("1")
    (True, True)
    """

    text: str
    key: tuple[tuple[int, int | str], ...] = field(init=False, repr=False, eq=False)

    def __attrs_post_init__(self) -> None:
        parts: list[tuple[int, int | str]] = []
        for piece in _pieces(self.text):
            if len(piece) > 200:
                raise ValueError("a part of a version has at most 200 characters")
            parts.append((1, int(piece)) if piece.isdigit() else (0, piece))
        while parts and parts[-1] == (1, 0):
            parts.pop()
        object.__setattr__(self, "key", tuple(parts))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Version) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def _order(self, other: Version) -> int:
        for i in range(max(len(self.key), len(other.key))):
            a = self.key[i] if i < len(self.key) else (1, 0)
            b = other.key[i] if i < len(other.key) else (1, 0)
            if a != b:
                return -1 if a < b else 1
        return 0

    def __lt__(self, other: Version) -> bool:
        return self._order(other) < 0

    def __le__(self, other: Version) -> bool:
        return self._order(other) <= 0

    def __gt__(self, other: Version) -> bool:
        return self._order(other) > 0

    def __ge__(self, other: Version) -> bool:
        return self._order(other) >= 0

    def __str__(self) -> str:
        return self.text


def _pieces(text: str) -> Iterator[str]:
    current = ""
    for char in text:
        if char.isdigit() and char.isascii():
            if current and not current.isdigit():
                yield current
                current = ""
            current += char
        elif char.isalpha():
            if current and current.isdigit():
                yield current
                current = ""
            current += char
        else:
            if current:
                yield current
            current = ""
    if current:
        yield current


@define(eq=False, slots=True)
class Term:
    """Any resolved expression; compared by identity. ``size`` and ``depth`` count nodes, each use of a shared one anew."""

    type: Type


@define(eq=False, slots=True)
class Const(Term):
    """A value that the file fixes: int, float, bool, str (a string, a word or a dtype, as ``type`` says), None, `Version`,

    a tuple of values, or a compiled pattern. ``name`` is the loop name that it came from, shown among a verdict's values.
    """

    value: Any
    name: str | None = None
    size: int = 1
    depth: int = 1


@define(eq=False, slots=True)
class Fact(Term):
    """A value that the request, the machine or the data gives. ``shown`` is how a person writes it: ``M``, ``device.arch``."""

    key: str
    shown: str
    size: int = 1
    depth: int = 1


@define(eq=False, slots=True)
class Apply(Term):
    """An operator over terms.

    ``add sub mul floordiv mod div neg abs min max sqrt ceil_div align_up gcd is_pow2 log2 bytes bits
    eq ne lt le gt ge and or not if in in_range like contains index``.
    ``and``/``or`` are n-ary; ``if`` is (condition, value, otherwise); ``in`` is (x, a, b, …) with the list written out;
    ``in_range`` is (x, low, high, step); ``like`` is (list, Const with a `patterns.Matcher`); ``contains`` is (list, word);
    ``index`` is (list, i). ``span`` is the place of the operator's expression.
    """

    op: str
    args: tuple[Term, ...]
    span: Span | None = None
    size: int = field(init=False)
    depth: int = field(init=False)

    def __attrs_post_init__(self) -> None:
        size, depth = 1, 0
        for arg in self.args:
            size += arg.size  # type: ignore[attr-defined]
            depth = max(depth, arg.depth)  # type: ignore[attr-defined]
        self.size = size
        self.depth = depth + 1


def facts(term: Term) -> Iterator[Fact]:
    """Yield each fact of a term once, in reading order."""
    seen: set[str] = set()
    visited: set[int] = set()
    stack: list[Term] = [term]
    while stack:
        current = stack.pop()
        if isinstance(current, Fact):
            if current.key not in seen:
                seen.add(current.key)
                yield current
        elif isinstance(current, Apply) and id(current) not in visited:
            visited.add(id(current))
            stack.extend(reversed(current.args))


def loop_values(term: Term) -> dict[str, Any]:
    """Return the loop names of a term with their values."""
    found: dict[str, Any] = {}
    visited: set[int] = set()
    stack: list[Term] = [term]
    while stack:
        current = stack.pop()
        if isinstance(current, Const) and current.name is not None:
            found.setdefault(current.name, current.value)
        elif isinstance(current, Apply) and id(current) not in visited:
            visited.add(id(current))
            stack.extend(reversed(current.args))
    return found


def reads(term: Term) -> frozenset[str]:
    """Return the keys of every fact that a term reads."""
    return frozenset(fact.key for fact in facts(term))
