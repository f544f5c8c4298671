"""Arrays of requests have the answers that the interpreter gives one by one, past 64 bits too."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tessera_rules.compile.evaluate import ClauseError, truth
from tessera_rules.compile.vectorized import compile_vectorized
from tessera_rules.model.terms import Apply, Const, Fact, Term
from tessera_rules.model.types import DTYPE, FLOAT, Type
from tests.compile.term_strategies import (
    EDGES,
    SMALL,
    K,
    M,
    N,
    arch,
    as_term,
    causal,
    conditions,
    const,
    dtype,
    epilogue,
    examples,
    integers,
    outcome,
    same,
    scale,
    t,
)

MACHINE = EDGES.filter(lambda n: -(2**63) <= n < 2**63)


def agree(term: Term, columns: dict[str, Any], length: int) -> Any:
    """Compare with the interpreter, element by element, errors with their messages."""
    answers = compile_vectorized(term)(columns)
    for place in range(length):
        values = {
            key: (value[place].item() if value.dtype != object else value[place]) if isinstance(value, np.ndarray) else value for key, value in columns.items()
        }
        expected = truth(term, values.__getitem__)
        found = answers.error(place) or bool(answers.true[place])
        assert same(expected, found) or expected == found, (values, expected, found)
    return answers


@st.composite
def columns(draw: st.DrawFn, numbers: st.SearchStrategy[int]) -> dict[str, Any]:
    length = draw(st.integers(1, 6))
    found: dict[str, Any] = {}
    for name in "MNK":
        column = draw(st.lists(numbers, min_size=length, max_size=length))
        kind = np.int64 if all(-(2**63) <= n < 2**63 for n in column) else object
        found[f"dim:{name}"] = np.array(column, kind) if draw(st.integers(0, 4)) else column[0]
    found["dim:M"] = np.array(draw(st.lists(MACHINE, min_size=length, max_size=length)), np.int64) if found["dim:M"] is None else found["dim:M"]
    found["dtype"] = draw(st.sampled_from(["f16", "f32", "i4"]))
    flags = np.array(draw(st.lists(st.booleans(), min_size=length, max_size=length)))
    found["attr:causal"] = flags
    return found


@settings(max_examples=examples(150), deadline=None, derandomize=True)
@given(conditions(), columns(SMALL))
def test_small_numbers(term: Apply, values: dict[str, Any]) -> None:
    agree(term, values, len(values["attr:causal"]))


@settings(max_examples=examples(200), deadline=None, derandomize=True)
@given(conditions(EDGES | SMALL), columns(MACHINE | SMALL))
def test_numbers_at_the_edges_of_machine_integers(term: Apply, values: dict[str, Any]) -> None:
    agree(term, values, len(values["attr:causal"]))


@settings(max_examples=examples(75), deadline=None, derandomize=True)
@given(conditions(EDGES), columns(EDGES | st.just(10**30)))
def test_numbers_past_machine_integers_come_as_objects(term: Apply, values: dict[str, Any]) -> None:
    agree(term, values, len(values["attr:causal"]))


@settings(max_examples=examples(100), deadline=None, derandomize=True)
@given(integers(EDGES | SMALL), columns(MACHINE | SMALL))
def test_terms_that_are_no_conditions_have_their_values(term: Term, values: dict[str, Any]) -> None:
    column = compile_vectorized(term).column(values)
    for place in range(len(values["attr:causal"])):
        expected = outcome(term, {key: value[place].item() if isinstance(value, np.ndarray) else value for key, value in values.items()})
        failed = column.failed if isinstance(column.failed, bool) else bool(column.failed[place])
        assert failed is isinstance(expected, ClauseError)
        if not failed:
            found = column.values[place] if isinstance(column.values, np.ndarray) else column.values
            assert int(found) == expected


X, Y = Fact(FLOAT, "attr:x", "x"), Fact(FLOAT, "attr:y", "y")
FLOATS = [0.0, -0.0, 1.0, -1.5, 1e300, -1e300, 5e-324, float("inf"), float("-inf"), float("nan"), 2.0**53, 2.0**63]
INTEGERS = [0, 1, -1, 2**53, 2**53 + 1, -(2**53) - 1, 2**63 - 1, -(2**63)]


@pytest.mark.parametrize("op", ["add", "sub", "mul", "div", "min", "max"])
@pytest.mark.parametrize("pairs", ["float float", "float int", "int float", "int int"])
def test_floats_compute_as_the_interpreter_does(op: str, pairs: str) -> None:
    sides = [FLOATS if each == "float" else INTEGERS for each in pairs.split()]
    grid = [(a, b) for a in sides[0] for b in sides[1]]
    arrays = {key: np.array([pair[i] for pair in grid]) for i, key in enumerate(("attr:x", "attr:y"))}
    for limit in (0, 1e300):
        agree(t("le", t(op, X, Y), limit), arrays, len(grid))
        agree(t("eq", t(op, X, Y), t(op, Y, X)), arrays, len(grid))


@pytest.mark.parametrize("op", ["eq", "ne", "lt", "le", "gt", "ge"])
def test_floats_and_large_integers_compare_without_rounding(op: str) -> None:
    grid = [(a, b) for a in [*FLOATS, float(2**53)] for b in INTEGERS]
    arrays = {"attr:x": np.array([a for a, _ in grid]), "dim:M": np.array([b for _, b in grid])}
    agree(t(op, X, M), arrays, len(grid))
    agree(t(op, M, X), arrays, len(grid))


@pytest.mark.parametrize("op", ["neg", "abs", "sqrt"])
def test_one_sided_operators_on_floats(op: str) -> None:
    agree(t("ge", t(op, X), 0), {"attr:x": np.array(FLOATS)}, len(FLOATS))
    agree(t("ge", t(op, M), 0), {"dim:M": np.array(INTEGERS)}, len(INTEGERS))


def test_nothing_wraps() -> None:
    large = np.array([2**31, 2**32, 2**62, 2**63 - 1])
    product = t("lt", t("mul", t("mul", M, M), M), 0)
    answers = agree(product, {"dim:M": large}, 4)
    assert not answers.true.any()
    assert answers.exact_elements > 0
    small = compile_vectorized(product)({"dim:M": np.arange(1000)})
    assert small.exact_elements == 0


def test_integer_functions_are_exact_at_every_power_of_two() -> None:
    edges = np.array([(1 << k) + by for k in range(63) for by in (-1, 0, 1)] + [2**63 - 1, 0, -1, -(2**63)])
    for term in (*(t("eq", t("log2", M), k) for k in range(0, 64, 7)), t("is_pow2", M), t("eq", t("gcd", M, 48), 16), t("gt", t("align_up", M, 4096), M)):
        agree(term, {"dim:M": edges}, len(edges))


def test_words_lists_and_wrong_types() -> None:
    number = np.array([1, 2, 3])
    for term in (
        t("and", t("gt", M, 1), t("eq", dtype, Const(DTYPE, "f16"))),
        t("or", t("contains", epilogue, "relu"), t("eq", M, 2)),
        t("in", arch, "a", "b"),
        t("in", M, 2, 2.0, 3),
        t("in", M, None, 3),
        t("eq", scale, None),
        t("le", scale, 1),
        t("and", M, True),
        t("in", M),
        t("if", t("gt", M, 1), t("eq", t("mod", M, 0), 0), True),
        t("eq", t("if", t("gt", M, 1), M, 2.5), 2.5),
        t("le", t("bytes", dtype), M),
        as_term(True),
        t("eq", "x", M),
    ):
        agree(term, {"dim:M": number, "dtype": "f16", "attr:epilogue": ("relu",), "device:arch": "b", "attr:scale": None}, 3)
        agree(term, {"dim:M": number, "dtype": "i4", "attr:epilogue": 3, "device:arch": 4, "attr:scale": 0.5}, 3)


def test_arrays_of_the_wrong_type_fail_and_objects_are_looked_at_one_by_one() -> None:
    for bad in (np.array([1.5, 2.0]), np.array([True, False]), np.array(["a", "b"], object), np.array([1, None], object)):
        agree(t("ge", M, 1), {"dim:M": bad}, 2)
    words = np.array(["f16", "f32"], object)
    agree(t("and", t("eq", dtype, Const(DTYPE, "f16")), t("le", t("bytes", dtype), M)), {"dtype": words, "dim:M": np.array([1, 4])}, 2)
    agree(t("eq", scale, None), {"attr:scale": np.array([None, 1.0], object)}, 2)


def test_unsigned_small_and_empty_arrays() -> None:
    for kind in (np.uint8, np.int16, np.uint32, np.uint64):
        agree(t("lt", t("sub", M, 5), 0), {"dim:M": np.array([0, 4, 5, 200 if kind == np.uint8 else 2**15 - 1], kind)}, 4)
    agree(t("gt", M, 2**63 - 1), {"dim:M": np.array([2**63, 2**64 - 1], np.uint64)}, 2)
    answers = compile_vectorized(t("and", t("eq", t("mod", M, N), 0), t("gt", t("mul", M, M), 0)))({"dim:M": np.array([], np.int64), "dim:N": 2})
    assert answers.true.shape == (0,)


def test_grids_broadcast() -> None:
    m, k = np.arange(4).reshape(4, 1), np.arange(1, 6).reshape(1, 5)
    answers = compile_vectorized(t("eq", t("mod", M, K), 0))({"dim:M": m, "dim:K": k})
    assert answers.true.tolist() == [[a % b == 0 for b in range(1, 6)] for a in range(4)]
    assert compile_vectorized(t("gt", M, 3))({"dim:M": 5}).true.tolist() is True


def test_a_missing_name_is_an_error_where_it_is_met() -> None:
    answers = compile_vectorized(t("or", t("eq", M, 1), t("eq", K, 1)))({"dim:M": np.array([1, 2])})
    assert answers.true.tolist() == [True, False]
    assert answers.failed.tolist() == [False, True]
    assert "dim:K" in str(answers.error(1))
    assert const(3).type != Type("any")
    assert causal.type.kind == "bool"
