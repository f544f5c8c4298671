"""What checks look at, beside sources and nodes: a whole load, conditions with what is around them, candidates and rules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property

from attrs import define, field, frozen

from tessera_rules.model import values
from tessera_rules.model.load import Loaded
from tessera_rules.model.terms import Apply, Term
from tessera_rules.source import Source, Span
from tessera_rules.syntax import nodes


@define(eq=False, slots=False)
class Load:
    """A load as checks see it: the files that were named, and what all files mean together."""

    loaded: Loaded
    named: tuple[nodes.File, ...]

    @property
    def ruleset(self) -> values.Ruleset:
        """What the load means."""
        return self.loaded.ruleset

    @property
    def files(self) -> tuple[nodes.File, ...]:
        """Every file, those that are only used included."""
        return self.loaded.files

    @cached_property
    def words(self) -> Mapping[Source, Mapping[str, int]]:
        """How often each word stands in each file, outside of comments."""
        from tessera_rules.check.words import count_words

        return {file.source: count_words(file) for file in self.loaded.files}


@frozen(eq=False)
class Where:
    """Where a node stands: its file, the declaration and the field around it, and the load."""

    load: Load
    file: nodes.File
    declaration: nodes.Declaration | nodes.Predicate | None = None
    field: nodes.Field | None = None

    @property
    def op(self) -> values.Op | None:
        """The op that the declaration around is, or is about, where it can be told from the text alone."""
        found = self.declaration
        if not isinstance(found, nodes.Declaration):
            return None
        if found.kind == "op":
            return self.load.ruleset.ops.get(found.name.text)
        for item in found.fields:
            if isinstance(item, nodes.NameField) and item.keyword == "op":
                return self.load.ruleset.ops.get(item.value.text)
        return None


@define(eq=False, slots=False)
class Condition:
    """One built clause. ``place`` is ``requires available avoid guard check when``; ``before`` are clauses that hold by then."""

    clause: values.Clause
    place: str
    op: values.Op | None
    candidate: values.Candidate | None
    before: tuple[Term, ...] = ()

    @cached_property
    def applications(self) -> tuple[Apply, ...]:
        """Every operator of the clause once, the outermost first."""
        found: list[Apply] = []
        stack: list[Term] = [self.clause.term]
        seen: set[int] = set()
        while stack:
            each = stack.pop()
            if isinstance(each, Apply) and id(each) not in seen:
                seen.add(id(each))
                found.append(each)
                stack.extend(reversed(each.args))
        return tuple(found)


@frozen(eq=False)
class Quantity:
    """One built expression that is no condition: ``cost``, ``workspace``, ``atol``, ``rtol``, an argument, a shape."""

    term: Term
    place: str
    span: Span
    op: values.Op | None
    candidate: values.Candidate | None
    before: tuple[Term, ...] = ()


@frozen(eq=False)
class Member:
    """A candidate (of a family one member)."""

    candidate: values.Candidate
    op: values.Op | None
    named: bool = field(default=True)


def conditions(ruleset: values.Ruleset) -> Iterator[Condition | Quantity]:
    """Yield everything that was built from an expression, in load order."""
    for op in ruleset.ops.values():
        yield from _of_op(op)
    for candidate in ruleset.candidates.values():
        yield from _of_candidate(candidate, ruleset.ops.get(candidate.op))
    for rule in ruleset.rules:
        for (op_name, _target), clause in rule.conditions.items():
            op_of = ruleset.ops.get(op_name)
            yield Condition(clause, "when", op_of, None, checks_of(op_of))


def checks_of(op: values.Op | None) -> tuple[Term, ...]:
    """Return what holds of every request of an op."""
    return () if op is None else tuple(clause.term for clause in op.checks)


def _of_op(op: values.Op) -> Iterator[Condition | Quantity]:
    known: list[Term] = []
    for clause in op.checks:
        yield Condition(clause, "check", op, None, tuple(known))
        known.append(clause.term)
    for operand in op.operands.values():
        for size in operand.shape:
            yield Quantity(size, "a shape", operand.span, op, None)
    for result in op.results:
        if result.inout is None:
            for size in result.shape:
                yield Quantity(size, "a shape", result.span, op, None)


def _of_candidate(candidate: values.Candidate, op: values.Op | None) -> Iterator[Condition | Quantity]:
    known = list(checks_of(op))
    for clause in candidate.requires:
        yield Condition(clause, "requires", op, candidate, tuple(known))
        known.append(clause.term)
    held = tuple(known)
    for clause in candidate.available:
        yield Condition(clause, "available", op, candidate)
    for clause in candidate.avoid:
        yield Condition(clause, "avoid", op, candidate, held)
    for clause in candidate.guard.clauses if candidate.guard else ():
        yield Condition(clause, "guard", op, candidate, held)
    if candidate.cost is not None:
        yield Quantity(candidate.cost, "cost", candidate.name_span, op, candidate, held)
    if candidate.workspace is not None:
        yield Quantity(candidate.workspace, "workspace", candidate.name_span, op, candidate, held)
    if candidate.accuracy is not None:
        for place, term in (("atol", candidate.accuracy.atol), ("rtol", candidate.accuracy.rtol)):
            if term is not None:
                yield Quantity(term, place, candidate.accuracy.span, op, candidate, held)
    for uses in candidate.uses:
        for term in (*uses.dims.values(), *uses.attrs.values()):
            yield Quantity(term, "uses", uses.span, op, candidate, held)
    if isinstance(candidate.bind, values.NativeBinding):
        for argument in candidate.bind.arguments:
            if argument.value is not None:
                yield Quantity(argument.value, "a native argument", argument.span, op, candidate, held)
        launch = candidate.bind.launch
        for term in (*launch.grid, *launch.block, *((launch.shared,) if launch.shared else ())) if launch else ():
            yield Quantity(term, "a launch", candidate.bind.span, op, candidate, held)
