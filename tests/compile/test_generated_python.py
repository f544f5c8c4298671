"""Generated Python says what the interpreter says, message for message, whatever the names and strings are."""

from __future__ import annotations

import ast
import itertools
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tessera_rules.compile.evaluate import UNKNOWN, ClauseError
from tessera_rules.compile.python import LIMIT, Emitter, compile_gate, compile_scalar, fits
from tessera_rules.model.terms import Const, Fact, Term, Version
from tessera_rules.model.types import BOOL, DTYPE, FLOAT, INT, STRING, VERSION, Type
from tests.compile.term_strategies import (
    EDGES,
    SMALL,
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
    epilogue,
    examples,
    integers,
    known,
    maybe,
    outcome,
    pattern,
    same,
    scale,
    t,
    word,
)


def generated(term: Term, values: dict[str, Any]) -> Any:
    try:
        return compile_scalar(term)(values)
    except ClauseError as problem:
        return problem


def agree(term: Term, values: dict[str, Any]) -> None:
    expected, found = outcome(term, values), generated(term, values)
    assert same(expected, found), (expected, found)


VALUES = st.fixed_dictionaries(
    {
        "dim:M": SMALL | EDGES,
        "dim:N": SMALL | EDGES,
        "dim:K": SMALL | EDGES,
        "dtype": st.sampled_from(["f16", "f32", "i4"]),
        "attr:causal": st.booleans(),
    }
)


@settings(max_examples=examples(300), deadline=None, derandomize=True)
@given(conditions() | integers(), VALUES)
def test_small_numbers(term: Term, values: dict[str, Any]) -> None:
    agree(term, values)


@settings(max_examples=examples(300), deadline=None, derandomize=True)
@given(conditions(EDGES | SMALL) | integers(EDGES | SMALL), VALUES)
def test_numbers_at_the_edges_of_machine_integers(term: Term, values: dict[str, Any]) -> None:
    agree(term, values)


ANY_VALUE = [3, 0, -1, 2**63, 10**30, 2.5, 0.0, float("inf"), float("nan"), True, False, None, "f16", "relu", Version("1.2"), ("relu",), (), (1, 2), 1e308]
ONE = ["neg", "abs", "sqrt", "is_pow2", "log2", "bits", "bytes", "not", "min", "max"]
TWO = [
    "add",
    "sub",
    "mul",
    "div",
    "floordiv",
    "mod",
    "ceil_div",
    "align_up",
    "gcd",
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
    "min",
    "max",
    "and",
    "or",
    "in",
    "contains",
    "index",
]


def typed_fact(value: Any, name: str) -> Fact:
    """A fact whose declared type is that of a value, and that may be null where the value is."""
    kinds = {bool: BOOL, int: INT, float: FLOAT, str: STRING, Version: VERSION, tuple: Type("list", item=STRING), type(None): Type("float", nullable=True)}
    return Fact(kinds[type(value)], f"attr:{name}", name)


@pytest.mark.parametrize("op", ONE + TWO)
def test_every_operator_on_every_kind_of_value(op: str) -> None:
    for values in itertools.product(ANY_VALUE, repeat=1 if op in ONE else 2):
        for as_facts in itertools.product((True, False), repeat=len(values)):
            args = [typed_fact(value, f"x{i}") if fact else const(value) for i, (value, fact) in enumerate(zip(values, as_facts, strict=True))]
            given_values = {f"attr:x{i}": value for i, value in enumerate(values)}
            agree(t(op, *args), given_values)


@pytest.mark.parametrize("wrong", ANY_VALUE, ids=repr)
def test_a_value_that_its_type_does_not_have_goes_the_interpreters_way(wrong: Any) -> None:
    for fact in (M, dtype, causal, scale, driver, epilogue, act):
        for term in (
            t("eq", fact, 3),
            t("or", t("eq", N, 1), t("eq", fact, 3)),
            t("in", fact, 1, 2),
            t("if", True, fact, fact),
            t("like", fact, pattern(maybe(word("relu")))),
        ):
            agree(term, {"dim:N": 1, fact.key: wrong})
    assert fits(LIMIT - 1, INT)
    assert not fits(LIMIT, INT)
    assert not fits(UNKNOWN, INT)


