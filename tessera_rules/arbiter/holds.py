"""For which requests the same decision holds: an expression over the request, sound, not necessarily the widest.

What keeps every candidate where it is, and every condition of the ranking as it is, is pinned. Then what does not matter is
let go again, one after the other, as long as the winner stays the same however it turns out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

from attrs import define, evolve, frozen

from tessera_rules.arbiter.decide import is_empty
from tessera_rules.arbiter.decision import Decision
from tessera_rules.arbiter.fates import Fate, fate, kept_terms, known_value, of_request, pin
from tessera_rules.arbiter.race import Entry
from tessera_rules.arbiter.rank import Ranking
from tessera_rules.arbiter.rank_rules import Condition, RankRules, Selection, rank_rules
from tessera_rules.arbiter.reasons import Open
from tessera_rules.arbiter.situation import Situation
from tessera_rules.arbiter.worlds import steady, surely_behind
from tessera_rules.compile.evaluate import UNKNOWN, ClauseError
from tessera_rules.compile.simplify import conjunction, simplify
from tessera_rules.machine.base import Machine
from tessera_rules.model.request import Request
from tessera_rules.model.show import show
from tessera_rules.model.terms import Apply, Const, Fact, Term, facts
from tessera_rules.model.types import BOOL, INT
from tessera_rules.model.values import Candidate, Ruleset

Variable = tuple[str, str]
"""``("candidate", name)``, ``("rule", name)`` or ``("avoid", candidate)``."""
FIXED = ("dtype", "attr", "given", "threads")
"""Kinds of facts that the expression fixes to what they are; sizes and layouts are what it speaks about."""
MAX_FREE = 7
"""Conditions that are let go together by looking at every way in which they can turn out, 128 worlds."""


def holds_for(
    ruleset: Ruleset,
    request: Request,
    machine: Machine,
    decision: Decision,
    *,
    force: str | None = None,
    assume_available: frozenset[str] | None = frozenset(),
    assume_unavailable: frozenset[str] = frozenset(),
) -> str | None:
    """Return an expression of the language under which the decision has the same winner; None where it is undecided.

    It speaks of requests of this op on this target and device, for the same machine, force, ``allow`` and ``require``, that
    the op takes at all. Pass what `decide` was passed.
    """
    term = holds_term(ruleset, request, machine, decision, force=force, assume_available=assume_available, assume_unavailable=assume_unavailable)
    return None if term is None else show(term)


def holds_term(
    ruleset: Ruleset,
    request: Request,
    machine: Machine,
    decision: Decision,
    *,
    force: str | None = None,
    assume_available: frozenset[str] | None = frozenset(),
    assume_unavailable: frozenset[str] = frozenset(),
) -> Term | None:
    """Return what `holds_for` prints, as a term."""
    if decision.tag == "undecided":
        return None
    situation = Situation(ruleset, request, machine, assume_available, assume_unavailable)
    terms = list(_size_terms(situation))
    if not is_empty(situation):
        found = _terms(situation, decision.winner, force)
        if found is None:
            return None
        terms += found
    return _fixed(situation, terms)


def _terms(situation: Situation, winner: str | None, force: str | None) -> list[Term] | None:
    """Return the terms that keep a winner where the result has elements; None where it cannot be told."""
    try:
        fates = {candidate.name: fate(situation, candidate) for candidate in situation.candidates}
    except Exception:  # a gate raised, which is a verdict, and nothing that terms can speak of
        return None
    if force == "reference":
        return []
    if force is not None:
        return list(fates[force].terms)
    if winner is not None:
        return _Holds(situation, winner, fates).terms()
    # Nobody: everybody stays out, and no rule comes to force one of them, which would be an error.
    found = [term for each in fates.values() for term in each.terms]
    for selection in rank_rules(situation, every=True).forces if "rules" in situation.ruleset.policy.order else ():
        found += kept_terms(selection.condition, situation.rule_lookup(selection.candidates))
    return found


def _size_terms(situation: Situation) -> Iterator[Term]:
    """Yield what keeps the result empty, or with elements."""
    op = situation.request.op
    shapes = [op.operands[result.inout].shape if result.inout is not None else result.shape for result in op.results]
    sizes = [situation.facts.sizes(shape) for shape in shapes]
    zero = Const(INT, 0)
    if is_empty(situation):
        for shape, row in zip(shapes, sizes, strict=True):
            yield Apply(BOOL, "eq", (shape[row.index(0)], zero))
        return
    for shape, row in zip(shapes, sizes, strict=True):
        if 0 not in row:
            # One result with elements is enough. A size that is not known has to be said to be some, too.
            for term in shape:
                dim = op.dims.get(term.key[4:]) if isinstance(term, Fact) and term.key.startswith("dim:") else None
                if not (isinstance(term, Const) or (dim is not None and dim.low > 0)):
                    yield Apply(BOOL, "gt", (term, zero))
            return


@frozen(eq=False)
class _Item:
    """Something that can be let go: a candidate, or a condition of the ranking, with the terms that keep it as it is.

    Without terms it is open in the request itself, and free from the start.
    """

    variable: Variable
    value: bool
    terms: tuple[Term, ...]


@define(eq=False)
class _Holds:
    """Works out the terms for one situation and the winner in it."""

    situation: Situation
    winner: str
    fates: Mapping[str, Fate]

    def terms(self) -> list[Term] | None:
        """Return the terms that keep the winner, or None where it cannot be told."""
        if self.fates[self.winner].state != "in":
            return None
        for cost_open in (True, False):
            found = self._let_go(cost_open)
            if found is not None:
                return found
        return None

    def _let_go(self, cost_open: bool) -> list[Term] | None:
        """Let go what does not matter; with ``cost_open`` every stated cost, else costs are pinned."""
        winner = self.winner
        able = [candidate for candidate in self.situation.candidates if self.fates[candidate.name].state != "never"]
        rules, items, pinned = self._conditions()
        ranking = _OpenRanking(self.situation, rules, {}, cost_open)
        entries = [Entry(each, None, () if each.name == winner else (_open("candidate", each.name),)) for each in able]
        steadies = steady(entries, ranking)
        racing = [entry.candidate for entry in entries if entry.candidate.name == winner or not surely_behind(entry.candidate, steadies, ranking)]
        names = frozenset(candidate.name for candidate in racing)
        items = [item for item in items if self._matters(item.variable, rules, names)]
        for candidate in reversed(racing):
            if candidate.name != winner:
                own = self.fates[candidate.name]
                items.append(_Item(("candidate", candidate.name), own.state == "in", own.terms))
        free = [item for item in items if not item.terms]
        kept = [item for item in items if item.terms]
        if len(free) > MAX_FREE or not self._stays(racing, ranking, free, kept):
            return None
        for item in list(kept):
            rest = [each for each in kept if each is not item]
            if len(free) < MAX_FREE and self._stays(racing, ranking, [*free, item], rest):
                free, kept = [*free, item], rest
        terms = [*self.fates[winner].terms, *pinned, *(term for item in kept for term in item.terms)]
        return terms if cost_open else terms + self._cost_pins(able)

    def _stays(self, racing: list[Candidate], ranking: Ranking, free: list[_Item], kept: list[_Item]) -> bool:
        """Whether the winner comes first however what is free turns out."""
        fixed = {item.variable: item.value for item in kept}
        variables = tuple(item.variable for item in free)
        for values in product((False, True), repeat=len(variables)):
            whole: dict[Variable, bool] = {**fixed, **dict(zip(variables, values, strict=True))}
            alive = [each for each in racing if each.name == self.winner or whole["candidate", each.name]]
            if ranking.standing(alive, {frozenset((variable,)): value for variable, value in whole.items()}).winner != self.winner:
                return False
        return True

    def _conditions(self) -> tuple[RankRules, list[_Item], list[Term]]:
        """Return the conditions of the ranking with each open that can be let go, these as items, and the terms that pin the others.

        What the winner itself is avoided by stays, so that the others can be compared with it.
        """
        situation, winner = self.situation, self.winner
        found = rank_rules(situation, every=True)
        stay = {each.rule.name for each in found.avoids if winner in each.candidates and each.condition.value is not None}
        items: dict[Variable, _Item] = {}
        pinned: dict[str, tuple[Term, ...]] = {}

        def opened(selection: Selection) -> Selection:
            rule, condition = selection.rule, selection.condition
            if rule.always:
                return selection
            terms = kept_terms(condition, situation.rule_lookup(selection.candidates | selection.over))
            if rule.name in stay:
                pinned[rule.name] = terms
                return selection
            items.setdefault(("rule", rule.name), _Item(("rule", rule.name), bool(condition.value), terms))
            return evolve(selection, condition=Condition(None, condition.clauses, (_open("rule", rule.name),)))

        prefers, avoids, forces = (tuple(map(opened, each)) for each in (found.preferences, found.avoids, found.forces))
        own: dict[str, Condition] = {}
        for name, condition in found.own_avoid.items():
            terms = kept_terms(condition, situation.lookup(situation.ruleset.candidates[name]))
            own[name] = condition
            if name == winner and condition.value is not None:
                pinned["avoid " + name] = terms
            else:
                own[name] = Condition(None, condition.clauses, (_open("avoid", name),))
                items["avoid", name] = _Item(("avoid", name), bool(condition.value), terms)
        return RankRules(prefers, avoids, forces, own), list(items.values()), [term for terms in pinned.values() for term in terms]

    @staticmethod
    def _matters(variable: Variable, rules: RankRules, names: frozenset[str]) -> bool:
        """Whether a condition can change the order of those named."""
        kind, name = variable
        if kind == "avoid":
            return name in names
        return (
            any(each.rule.name == name for each in rules.forces)
            or any(each.rule.name == name and each.candidates & names for each in rules.avoids)
            or any(each.rule.name == name and each.candidates & names and each.over & names for each in rules.preferences)
        )

    def _cost_pins(self, candidates: list[Candidate]) -> list[Term]:
        terms: dict[str, Term] = {}
        for candidate in candidates:
            lookup = self.situation.lookup(candidate)
            for fact in facts(candidate.cost) if candidate.cost is not None else ():
                if of_request(fact.key) and known_value(fact.key, lookup) is not UNKNOWN:
                    terms.setdefault(fact.key, pin(fact, lookup))
        return list(terms.values())


class _OpenRanking(Ranking):
    """A ranking in which a cost that is stated can be anything, while costs are not pinned."""

    def __init__(self, situation: Situation, rules: RankRules, costs: dict[str, Any], cost_open: bool) -> None:
        super().__init__(situation, rules, costs)
        self.cost_open = cost_open

    def cost(self, candidate: Candidate) -> Any:
        """Return `UNKNOWN` for a cost that may be another in the next request."""
        return UNKNOWN if self.cost_open and candidate.cost is not None else super().cost(candidate)


def _open(kind: str, name: str) -> Open:
    return Open("", (), "", None, (kind, name))


def _fixed(situation: Situation, terms: list[Term]) -> Term:
    """Return the terms as one. What is not a size or a layout is named once with its value, and put in its place elsewhere."""
    device = situation.device if situation.device is not None else {}

    def lookup(key: str) -> Any:
        kind = key.partition(":")[0]
        if kind == "device":
            return device.get(key[7:], UNKNOWN)
        return known_value(key, situation.facts) if kind in FIXED else UNKNOWN

    pins: dict[str, Term] = {}
    rest: list[Term] = []
    for term in terms:
        for fact in facts(term):
            if fact.key.partition(":")[0] in FIXED and lookup(fact.key) is not UNKNOWN:
                pins.setdefault(fact.key, pin(fact, lookup))
        try:
            rest.append(simplify(term, lookup))
        except ClauseError:
            rest.append(term)
    whole = conjunction([*pins.values(), *rest])
    parts = whole.args if isinstance(whole, Apply) and whole.op == "and" else (whole,)
    return conjunction(list({show(part): part for part in parts}.values()))
