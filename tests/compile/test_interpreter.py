"""The interpreter against Python's own reading of the same text, against brute force, and against language.md line by line."""

from __future__ import annotations

import ast
import itertools
import math
import operator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tessera_rules.compile.evaluate import UNKNOWN, ClauseError, clause_values, evaluate, needs, truth
from tessera_rules.model.show import show
from tessera_rules.model.terms import Apply, Const, Version
from tessera_rules.model.types import BOOL, DTYPE, FLOAT, INT
from tessera_rules.model.values import Clause
from tests.compile.term_strategies import (
    K,
    M,
    N,
    act,
    arch,
    as_term,
    causal,
    completions,
    conditions,
    const,
    driver,
    dtype,
    epilogue,
    examples,
    integers,
    known,
    outcome,
    same,
    scale,
    t,
)

COMPARISONS = {"eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge}
ERROR = t("eq", t("mod", 1, 0), 0)


def value(term: Any, **values: Any) -> Any:
    return outcome(as_term(term), known(**values))


# ---- numbers ------------------------------------------------------------------------------------------------------

NUMBERS = [
    0,
    0.0,
    -0.0,
    1,
    1.0,
    -1,
    -1.0,
    0.7,
    5e-3,
    1e300,
    -1e300,
    1e-320,
    2**53,
    2**53 + 1,
    float(2**53),
    2**63,
    2**63 - 1,
    float(2**63),
    10**400,
    -(10**400),
]


def test_D9_every_number_under_every_comparator() -> None:
    for (name, python), a, b in itertools.product(COMPARISONS.items(), NUMBERS, NUMBERS):
        found = value(t(name, a, b))
        assert found is python(a, b), f"{a!r} {name} {b!r} is {found}"


def test_D9_every_number_as_a_request_value() -> None:
    for (name, python), a, b in itertools.product(COMPARISONS.items(), NUMBERS, NUMBERS):
        assert value(t(name, scale, b), scale=a) is python(a, b)


def test_D9_membership_and_min_max_take_integers_and_floats_together() -> None:
    for a, b in itertools.product(NUMBERS, NUMBERS):
        assert value(t("in", a, b)) is (a == b)
        assert same(value(t("min", a, b)), min(a, b))
        assert same(value(t("max", a, b)), max(a, b))


@pytest.mark.parametrize("a", [-7, -1, 0, 1, 7, 80, 2880, 2**63, -(2**63) - 1])
@pytest.mark.parametrize("b", [1, 2, 3, 8, 128, 2**31, 2**63])
def test_division_floors(a: int, b: int) -> None:
    quotient, rest = value(t("floordiv", a, b)), value(t("mod", a, b))
    assert quotient * b + rest == a
    assert 0 <= rest < b
    assert value(t("ceil_div", a, b)) == -((-a) // b)
    up = value(t("align_up", a, b))
    assert up % b == 0
    assert a <= up < a + b


@pytest.mark.parametrize("op", ["floordiv", "mod", "ceil_div", "align_up"])
@pytest.mark.parametrize("b", [0, -1, -(2**70)])
def test_a_divisor_that_is_not_positive_is_the_clauses_error(op: str, b: int) -> None:
    found = value(t(op, M, N), M=7, N=b)
    assert isinstance(found, ClauseError)
    assert str(b) in found.message
    assert "positive" in found.message


def test_division_by_zero_is_an_error_for_floats_too() -> None:
    assert isinstance(value(t("div", 1, 0)), ClauseError)
    assert isinstance(value(t("div", 1.0, 0.0)), ClauseError)
    assert value(t("div", 7, -2)) == -3.5


def test_integers_are_exact_up_to_the_limit_and_an_error_past_it() -> None:
    assert value(t("mul", 2**2000, 2**2000)) == 2**4000
    assert value(t("sub", t("mul", 2**2047, 2**2048), t("mul", 2**2047, 2**2048))) == 0
    assert "4,096" in value(t("mul", 2**2048, 2**2049)).message
    assert "4,096" in value(t("add", 2**4096 - 1, 1)).message
    assert value(t("add", 2**4096 - 2, 1)) == 2**4096 - 1


def test_repeated_squaring_ends_at_once() -> None:
    term: Any = M
    for _ in range(60):
        term = t("mul", term, term)  # shared terms: 2**60 nodes if each use were read anew and nothing stopped it
        if term.size > 20_000:
            break
    assert "4,096" in value(term, M=3**40).message


@pytest.mark.parametrize(
    "term",
    [
        t("mul", 1e300, 1e300),
        t("add", 1.7e308, 1.7e308),
        t("sub", -1.7e308, 1.7e308),
        t("div", 1e300, 1e-300),
        t("div", 2**2000, 1),
        t("mul", 2**2000, 1.5),
        t("add", 2**2000, 1.5),
        t("sqrt", 2**3000),
        t("sqrt", -1),
        t("log2", 0),
        t("log2", -8),
    ],
    ids=show,
)
def test_what_no_number_can_say_is_an_error(term: Apply) -> None:
    assert isinstance(value(term), ClauseError)


@pytest.mark.parametrize("special", [math.inf, -math.inf, math.nan])
def test_special_floats_compare_as_ieee_and_do_not_compute(special: float) -> None:
    for name, python in COMPARISONS.items():
        assert value(t(name, scale, 5.0), scale=special) is python(special, 5.0)
    for op in ("add", "sub", "mul", "min", "max"):
        found = value(t(op, scale, 5.0), scale=special)
        assert isinstance(found, ClauseError) or (op in ("min", "max") and found == 5.0)
    assert isinstance(value(t("neg", scale), scale=special), ClauseError)


def test_functions() -> None:
    assert [value(t("log2", n)) for n in (1, 2, 3, 4, 1023, 1024, 2**100)] == [0, 1, 1, 2, 9, 10, 100]
    assert [n for n in range(-4, 20) if value(t("is_pow2", n))] == [1, 2, 4, 8, 16]
    assert value(t("gcd", -12, 18)) == 6
    assert value(t("gcd", 0, 0)) == 0
    assert value(t("sqrt", 9)) == 3.0
    assert value(t("bytes", Const(DTYPE, "bf16"))) == 2
    assert value(t("bits", Const(DTYPE, "i4"))) == 4
    assert "whole byte" in value(t("bytes", Const(DTYPE, "i4"))).message
    assert "'bf16'" in value(t("bits", Const(DTYPE, "bf61"))).message


# ---- types and null -----------------------------------------------------------------------------------------------

KINDS = [3, 2.5, True, "f16", Version("1.2"), ("bias",), None]


def test_only_values_of_one_kind_are_compared_and_null_equals_only_null() -> None:
    for i, j in itertools.product(range(len(KINDS)), repeat=2):
        found = value(t("eq", KINDS[i], KINDS[j]))
        if i == j:
            assert found is True
        elif None in (KINDS[i], KINDS[j]) or {i, j} == {0, 1}:
            assert found is False
            assert value(t("ne", KINDS[i], KINDS[j])) is True
        else:
            assert isinstance(found, ClauseError), (KINDS[i], KINDS[j])


@pytest.mark.parametrize("op", ["lt", "le", "gt", "ge"])
def test_only_numbers_and_versions_have_an_order(op: str) -> None:
    for i, j in itertools.product(range(len(KINDS)), repeat=2):
        ordered = {i, j} <= {0, 1} or i == j == 4
        assert isinstance(value(t(op, KINDS[i], KINDS[j])), ClauseError) is not ordered


@pytest.mark.parametrize("op", ["add", "sub", "mul", "div", "floordiv", "mod", "min", "max", "ceil_div", "align_up", "gcd"])
@pytest.mark.parametrize("bad", [None, True, "f16", Version("1"), ("bias",)])
def test_computing_with_what_is_no_number_is_an_error(op: str, bad: Any) -> None:
    assert isinstance(value(t(op, bad, 1)), ClauseError)
    assert isinstance(value(t(op, 1, bad)), ClauseError)


@pytest.mark.parametrize("op", ["floordiv", "mod", "ceil_div", "align_up", "gcd"])
def test_integer_operators_take_no_float(op: str) -> None:
    assert isinstance(value(t(op, 4.0, 2)), ClauseError)
    assert isinstance(value(t(op, 4, 2.0)), ClauseError)


@pytest.mark.parametrize("bad", [None, 0, 1, "true", ()])
def test_there_is_no_implicit_truth_value(bad: Any) -> None:
    for term in (t("and", bad, True), t("or", bad, True), t("not", bad), Apply(INT, "if", (as_term(bad), const(1), const(2)))):
        assert isinstance(value(term), ClauseError)
    assert isinstance(truth(const(bad), known().get), ClauseError)


def test_a_fact_of_the_wrong_type_is_an_error_that_names_it() -> None:
    for term, values in [(M, {"M": "12"}), (M, {"M": 1.5}), (M, {"M": True}), (M, {"M": None}), (driver, {"driver": 12}), (causal, {"causal": 1})]:
        found = value(term, **values)
        assert isinstance(found, ClauseError)
        assert term.shown in found.message
    assert value(scale, scale=None) is None
    assert value(epilogue, epilogue=["bias"]) == ("bias",)


# ---- words, lists, versions ---------------------------------------------------------------------------------------


def test_words_lists_and_index() -> None:
    relu = Const(act.type, "relu")
    assert value(t("eq", act, relu), act="relu") is True
    assert value(t("in", act, Const(act.type, "gelu"), relu), act="none") is False
    assert value(t("contains", epilogue, relu), epilogue=("bias", "relu")) is True
    assert value(t("contains", epilogue, relu), epilogue=()) is False
    assert value(t("index", epilogue, 1), epilogue=("bias", "relu")) == "relu"
    for place in (-1, 2, 2**70):
        assert isinstance(value(t("index", epilogue, place), epilogue=("bias", "relu")), ClauseError)
    assert isinstance(value(t("contains", scale, 1), scale=None), ClauseError)


def test_an_unlisted_word_of_a_machine_equals_none() -> None:
    assert value(t("in", arch, "gfx942", "gfx1151"), arch="gfx9999") is False
    assert value(t("ne", arch, "gfx942"), arch="gfx9999") is True


@pytest.mark.parametrize(
    ("low", "high"),
    [
        ("12.9", "12.10"),
        ("12.10", "13"),
        ("9", "10"),
        ("1.0", "1.0.1"),
        ("2.1rc1", "2.1"),
        ("550.54.14", "550.90"),
        ("6.4.1", "6.4.10"),
        ("0", "0.0.1"),
        ("1.9a", "1.10"),
    ],
)
def test_P14_versions_compare_by_component(low: str, high: str) -> None:
    for (name, python), (a, b) in itertools.product(COMPARISONS.items(), [(low, high), (high, low), (low, low)]):
        expected = python((a == high) - (b == high), 0)
        assert value(t(name, driver, Version(b)), driver=a) is expected, f"{a} {name} {b}"


def test_P14_trailing_zeros_do_not_count_and_a_string_is_no_version() -> None:
    assert value(t("eq", driver, Version("12")), driver="12.0.0") is True
    assert value(t("le", driver, Version("12")), driver="12.0.0") is True
    assert isinstance(value(t("lt", Version("12.9"), "12.10")), ClauseError)
    assert isinstance(value(t("lt", driver, Version("1")), driver="9" * 5000), ClauseError)


# ---- ranges -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("step", [1, 2, 3, 7])
def test_a_range_counts_from_its_first_end_and_has_both_ends(step: int) -> None:
    for low, high in [(0, 0), (1, 9), (-5, 6), (16, 256), (9, 1)]:
        members = set(range(low, high + 1, step))
        assert {x for x in range(-8, 300) if value(t("in_range", M, low, high, step), M=x)} == members


def test_a_range_step_that_is_not_positive_is_an_error_even_where_the_ends_exclude() -> None:
    for step in (0, -1):
        assert isinstance(value(t("in_range", M, 1, 2, step), M=50), ClauseError)
    assert isinstance(value(t("in_range", 1.5, 1, 2, 1)), ClauseError)


def test_a_range_with_unknown_parts_says_what_is_certain() -> None:
    assert value(t("in_range", M, 16, N, 1), M=3) is False
    assert value(t("in_range", M, N, 16, 1), M=17) is False
    assert value(t("in_range", M, 5, 4, 1)) is False
    assert value(t("in_range", M, 0, N, 16), M=8) is False
    assert value(t("in_range", M, 0, N, 16), M=32) is UNKNOWN


# ---- three values -------------------------------------------------------------------------------------------------

UNKNOWN_TERM = t("eq", M, 1)
F, T, U, E = const(False), const(True), UNKNOWN_TERM, ERROR
AND = {
    "FF": False, "FT": False, "FU": False, "FE": False, "TF": False, "TT": True, "TU": UNKNOWN, "TE": "error",
    "UF": False, "UT": UNKNOWN, "UU": UNKNOWN, "UE": UNKNOWN, "EF": "error", "ET": "error", "EU": "error", "EE": "error",
}  # fmt: skip
OR = {
    "FF": False, "FT": True, "FU": UNKNOWN, "FE": "error", "TF": True, "TT": True, "TU": True, "TE": True,
    "UF": UNKNOWN, "UT": True, "UU": UNKNOWN, "UE": UNKNOWN, "EF": "error", "ET": "error", "EU": "error", "EE": "error",
}  # fmt: skip


@pytest.mark.parametrize(("op", "table"), [("and", AND), ("or", OR)])
def test_connectives_with_unknown_and_error(op: str, table: dict[str, Any]) -> None:
    parts = {"F": F, "T": T, "U": U, "E": E}
    for (a, b), expected in table.items():
        found = value(t(op, parts[a], parts[b]))
        assert isinstance(found, ClauseError) if expected == "error" else found is expected, f"{a} {op} {b}"


def test_an_error_behind_something_unknown_is_not_rescued_by_what_follows() -> None:
    assert value(t("and", U, E, F)) is UNKNOWN
    assert value(t("or", U, E, T)) is UNKNOWN
    assert value(t("and", U, F, E)) is False


def test_if_with_an_unknown_condition() -> None:
    assert value(t("if", U, 3, 3)) == 3
    assert value(t("if", U, 3, 4)) is UNKNOWN
    assert value(t("if", U, 3, 3.0)) is UNKNOWN
    assert value(t("if", U, 3, N)) is UNKNOWN
    assert value(Apply(BOOL, "if", (U, T, E))) is UNKNOWN
    assert value(Apply(BOOL, "if", (T, T, E))) is True
    assert isinstance(value(Apply(BOOL, "if", (F, T, E))), ClauseError)


def test_membership_with_unknown_items() -> None:
    assert value(t("in", 3, N, 3)) is True
    assert value(t("in", 3, N, 4)) is UNKNOWN
    assert value(t("in", N, 3, 4)) is UNKNOWN
    assert value(t("in", N)) is False
    assert value(t("in", 3, 3, t("mod", 1, 0))) is True
    assert isinstance(value(t("in", 3, 4, t("mod", 1, 0))), ClauseError)
    assert value(t("in", 3, N, t("mod", 1, 0))) is UNKNOWN


def test_D15_a_missing_value_is_unknown_by_name_never_0() -> None:
    for op in ("lt", "le", "gt", "ge", "eq", "ne"):
        for term in (t(op, M, 0), t(op, 0, M), t(op, t("mul", M, 0), 0), t(op, t("mod", M, 16), 0)):
            assert value(term) is UNKNOWN
            assert needs(term, lambda key: UNKNOWN) == ("M",)
    fires = t("and", t("lt", M, 5), t("ge", N, 1))
    assert value(fires, N=2) is UNKNOWN
    assert needs(fires, lambda key: known(N=2).get(key, UNKNOWN)) == ("M",)
    assert clause_values(fires, lambda key: known(N=2).get(key, UNKNOWN)) == {"N": 2}


def test_D15_a_missing_fact_is_an_error_by_name_never_null() -> None:
    def lookup(key: str) -> Any:
        raise ClauseError(f"{key} is missing")

    found = truth(t("ne", driver, Version("1")), lookup)
    assert isinstance(found, ClauseError)
    assert "device:driver" in found.message
    assert clause_values(t("ne", driver, Version("1")), lookup) == {}


def test_names_that_no_longer_matter_are_not_needed() -> None:
    term = t("and", t("or", t("eq", M, 1), t("eq", N, 2)), t("le", K, 5))
    assert needs(term, lambda key: UNKNOWN) == ("M", "N", "K")
    assert needs(term, lambda key: known(M=1).get(key, UNKNOWN)) == ("K",)
    assert needs(term, lambda key: known(K=9).get(key, UNKNOWN)) == ()
    assert needs(t("eq", t("mod", N, 0), M), lambda key: UNKNOWN) == ("N", "M")
    assert needs(ERROR, lambda key: UNKNOWN) == ()


def test_values_of_a_clause_have_the_loop_names_and_plain_values() -> None:
    step = Const(INT, 8, "step")
    term = t("and", t("eq", t("mod", K, step), 0), t("eq", dtype, Const(DTYPE, "tf32", "s")), t("ge", driver, Version("12.9")), t("contains", epilogue, "relu"))
    clause = Clause(term, "…", None, None, loops={"step": 8, "s": "tf32"})  # type: ignore[arg-type]
    values = known(K=72, dtype="f32", driver="12.10", epilogue=("bias",))
    expected = {"K": 72, "dtype": "f32", "device.driver": "12.10", "epilogue": ["bias"], "step": 8, "s": "tf32"}
    assert clause_values(clause, values.__getitem__) == expected
    assert clause_values(term, values.__getitem__) == expected


# ---- against brute force ------------------------------------------------------------------------------------------

UNIVERSE = {"dim:M": [0, 1, 6], "dim:N": [0, 2], "dim:K": [1, 3], "dtype": ["f16", "i4"], "attr:causal": [False, True]}


@settings(max_examples=examples(200), deadline=None, derandomize=True)
@given(conditions(), st.sets(st.sampled_from(sorted(UNIVERSE))), st.randoms(use_true_random=False))
def test_what_is_said_with_names_open_holds_whatever_their_values(term: Apply, given_keys: set[str], random: Any) -> None:
    values = {key: random.choice(UNIVERSE[key]) for key in sorted(given_keys)}
    found = outcome(term, values)
    if found is UNKNOWN:
        return
    for whole in completions(values, UNIVERSE):
        complete = outcome(term, whole)
        if isinstance(found, ClauseError):
            assert isinstance(complete, ClauseError)
        else:
            assert complete is found or isinstance(complete, ClauseError)


class Strict(int):
    """An integer with the language's division, for Python's own parser to compute with."""

    def _wrap(self, result: Any) -> Any:
        return Strict(result) if isinstance(result, int) and not isinstance(result, bool) else result

    def __add__(self, other: int) -> Any:
        return Strict(int(self) + int(other))

    def __sub__(self, other: int) -> Any:
        return Strict(int(self) - int(other))

    def __mul__(self, other: int) -> Any:
        return Strict(int(self) * int(other))

    def __neg__(self) -> Any:
        return Strict(-int(self))

    def __mod__(self, other: int) -> Any:
        if other <= 0:
            raise ZeroDivisionError
        return Strict(int(self) % int(other))

    def __floordiv__(self, other: int) -> Any:
        if other <= 0:
            raise ZeroDivisionError
        return Strict(int(self) // int(other))


def _ceil_div(a: int, b: int) -> Strict:
    return -(Strict(-int(a)) // Strict(b))


NAMESPACE: dict[str, Any] = {
    "true": True, "false": False, "abs": lambda x: Strict(abs(int(x))), "min": min, "max": max, "ceil_div": _ceil_div,
    "align_up": lambda a, b: _ceil_div(a, b) * Strict(b), "gcd": lambda a, b: Strict(math.gcd(a, b)),
    "log2": lambda a: Strict(int(math.log2(a))), "is_pow2": lambda a: int(a) in {1 << n for n in range(200)},
    "f16": "f16", "f32": "f32", "i4": "i4",
    "bits": {"f16": Strict(16), "i4": Strict(4)}.__getitem__, "bytes": {"f16": Strict(2)}.__getitem__, "__builtins__": {},
}  # fmt: skip


def without_ranges(term: Any) -> bool:
    return not isinstance(term, Apply) or (term.op != "in_range" and all(map(without_ranges, term.args)))


@settings(max_examples=examples(250), deadline=None, derandomize=True)
@given(conditions().filter(without_ranges), st.fixed_dictionaries({key: st.sampled_from(options) for key, options in UNIVERSE.items()}))
def test_D10_the_printed_text_read_by_pythons_grammar_has_the_same_value(term: Apply, values: dict[str, Any]) -> None:
    # The two grammars agree on precedence, so Python's parser is an independent reader of what show() brackets.
    tree = ast.parse(show(term), mode="eval")
    wrapped = ast.fix_missing_locations(_StrictNumbers().visit(tree))
    names = {key.split(":")[-1]: Strict(item) if type(item) is int else item for key, item in values.items()}
    try:
        expected: Any = eval(compile(wrapped, "text", "eval"), {**NAMESPACE, "Strict": Strict, **names})
    except (ZeroDivisionError, ValueError, KeyError):
        expected = ClauseError
    found = outcome(term, values)
    if expected is ClauseError:
        assert isinstance(found, ClauseError)
    elif not (isinstance(found, ClauseError) and "4,096" in found.message):
        assert found is expected


class _StrictNumbers(ast.NodeTransformer):
    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        if type(node.value) is int:
            return ast.Call(ast.Name("Strict", ast.Load()), [node], [])
        return node


@settings(max_examples=examples(100), deadline=None, derandomize=True)
@given(integers(), st.integers(0, 12), st.integers(0, 12), st.integers(0, 12))
def test_integers_stay_integers(term: Any, m: int, n: int, k: int) -> None:
    found = outcome(term, known(M=m, N=n, K=k, dtype="f16", causal=True))
    assert isinstance(found, ClauseError) or type(found) is int


def test_nesting_to_the_limit_is_read_without_a_traceback() -> None:
    term: Any = t("eq", M, 1)
    for _ in range(279):
        term = t("not", term)
    assert value(term, M=2) is True
    assert show(term).startswith("not (not")
    assert FLOAT.numeric


def test_evaluate_raises_and_truth_returns() -> None:
    with pytest.raises(ClauseError, match="divisor"):
        evaluate(ERROR, lambda key: UNKNOWN)
    assert truth(ERROR, lambda key: UNKNOWN) == ClauseError("the divisor of `%` is 0, and a divisor is positive")
