"""Terms written by hand and drawn at random, for every test of an evaluator."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator, Mapping
from typing import Any

from hypothesis import strategies as st

from tessera_rules.compile.evaluate import UNKNOWN, ClauseError, evaluate
from tessera_rules.model.patterns import Matcher
from tessera_rules.model.terms import Apply, Const, Fact, Term, Version
from tessera_rules.model.types import BOOL, DTYPE, FLOAT, INT, NULL, STRING, VERSION, Type
from tessera_rules.source import Source, Span
from tessera_rules.syntax import nodes

PLACE = Span(Source("by hand", ""), 0, 0)
ACT = Type("word", words=("none", "relu", "gelu"))
WORDS = Type("list", item=Type("word", words=("bias", "relu", "gelu", "silu")))
SCALE = Type("float", nullable=True)

M, N, K = (Fact(INT, f"dim:{name}", name) for name in "MNK")
dtype = Fact(DTYPE, "dtype", "dtype")
act = Fact(ACT, "attr:act", "act")
epilogue = Fact(WORDS, "attr:epilogue", "epilogue")
causal = Fact(BOOL, "attr:causal", "causal")
scale = Fact(SCALE, "attr:scale", "scale")
driver = Fact(VERSION, "device:driver", "device.driver")
arch = Fact(STRING, "device:arch", "device.arch")

NUMERIC = {"add", "sub", "mul", "floordiv", "mod", "neg", "abs", "min", "max", "ceil_div", "align_up", "gcd", "log2", "bits", "bytes"}


def const(value: Any) -> Const:
    kinds = {bool: BOOL, int: INT, float: FLOAT, type(None): NULL, Version: VERSION, str: STRING}
    return Const(kinds.get(type(value), Type("any")), value)


def as_term(value: Any) -> Term:
    return value if isinstance(value, Term) else const(value)


def t(op: str, *args: Any) -> Apply:
    """Return ``op`` over terms and plain values."""
    kind = INT if op in NUMERIC else FLOAT if op in ("div", "sqrt") else BOOL
    terms = tuple(map(as_term, args))
    if op == "if":
        kind = terms[1].type
    elif op in ("add", "sub", "mul", "neg", "min", "max", "abs") and any(arg.type.kind == "float" for arg in terms):
        kind = FLOAT
    return Apply(kind, op, terms)


def word(name: str) -> nodes.PatternWord:
    return nodes.PatternWord(name, span=PLACE)


def maybe(item: nodes.PatternItem) -> nodes.PatternRepeat:
    return nodes.PatternRepeat(item, "?", span=PLACE)


def many(item: nodes.PatternItem) -> nodes.PatternRepeat:
    return nodes.PatternRepeat(item, "*", span=PLACE)


def either(*options: nodes.PatternItem) -> nodes.PatternChoice:
    return nodes.PatternChoice(options, span=PLACE)


ANYTHING = nodes.PatternAny(span=PLACE)


def pattern(*items: nodes.PatternItem) -> Const:
    return Const(Type("any"), Matcher(items))


def known(**values: Any) -> dict[str, Any]:
    """Return a mapping from fact keys, with a dimension's name standing for its key."""
    keys = {"dtype": "dtype", "act": "attr:act", "epilogue": "attr:epilogue", "causal": "attr:causal", "scale": "attr:scale", "driver": "device:driver"}
    keys |= {"arch": "device:arch"}
    return {keys.get(name, f"dim:{name}"): value for name, value in values.items()}


def outcome(term: Term, values: Mapping[str, Any]) -> Any:
    """Return the value of a term, `UNKNOWN`, or its `ClauseError`; names not in ``values`` are unknown."""
    try:
        return evaluate(term, lambda key: values.get(key, UNKNOWN))
    except ClauseError as problem:
        return problem


def same(a: Any, b: Any) -> bool:
    """Whether two outcomes are the same value of the same type."""
    return type(a) is type(b) and (a == b or (a != a and b != b))


def completions(values: Mapping[str, Any], universe: Mapping[str, list[Any]]) -> Iterator[dict[str, Any]]:
    """Yield every way to give the names that ``values`` lacks a value."""
    open_keys = [key for key in universe if key not in values]
    for choice in itertools.product(*(universe[key] for key in open_keys)):
        yield {**values, **dict(zip(open_keys, choice, strict=True))}


def examples(count: int) -> int:
    """How many cases a property is tried on: twenty times as many under ``make deep``."""
    return count * 20 if os.environ.get("TSR_DEEP") else count


# ---- drawn at random ----------------------------------------------------------------------------------------------

SMALL = st.integers(-3, 9)
EDGES = st.sampled_from([0, 1, 2, 3, 7, 8, 16, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**62, 2**63 - 1, 2**63, 2**64, -1, -(2**31), -(2**63), -(2**63) - 1])


@st.composite
def integers(draw: st.DrawFn, numbers: st.SearchStrategy[int] = SMALL, depth: int = 3) -> Term:
    """Draw an integer term over M, N, K."""
    form = draw(st.sampled_from(["fact", "const"] + (["two"] * 4 + ["one", "if"] if depth else [])))
    if form == "fact":
        return draw(st.sampled_from([M, N, K]))
    if form == "const":
        return const(draw(numbers))
    a = draw(integers(numbers, depth - 1))
    if form == "one":
        return t(draw(st.sampled_from(["neg", "abs", "log2"])), a)
    b = draw(integers(numbers, depth - 1))
    if form == "if":
        return t("if", draw(conditions(numbers, 0)), a, b)
    return t(draw(st.sampled_from(["add", "sub", "mul", "floordiv", "mod", "ceil_div", "align_up", "gcd", "min", "max"])), a, b)


LEAVES = ["compare"] * 3 + ["in", "in_range", "dtype", "bits", "fact", "const", "is_pow2"]


@st.composite
def conditions(draw: st.DrawFn, numbers: st.SearchStrategy[int] = SMALL, depth: int = 3) -> Term:
    """Draw a condition over M, N, K, dtype and causal."""
    form = draw(st.sampled_from(LEAVES + (["and", "or"] * 3 + ["not", "if"] if depth else [])))
    inner = integers(numbers, max(depth - 1, 0))
    if form == "compare":
        return t(draw(st.sampled_from(["eq", "ne", "lt", "le", "gt", "ge"])), draw(inner), draw(inner))
    if form == "in":
        return t("in", *draw(st.lists(inner, min_size=1, max_size=4)))
    if form == "in_range":
        return t("in_range", draw(inner), draw(inner), draw(inner), draw(numbers.map(lambda n: abs(n) + 1) | numbers))
    if form == "dtype":
        return t("eq", dtype, Const(DTYPE, draw(st.sampled_from(["f16", "f32", "i4"]))))
    if form == "bits":
        return t("le", t(draw(st.sampled_from(["bits", "bytes"])), dtype), draw(numbers))
    if form == "fact":
        return causal
    if form == "const":
        return const(draw(st.booleans()))
    if form == "is_pow2":
        return t("is_pow2", draw(inner))
    below = conditions(numbers, depth - 1)
    if form == "not":
        return t("not", draw(below))
    if form == "if":
        return t("if", draw(below), draw(below), draw(below))
    return t(form, *draw(st.lists(below, min_size=2, max_size=3)))
