"""How types go together: which hold both of two, which have words, which constants a term has."""

from __future__ import annotations

from attrs import evolve

from tessera_rules.model.terms import Apply, Const, Term
from tessera_rules.model.types import Type


def is_wordy(kind: Type | None) -> bool:
    """Whether values of a type are words, or lists of words: what a bare name beside it is tried as first."""
    return kind is not None and (kind.kind in ("word", "dtype") or (kind.kind == "list" and kind.item is not None and kind.item.kind in ("word", "dtype")))


def with_article(kind: Type) -> str:
    """A type with its article, for messages."""
    if kind.kind == "null":
        return "null"
    text = kind.describe()
    return f"{'an' if text[0] in 'aeio' and not text.startswith('one') else 'a'} {text}" if kind.kind not in ("word",) else f"a word, {text}"


def join(one: Type, two: Type) -> Type | None:
    """Return the type that holds both, or None where they do not go together."""
    if one.kind == "any":
        return two
    if two.kind == "any":
        return one
    if one.kind == "null" or two.kind == "null":
        other = two if one.kind == "null" else one
        return evolve(other, nullable=True)
    nullable = one.nullable or two.nullable
    if one.numeric and two.numeric:
        return Type("float" if "float" in (one.kind, two.kind) else "int", nullable=nullable)
    if one.kind != two.kind:
        return None
    if one.kind == "word":
        if set(one.words) <= set(two.words):
            return evolve(two, nullable=nullable)
        return evolve(one, nullable=nullable) if set(one.words) & set(two.words) else None
    if one.kind == "list":
        if one.item is None or two.item is None:
            return one if two.item is None else two
        return one if join(one.item, two.item) is not None else None
    return evolve(one, nullable=nullable)


def constant_int(term: Term) -> int | None:
    """Return the value of a term that is a constant integer, or None."""
    if isinstance(term, Const):
        return term.value if isinstance(term.value, int) and term.type.kind == "int" else None
    if isinstance(term, Apply) and term.op in ("add", "sub", "mul", "neg") and term.size < 100:
        values = [constant_int(arg) for arg in term.args]
        if None in values:
            return None
        match term.op, values:
            case "neg", [int(a)]:
                return -a
            case "add", [int(a), int(b)]:
                return a + b
            case "sub", [int(a), int(b)]:
                return a - b
            case "mul", [int(a), int(b)]:
                return a * b
    return None
