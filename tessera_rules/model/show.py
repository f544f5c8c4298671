"""A term as text of the language: the inverse of parsing and building, with no more brackets than the meaning needs.

What is printed stands outside of any ``for``, so braces in strings are plain characters. Predicates and loop names are
printed as what they stand for.
"""

from __future__ import annotations

import math
import re
from typing import Any

from tessera_rules.model.patterns import Matcher
from tessera_rules.model.terms import Apply, Const, Fact, Term, Version
from tessera_rules.model.types import Type

# How tightly each form binds, loosest first (language.md §3). A part that binds less tightly than its place wants is bracketed.
TERNARY, OR, AND, NOT, COMPARISON, SUM, PRODUCT, UNARY, ATOM = range(9)

_BINARY = {"add": ("+", SUM), "sub": ("-", SUM), "mul": ("*", PRODUCT), "div": ("/", PRODUCT), "floordiv": ("//", PRODUCT), "mod": ("%", PRODUCT)}
_COMPARE = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_RESERVED = frozenset(("true", "false", "null", "and", "or", "not", "in", "like", "if", "else", "because", "returns", "over", "with", "step"))


def show(term: Term) -> str:
    """Return a term as an expression of the language.

    >>> from tessera_rules.model.types import BOOL, INT
    >>> m, n = Fact(INT, "dim:M", "M"), Fact(INT, "dim:N", "N")
    >>> show(Apply(BOOL, "eq", (Apply(INT, "mod", (Apply(INT, "add", (m, n)), Const(INT, 16))), Const(INT, 0))))
    '(M + N) % 16 == 0'
    """
    return _show(term)[0]


def _show(term: Term) -> tuple[str, int]:
    """Return the text of a term and how tightly it binds."""
    if isinstance(term, Const):
        return _constant(term.value, term.type)
    if isinstance(term, Fact):
        return term.shown, ATOM
    assert isinstance(term, Apply)
    op, args = term.op, term.args
    if op in _BINARY:
        symbol, level = _BINARY[op]
        return f"{_part(args[0], level)} {symbol} {_part(args[1], level + 1)}", level
    aligned = _aligned(op, args)
    if aligned is not None:
        return aligned
    if op in _COMPARE:
        return f"{_part(args[0], SUM)} {_COMPARE[op]} {_part(args[1], SUM)}", COMPARISON
    if op in ("and", "or"):
        level = AND if op == "and" else OR
        if len(args) == 1:
            return _show(args[0])
        if not args:
            return ("true" if op == "and" else "false"), ATOM
        parts = []
        for arg in args:  # no generator: each level of a term is to cost few levels of Python's stack
            parts.append(_part(arg, level))
        return f" {op} ".join(parts), level
    if op == "not":
        member = args[0]
        if isinstance(member, Apply) and member.op in ("in", "in_range", "contains"):
            return _member(member.op, member.args, "not in"), COMPARISON
        return f"not {_part(member, NOT + 1)}", NOT
    if op == "if":
        condition, value, otherwise = args
        return f"{_part(value, OR)} if {_part(condition, OR)} else {_part(otherwise, TERNARY)}", TERNARY
    if op in ("in", "in_range", "contains", "like"):
        return f"{_member(op, args, 'in')}", COMPARISON
    if op == "neg":
        return f"-{_part(args[0], ATOM)}", UNARY
    if op == "index":
        base = _part(args[0], ATOM)
        return f"{f'({base})' if isinstance(args[0], Const) else base}[{show(args[1])}]", ATOM
    shown = []
    for arg in args:
        shown.append(_show(arg)[0])
    return f"{op}({', '.join(shown)})", ATOM


def _part(term: Term, level: int) -> str:
    text, binds = _show(term)
    return text if binds >= level else f"({text})"


def _aligned(op: str, args: tuple[Term, ...]) -> tuple[str, int] | None:
    """``aligned(q, 16)`` is ``q.align % 16 == 0`` inside, and the second is no text of the language."""
    if op not in ("eq", "ne"):
        return None
    rest, zero = args
    if not (isinstance(rest, Apply) and rest.op == "mod" and isinstance(zero, Const) and zero.value == 0):
        return None
    fact, size = rest.args
    if not (isinstance(fact, Fact) and fact.key.startswith("align:")):
        return None
    call = f"aligned({fact.key[6:]}, {show(size)})"
    return (call, ATOM) if op == "eq" else (f"not {call}", NOT)


def _member(op: str, args: tuple[Term, ...], word: str) -> str:
    if op == "in":
        return f"{_part(args[0], SUM)} {word} [{', '.join(map(show, args[1:]))}]"
    if op == "contains":
        return f"{_part(args[1], SUM)} {word} {_part(args[0], SUM)}"
    if op == "like":
        return f"{_part(args[0], SUM)} like {show(args[1])}"
    x, low, high, step = args
    text = f"{_part(x, SUM)} {word} {_part(low, SUM)}..{_part(high, SUM)}"
    return text if isinstance(step, Const) and step.value == 1 else f"{text} step {_part(step, SUM)}"


def render(value: Any, kind: Type | None = None) -> str:
    """Return a value as the language writes it; ``kind`` tells words and dtypes (bare) from strings (quoted).

    >>> render("f16", Type("dtype")), render("f16"), render((1, 2)), render(None), render(Version("12.9"))
    ('f16', '"f16"', '[1, 2]', 'null', 'version("12.9")')
    """
    return _constant(value, kind)[0]


def _constant(value: Any, kind: Type | None) -> tuple[str, int]:
    if value is None:
        return "null", ATOM
    if isinstance(value, bool):
        return ("true" if value else "false"), ATOM
    if isinstance(value, int):
        return str(value), ATOM if value >= 0 else UNARY
    if isinstance(value, float):
        return _float(value)
    if isinstance(value, Version):
        return f"version({_quoted(value.text)})", ATOM
    if isinstance(value, Matcher):
        return value.text, ATOM
    if isinstance(value, tuple | list):
        item = kind.item if kind is not None else None
        return f"[{', '.join(_constant(each, item)[0] for each in value)}]", ATOM
    if kind is not None and kind.kind in ("word", "dtype") and _WORD.match(value) and value not in _RESERVED:
        return value, ATOM
    return _quoted(value), ATOM


def _float(value: float) -> tuple[str, int]:
    """A float that reads back as the same one; one that is not finite (only a request can bring it) has no spelling and gets a sum of its own kind."""
    if not math.isfinite(value):
        return ("nan", ATOM) if value != value else ("inf", ATOM) if value > 0 else ("-inf", UNARY)
    text = repr(value).replace("e+", "e")
    return text, UNARY if text.startswith("-") else ATOM


def _quoted(text: str) -> str:
    parts = ['"']
    for char in text:
        code = ord(char)
        if char in '"\\':
            parts.append("\\" + char)
        elif char == "\n":
            parts.append("\\n")
        elif char == "\t":
            parts.append("\\t")
        elif code < 32 or 0x7F <= code < 0xA0 or not char.isprintable():
            parts.append(f"\\u{{{code:X}}}")
        else:
            parts.append(char)
    return "".join([*parts, '"'])
