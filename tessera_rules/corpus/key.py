"""What a record holds for: one function for writing and for reading (T29), over every fact that a consulted clause reads (P25)."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any

from tessera_rules.arbiter import layouts
from tessera_rules.arbiter.facts import RequestFacts, lookup_for
from tessera_rules.compile.evaluate import ClauseError
from tessera_rules.machine.base import Machine
from tessera_rules.machine.cpu import cpu
from tessera_rules.machine.fingerprint import fingerprint
from tessera_rules.machine.local import LocalMachine
from tessera_rules.machine.stated import StatedMachine
from tessera_rules.model.request import UNKNOWN, Request
from tessera_rules.model.show import show
from tessera_rules.model.terms import reads
from tessera_rules.model.values import Candidate, Clause, Ruleset

HOW = "calls in this process, hot"
"""How a time is taken where nothing else is said: part of the key, as other ways give other times (P24)."""
NOT_ASKED = ("probe:smoke", "probe:python")
"""Probes that run somebody's code. Their answers are gates, which are asked anew at use, and not facts of the machine."""


def key_of(ruleset: Ruleset, request: Request, machine: Machine, *, metric: str = "wall", how: str = HOW) -> dict[str, Any] | None:
    """Return the key of a request on a machine, without its sizes; None where part of it is open or the machine has no name.

    It has the structure of the request, the layouts that are not dense, how it is timed, and of the machine its fingerprint
    and each fact that a clause of a candidate or of a rule for this op and target reads. Alignments count where a clause
    reads them.
    """
    named, structure = fingerprint_of(machine), structure_of(ruleset, request)
    if named is None or structure is None:
        return None
    read = facts_read(ruleset, request.op.name, request.target)
    return {
        **structure,
        "threads": request.threads or machine.threads,
        "metric": metric,
        "how": how,
        "machine": named,
        "facts": _machine_facts(ruleset, request, machine, read),
    }


def structure_of(ruleset: Ruleset, request: Request) -> dict[str, Any] | None:
    """Return what a request is besides its sizes and whoever serves it; None where part of it is open."""
    if request.dtype is None and request.op.dtype_operand is not None:
        return None
    placed = _layouts(request, RequestFacts(request), facts_read(ruleset, request.op.name, request.target))
    if placed is None:
        return None
    return {
        "op": request.op.name,
        "target": request.target,
        "dtype": request.dtype,
        "attrs": {name: plain(value) for name, value in request.attrs.items()},
        "given": sorted(request.given),
        "layouts": placed,
    }


def fingerprint_of(machine: Machine) -> str | None:
    """Return what names a machine's speed; None for a stated one that does not say."""
    if isinstance(machine, LocalMachine):
        return _here(machine.threads)
    return machine.fingerprint if isinstance(machine, StatedMachine) else None


@cache
def _here(threads: int) -> str:
    """Return this machine's fingerprint; it takes milliseconds, and is the same for as long as a process lives."""
    return str(fingerprint(cpu(), threads))


def consulted(ruleset: Ruleset, op: str, target: str) -> Iterator[tuple[Candidate | None, Clause]]:
    """Yield every clause that a decision on an op and a target may read, with the candidate that it is of."""
    for candidate in ruleset.for_op(op, target):
        guard = candidate.guard.clauses if candidate.guard is not None else ()
        for clause in (*candidate.available, *candidate.requires, *candidate.implied, *candidate.avoid, *guard):
            yield candidate, clause
    for rule in ruleset.rules:
        condition = rule.conditions.get((op, target))
        if condition is not None:
            yield None, condition


@lru_cache(maxsize=64)
def facts_read(ruleset: Ruleset, op: str, target: str) -> Mapping[str, Candidate | None]:
    """Return the keys of all facts that consulted clauses, costs among them, read, each with one candidate that does."""
    found: dict[str, Candidate | None] = {}
    for candidate, clause in consulted(ruleset, op, target):
        for key in clause.reads:
            found.setdefault(key, candidate)
    for candidate in ruleset.for_op(op, target):
        for key in reads(candidate.cost) if candidate.cost is not None else ():
            found.setdefault(key, candidate)
    return found


def rules_digest(ruleset: Ruleset, op: str, target: str) -> str:
    """Return the digest of what the rules mean for an op and target: clauses, tiers, bindings' candidates, rules, the policy's order.

    Comments, layout, and what is about other ops play no part.
    """
    parts = [repr(ruleset.policy.order)]
    for candidate in ruleset.for_op(op, target):
        parts += [candidate.name, candidate.tier, show(candidate.cost) if candidate.cost is not None else ""]
    parts += [f"{candidate.name if candidate else ''}|{clause.code}|{show(clause.term)}" for candidate, clause in consulted(ruleset, op, target)]
    for rule in ruleset.rules:
        if (rule.op in (None, op)) and (rule.target in (None, target)):
            parts.append(rule.name + "".join(f"|{each.kind} {sorted(each.candidates)} {sorted(each.over)}" for each in rule.actions))
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _layouts(request: Request, facts: RequestFacts, read: Iterable[str]) -> dict[str, Any] | None:
    """Return dtypes, and layouts where they are not dense, of the operands that are there; None where one is open."""
    found: dict[str, Any] = {}
    aligned = {key.partition(":")[2] for key in read if key.startswith("align:")}
    for name, operand in request.op.operands.items():
        if operand.optional and name not in request.given:
            continue
        dtype, layout = facts(f"dtype:{name}"), request.layouts.get(name, layouts.PLAIN)
        dense = facts(f"contiguous:{name}")
        if dtype is UNKNOWN or dense is UNKNOWN:
            return None
        said: dict[str, Any] = {"dtype": dtype}
        if not dense:
            said["strides"] = list(layout.strides or ())
        if name in aligned:
            said["align"] = facts(f"align:{name}")
        found[name] = said
    return found


def _machine_facts(ruleset: Ruleset, request: Request, machine: Machine, read: Mapping[str, Candidate | None]) -> dict[str, Any]:
    """Return the value of each fact of the device and answer of each probe that is read; of one that is missing, that."""
    devices = machine.devices(ruleset.targets[request.target])
    device = devices[request.device] if request.device < len(devices) else None
    values: dict[str, Any] = {}
    for key in sorted(read):
        if (not key.startswith(("device:", "probe:")) and key != "os") or key.startswith(NOT_ASKED):
            continue
        try:
            values[key] = plain(lookup_for(request, device, machine, read[key])(key))
        except ClauseError as problem:
            values[key] = f"missing: {problem.message}"
    return values


def plain(value: Any) -> Any:
    """Return a value as JSON has it, the same for equal values.

    >>> plain((1, 2.5, float("inf"), None)), plain(UNKNOWN)
    ([1, 2.5, 'inf', None], 'unknown')
    """
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if value is UNKNOWN:
        return "unknown"
    if isinstance(value, frozenset | set):
        return sorted((plain(each) for each in value), key=str)
    return [plain(each) for each in value] if isinstance(value, Sequence) else str(value)
