"""Sets of integers against Python's sets over a window."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tessera_rules.compile.domain.integers import EVERY, NOTHING, IntegerSet, at_least, at_most, between, exactly, multiples
from tests.compile.term_strategies import examples

WINDOW = range(-60, 61)


def members(found: IntegerSet) -> set[int]:
    return {x for x in WINDOW if x in found}


@st.composite
def sets(draw: st.DrawFn, depth: int = 3) -> tuple[IntegerSet, set[int]]:
    """Draw a set and what it holds of the window, worked out on its own."""
    form = draw(st.sampled_from(["interval", "multiples", "listed", "step"] + (["and", "or", "not"] * 2 if depth else [])))
    number = st.integers(-40, 40)
    if form == "interval":
        low, high = draw(st.none() | number), draw(st.none() | number)
        return between(low, high), {x for x in WINDOW if (low is None or low <= x) and (high is None or x <= high)}
    if form == "multiples":
        m = draw(st.integers(1, 24))
        residues = draw(st.lists(st.integers(0, m - 1), min_size=1, max_size=4))
        return multiples(m, *residues), {x for x in WINDOW if x % m in residues}
    if form == "listed":
        values = draw(st.lists(number, max_size=6))
        return exactly(*values), set(values)
    if form == "step":
        low, high, step = draw(number), draw(number), draw(st.integers(1, 9))
        return between(low, high, step), set(range(low, high + 1, step))
    a, inside_a = draw(sets(depth - 1))
    if form == "not":
        return ~a, set(WINDOW) - inside_a
    b, inside_b = draw(sets(depth - 1))
    return (a & b, inside_a & inside_b) if form == "and" else (a | b, inside_a | inside_b)


@settings(max_examples=examples(250), deadline=None, derandomize=True)
@given(sets())
def test_and_or_not_hold_what_they_should(drawn: tuple[IntegerSet, set[int]]) -> None:
    found, expected = drawn
    assert found.exact
    assert members(found) == expected
    if found.empty:
        assert not expected


@settings(max_examples=examples(150), deadline=None, derandomize=True)
@given(sets(), st.integers(-50, 50))
def test_ends_neighbours_and_counts(drawn: tuple[IntegerSet, set[int]], at: int) -> None:
    found, inside = drawn
    above, below = found.first(at), found.last(at)
    assert above in inside if above is not None and above in WINDOW else True
    assert not any(at <= x < (61 if above is None else above) for x in inside)
    assert not any((-61 if below is None else below) < x <= at for x in inside)
    if found.low is not None:
        assert found.low in found
        assert found.last(found.low - 1) is None
    if found.high is not None:
        assert found.high in found
        assert found.first(found.high + 1) is None
    values = found.values(1000)
    if values is not None:
        assert set(values) == inside
        assert len(values) <= (found.count() or 0)
    assert members(found.shift(3)) >= {x + 3 for x in inside if x + 3 in WINDOW}
    assert members(found.negated()) == {-x for x in inside}
    assert found.only == (min(inside) if len(inside) == 1 and found.count() == 1 else None)


@settings(max_examples=examples(100), deadline=None, derandomize=True)
@given(sets())
def test_all_members_agree_modulo_the_modulus(drawn: tuple[IntegerSet, set[int]]) -> None:
    found, inside = drawn
    modulus = found.modulus
    if len(inside) > 1:
        assert modulus > 0
        assert len({x % modulus for x in inside}) == 1


def test_congruences_meet_by_the_chinese_remainder_theorem() -> None:
    assert (multiples(4, 1) & multiples(6, 0)).empty
    m, n = 6 * 1_000_003, 6 * 1_000_033
    shared = multiples(m, 9) & multiples(n, 21)
    assert shared.low is None
    found = shared.first(0)
    assert found is not None
    assert (found % m, found % n) == (9, 21)
    assert (multiples(m, 9) & multiples(n, 22)).empty
    met = multiples(10**9 + 7, 3) & multiples(10**9 + 9, 5)
    first = met.first(0)
    assert met.exact
    assert first is not None
    assert (first % (10**9 + 7), first % (10**9 + 9)) == (3, 5)


def test_past_the_limits_a_set_is_a_superset_and_says_so() -> None:
    sparse = ~multiples(1_000_003)
    assert not sparse.exact
    assert 5 in sparse
    assert not (~sparse).exact
    assert (~sparse).full
    assert exactly(*range(0, 400, 3)) == between(0, 399, 3)
    many = exactly(*(n * n for n in range(100)))
    assert not many.exact
    assert all(n * n in many for n in range(100))
    assert (many & at_least(10_000)).empty
    assert ((~multiples(65_521)) & (~multiples(65_519))).exact is False


@pytest.mark.parametrize(
    ("found", "text"),
    [(EVERY, (None, None)), (at_most(5) & at_least(3), (3, 5)), (NOTHING, (None, None)), (at_least(9) & multiples(8), (16, None))],
)
def test_ends(found: IntegerSet, text: tuple[int | None, int | None]) -> None:
    assert (found.low, found.high) == text
