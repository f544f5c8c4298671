"""Comparisons: the two sides have types that go together, and a bare word beside a typed value is a word of that type first."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from attrs import evolve

from tessera_rules.dtypes import DTYPES, canonical
from tessera_rules.model import codes
from tessera_rules.model.loops import fill
from tessera_rules.model.patterns import compile_pattern
from tessera_rules.model.report import Findings
from tessera_rules.model.terms import Const, Fact, Term
from tessera_rules.model.type_rules import constant_int, is_wordy, join, with_article
from tessera_rules.model.types import ANY, BOOL, DTYPE, INT, Type
from tessera_rules.nearest import did_you_mean
from tessera_rules.source import Span
from tessera_rules.syntax import nodes

if TYPE_CHECKING:
    from tessera_rules.model.expressions import TermBuilder

COMPARISON = {"==": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}
ARCHITECTURE_NAMES = ("arch", "architecture", "gfx", "sm", "capability", "compute_capability")


def compare(builder: TermBuilder, expr: nodes.Compare) -> Term:
    """Return the term of a chain of comparisons."""
    pairs = [
        _pair(builder, expr.operands[i], operator, expr.operands[i + 1], expr.operands[i].span.to(expr.operands[i + 1].span))
        for i, operator in enumerate(expr.operators)
    ]
    return pairs[0] if len(pairs) == 1 else builder.apply(BOOL, "and", tuple(pairs), expr.span)


def _pair(builder: TermBuilder, left: nodes.Expr, operator: nodes.CompareOperator, right: nodes.Expr, span: Span) -> Term:
    if operator == "like":
        return _like(builder, left, right, span)
    if operator in ("in", "not in"):
        member = _membership(builder, left, right, span)
        return member if operator == "in" else builder.apply(BOOL, "not", (member,), span)
    kinds = peek(builder, left), peek(builder, right)
    expected = next((kind for kind in kinds if is_wordy(kind)), None)
    a = builder.build(left, expected or _meant(builder, left, beside=right))
    b = builder.build(right, expected or _meant(builder, right, beside=left))
    _comparable(builder, a, operator, b, span)
    return builder.apply(BOOL, COMPARISON[operator], (a, b), span)


def peek(builder: TermBuilder, expr: nodes.Expr) -> Type | None:
    """Return the type of an expression whose words the other side may use, without reporting anything."""
    if isinstance(expr, nodes.NameRef) and "{" not in expr.name and not _known(builder, expr.name):
        return None
    if isinstance(expr, nodes.NameRef | nodes.Member | nodes.Call | nodes.Index):
        quiet = evolve(builder, findings=Findings())
        kind = quiet.build(expr).type
        return None if kind.kind == "any" or (kind.kind == "word" and len(kind.words) == 1 and isinstance(expr, nodes.NameRef)) else kind
    if isinstance(expr, nodes.IfElse):
        branches = peek(builder, expr.value), peek(builder, expr.otherwise)
        return next((kind for kind in branches if is_wordy(kind)), branches[0])
    return None


def _meant(builder: TermBuilder, expr: nodes.Expr, beside: nodes.Expr) -> Type | None:
    """Return the type that a bare word has somewhere, where the name beside it means nothing: that name is the mistake, not the word."""
    kind = _word_type(builder, expr)
    if kind is None or not isinstance(beside, nodes.NameRef) or _known(builder, beside.name) or _word_type(builder, beside) is not None:
        return None
    return kind


def _word_type(builder: TermBuilder, expr: nodes.Expr) -> Type | None:
    if not isinstance(expr, nodes.NameRef) or _known(builder, expr.name):
        return None
    attrs = () if builder.scope.op is None else builder.scope.op.attrs.values()
    kinds = (attr.type.item if attr.type.kind == "list" and attr.type.item is not None else attr.type for attr in attrs)
    return DTYPE if canonical(expr.name) is not None else next((kind for kind in kinds if kind.kind == "word" and expr.name in kind.words), None)


def _known(builder: TermBuilder, name: str) -> bool:
    """Whether a bare name means something here by itself, and not only as a word of the other side."""
    scope = builder.scope
    op = scope.op
    if name in builder.params or name in scope.loops or name in scope.predicates or name in ("dtype", "threads", "os"):
        return True
    return op is not None and (name in op.dims or name in op.attrs)


def _comparable(builder: TermBuilder, a: Term, operator: str, b: Term, span: Span) -> None:
    one, two = a.type, b.type
    if "any" in (one.kind, two.kind):
        return
    if operator in ("==", "!="):
        for term, other in ((one, two), (two, one)):
            if term.kind == "null" and not other.nullable and other.kind != "null":
                builder.findings.add(
                    codes.NEVER_NULL.at(span, f"this is {with_article(other)}, which is never null", hint="only what is declared with `?` can be null")
                )
                return
        if join(one, two) is None and "null" not in (one.kind, two.kind):
            _mismatch(builder, one, two, span)
        return
    if (one.numeric and two.numeric) or (one.kind == two.kind == "version"):
        _open_ended(builder, a, b, span)
        return
    text = next((term for term in (a, b) if isinstance(term, Fact) and term.key.startswith("device:") and term.type.kind == "string"), None)
    if text is not None and {one.kind, two.kind} == {"string"}:
        builder.findings.add(
            codes.OPEN_ENDED.at(
                span,
                f"'{text.shown}' has no order: the next chip is not known to work",
                hint=f'name the ones that are: {text.shown} in ["…"]',
                severity="error",
            )
        )
        return
    if one.kind == two.kind and one.kind in ("string", "word", "dtype", "bool", "list", "null"):
        builder.findings.add(
            codes.TYPE_MISMATCH.at(span, f"`{operator}` orders numbers and versions, and this is {with_article(one)}", hint="compare with == or in")
        )
        return
    _mismatch(builder, one, two, span)


def _open_ended(builder: TermBuilder, a: Term, b: Term, span: Span) -> None:
    for term in (a, b):
        if isinstance(term, Fact) and term.key.startswith("device:") and term.key[7:] in ARCHITECTURE_NAMES:
            builder.findings.add(
                codes.OPEN_ENDED.at(
                    span,
                    f"'{term.shown}' names an architecture, and an order test lets the next chip in",
                    hint=f"name the ones that work: {term.shown} in […]",
                )
            )


def _mismatch(builder: TermBuilder, one: Type, two: Type, span: Span) -> None:
    hint = 'write version("…")' if {one.kind, two.kind} == {"version", "string"} else None
    builder.findings.add(codes.TYPE_MISMATCH.at(span, f"{with_article(one)} is compared with {with_article(two)}", hint=hint))


def _membership(builder: TermBuilder, left: nodes.Expr, right: nodes.Expr, span: Span) -> Term:
    if isinstance(right, nodes.RangeExpr):
        return _in_range(builder, left, right, span)
    if isinstance(right, nodes.ListExpr):
        kind = peek(builder, left)
        if not is_wordy(kind):
            kind = next((found for found in map(partial(peek, builder), right.items) if is_wordy(found)), kind if isinstance(left, nodes.NameRef) else None)
        x = builder.build(left, kind if is_wordy(kind) else None)
        items = [builder.build(item, kind if is_wordy(kind) else _meant(builder, item, beside=left)) for item in right.items]
        for item, node in zip(items, right.items, strict=True):
            _comparable(builder, x, "==", item, node.span)
        return builder.apply(BOOL, "in", (x, *items), span)
    collection = builder.build(right)
    if collection.type.kind not in ("list", "any"):
        return builder.wrong(codes.TYPE_MISMATCH, right.span, f"`in` takes a list or a range, and this is {with_article(collection.type)}")
    word = builder.build(left, collection.type.item if is_wordy(collection.type) else None)
    if collection.type.item is not None and join(word.type, collection.type.item) is None:
        _mismatch(builder, word.type, collection.type.item, span)
    return builder.apply(BOOL, "contains", (collection, word), span)


def _in_range(builder: TermBuilder, left: nodes.Expr, right: nodes.RangeExpr, span: Span) -> Term:
    x = builder.number(left, integer=True)
    if right.high is None:
        return builder.wrong(codes.BAD_RANGE, right.span, "a range after `in` has both ends", "write `>=`")
    low, high = builder.number(right.low, integer=True), builder.number(right.high, integer=True)
    step = builder.number(right.step, integer=True) if right.step is not None else Const(INT, 1)
    values = [constant_int(term) for term in (low, high, step)]
    if values[0] is not None and values[1] is not None and values[0] > values[1]:
        builder.findings.add(codes.BAD_RANGE.at(right.span, f"{values[0]}..{values[1]} holds nothing: the low end is above the high one"))
    if values[2] is not None and values[2] <= 0:
        builder.findings.add(codes.BAD_RANGE.at(right.span, f"the step is {values[2]}, and a step is positive"))
    return builder.apply(BOOL, "in_range", (x, low, high, step), span)


def _like(builder: TermBuilder, left: nodes.Expr, right: nodes.Expr, span: Span) -> Term:
    words = builder.build(left)
    if not isinstance(right, nodes.Pattern):
        return builder.wrong(codes.BAD_CALL, right.span, "`like` takes a pattern in brackets", "such as [bias?, (relu | gelu)?]")
    if words.type.kind == "any":
        return words
    item = words.type.item
    if words.type.kind != "list" or item is None or item.kind not in ("word", "string", "dtype"):
        return builder.wrong(codes.TYPE_MISMATCH, left.span, f"`like` matches a list of words, and this is {with_article(words.type)}")
    items = tuple(_pattern_item(builder, each, item) for each in right.items)
    return builder.apply(BOOL, "like", (words, Const(ANY, compile_pattern(evolve(right, items=items)))), span)


def _pattern_item(builder: TermBuilder, item: nodes.PatternItem, kind: Type) -> nodes.PatternItem:
    if isinstance(item, nodes.PatternWord):
        name = fill(item.name, builder.scope.loops, item.span, builder.findings)
        known = DTYPES if kind.kind == "dtype" else kind.words
        if name not in known and name in builder.scope.loops:
            name = builder.scope.loops[name].text
        if known and name not in known:
            builder.findings.add(codes.UNKNOWN_WORD.at(item.span, f"'{name}' is no value of this list", hint=did_you_mean(name, known, "value")))
        return evolve(item, name=name)
    if isinstance(item, nodes.PatternChoice):
        return evolve(item, options=tuple(_pattern_item(builder, option, kind) for option in item.options))
    if isinstance(item, nodes.PatternRepeat):
        return evolve(item, item=_pattern_item(builder, item.item, kind))
    return item
