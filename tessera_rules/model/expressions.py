"""From expressions to terms: every name resolved, every type checked, every predicate in its place."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from attrs import define, evolve, field

from tessera_rules.diagnostic import Related
from tessera_rules.dtypes import DTYPES, canonical
from tessera_rules.model import codes
from tessera_rules.model.comparisons import compare, peek
from tessera_rules.model.loops import LoopValue, fill
from tessera_rules.model.report import Findings
from tessera_rules.model.scope import Scope
from tessera_rules.model.terms import Apply, Const, Fact, Term
from tessera_rules.model.type_rules import constant_int, is_wordy, join, with_article
from tessera_rules.model.types import ANY, BOOL, DTYPE, FLOAT, INT, NULL, STRING, Type
from tessera_rules.nearest import did_you_mean
from tessera_rules.source import Span
from tessera_rules.syntax import nodes

MAX_EXPANDED_DEPTH = 280
"""Deepest term once predicates stand in place of their names: what plain recursion reads within Python's own limit."""

ARITHMETIC = {"+": "add", "-": "sub", "*": "mul", "/": "div", "//": "floordiv", "%": "mod"}
OS_TYPE = Type("word", words=("linux", "windows", "macos", "freebsd"))


@define
class TermBuilder:
    """Builds the terms of one scope. A part that is wrong is reported once and stands as a term of type ``any``."""

    scope: Scope
    findings: Findings
    params: Mapping[str, Term] = field(factory=dict)
    chain: tuple[str, ...] = ()
    depth_above: int = 0
    expanded: list[int] = field(factory=lambda: [0])
    """Nodes of predicates put in place so far, counted over a whole clause: what doubles at every level stops here."""
    operand_params: Mapping[str, str] = field(factory=dict)
    """Parameters of the predicate that stand for operands."""

    # ---- entry points ----

    def build(self, expr: nodes.Expr, expected: Type | None = None) -> Term:
        """Return the term of an expression; ``expected`` is the type whose words bare names are tried as first."""
        handler = _HANDLERS.get(type(expr))
        if handler is None:
            return self.wrong(codes.BAD_CALL, expr.span, f"{type(expr).__name__} stands where a value was expected")
        return handler(self, expr, expected)

    def boolean(self, expr: nodes.Expr) -> Term:
        """Return the term of a condition. Reports TSR208 where it is not boolean."""
        term = self.build(expr)
        if term.type.kind not in ("bool", "any"):
            self.findings.add(
                codes.NOT_BOOLEAN.at(
                    expr.span, f"a condition is boolean, and this is {with_article(term.type)}", hint="write the comparison that is meant, such as `… != 0`"
                )
            )
        elif term.type.nullable:
            self.findings.add(codes.NOT_BOOLEAN.at(expr.span, "this can be null, which is neither true nor false", hint="write `… == true`"))
        return term

    def number(self, expr: nodes.Expr, *, integer: bool = False) -> Term:
        """Return the term of a number (an integer where ``integer``). Reports TSR207."""
        term = self.build(expr)
        if not term.type.numeric or (integer and term.type.kind == "float"):
            wanted = "an integer" if integer else "a number"
            self.findings.add(codes.TYPE_MISMATCH.at(expr.span, f"{wanted} was expected here, and this is {with_article(term.type)}"))
            return Const(ANY, None)
        return term

    # ---- leaves ----

    def wrong(self, code: Any, span: Span, message: str, hint: str | None = None, related: tuple[Related, ...] = ()) -> Term:
        """Report a finding, and return a term that fits anywhere, so that one mistake is told once."""
        self.findings.add(code.at(span, message, hint=hint, related=related))
        return Const(ANY, None)

    def _int(self, expr: nodes.IntLit, _expected: Type | None) -> Term:
        return Const(INT, expr.value)

    def _float(self, expr: nodes.FloatLit, _expected: Type | None) -> Term:
        return Const(FLOAT, expr.value)

    def _str(self, expr: nodes.StrLit, _expected: Type | None) -> Term:
        return Const(STRING, self.text(expr))

    def text(self, expr: nodes.StrLit) -> str:
        """Return a string with its loop parts filled."""
        return fill(expr.value, self.scope.loops, expr.span, self.findings, string=True)

    def _bool(self, expr: nodes.BoolLit, _expected: Type | None) -> Term:
        return Const(BOOL, expr.value)

    def _null(self, _expr: nodes.NullLit, _expected: Type | None) -> Term:
        return Const(NULL, None)

    def _name(self, expr: nodes.NameRef, expected: Type | None) -> Term:
        name = fill(expr.name, self.scope.loops, expr.span, self.findings)
        word = self._word(name, expected)
        if word is not None:
            return word
        if expr.name in self.params:
            return self.params[expr.name]
        if expr.name in self.operand_params:
            return self._lookup(self.operand_params[expr.name], expr) or Const(ANY, None)
        if expr.name in self.scope.loops:
            return self._loop(expr, self.scope.loops[expr.name], expected)
        found = self._lookup(name, expr)
        if found is not None:
            return found
        return self._unknown(name, expr.span, expected)

    def _word(self, name: str, expected: Type | None) -> Term | None:
        if expected is None:
            return None
        kind = expected.item if expected.kind == "list" and expected.item is not None else expected
        if kind.kind == "dtype":
            dtype = canonical(name)
            return None if dtype is None else Const(DTYPE, dtype)
        if kind.kind == "word" and name in kind.words:
            return Const(kind, name)
        return None

    def _loop(self, expr: nodes.NameRef, value: LoopValue, expected: Type | None) -> Term:
        kinds = {"int": INT, "float": FLOAT, "bool": BOOL, "string": STRING, "null": NULL}
        if value.kind != "name":
            return Const(kinds[value.kind], value.value, expr.name)
        word = self._word(value.value, expected)
        if isinstance(word, Const):
            return Const(word.type, word.value, expr.name)
        found = self._lookup(value.value, expr)
        if found is not None:
            return found
        dtype = canonical(value.value)
        if dtype is not None:
            return Const(DTYPE, dtype, expr.name)
        return Const(Type("word", words=(value.value,)), value.value, expr.name)

    def _lookup(self, name: str, expr: nodes.NameRef) -> Term | None:
        """Return what a name means as a fact or a predicate, or None."""
        scope = self.scope
        op = scope.op
        if op is not None:
            if name in op.dims:
                return self._request_fact(Fact(INT, f"dim:{name}", name), "dimension", expr.span)
            if name in op.attrs:
                return self._request_fact(Fact(op.attrs[name].type, f"attr:{name}", name), "attribute", expr.span)
            if name in op.operands:
                return self.wrong(
                    codes.TYPE_MISMATCH,
                    expr.span,
                    f"'{name}' is an operand, and has no value of its own",
                    f"ask for something of it: contiguous({name}), dtype({name}), given({name})",
                )
        if name == "dtype":
            return self._request_fact(Fact(DTYPE, "dtype", "dtype"), "dtype", expr.span)
        if name == "threads":
            return self._request_fact(Fact(INT, "threads", "threads"), "number of threads", expr.span)
        if name == "os" and scope.place.probes:
            return Fact(OS_TYPE, "os", "os")
        if name in scope.predicates:
            return self._predicate(name, (), expr.span)
        if name == "device":
            return self.wrong(codes.UNKNOWN_FACT, expr.span, "'device' alone is no value", "name one of its facts: device.NAME")
        return None

    def _request_fact(self, fact: Fact, what: str, span: Span) -> Term:
        if not self.scope.place.request:
            return self.wrong(
                codes.NOT_HERE,
                span,
                f"'{fact.shown}' is a {what} of the request, which `{self.scope.place.name}` does not see",
                "`available` asks the machine; put the clause into `requires`",
            )
        return fact

    def _unknown(self, name: str, span: Span, expected: Type | None) -> Term:
        if expected is not None and is_wordy(expected):
            kind = expected.item if expected.kind == "list" and expected.item is not None else expected
            words = DTYPES if kind.kind == "dtype" else kind.words
            return self.wrong(
                codes.UNKNOWN_WORD, span, f"'{name}' is no {'dtype' if kind.kind == 'dtype' else 'value here'}", did_you_mean(name, words, "value")
            )
        of = f" of op {self.scope.op.name}" if self.scope.op is not None else ""
        known = self.scope.names()
        return self.wrong(
            codes.UNKNOWN_NAME, span, f"'{name}' is no dimension or attribute{of}, no predicate and no loop name", did_you_mean(name, known, "name")
        )

    def _member(self, expr: nodes.Member, _expected: Type | None) -> Term:
        scope = self.scope
        if not (isinstance(expr.value, nodes.NameRef) and expr.value.name == "device"):
            return self.wrong(codes.BAD_CALL, expr.span, "only `device` has members", "`device.NAME` is a fact of the candidate's target")
        if not scope.place.device:
            return self.wrong(codes.NOT_HERE, expr.span, f"a device fact has no value in `{scope.place.name}`", "an op is the same on every device")
        if scope.target_facts is None:
            return self.wrong(codes.UNKNOWN_FACT, expr.span, f"'device.{expr.name}' needs a target", f"give {scope.subject or 'it'} a `target`")
        name = fill(expr.name, scope.loops, expr.span, self.findings)
        if name not in scope.target_facts:
            return self.wrong(codes.UNKNOWN_FACT, expr.span, f"target {scope.target} has no fact '{name}'", did_you_mean(name, scope.target_facts, "fact"))
        return Fact(scope.target_facts[name], f"device:{name}", f"device.{name}")

    # ---- operators ----

    def apply(self, kind: Type, op: str, args: tuple[Term, ...], span: Span) -> Term:
        """Return an operator over terms. Reports TSR314 where it grows too deep or too large."""
        term = Apply(kind, op, args, span)
        if term.depth + self.depth_above > MAX_EXPANDED_DEPTH or term.size > nodes.MAX_TERMS:
            what = f"more than {MAX_EXPANDED_DEPTH} deep" if term.size <= nodes.MAX_TERMS else f"more than {nodes.MAX_TERMS} terms"
            return self.wrong(codes.TOO_LARGE, span, f"with its predicates in place this expression is {what}", "split it into several clauses")
        return term

    def _unary(self, expr: nodes.Unary, _expected: Type | None) -> Term:
        if expr.operator == "not":
            return self.apply(BOOL, "not", (self.boolean(expr.operand),), expr.span)
        operand = self.number(expr.operand)
        return self.apply(operand.type, "neg", (operand,), expr.span)

    def _binary(self, expr: nodes.Binary, _expected: Type | None) -> Term:
        left, right = self.number(expr.left), self.number(expr.right)
        if expr.operator == "/" and not self.scope.place.floats:
            return self._floats_only(expr.span, "`/`", "`//` divides integers and floors")
        if expr.operator in ("//", "%"):
            self._divisor(right, expr)
            if "float" in (left.type.kind, right.type.kind):
                return self.wrong(codes.TYPE_MISMATCH, expr.span, f"`{expr.operator}` takes integers, and one side is a float")
        floats = expr.operator == "/" or "float" in (left.type.kind, right.type.kind)
        return self.apply(FLOAT if floats else INT, ARITHMETIC[expr.operator], (left, right), expr.span)

    def _floats_only(self, span: Span, what: str, hint: str | None) -> Term:
        return self.wrong(codes.NOT_HERE, span, f"{what} is floating point, and stands only in `cost`, `accuracy`, `guard` and native arguments", hint)

    def _divisor(self, divisor: Term, expr: nodes.Binary) -> None:
        value = constant_int(divisor)
        if value is not None and value <= 0:
            self.findings.add(codes.DIVISOR.at(expr.right.span, f"the divisor of `{expr.operator}` is {value}, and a divisor is positive"))

    def _boolop(self, expr: nodes.BoolOp, _expected: Type | None) -> Term:
        return self.apply(BOOL, expr.operator, tuple(self.boolean(operand) for operand in expr.operands), expr.span)

    def _ifelse(self, expr: nodes.IfElse, expected: Type | None) -> Term:
        condition = self.boolean(expr.condition)
        if expected is None:
            expected = next((kind for kind in (peek(self, expr.value), peek(self, expr.otherwise)) if is_wordy(kind)), None)
        value, otherwise = self.build(expr.value, expected), self.build(expr.otherwise, expected)
        kind = join(value.type, otherwise.type)
        if kind is None:
            return self.wrong(codes.TYPE_MISMATCH, expr.span, f"one branch is {with_article(value.type)}, the other {with_article(otherwise.type)}")
        return self.apply(kind, "if", (condition, value, otherwise), expr.span)

    def _index(self, expr: nodes.Index, _expected: Type | None) -> Term:
        value, index = self.build(expr.value), self.number(expr.index, integer=True)
        if value.type.kind not in ("list", "any"):
            return self.wrong(codes.TYPE_MISMATCH, expr.span, f"only a list has an index, and this is {with_article(value.type)}")
        return self.apply(value.type.item or ANY, "index", (value, index), expr.span)

    def _list(self, expr: nodes.ListExpr, expected: Type | None) -> Term:
        item = expected.item if expected is not None and expected.kind == "list" else None
        terms = [self.build(each, item) for each in expr.items]
        if not all(isinstance(term, Const) for term in terms):
            return self.wrong(codes.TYPE_MISMATCH, expr.span, "a list here holds constants", "a list of other values stands after `in`")
        kinds = {term.type.kind for term in terms}
        kind = item or (terms[0].type if terms else None)
        if len(kinds - {"any"}) > 1:
            return self.wrong(codes.TYPE_MISMATCH, expr.span, "the items of a list have one type")
        return Const(Type("list", item=kind), tuple(term.value for term in terms if isinstance(term, Const)))

    def _misplaced_range(self, expr: nodes.RangeExpr, _expected: Type | None) -> Term:
        return self.wrong(codes.BAD_CALL, expr.span, "a range stands after `in`")

    def _misplaced_pattern(self, expr: nodes.Pattern, _expected: Type | None) -> Term:
        return self.wrong(codes.BAD_CALL, expr.span, "a pattern stands after `like`")

    def _compare(self, expr: nodes.Compare, _expected: Type | None) -> Term:
        return compare(self, expr)

    # ---- calls ----

    def _call(self, expr: nodes.Call, _expected: Type | None) -> Term:
        from tessera_rules.model.functions import build_call

        name = fill(expr.function, self.scope.loops, expr.function_span, self.findings)
        if name in self.scope.predicates:
            if expr.keywords:
                return self.wrong(codes.BAD_CALL, expr.span, "a predicate takes its arguments by position")
            return self._predicate(name, tuple(self._predicate_argument(argument) for argument in expr.arguments), expr.span)
        return build_call(self, name, expr)

    def _predicate_argument(self, argument: nodes.Expr) -> Term | str:
        """Return the term of an argument, or the name of the operand that it is."""
        name = self.operand_name(argument)
        return name if name is not None else self.build(argument)

    def operand_name(self, expr: nodes.Expr) -> str | None:
        """Return the operand that a bare name means here, or None."""
        if not isinstance(expr, nodes.NameRef) or self.scope.op is None:
            return None
        if expr.name in self.operand_params:
            return self.operand_params[expr.name]
        name = self.scope.loops[expr.name].text if expr.name in self.scope.loops else expr.name
        return name if name in self.scope.op.operands and name not in self.params else None

    def _predicate(self, name: str, arguments: tuple[Term | str, ...], span: Span) -> Term:
        definition = self.scope.predicates[name]
        node = definition.node
        if name in self.chain:
            circle = self.chain[self.chain.index(name) :]
            # Whoever asks first, the circle is reported at the one that is declared first.
            first = min(circle, key=lambda each: (self.scope.predicates[each].node.span.source.name, self.scope.predicates[each].node.span.start))
            chain = " → ".join([*circle[circle.index(first) :], *circle[: circle.index(first)], first])
            place = self.scope.predicates[first].node.name.span
            return self.wrong(
                codes.RECURSION, place, f"predicate {first} needs itself: {chain}", "predicates are not recursive", (Related(span, "asked for here"),)
            )
        if len(arguments) != len(node.parameters):
            wanted = f"{len(node.parameters)} argument{'s' if len(node.parameters) != 1 else ''}"
            return self.wrong(
                codes.BAD_CALL, span, f"predicate {name} takes {wanted}, and {len(arguments)} are given", related=(Related(node.name.span, "declared here"),)
            )
        if node.damaged:
            return Const(ANY, None)
        told = self.expanded[0] > nodes.MAX_TERMS
        self.expanded[0] += node.body.size
        if told:
            return Const(ANY, None)
        if self.expanded[0] > nodes.MAX_TERMS:
            message = f"with its predicates in place this expression is more than {nodes.MAX_TERMS} terms"
            return self.wrong(codes.TOO_LARGE, span, message, "split it into several clauses")
        if self.depth_above + node.body.depth > MAX_EXPANDED_DEPTH or len(self.chain) >= 60:
            return self.wrong(
                codes.TOO_LARGE,
                span,
                f"predicates stand more than {MAX_EXPANDED_DEPTH} levels or 60 names deep in each other",
                "split them into several clauses",
            )
        inner = TermBuilder(
            evolve(self.scope, loops=definition.loops),
            self.findings,
            {parameter.text: argument for parameter, argument in zip(node.parameters, arguments, strict=True) if not isinstance(argument, str)},
            (*self.chain, name),
            self.depth_above + 1 + max((argument.depth for argument in arguments if not isinstance(argument, str)), default=0),  # type: ignore[attr-defined]
            self.expanded,
            {parameter.text: argument for parameter, argument in zip(node.parameters, arguments, strict=True) if isinstance(argument, str)},
        )
        return inner.build(node.body)


_HANDLERS: dict[type, Callable[[TermBuilder, Any, Type | None], Term]] = {
    nodes.IntLit: TermBuilder._int,
    nodes.FloatLit: TermBuilder._float,
    nodes.StrLit: TermBuilder._str,
    nodes.BoolLit: TermBuilder._bool,
    nodes.NullLit: TermBuilder._null,
    nodes.NameRef: TermBuilder._name,
    nodes.Member: TermBuilder._member,
    nodes.Call: TermBuilder._call,
    nodes.Index: TermBuilder._index,
    nodes.Unary: TermBuilder._unary,
    nodes.Binary: TermBuilder._binary,
    nodes.BoolOp: TermBuilder._boolop,
    nodes.Compare: TermBuilder._compare,
    nodes.IfElse: TermBuilder._ifelse,
    nodes.ListExpr: TermBuilder._list,
    nodes.RangeExpr: TermBuilder._misplaced_range,
    nodes.Pattern: TermBuilder._misplaced_pattern,
}