def test_what_is_missing_is_an_error_only_where_it_is_met() -> None:
    term = t("or", t("eq", M, 1), t("eq", N, 1))
    assert compile_scalar(term)({"dim:M": 1}) is True
    with pytest.raises(ClauseError, match="dim:N"):
        compile_scalar(term)({"dim:M": 2})


def test_x_of_a_membership_is_computed_once_and_first() -> None:
    agree(t("in", t("mod", 1, 0)), {})
    agree(t("in", t("mod", M, N), t("floordiv", 1, 0), 3), known(M=1, N=0))
    agree(t("in", t("add", M, 1), N, t("mod", 1, 0)), known(M=1, N=2))
    agree(t("in", t("add", M, 1), 5, t("mod", 1, 0)), known(M=1, N=2))
    agree(t("in_range", t("mul", M, N), 2, 9, 3), known(M=2, N=4))


HOSTILE = ['"); import os; (', "*/", "\n", "\\", "'", '"""', "__import__('os')", "f0", "None", "\x00", "\ud800", "{x}", "é", "class"]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_names_and_strings_are_only_data(text: str) -> None:
    fact = Fact(STRING, f"probe:env:{text}", text)
    number = Fact(INT, f"dim:{text}", text)
    term = t("and", t("eq", fact, text), t("in", fact, text, "x"), t("ge", number, 3), t("like", epilogue, pattern(word(text))))
    for value in (text, text + "x"):
        agree(term, {fact.key: value, number.key: 3, epilogue.key: (text,)})


@example("__class__")
@settings(max_examples=examples(40), deadline=None, derandomize=True)
@given(st.text(max_size=8))
def test_no_text_of_a_rule_becomes_code(text: str) -> None:
    term = t("or", t("eq", Fact(STRING, text, text), text), t("mod", Fact(INT, f"dim:{text}", text), 0))
    emitter = Emitter({text: "f0", f"dim:{text}": "f1"})
    for node in ast.walk(emitter.expression(term)):
        assert not isinstance(node, ast.Attribute | ast.Lambda | ast.JoinedStr)
        if isinstance(node, ast.Name):
            assert node.id in {"f0", "f1"} | set(emitter.namespace)


@settings(max_examples=examples(150), deadline=None, derandomize=True)
@given(st.lists(conditions(), min_size=1, max_size=5), VALUES)
def test_a_gate_names_the_first_that_is_not_true(terms: list[Term], values: dict[str, Any]) -> None:
    values = {key: value % 64 if key.startswith("dim") else value for key, value in values.items()}
    gate = compile_gate(terms)
    found = gate.run(*(values[fact.key] for fact in gate.facts))
    for place, term in enumerate(terms):
        expected = outcome(term, values)
        if expected is not True:
            assert found == ((place, expected) if isinstance(expected, ClauseError) else place)
            return
    assert found == -1


def test_straight_line_code_calls_nothing_where_nothing_can_fail() -> None:
    term = t(
        "and",
        t("eq", t("mod", K, 16), 0),
        t("le", t("mul", M, N), 4096),
        t("in", dtype, Const(DTYPE, "f16"), Const(DTYPE, "bf16")),
        t("in_range", K, 16, 256, 16),
    )
    emitter = Emitter({"dim:K": "f0", "dim:M": "f1", "dim:N": "f2", "dtype": "f3"})
    assert not [node for node in ast.walk(emitter.condition(term)) if isinstance(node, ast.Call)]
    assert emitter.namespace == {}


def test_products_that_may_pass_the_limit_are_checked() -> None:
    term: Any = M
    for _ in range(80):
        term = t("mul", term, M)
    whole = t("le", term, 10)
    agree(whole, known(M=2**62))
    agree(whole, known(M=1))


def test_deep_and_wide_terms_compile() -> None:
    deep: Any = t("eq", M, 1)
    for _ in range(270):
        deep = t("not", deep)
    agree(deep, known(M=1))
    wide = t("or", *(t("eq", M, i) for i in range(3000)))
    agree(wide, known(M=2999))
    assert compile_scalar(as_term(True))({}) is True


def test_a_condition_of_no_boolean_is_an_error() -> None:
    for value in (3, None, "x"):
        agree(t("and", True, value), {})
        agree(t("not", typed_fact(value, "x")), {"attr:x": value})
    agree(t("eq", arch, "x"), known(arch="y"))
