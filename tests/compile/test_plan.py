"""Plans against the arbiter: what a compiled structure answers is what `decide` answers, with the index and without it (D17)."""

from __future__ import annotations

from typing import Any

from attrs import evolve
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tessera_rules.arbiter import bind_words, decide
from tessera_rules.arbiter.facts import RequestFacts
from tessera_rules.arbiter.situation import Situation
from tessera_rules.arbiter.structure import Structure, of_dims, of_operands, of_request, settle, typed_values
from tessera_rules.compile.plan import ASK, NOBODY, RANK
from tessera_rules.errors import ArbiterError
from tessera_rules.model.request import Request
from tessera_rules.model.values import Policy, Ruleset
from tests.arbiter.asking import box
from tests.arbiter.drawing import rulesets, some_requests
from tests.arbiter.factory import candidate, rule, ruleset

THERE = box()
QUICK = settings(max_examples=150, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])


def bound(words: str) -> Request:
    return bind_words(ruleset(), "matmul", "cpu", dict(word.split("=", 1) for word in words.split()), THERE)


def structure_of(rules: Ruleset, request: Request, open_keys: Any) -> Structure:
    return settle(Situation(rules, evolve(request, dims={}, layouts={} if open_keys is not of_dims else request.layouts), THERE), open_keys)


def answer(structure: Structure, request: Request) -> str | None:
    values = typed_values(structure, RequestFacts(request))
    return None if values is None else structure.winner(*values)


def truth_of(rules: Ruleset, request: Request) -> str:
    try:
        return decide(rules, request, THERE).tag
    except ArbiterError:
        return "error"


@QUICK
@given(rulesets(), st.lists(some_requests, min_size=4, max_size=12))
def test_D17_the_index_on_and_off_and_the_arbiter_agree(rules: Ruleset, lines: list[str]) -> None:
    for words in lines:
        request = bound(words)
        expected = truth_of(rules, request)
        for open_keys in (of_dims, of_operands, of_request):
            if open_keys is of_dims and request.layouts:
                continue
            found = answer(structure_of(rules, request, open_keys), request)
            assert found in (expected, None), (words, open_keys.__name__)


@QUICK
@given(rulesets(), some_requests)
def test_the_arbiter_is_asked_only_where_it_must_be(rules: Ruleset, words: str) -> None:
    request = bound(words)
    forced = any(action.kind == "force" for each in rules.rules for action in each.actions)
    if request.layouts or forced or 0 in (request.dims["M"], request.dims["N"]):
        return
    assert answer(structure_of(rules, request, of_dims), request) == truth_of(rules, request)


def test_what_structure_refuses_is_gone_from_the_code() -> None:
    rules = ruleset(candidate("half", "hand_tuned", requires=["dtype == f16", "M % 8 == 0"]), candidate("full", requires=["M % 4 == 0"]))
    structure = structure_of(rules, bound("dtype=f32"), of_dims)
    assert [fact.key for fact in structure.parameters] == ["dim:M", "dim:K", "dim:N"]
    assert structure.plan.winner(8, 1, 1) == 1
    assert 8 not in structure.plan.winner.__code__.co_consts
    assert structure_of(rules, bound("dtype=f16"), of_dims).plan.winner(8, 1, 1) == 0


def test_what_is_no_plain_answer_goes_to_the_arbiter() -> None:
    rules = ruleset(candidate("one", requires=["M % 8 == 0"]), rules=[rule("pin", "force one", when="N == 3")])
    winner = structure_of(rules, bound("dtype=f32"), of_dims).plan.winner
    assert winner(8, 1, 1) == 0
    assert winner(9, 1, 1) == NOBODY
    for odd in ((0, 1, 1), (8, 1, 3), (2**63, 1, 1), (8.0, 1, 1), (True, 1, 1), (-8, 1, 1)):
        assert winner(*odd) == ASK, odd


def test_a_condition_that_is_an_error_keeps_its_candidate_out_and_its_deny_in() -> None:
    rules = ruleset(
        candidate("first", "hand_tuned", requires=["K % (N - 2) == 0"]),
        candidate("second", requires=[]),
        candidate("third", "synthesized"),
        rules=[rule("against", "deny second", when="K % (M - 2) == 0")],
    )
    structure = structure_of(rules, bound("dtype=f32"), of_dims)
    assert structure.winner(2, 1, 3) == "first"
    assert structure.winner(2, 1, 2) == "third"  # both are errors: M - 2 and N - 2 are 0
    assert structure.winner(4, 1, 2) == "second"


def test_a_preference_that_holds_is_ranked_over_the_whole_field() -> None:
    rules = ruleset(
        candidate("slow", "synthesized"),
        candidate("quick", "hand_tuned", avoid=["M <= 4"]),
        candidate("wide", "hand_tuned"),
        rules=[rule("decode", "prefer slow over quick,wide", when="M <= 4"), rule("odd", "avoid wide", when="K == 7")],
    )
    structure = structure_of(rules, bound("dtype=f32"), of_dims)
    assert structure.plan.winner(4, 1, 1) == RANK
    assert [structure.winner(m, k, 1) for m, k in ((4, 1), (5, 1), (5, 7))] == ["slow", "quick", "quick"]


def test_who_is_avoided_comes_after_who_is_not_and_still_serves() -> None:
    rules = ruleset(
        candidate("first", "hand_tuned", requires=["N <= 8"], avoid=["M <= 4", "K >= 2"]),
        candidate("second", "emitted", requires=["N <= 4"]),
        candidate("third", "synthesized", requires=["N <= 4"]),
        rules=[rule("odd", "avoid second", when="K == 7")],
    )
    winner = structure_of(rules, bound("dtype=f32"), of_dims).winner  # sizes are M, K, N
    assert [winner(*sizes) for sizes in ((5, 2, 1), (4, 1, 1), (4, 2, 1), (4, 7, 1), (4, 7, 8))] == ["first", "first", "second", "third", "first"]


def test_costs_are_compared_and_an_error_costs_most() -> None:
    rules = ruleset(
        candidate("linear", cost="1.0 * M"),
        candidate("constant", cost="5.0"),
        candidate("divides", cost="1.0 / (N - 1)"),
        candidate("silent"),
        policy=Policy(order=("cost", "tier", "declaration")),
    )
    structure = structure_of(rules, bound("dtype=f32"), of_dims)
    for m, n in ((1, 1), (9, 1), (9, 11), (5, 1)):
        request = bound(f"dtype=f32 M={m} K=1 N={n}")
        assert answer(structure, request) == truth_of(rules, request)


def test_strides_that_nothing_is_stated_of_are_products_of_sizes() -> None:
    rules = ruleset(candidate("rows", "hand_tuned", requires=["stride(a, 0) % 8 == 0", "max_offset(b) < 100"]), candidate("any"))
    structure = structure_of(rules, bound("dtype=f32"), of_dims)
    for words in ("M=1 K=8 N=4", "M=1 K=8 N=40", "M=1 K=9 N=4", "M=1 K=0 N=4"):
        request = bound(f"dtype=f32 {words}")
        assert answer(structure, request) == truth_of(rules, request) != "reference"
