"""Deciding: who is in the race, who comes first, and a verdict for everybody."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NoReturn

from attrs import define

from tessera_rules.arbiter import reasons
from tessera_rules.arbiter.decision import Decision, Residual, Verdict
from tessera_rules.arbiter.race import Entry, race
from tessera_rules.arbiter.rank import Loss, Ranking, Standing
from tessera_rules.arbiter.rank_rules import World, rank_rules
from tessera_rules.arbiter.situation import Measured, Proved, Situation
from tessera_rules.arbiter.undecided import outranked, own_residual, undecided, undecided_verdict
from tessera_rules.arbiter.worlds import Outlook, alive, outlook, variable_of
from tessera_rules.errors import ArbiterError, UsageError
from tessera_rules.machine.base import Machine
from tessera_rules.model.request import Request
from tessera_rules.model.values import Candidate, Ruleset
from tessera_rules.nearest import did_you_mean

REFERENCE = "reference"


def decide(
    ruleset: Ruleset,
    request: Request,
    machine: Machine,
    *,
    force: str | None = None,
    assume_available: frozenset[str] | None = frozenset(),
    assume_unavailable: frozenset[str] = frozenset(),
    proofs: Mapping[str, Proved] | None = None,
    measured: Measured | None = None,
) -> Decision:
    """Return the decision on a request: the winner or the reference, with a verdict for every candidate that is registered.

    ``force`` names a candidate (or ``reference``) and replaces the rules' forces. ``assume_available`` is None for all.
    ``proofs`` is what the oracle knows, None where it is not asked; ``measured`` is the evidence about speed.
    Raises `ArbiterError` where a forced candidate is not in the race, where rules force apart, and where nobody is left and
    the policy makes that an error; `OperandError` for a device that is not there; `UsageError` for a name that nobody has.
    """
    for name in sorted((assume_available or frozenset()) | assume_unavailable):
        check_known(ruleset, name, "assumed")
    if force is not None and force != REFERENCE:
        check_registered(ruleset, request, force)
    situation = Situation(ruleset, request, machine, assume_available, assume_unavailable, proofs, measured)
    return decide_situation(situation, force)


def decide_situation(situation: Situation, force: str | None = None) -> Decision:
    """Decide a situation that is put together already."""
    entries = race(situation)
    decider = _Decider(situation, entries, Ranking(situation, rank_rules(situation)))
    if is_empty(situation):
        return decider.empty(force)
    if force is not None:
        return decider.forced(force)
    return decider.open_race()


def is_empty(situation: Situation) -> bool:
    """Whether no result has an element: in each some size is known to be 0."""
    results = situation.request.op.results
    shapes = [situation.facts.shape(result.name or "out") if result.inout is None else situation.facts.shape(result.inout) for result in results]
    return bool(shapes) and all(0 in shape for shape in shapes)


def check_known(ruleset: Ruleset, name: str, what: str) -> Candidate:
    """Return a candidate by name. Raises `UsageError` with the nearest name."""
    candidate = ruleset.candidates.get(name)
    if candidate is None:
        raise UsageError(f"there is no candidate '{name}' to be {what}", hint=did_you_mean(name, ruleset.candidates, "candidate"))
    return candidate


def check_registered(ruleset: Ruleset, request: Request, name: str) -> None:
    """Raise where a forced name is no candidate of the request's op and target."""
    here = [candidate.name for candidate in ruleset.for_op(request.op.name, request.target)]
    if name in here:
        return
    if name not in ruleset.candidates:
        raise UsageError(
            f"there is no candidate '{name}' to be forced", hint=did_you_mean(name, [*here, REFERENCE] if here else ruleset.candidates, "candidate")
        )
    other = ruleset.candidates[name]
    raise ArbiterError(
        f"'{name}' is forced, and is a candidate of {other.op} on {other.target}, not of {request.op.name} on {request.target}; {_who(here)}",
        candidate=name,
        span=other.name_span,
    )


def _who(names: list[str]) -> str:
    return f"registered here: {', '.join(names)}" if names else "nobody is registered here"


