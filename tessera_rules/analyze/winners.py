"""TSR503 and TSR506: candidates that never win, and ties that only the order of declaration breaks."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from itertools import combinations

from tessera_rules.analyze.ask import Asker, Found
from tessera_rules.analyze.codes import NEVER_WINS, NOT_DECIDED, TIE
from tessera_rules.analyze.contest import Contest
from tessera_rules.analyze.cost import alike
from tessera_rules.analyze.space import Point, Space
from tessera_rules.analyze.witness import spelled, witness
from tessera_rules.arbiter.decision import Decision
from tessera_rules.compile.domain import UNDECIDED
from tessera_rules.compile.simplify import FALSE
from tessera_rules.diagnostic import Finding, Related
from tessera_rules.model.terms import Term
from tessera_rules.model.values import Candidate


def never_wins(space: Space, asker: Asker, dead: Collection[str]) -> Iterator[Finding]:
    """Yield TSR503 for each candidate of which it is proved. ``dead`` have their own finding already."""
    contest = Contest(space, asker)
    for candidate in space.candidates:
        if candidate.name in dead:
            continue
        found = contest.wins(candidate.name)
        if found is UNDECIDED:
            yield NOT_DECIDED.at(candidate.name_span, f"whether {candidate.name} can win is not decided")
        elif found is None:
            yield _never(space, contest, candidate)


def _never(space: Space, contest: Contest, candidate: Candidate) -> Finding:
    point = contest.first.get(candidate.name)
    by = list(contest.winners.get(candidate.name, {}))
    if point is None:
        out = next((gate.text for gate in space.entrants[candidate.name] if gate.term is FALSE), None)
        why = out or "rules deny it wherever its own conditions hold"
        return NEVER_WINS.at(candidate.name_span, f"{candidate.name} never races: {why}", hint="correct the rule or the condition, or delete it")
    related = tuple(Related(space.ruleset.candidates[name].name_span, f"{name} comes before it") for name in by)
    shown: Point | None = _shown(space, point, candidate.name)
    where = f", as at {spelled(space, shown)}" if shown is not None else ""
    who = f"{' or '.join(by)} races as well and comes first" if by else "a rule forces others"
    return NEVER_WINS.at(
        candidate.name_span,
        f"{candidate.name} never wins: wherever it races {who}{where}",
        related=related,
        hint="raise its tier, narrow what covers it, or delete it",
        witness=witness(space, shown) if shown is not None else None,
    )


def _shown(space: Space, point: Point, name: str) -> Point | None:
    """Return the point if it can be stated and shows the candidate outranked."""
    decision = space.stated(point)
    out = decision is not None and any(each.candidate == name and each.verdict == "outranked" for each in decision.verdicts)
    return point if out else None


def ties(space: Space, asker: Asker, dead: Collection[str]) -> Iterator[Finding]:
    """Yield TSR506: for each candidate the first one before it that it ties with."""
    listed = [candidate for candidate in space.candidates if candidate.name not in dead]
    told: set[str] = set()
    for second, first in sorted(combinations(reversed(listed), 2), key=lambda pair: (pair[0].order, pair[1].order)):
        if second.name in told or not _level(space, first, second):
            continue
        finding = _tie(space, asker, first, second)
        if finding is not None:
            if finding.code == TIE.code:
                told.add(second.name)
            yield finding


def _level(space: Space, first: Candidate, second: Candidate) -> bool:
    order = space.ruleset.policy.order
    return ("tier" not in order or first.tier == second.tier) and ("cost" not in order or alike(space, first, second))


def _tie(space: Space, asker: Asker, first: Candidate, second: Candidate) -> Finding | None:
    undecided = False
    for assumed in (True, False):
        found = _tied_point(space, asker, first, second, assumed=assumed)
        if isinstance(found, Mapping):
            message = f"{second.name} ties with {first.name}, and only the order of declaration puts {first.name} first: {spelled(space, found)}"
            related = (Related(first.name_span, f"{first.name} is declared first"),)
            return TIE.at(second.name_span, message, related=related, hint="state a cost for each, or a rule that prefers one", witness=witness(space, found))
        undecided = undecided or found is UNDECIDED
    if undecided:
        return NOT_DECIDED.at(second.name_span, f"whether {second.name} can tie with {first.name} is not decided")
    return None


def _tied_point(space: Space, asker: Asker, first: Candidate, second: Candidate, *, assumed: bool) -> Found:
    """Return a point where two candidates are level and ahead of all others. ``assumed``: also where all count as available."""
    both = (first.name, second.name)
    contest = Contest(space, asker, assumed=assumed, universe=space.names.narrow)
    fails: list[Term] = []
    for _ in range(12):
        found = contest.search(both, (), fails)
        if not isinstance(found, Mapping):
            return found
        if _is_tie(space, found, both, assumed):
            wanted = [*space.legal, *(contest.gates(name, own=True) for name in both)]
            least = asker.least(space, found, wanted, fails, space.names.narrow)
            return least if _is_tie(space, least, both, assumed) else found
        parted = contest.parted(first, second, found)
        if parted is None:
            return UNDECIDED
        fails.append(parted)
    return UNDECIDED


def _is_tie(space: Space, point: Point, both: tuple[str, str], assumed: bool) -> bool:
    return all(_says_tie(space.decide(point, assumed=each), both) for each in ((True, False) if assumed else (False,)))


def _says_tie(decision: Decision | None, both: tuple[str, str]) -> bool:
    if decision is None or decision.criterion != "declaration" or decision.winner not in both:
        return False
    return any(
        each.candidate in both and each.candidate != decision.winner and each.verdict == "outranked" and each.extra.get("criterion") == "declaration"
        for each in decision.verdicts
    )
