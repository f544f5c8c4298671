"""What may follow in the REPL: verbs and ops first, then what fits the op."""

from __future__ import annotations

from collections.abc import Iterator

from attrs import frozen

from tessera_rules.dtypes import DTYPES
from tessera_rules.model.values import Attr, Op, Ruleset
from tessera_rules.repl.console import DECLARATIONS, VERBS


@frozen
class Suggestion:
    """A text that may stand here, how many characters before the cursor it takes the place of, and what it is."""

    text: str
    replaces: int
    about: str


def completions(ruleset: Ruleset, before: str) -> Iterator[Suggestion]:
    """Yield what may follow the text before the cursor."""
    words = before.split()
    current = "" if before[-1:].isspace() or not words else words[-1]
    earlier = words if not current else words[:-1]
    for text, about in _candidates(ruleset, earlier, current):
        piece = current.rpartition(",")[2] if "=" in current and "," in current else current
        piece = piece.partition("=")[2] if "=" in piece else piece
        if text.startswith(piece) and text != piece:
            yield Suggestion(text, len(piece), about)


def _candidates(ruleset: Ruleset, earlier: list[str], current: str) -> Iterator[tuple[str, str]]:
    if not earlier:
        yield from ((name, "op") for name in ruleset.ops)
        yield from ((name, verb.about) for name, verb in VERBS.items())
        yield from ((name, "declaration") for name in DECLARATIONS)
        return
    first = earlier[0]
    if first in ("why", "show", "assume"):
        yield from ((name, f"candidate of {each.op}") for name, each in ruleset.candidates.items())
        if first == "show":
            yield from ((name, "op") for name in ruleset.ops)
        else:
            yield ("not", "all that lost") if first == "why" else ("all", "every candidate")
        return
    if first == "what" and len(earlier) == 1:
        yield "if", "with something changed"
        return
    op = ruleset.ops.get(first) or next((ruleset.ops[word] for word in earlier if word in ruleset.ops), None)
    if op is None:
        if first in ("run", "measure"):
            yield from ((name, "op") for name in ruleset.ops)
        elif first in ("what", "sweep"):
            names = dict.fromkeys(name for each in ruleset.ops.values() for name in (*each.dims, *each.attrs))
            yield from ((f"{name}=", "dimension or attribute") for name in names)
        return
    if "=" in current:
        yield from _values(op, current.partition("=")[0])
        return
    if not any(word in ruleset.targets for word in earlier):
        yield from ((target, "target") for name, target in ruleset.registered if name == op.name)
        return
    stated = {word.partition("=")[0] for word in earlier}
    yield from ((f"{name}=", "dimension") for name in op.dims if name not in stated)
    yield from ((f"{name}=", attr.type.describe()) for name, attr in op.attrs.items() if name not in stated)
    yield from ((f"{name}=", "of the request") for name in ("dtype", "given", "allow", "threads", "device", "require") if name not in stated)
    yield from ((f"{name}.{part}=", "layout") for name in op.operands for part in ("align", "strides", "dtype"))


def _values(op: Op, name: str) -> Iterator[tuple[str, str]]:
    if name == "dtype":
        yield from ((dtype, "dtype") for dtype in op.dtypes or DTYPES)
    elif name == "given":
        yield from ((operand.name, "optional operand") for operand in op.operands.values() if operand.optional)
    elif name == "allow":
        yield from ((dtype, "dtype") for dtype in DTYPES)
    elif name in op.attrs:
        yield from _attr_values(op.attrs[name])


def _attr_values(attr: Attr) -> Iterator[tuple[str, str]]:
    kind = attr.type.item if attr.type.kind == "list" and attr.type.item is not None else attr.type
    if kind.kind == "bool":
        yield from (("true", "bool"), ("false", "bool"))
    elif kind.kind == "word":
        yield from ((word, f"value of {attr.name}") for word in kind.words)
    elif kind.kind == "dtype":
        yield from ((dtype, "dtype") for dtype in DTYPES)
