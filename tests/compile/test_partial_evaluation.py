"""What is left of a condition means what the whole means, for every value of what is open."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tessera_rules.compile.evaluate import UNKNOWN, ClauseError, Lookup
from tessera_rules.compile.simplify import FALSE, TRUE, conjunction, disjunction, negation, simplify
from tessera_rules.model.show import show
from tessera_rules.model.terms import Apply, Const, Term, facts
from tessera_rules.model.types import DTYPE
from tests.compile.term_strategies import K, M, N, causal, completions, conditions, dtype, examples, integers, known, outcome, same, scale, t

UNIVERSE = {"dim:M": [0, 1, 6], "dim:N": [0, 2], "dim:K": [1, 3], "dtype": ["f16", "i4"], "attr:causal": [False, True]}
ERROR = t("eq", t("mod", 1, 0), 0)


def partial(values: dict[str, Any]) -> Lookup:
    return lambda key: values.get(key, UNKNOWN)


@settings(max_examples=examples(250), deadline=None, derandomize=True)
@given(conditions() | integers(), st.sets(st.sampled_from(sorted(UNIVERSE))), st.randoms(use_true_random=False))
def test_the_rest_means_what_the_whole_means(term: Term, given_keys: set[str], random: Any) -> None:
    values = {key: random.choice(UNIVERSE[key]) for key in sorted(given_keys)}
    try:
        rest = simplify(term, partial(values))
    except ClauseError:
        assert all(isinstance(outcome(term, whole), ClauseError) for whole in completions(values, UNIVERSE))
        return
    for whole in completions(values, UNIVERSE):
        before, after = outcome(term, whole), outcome(rest, whole)
        # `unknown and false` is false even where the unknown would have been an error: only there may an error go.
        assert same(before, after) or isinstance(before, ClauseError)
    found = outcome(term, values)
    if found is not UNKNOWN:
        assert isinstance(rest, Const)
        assert same(rest.value, found)


@settings(max_examples=examples(150), deadline=None, derandomize=True)
@given(conditions(), st.sets(st.sampled_from(sorted(UNIVERSE)), min_size=2), st.randoms(use_true_random=False))
def test_nothing_known_is_left_but_in_what_would_be_an_error(term: Apply, given_keys: set[str], random: Any) -> None:
    values = {key: random.choice(UNIVERSE[key]) for key in sorted(given_keys)}
    try:
        rest = simplify(term, partial(values))
    except ClauseError:
        return
    if not any(isinstance(outcome(term, whole), ClauseError) for whole in completions(values, UNIVERSE)):
        again = simplify(rest, partial(values))
        assert show(again) == show(rest)


@pytest.mark.parametrize(
    ("term", "values", "expected"),
    [
        (t("and", t("eq", dtype, Const(DTYPE, "f16")), t("eq", t("mod", K, 16), 0), t("le", K, 256)), known(dtype="f16"), "K % 16 == 0 and K <= 256"),
        (t("and", t("eq", dtype, Const(DTYPE, "f16")), t("le", K, 256)), known(dtype="f32"), "false"),
        (t("or", t("eq", M, 1), t("eq", N, 1), t("eq", K, 1)), known(N=2), "M == 1 or K == 1"),
        (t("or", t("eq", M, 1), t("eq", N, 1)), known(N=1), "true"),
        (t("le", t("mul", t("mul", t("mul", 1, M), N), t("bytes", dtype)), 64), known(M=8, dtype="f16"), "16 * N <= 64"),
        (t("in", t("floordiv", M, N), 1, 2, 3), known(N=8), "M // 8 in [1, 2, 3]"),
        (t("in", 3, M, 4, N), {}, "3 in [M, N]"),
        (t("in", 3, M, 4), {}, "3 == M"),
        (t("in_range", K, 16, t("mul", M, 16), 16), known(M=4), "K in 16..64 step 16"),
        (t("if", t("eq", dtype, Const(DTYPE, "f16")), t("le", K, 256), t("le", K, 128)), known(dtype="f32"), "K <= 128"),
        (t("le", K, t("if", causal, 256, 128)), {}, "K <= (256 if causal else 128)"),
        (t("le", K, t("if", causal, t("mul", M, 2), 128)), known(M=64), "K <= 128"),
        (t("not", t("and", t("le", M, 4), t("eq", N, 1))), known(N=1), "M > 4"),
        (t("not", t("le", scale, 4.0)), {}, "not scale <= 4.0"),
        (t("and", t("le", M, 4), ERROR, t("le", N, 1)), {}, "M <= 4 and 1 % 0 == 0"),
        (t("and", t("le", M, 4), t("and", t("le", N, 4), t("le", K, N))), known(K=3), "M <= 4 and N <= 4 and 3 <= N"),
    ],
)
def test_what_is_left_reads_as_a_person_would_write_it(term: Term, values: dict[str, Any], expected: str) -> None:
    assert show(simplify(term, partial(values))) == expected


@settings(max_examples=examples(250), deadline=None, derandomize=True)
@given(conditions() | integers(), st.sets(st.sampled_from(sorted(UNIVERSE))), st.randoms(use_true_random=False))
def test_the_exact_rest_has_the_errors_of_the_whole_too(term: Term, given_keys: set[str], random: Any) -> None:
    values = {key: random.choice(UNIVERSE[key]) for key in sorted(given_keys)}
    try:
        rest = simplify(term, partial(values), exact=True)
    except ClauseError:
        assert all(isinstance(outcome(term, whole), ClauseError) for whole in completions(values, UNIVERSE))
        return
    for whole in completions(values, UNIVERSE):
        before, after = outcome(term, whole), outcome(rest, whole)
        assert same(before, after) or (isinstance(before, ClauseError) and isinstance(after, ClauseError))


def test_exactly_a_part_that_can_be_an_error_stays_before_what_settles() -> None:
    fragile = t("and", t("eq", t("mod", M, N), 0), t("le", K, 5))
    assert show(simplify(fragile, partial(known(K=6)))) == "false"
    assert show(simplify(fragile, partial(known(K=6)), exact=True)) == "M % N == 0 and false"
    assert show(simplify(fragile, partial(known(K=6, N=4)), exact=True)) == "false"
    assert show(simplify(t("in", 3, t("mod", M, N), 3), partial({}), exact=True)) == "3 in [M % N, 3]"
    assert show(simplify(t("in", 3, t("mod", M, 2), 3), partial({}), exact=True)) == "true"


def test_only_what_is_open_is_read_of_the_rest() -> None:
    rest = simplify(t("and", t("eq", t("mod", M, N), 0), t("le", K, N)), partial(known(N=16)))
    assert [fact.shown for fact in facts(rest)] == ["M", "K"]


def test_joining_and_negating() -> None:
    a, b = t("le", M, 4), t("eq", N, 1)
    assert conjunction([]) is TRUE
    assert disjunction([]) is FALSE
    assert conjunction([a]) is a
    assert show(conjunction([a, TRUE, t("and", b, a)])) == "M <= 4 and N == 1"
    assert conjunction([a, FALSE, b]) is FALSE
    assert disjunction([a, TRUE, b]) is TRUE
    assert show(disjunction([a, t("or", b, causal), FALSE])) == "M <= 4 or N == 1 or causal"
    assert show(negation(t("or", a, b))) == "not (M <= 4 or N == 1)"
    assert negation(negation(t("or", a, b))).op == "or"  # type: ignore[attr-defined]
    assert show(negation(b)) == "N != 1"
