"""The ranking: each criterion keeps the best of those left, and the next decides among ties."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from attrs import define, field, frozen

from tessera_rules.arbiter.rank_rules import RankRules, Selection, World
from tessera_rules.arbiter.situation import Situation
from tessera_rules.compile.evaluate import UNKNOWN, ClauseError, evaluate
from tessera_rules.model.values import TIERS, Candidate, Clause

TIER_RANK = {tier: len(TIERS) - index for index, tier in enumerate(TIERS)}
"""Smaller is better: hand_tuned before emitted before synthesized."""
NO_COST = math.inf
"""A candidate that states no cost, or whose cost has no answer: behind those that state one, level with its like."""


@frozen(eq=False)
class Loss:
    """How a candidate fell behind: on which criterion, behind whom it could be said to be, in words, and by which clause."""

    criterion: str
    ahead: tuple[str, ...]
    detail: str
    clause: Clause | None = None
    because: str | None = None
    rule: str | None = None


Drop = tuple[frozenset[str], Callable[[Candidate], Loss]]
"""One criterion's work: who stayed, and how to word it for one that did not."""


@frozen(eq=False)
class Standing:
    """The ranking in one world.

    ``possible`` are those that can come first: one, but for costs that are open. ``forced_out`` are forces whose candidates
    are not in the race, or that drive apart. ``losses`` tells of everybody else, worded only when it is asked for.
    """

    possible: frozenset[str]
    criterion: str
    losses: list[Drop]
    forced_out: tuple[Selection, ...] = ()
    apart: bool = False

    def loss(self, candidate: Candidate) -> Loss | None:
        """Return how a candidate that raced fell behind, None where it did not."""
        return next((word(candidate) for stays, word in self.losses if candidate.name not in stays), None)

    @property
    def winner(self) -> str | None:
        """Who comes first, where that is one."""
        return next(iter(self.possible)) if len(self.possible) == 1 else None


