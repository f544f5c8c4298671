"""TSR504 and TSR507: rules that never change a decision, and preferences that go round in a circle where conditions meet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from attrs import define, field

from tessera_rules.analyze.ask import Asker, Found
from tessera_rules.analyze.codes import DEAD_RULE, NOT_DECIDED
from tessera_rules.analyze.contest import Contest
from tessera_rules.analyze.space import Point, Space
from tessera_rules.analyze.witness import spelled, witness
from tessera_rules.check.preferences import CYCLE
from tessera_rules.compile.domain import UNDECIDED
from tessera_rules.compile.simplify import disjunction
from tessera_rules.diagnostic import Finding, Related
from tessera_rules.model.show import show
from tessera_rules.model.terms import Apply, Term
from tessera_rules.model.types import BOOL
from tessera_rules.model.values import Action, Rule, Ruleset

LONGEST_CYCLE = 4
MOST_CYCLES = 200


@define(eq=False)
class RuleQuestions:
    """What is found of all rules, over every op and target that each is about."""

    asker: Asker
    changes: dict[int, list[bool | None]] = field(factory=dict)

    def look(self, space: Space) -> None:
        """Ask of each rule whether it changes a decision of this space."""
        for rule in space.rules:
            verdicts = self.changes.setdefault(id(rule), [])
            if True not in verdicts:
                verdicts.append(self._changes(space, rule))

    def findings(self, ruleset: Ruleset) -> Iterator[Finding]:
        """Yield TSR504."""
        for rule in ruleset.rules:
            verdicts = self.changes.get(id(rule), [])
            if True in verdicts or not rule.actions:
                continue
            if None in verdicts:
                yield NOT_DECIDED.at(rule.name_span, f"whether rule {rule.name} ever changes a decision is not decided")
            else:
                where = "" if verdicts else ": nothing that it is about is declared"
                message = f"rule {rule.name} never changes a decision{where}: with it and without it every request has the same winner"
                yield DEAD_RULE.at(rule.name_span, message, hint="delete it, or correct its condition")

    def _changes(self, space: Space, rule: Rule) -> bool | None:
        """Whether a rule changes a decision; None where that is not decided."""
        contest = Contest(space, self.asker, without=rule)
        open_question = False
        for names, more, fails in self._ways(space, contest, rule):
            found = contest.wins(names, more, fails)
            if found is UNDECIDED:
                open_question = True
            elif isinstance(found, Mapping):
                if self._differs(space, contest, found):
                    return True
                open_question = True  # it could, and here it does not: another point may
        for refused in self._refused(space, contest, rule):
            if refused is UNDECIDED:
                open_question = True
            elif isinstance(refused, Mapping) and self._differs(space, contest, refused):
                return True
        return None if open_question else False

    def _ways(self, space: Space, contest: Contest, rule: Rule) -> Iterator[tuple[str, list[Term], list[Term]]]:
        """Yield who would have to win without the rule, and what has to hold, so that the rule can change something."""
        here = [candidate.name for candidate in space.candidates]
        when = space.when(rule)
        for action in rule.actions:
            about = [name for name in here if name in action.candidates]
            others = [name for name in here if name not in action.candidates]
            match action.kind:
                case "deny":
                    for name in about:
                        yield name, [], [Apply(BOOL, "not", (when,))]
                case "force":
                    if about:
                        for name in others:
                            yield name, [when], []
                case "avoid":
                    for name in about:
                        rivals = [contest.gates(other) for other in here if other != name]
                        if rivals:
                            yield name, [when, disjunction(rivals)], []
                case "prefer":
                    rivals = [contest.gates(name) for name in about]
                    if rivals:
                        for name in here:
                            if name in action.over:
                                yield name, [when, disjunction(rivals)], []

    def _refused(self, space: Space, contest: Contest, rule: Rule) -> Iterator[Found]:
        """Yield points where a force has nobody to force though its condition holds: an error where there was a decision.

        Requests that require a promise are left out: that nobody keeps it is no fault of the rule.
        """
        here = {candidate.name for candidate in space.candidates}
        forced = [action.candidates & here for action in rule.actions if action.kind == "force"]
        names = frozenset[str]().union(*forced) if forced else frozenset()
        if names:
            universe = {key: (False,) if key.startswith("require:") else values for key, values in space.names.wide.items()}
            yield self.asker.ask(space, [*space.legal, space.when(rule)], [contest.gates(name) for name in sorted(names)], universe=universe)

    def _differs(self, space: Space, contest: Contest, point: Point) -> bool:
        after = space.decide(point)
        before = space.decide(point, ruleset=contest.ruleset)
        return (None if after is None else after.tag) != (None if before is None else before.tag)

    # ---- cycles ----

    def cycles(self, space: Space) -> Iterator[Finding]:
        """Yield TSR507 for circles of preferences whose conditions differ and can hold together; lint has those under one condition."""
        seen: set[frozenset[int]] = set()
        for cycle in _circles(space):
            actions = [action for _, action, _, _ in cycle]
            key = frozenset(map(id, actions))
            conditions = {show(space.when(rule)) for rule, _, _, _ in cycle}
            if key in seen or len(conditions) == 1:
                continue
            members = [left for _, _, left, _ in cycle]
            holds = [*space.legal, *(space.when(rule) for rule, _, _, _ in cycle), *(space.admitted(name) for name in members)]
            found = self.asker.ask(space, holds, universe=space.names.narrow)
            last_rule, last = max(((rule, action) for rule, action, _, _ in cycle), key=lambda pair: (pair[1].span.source.name, pair[1].span.start))
            if found is UNDECIDED:
                seen.add(key)
                yield NOT_DECIDED.at(last.span, f"whether the preferences of rule {last_rule.name} can go round in a circle is not decided")
            if not isinstance(found, Mapping):
                continue
            seen.add(key)
            point = self.asker.least(space, found, holds, [], space.names.narrow)
            names = " over ".join([*members, members[0]])
            related = tuple(Related(action.span, f"rule {rule.name}") for rule, action, _, _ in cycle if action is not last)
            message = f"where their conditions hold together rules prefer {names}, and they cancel each other out: {spelled(space, point)}"
            yield CYCLE.at(
                last.span, message, related=related, hint="give the rules conditions that do not meet", witness=witness(space, point), severity="warning"
            )


Edge = tuple[Rule, Action, str, str]


def _circles(space: Space) -> Iterator[list[Edge]]:
    """Yield circles of `prefer` edges, short ones first, at most a stated number."""
    here = set(space.entrants)
    edges: list[Edge] = [
        (rule, action, left, right)
        for rule in space.rules
        for action in rule.actions
        if action.kind == "prefer"
        for left in sorted(action.candidates & here)
        for right in sorted(action.over & here)
    ]
    after: dict[str, list[Edge]] = {}
    for edge in edges:
        after.setdefault(edge[2], []).append(edge)
    count = 0
    paths: list[list[Edge]] = [[edge] for edge in edges]
    for _ in range(LONGEST_CYCLE - 1):
        longer: list[list[Edge]] = []
        for path in paths:
            for edge in after.get(path[-1][3], ()):
                if edge[3] == path[0][2]:
                    count += 1
                    if count > MOST_CYCLES:
                        return
                    yield [*path, edge]
                elif edge[3] not in {each[2] for each in path} and len(longer) < 5000:
                    longer.append([*path, edge])
        paths = longer
