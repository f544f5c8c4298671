"""The universe of requests: what each name may be, the values to be preferred first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from attrs import frozen

from tessera_rules.analyze.lists import list_classes
from tessera_rules.compile.domain import OTHER, Values, between, named_values, of_dim
from tessera_rules.compile.domain.integers import MAX_SIZE
from tessera_rules.compile.domain.universe import ALIGNMENTS
from tessera_rules.dtypes import DTYPES
from tessera_rules.model.terms import Apply, Const, Fact, Term, Version, facts
from tessera_rules.model.types import Type
from tessera_rules.model.values import REQUIRED, Attr, Op, Target

LONGEST_LIST = 2
"""A gap is looked for among lists of at most this many words."""
SELDOM = ("tf32", "c64", "c128")
"""Dtypes that an op without a list of its own is not taken to have, unless a condition names them."""
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge", "in", "in_range")


@frozen(eq=False)
class Names:
    """What every name of an op on a target may be.

    ``wide`` is what proofs run over: nothing is left out that a condition could tell apart. ``narrow`` is what gaps, ties and
    cliffs are looked for in: declared and named values, lists of at most two words. ``sampled`` are names of which even
    ``wide`` has some values only, so that "there is none" is no proof where a condition reads one.
    """

    wide: Mapping[str, Values]
    narrow: Mapping[str, Values]
    sampled: frozenset[str]


def names_of(op: Op, target: Target, terms: Sequence[Term]) -> Names:
    """Return the universe of an op's requests on a target; ``terms`` are all conditions that will be asked about."""
    wide: dict[str, Values] = {}
    narrow: dict[str, Values] = {}
    sampled: set[str] = set()
    for attr in op.attrs.values():
        key = f"attr:{attr.name}"
        wide[key], narrow[key], exact = _attr_values(attr, key, terms)
        if not exact:
            sampled.add(key)
    for operand in op.operands.values():
        if operand.optional:
            wide[f"given:{operand.name}"] = narrow[f"given:{operand.name}"] = (False, True)
        if operand.dtypes is not None and len(operand.dtypes) > 1:
            wide[f"dtype:{operand.name}"] = narrow[f"dtype:{operand.name}"] = operand.dtypes
    named = set(named_values("dtype", terms))
    wide["dtype"] = op.dtypes or DTYPES
    narrow["dtype"] = op.dtypes or tuple(dtype for dtype in DTYPES if dtype not in SELDOM or dtype in named)
    for fact in _read(terms):
        kind, _, name = fact.key.partition(":")
        if kind == "device" and name in target.facts:
            wide[fact.key], narrow[fact.key], exact = _device_values(target.facts[name], fact.key, terms)
            if not exact:
                sampled.add(fact.key)
        elif kind == "probe":
            named_here = tuple(value for value in named_values(fact.key, terms) if isinstance(value, str))
            wide[fact.key] = narrow[fact.key] = (None, *named_here, OTHER) if fact.type.kind == "string" else (True, False)
        elif kind in ("allow", "require", "contiguous", "broadcast"):
            plainly = kind == "contiguous"
            wide[fact.key] = narrow[fact.key] = (plainly, not plainly)
        elif kind == "align":
            wide[fact.key] = narrow[fact.key] = ALIGNMENTS
        elif kind in ("stride", "max_offset", "threads"):
            low = {"stride": -MAX_SIZE, "max_offset": 0, "threads": 1}[kind]
            wide[fact.key] = narrow[fact.key] = between(low, MAX_SIZE)
        elif kind == "os":
            wide[fact.key] = narrow[fact.key] = (*dict.fromkeys((*_words_of(fact, terms), OTHER)),)
    for dim in op.dims.values():
        wide[f"dim:{dim.name}"] = narrow[f"dim:{dim.name}"] = of_dim(dim)
    return Names(wide, narrow, frozenset(sampled))


def _words_of(fact: Fact, terms: Sequence[Term]) -> tuple[Any, ...]:
    return (*fact.type.words, *named_values(fact.key, terms))


def _read(terms: Iterable[Term]) -> Iterable[Fact]:
    found: dict[str, Fact] = {}
    for term in terms:
        for fact in facts(term):
            found.setdefault(fact.key, fact)
    return found.values()


