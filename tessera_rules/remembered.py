"""What a prepared request remembers in one epoch, and what that hangs on."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Mapping
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from attrs import define, field, frozen

from tessera_rules.arbiter.structure import Structure
from tessera_rules.bind.address import address_of
from tessera_rules.bind.ready import Ready
from tessera_rules.compile.python import function
from tessera_rules.dispatch import Served
from tessera_rules.log import Dispatch
from tessera_rules.machine.epoch import EPOCH, environment, unchanged
from tessera_rules.model.request import MAX_ALIGN
from tessera_rules.model.terms import Term, reads
from tessera_rules.model.values import Candidate, NativeBinding, Ruleset

if TYPE_CHECKING:
    from tessera_rules.prepare import Choice

REMEMBERED = 1 << 16
"""Decisions that one prepared request remembers, and calls; past that it begins anew."""
CACHE_LINE = 64
"""Bytes: alignment beyond it is told apart only where somebody reads it (as in the key of a proof)."""
SIGHT = attrgetter("__class__", "shape", "strides", "dtype")
"""What arrays are told apart by, besides where they lie."""


@frozen(eq=False)
class Entry:
    """A call that was served before: how it is made now, and what is told of it."""

    call: Ready
    served: Served
    count: Callable[[], int]
    append: Callable[[Dispatch], None]
    noted: Dispatch


@define(eq=False)
class State:
    """What is remembered in one epoch. A thread that holds an old one adds to that one, which nobody reads any more."""

    mark: object
    environment: tuple[Any, Any, Any]
    watched: tuple[tuple[Any, Any], ...]
    force: str | None
    mask: int
    choices: dict[Any, Choice] = field(factory=dict)
    sights: dict[Any, Choice] = field(factory=dict)
    calls: dict[Any, Callable[..., tuple[Entry | None, tuple[int, ...]]]] = field(factory=dict)
    entries: dict[Any, dict[tuple[int, ...], Entry]] = field(factory=dict)
    by_sizes: Structure | None = None
    by_operands: dict[Any, Structure] = field(factory=dict)

    @property
    def holds(self) -> bool:
        """Whether it is still what is to be gone by."""
        return self.mark is EPOCH.mark and environment() == self.environment and (not self.watched or unchanged(self.watched))

    def room(self, memory: dict[Any, Any]) -> None:
        """See that a memory does not grow without end."""
        if len(memory) >= REMEMBERED:
            memory.clear()


LEVELS = {mask: tuple(min(low & -low, mask + 1) if low else mask + 1 for low in range(mask + 1)) for mask in (CACHE_LINE - 1, MAX_ALIGN - 1)}
"""From the low bits of an address to its alignment."""


def finder(count: int, mask: int, entries: Mapping[tuple[int, ...], Entry]) -> Callable[..., tuple[Entry | None, tuple[int, ...]]]:
    """Return what finds the entry for arrays of one shape and layout, by how far their addresses are aligned, and gives the addresses.

    ``entries`` is not changed any more: the next alignment that is met makes another finder.
    """
    read: list[ast.stmt] = []
    for index in range(count):
        address = ast.Call(ast.Name("address_of", ast.Load()), [ast.Name(f"x{index}", ast.Load())], [])
        read.append(ast.Assign([ast.Name(f"a{index}", ast.Store())], address, lineno=0))
    addresses: list[ast.expr] = [ast.Name(f"a{index}", ast.Load()) for index in range(count)]
    low = [ast.BinOp(each, ast.BitAnd(), ast.Constant(mask)) for each in addresses]
    levels: list[ast.expr] = [ast.Subscript(ast.Name("levels", ast.Load()), each, ast.Load()) for each in low]
    found = ast.Call(ast.Name("get", ast.Load()), [ast.Tuple(levels, ast.Load())], [])
    body = [*read, ast.Return(ast.Tuple([found, ast.Tuple(addresses, ast.Load())], ast.Load()))]
    return function("find", [f"x{index}" for index in range(count)], body, {"address_of": address_of, "levels": LEVELS[mask], "get": entries.get})


def hangs_on(ruleset: Ruleset, op: str, target: str | None) -> tuple[Collection[str], bool]:
    """Return the environment variables that clauses about an op read, and whether one reads an alignment."""
    ops = _with_used(ruleset, op)
    keys = frozenset[str]()
    for (of, on), candidates in ruleset.registered.items():
        if of in ops and target in (None, on):
            keys = keys.union(*(reads(term) for candidate in candidates for term in _terms(candidate)))
    for rule in ruleset.rules:
        keys = keys.union(*(clause.reads for (of, on), clause in rule.conditions.items() if of in ops and target in (None, on)))
    names = {key.removeprefix("probe:env:") for key in keys if key.startswith("probe:env:")}
    return names, any(key.startswith("align:") for key in keys)


def _with_used(ruleset: Ruleset, op: str) -> set[str]:
    """Return an op and all whose winners its candidates run."""
    found, pending = {op}, [op]
    while pending:
        of = pending.pop()
        used = {each.op for candidate in ruleset.candidates.values() if candidate.op == of for each in candidate.uses}
        pending += used - found
        found |= used
    return found


def _terms(candidate: Candidate) -> list[Term]:
    clauses = [*candidate.requires, *candidate.implied, *candidate.available, *candidate.avoid]
    if candidate.guard is not None:
        clauses += candidate.guard.clauses
    found = [clause.term for clause in clauses] + [term for term in (candidate.cost, candidate.workspace) if term is not None]
    for used in candidate.uses:
        found += [*used.dims.values(), *used.attrs.values()]
    if isinstance(candidate.bind, NativeBinding):
        found += [argument.value for argument in candidate.bind.arguments if argument.value is not None]
    return found


def exactly(value: Any) -> Any:
    """Return what is equal for attribute values that are the same, type and sign of zero included. Raises `TypeError` for what has no hash.

    >>> exactly(1) == exactly(True), exactly(0.0) == exactly(-0.0), exactly(["relu"]) == exactly(["relu"])
    (False, False, True)
    """
    if isinstance(value, list | tuple):
        return (type(value), *map(exactly, value))
    return (type(value), value) if value or not isinstance(value, float) else (float, str(value))
