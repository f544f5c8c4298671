"""What is said where something is open: who is undecided and what would decide, and who is behind whatever it turns out."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import define

from tessera_rules.arbiter import reasons
from tessera_rules.arbiter.decision import Residual, Verdict
from tessera_rules.arbiter.gates import open_condition
from tessera_rules.arbiter.race import Entry
from tessera_rules.arbiter.rank import Ranking, Standing, by_rule
from tessera_rules.arbiter.rank_rules import World
from tessera_rules.arbiter.situation import Situation
from tessera_rules.arbiter.worlds import Outlook, alive, variable_of
from tessera_rules.compile.evaluate import UNKNOWN, clause_values
from tessera_rules.model.show import show
from tessera_rules.model.values import Candidate


def undecided(entries: Sequence[Entry], ranking: Ranking, view: Outlook) -> tuple[list[Verdict], list[Residual]]:
    """Return a verdict for everybody, and the conditions that decide."""
    open_rank = _OpenRank(entries, ranking, view)
    verdicts: list[Verdict] = []
    residual: list[Residual] = []
    for entry in entries:
        if entry.verdict is not None:
            verdicts.append(entry.verdict)
        elif entry.candidate.name in view.possible:
            own = [*own_residual(entry), *open_rank.residual(entry)]
            residual += own
            verdicts.append(undecided_verdict(entry, own))
        else:
            verdicts.append(open_rank.behind(entry))
    if view.refused_force is not None:
        residual += open_rank.refused_forces()
    return verdicts, residual


def own_residual(entry: Entry) -> list[Residual]:
    """Return the open conditions of a candidate's own gates."""
    return [Residual(entry.candidate.name, each.condition, each.needs, each.span) for each in entry.open]


def undecided_verdict(entry: Entry, residual: Sequence[Residual]) -> Verdict:
    """Return the verdict of a candidate of which these conditions are open; its clause is the first of its own."""
    needs = list(dict.fromkeys(need for each in residual for need in each.needs))
    return reasons.undecided(entry.candidate, [each.condition for each in residual], needs, entry.open[0] if entry.open else None)


def outranked(entry: Entry, standing: Standing, winner: str, situation: Situation) -> Verdict:
    """Return the verdict of a candidate that fell behind in a standing."""
    loss = standing.loss(entry.candidate)
    if loss is None:  # in some world a cost that is open puts it behind, in this one it is level
        return reasons.outranked(entry.candidate, winner, standing.criterion, reasons.CRITERION_TEXT[standing.criterion])
    by = winner if winner in loss.ahead or not loss.ahead else loss.ahead[0]
    values = {}
    if loss.clause is not None:
        values = clause_values(loss.clause, situation.lookup(entry.candidate))
    return reasons.outranked(entry.candidate, by, loss.criterion, loss.detail, clause=loss.clause, values=values, because=loss.because, rule=loss.rule)


