"""One op on one target: its universe, who can serve what, and what the arbiter says of a point."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from attrs import evolve, field, frozen

from tessera_rules.analyze.gates import Frame, Gate, about, condition, gates_of, legal
from tessera_rules.analyze.names import Names, names_of
from tessera_rules.analyze.probes import Answers, Probes, answered_by, counting_true, left_open
from tessera_rules.arbiter.decide import decide_situation
from tessera_rules.arbiter.decision import Decision
from tessera_rules.arbiter.situation import Situation
from tessera_rules.compile.domain import Values
from tessera_rules.compile.evaluate import truth
from tessera_rules.compile.simplify import conjunction
from tessera_rules.errors import ArbiterError
from tessera_rules.machine.base import Machine
from tessera_rules.model.request import Request
from tessera_rules.model.terms import Term, reads
from tessera_rules.model.values import REQUIRED, Candidate, Clause, Op, Rule, Ruleset, StatedLayout

Point = Mapping[str, Any]
"""A value for every name of the universe."""
LAYOUT = ("align:", "stride:", "contiguous:", "broadcast:", "max_offset:")


@frozen(eq=False)
class Space:
    """The requests of an op on a target, and their machines.

    ``entrants`` holds every candidate's gates; ``prepared`` is the ruleset whose probes are put as ``probes`` says, for the arbiter.
    """

    ruleset: Ruleset
    op: Op
    target: str
    frame: Frame
    names: Names
    legal: tuple[Term, ...]
    entrants: Mapping[str, tuple[Gate, ...]]
    prepared: Ruleset
    _admitted: dict[tuple[str, bool], Term] = field(factory=dict, init=False)

    @property
    def candidates(self) -> tuple[Candidate, ...]:
        """Everybody who is registered, in declaration order."""
        return self.ruleset.for_op(self.op.name, self.target)

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules that are about this op and target."""
        return tuple(rule for rule in self.ruleset.rules if about(rule, self.frame))

    def when(self, rule: Rule) -> Term:
        """Return a rule's condition."""
        return condition(rule, self.frame)

    def admitted(self, name: str, *, assumed: bool = False) -> Term:
        """Return the condition that a candidate races; ``assumed``: its ``available`` counts as true."""
        key = name, assumed
        if key not in self._admitted:
            self._admitted[key] = conjunction([gate.term for gate in self.entrants[name] if not (assumed and gate.kind == "available")])
        return self._admitted[key]

    def exact(self, name: str) -> bool:
        """Whether the gates of a candidate say all there is."""
        return all(gate.exact for gate in self.entrants[name])

    def request(self, point: Point) -> Request:
        """Return the request of a point."""
        op = self.op
        layouts = {
            operand.name: StatedLayout(dtype=point[f"dtype:{operand.name}"])
            for operand in op.operands.values()
            if f"dtype:{operand.name}" in point and (not operand.optional or point[f"given:{operand.name}"])
        }
        given = frozenset(operand.name for operand in op.operands.values() if operand.optional and point[f"given:{operand.name}"])
        dims = {name: point[f"dim:{name}"] for name in op.dims}
        attrs = {name: point[f"attr:{name}"] for name in op.attrs}
        threads = point.get("threads", self.frame.threads)
        allow, require = (
            frozenset(key.removeprefix(f"{word}:") for key in point if key.startswith(f"{word}:") and point[key]) for word in ("allow", "require")
        )
        return Request(op, self.target, point["dtype"], dims, attrs, given, layouts, threads, allow, require)

    def facts(self, point: Point) -> dict[str, Any]:
        """Return the device facts of a point."""
        return {key.removeprefix("device:"): value for key, value in point.items() if key.startswith("device:")}

    def machine(self, point: Point) -> Answers:
        """Return the machine of a point."""
        return Answers(self.target, self.facts(point), point, self.frame.threads)

    def decide(self, point: Point, *, assumed: bool = False, ruleset: Ruleset | None = None) -> Decision | None:
        """Return what the arbiter says of a point, None where that is an error of the rules (a force that is refused)."""
        situation = Situation(ruleset or self.prepared, self.request(point), self.machine(point), None if assumed else frozenset())
        if not self.frame.plain:
            situation.facts.known.update({key: value for key, value in point.items() if key.startswith(LAYOUT)})
        try:
            return decide_situation(situation)
        except ArbiterError:
            return None

    def stated(self, point: Point) -> Decision | None:
        """Return what the arbiter says of a point's request as a witness states it: plain layouts, one thread, nothing allowed or required."""
        request = evolve(self.request(point), threads=self.frame.threads, allow=frozenset(), require=frozenset())
        try:
            return decide_situation(Situation(self.prepared, request, self.machine(point)))
        except ArbiterError:
            return None

    def holds(self, term: Term, point: Point) -> bool:
        """Whether a condition is true at a point."""
        return truth(term, point.__getitem__) is True

    def terms(self) -> list[Term]:
        """Return every condition of this op and target."""
        return _terms(self.frame, self.entrants, self.candidates)


