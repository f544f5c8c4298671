"""Expressions as trees and whole files as text, made at random from the grammar."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from tessera_rules.source import Source, Span
from tessera_rules.syntax import nodes

SPAN = Span(Source("made", ""), 0, 0)

NAMES = ["M", "N", "head_dim", "dtype", "q", "test", "op", "order", "tier", "in_", "gelu", "f16", "s", "a_{s}", "{t}", "probe", "targets"]
WORDS = st.sampled_from(["bias", "relu", "gelu", "silu", "x_{s}"])
names = st.sampled_from(NAMES)
strings = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc", "Cf", "Zl", "Zp"]) | st.sampled_from('"\\\n\t{}#;'), max_size=8)


def _leaf() -> st.SearchStrategy[nodes.Expr]:
    return st.one_of(
        st.integers(0, 2**70).map(lambda value: nodes.IntLit(value, span=SPAN)),
        st.floats(0, 1e30, allow_nan=False).map(lambda value: nodes.FloatLit(value, span=SPAN)),
        strings.map(lambda value: nodes.StrLit(value, span=SPAN)),
        st.booleans().map(lambda value: nodes.BoolLit(value, span=SPAN)),
        st.just(nodes.NullLit(span=SPAN)),
        names.map(lambda name: nodes.NameRef(name, span=SPAN)),
        st.tuples(names, names).map(lambda pair: nodes.Member(nodes.NameRef(pair[0], span=SPAN), pair[1], span=SPAN)),
        strings.map(lambda value: nodes.Call("probe python", (nodes.StrLit(value, span=SPAN),), function_span=SPAN, span=SPAN)),
    )


def _pattern_items() -> st.SearchStrategy[nodes.PatternItem]:
    def units(inner: st.SearchStrategy[nodes.PatternItem]) -> st.SearchStrategy[nodes.PatternItem]:
        choice = st.lists(inner, min_size=1, max_size=3).map(lambda options: nodes.PatternChoice(tuple(options), span=SPAN))
        unit = choice | word
        return unit | st.tuples(unit, st.sampled_from("?*")).map(lambda pair: nodes.PatternRepeat(pair[0], pair[1], span=SPAN))  # type: ignore[arg-type]

    word: st.SearchStrategy[Any] = WORDS.map(lambda name: nodes.PatternWord(name, span=SPAN))
    return st.recursive(word | st.just(nodes.PatternAny(span=SPAN)), units, max_leaves=5)


patterns = st.lists(_pattern_items(), max_size=3).map(lambda items: nodes.Pattern(tuple(items), span=SPAN))


def _larger(inner: st.SearchStrategy[nodes.Expr]) -> st.SearchStrategy[nodes.Expr]:
    several = st.lists(inner, min_size=2, max_size=3).map(tuple)
    lists = st.lists(inner, max_size=3).map(lambda items: nodes.ListExpr(tuple(items), span=SPAN))
    ranges = st.tuples(inner, inner, st.none() | inner).map(lambda parts: nodes.RangeExpr(*parts, span=SPAN))

    @st.composite
    def compares(draw: st.DrawFn) -> nodes.Expr:
        operands = [draw(inner)]
        operators: list[Any] = []
        for _ in range(draw(st.integers(1, 3))):
            operator = draw(st.sampled_from(["==", "!=", "<", "<=", ">", ">=", "in", "not in", "like"]))
            operators.append(operator)
            operands.append(draw(patterns if operator == "like" else (lists | ranges | inner) if operator.endswith("in") else inner))
        return nodes.Compare(tuple(operands), tuple(operators), span=SPAN)

    @st.composite
    def calls(draw: st.DrawFn) -> nodes.Expr:
        keywords = draw(st.lists(st.tuples(names.map(lambda name: nodes.Name(name, span=SPAN)), inner), max_size=2))
        return nodes.Call(draw(names), tuple(draw(st.lists(inner, max_size=2))), tuple(keywords), function_span=SPAN, span=SPAN)

    return st.one_of(
        st.tuples(st.sampled_from(["+", "-", "*", "/", "//", "%"]), inner, inner).map(lambda parts: nodes.Binary(*parts, span=SPAN)),  # type: ignore[arg-type]
        st.tuples(st.sampled_from(["-", "not"]), inner).map(lambda parts: nodes.Unary(*parts, span=SPAN)),  # type: ignore[arg-type]
        st.tuples(st.sampled_from(["and", "or"]), several).map(lambda parts: nodes.BoolOp(*parts, span=SPAN)),  # type: ignore[arg-type]
        st.tuples(inner, inner, inner).map(lambda parts: nodes.IfElse(*parts, span=SPAN)),
        st.tuples(inner, inner).map(lambda parts: nodes.Index(*parts, span=SPAN)),
        compares(),
        calls(),
        lists,
    )


expressions = st.recursive(_leaf(), _larger, max_leaves=12)

# ---- files as text ---------------------------------------------------------------------------------------------------

_COMMENT = st.sampled_from(["", "", "", "  # note", " # or", "# ; and }", '  # "', "\t#"])
_PLAIN = st.sampled_from(
    ["M % 16 == 0", "a and (b or not c)", "1 <= M <= 64", "x like [a?, (b | c)*]", "f(x, n=3) > -2", "q in 16..256 step 16", 'env("X") != null', "s"]
)


@st.composite
def _between(draw: st.DrawFn) -> str:
    """What may part two fields: at least one newline or `;`, with comments."""
    if draw(st.integers(0, 4)) == 0:
        return " ; "
    return "".join(draw(_COMMENT) + "\n" + draw(st.sampled_from(["", "  ", "\t"])) for _ in range(draw(st.integers(1, 3))))


@st.composite
def _block(draw: st.DrawFn, fields: st.SearchStrategy[str]) -> str:
    pieces = draw(st.lists(fields, max_size=4))
    text = "{" + draw(st.sampled_from(["", " ", "\n", " # open\n"]))
    for number, piece in enumerate(pieces):
        text += (draw(_between()) if number else "") + piece
    return text + draw(st.sampled_from([" ", "\n", "  # last\n", ";"])) + "}"


@st.composite
def _clauses(draw: st.DrawFn) -> str:
    clause = st.tuples(_PLAIN, st.sampled_from(["", ' because "x"', '\n  because "y # z"'])).map("".join)
    return draw(_block(clause))


_fields = st.one_of(
    st.sampled_from(
        [
            "tier emitted", "target x", "op  y", "tags [a,b]", "honours [ ]", "computes float16", "deterministic", "cost 2.0*M", "uses fft( B=B )",
            "accuracy { atol 1e-3   rtol 2e-2 }", "accuracy {\n atol 1e-3 # a\n rtol 2e-2 }", 'bind python "m:f" with (a = 1, b=2)',
            'bind native "l" symbol "s" (ptr a,\n ptr? b, i64 n = M)\n returns i32 { ok 0 ; decline 2 }',
        ]
    ),
    st.tuples(st.sampled_from(["requires", "available", "avoid"]), _clauses()).map(" ".join),
    _clauses().map(lambda text: f"guard {text} else other"),
)  # fmt: skip
_test_fields = st.sampled_from(
    [
        "request a on b { dtype half  M 1 N 2 }",
        'device { arch "x" }',
        "assume available all",
        "expect not a",
        'expect a refused by "M == 1"',
        "for m in 1..4 step 2",
    ]
)
_rule_fields = st.sampled_from(["op a  target b", "when M < 3 and\n N > 2", "deny a, tier x", 'prefer "a*" over tag t', 'because "why"'])


@st.composite
def _declaration(draw: st.DrawFn, depth: int = 0) -> str:
    name = draw(st.sampled_from(["a", "b_{s}", "{t}"]))
    kind = draw(st.integers(0, 5 if depth < 2 else 4))
    if kind == 0:
        return f"candidate {name} " + draw(_block(_fields))
    if kind == 1:
        return f"predicate {name}(x, y)  =  " + draw(_PLAIN)
    if kind == 2:
        return 'test "t"  ' + draw(_block(_test_fields))
    if kind == 3:
        return f"rule {name} " + draw(_block(_rule_fields))
    if kind == 4:
        return f"op {name} " + draw(
            _block(st.sampled_from(["operand q?:[M,N]", "result [M] i32", "attr a: list of [x, y] = []", "dim M in 1..", 'check M>0 because "x"']))
        )
    inner = draw(st.lists(_declaration(depth + 1), min_size=1, max_size=2))
    return "for (s,t) in [(f16,1),(bf16 , 2)] {\n" + "\n\n".join(inner) + "\n}"


@st.composite
def files(draw: st.DrawFn) -> str:
    """A text that has no syntax error."""
    text = draw(st.sampled_from(["", "# first\n", "\n\n"])) + "tessera 1"
    for declaration in draw(st.lists(_declaration(), max_size=4)):
        text += draw(_between()) + declaration
    return text + draw(st.sampled_from(["", "\n", "\n\n\n", "  # end", " # end\n"]))
