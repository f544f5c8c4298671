"""The decision for one structure as a C header, with requests that the arbiter has answered to check it by."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from typing import Any

from attrs import evolve

from tessera_rules.arbiter.courses import course_of
from tessera_rules.arbiter.decide import check_known, check_registered, decide
from tessera_rules.arbiter.request import bind_words
from tessera_rules.arbiter.situation import Situation
from tessera_rules.compile.c_header import Header, Vector, write_header
from tessera_rules.compile.c_terms import CannotWriteError
from tessera_rules.compile.course import RAISES, REFERENCE, UNDECIDED, Course, UsesStep
from tessera_rules.errors import ArbiterError, OperandError, UsageError
from tessera_rules.machine.base import Machine
from tessera_rules.model.request import Request
from tessera_rules.model.terms import Apply, Const, Term
from tessera_rules.model.values import Ruleset

VECTORS = 96
"""Requests that a header is checked by."""
USUAL = (0, 1, 2, 3, 7, 8, 16, 17, 63, 64, 65, 100, 128, 255, 256, 1000, 1024, 4096, 65535)


def header(
    ruleset: Ruleset,
    machine: Machine,
    op: str,
    target: str | None,
    words: Mapping[str, Any],
    *,
    name: str | None = None,
    force: str | None = None,
    assumed: frozenset[str] | None = frozenset(),
    about: tuple[str, ...] = (),
) -> Header:
    """Return the decision on an op and a target as C, over every dimension of the op.

    ``words`` state the structure: ``dtype``, attributes, ``given``, layouts. ``name`` begins every name in the header. Raises
    `UsageError` for a dimension among the words, and where the decision is too much for a header.
    """
    request = bind_words(ruleset, op, target, words, machine)
    if request.dims:
        raise UsageError(f"{', '.join(sorted(request.dims))} is a dimension, and a header takes every dimension as a parameter", hint="leave it out")
    for each in sorted(assumed or ()):
        check_known(ruleset, each, "assumed")
    if force is not None and force != "reference":
        check_registered(ruleset, request, force)
    course = course_of(Situation(ruleset, request, machine, assumed), request.op.dims.keys(), force)
    prefix = name or "_".join(each for each in ("tsr", op, request.target, request.dtype) if each)
    if not prefix.isidentifier() or not prefix.isascii():
        raise UsageError(f"'{prefix}' is no name for C", hint="letters, digits and _, not beginning with a digit")
    vectors = tuple(_vectors(ruleset, request, machine, course, force, assumed))
    first = f"{op} on {request.target}" + (f", dtype {request.dtype}" if request.dtype else ", dtype not stated")
    stated = (f"rules {ruleset.digest[:16]}; threads {request.threads}; device {request.device}", *about)
    try:
        return write_header(course, prefix, (first, *stated), vectors)
    except CannotWriteError as problem:
        raise UsageError(f"{op} on {request.target} is too much for a header: {problem}") from None


def _vectors(ruleset: Ruleset, request: Request, machine: Machine, course: Course, force: str | None, assumed: frozenset[str] | None) -> Iterator[Vector]:
    """Yield requests near the constants that clauses compare with, and what the arbiter says of each."""
    names = [lane.name for lane in course.lanes]
    found = sorted({value + by for term in _terms(course) for value in _constants(term) for by in (-1, 0, 1)} | set(USUAL))
    sizes = [size for size in found if 0 <= size < 1 << 20]
    draw = random.Random(20261201)
    dims = [dim.name for dim in course.dims]
    for _ in range(VECTORS):
        chosen = {dim: draw.choice(sizes) for dim in dims}
        if draw.random() < 0.5:
            same = draw.choice(sizes)  # equal and divisible sizes pass the checks of most ops
            chosen = {dim: same if draw.random() < 0.6 else chosen[dim] for dim in dims}
        yield Vector(tuple(chosen.values()), _winner(ruleset, evolve(request, dims=chosen), machine, names, force, assumed))


def _winner(ruleset: Ruleset, request: Request, machine: Machine, names: list[str], force: str | None, assumed: frozenset[str] | None) -> int:
    words: dict[str, Any] = {**request.dims}
    try:
        for name, size in words.items():
            dim = request.op.dims[name]
            if size < dim.low or (dim.high is not None and size > dim.high) or (size - dim.low) % dim.step:
                return RAISES
        from tessera_rules.arbiter.request import check_request

        check_request(request)
        decision = decide(ruleset, request, machine, force=force, assume_available=assumed)
    except (ArbiterError, OperandError):
        return RAISES
    return names.index(decision.winner) if decision.winner is not None else UNDECIDED if decision.tag == "undecided" else REFERENCE


def _terms(course: Course) -> Iterator[Term]:
    yield from (*course.domain, *course.checks)
    for lane in course.lanes:
        for step in lane.steps:
            if isinstance(step, UsesStep):
                yield from _terms(step.course)
            elif step.term is not None:
                yield step.term
        yield from (term for term in lane.avoid if term is not None)
    yield from (choice.term for choice in course.choices if choice.term is not None)


def _constants(term: Term) -> Iterator[int]:
    pending, seen = [term], set[int]()
    while pending:
        part = pending.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        if isinstance(part, Const) and isinstance(part.value, int) and not isinstance(part.value, bool):
            yield part.value
        elif isinstance(part, Apply):
            pending.extend(part.args)
