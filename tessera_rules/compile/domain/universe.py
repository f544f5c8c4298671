"""What values a name may have at all: the frame inside which conditions are satisfied, sampled and proved never to hold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tessera_rules.compile.domain.integers import EVERY, MAX_SIZE, NATURAL, IntegerSet, between, exactly
from tessera_rules.dtypes import DTYPES
from tessera_rules.model.request import DEFAULT_ALIGN, MAX_ALIGN
from tessera_rules.model.terms import Apply, Const, Fact, Term, Version, facts
from tessera_rules.model.types import Type
from tessera_rules.model.values import Dim

Values = IntegerSet | tuple[Any, ...]
"""The values of a name: a set of integers, or all of a listed few, the ones to be preferred first."""

Universe = Mapping[str, Values]
"""Values by fact key. A name that is left out has the values of its kind, as `values_of_kind` has them."""

OTHER = "another"
"""Stands for a word or string that no rule names."""

ALIGNMENTS: tuple[int, ...] = (DEFAULT_ALIGN, 32, 16, 8, 4, 2, 1, *(DEFAULT_ALIGN << k for k in range(1, (MAX_ALIGN // DEFAULT_ALIGN).bit_length())))


def of_dim(dim: Dim) -> IntegerSet:
    """Return the sizes that requests may have in a dimension."""
    return between(dim.low, MAX_SIZE if dim.high is None else dim.high, dim.step)


def values_of_kind(fact: Fact, terms: Iterable[Term] = ()) -> Values:
    """Return what a fact may be where nobody says: dimensions from 0 up, words as declared, versions and strings as ``terms`` name them and one other."""
    kind = fact.key.partition(":")[0]
    if kind == "align":
        return ALIGNMENTS
    if fact.type.kind == "int" and not fact.type.nullable:
        if kind in ("dim", "stride", "max_offset"):
            return NATURAL
        return between(1, MAX_SIZE) if kind in ("threads", "device") else EVERY
    found = _listed(fact.type, fact, terms)
    return (*found, None) if fact.type.nullable and None not in found else found


def _listed(kind: Type, fact: Fact, terms: Iterable[Term]) -> tuple[Any, ...]:
    match kind.kind:
        case "bool":
            return (False, True)
        case "dtype":
            return DTYPES
        case "word":
            # a machine may report a word that nobody listed; an attribute's value is always one of its words
            return (*kind.words, OTHER) if fact.key.partition(":")[0] in ("device", "os") else kind.words
        case "string":
            return (*dict.fromkeys((*named_values(fact.key, terms), OTHER)),)
        case "version":
            return _versions(named_values(fact.key, terms))
        case "int" | "float":
            return _numbers(named_values(fact.key, terms), whole=kind.kind == "int")
        case "list":
            words = kind.item.words if kind.item is not None else ()
            one: list[tuple[Any, ...]] = [(), *((word,) for word in words)]
            return (*one, *((a, b) for a in words for b in words))
    return (None,)


def named_values(key: str, terms: Iterable[Term]) -> tuple[Any, ...]:
    """Return the constants that conditions set a fact against, in the order in which they are met."""
    found: dict[Any, None] = {}
    for term in terms:
        pending = [term]
        while pending:
            part = pending.pop()
            if not isinstance(part, Apply):
                continue
            if any(isinstance(arg, Fact) and arg.key == key for arg in part.args):
                found.update((arg.value, None) for arg in part.args if isinstance(arg, Const) and arg.value is not None and arg.value.__hash__ is not None)
            pending.extend(reversed(part.args))
    return tuple(found)


def _versions(named: tuple[Any, ...]) -> tuple[Any, ...]:
    texts = [value.text for value in named if isinstance(value, Version)]
    return tuple(dict.fromkeys([Version(text) for text in texts] + [Version(f"{text}.1") for text in texts] + [Version("0"), Version("999999")]))


def _numbers(named: tuple[Any, ...], *, whole: bool) -> tuple[Any, ...]:
    numbers = sorted({value for value in named if isinstance(value, int | float) and not isinstance(value, bool)})
    if whole:
        return tuple(sorted({n + by for n in numbers for by in (-1, 0, 1)} | {0, 1}))
    around = {float(n) * by for n in numbers for by in (0.5, 1.0, 2.0)} | {0.0, 1.0}
    return tuple(sorted(around | {-n for n in around}))


def universe_of(terms: Iterable[Term], given: Universe | None = None) -> dict[str, Values]:
    """Return the values of every fact of some terms: as ``given`` has them, else as their kind does."""
    listed = list(terms)
    found: dict[str, Values] = {}
    for term in listed:
        for fact in facts(term):
            if fact.key not in found:
                found[fact.key] = given[fact.key] if given is not None and fact.key in given else values_of_kind(fact, listed)
    for key, values in (given or {}).items():
        found.setdefault(key, values)
    return found


def single(values: Values) -> tuple[Any, ...]:
    """Return the one value of a set that has exactly one, as a tuple, else an empty one."""
    if isinstance(values, tuple):
        return values if len(values) == 1 else ()
    only = values.only
    return () if only is None else (only,)


def as_integers(values: Values) -> IntegerSet:
    """Return listed integers as a set."""
    return exactly(*values) if isinstance(values, tuple) else values