@define(eq=False)
class Ranking:
    """Ranks candidates of one situation, in as many worlds as there are to look at."""

    situation: Situation
    rules: RankRules
    _costs: dict[str, Any] = field(factory=dict)

    @property
    def order(self) -> tuple[str, ...]:
        """The policy's criteria."""
        return self.situation.ruleset.policy.order

    def standing(self, alive: Sequence[Candidate], world: World) -> Standing:
        """Rank those who are in the race in a world; ``alive`` in declaration order."""
        losses: list[Drop] = []
        left = list(alive)
        criterion = "only" if len(left) == 1 else "none" if not left else ""
        if "rules" in self.order:
            forces = [each for each in self.rules.forces if each.condition.within(world)]
            if forces:
                forced, clash = forced_names(forces)
                if clash:
                    return Standing(frozenset(), "none", losses, clash, apart=True)
                kept = [candidate for candidate in left if candidate.name in forced]
                if not kept:
                    return Standing(frozenset(), "none", losses, tuple(forces))
                names = tuple(candidate.name for candidate in kept)
                _drop(left, kept, losses, lambda _: by_rule("rules", names, f"rule {{}} forces {' or '.join(names)}", forces[0]))
                if len(kept) < len(left):
                    criterion = "rules"
                left = kept
        live = frozenset(candidate.name for candidate in alive)
        for index, word in enumerate(self.order):
            if len(left) <= 1:
                break
            if word == "cost":
                unknown = [candidate for candidate in left if self.cost(candidate) is UNKNOWN]
                if unknown:
                    return self._open_cost(left, unknown, losses, world, live, index)
            kept = CRITERIA_KEEP[word](self, left, losses, world, live)
            if len(kept) < len(left):
                criterion = word
            left = kept
        return Standing(frozenset(candidate.name for candidate in left), criterion, losses)

    def _open_cost(self, left: list[Candidate], unknown: list[Candidate], losses: list[Drop], world: World, live: frozenset[str], index: int) -> Standing:
        """Anybody whose cost is open may come first, and besides them the best of those whose cost is known."""
        known = [candidate for candidate in left if self.cost(candidate) is not UNKNOWN]
        for word in self.order[index:]:
            if len(known) <= 1:
                break
            known = CRITERIA_KEEP[word](self, known, losses, world, live)
        return Standing(frozenset(candidate.name for candidate in (*unknown, *known)), "cost", losses)

    def cost(self, candidate: Candidate) -> Any:
        """Return a candidate's cost in seconds, `NO_COST`, or `UNKNOWN`; an error counts as no cost, and is reported."""
        if candidate.name not in self._costs:
            self._costs[candidate.name] = self._cost(candidate)
        return self._costs[candidate.name]

    def _cost(self, candidate: Candidate) -> Any:
        if candidate.cost is None:
            return NO_COST
        try:
            value = evaluate(candidate.cost, self.situation.lookup(candidate))
        except ClauseError as problem:
            self.situation.note(f"{candidate.name}: its cost has no answer ({problem.message}), and counts as none")
            return NO_COST
        if value is UNKNOWN:
            return UNKNOWN
        return value if not isinstance(value, float) or math.isfinite(value) else NO_COST

    def ranked(self, alive: Sequence[Candidate], world: World) -> tuple[str, ...]:
        """Return who would run, then who would run if that one could not, and so on."""
        if self._sortable(alive, world):
            return tuple(candidate.name for candidate in sorted(alive, key=lambda candidate: self._key(candidate, world)))
        left = list(alive)
        names: list[str] = []
        while left:
            winner = self.standing(left, world).winner
            if winner is None:
                break
            names.append(winner)
            left = [candidate for candidate in left if candidate.name != winner]
        return tuple(names)

    def _sortable(self, alive: Sequence[Candidate], world: World) -> bool:
        """Whether each candidate's place hangs on itself alone."""
        asked = self.rules.preferences if "rules" in self.order else ()
        costs = "cost" in self.order and any(self.cost(candidate) is UNKNOWN for candidate in alive)
        return not costs and self.situation.measured is None and not any(each.condition.within(world) for each in asked)

    def _key(self, candidate: Candidate, world: World) -> tuple[Any, ...]:
        """Return what a candidate is sorted by, in the policy's order: the smaller the better."""
        keys: dict[str, Callable[[], Any]] = {
            "avoid": lambda: self.rules.avoided(candidate.name, world) is not None,
            "tier": lambda: TIER_RANK[candidate.tier],
            "cost": lambda: self.cost(candidate),
            "declaration": lambda: candidate.order,
        }
        return tuple(keys[word]() for word in self.order if word in keys)

    # ---- criteria: each returns who stays, and tells of the others how they fell behind ----

    def _rules(self, left: list[Candidate], losses: list[Drop], world: World, _live: frozenset[str]) -> list[Candidate]:
        active = [each for each in self.rules.preferences if each.condition.within(world)]
        if not active:
            return left
        names = [candidate.name for candidate in left]
        ahead = preferred_ahead(names, active)
        kept = [candidate for candidate in left if not ahead[candidate.name]]
        stays = {candidate.name for candidate in kept}

        def loss(candidate: Candidate) -> Loss:
            by = sorted(ahead[candidate.name] & stays, key=names.index)
            direct = [(other, each) for other in by for each in active if other in each.candidates and candidate.name in each.over]
            if direct:
                by = [*dict.fromkeys(other for other, _ in direct), *(other for other in by if all(other != name for name, _ in direct))]
                return by_rule("rules", tuple(by), "rule {} prefers it", direct[0][1])
            return Loss("rules", tuple(by), "rules prefer it, by way of others")

        return _drop(left, kept, losses, loss)

    def _measured(self, left: list[Candidate], losses: list[Drop], _world: World, live: frozenset[str]) -> list[Candidate]:
        if self.situation.measured is None:
            return left
        stays = self.situation.measured.keep(live, frozenset(candidate.name for candidate in left))
        kept = [candidate for candidate in left if candidate.name in stays] or left
        return _drop(left, kept, losses, lambda _: Loss("measured", _names(kept), "it was measured faster, and separated"))

    def _avoid(self, left: list[Candidate], losses: list[Drop], world: World, _live: frozenset[str]) -> list[Candidate]:
        avoided = {candidate.name: found for candidate in left if (found := self.rules.avoided(candidate.name, world)) is not None}
        kept = [candidate for candidate in left if candidate.name not in avoided] or left

        def loss(candidate: Candidate) -> Loss:
            found = avoided[candidate.name]
            if isinstance(found, Selection):
                return by_rule("avoid", _names(kept), "rule {} avoids this one", found)
            because = next((each.because for each in found.clauses if each.because), None)
            where = " and ".join(f"`{each.text}`" for each in found.clauses)
            return Loss("avoid", _names(kept), f"this one is known to be slower where {where}{_why(because)}", found.clauses[0], because)

        return _drop(left, kept, losses, loss)

    def _tier(self, left: list[Candidate], losses: list[Drop], _world: World, _live: frozenset[str]) -> list[Candidate]:
        best = min(TIER_RANK[candidate.tier] for candidate in left)
        kept = [candidate for candidate in left if TIER_RANK[candidate.tier] == best]
        return _drop(left, kept, losses, lambda candidate: Loss("tier", _names(kept), f"{kept[0].tier} comes before {candidate.tier}"))

    def _cost_criterion(self, left: list[Candidate], losses: list[Drop], _world: World, _live: frozenset[str]) -> list[Candidate]:
        best = min(self.cost(candidate) for candidate in left)
        kept = [candidate for candidate in left if self.cost(candidate) == best]

        def loss(candidate: Candidate) -> Loss:
            own = self.cost(candidate)
            than = "this one states none" if own == NO_COST else f"this one's {own:.6g} s"
            return Loss("cost", _names(kept), f"it states {best:.6g} s, {than}")

        return _drop(left, kept, losses, loss)

    def _declaration(self, left: list[Candidate], losses: list[Drop], _world: World, _live: frozenset[str]) -> list[Candidate]:
        first = min(left, key=lambda candidate: candidate.order)
        return _drop(left, [first], losses, lambda _: Loss("declaration", (first.name,), "nothing else tells them apart, and it is declared first"))


