"""Domains and sample points against brute force, and on the clauses that the scenarios name."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tessera_rules.compile.domain import (
    NATURAL,
    UNDECIDED,
    Choice,
    between,
    describe,
    domain,
    may_fail,
    multiples,
    named_values,
    sample_points,
    satisfy,
    universe_of,
)
from tessera_rules.compile.evaluate import UNKNOWN, ClauseError
from tessera_rules.model.show import show
from tessera_rules.model.terms import Apply, Const, Fact, Term, Version
from tessera_rules.model.types import BOOL, DTYPE, INT
from tests.compile.term_strategies import K, M, N, act, arch, causal, conditions, driver, dtype, epilogue, examples, known, outcome, scale, t

HEADS, GROUPS = Fact(INT, "dim:Hq", "Hq"), Fact(INT, "dim:Hkv", "Hkv")
HEAD_DIM = t("and", t("eq", t("mod", K, 16), 0), t("le", K, 256))
VOLUME = t("le", t("mul", t("mul", M, N), K), 32 * 1024)
RATIO = t("in", t("floordiv", HEADS, GROUPS), 1, 2, 3, 4, 8)
WINDOW = {"dim:M": range(-3, 40), "dim:N": range(1, 2), "dim:K": range(1, 2), "dtype": ("f16", "i4", "f32"), "attr:causal": (False, True)}


# ---- domains ------------------------------------------------------------------------------------------------------


def holds_at(found: Any, values: dict[str, Any]) -> bool:
    """Whether a point lies in the sets of a domain."""
    if found.never:
        return False
    bare = all(values[key] in each for key, each in (*found.integers.items(), *found.choices.items()))
    return bare and all(outcome(core, values) in each for core, each in found.expressions.values() if not isinstance(outcome(core, values), ClauseError))


@settings(max_examples=examples(300), deadline=None, derandomize=True)
@given(conditions(), st.booleans(), st.sampled_from(["f16", "i4", "f32"]), st.booleans(), st.integers(0, 3))
def test_a_domain_holds_every_point_and_exactly_those_where_it_says_so(term: Apply, wanted: bool, word: str, flag: bool, n: int) -> None:
    fixed = known(N=n, K=2, dtype=word, causal=flag)
    found = domain([term if wanted else t("not", term)], lambda key: fixed.get(key, UNKNOWN))
    for m in range(-3, 40):
        values = {**fixed, "dim:M": m}
        true = outcome(term, values) is wanted
        if true:
            assert holds_at(found, values)
        elif found.exact:
            assert not holds_at(found, values)


@settings(max_examples=examples(200), deadline=None, derandomize=True)
@given(conditions(), st.booleans())
def test_a_domain_of_several_names_excludes_nothing_true(term: Apply, wanted: bool) -> None:
    found = describe(term, wanted)
    for m in (-2, 0, 1, 5, 16):
        for n in (0, 1, 3):
            for word in ("f16", "i4"):
                values = known(M=m, N=n, K=2, dtype=word, causal=True)
                true = outcome(term, values) is wanted
                assert not (true and not holds_at(found, values))
                assert not (found.exact and not true and holds_at(found, values) and not isinstance(outcome(term, values), ClauseError))


@pytest.mark.parametrize(
    ("term", "members", "strangers"),
    [
        (HEAD_DIM, (0, 16, 256), (8, 72, 272)),
        (t("eq", t("mod", t("add", K, 8), 16), 0), (8, 24), (0, 16)),
        (t("eq", t("mod", t("mul", K, 6), 16), 0), (0, 8, 16), (4, 12)),
        (t("lt", t("floordiv", K, 16), 4), (0, 63, -5), (64,)),
        (t("eq", t("mod", t("floordiv", K, 8), 4), 1), (8, 15, 40), (7, 16)),
        (t("le", t("align_up", K, 16), 64), (1, 64), (65,)),
        (t("eq", t("ceil_div", K, 16), 3), (33, 48), (32, 49)),
        (t("ge", t("log2", K), 5), (32, 63, 10**9), (31, 0, -4)),
        (t("eq", t("log2", K), 5), (32, 63), (31, 64)),
        (t("eq", t("gcd", K, 12), 4), (4, 8, 20), (12, 6)),
        (t("le", t("abs", t("sub", K, 10)), 3), (7, 13), (6, 14)),
        (t("eq", t("min", K, 16), 16), (16, 99), (15,)),
        (t("gt", t("max", K, 4), 4), (5,), (4, 0)),
        (t("le", t("sub", 100, K), 90), (10, 11), (9,)),
        (t("or", t("eq", K, 1), t("eq", t("mod", K, 16), 0)), (1, 16, 0), (2, 17)),
        (t("in_range", K, 16, 256, 16), (16, 256), (0, 24, 272)),
        (t("not", t("in", K, 3, 4, 9)), (2, 5, 8), (3, 4, 9)),
        (t("if", t("lt", K, 8), t("eq", K, 3), t("eq", t("mod", K, 16), 0)), (3, 16), ()),
        (t("and", t("le", 16, K), t("lt", K, 2**70)), (16, 2**70 - 1), (15, 2**70)),
        (t("ne", t("neg", K), 5), (5, 0), (-5,)),
    ],
    ids=lambda value: show(value) if isinstance(value, Apply) else "",
)
def test_bounds_and_congruences_come_out_of_the_expression(term: Apply, members: tuple[int, ...], strangers: tuple[int, ...]) -> None:
    found = domain([term])
    assert all(value in found.integer("dim:K") for value in members)
    assert not any(value in found.integer("dim:K") for value in strangers)
    assert found.exact is (term.op != "if")


def test_words_versions_and_booleans_have_choices() -> None:
    f16 = Const(DTYPE, "f16")
    found = domain([t("in", dtype, f16, Const(DTYPE, "bf16")), t("ne", dtype, f16), causal, t("not", t("eq", arch, "gfx942")), t("eq", scale, None)])
    assert found.choice("dtype").allowed == {"bf16"}
    assert found.choice("attr:causal") == Choice(frozenset((True,)))
    assert "gfx942" not in found.choice("device:arch")
    assert "gfx1151" in found.choice("device:arch")
    assert domain([t("eq", dtype, f16), t("ne", dtype, f16)]).empty
    assert domain([causal, t("not", causal)]).empty
    assert not domain([t("ge", driver, Version("1")), t("lt", driver, Version("1"))]).exact


def test_what_no_set_says_is_opaque_and_what_is_known_goes_in_first() -> None:
    found = domain([VOLUME, HEAD_DIM])
    assert [show(each) for each in found.opaque] == ["M * N * K <= 32768"]
    assert [(show(core), each.high) for core, each in found.expressions.values()] == [("M * N * K", 32768)]
    sliced = domain([VOLUME, HEAD_DIM], lambda key: known(M=64, N=8).get(key, UNKNOWN))
    assert sliced.exact
    assert sliced.integer("dim:K").values(9) is not None or sliced.integer("dim:K").high == 64
    assert domain([VOLUME, t("gt", t("mul", K, t("mul", N, M)), 32 * 1024)]).empty
    assert domain([t("eq", t("mod", K, 0), 0)]).empty


def test_a_set_that_has_lost_something_is_not_called_exact() -> None:
    found = domain([t("ne", t("mod", K, p), 0) for p in (2, 3, 5, 7, 11, 13, 17, 19, 23)])
    assert not found.exact
    assert 29 in found.integer("dim:K")


def test_may_fail_tells_what_can_be_an_error() -> None:
    assert not may_fail(HEAD_DIM)
    assert may_fail(RATIO)
    assert may_fail(t("le", t("bytes", dtype), 2))
    assert may_fail(t("le", scale, 2.0))
    assert not may_fail(t("eq", scale, None))
    assert may_fail(t("in_range", K, 1, 2, N))


def test_a_universe_knows_what_names_may_be() -> None:
    terms = [
        t("eq", arch, "gfx942"),
        t("lt", driver, Version("5")),
        causal,
        HEAD_DIM,
        t("eq", dtype, Const(DTYPE, "f16")),
        t("contains", epilogue, "bias"),
        t("gt", scale, 0.5),
    ]
    found = universe_of(terms, {"dim:K": between(1, 8)})
    assert found["device:arch"] == ("gfx942", "another")
    assert Version("5") in found["device:driver"]
    assert found["attr:causal"] == (False, True)
    assert found["dim:K"] == between(1, 8)
    assert len(found["attr:epilogue"]) == 1 + 4 + 16  # type: ignore[arg-type]
    assert None in found["attr:scale"]  # type: ignore[operator]
    assert named_values("device:arch", terms) == ("gfx942",)
    assert universe_of([t("eq", act, Const(act.type, "relu"))])["attr:act"] == act.type.words
    assert universe_of([t("le", M, 1)])["dim:M"] == NATURAL


# ---- points -------------------------------------------------------------------------------------------------------


def checked(terms: list[Term], **options: Any) -> Any:
    """Return sample points after checking what is promised of every one."""
    points = sample_points(terms, **options)
    legal = options.get("legal", ())
    assert len({tuple(sorted(p.items())) for p in points.inside}) == len(points.inside)
    for point in points.inside:
        assert [outcome(term, point) for term in [*legal, *terms]] == [True] * (len(terms) + len(legal))
    for each in points.outside:
        assert all(outcome(term, each.values) is True for term in [*legal, *terms[: each.broken]])
        assert outcome(terms[each.broken], each.values) is not True
    return points


def inside(points: Any, key: str = "dim:K") -> set[int]:
    return {point[key] for point in points.inside}


def outside(points: Any, key: str = "dim:K") -> set[int]:
    return {each.values[key] for each in points.outside}


def test_edges_and_multiples_of_one_dimension() -> None:
    points = checked([HEAD_DIM, t("ge", K, 16)])
    assert inside(points) >= {16, 32, 48, 240, 256}
    assert outside(points) >= {0, 15, 17, 257}


def test_without_a_modulus_ragged_sizes_are_there() -> None:
    assert inside(checked([t("ge", M, 1)]), "dim:M") >= {1, 15, 16, 17, 37}
    assert outside(checked([t("ge", M, 1)]), "dim:M") == {0}
    assert inside(checked([t("ge", M, 1)], tile=64), "dim:M") >= {1, 63, 64, 65, 67}


def test_a_product_has_its_edges_along_every_name() -> None:
    points = checked([VOLUME, t("ge", M, 1), t("ge", N, 1), t("ge", K, 1)])
    volumes = {p["dim:M"] * p["dim:N"] * p["dim:K"] for p in points.inside}
    beyond = {each.values["dim:M"] * each.values["dim:N"] * each.values["dim:K"] for each in points.outside if each.broken == 0}
    assert 32 * 1024 in volumes
    assert 32 * 1024 < min(beyond) <= 33 * 1024 + 64
    assert all(inside(points, key) >= {1, 16, 17} for key in ("dim:M", "dim:N", "dim:K"))


def test_ratios_of_two_names() -> None:
    points = checked([RATIO], legal=[t("eq", t("mod", HEADS, GROUPS), 0)], universe={"dim:Hkv": between(1, 64), "dim:Hq": between(1, 512)})
    ratios = {p["dim:Hq"] // p["dim:Hkv"] for p in points.inside}
    beyond = {each.values["dim:Hq"] // each.values["dim:Hkv"] for each in points.outside}
    assert ratios >= {1, 2, 4, 8} or ratios >= {1, 2, 3, 8}
    assert beyond & {5, 7, 9}


def test_a_ceiling_keeps_what_is_run_small_and_not_what_is_refused() -> None:
    points = checked([t("le", M, 2**31 - 1), t("ge", M, 1)], ceiling=300)
    assert max(inside(points, "dim:M")) <= 300
    assert 2**31 in outside(points, "dim:M")
    assert inside(checked([t("ge", M, 1000)], ceiling=300), "dim:M") == {1000}


def test_the_shape_in_hand_comes_first_and_known_names_stay() -> None:
    terms = [HEAD_DIM, t("eq", dtype, Const(DTYPE, "f16")), t("le", M, K)]
    points = checked(terms, known={"dtype": "f16"}, near=[{"dim:K": 80, "dim:M": 33}, {"dim:K": 72, "dim:M": 1}])
    assert points.inside[0] == {"dim:K": 80, "dim:M": 33, "dtype": "f16"}
    assert all(p["dtype"] == "f16" for p in points.inside)
    assert sample_points(terms, known={"dtype": "f32"}).inside == ()


def test_words_and_alignments_are_varied_too() -> None:
    align = Fact(INT, "align:q", "q.align")
    points = checked([Apply(BOOL, "eq", (t("mod", align, 16), Const(INT, 0))), t("in", dtype, Const(DTYPE, "f16"), Const(DTYPE, "f32")), t("ge", M, 1)])
    assert {p["align:q"] for p in points.inside} >= {16, 64}
    assert {each.values["align:q"] for each in points.outside} >= {8, 1}
    assert {p["dtype"] for p in points.inside} == {"f16", "f32"}


def test_a_limit_cuts_every_name_alike() -> None:
    points = checked([t("ge", M, 1), t("ge", N, 1), t("eq", t("mod", K, 8), 0)], limit=6)
    assert len(points.inside) == 6
    assert all(len(inside(points, key)) >= 3 for key in ("dim:M", "dim:N", "dim:K"))


@settings(max_examples=examples(75), deadline=None, derandomize=True)
@given(st.lists(conditions(), min_size=1, max_size=3))
def test_every_point_is_what_it_claims(terms: list[Term]) -> None:
    universe = {"dim:M": between(0, 40), "dim:N": between(0, 12), "dim:K": multiples(4) & between(0, 64), "dtype": ("f16", "i4"), "attr:causal": (True, False)}
    points = checked(terms, universe=universe)
    found = satisfy(terms, universe)
    if found is None:
        assert points.inside == ()
    elif found is not UNDECIDED:
        assert points.inside
    for point in (*points.inside, *(each.values for each in points.outside)):
        assert all(point[key] in values for key, values in universe.items())
