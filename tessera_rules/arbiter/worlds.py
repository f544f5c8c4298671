"""What is open, completed in every way: who can win, who cannot. Exact while little is open, careful beyond."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from itertools import product

from attrs import frozen

from tessera_rules.arbiter.race import Entry
from tessera_rules.arbiter.rank import TIER_RANK, Ranking, Standing, forced_names
from tessera_rules.arbiter.rank_rules import RankRules, World
from tessera_rules.compile.evaluate import UNKNOWN
from tessera_rules.model.values import Candidate

MAX_VARIABLES = 10
"""Open conditions that are completed in every way, 1,024 worlds; with more of them only what holds in each by itself is said."""
MAX_WORK = 20_000
"""Candidates times worlds that are looked at, some 20 ms; beyond it as with too many open conditions."""


def variable_of(entry: Entry) -> Hashable:
    """Return the variable that says whether an undecided candidate races; equal where the same conditions are open."""
    return frozenset(each.key for each in entry.open)


def alive(entries: Sequence[Entry], world: World) -> list[Candidate]:
    """Return who races in a world. Those that the world says nothing of do not."""
    return [entry.candidate for entry in entries if entry.state == "in" or (entry.state == "maybe" and world.get(variable_of(entry), False))]


@frozen(eq=False)
class Outlook:
    """Who can come first over all worlds.

    ``exact`` is false where there were too many to look at each. ``nobody``: in some world nobody races. ``refused_force``:
    in some world (``always``: in each) a rule forces who is out. ``behind``: those that cannot come first, and why.
    """

    possible: frozenset[str]
    exact: bool
    nobody: bool = False
    refused_force: Standing | None = None
    always_refused: bool = False

    @property
    def winner(self) -> str | None:
        """Who comes first in every world, or None."""
        sure = len(self.possible) == 1 and not self.nobody and self.refused_force is None
        return next(iter(self.possible)) if sure else None


def outlook(entries: Sequence[Entry], ranking: Ranking) -> Outlook:
    """Look at every completion of what is open."""
    racing = [entry for entry in entries if entry.state != "out"]
    rules = ranking.rules
    forces = rules.forces if "rules" in ranking.order else ()
    sure_forces = [each for each in forces if each.condition.value]
    if sure_forces:
        # With everybody racing who may, and no other force: where nobody can run here, nobody can in any world.
        most = ranking.standing([entry.candidate for entry in racing], {})
        if most.forced_out:
            return Outlook(frozenset(), True, False, most, True)
        allowed, _ = forced_names(sure_forces)
        racing = [entry for entry in racing if entry.candidate.name in allowed]
    open_forces = [each.condition for each in forces if each.condition.value is None]
    if not any(condition.value is None for _, condition in rules.conditions()) and all(entry.state == "in" for entry in racing):
        only = ranking.standing([entry.candidate for entry in racing], {})
        return Outlook(only.possible, True, not only.possible)
    steadies = steady(racing, ranking)
    clear = [entry for entry in racing if not surely_behind(entry.candidate, steadies, ranking)]
    names = frozenset(entry.candidate.name for entry in clear)
    variables: dict[Hashable, None] = {variable_of(entry): None for entry in clear if entry.state == "maybe"}
    variables.update(dict.fromkeys(condition.variable for condition in open_forces))
    variables.update(dict.fromkeys(condition.variable for about, condition in rules.conditions() if condition.value is None and about & names))
    if len(variables) > MAX_VARIABLES or len(clear) << len(variables) > MAX_WORK:
        # An open force may turn out refused, and is not looked into here: no winner is named then.
        return Outlook(names, exact=False, nobody=bool(open_forces) or all(entry.state == "maybe" for entry in clear))
    possible: frozenset[str] = frozenset()
    nobody = False
    refusals: list[Standing] = []
    count = 0
    for world in worlds(tuple(variables)):
        count += 1
        standing = ranking.standing(alive(clear, world), world)
        possible |= standing.possible
        if standing.forced_out:
            refusals.append(standing)
        elif not standing.possible:
            nobody = True
    return Outlook(possible, True, nobody, refusals[0] if refusals else None, len(refusals) == count)


def worlds(variables: tuple[Hashable, ...]) -> Iterator[World]:
    """Yield every completion of open conditions."""
    for values in product((False, True), repeat=len(variables)):
        yield dict(zip(variables, values, strict=True))


def steady(racing: Sequence[Entry], ranking: Ranking) -> list[Candidate]:
    """Return those who surely race, and whom no rule can push aside: others can be measured against them one by one.

    Nobody is, where a force is open or measurements can speak.
    """
    rules = ranking.rules
    if any(each.condition.value is None for each in rules.forces) or ranking.situation.measured is not None:
        return []
    pushed = frozenset[str]().union(*(each.over for each in rules.preferences))
    return [entry.candidate for entry in racing if entry.state == "in" and entry.candidate.name not in pushed]


def surely_behind(candidate: Candidate, steadies: Sequence[Candidate], ranking: Ranking) -> bool:
    """Whether one of the steady is ahead in every world, and the candidate lifts nobody over others by being there."""
    if any(candidate.name in each.candidates | each.over for each in ranking.rules.preferences):
        return False
    return any(other is not candidate and _ahead(other, candidate, ranking) for other in steadies)


def _ahead(one: Candidate, two: Candidate, ranking: Ranking) -> bool:
    """Whether one comes before two on the criteria that look at each by itself, whatever open conditions turn out to be."""
    for word in ranking.order:
        match word:
            case "avoid":
                worst, best = _avoid_bound(one.name, ranking.rules, True), _avoid_bound(two.name, ranking.rules, False)
                if worst != best:
                    return worst < best
                if _avoid_bound(one.name, ranking.rules, False) != worst or _avoid_bound(two.name, ranking.rules, True) != best:
                    # Level at worst, ahead otherwise: what follows decides the worst case, and must be on one's side too.
                    continue
            case "tier":
                if one.tier != two.tier:
                    return TIER_RANK[one.tier] < TIER_RANK[two.tier]
            case "cost":
                mine, other = ranking.cost(one), ranking.cost(two)
                if mine is UNKNOWN or other is UNKNOWN:
                    return False
                if mine != other:
                    return bool(mine < other)
            case "declaration":
                return one.order < two.order
    return False


def _avoid_bound(name: str, rules: RankRules, worst: bool) -> bool:
    """Return whether a candidate is avoided where what is open turns out for the worse, or for the better."""
    conditions = [rules.own_avoid[name]] if name in rules.own_avoid else []
    conditions += [each.condition for each in rules.avoids if name in each.candidates]
    return any(worst if condition.value is None else condition.value for condition in conditions)
