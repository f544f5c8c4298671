"""From expressions to terms: every name resolved, every type checked, every predicate in its place."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from attrs import define, evolve, field

from tessera_rules.diagnostic import Related
from tessera_rules.dtypes import DTYPES, canonical
from tessera_rules.model import codes
from tessera_rules.model.loops import LoopValue, fill
from tessera_rules.model.patterns import compile_pattern
from tessera_rules.model.report import Findings
from tessera_rules.model.scope import Scope
from tessera_rules.model.terms import Apply, Const, Fact, Term
from tessera_rules.model.types import ANY, BOOL, DTYPE, FLOAT, INT, NULL, STRING, Type
from tessera_rules.nearest import did_you_mean
from tessera_rules.source import Span
from tessera_rules.syntax import nodes

MAX_EXPANDED_DEPTH = 280
"""Deepest term once predicates stand in place of their names: what plain recursion reads within Python's own limit."""

ARITHMETIC = {"+": "add", "-": "sub", "*": "mul", "/": "div", "//": "floordiv", "%": "mod"}
COMPARISON = {"==": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}
OS_TYPE = Type("word", words=("linux", "windows", "macos", "freebsd"))
ARCHITECTURE_NAMES = ("arch", "architecture", "gfx", "sm", "capability", "compute_capability")