def _terms(frame: Frame, entrants: Mapping[str, Sequence[Gate]], candidates: Sequence[Candidate]) -> list[Term]:
    found = [*legal(frame), *(gate.term for gates in entrants.values() for gate in gates)]
    found += [condition(rule, frame) for rule in frame.ruleset.rules if about(rule, frame)]
    for candidate in candidates:
        found += [frame.put(clause.term) for clause in candidate.avoid]
        if candidate.cost is not None:
            found.append(frame.put(candidate.cost))
    return found


def spaces(ruleset: Ruleset, machine: Machine | None, *, plain: bool) -> list[Space]:
    """Return a space for each op and target that has a candidate.

    ``plain`` spaces are for what is shown by a request: plain layouts, probes that count as true. The others are for proofs: layouts and
    probes are open. A machine answers its probes itself, and only its devices are looked at.
    """
    probes: Probes = answered_by(machine) if machine is not None else counting_true if plain else left_open
    prepared = _with_probes(ruleset, probes)
    threads = 1 if machine is None else machine.threads
    found: list[Space] = []
    for op_name, target_name in sorted(ruleset.registered):
        op, target = ruleset.ops.get(op_name), ruleset.targets.get(target_name)
        if op is None or target is None or not ruleset.for_op(op_name, target_name) or not op.results:
            continue
        devices = None
        if machine is not None:
            devices = machine.devices(target)
            if not devices:
                continue
        frame = Frame(ruleset, op, target_name, probes, plain, threads)
        candidates = ruleset.for_op(op_name, target_name)
        entrants = {candidate.name: gates_of(frame, candidate) for candidate in candidates}
        terms = _terms(frame, entrants, candidates)
        names = names_of(op, target, terms)
        if devices is not None:
            names = _of_machine(names, devices[0])
            if any(key.startswith("device:") and key not in names.wide for term in terms for key in reads(term)):
                continue  # a fact that is missing makes errors, and no universe
        found.append(Space(ruleset, op, target_name, frame, names, tuple(legal(frame)), entrants, prepared))
    return found


def _of_machine(names: Names, facts: Mapping[str, Any]) -> Names:
    """Return a universe in which the device has the facts that it has."""
    fixed: dict[str, Values] = {f"device:{name}": (value,) for name, value in facts.items()}
    wide = {key: values for key, values in names.wide.items() if not key.startswith("device:")} | fixed
    narrow = {key: values for key, values in names.narrow.items() if not key.startswith("device:")} | fixed
    return Names(wide, narrow, names.sampled - set(fixed))


def _with_probes(ruleset: Ruleset, probes: Probes) -> Ruleset:
    """Return the rules as the arbiter is asked: each clause of ``available`` with its probes put."""

    def put(candidate: Candidate) -> Candidate:
        def clause(each: Clause) -> Clause:
            return evolve(each, term=probes(each.term, candidate))

        return evolve(candidate, available=tuple(map(clause, candidate.available)))

    candidates = {name: put(candidate) for name, candidate in ruleset.candidates.items()}
    registered = {pair: tuple(candidates[each.name] for each in listed) for pair, listed in ruleset.registered.items()}
    return evolve(ruleset, candidates=candidates, registered=registered, untrusted=frozenset())


def has_values(space: Space) -> bool:
    """Whether every attribute can be stated: one without a default and without values cannot."""
    return all(attr.default is not REQUIRED or space.names.narrow[f"attr:{attr.name}"] for attr in space.op.attrs.values())