@define(eq=False)
class _OpenRank:
    """Words what is open about the rank."""

    entries: Sequence[Entry]
    ranking: Ranking
    view: Outlook

    def behind(self, entry: Entry) -> Verdict:
        """Word the verdict of a candidate that comes first in no world: behind whoever is first where only it races of those undecided."""
        world: World = {variable_of(entry): True} if entry.state == "maybe" else {}
        racing = alive(self.entries, world)
        standing = self.ranking.standing(racing, world)
        if standing.forced_out:
            loss = by_rule("rules", tuple(sorted(standing.forced_out[0].candidates)), "rule {} forces another", standing.forced_out[0])
            return reasons.outranked(entry.candidate, loss.ahead[0], "rules", loss.detail, clause=loss.clause, because=loss.because, rule=loss.rule)
        first = next(name for name in (candidate.name for candidate in racing) if name in standing.possible)
        return outranked(entry, standing, first, self.ranking.situation)

    def residual(self, entry: Entry) -> list[Residual]:
        """What is open about a candidate's rank: who is ahead of it where that one races, the conditions of rules and `avoid`, its cost."""
        found = [*self._ahead(entry), *self._rules(entry.candidate.name), *self._cost(entry.candidate)]
        if not found and not entry.open:
            # It hangs on somebody who comes first in no world, and pushes others aside by being there.
            pushing = frozenset[str]().union(*(each.candidates for each in self.ranking.rules.preferences))
            found = [
                self._about(entry, other, "races, which changes who is first, where")
                for other in self.entries
                if other.state == "maybe" and other.candidate.name in pushing
            ]
        return found

    def _ahead(self, entry: Entry) -> list[Residual]:
        """Who is ahead of a sound candidate. One with open conditions of its own has those to tell."""
        if entry.state != "in":
            return []
        others = [other for other in self.entries if other.state == "maybe" and self._before(other, entry)]
        pushed = [other for other in others if other.candidate.name in self.view.possible or self._pushes(other, entry)]
        return [self._about(entry, other, "is ahead where") for other in pushed]

    def _about(self, entry: Entry, other: Entry, what: str) -> Residual:
        needs = tuple(dict.fromkeys(need for part in other.open for need in part.needs))
        conditions = " and ".join(part.condition for part in other.open)
        said = f"{other.candidate.name} {what} {conditions}"
        return Residual(entry.candidate.name, said, needs, other.open[0].span)

    def _pushes(self, one: Entry, two: Entry) -> bool:
        """Whether a rule prefers one over two, or may."""
        return any(one.candidate.name in each.candidates and two.candidate.name in each.over for each in self.ranking.rules.preferences)

    def _before(self, one: Entry, two: Entry) -> bool:
        """Whether one comes first where only these two race."""
        pair = sorted((one.candidate, two.candidate), key=lambda candidate: candidate.order)
        return self.ranking.standing(pair, {}).winner == one.candidate.name

    def _rules(self, name: str) -> list[Residual]:
        rules = self.ranking.rules
        found: list[Residual] = []
        for kind, selections in (("prefers", rules.preferences), ("avoids", rules.avoids), ("forces", rules.forces)):
            for each in selections:
                if name in each.candidates | each.over or kind == "forces":
                    what = ", ".join(sorted(each.candidates)) + (f" over {', '.join(sorted(each.over))}" if each.over else "")
                    said = f"rule {each.rule.name} {kind} {what} where"
                    found += [Residual(name, f"{said} {part.condition}", part.needs, part.span) for part in each.condition.open]
        own = rules.own_avoid.get(name)
        if own is not None:
            found += [Residual(name, f"it is avoided where {part.condition}", part.needs, part.span) for part in own.open]
        return found

    def _cost(self, candidate: Candidate) -> list[Residual]:
        if candidate.cost is None or not self._cost_counts(candidate) or self.ranking.cost(candidate) is not UNKNOWN:
            return []
        situation = self.ranking.situation
        part = open_condition(candidate.cost, show(candidate.cost), candidate.name_span, situation.lookup(candidate), situation.request)
        return [Residual(candidate.name, f"its cost, {part.condition}, against the others'", part.needs, part.span)]

    def _cost_counts(self, candidate: Candidate) -> bool:
        """Whether a candidate's cost can come to be compared with that of somebody else who can win."""
        order = self.ranking.order
        if "cost" not in order:
            return False
        tier_first = "tier" in order[: order.index("cost")]
        others = [entry.candidate for entry in self.entries if entry.candidate.name in self.view.possible and entry.candidate is not candidate]
        return any(not tier_first or other.tier == candidate.tier for other in others)

    def refused_forces(self) -> list[Residual]:
        """Open conditions of forces whose candidates are all out."""
        racing = frozenset(entry.candidate.name for entry in self.entries if entry.state != "out")
        return [
            Residual(min(each.candidates), f"rule {each.rule.name} forces it: {part.condition}", part.needs, part.span)
            for each in self.ranking.rules.forces
            if not each.candidates & racing
            for part in each.condition.open
        ]
