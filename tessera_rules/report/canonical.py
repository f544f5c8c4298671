"""The canonical JSON of a load: everything that its files mean, each expression as text and as a tree.

Equal meaning gives equal text: keys are sorted, lists are in declaration order, what is absent is left out. Every
object that stands for a declaration or one of its parts has a ``kind`` that says which, and where it can be pointed at,
``file``, ``line`` and ``column``. ``docs/schema/rules.schema.json`` is its schema.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from attrs import frozen

from tessera_rules.model.patterns import Matcher
from tessera_rules.model.show import show
from tessera_rules.model.terms import Apply, Const, Fact, Term
from tessera_rules.model.types import Type
from tessera_rules.model.values import (
    Action,
    Attr,
    Binding,
    Candidate,
    Clause,
    Dim,
    Expectation,
    NativeArgument,
    NativeBinding,
    Op,
    Operand,
    Pack,
    Policy,
    PythonBinding,
    Result,
    Rule,
    Ruleset,
    StatedLayout,
    Target,
    Test,
    TestRequest,
    Uses,
)
from tessera_rules.report.document import plain, position
from tessera_rules.source import Span

FORMAT = 1
"""The version of this format; it grows by new optional fields, and by one where an old reader would be misled."""


@frozen(eq=False)
class Canonical:
    """A canonical document and the place of each of its objects that has one, by JSON path."""

    document: dict[str, Any]
    places: Mapping[tuple[str | int, ...], Span]

    def place(self, path: Iterable[str | int]) -> Span | None:
        """Return the place of the innermost object on a path that has one."""
        steps = tuple(path)
        for end in range(len(steps), -1, -1):
            if steps[:end] in self.places:
                return self.places[steps[:end]]
        return None


def canonical(ruleset: Ruleset) -> Canonical:
    """Return the canonical JSON of a ruleset with the places of its objects."""
    writer = _Writer()
    document = _present(
        kind="rules",
        format=FORMAT,
        digest=ruleset.digest,
        files=[source.name for source in ruleset.sources],
        ops=[writer.op(op) for op in ruleset.ops.values()],
        targets=[writer.target(target) for target in ruleset.targets.values()],
        candidates=[writer.candidate(candidate) for candidate in ruleset.candidates.values()],
        rules=[writer.rule(rule) for rule in ruleset.rules],
        policy=_policy(ruleset.policy),
        tests=[writer.test(test) for test in ruleset.tests],
    )
    for name in ("ops", "targets", "candidates", "rules", "tests"):
        document.setdefault(name, [])
    return Canonical(document, dict(_paths(document, writer.spans)))


def tree(term: Term) -> dict[str, Any]:
    """Return a resolved expression as a tree of ``const``, ``fact`` and ``apply``.

    >>> from tessera_rules.model.types import BOOL, INT
    >>> tree(Apply(BOOL, "le", (Fact(INT, "dim:M", "M"), Const(INT, 64))))["args"][0]
    {'kind': 'fact', 'type': 'int', 'key': 'dim:M', 'text': 'M'}
    """
    if isinstance(term, Const):
        if isinstance(term.value, Matcher):
            return {"kind": "const", "type": "pattern", "value": term.value.text}
        return _present(kind="const", type=term.type.describe(), loop=term.name) | {"value": plain(term.value)}
    if isinstance(term, Fact):
        return {"kind": "fact", "type": term.type.describe(), "key": term.key, "text": term.shown}
    assert isinstance(term, Apply)
    return {"kind": "apply", "type": term.type.describe(), "op": term.op, "args": [tree(arg) for arg in term.args]}


def expression(term: Term) -> dict[str, Any]:
    """Return an expression as text of the language and as a tree."""
    return {"kind": "expression", "text": show(term), "tree": tree(term)}


def _present(**fields: Any) -> dict[str, Any]:
    """Return the fields that say something: null, false and what is empty are left out."""
    return {name: value for name, value in fields.items() if value is not None and value is not False and value not in ("", [], {}, ())}


def _policy(policy: Policy) -> dict[str, Any]:
    return {
        "kind": "policy",
        "order": list(policy.order),
        "on_decline": policy.on_decline,
        "on_none": policy.on_none,
        "verify": policy.verify,
        **_present(require=sorted(policy.require), workspace_bytes=policy.workspace_bytes),
    }


def _paths(document: Any, spans: Mapping[int, Span]) -> Iterable[tuple[tuple[str | int, ...], Span]]:
    stack: list[tuple[tuple[str | int, ...], Any]] = [((), document)]
    while stack:
        path, value = stack.pop()
        if isinstance(value, dict):
            if id(value) in spans:
                yield path, spans[id(value)]
            stack.extend(((*path, name), item) for name, item in value.items())
        elif isinstance(value, list):
            stack.extend(((*path, number), item) for number, item in enumerate(value))


class _Writer:
    """Writes the parts of one ruleset, and keeps the place of each."""

    def __init__(self) -> None:
        self.spans: dict[int, Span] = {}

    def placed(self, span: Span, document: dict[str, Any]) -> dict[str, Any]:
        document.update(position(span))
        self.spans[id(document)] = span
        return document

    # ---- what stands on its own ----------------------------------------------------------------------------------

    def op(self, op: Op) -> dict[str, Any]:
        document = _present(
            kind="op",
            name=op.name,
            doc=op.doc,
            operands=[self.operand(operand) for operand in op.operands.values()],
            results=[self.result(result) for result in op.results],
            dims=[self.dim(dim, op.span) for dim in op.dims.values()],
            attrs=[self.attr(attr) for attr in op.attrs.values()],
            dtype_operand=op.dtype_operand,
            dtypes=list(op.dtypes or ()),
            checks=self.clauses(op.checks),
            reference=self.binding(op.reference) if op.reference else None,
        )
        return self.placed(op.name_span, document)

    def target(self, target: Target) -> dict[str, Any]:
        facts = [self.placed(target.fact_spans[name], {"kind": "fact", "name": name, **_type(kind)}) for name, kind in target.facts.items()]
        provider = self.binding(target.provider) if target.provider else None
        return self.placed(target.span, _present(kind="target", name=target.name, doc=target.doc, facts=facts, provider=provider))

    def candidate(self, candidate: Candidate) -> dict[str, Any]:
        guard, accuracy = candidate.guard, candidate.accuracy
        document = _present(
            kind="candidate",
            name=candidate.name,
            doc=candidate.doc,
            tier=candidate.tier,
            target=candidate.target,
            op=candidate.op,
            tags=sorted(candidate.tags),
            available=self.clauses(candidate.available),
            requires=self.clauses(candidate.requires),
            implied=self.clauses(candidate.implied),
            computes=candidate.computes,
            honours=list(candidate.honours),
            guard=self.placed(guard.span, _present(kind="guard", clauses=self.clauses(guard.clauses), otherwise=guard.otherwise)) if guard else None,
            avoid=self.clauses(candidate.avoid),
            accuracy=self.placed(accuracy.span, _present(kind="accuracy", atol=_maybe(accuracy.atol), rtol=_maybe(accuracy.rtol))) if accuracy else None,
            cost=_maybe(candidate.cost),
            bind=self.binding(candidate.bind),
            uses=[self.use(use) for use in candidate.uses],
            workspace=_maybe(candidate.workspace),
            packs=[self.pack(pack) for pack in candidate.packs],
            deterministic=candidate.deterministic,
            batch_invariant=candidate.batch_invariant,
            family=plain(candidate.family),
        )
        return self.placed(candidate.name_span, document)

    def rule(self, rule: Rule) -> dict[str, Any]:
        when = []
        for (op, target), clause in sorted(rule.conditions.items()):
            condition = self.clause(clause, "when")
            condition.update(kind="condition", op=op, target=target)
            when.append(condition)
        document = _present(
            kind="rule",
            name=rule.name,
            doc=rule.doc,
            op=rule.op,
            target=rule.target,
            when=when,
            always=rule.always,
            actions=[self.action(action) for action in rule.actions],
            because=rule.because,
        )
        return self.placed(rule.name_span, document)

    def test(self, test: Test) -> dict[str, Any]:
        document = _present(
            kind="test",
            name=test.name,
            requests=[_request(request) for request in test.requests],
            assume_available="all" if test.assume_available is None else sorted(test.assume_available),
            assume_unavailable=sorted(test.assume_unavailable),
            expectations=[self.expectation(expectation) for expectation in test.expectations],
        )
        return self.placed(test.span, document)

    # ---- their parts -------------------------------------------------------------------------------------------------

    def clauses(self, clauses: Iterable[Clause]) -> list[dict[str, Any]]:
        return [self.clause(clause, clause.code) for clause in clauses]

    def clause(self, clause: Clause, role: str) -> dict[str, Any]:
        document = _present(
            kind="clause", role=role, text=clause.text, because=clause.because, reads=sorted(clause.reads), loops=plain(clause.loops), tree=tree(clause.term)
        )
        return self.placed(clause.span, document)

    def operand(self, operand: Operand) -> dict[str, Any]:
        shape = [expression(size) for size in operand.shape]
        document = _present(kind="operand", name=operand.name, shape=shape, optional=operand.optional, inout=operand.inout, dtypes=list(operand.dtypes or ()))
        return self.placed(operand.span, document)

    def result(self, result: Result) -> dict[str, Any]:
        shape = [expression(size) for size in result.shape]
        document = _present(
            kind="result", name=result.name, shape=shape, dtype=result.dtype, dtypes=list(result.dtypes or ()), dtype_attr=result.dtype_attr, inout=result.inout
        )
        return self.placed(result.span, document)

    def dim(self, dim: Dim, op: Span) -> dict[str, Any]:
        document = {"kind": "dim", "name": dim.name, "low": dim.low, **_present(high=dim.high), **({"step": dim.step} if dim.step != 1 else {})}
        return self.placed(dim.span or op, document)

    def attr(self, attr: Attr) -> dict[str, Any]:
        return self.placed(attr.span, {"kind": "attr", "name": attr.name, **_type(attr.type), "default": plain(attr.default)})

    def binding(self, binding: Binding) -> dict[str, Any]:
        if isinstance(binding, PythonBinding):
            document = _present(kind="python", path=binding.path, constants=plain(binding.constants))
            return self.placed(binding.span, document)
        assert isinstance(binding, NativeBinding)
        launch = binding.launch
        document = _present(
            kind=binding.language,
            path=binding.path,
            symbol=binding.symbol,
            compiler=binding.compiler,
            flags=list(binding.flags),
            arguments=[self.argument(argument) for argument in binding.arguments],
            returns=binding.returns,
            statuses=dict(binding.statuses),
            launch=_present(
                kind="launch",
                grid=[expression(size) for size in launch.grid],
                block=[expression(size) for size in launch.block],
                shared=_maybe(launch.shared),
            )
            if launch
            else None,
        )
        return self.placed(binding.span, document)

    def argument(self, argument: NativeArgument) -> dict[str, Any]:
        document = _present(
            kind="argument", ctype=argument.ctype, name=argument.name, nullable=argument.nullable, carries=argument.kind, value=_maybe(argument.value)
        )
        return self.placed(argument.span, document)

    def use(self, use: Uses) -> dict[str, Any]:
        dims = {name: expression(term) for name, term in use.dims.items()}
        attrs = {name: expression(term) for name, term in use.attrs.items()}
        return self.placed(use.span, _present(kind="uses", op=use.op, text=use.text, dims=dims, attrs=attrs, dtype=_maybe(use.dtype)))

    def pack(self, pack: Pack) -> dict[str, Any]:
        return self.placed(pack.span, {"kind": "packs", "operand": pack.operand, "path": f"{pack.module}:{pack.name}"})

    def action(self, action: Action) -> dict[str, Any]:
        return self.placed(action.span, _present(kind=action.kind, candidates=sorted(action.candidates), over=sorted(action.over)))

    def expectation(self, expectation: Expectation) -> dict[str, Any]:
        document = _present(kind="expect", negated=expectation.negated, name=expectation.name, verdict=expectation.verdict, by=expectation.by)
        return self.placed(expectation.span, document)


def _maybe(term: Term | None) -> dict[str, Any] | None:
    return None if term is None else expression(term)


def _type(kind: Type) -> dict[str, Any]:
    return {"type": kind.describe(), **_present(words=list(kind.words or (kind.item.words if kind.item else ())), nullable=kind.nullable)}


def _request(request: TestRequest) -> dict[str, Any]:
    return _present(
        kind="request",
        op=request.op,
        target=request.target,
        words=plain(request.words),
        given=sorted(request.given),
        layouts={name: _layout(layout) for name, layout in request.layouts.items()},
        device=plain(request.device),
        loops=plain(request.loops),
    )


def _layout(layout: StatedLayout) -> dict[str, Any]:
    return _present(align=layout.align, strides=list(layout.strides) if layout.strides is not None else None, dtype=layout.dtype)
