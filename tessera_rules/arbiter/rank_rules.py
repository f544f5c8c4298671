"""The conditions that the ranking hangs on: what rules prefer, avoid and force, and what candidates avoid themselves."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping

from attrs import frozen

from tessera_rules.arbiter.facts import Lookup
from tessera_rules.arbiter.gates import applies, condition_of, open_clause
from tessera_rules.arbiter.reasons import Open
from tessera_rules.arbiter.situation import Situation
from tessera_rules.compile.evaluate import UNKNOWN, ClauseError, truth
from tessera_rules.model.values import Action, Candidate, Clause, Rule

World = Mapping[Hashable, bool]
"""One completion of what is open: each variable with the value that it is taken to have."""


@frozen(eq=False)
class Condition:
    """A condition that is true, false, or open (``value`` None). ``clauses`` are what was asked, ``open`` what is open of it."""

    value: bool | None
    clauses: tuple[Clause, ...] = ()
    open: tuple[Open, ...] = ()

    @property
    def variable(self) -> Hashable:
        """The variable of an open condition: equal for conditions that are open for the same reasons."""
        return frozenset(each.key for each in self.open)

    def within(self, world: World) -> bool:
        """Whether it holds in a world; one that the world says nothing of does not."""
        return world.get(self.variable, False) if self.value is None else self.value


ALWAYS = Condition(True)
NEVER = Condition(False)


@frozen(eq=False)
class Selection:
    """One action of a rule with its condition. ``candidates`` and ``over`` are those that are registered here."""

    rule: Rule
    action: Action
    candidates: frozenset[str]
    over: frozenset[str]
    condition: Condition


@frozen(eq=False)
class RankRules:
    """Everything but the candidates' own tier, cost and place that the ranking asks. Selections that never hold are left out."""

    preferences: tuple[Selection, ...]
    avoids: tuple[Selection, ...]
    forces: tuple[Selection, ...]
    own_avoid: Mapping[str, Condition]

    def conditions(self) -> Iterator[tuple[frozenset[str], Condition]]:
        """Yield each condition with the candidates that it is about."""
        for selection in (*self.preferences, *self.avoids, *self.forces):
            yield selection.candidates | selection.over, selection.condition
        for name, condition in self.own_avoid.items():
            yield frozenset((name,)), condition

    def avoided(self, name: str, world: World) -> Condition | Selection | None:
        """Return what a candidate is avoided by in a world: its own condition, or a rule's selection; None where it is not."""
        own = self.own_avoid.get(name, NEVER)
        if own.within(world):
            return own
        return next((each for each in self.avoids if name in each.candidates and each.condition.within(world)), None)


def rank_rules(situation: Situation, *, every: bool = False) -> RankRules:
    """Ask every condition that the ranking can hang on. One that is an error does not hold, and is reported.

    With ``every`` selections whose condition is false are among them.
    """
    registered = frozenset(candidate.name for candidate in situation.candidates)
    found: dict[str, list[Selection]] = {"prefer": [], "avoid": [], "force": []}
    for rule in situation.ruleset.rules:
        if not applies(rule, situation.request):
            continue
        condition: Condition | None = None
        for action in rule.actions:
            here = action.candidates & registered
            over = action.over & registered
            if action.kind == "deny" or not here or (action.kind == "prefer" and not over):
                continue
            if condition is None:
                names = frozenset[str]().union(*(each.candidates | each.over for each in rule.actions))
                condition = _rule_condition(situation, rule, names)
            if every or condition.value is not False:
                found[action.kind].append(Selection(rule, action, here, over, condition))
    own = {candidate.name: own_avoid(situation, candidate) for candidate in situation.candidates if candidate.avoid}
    return RankRules(tuple(found["prefer"]), tuple(found["avoid"]), tuple(found["force"]), own)


def _rule_condition(situation: Situation, rule: Rule, names: frozenset[str]) -> Condition:
    clause = condition_of(rule, situation.request)
    if clause is None:
        return ALWAYS
    lookup = situation.rule_lookup(names)
    found = truth(clause, lookup)
    if isinstance(found, ClauseError):
        kinds = sorted({action.kind for action in rule.actions if action.kind != "deny"})
        situation.note(f"rule {rule.name}: `{clause.text}` has no answer ({found.message}); its {' and '.join(kinds)} does not hold")
        return Condition(False, (clause,))
    if found is UNKNOWN:
        return Condition(None, (clause,), (open_clause(clause, lookup, situation.request),))
    return Condition(found is True, (clause,))


def own_avoid(situation: Situation, candidate: Candidate) -> Condition:
    """Ask a candidate's ``avoid`` block: its clauses joined by `and`; an error counts as false, and is reported."""
    lookup: Lookup = situation.lookup(candidate)
    open_parts: list[Open] = []
    for clause in candidate.avoid:
        found = truth(clause, lookup)
        if isinstance(found, ClauseError):
            situation.note(f"{candidate.name}: `{clause.text}` in its avoid has no answer ({found.message}), and counts as false")
            return Condition(False, candidate.avoid)
        if found is False:
            return Condition(False, candidate.avoid)
        if found is UNKNOWN:
            open_parts.append(open_clause(clause, lookup, situation.request))
    return Condition(None if open_parts else True, candidate.avoid, tuple(open_parts))
