"""TSR501 and TSR502: clauses that never hold, and clauses that hold wherever the others do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from attrs import define, field

from tessera_rules.analyze.ask import Asker
from tessera_rules.analyze.codes import IMPLIED, NEVER_TRUE, NOT_DECIDED
from tessera_rules.analyze.gates import Gate
from tessera_rules.analyze.space import Space
from tessera_rules.compile.domain import UNDECIDED
from tessera_rules.compile.simplify import conjunction
from tessera_rules.diagnostic import Finding, Related
from tessera_rules.model.terms import Term
from tessera_rules.model.values import Candidate, Clause
from tessera_rules.source import Span


@define(eq=False)
class ClauseQuestions:
    """What is found of the clauses of all candidates. A clause of a family stands in the file once, and every member has to agree."""

    asker: Asker
    never: dict[Span, list[bool | None]] = field(factory=dict)
    implied: dict[Span, list[bool | None]] = field(factory=dict)
    clauses: dict[Span, tuple[Candidate, Clause]] = field(factory=dict)
    because: dict[Span, tuple[Related, ...]] = field(factory=dict)
    whole: list[Finding] = field(factory=list)
    dead: set[str] = field(factory=set)
    """Candidates that no request can satisfy."""
    doubtful: set[str] = field(factory=set)
    """Candidates of which that is not decided, and said."""
    alone: list[tuple[Candidate, Clause]] = field(factory=list)
    """Clauses that are never true, each with its candidate: in a family one member's may be."""

    def look(self, space: Space) -> None:
        """Ask about every candidate of a space."""
        for candidate in space.candidates:
            self._candidate(space, candidate)

    def _candidate(self, space: Space, candidate: Candidate) -> None:
        gates = [gate for gate in space.entrants[candidate.name] if gate.kind != "deny"]
        written = [gate for gate in gates if gate.kind in ("requires", "available") and gate.clause is not None]
        never = doubtful = False
        for gate in written:
            verdict = self.asker.never(space, [*space.legal, gate.term])
            self._note(self.never, candidate, gate.clause, verdict)
            doubtful = doubtful or verdict is None
            if verdict and gate.clause is not None:
                never = True
                self.alone.append((candidate, gate.clause))
        whole = True if never else self.asker.never(space, [*space.legal, *(gate.term for gate in gates)])
        if whole:
            self.dead.add(candidate.name)
        if whole and not never:
            self._whole(space, candidate, gates)
        elif whole is None:
            self.doubtful.add(candidate.name)
        if whole is None and not doubtful:
            self.whole.append(NOT_DECIDED.at(candidate.name_span, f"whether the conditions of {candidate.name} can hold together is not decided"))
        if whole is False:
            self._implied(space, candidate, written)
            self._avoid(space, candidate)

    def _whole(self, space: Space, candidate: Candidate, gates: Sequence[Gate]) -> None:
        """Say which conditions exclude each other: a set of which none can be left out."""
        core = list(gates)
        for gate in reversed(gates):
            fewer = [each for each in core if each is not gate]
            if self.asker.never(space, [*space.legal, *(each.term for each in fewer)]):
                core = fewer
        texts = " and ".join(f"`{gate.text}`" for gate in core)
        own = [gate.clause for gate in core if gate.clause is not None]
        related = tuple(Related(clause.span, "this condition is one of them") for clause in own)
        how = "never hold together" if len(core) > 1 else "never holds"
        message = f"no legal request can satisfy {candidate.name}: {texts} {how}"
        self.whole.append(NEVER_TRUE.at(candidate.name_span, message, related=related, hint="correct one of them"))

    def _avoid(self, space: Space, candidate: Candidate) -> None:
        admitted = space.admitted(candidate.name)
        for clause in candidate.avoid:
            self._note(self.never, candidate, clause, self.asker.never(space, [*space.legal, admitted, space.frame.put(clause.term)]))

    def _implied(self, space: Space, candidate: Candidate, written: Sequence[Gate]) -> None:
        left = list(written)
        for gate in reversed(written):
            others = [each for each in left if each is not gate]
            assert gate.clause is not None
            verdict = self._follows(space, [each.term for each in others], gate.term)
            self._note(self.implied, candidate, gate.clause, verdict)
            if verdict:
                left = others
                self.because.setdefault(gate.clause.span, self._causes(space, others, gate))

    def _causes(self, space: Space, others: Sequence[Gate], gate: Gate) -> tuple[Related, ...]:
        core = list(others)
        for each in others:
            fewer = [other for other in core if other is not each]
            if self._follows(space, [other.term for other in fewer], gate.term):
                core = fewer
        return tuple(Related(each.clause.span, f"`{each.clause.text}` implies it") for each in core if each.clause is not None)

    def _follows(self, space: Space, holds: Sequence[Term], term: Term) -> bool | None:
        """Whether a clause is true wherever others are, for any sizes and dtypes at all: what only the op's own bounds say is no repetition."""
        if not holds:
            return False
        universe = {key: values for key, values in space.names.wide.items() if not key.startswith("dim:") and key != "dtype"}
        found = self.asker.ask(space, holds, [conjunction([term])], universe=universe)
        if found is None and any(key in space.names.sampled for each in (*holds, term) for key in _read(each)):
            return None
        return None if found is UNDECIDED else found is None

    def _note(self, where: dict[Span, list[bool | None]], candidate: Candidate, clause: Clause | None, verdict: bool | None) -> None:
        assert clause is not None
        where.setdefault(clause.span, []).append(verdict)
        self.clauses.setdefault(clause.span, (candidate, clause))

    def findings(self, members: Mapping[Span, int]) -> Iterator[Finding]:
        """Yield the findings. ``members`` says how many candidates have the clause of each place."""
        yield from self.whole
        for span, verdicts in self.never.items():
            candidate, clause = self.clauses[span]
            name = _name(candidate, members.get(span, 1))
            if all(verdicts):
                what = "avoid" if clause.code == "avoid" else clause.code
                yield NEVER_TRUE.at(span, f"`{clause.text}` in {what} of {name} is never true for a legal request", hint="correct it, or delete it")
            elif None in verdicts and not any(verdict is False for verdict in verdicts):
                yield NOT_DECIDED.at(span, f"whether `{clause.text}` of {name} can be true is not decided")
        for candidate, clause in self.alone:
            if not all(self.never[clause.span]):
                message = f"no legal request can satisfy {candidate.name}: `{clause.text}` is never true for this member of the family"
                yield NEVER_TRUE.at(candidate.name_span, message, related=(Related(clause.span, "this condition"),), hint="correct it, or leave the member out")
        for span, verdicts in self.implied.items():
            candidate, clause = self.clauses[span]
            name = _name(candidate, members.get(span, 1))
            if all(verdicts) and len(verdicts) == members.get(span, 1):
                related = self.because.get(span, ())
                by = " and ".join(f"`{each.message.removesuffix(' implies it').strip('`')}`" for each in related)
                yield IMPLIED.at(span, f"`{clause.text}` of {name} is implied by {by or 'nothing'}", related=related, hint="delete it, or write what was meant")
            elif None in verdicts and not any(verdict is False for verdict in verdicts):
                yield NOT_DECIDED.at(span, f"whether `{clause.text}` of {name} follows from its other clauses is not decided")


def _name(candidate: Candidate, members: int) -> str:
    return candidate.name if members == 1 else f"{candidate.name} and {members - 1} more of its family"


def _read(term: Term) -> frozenset[str]:
    from tessera_rules.model.terms import reads

    return reads(term)
