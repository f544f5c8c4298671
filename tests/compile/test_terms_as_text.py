"""Terms as text: what is printed, parsed and built again is printed the same and means the same."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tessera_rules.model.load import load
from tessera_rules.model.show import render, show
from tessera_rules.model.terms import Apply, Const, Term, Version
from tessera_rules.model.types import DTYPE, STRING, Type
from tests.compile.term_strategies import (
    ANYTHING,
    K,
    M,
    N,
    act,
    arch,
    as_term,
    causal,
    conditions,
    const,
    driver,
    dtype,
    either,
    epilogue,
    examples,
    many,
    maybe,
    outcome,
    pattern,
    same,
    scale,
    t,
    word,
)

RULES = """
op matmul {
  operand a: [M, K]
  operand b: [K, N]
  result [M, N]
  attr act: one of [none, relu, gelu] = none
  attr epilogue: list of [bias, relu, gelu, silu] = []
  attr causal: bool = false
  attr scale: float?
  dtype a
  reference python "no.such.module:matmul"
}
target gpu {
  fact arch: string
  fact driver: version
}
"""
CANDIDATE = 'candidate c {{ tier emitted; target gpu; op matmul; guard {{ {text} }}; bind python "no.such.module:c" }}\n'


def read(text: str) -> Term:
    """Parse and build a condition in a scope that has the names of `term_strategies`."""
    loaded = load([], texts={"ops.tsr": RULES, "c.tsr": CANDIDATE.format(text=text)})
    errors = [finding.message for finding in loaded.findings if finding.severity == "error"]
    assert errors == [], text
    guard = loaded.ruleset.candidates["c"].guard
    assert guard is not None
    (clause,) = guard.clauses
    return clause.term


def _no_constant_mistakes(term: Term) -> bool:
    """Whether a term has none of what is an error at lint already: constant divisors that are not positive, empty ranges."""
    pending = [term]
    while pending:
        part = pending.pop()
        if isinstance(part, Apply):
            values = [outcome(arg, {}) for arg in part.args]
            if part.op in ("floordiv", "mod", "ceil_div", "align_up", "in_range") and not (isinstance(values[-1], int) and values[-1] > 0):
                return False
            if part.op == "in_range" and isinstance(values[1], int) and isinstance(values[2], int) and values[1] > values[2]:
                return False
            pending.extend(part.args)
    return True


@settings(max_examples=examples(60), deadline=None, derandomize=True)
@given(conditions().filter(_no_constant_mistakes), st.randoms(use_true_random=False))
def test_D10_printed_parsed_and_built_again_it_is_the_same(term: Apply, random: Any) -> None:
    text = show(term)
    again = read(text)
    assert show(again) == text
    for _ in range(6):
        values = {f"dim:{name}": random.randrange(0, 12) for name in "MNK"} | {"dtype": random.choice(["f16", "i4"]), "attr:causal": random.random() < 0.5}
        assert same(outcome(term, values), outcome(again, values)), text


EXACT = [
    (t("eq", t("mod", t("neg", M), N), 0), "-M % N == 0"),
    (t("eq", t("neg", t("mod", M, N)), 0), "-(M % N) == 0"),
    (t("and", t("not", causal), causal), "not causal and causal"),
    (t("not", t("and", causal, causal)), "not (causal and causal)"),
    (t("not", t("eq", M, N)), "not M == N"),
    (t("eq", t("sub", M, t("sub", N, K)), 0), "M - (N - K) == 0"),
    (t("eq", t("sub", t("sub", M, N), K), 0), "M - N - K == 0"),
    (t("eq", t("mul", t("add", M, N), K), 0), "(M + N) * K == 0"),
    (t("eq", t("mul", M, t("floordiv", N, K)), 0), "M * (N // K) == 0"),
    (t("eq", t("floordiv", t("mul", M, N), K), 0), "M * N // K == 0"),
    (t("or", t("and", causal, t("lt", M, N)), t("ge", M, 2)), "causal and M < N or M >= 2"),
    (t("and", t("or", causal, t("lt", M, N)), t("ge", M, 2)), "(causal or M < N) and M >= 2"),
    (t("le", K, t("if", causal, 256, 128)), "K <= (256 if causal else 128)"),
    (t("if", causal, t("lt", M, 1), t("if", t("eq", M, 2), causal, t("lt", N, 3))), "M < 1 if causal else causal if M == 2 else N < 3"),
    (t("if", t("if", causal, causal, causal), causal, causal), "causal if (causal if causal else causal) else causal"),
    (t("eq", t("eq", M, N), causal), "(M == N) == causal"),
    (t("in_range", K, 16, 256, 16), "K in 16..256 step 16"),
    (t("not", t("in_range", K, t("mul", 2, M), 256, 1)), "K not in 2 * M..256"),
    (t("not", t("in", K, 1, 2)), "K not in [1, 2]"),
    (t("not", t("contains", epilogue, Const(act.type, "relu"))), "relu not in epilogue"),
    (t("like", epilogue, pattern(maybe(word("bias")), many(either(word("relu"), word("gelu"))), ANYTHING)), "epilogue like [bias?, (relu | gelu)*, *]"),
    (t("not", t("like", epilogue, pattern())), "not epilogue like []"),
    (t("eq", dtype, Const(DTYPE, "f16")), "dtype == f16"),
    (t("in", act, Const(act.type, "relu"), Const(act.type, "none")), "act in [relu, none]"),
    (t("eq", scale, None), "scale == null"),
    (t("le", scale, 1e-05), "scale <= 1e-05"),
    (t("le", scale, 1e22), "scale <= 1e22"),
    (t("le", t("sqrt", t("div", M, t("mul", N, 2))), 2.5), "sqrt(M / (N * 2)) <= 2.5"),
    (t("lt", driver, Version("12.9")), 'device.driver < version("12.9")'),
    (t("eq", arch, 'a"\\\n\t*/ {x} \u202e\U0001f600'), 'device.arch == "a\\"\\\\\\n\\t*/ {x} \\u{202E}\U0001f600"'),
    (t("le", t("max", t("abs", t("sub", M, N)), t("gcd", M, 4), t("align_up", M, 8)), t("log2", K)), "max(abs(M - N), gcd(M, 4), align_up(M, 8)) <= log2(K)"),
    (t("eq", t("sub", M, -5), t("neg", t("neg", 3))), "M - -5 == -(-3)"),
    (t("le", M, 2**70), f"M <= {2**70}"),
]  # fmt: skip


@pytest.mark.parametrize(("term", "text"), EXACT, ids=[text for _, text in EXACT])
def test_D10_brackets_stand_where_the_meaning_needs_them(term: Apply, text: str) -> None:
    assert show(term) == text
    assert show(read(text)) == text


@example("\x00\x7f\x85\u2028\ufeff")
@settings(max_examples=examples(50), deadline=None, derandomize=True)
@given(st.text(max_size=20))
def test_every_string_reads_back(value: str) -> None:
    term = read(show(t("eq", arch, value)))
    assert isinstance(term, Apply)
    assert isinstance(term.args[1], Const)
    assert term.args[1].value == value


@settings(max_examples=examples(50), deadline=None, derandomize=True)
@given(st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(2**200), 2**200))
def test_every_number_reads_back(value: float) -> None:
    assert same(outcome(read(show(t("le", scale, value))).args[1], {}), value)  # type: ignore[attr-defined]


def test_values() -> None:
    assert show(t("eq", t("index", epilogue, 0), Const(act.type, "relu"))) == "epilogue[0] == relu"
    assert render(("bias", "relu"), Type("list", item=act.type)) == "[bias, relu]"
    assert render("gfx-1", act.type) == '"gfx-1"'
    assert render("null", act.type) == '"null"'
    assert [render(each) for each in (True, False, None, 3, -3, 2.5)] == ["true", "false", "null", "3", "-3", "2.5"]
    assert render("a", STRING) == '"a"'
    assert show(as_term(const(()))) == "[]"


def test_aligned_is_printed_as_it_is_written() -> None:
    term = load([], texts={"o.tsr": RULES, "c.tsr": CANDIDATE.format(text="aligned(a, 16) and not aligned(b, 32)")}).ruleset.candidates["c"].guard
    assert term is not None
    assert show(term.clauses[0].term) == "aligned(a, 16) and not aligned(b, 32)"
