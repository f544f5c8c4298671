"""Proofs made ahead: for every candidate that can run here, one for each dtype that it serves, or for the requests that are listed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from attrs import evolve, frozen

from tessera_rules.arbiter.gates import available
from tessera_rules.arbiter.situation import Situation
from tessera_rules.bind.bindings import Bindings
from tessera_rules.bind.bound import Bound
from tessera_rules.bind.inputs import make_operands
from tessera_rules.bind.operands import bind_operands
from tessera_rules.errors import TesseraError
from tessera_rules.machine.epoch import EPOCH
from tessera_rules.machine.local import LocalMachine
from tessera_rules.model.request import Request
from tessera_rules.model.values import REQUIRED, Candidate, Op, Ruleset
from tessera_rules.oracle.families import Family
from tessera_rules.oracle.keys import about, structure_key
from tessera_rules.oracle.ledger import Ledger
from tessera_rules.oracle.probes.draft import Asked
from tessera_rules.oracle.proof import Proof
from tessera_rules.oracle.store import Record, finite, now
from tessera_rules.oracle.variants import Admission, points

TRIES = 600
SMALL = (64, 6)
"""The largest sizes of a starting request where the clauses admit such: of an op with few dimensions, and with many."""


@frozen(eq=False)
class Proved:
    """One proof of a run: of whom, for what, and what it came to. ``known`` where it was there before."""

    candidate: Candidate
    request: Request | None
    proof: Proof
    known: bool
    record: Record | None = None


def verify_all(
    ruleset: Ruleset,
    machine: LocalMachine,
    ledger: Ledger,
    candidates: Iterable[Candidate],
    listed: Iterable[Request] = (),
    progress: Callable[[str], None] | None = None,
) -> Iterator[Proved]:
    """Prove candidates, each for its own requests or for those ``listed`` that it serves; yield what each came to."""
    tell = progress or (lambda _: None)
    asked = tuple(listed)
    for candidate in candidates:
        tell(f"binding {candidate.name}")
        bound = bound_here(ruleset, machine, candidate)
        if isinstance(bound, str):
            yield Proved(candidate, None, Proof("failed", bound), False)
            continue
        admits = Admission(ruleset, machine, candidate)
        mine = [each for each in asked if (each.op.name, each.target) == (candidate.op, candidate.target) and admits(each)]
        for request in mine if asked else starts(candidate, ruleset.ops[candidate.op], machine, admits):
            yield _proved(bound, ruleset, machine, ledger, request, listed=bool(asked), progress=tell)
    EPOCH.advance()  # what was decided without these proofs is decided again


def bound_here(ruleset: Ruleset, machine: LocalMachine, candidate: Candidate) -> Bound | str:
    """Return a candidate bound on the first device of its target, or why it cannot run here."""
    devices = machine.devices(ruleset.targets[candidate.target])
    if not devices:
        return f"no device: {machine.why_no_device(ruleset.targets[candidate.target])}"
    probe = Request(ruleset.ops[candidate.op], candidate.target, None, {}, {})
    for outcome in available(Situation(ruleset, probe, machine), candidate):
        if outcome is not None:
            return str(getattr(outcome, "reason", outcome))
    assert isinstance(machine.binder, Bindings)
    found = machine.binder.bind(candidate, devices[0])
    return found if isinstance(found, Bound) else found.reason


def _proved(
    bound: Bound, ruleset: Ruleset, machine: LocalMachine, ledger: Ledger, request: Request, *, listed: bool, progress: Callable[[str], None]
) -> Proved:
    before = ledger.proofs_made
    proof = ledger.ahead(bound, ruleset, machine, request, progress)
    if listed and proof.outcome == "verified":
        operands = make_operands(request)
        fitted = bind_operands(request.op, (), operands, request.attrs, request.target, threads=request.threads or machine.threads, allow=request.allow)
        proof = ledger.proved(bound, ruleset, machine, fitted.request, operands, progress)
    key = structure_key(bound.candidate, bound.digest, request, machine)
    record = Record(key, bound.candidate.name, about(bound.candidate, bound.digest, request, shaped=False), finite(proof), now())
    return Proved(bound.candidate, request, proof, ledger.proofs_made == before, record)


def starts(candidate: Candidate, op: Op, machine: LocalMachine, admits: Admission) -> Iterator[Request]:
    """Yield a request that a candidate serves for each dtype: default attributes where it can be, small sizes."""
    for dtype in op.dtypes or (None,):
        found = start(candidate, op, dtype, machine, admits)
        if found is not None:
            yield found


def start(candidate: Candidate, op: Op, dtype: str | None, machine: LocalMachine, admits: Admission) -> Request | None:
    """Return a request of a dtype that a candidate serves, None where none was found."""
    rng = np.random.default_rng(0)
    family = Family.of(op)
    allow = frozenset((candidate.computes,)) if candidate.computes else frozenset[str]()
    sizes = {name: points(candidate, op, name, None) for name in op.dims}
    limit = SMALL[len(op.dims) > 4]
    small = {name: [size for size in listed if 1 <= size <= limit] or listed for name, listed in sizes.items()}
    base = Request(op, candidate.target, dtype, {}, {}, frozenset(), {}, machine.threads, allow)
    for attempt in range(TRIES):
        pool = small if attempt < TRIES // 2 else sizes
        dims = {name: int(rng.choice(listed)) for name, listed in pool.items() if listed}
        if attempt % 3 == 0:  # one size for all: what a clause ties together is often equal
            shared = int(rng.choice([size for size in (2, 4, 8, 16, 32, 64) if size <= limit or attempt > TRIES // 2]))
            dims = {name: shared if attempt % 2 else dims[name] for name in dims}
        for attrs, given in _structures(op, family, dims, dtype, rng, attempt):
            request = evolve(base, dims=dims, attrs=attrs, given=given)
            if admits(request):
                return request
    return None


def _structures(op: Op, family: Family, dims: dict[str, int], dtype: str | None, rng: np.random.Generator, attempt: int) -> list[tuple[Any, frozenset[str]]]:
    """Return the default attributes; those without a default, and after a while all, from what the op's probes list."""
    defaults = {name: attr.default for name, attr in op.attrs.items() if attr.default is not REQUIRED}
    if len(defaults) == len(op.attrs) and attempt < TRIES // 3:
        return [(defaults, frozenset())]
    draft = Request(op, "", dtype, dims, {**defaults, **{name: () for name in op.attrs if name not in defaults}})
    try:
        listed = list(family.structures(Asked(draft, None, rng)))
    except (TesseraError, KeyError):
        listed = []
    return [(defaults, frozenset()), *(({**defaults, **attrs}, given) for attrs, given in listed if {*defaults, *attrs} == {*op.attrs})][:12]