Keep = Callable[[Ranking, list[Candidate], list[Drop], World, frozenset[str]], list[Candidate]]
CRITERIA_KEEP: dict[str, Keep] = {
    "rules": Ranking._rules,
    "measured": Ranking._measured,
    "avoid": Ranking._avoid,
    "tier": Ranking._tier,
    "cost": Ranking._cost_criterion,
    "declaration": Ranking._declaration,
}


def _names(candidates: Sequence[Candidate]) -> tuple[str, ...]:
    return tuple(candidate.name for candidate in candidates)


def by_rule(criterion: str, ahead: tuple[str, ...], what: str, selection: Selection) -> Loss:
    """Return how a rule puts a candidate behind: by which rule, where, and why."""
    rule, clauses = selection.rule, selection.condition.clauses
    where = f" where `{clauses[0].text}`" if clauses else ""
    return Loss(criterion, ahead, f"{what.format(rule.name)}{where}{_why(rule.because)}", clauses[0] if clauses else None, rule.because, rule.name)


def _why(because: str | None) -> str:
    return f" ({because})" if because else ""


def _drop(left: list[Candidate], kept: list[Candidate], losses: list[Drop], loss: Callable[[Candidate], Loss]) -> list[Candidate]:
    if len(kept) < len(left):
        losses.append((frozenset(candidate.name for candidate in kept), loss))
    return kept


def forced_names(forces: Sequence[Selection]) -> tuple[frozenset[str], tuple[Selection, ...]]:
    """Return whom all forcing rules allow, and two selections that force apart where there are such. One rule's forces add up."""
    by_rule: dict[str, tuple[frozenset[str], Selection]] = {}
    for each in forces:
        names, first = by_rule.get(each.rule.name, (frozenset(), each))
        by_rule[each.rule.name] = (names | each.candidates, first)
    rows = list(by_rule.values())
    allowed, first = rows[0]
    for names, selection in rows[1:]:
        if not allowed & names:
            return frozenset(), (first, selection)
        allowed &= names
    return allowed, ()


def preferred_ahead(names: Sequence[str], preferences: Sequence[Selection]) -> dict[str, frozenset[str]]:
    """Return for each candidate who is preferred over it, directly or by way of others, and not the other way round.

    Whoever nobody is ahead of stays. The members of a cycle are ahead of each other, so that none of them is.
    """
    present = set(names)
    before: dict[str, set[str]] = {name: set() for name in names}
    for each in preferences:
        for over in each.over & present:
            before[over] |= (each.candidates & present) - {over}
    reached = {name: _reach(name, before) for name in names}
    return {name: frozenset(other for other in reached[name] if name not in reached[other]) for name in names}


def _reach(name: str, before: dict[str, set[str]]) -> set[str]:
    found: set[str] = set()
    stack = list(before[name])
    while stack:
        current = stack.pop()
        if current not in found:
            found.add(current)
            stack.extend(before[current])
    return found