def _wordy(kind: Type | None) -> bool:
    return kind is not None and (kind.kind in ("word", "dtype") or (kind.kind == "list" and kind.item is not None and kind.item.kind in ("word", "dtype")))


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
            return self._wrong(codes.BAD_CALL, expr.span, f"{type(expr).__name__} stands where a value was expected")
        return handler(self, expr, expected)

    def boolean(self, expr: nodes.Expr) -> Term:
        """Return the term of a condition. Reports TSR208 where it is not boolean."""
        term = self.build(expr)
        if term.type.kind not in ("bool", "any"):
            self.findings.add(
                codes.NOT_BOOLEAN.at(
                    expr.span, f"a condition is boolean, and this is {_a(term.type)}", hint="write the comparison that is meant, such as `… != 0`"
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
            self.findings.add(codes.TYPE_MISMATCH.at(expr.span, f"{wanted} was expected here, and this is {_a(term.type)}"))
            return Const(ANY, None)
        return term

    # ---- leaves ----

    def _wrong(self, code: Any, span: Span, message: str, hint: str | None = None, related: tuple[Related, ...] = ()) -> Term:
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
                return self._wrong(
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
            return self._wrong(codes.UNKNOWN_FACT, expr.span, "'device' alone is no value", "name one of its facts: device.NAME")
        return None

    def _request_fact(self, fact: Fact, what: str, span: Span) -> Term:
        if not self.scope.place.request:
            return self._wrong(
                codes.NOT_HERE,
                span,
                f"'{fact.shown}' is a {what} of the request, which `{self.scope.place.name}` does not see",
                "`available` asks the machine; put the clause into `requires`",
            )
        return fact

    def _unknown(self, name: str, span: Span, expected: Type | None) -> Term:
        if expected is not None and _wordy(expected):
            kind = expected.item if expected.kind == "list" and expected.item is not None else expected
            words = DTYPES if kind.kind == "dtype" else kind.words
            return self._wrong(
                codes.UNKNOWN_WORD, span, f"'{name}' is no {'dtype' if kind.kind == 'dtype' else 'value here'}", did_you_mean(name, words, "value")
            )
        of = f" of op {self.scope.op.name}" if self.scope.op is not None else ""
        known = self.scope.names()
        return self._wrong(
            codes.UNKNOWN_NAME, span, f"'{name}' is no dimension or attribute{of}, no predicate and no loop name", did_you_mean(name, known, "name")
        )

    def _member(self, expr: nodes.Member, _expected: Type | None) -> Term:
        scope = self.scope
        if not (isinstance(expr.value, nodes.NameRef) and expr.value.name == "device"):
            return self._wrong(codes.BAD_CALL, expr.span, "only `device` has members", "`device.NAME` is a fact of the candidate's target")
        if not scope.place.device:
            return self._wrong(codes.NOT_HERE, expr.span, f"a device fact has no value in `{scope.place.name}`", "an op is the same on every device")
        if scope.target_facts is None:
            return self._wrong(codes.UNKNOWN_FACT, expr.span, f"'device.{expr.name}' needs a target", f"give {scope.subject or 'it'} a `target`")
        name = fill(expr.name, scope.loops, expr.span, self.findings)
        if name not in scope.target_facts:
            return self._wrong(codes.UNKNOWN_FACT, expr.span, f"target {scope.target} has no fact '{name}'", did_you_mean(name, scope.target_facts, "fact"))
        return Fact(scope.target_facts[name], f"device:{name}", f"device.{name}")

    # ---- operators ----

    def apply(self, kind: Type, op: str, args: tuple[Term, ...], span: Span) -> Term:
        """Return an operator over terms. Reports TSR314 where it grows too deep or too large."""
        term = Apply(kind, op, args, span)
        if term.depth + self.depth_above > MAX_EXPANDED_DEPTH or term.size > nodes.MAX_TERMS:
            what = f"more than {MAX_EXPANDED_DEPTH} deep" if term.size <= nodes.MAX_TERMS else f"more than {nodes.MAX_TERMS} terms"
            return self._wrong(codes.TOO_LARGE, span, f"with its predicates in place this expression is {what}", "split it into several clauses")
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
                return self._wrong(codes.TYPE_MISMATCH, expr.span, f"`{expr.operator}` takes integers, and one side is a float")
        floats = expr.operator == "/" or "float" in (left.type.kind, right.type.kind)
        return self.apply(FLOAT if floats else INT, ARITHMETIC[expr.operator], (left, right), expr.span)

    def _floats_only(self, span: Span, what: str, hint: str | None) -> Term:
        return self._wrong(codes.NOT_HERE, span, f"{what} is floating point, and stands only in `cost`, `accuracy`, `guard` and native arguments", hint)

    def _divisor(self, divisor: Term, expr: nodes.Binary) -> None:
        value = _constant_int(divisor)
        if value is not None and value <= 0:
            self.findings.add(codes.DIVISOR.at(expr.right.span, f"the divisor of `{expr.operator}` is {value}, and a divisor is positive"))

    def _boolop(self, expr: nodes.BoolOp, _expected: Type | None) -> Term:
        return self.apply(BOOL, expr.operator, tuple(self.boolean(operand) for operand in expr.operands), expr.span)

    def _ifelse(self, expr: nodes.IfElse, expected: Type | None) -> Term:
        condition = self.boolean(expr.condition)
        if expected is None:
            expected = next((kind for kind in (self._peek(expr.value), self._peek(expr.otherwise)) if _wordy(kind)), None)
        value, otherwise = self.build(expr.value, expected), self.build(expr.otherwise, expected)
        kind = _join(value.type, otherwise.type)
        if kind is None:
            return self._wrong(codes.TYPE_MISMATCH, expr.span, f"one branch is {_a(value.type)}, the other {_a(otherwise.type)}")
        return self.apply(kind, "if", (condition, value, otherwise), expr.span)

    def _index(self, expr: nodes.Index, _expected: Type | None) -> Term:
        value, index = self.build(expr.value), self.number(expr.index, integer=True)
        if value.type.kind not in ("list", "any"):
            return self._wrong(codes.TYPE_MISMATCH, expr.span, f"only a list has an index, and this is {_a(value.type)}")
        return self.apply(value.type.item or ANY, "index", (value, index), expr.span)

    def _list(self, expr: nodes.ListExpr, expected: Type | None) -> Term:
        item = expected.item if expected is not None and expected.kind == "list" else None
        terms = [self.build(each, item) for each in expr.items]
        if not all(isinstance(term, Const) for term in terms):
            return self._wrong(codes.TYPE_MISMATCH, expr.span, "a list here holds constants", "a list of other values stands after `in`")
        kinds = {term.type.kind for term in terms}
        kind = item or (terms[0].type if terms else None)
        if len(kinds - {"any"}) > 1:
            return self._wrong(codes.TYPE_MISMATCH, expr.span, "the items of a list have one type")
        return Const(Type("list", item=kind), tuple(term.value for term in terms if isinstance(term, Const)))

    def _misplaced_range(self, expr: nodes.RangeExpr, _expected: Type | None) -> Term:
        return self._wrong(codes.BAD_CALL, expr.span, "a range stands after `in`")

    def _misplaced_pattern(self, expr: nodes.Pattern, _expected: Type | None) -> Term:
        return self._wrong(codes.BAD_CALL, expr.span, "a pattern stands after `like`")

    # ---- comparisons ----

    def _compare(self, expr: nodes.Compare, _expected: Type | None) -> Term:
        pairs = [
            self._pair(expr.operands[i], operator, expr.operands[i + 1], expr.operands[i].span.to(expr.operands[i + 1].span))
            for i, operator in enumerate(expr.operators)
        ]
        return pairs[0] if len(pairs) == 1 else self.apply(BOOL, "and", tuple(pairs), expr.span)

    def _pair(self, left: nodes.Expr, operator: nodes.CompareOperator, right: nodes.Expr, span: Span) -> Term:
        if operator == "like":
            return self._like(left, right, span)
        if operator in ("in", "not in"):
            member = self._membership(left, right, span)
            return member if operator == "in" else self.apply(BOOL, "not", (member,), span)
        kinds = self._peek(left), self._peek(right)
        expected = next((kind for kind in kinds if _wordy(kind)), None)
        a = self.build(left, expected or self._meant(left, beside=right))
        b = self.build(right, expected or self._meant(right, beside=left))
        self._comparable(a, operator, b, span)
        return self.apply(BOOL, COMPARISON[operator], (a, b), span)

    def _peek(self, expr: nodes.Expr) -> Type | None:
        """Return the type of an expression whose words the other side may use, without reporting anything."""
        if isinstance(expr, nodes.NameRef) and "{" not in expr.name and not self._known(expr.name):
            return None
        if isinstance(expr, nodes.NameRef | nodes.Member | nodes.Call | nodes.Index):
            quiet = evolve(self, findings=Findings())
            kind = quiet.build(expr).type
            return None if kind.kind == "any" or (kind.kind == "word" and len(kind.words) == 1 and isinstance(expr, nodes.NameRef)) else kind
        if isinstance(expr, nodes.IfElse):
            branches = self._peek(expr.value), self._peek(expr.otherwise)
            return next((kind for kind in branches if _wordy(kind)), branches[0])
        return None

    def _meant(self, expr: nodes.Expr, beside: nodes.Expr) -> Type | None:
        """Return the type that a bare word has somewhere, where the name beside it means nothing: that name is the mistake, not the word."""
        kind = self._word_type(expr)
        if kind is None or not isinstance(beside, nodes.NameRef) or self._known(beside.name) or self._word_type(beside) is not None:
            return None
        return kind

    def _word_type(self, expr: nodes.Expr) -> Type | None:
        if not isinstance(expr, nodes.NameRef) or self._known(expr.name):
            return None
        attrs = () if self.scope.op is None else self.scope.op.attrs.values()
        kinds = (attr.type.item if attr.type.kind == "list" and attr.type.item is not None else attr.type for attr in attrs)
        return DTYPE if canonical(expr.name) is not None else next((kind for kind in kinds if kind.kind == "word" and expr.name in kind.words), None)

    def _known(self, name: str) -> bool:
        """Whether a bare name means something here by itself, and not only as a word of the other side."""
        scope = self.scope
        op = scope.op
        if name in self.params or name in scope.loops or name in scope.predicates or name in ("dtype", "threads", "os"):
            return True
        return op is not None and (name in op.dims or name in op.attrs)

    def _comparable(self, a: Term, operator: str, b: Term, span: Span) -> None:
        one, two = a.type, b.type
        if "any" in (one.kind, two.kind):
            return
        if operator in ("==", "!="):
            for term, other in ((one, two), (two, one)):
                if term.kind == "null" and not other.nullable and other.kind != "null":
                    self.findings.add(codes.NEVER_NULL.at(span, f"this is {_a(other)}, which is never null", hint="only what is declared with `?` can be null"))
                    return
            if _join(one, two) is None and "null" not in (one.kind, two.kind):
                self._mismatch(one, two, span)
            return
        if (one.numeric and two.numeric) or (one.kind == two.kind == "version"):
            self._open_ended(a, b, span)
            return
        text = next((term for term in (a, b) if isinstance(term, Fact) and term.key.startswith("device:") and term.type.kind == "string"), None)
        if text is not None and {one.kind, two.kind} == {"string"}:
            self.findings.add(
                codes.OPEN_ENDED.at(
                    span,
                    f"'{text.shown}' has no order: the next chip is not known to work",
                    hint=f'name the ones that are: {text.shown} in ["…"]',
                    severity="error",
                )
            )
            return
        if one.kind == two.kind and one.kind in ("string", "word", "dtype", "bool", "list", "null"):
            self.findings.add(codes.TYPE_MISMATCH.at(span, f"`{operator}` orders numbers and versions, and this is {_a(one)}", hint="compare with == or in"))
            return
        self._mismatch(one, two, span)

    def _open_ended(self, a: Term, b: Term, span: Span) -> None:
        for term in (a, b):
            if isinstance(term, Fact) and term.key.startswith("device:") and term.key[7:] in ARCHITECTURE_NAMES:
                self.findings.add(
                    codes.OPEN_ENDED.at(
                        span,
                        f"'{term.shown}' names an architecture, and an order test lets the next chip in",
                        hint=f"name the ones that work: {term.shown} in […]",
                    )
                )

    def _mismatch(self, one: Type, two: Type, span: Span) -> None:
        hint = 'write version("…")' if {one.kind, two.kind} == {"version", "string"} else None
        self.findings.add(codes.TYPE_MISMATCH.at(span, f"{_a(one)} is compared with {_a(two)}", hint=hint))

    def _membership(self, left: nodes.Expr, right: nodes.Expr, span: Span) -> Term:
        if isinstance(right, nodes.RangeExpr):
            return self._in_range(left, right, span)
        if isinstance(right, nodes.ListExpr):
            kind = self._peek(left)
            if not _wordy(kind):
                kind = next((found for found in map(self._peek, right.items) if _wordy(found)), kind if isinstance(left, nodes.NameRef) else None)
            x = self.build(left, kind if _wordy(kind) else None)
            items = [self.build(item, kind if _wordy(kind) else self._meant(item, beside=left)) for item in right.items]
            for item, node in zip(items, right.items, strict=True):
                self._comparable(x, "==", item, node.span)
            return self.apply(BOOL, "in", (x, *items), span)
        collection = self.build(right)
        if collection.type.kind not in ("list", "any"):
            return self._wrong(codes.TYPE_MISMATCH, right.span, f"`in` takes a list or a range, and this is {_a(collection.type)}")
        word = self.build(left, collection.type.item if _wordy(collection.type) else None)
        if collection.type.item is not None and _join(word.type, collection.type.item) is None:
            self._mismatch(word.type, collection.type.item, span)
        return self.apply(BOOL, "contains", (collection, word), span)

    def _in_range(self, left: nodes.Expr, right: nodes.RangeExpr, span: Span) -> Term:
        x = self.number(left, integer=True)
        if right.high is None:
            return self._wrong(codes.BAD_RANGE, right.span, "a range after `in` has both ends", "write `>=`")
        low, high = self.number(right.low, integer=True), self.number(right.high, integer=True)
        step = self.number(right.step, integer=True) if right.step is not None else Const(INT, 1)
        values = [_constant_int(term) for term in (low, high, step)]
        if values[0] is not None and values[1] is not None and values[0] > values[1]:
            self.findings.add(codes.BAD_RANGE.at(right.span, f"{values[0]}..{values[1]} holds nothing: the low end is above the high one"))
        if values[2] is not None and values[2] <= 0:
            self.findings.add(codes.BAD_RANGE.at(right.span, f"the step is {values[2]}, and a step is positive"))
        return self.apply(BOOL, "in_range", (x, low, high, step), span)

    def _like(self, left: nodes.Expr, right: nodes.Expr, span: Span) -> Term:
        words = self.build(left)
        if not isinstance(right, nodes.Pattern):
            return self._wrong(codes.BAD_CALL, right.span, "`like` takes a pattern in brackets", "such as [bias?, (relu | gelu)?]")
        if words.type.kind == "any":
            return words
        item = words.type.item
        if words.type.kind != "list" or item is None or item.kind not in ("word", "string", "dtype"):
            return self._wrong(codes.TYPE_MISMATCH, left.span, f"`like` matches a list of words, and this is {_a(words.type)}")
        items = tuple(self._pattern_item(each, item) for each in right.items)
        return self.apply(BOOL, "like", (words, Const(ANY, compile_pattern(evolve(right, items=items)))), span)

    def _pattern_item(self, item: nodes.PatternItem, kind: Type) -> nodes.PatternItem:
        if isinstance(item, nodes.PatternWord):
            name = fill(item.name, self.scope.loops, item.span, self.findings)
            known = DTYPES if kind.kind == "dtype" else kind.words
            if name not in known and name in self.scope.loops:
                name = self.scope.loops[name].text
            if known and name not in known:
                self.findings.add(codes.UNKNOWN_WORD.at(item.span, f"'{name}' is no value of this list", hint=did_you_mean(name, known, "value")))
            return evolve(item, name=name)
        if isinstance(item, nodes.PatternChoice):
            return evolve(item, options=tuple(self._pattern_item(option, kind) for option in item.options))
        if isinstance(item, nodes.PatternRepeat):
            return evolve(item, item=self._pattern_item(item.item, kind))
        return item

    # ---- calls ----

    def _call(self, expr: nodes.Call, _expected: Type | None) -> Term:
        from tessera_rules.model.functions import build_call

        name = fill(expr.function, self.scope.loops, expr.function_span, self.findings)
        if name in self.scope.predicates:
            if expr.keywords:
                return self._wrong(codes.BAD_CALL, expr.span, "a predicate takes its arguments by position")
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
            return self._wrong(
                codes.RECURSION, place, f"predicate {first} needs itself: {chain}", "predicates are not recursive", (Related(span, "asked for here"),)
            )
        if len(arguments) != len(node.parameters):
            wanted = f"{len(node.parameters)} argument{'s' if len(node.parameters) != 1 else ''}"
            return self._wrong(
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
            return self._wrong(codes.TOO_LARGE, span, message, "split it into several clauses")
        if self.depth_above + node.body.depth > MAX_EXPANDED_DEPTH or len(self.chain) >= 60:
            return self._wrong(
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


def _a(kind: Type) -> str:
    """A type with its article, for messages."""
    if kind.kind == "null":
        return "null"
    text = kind.describe()
    return f"{'an' if text[0] in 'aeio' and not text.startswith('one') else 'a'} {text}" if kind.kind not in ("word",) else f"a word, {text}"


def _join(one: Type, two: Type) -> Type | None:
    """Return the type that holds both, or None where they do not go together."""
    if one.kind == "any":
        return two
    if two.kind == "any":
        return one
    if one.kind == "null" or two.kind == "null":
        other = two if one.kind == "null" else one
        return evolve(other, nullable=True)
    nullable = one.nullable or two.nullable
    if one.numeric and two.numeric:
        return Type("float" if "float" in (one.kind, two.kind) else "int", nullable=nullable)
    if one.kind != two.kind:
        return None
    if one.kind == "word":
        if set(one.words) <= set(two.words):
            return evolve(two, nullable=nullable)
        return evolve(one, nullable=nullable) if set(one.words) & set(two.words) else None
    if one.kind == "list":
        if one.item is None or two.item is None:
            return one if two.item is None else two
        return one if _join(one.item, two.item) is not None else None
    return evolve(one, nullable=nullable)


def _constant_int(term: Term) -> int | None:
    """Return the value of a term that is a constant integer, or None."""
    if isinstance(term, Const):
        return term.value if isinstance(term.value, int) and term.type.kind == "int" else None
    if isinstance(term, Apply) and term.op in ("add", "sub", "mul", "neg") and term.size < 100:
        values = [_constant_int(arg) for arg in term.args]
        if None in values:
            return None
        match term.op, values:
            case "neg", [int(a)]:
                return -a
            case "add", [int(a), int(b)]:
                return a + b
            case "sub", [int(a), int(b)]:
                return a - b
            case "mul", [int(a), int(b)]:
                return a * b
    return None


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
