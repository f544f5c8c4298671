"""TSR505: legal requests that nobody serves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tessera_rules.analyze.ask import Asker
from tessera_rules.analyze.codes import GAP, NOT_DECIDED
from tessera_rules.analyze.gates import Gate
from tessera_rules.analyze.space import Point, Space
from tessera_rules.analyze.witness import spelled, witness
from tessera_rules.compile.domain import UNDECIDED
from tessera_rules.compile.evaluate import truth
from tessera_rules.compile.simplify import disjunction
from tessera_rules.diagnostic import Finding, Related
from tessera_rules.model.terms import Term
from tessera_rules.model.values import Candidate

MOST_GAPS = 8
"""Findings for one op on one target; the last says that there are more."""


def gaps(space: Space, asker: Asker) -> Iterator[Finding]:
    """Yield TSR505, each with another combination of reasons: first those that hold even where everybody is available."""
    place = space.candidates[-1]
    told = 0
    other_reasons: list[Term] = []
    for assumed in (True, False):
        while told < MOST_GAPS:
            fails = [space.admitted(candidate.name, assumed=assumed) for candidate in space.candidates]
            holds = [*space.legal, *other_reasons]
            found = asker.ask(space, holds, fails, universe=space.names.narrow)
            if found is UNDECIDED:
                yield NOT_DECIDED.at(place.name_span, f"whether somebody serves every {space.op.name} on {space.target} is not decided")
                break
            if not isinstance(found, Mapping):
                break
            least = asker.least(space, found, holds, fails, space.names.narrow)
            if not _is_gap(space, least, assumed):
                yield NOT_DECIDED.at(place.name_span, f"whether {space.op.name} on {space.target} has a gap at {spelled(space, least)} is not decided")
                break
            told += 1
            refusing = [_refusing(space, candidate, least) for candidate in space.candidates]
            yield _finding(space, place, least, refusing, last=told == MOST_GAPS)
            other_reasons.append(disjunction([gate.term for gate in refusing if gate is not None]))


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


def _refusing(space: Space, candidate: Candidate, point: Point) -> Gate | None:
    return next((gate for gate in space.entrants[candidate.name] if truth(gate.term, point.__getitem__) is not True), None)


def _finding(space: Space, place: Candidate, point: Point, refusing: list[Gate | None], *, last: bool) -> Finding:
    reasons: dict[str, None] = {}
    for candidate, gate in zip(space.candidates, refusing, strict=True):
        if gate is not None:
            reasons[f"{candidate.name}: {gate.text}"] = None
    said = "; ".join(list(reasons)[:4]) + (f"; and {len(reasons) - 4} more" if len(reasons) > 4 else "")
    more = " (others are not listed)" if last else ""
    return GAP.at(
        place.name_span,
        f"nobody serves {space.op.name} on {space.target} at {spelled(space, point)}{more} ({said})",
        related=(Related(space.op.name_span, f"op {space.op.name}"),),
        hint="add a candidate that serves it, widen one, or make it illegal with `dim … in` or `check`",
        witness=witness(space, point),
    )