def _attr_values(attr: Attr, key: str, terms: Sequence[Term]) -> tuple[Values, Values, bool]:
    """Return the wide and the narrow values of an attribute, and whether the wide ones stand for all."""
    kind, default = attr.type, attr.default
    first = () if default is REQUIRED else (default,)
    null = (None,) if kind.nullable else ()
    match kind.kind:
        case "bool" | "word" | "dtype":
            listed = {"bool": (False, True), "word": kind.words, "dtype": DTYPES}[kind.kind]
            every = _different(*first, *null, *listed)
            return every, every, True
        case "list" if kind.item is not None and kind.item.words:
            classes = list_classes(key, kind.item.words, default, terms)
            every = _different(*first, *null, *classes.lists)
            return every, tuple(each for each in every if each is None or len(each) <= LONGEST_LIST), classes.exact
        case "int" if not kind.nullable and not _only_compared(key, terms):
            return between(-MAX_SIZE, MAX_SIZE), _numbers_named(first, key, terms), True
    named = _numbers_named((*first, *null), key, terms)
    return (*_sorted_first(named, _between(named, kind)),), named, _only_compared(key, terms)


def _device_values(kind: Type, key: str, terms: Sequence[Term]) -> tuple[Values, Values, bool]:
    null = (None,) if kind.nullable else ()
    named = named_values(key, terms)
    compared = _only_compared(key, terms)
    match kind.kind:
        case "bool":
            return (*null, True, False), (*null, True, False), True
        case "string" | "word":
            words = _different(*kind.words, *named, OTHER, *null)
            return words, words, compared
        case "int" | "float":
            few = _different(*_between(named, kind), *null)
            if kind.kind == "int" and not kind.nullable and not compared:
                return between(0, MAX_SIZE), few, True
            return few, few, compared
    around = _different(*_between(named, kind), *null)
    return around, around, compared


def _numbers_named(first: tuple[Any, ...], key: str, terms: Sequence[Term]) -> tuple[Any, ...]:
    return _different(*first, *sorted_values(named_values(key, terms))) or (0,)


def sorted_values(values: Iterable[Any]) -> list[Any]:
    """Return values of one kind in order; of several kinds as they come."""
    listed = list(values)
    try:
        return sorted(listed)
    except TypeError:
        return listed


def _sorted_first(first: tuple[Any, ...], more: Iterable[Any]) -> tuple[Any, ...]:
    return _different(*first, *more)


def _between(named: Iterable[Any], kind: Type) -> tuple[Any, ...]:
    """Return named values with one value below, above, and between each two of them: nothing that only compares tells more apart."""
    match kind.kind:
        case "int":
            numbers = sorted({value for value in named if isinstance(value, int) and not isinstance(value, bool)})
            return _different(*numbers, *(n + by for n in numbers for by in (-1, 1)), *(() if numbers else (64, 0)))
        case "float":
            points = sorted({float(value) for value in named if isinstance(value, int | float) and not isinstance(value, bool)})
            middles = [(a + b) / 2 for a, b in pairwise(points)]
            return _different(*points, *middles, *((points[0] - 1.0, points[-1] + 1.0) if points else (1.0, 0.0, -1.0)))
        case "version":
            versions = sorted({value for value in named if isinstance(value, Version)})
            return _different(*versions, *(Version(f"{each}.0.0.1") for each in versions), Version("999999"), Version("0"))
        case "string":
            return (*named, OTHER)
    return tuple(named)


def _different(*values: Any) -> tuple[Any, ...]:
    """Return values without repeats; ``true`` is not 1, and 1 is not 1.0."""
    found: dict[tuple[str, Any], Any] = {}
    for value in values:
        found.setdefault((type(value).__name__, value), value)
    return tuple(found.values())


def _only_compared(key: str, terms: Iterable[Term]) -> bool:
    """Whether a name is read in comparisons with constants only, so that one value between each two named ones says all."""
    pending = list(terms)
    seen: set[int] = set()
    while pending:
        part = pending.pop()
        if isinstance(part, Fact) and part.key == key:
            return False  # a condition by itself, or met below an operator that is no comparison
        if not isinstance(part, Apply) or id(part) in seen:
            continue
        seen.add(id(part))
        if part.op in COMPARISONS and any(isinstance(arg, Fact) and arg.key == key for arg in part.args):
            if part.op == "in_range" and not (isinstance(part.args[3], Const) and part.args[3].value == 1):
                return False
            if not all(isinstance(arg, Const) or (isinstance(arg, Fact) and arg.key == key) for arg in part.args):
                return False
            continue
        pending.extend(part.args)
    return True