@define(eq=False)
class _Decider:
    """Turns a race into a decision."""

    situation: Situation
    entries: tuple[Entry, ...]
    ranking: Ranking

    def empty(self, force: str | None) -> Decision:
        """A result without elements: the reference answers, whoever was forced."""
        if force is not None:
            self.situation.note(f"force={force} is ignored: the result has no elements")
        loss = Loss("empty", (), "the result has no elements, and the reference answers at once")
        return self._decision(None, REFERENCE, "empty", self._behind_reference(loss))

    def _behind_reference(self, loss: Loss) -> list[Verdict]:
        return [entry.verdict or reasons.outranked(entry.candidate, REFERENCE, loss.criterion, loss.detail) for entry in self.entries]

    def forced(self, force: str) -> Decision:
        """The caller's force: that candidate or an error."""
        for selection in self.ranking.rules.forces:
            self.situation.note(f"rule {selection.rule.name}: its force is replaced by the caller's force={force}")
        loss = Loss("force", (), "the caller forces it")
        if force == REFERENCE:
            self.situation.note("force=reference: the reference runs")
            return self._decision(None, REFERENCE, "force", self._behind_reference(loss))
        entry = next(entry for entry in self.entries if entry.candidate.name == force)
        if entry.verdict is not None:
            self._refuse_force(f"'{force}' is forced", [entry])
        verdicts = [each.verdict or reasons.outranked(each.candidate, force, "force", loss.detail) for each in self.entries if each is not entry]
        if entry.state == "maybe":
            self.situation.note(f"force={force}: whether it can serve is open")
            residual = own_residual(entry)
            verdicts.append(undecided_verdict(entry, residual))
            return self._decision(None, "undecided", "undecided", verdicts, residual)
        self.situation.note(f"force={force}: it is in the race, and selected")
        verdicts.append(reasons.selected(entry.candidate, "force"))
        return self._decision(force, force, "force", verdicts, ranking=(force,))

    def _refuse_force(self, what: str, entries: list[Entry]) -> NoReturn:
        """Raise for a force whose candidates are not in the race, with the clause of the first of them."""
        verdicts = [entry.verdict for entry in entries if entry.verdict is not None]
        first = verdicts[0]
        said = "; ".join(f"{each.candidate} is {each.verdict}: {each.reason}" + (f" ({each.because})" if each.because else "") for each in verdicts)
        place = f" [{first.span.source.name}:{first.span.line}]" if first.span else ""
        here = _who([entry.candidate.name for entry in self.entries])
        raise ArbiterError(f"{what}, and {said}{place}; {here}", candidate=first.candidate, clause=first.clause, values=first.values, span=first.span)

    def open_race(self) -> Decision:
        """No force of the caller's: the race as it is."""
        view = outlook(self.entries, self.ranking)
        if view.always_refused and view.refused_force is not None:
            self._refuse_rules(view.refused_force)
        self._note_forces()
        if view.winner is not None:
            return self._won(view.winner)
        if not view.possible and view.refused_force is None:
            return self._nobody()
        return self._open(view)

    def _note_forces(self) -> None:
        for selection in self.ranking.rules.forces:
            names = ", ".join(sorted(selection.candidates))
            if "rules" not in self.ranking.order:
                self.situation.note(f"rule {selection.rule.name} forces {names}: not asked, the policy's order leaves `rules` out")
            elif selection.condition.value is None:
                self.situation.note(f"rule {selection.rule.name} forces {names}: whether it holds is open")
            else:
                self.situation.note(f"rule {selection.rule.name} forces {names}")

    def _refuse_rules(self, standing: Standing) -> NoReturn:
        if standing.apart:
            one, two = standing.forced_out
            said = [f"{each.rule.name} forces {', '.join(sorted(each.candidates))}" for each in (one, two)]
            raise ArbiterError(
                f"two rules force apart: {said[0]}, and {said[1]}",
                candidate=min(one.candidates),
                clause=one.condition.clauses[0].text if one.condition.clauses else None,
                span=two.rule.name_span,
            )
        names = frozenset[str]().union(*(each.candidates for each in standing.forced_out))
        rules = ", ".join(dict.fromkeys(each.rule.name for each in standing.forced_out))
        out = [entry for entry in self.entries if entry.candidate.name in names and entry.verdict is not None]
        self._refuse_force(f"rule {rules} forces {', '.join(sorted(names))}", out)

    def _nobody(self) -> Decision:
        if self.situation.ruleset.policy.on_none == "error":
            request = self.situation.request
            said = "; ".join(f"{entry.candidate.name}: {entry.verdict.reason}" for entry in self.entries if entry.verdict is not None)
            first = next((entry.verdict for entry in self.entries if entry.verdict is not None), None)
            raise ArbiterError(
                f"nobody serves {request.op.name} on {request.target}, and the policy makes that an error; " + (said or "nobody is registered"),
                candidate=first.candidate if first else None,
                clause=first.clause if first else None,
                values=first.values if first else None,
                span=first.span if first else None,
            )
        return self._decision(None, REFERENCE, "none", [entry.verdict for entry in self.entries if entry.verdict is not None])

    def _fullest(self) -> World:
        """The world in which everybody who may race does, and no open condition of the ranking holds."""
        return {variable_of(entry): True for entry in self.entries if entry.state == "maybe"}

    def _won(self, winner: str) -> Decision:
        world = self._fullest()
        racing = alive(self.entries, world)
        standing = self.ranking.standing(racing, world)
        verdicts: list[Verdict] = []
        for entry in self.entries:
            if entry.verdict is not None:
                verdicts.append(entry.verdict)
            elif entry.candidate.name == winner:
                verdicts.append(reasons.selected(entry.candidate, standing.criterion))
            else:
                verdicts.append(outranked(entry, standing, winner, self.situation))
        sure = [entry.candidate for entry in self.entries if entry.state == "in"]
        return self._decision(winner, winner, standing.criterion, verdicts, ranking=self._ranked(sure))

    def _ranked(self, sure: list[Candidate]) -> tuple[str, ...]:
        forces = [each for each in self.ranking.rules.forces if each.condition.value] if "rules" in self.ranking.order else []
        if forces:
            names = frozenset[str]().union(*(each.candidates for each in forces))
            sure = [candidate for candidate in sure if candidate.name in names]
        return self.ranking.ranked(sure, {})

    def _open(self, view: Outlook) -> Decision:
        """What is not known decides: those who can come first are undecided, the others are behind somebody."""
        verdicts, residual = undecided(self.entries, self.ranking, view)
        return self._decision(None, "undecided", "undecided", verdicts, residual)

    def _decision(
        self, winner: str | None, tag: str, criterion: str, verdicts: list[Verdict], residual: list[Residual] | None = None, ranking: tuple[str, ...] = ()
    ) -> Decision:
        place = {entry.candidate.name: index for index, entry in enumerate(self.entries)}
        ordered = sorted(verdicts, key=lambda each: place[each.candidate])
        proofs = self.situation.proofs
        if proofs is not None:
            from attrs import evolve

            ordered = [evolve(each, proof=proofs[each.candidate].proof) if each.candidate in proofs else each for each in ordered]
        return Decision(self.situation.request, winner, tag, criterion, tuple(ordered), tuple(residual or ()), ranking, tuple(self.situation.notes))
