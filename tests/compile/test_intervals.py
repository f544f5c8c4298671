"""Bounds of expressions against brute force: never too tight, and what they say of the parts excludes nothing that is there."""

from __future__ import annotations

import itertools
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tessera_rules.compile.domain.integers import between
from tessera_rules.compile.domain.intervals import Interval, bounds, contradictory, narrow
from tessera_rules.model.terms import Term
from tests.compile.term_strategies import K, M, N, examples, integers, known, outcome, t

RANGES = {"dim:M": (-3, 4), "dim:N": (0, 3), "dim:K": (1, 6)}
FRAME = {key: Interval(*ends) for key, ends in RANGES.items()}
CORNERS = itertools.product(*(range(low, high + 1) for low, high in RANGES.values()))
POINTS = [{**dict(zip(RANGES, values, strict=True)), "dtype": "f16", "attr:causal": True} for values in CORNERS]


def within(value: int, interval: Interval) -> bool:
    return (interval.low is None or interval.low <= value) and (interval.high is None or value <= interval.high)


@settings(max_examples=examples(250), deadline=None, derandomize=True)
@given(integers())
def test_no_value_leaves_the_bounds(term: Term) -> None:
    found = bounds(term, FRAME.__getitem__)
    for point in POINTS:
        value = outcome(term, point)
        assert not isinstance(value, int) or within(value, found)


@settings(max_examples=examples(250), deadline=None, derandomize=True)
@given(integers(), st.none() | st.integers(-12, 30), st.none() | st.integers(-12, 30))
def test_narrowing_keeps_every_point_that_is_inside(term: Term, low: int | None, high: int | None) -> None:
    found: dict[str, Interval] = {}
    possible = narrow(term, Interval(low, high), FRAME.__getitem__, found)
    for point in POINTS:
        value = outcome(term, point)
        if isinstance(value, int) and within(value, Interval(low, high)):
            assert possible
            assert all(within(point[key], interval) for key, interval in found.items())


def test_bounds_are_tight_where_they_can_be() -> None:
    frame: dict[str, Any] = {"dim:M": Interval(1, 64), "dim:N": Interval(2, 8), "dim:K": Interval(16, None)}
    cases = [
        (t("mul", M, N), (2, 512)),
        (t("add", M, N), (3, 72)),
        (t("sub", M, N), (-7, 62)),
        (t("floordiv", M, N), (0, 32)),
        (t("mod", K, N), (0, 7)),
        (t("ceil_div", M, N), (1, 32)),
        (t("min", K, N), (2, 8)),
        (t("max", K, N), (16, None)),
        (t("neg", M), (-64, -1)),
        (t("abs", t("sub", M, 10)), (0, 54)),
        (t("log2", K), (4, None)),
    ]
    for term, expected in cases:
        found = bounds(term, frame.__getitem__)
        assert (found.low, found.high) == expected


def test_narrowing_is_tight_where_it_can_be() -> None:
    frame: dict[str, Any] = {"dim:M": Interval(1, None), "dim:N": Interval(4, 8), "dim:K": Interval(1, None)}
    for term, interval, expected in [
        (t("mul", M, N), Interval(None, 64), (1, 16)),
        (t("mul", M, N), Interval(65, None), (9, None)),
        (t("floordiv", M, N), Interval(2, 3), (8, 31)),
        (t("ceil_div", M, N), Interval(2, 3), (5, 24)),
        (t("sub", M, N), Interval(None, 0), (1, 8)),
        (t("add", M, N), Interval(20, 20), (12, 16)),
        (t("max", M, N), Interval(None, 6), (1, 6)),
    ]:
        found: dict[str, Interval] = {}
        assert narrow(term, interval, frame.__getitem__, found)
        assert (found["dim:M"].low, found["dim:M"].high) == expected
    assert not narrow(t("mul", M, N), Interval(None, 3), frame.__getitem__, {})


def test_a_cycle_of_differences_contradicts_itself_only_where_its_sum_is_negative() -> None:
    frame: dict[str, Any] = {name: Interval(0, None) for name in RANGES}

    def differences(*ends: int) -> dict[str, Any]:
        pairs = [(M, N), (N, K), (K, M)]
        return {str(i): (t("sub", *pair), between(None, end)) for i, (pair, end) in enumerate(zip(pairs, ends, strict=True))}

    assert contradictory(differences(-1, -1, -1), frame.__getitem__)
    assert contradictory(differences(-3, 1, 1), frame.__getitem__)
    assert not contradictory(differences(0, 0, 0), frame.__getitem__)
    assert not contradictory(differences(-2, 1, 1), frame.__getitem__)
    assert contradictory(differences(-2, 5, 5), {**frame, "dim:N": Interval(0, 1)}.__getitem__)
    assert known(M=1) == {"dim:M": 1}
