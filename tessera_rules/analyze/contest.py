"""Who can win: a search for a request that a candidate wins, led by the arbiter's own decisions.

A point where the candidate races is decided. Where another wins, the reason is made into a condition under which the candidate
does not win, and the search goes on outside it, until the candidate wins or nothing is left, which is a proof.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from attrs import define, field

from tessera_rules.analyze.ask import Asker, Found
from tessera_rules.analyze.cost import cheaper
from tessera_rules.analyze.space import Point, Space
from tessera_rules.arbiter.decision import Decision
from tessera_rules.arbiter.rank import TIER_RANK
from tessera_rules.compile.domain import UNDECIDED, Values
from tessera_rules.compile.evaluate import truth
from tessera_rules.compile.kinds import ClauseError
from tessera_rules.compile.simplify import TRUE, conjunction
from tessera_rules.model.terms import Apply, Term
from tessera_rules.model.types import BOOL
from tessera_rules.model.values import Action, Candidate, Rule, Ruleset

MOST_ROUNDS = 80
"""Decisions of one search; past them it is undecided."""


@define(eq=False)
class Contest:
    """Searches of one space. ``without`` is a rule that is left out. ``assumed``: everybody else's ``available`` counts as true."""

    space: Space
    asker: Asker
    without: Rule | None = None
    assumed: bool = False
    universe: Mapping[str, Values] | None = None
    winners: dict[str, dict[str, None]] = field(factory=dict, init=False)
    """For each candidate that was searched for those who won before it."""
    first: dict[str, Point] = field(factory=dict, init=False)
    """For each candidate the first point where it raced."""
    ruleset: Ruleset = field(init=False)

    def __attrs_post_init__(self) -> None:
        from attrs import evolve

        prepared = self.space.prepared
        self.ruleset = prepared if self.without is None else evolve(prepared, rules=tuple(rule for rule in prepared.rules if rule is not self.without))

    @property
    def rules(self) -> list[Rule]:
        """The rules that count here."""
        return [rule for rule in self.space.rules if rule is not self.without]

    def gates(self, name: str, *, own: bool = False) -> Term:
        """Return the condition that a candidate races. ``own``: it is the one that is searched for."""
        assumed = self.assumed and not own
        if self.without is None:
            return self.space.admitted(name, assumed=assumed)
        return conjunction([gate.term for gate in self.space.entrants[name] if gate.rule is not self.without and not (assumed and gate.kind == "available")])

    def wins(self, name: str, holds: Sequence[Term] = (), fails: Sequence[Term] = ()) -> Found:
        """Return a point where a candidate wins; None is a proof that it never does."""
        return self.search((name,), holds, fails)

    def search(self, names: tuple[str, ...], holds: Sequence[Term] = (), fails: Sequence[Term] = ()) -> Found:
        """Return a point where all of ``names`` race and one of them wins, ties decided by declaration included."""
        space = self.space
        wanted = [*space.legal, *(self.gates(name, own=True) for name in names), *holds]
        blocked = list(fails)
        met = self.winners.setdefault(names[0], {})
        for _ in range(MOST_ROUNDS):
            found = self.asker.ask(space, wanted, blocked, universe=self.universe)
            if not isinstance(found, Mapping):
                return found
            self.first.setdefault(names[0], found)
            decision = space.decide(found, ruleset=self.ruleset)
            if decision is not None and decision.winner in names:
                return found
            reason = self._why_not(names, found, decision)
            if reason is None or truth(reason, found.__getitem__) is not True:
                return UNDECIDED
            if decision is not None and decision.winner is not None:
                met[decision.winner] = None
            blocked.append(reason)
        return UNDECIDED

    def _why_not(self, names: tuple[str, ...], point: Point, decision: Decision | None) -> Term | None:
        """Return a condition that holds here, and under which none of ``names`` wins."""
        parts: list[Term] = []
        for name in names:
            reason = self._behind(self.space.ruleset.candidates[name], point, decision)
            if reason is None:
                return None
            parts.append(reason)
        return conjunction(parts)

    def _behind(self, one: Candidate, point: Point, decision: Decision | None) -> Term | None:
        order = self.space.ruleset.policy.order
        if "rules" in order:
            for rule, names in self._forces():
                if one.name not in names and self._value(rule, point) is True:
                    return self.space.when(rule)
        if decision is None or decision.winner is None:
            return None
        if "rules" in order and self._preferences():
            if order[0] != "rules":
                return None  # who is preferred hangs on who is left by then
            dominated = self._dominated(one, point)
            if dominated is not None:
                return dominated
        winner = self.space.ruleset.candidates[decision.winner]
        kept = self._stays(winner, one, point)
        ahead = self._ahead(winner, one, point)
        if kept is None or ahead is None or not self.space.exact(winner.name):
            return None
        return conjunction([self.gates(winner.name), *kept, *ahead])

    # ---- rules ----

    def _forces(self) -> list[tuple[Rule, frozenset[str]]]:
        here = {candidate.name for candidate in self.space.candidates}
        found = []
        for rule in self.rules:
            names = frozenset[str]().union(*(action.candidates for action in rule.actions if action.kind == "force")) & here
            if names:
                found.append((rule, names))
        return found

    def _preferences(self) -> list[tuple[Rule, Action]]:
        return [(rule, action) for rule in self.rules for action in rule.actions if action.kind == "prefer"]

    def _value(self, rule: Rule, point: Point) -> bool | None:
        found = truth(self.space.when(rule), point.__getitem__)
        return None if isinstance(found, ClauseError) else found is True

    def _as_is(self, rule: Rule, point: Point) -> Term | None:
        """Return the condition that a rule's ``when`` stays as it is here; None where it is an error."""
        value = self._value(rule, point)
        if value is None:
            return None
        return self.space.when(rule) if value else Apply(BOOL, "not", (self.space.when(rule),))

    def _dominated(self, one: Candidate, point: Point) -> Term | None:
        """Return a condition under which somebody is preferred over a candidate, and it over nobody that is preferred over it."""
        preferences = self._preferences()
        for rule, action in preferences:
            if one.name not in action.over or self._value(rule, point) is not True:
                continue
            for name in sorted(action.candidates - {one.name}):
                if name not in self.space.entrants or not self.space.exact(name) or not self._races(name, point):
                    continue
                parts = [self.space.when(rule), self.gates(name)]
                if any(one.name in other.candidates for _, other in preferences):
                    more = self._everything_as_is(point)
                    if more is None or not self._loses_by_rules(one, point):
                        continue
                    parts += more
                return conjunction(parts)
        return None

    def _loses_by_rules(self, one: Candidate, point: Point) -> bool:
        decision = self.space.decide(point, ruleset=self.ruleset)
        verdict = None if decision is None else next((each for each in decision.verdicts if each.candidate == one.name), None)
        return verdict is not None and verdict.verdict == "outranked" and verdict.extra.get("criterion") == "rules"

    def _everything_as_is(self, point: Point) -> list[Term] | None:
        """Return that every preference and everybody in one is as here, which fixes who is preferred over whom."""
        parts: list[Term] = []
        names: set[str] = set()
        for rule, action in self._preferences():
            held = self._as_is(rule, point)
            if held is None:
                return None
            parts.append(held)
            names |= action.candidates | action.over
        for name in sorted(names & set(self.space.entrants)):
            term = self.gates(name)
            if not self.space.exact(name):
                return None
            parts.append(term if self._races(name, point) else Apply(BOOL, "not", (term,)))
        return parts

    def _races(self, name: str, point: Point) -> bool:
        return self.space.holds(self.gates(name), point)

    def _stays(self, winner: Candidate, one: Candidate, point: Point) -> list[Term] | None:
        """Return the conditions under which no rule takes the winner out where the other stays."""
        if "rules" not in self.space.ruleset.policy.order:
            return []
        parts: list[Term] = []
        for rule, names in self._forces():
            if one.name in names and winner.name not in names:
                held = self._as_is(rule, point)
                if held is None:
                    return None
                parts.append(held)
        for rule, action in self._preferences():
            if winner.name not in action.over:
                continue
            if self._value(rule, point) is False:
                parts.append(Apply(BOOL, "not", (self.space.when(rule),)))
                continue
            for name in sorted((action.candidates - {winner.name}) & set(self.space.entrants)):
                if self._value(rule, point) is None or self._races(name, point):
                    # it stays all the same, by a circle: who is preferred over whom is fixed by everybody's being as here
                    more = self._everything_as_is(point)
                    return None if more is None else [*parts, *more]
                # where its gates are an error the condition is one too, and nothing is concluded
                parts.append(Apply(BOOL, "not", (self.gates(name),)))
        return parts

    # ---- the other criteria ----

    def _ahead(self, winner: Candidate, one: Candidate, point: Point) -> list[Term] | None:
        """Return the conditions under which the winner comes before the other by avoid, tier, cost or place."""
        parts: list[Term] = []
        for word in (*self.space.ruleset.policy.order, "declaration"):
            match word:
                case "avoid":
                    winners, others = self._avoided(winner, point), self._avoided(one, point)
                    if winners is None or others is None:
                        return None
                    if not winners[0]:
                        parts += winners[1]
                        if others[0]:
                            return [*parts, *others[1]]
                    elif others[0]:
                        parts += others[1]
                    else:
                        return None
                case "tier":
                    if TIER_RANK[winner.tier] != TIER_RANK[one.tier]:
                        return parts if TIER_RANK[winner.tier] < TIER_RANK[one.tier] else None
                case "cost":
                    better = cheaper(self.space, winner, one, point)
                    if better is None:
                        return None
                    parts += better.conditions
                    if better.strictly:
                        return parts
                case "declaration":
                    return parts if winner.order < one.order else None
        return None

    def _avoided(self, candidate: Candidate, point: Point) -> tuple[bool, list[Term]] | None:
        """Return whether a candidate is avoided here, and conditions under which that stays so."""
        causes: list[Term] = []
        own = conjunction([self.space.frame.put(clause.term) for clause in candidate.avoid]) if candidate.avoid else None
        if own is not None:
            causes.append(own)
        causes += [self.space.when(rule) for rule in self.rules for action in rule.actions if action.kind == "avoid" and candidate.name in action.candidates]
        held = [truth(cause, point.__getitem__) for cause in causes]
        for cause, value in zip(causes, held, strict=True):
            if value is True:
                return True, [cause] if cause is not TRUE else []
        if any(isinstance(value, ClauseError) for value in held):
            return None
        return False, [Apply(BOOL, "not", (cause,)) for cause in causes]

    def parted(self, first: Candidate, second: Candidate, point: Point) -> Term | None:
        """Return a condition that holds here and tells two candidates apart, by a rule or by `avoid`."""
        causes = [self.space.when(rule) for rule, _ in self._preferences()]
        causes += [self.space.when(rule) for rule, _ in self._forces()]
        causes += [self.space.when(rule) for rule in self.rules if any(action.kind == "avoid" for action in rule.actions)]
        for candidate in (first, second):
            if candidate.avoid:
                causes.append(conjunction([self.space.frame.put(clause.term) for clause in candidate.avoid]))
        held = [cause for cause in causes if truth(cause, point.__getitem__) is True]
        others = [cause for cause in causes if truth(cause, point.__getitem__) is False]
        if not held and not others:
            return None
        return conjunction([*held, *(Apply(BOOL, "not", (cause,)) for cause in others)])
