"""TSR510: bounds past which a decision falls from the highest tier that is there to the lowest."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from math import lcm

from attrs import frozen

from tessera_rules.analyze.ask import Asker
from tessera_rules.analyze.codes import CLIFF
from tessera_rules.analyze.space import Point, Space
from tessera_rules.analyze.witness import spelled, witness
from tessera_rules.arbiter.rank import TIER_RANK
from tessera_rules.compile.evaluate import truth
from tessera_rules.compile.simplify import conjunction, substitute
from tessera_rules.diagnostic import Finding
from tessera_rules.model.terms import Apply, Const, Fact, Term, facts
from tessera_rules.model.types import INT
from tessera_rules.model.values import Candidate, Clause
from tessera_rules.source import Span

ORDERS = ("lt", "le", "gt", "ge", "in_range")
LARGEST_STEP = 1 << 20
MOST_TRIES = 3


@frozen(eq=False)
class Bound:
    """One comparison in a candidate's requirements, and the dimension that is moved past it, by a step up or down."""

    candidate: Candidate
    clause: Clause
    atom: Term
    dim: Fact
    step: int


def cliffs(space: Space, asker: Asker, dead: Collection[str]) -> Iterator[Finding]:
    """Yield TSR510: one for each clause of a candidate of the highest tier."""
    ranks = sorted({TIER_RANK[candidate.tier] for candidate in space.candidates})
    if len(ranks) < 2:
        return
    told: set[Span] = set()
    for candidate in space.candidates:
        if TIER_RANK[candidate.tier] != ranks[0] or candidate.name in dead:
            continue
        for bound in _bounds(space, candidate):
            if bound.clause.span in told:
                continue
            point = _past(space, asker, bound, ranks[0], ranks[-1])
            if point is not None:
                told.add(bound.clause.span)
                yield _finding(space, bound, point)


def _finding(space: Space, bound: Bound, point: Point) -> Finding:
    decision = space.decide(point)
    after = decision.winner if decision is not None else None
    size, shown = point[bound.dim.key], bound.dim.shown
    message = (
        f"{shown} = {size - bound.step} goes to {bound.candidate.name} ({bound.candidate.tier}), {shown} = {size} falls to {after} "
        f"({space.ruleset.candidates[after or bound.candidate.name].tier}) past `{bound.clause.text}`: {spelled(space, point)}"
    )
    return CLIFF.at(bound.clause.span, message, hint="put something between, split the work, or say why the bound is there", witness=witness(space, point))


def _bounds(space: Space, candidate: Candidate) -> Iterator[Bound]:
    admitted = space.admitted(candidate.name)
    for gate in space.entrants[candidate.name]:
        if gate.kind != "requires" or gate.clause is None:
            continue
        for atom in _atoms(gate.term):
            sizes = [fact for fact in facts(atom) if fact.key.startswith("dim:")]
            if gate.clause.because is not None and not _plain_size(atom):
                continue  # a limit of bytes, offsets or a grid, whose reason stands beside it
            for fact in sizes:
                if fact.type.kind == "int":
                    step = _step(admitted, fact.key)
                    if step <= LARGEST_STEP:
                        yield Bound(candidate, gate.clause, atom, fact, step)
                        yield Bound(candidate, gate.clause, atom, fact, -step)


def _atoms(term: Term) -> Iterator[Term]:
    """Yield the comparisons by order that are joined by `and`."""
    if isinstance(term, Apply) and term.op == "and":
        for arg in term.args:
            yield from _atoms(arg)
    elif isinstance(term, Apply) and term.op in ORDERS and any(fact.key.startswith("dim:") for fact in facts(term)):
        yield term


def _plain_size(atom: Term) -> bool:
    """Whether sizes themselves are compared, rather than what is computed from them."""
    return isinstance(atom, Apply) and all(isinstance(arg, Fact | Const) for arg in atom.args)


def _step(term: Term, key: str) -> int:
    """Return the multiple that conditions let a dimension move by: the common one of the constants that it is divided by."""
    step = 1
    pending = [term]
    while pending:
        part = pending.pop()
        if not isinstance(part, Apply):
            continue
        if part.op == "mod" and isinstance(part.args[1], Const) and isinstance(part.args[1].value, int) and part.args[1].value > 0:
            if any(fact.key == key for fact in facts(part.args[0])):
                step = lcm(step, part.args[1].value)
        elif part.op == "in_range" and isinstance(part.args[3], Const) and any(fact.key == key for fact in facts(part.args[0])):
            step = lcm(step, max(int(part.args[3].value), 1))
        pending.extend(part.args)
    return step


def _past(space: Space, asker: Asker, bound: Bound, highest: int, lowest: int) -> Point | None:
    """Return a point one step past a bound where the lowest tier wins, while the candidate wins one step before; None where none is found."""
    moved = Apply(INT, "sub", (bound.dim, Const(INT, bound.step)))
    before = {bound.dim.key: moved}
    gates = [gate.term for gate in space.entrants[bound.candidate.name]]
    holds = [
        *space.legal,
        *(substitute(term, before) for term in space.legal),
        *(substitute(term, before) for term in gates),
        Apply(bound.atom.type, "not", (bound.atom,)),
        *(Apply(bound.atom.type, "not", (substitute(space.frame.put(clause.term), before),)) for clause in bound.candidate.avoid[:1]),
        Apply(bound.atom.type, "ge", (moved, Const(INT, 1))),
    ]
    fails: list[Term] = [space.admitted(other.name, assumed=True) for other in space.candidates if TIER_RANK[other.tier] != lowest]
    for _ in range(MOST_TRIES):
        found = asker.ask(space, holds, fails, universe=space.names.narrow, budget=1500)
        if not isinstance(found, Mapping):
            return None
        least = asker.least(space, found, holds, fails, space.names.narrow, last=bound.dim.key)
        for point in (least, found):
            if _falls(space, bound, point, highest, lowest):
                return point
        served = [space.admitted(other.name) for other in space.candidates if truth(space.admitted(other.name), least.__getitem__) is True]
        fails.append(conjunction(served) if served else space.admitted(bound.candidate.name))
    return None


def _falls(space: Space, bound: Bound, point: Point, highest: int, lowest: int) -> bool:
    earlier = {**point, bound.dim.key: point[bound.dim.key] - bound.step}
    for assumed in (True, False):
        here, there = space.decide(point, assumed=assumed), space.decide(earlier, assumed=assumed)
        if here is None or there is None or here.winner is None or there.winner is None:
            return False
        tiers = [TIER_RANK[space.ruleset.candidates[name].tier] for name in (there.winner, here.winner)]
        if tiers != [highest, lowest]:
            return False
    return True
