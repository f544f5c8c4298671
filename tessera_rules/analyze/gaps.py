"""TSR505: legal requests that nobody serves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from attrs import frozen

from tessera_rules.analyze.ask import Asker
from tessera_rules.analyze.codes import GAP, NOT_DECIDED
from tessera_rules.analyze.gates import Gate
from tessera_rules.analyze.space import Point, Space
from tessera_rules.analyze.witness import spelled, witness
from tessera_rules.arbiter.rank import TIER_RANK
from tessera_rules.compile.domain import UNDECIDED
from tessera_rules.compile.evaluate import truth
from tessera_rules.compile.simplify import conjunction, disjunction, negation
from tessera_rules.diagnostic import Finding, Related
from tessera_rules.model.terms import Apply, Const, Fact, Term, reads
from tessera_rules.model.types import BOOL
from tessera_rules.model.values import REQUIRED, Candidate

MOST_COMBINATIONS = 64
"""Combinations of refusals that are looked at for one op on one target; fewer where there are many candidates to combine."""
MOST_REFUSALS = 600
MOST_GAPS = 8
"""Findings for one op on one target."""


@frozen(eq=False)
class Near:
    """The candidate that comes nearest to serving a request, and the gate that keeps it out."""

    candidate: Candidate
    gate: Gate

    @property
    def key(self) -> object:
        """What gaps are told apart by: the place of the clause, which members of a family share."""
        return self.gate.clause.span if self.gate.clause is not None else (self.gate.kind, self.gate.text)


def gaps(space: Space, asker: Asker) -> Iterator[Finding]:
    """Yield TSR505: for each reason that keeps the nearest candidate out the least request, first where everybody is available.

    Every combination of first refusals is looked at once. Combinations with one nearest reason make one finding, but for those
    that other attributes or optional operands lead to.
    """
    place = space.candidates[-1]
    told: dict[object, list[frozenset[str]]] = {}
    shown: set[str] = set()
    other_reasons: list[Term] = []
    named: list[Term] = []
    combinations = 0
    most = min(MOST_COMBINATIONS, max(8, MOST_REFUSALS // len(space.candidates)))
    for assumed in (True, False):
        fails = [space.admitted(candidate.name, assumed=assumed) for candidate in space.candidates]
        while combinations < most and len(shown) < MOST_GAPS:
            holds = [*space.legal, *other_reasons]
            found = asker.ask(space, holds, fails, universe=space.names.narrow)
            if found is UNDECIDED and named:
                # not every combination, then: a gap that none of the reasons named so far is a part of
                found = asker.ask(space, [*space.legal, *named], fails, universe=space.names.narrow)
            if found is UNDECIDED:
                yield NOT_DECIDED.at(place.name_span, f"whether somebody serves every {space.op.name} on {space.target} is not decided")
                return
            if not isinstance(found, Mapping):
                break
            combinations += 1
            refusals = [gate.term for gate in _first_refusals(space, found)]
            near = _nearest(space, found)
            known = told.setdefault(near.key, [])
            others = [negation(conjunction([_stated(space, key) for key in sorted(structure)])) for structure in known]
            if any(structure <= _structure(space, found) for structure in known):
                # it has an attribute more than a gap that was told of: is there one of these refusals without that?
                found = asker.ask(space, [*space.legal, *others, *map(negation, refusals)], fails, universe=space.names.narrow)
                if not isinstance(found, Mapping) or any(structure <= _structure(space, found) for structure in told.get(_nearest(space, found).key, [])):
                    other_reasons.append(disjunction(refusals))
                    continue
                near = _nearest(space, found)
                known = told.setdefault(near.key, [])
            named.append(near.gate.term)
            serves_but_for = [gate.term for gate in space.entrants[near.candidate.name] if space.holds(gate.term, found)]
            wanted = [*space.legal, *serves_but_for, *others, negation(near.gate.term)]
            least = asker.least(space, found, wanted, fails, space.names.narrow)
            point = next((each for each in (least, found) if _is_gap(space, each, assumed)), None)
            other_reasons.append(disjunction([gate.term for gate in _first_refusals(space, point or found)]))
            if point is None:
                yield NOT_DECIDED.at(place.name_span, f"whether somebody serves {space.op.name} on {space.target} at {spelled(space, found)} is not decided")
            else:
                known.append(_structure(space, point))
                if not known[-1] and any(key.startswith("dim:") for key in reads(near.gate.term)):
                    # told in full: where this one would serve but for that size, nothing more is to be said
                    rest = conjunction([gate.term for gate in space.entrants[near.candidate.name] if gate is not near.gate])
                    other_reasons.append(disjunction([near.gate.term, negation(rest)]))
                told.setdefault(_nearest(space, point).key, []).append(_structure(space, point))
                if spelled(space, point) not in shown:
                    shown.add(spelled(space, point))
                    yield _finding(space, point)


def _structure(space: Space, point: Point) -> frozenset[str]:
    """Return the attributes that are not at their defaults, and the optional operands that are given."""
    attrs = [f"attr:{name}" for name, attr in space.op.attrs.items() if attr.default is not REQUIRED and point[f"attr:{name}"] != attr.default]
    return frozenset((*attrs, *(f"given:{each.name}" for each in space.op.operands.values() if each.optional and point[f"given:{each.name}"])))


def _stated(space: Space, key: str) -> Term:
    """Return the condition that an attribute is not at its default, or that an optional operand is given."""
    kind, _, name = key.partition(":")
    if kind == "given":
        return Fact(BOOL, key, f"given({name})")
    attr = space.op.attrs[name]
    return Apply(BOOL, "ne", (Fact(attr.type, key, name), Const(attr.type, attr.default)))


def _is_gap(space: Space, point: Point, assumed: bool) -> bool:
    """Whether the arbiter says so too; in an `assumed` gap both with and without the clauses of `available`."""
    for each in (True, False) if assumed else (False,):
        decision = space.decide(point, assumed=each)
        if decision is None:
            if space.ruleset.policy.on_none != "error":
                return False
        elif decision.tag != "reference" or decision.criterion != "none":
            return False
    return True


def _refusals(space: Space, candidate: Candidate, point: Point) -> list[Gate]:
    return [gate for gate in space.entrants[candidate.name] if truth(gate.term, point.__getitem__) is not True]


def _first_refusals(space: Space, point: Point) -> list[Gate]:
    return [refusals[0] for candidate in space.candidates if (refusals := _refusals(space, candidate, point))]


def _nearest(space: Space, point: Point) -> Near:
    """Return who is kept out by fewest gates, by one about sizes before one about the dtype or the device, of the lowest tier, the last declared."""

    def rank(pair: tuple[Candidate, list[Gate]]) -> tuple[int, int, int, int]:
        candidate, refusals = pair
        sizes = any(key.startswith("dim:") for key in reads(refusals[0].term))
        return len(refusals), not sizes, -TIER_RANK[candidate.tier], -candidate.order

    refused = [(candidate, refusals) for candidate in space.candidates if (refusals := _refusals(space, candidate, point))]
    candidate, refusals = min(refused, key=rank)
    return Near(candidate, refusals[0])


def _finding(space: Space, point: Point) -> Finding:
    near = _nearest(space, point)
    reasons = {f"{near.candidate.name}: `{near.gate.text}`": None}
    for candidate in space.candidates:
        refusals = _refusals(space, candidate, point)
        if candidate is not near.candidate and refusals:
            reasons[f"{candidate.name}: `{refusals[0].text}`"] = None
    said = "; ".join(list(reasons)[:3]) + (f"; and {len(reasons) - 3} more" if len(reasons) > 3 else "")
    return GAP.at(
        near.candidate.name_span,
        f"nobody serves {space.op.name} on {space.target} at {spelled(space, point)} ({said})",
        related=(Related(space.op.name_span, f"op {space.op.name}"),),
        hint="add a candidate that serves it, widen one, or make it illegal with `dim … in` or `check`",
        witness=witness(space, point),
    )
