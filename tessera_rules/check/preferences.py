"""Preferences that go round in a circle under one condition."""

from __future__ import annotations

from collections.abc import Iterator

from tessera_rules.check.registry import Mark, check
from tessera_rules.check.subjects import Load
from tessera_rules.diagnostic import Code, Related
from tessera_rules.model.show import show
from tessera_rules.model.values import Action, Rule, Ruleset

CYCLE = Code(
    "TSR507",
    "preferences that go round in a circle",
    "Under one and the same condition rules prefer A over B and, by way of others or directly, B over A. Whenever the condition holds they cancel "
    "each other out, and the candidates tie.\n\n"
    "Delete the preference that is wrong, or give the rules conditions that do not hold together.",
)


@check(CYCLE, Load)
def preference_cycle(load: Load, _load: Load) -> Iterator[Mark]:
    """A cycle of `prefer` edges of one op and target whose rules have the same `when`."""
    for edges in _edges(load.ruleset).values():
        reported: set[int] = set()
        for cycle in _cycles(edges):
            actions = sorted(
                {id(action): (rule, action) for rule, action, _, _ in cycle}.values(), key=lambda pair: (pair[1].span.source.name, pair[1].span.start)
            )
            last = actions[-1][1]
            if id(last) in reported:
                continue
            reported.add(id(last))
            names = " over ".join([*(left for _, _, left, _ in cycle), cycle[0][2]])
            related = tuple(Related(action.span, f"rule '{rule.name}'") for rule, action in actions[:-1])
            yield Mark(last.span, f"under the same condition {names}", related=related, hint="delete one, or give the rules conditions that differ")


Edge = tuple[Rule, Action, str, str]


def _edges(ruleset: Ruleset) -> dict[tuple[str, str, str], list[tuple[Rule, Action]]]:
    """Return the `prefer` actions by op, target and condition."""
    found: dict[tuple[str, str, str], list[tuple[Rule, Action]]] = {}
    for rule in ruleset.rules:
        for action in rule.actions:
            if action.kind != "prefer":
                continue
            known = (ruleset.candidates[name] for name in action.candidates | action.over if name in ruleset.candidates)
            for pair in sorted({(each.op, each.target) for each in known}):
                clause = rule.conditions.get(pair)
                if clause is None and not rule.always:
                    continue
                found.setdefault((*pair, "" if clause is None else show(clause.term)), []).append((rule, action))
    return found


def _cycles(actions: list[tuple[Rule, Action]]) -> Iterator[list[Edge]]:
    """Yield a cycle for each action that closes one with those before it; each found by a search for the shortest way back."""
    after: dict[str, list[tuple[Rule, Action]]] = {}
    for rule, action in actions:
        for name in sorted(action.candidates):
            after.setdefault(name, []).append((rule, action))
        way = _way(action.over, action.candidates, after)
        if way is not None:
            start = way[0][2] if way else next(iter(sorted(action.over)))
            end = way[-1][3]
            yield [(rule, action, end, start), *way]


def _way(starts: frozenset[str], ends: frozenset[str], after: dict[str, list[tuple[Rule, Action]]]) -> list[Edge] | None:
    """Return the shortest chain of preferences from one of ``starts`` to one of ``ends``."""
    came: dict[str, Edge | None] = dict.fromkeys(sorted(starts))
    queue = list(came)
    used: set[int] = set()
    for here in queue:
        for rule, action in after.get(here, ()):
            if id(action) in used:
                continue
            used.add(id(action))
            for name in sorted(action.over):
                if name in came:
                    continue
                came[name] = (rule, action, here, name)
                if name in ends:
                    return _unwind(name, came)
                queue.append(name)
    return None


def _unwind(name: str, came: dict[str, Edge | None]) -> list[Edge]:
    way: list[Edge] = []
    step = came[name]
    while step is not None:
        way.append(step)
        step = came[step[2]]
    return way[::-1]
