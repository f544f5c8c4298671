"""For which requests the same decision holds: sound by brute force, useful by example."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings

from tessera_rules.arbiter import bind_words, decide
from tessera_rules.arbiter.facts import lookup_for
from tessera_rules.arbiter.holds import holds_for, holds_term
from tessera_rules.compile.evaluate import truth
from tessera_rules.errors import ArbiterError
from tessera_rules.model.values import Ruleset
from tests.arbiter.asking import box
from tests.arbiter.drawing import requests, rulesets, some_requests
from tests.arbiter.factory import MATMUL, candidate, rule, ruleset

THERE = box()
BOUND = [bind_words(ruleset(), "matmul", "cpu", dict(word.split("=", 1) for word in words.split()), THERE) for words in requests()]


def winner(rules: Ruleset, request) -> str | None:
    try:
        return decide(rules, request, THERE).winner
    except ArbiterError:
        return "an error"


@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(rulesets(), some_requests)
def test_every_request_inside_has_the_same_winner(rules, words):
    request = bind_words(rules, "matmul", "cpu", dict(word.split("=", 1) for word in words.split()), THERE)
    try:
        decision = decide(rules, request, THERE)
    except ArbiterError:
        return
    term = holds_term(rules, request, THERE, decision)
    if term is None:
        return
    assert truth(term, lookup_for(request, {"cores": 2}, THERE)) is True, "the request itself is inside"
    for other in BOUND:
        if truth(term, lookup_for(other, {"cores": 2}, THERE)) is True:
            assert winner(rules, other) == decision.winner, (holds_for(rules, request, THERE, decision), other.dims, other.dtype)


def text(rules: Ruleset, words: str, **how) -> str | None:
    request = bind_words(rules, "matmul", "cpu", dict(word.split("=", 1) for word in words.split()), THERE)
    return holds_for(rules, request, THERE, decide(rules, request, THERE, **how), **how)


FAST = candidate("fast", "hand_tuned", requires=["dtype == f32", "K % 16 == 0"], honours=["act", "epilogue", "bias", "transpose_b"])
SLOW = candidate("slow", "synthesized", honours=["act", "epilogue", "bias", "transpose_b"])


def test_the_winner_keeps_its_clauses_and_who_is_behind_does_not_matter():
    assert text(ruleset(FAST, SLOW), "dtype=f32 M=4 N=4 K=32") == "dtype == f32 and M > 0 and N > 0 and K % 16 == 0"


def test_who_would_be_ahead_is_kept_out_by_the_clause_that_refuses_it():
    assert text(ruleset(FAST, SLOW), "dtype=f32 M=4 N=4 K=33") == "M > 0 and N > 0 and K % 16 != 0"
    assert text(ruleset(FAST, SLOW), "dtype=f16 M=4 N=4 K=32") == "dtype == f16 and M > 0 and N > 0"


def test_a_preference_is_kept_only_where_it_decides():
    decode = rule("decode", "prefer slow over fast", when="M <= 4")
    assert text(ruleset(FAST, SLOW, rules=[decode]), "dtype=f32 M=4 N=4 K=32") == "M > 0 and N > 0 and M <= 4"
    assert text(ruleset(FAST, SLOW, rules=[decode]), "dtype=f32 M=5 N=4 K=32") == "dtype == f32 and M > 0 and N > 0 and K % 16 == 0 and M > 4"
    assert text(ruleset(FAST, SLOW, rules=[decode]), "dtype=f32 M=5 N=4 K=33") == "M > 0 and N > 0 and K % 16 != 0"


def test_attributes_count_where_somebody_does_not_honour_them():
    deaf = candidate("deaf", "hand_tuned", honours=["epilogue", "bias", "transpose_b"])
    assert text(ruleset(deaf, SLOW), "dtype=f32 M=4 N=4 K=4") == "act == none and M > 0 and N > 0"
    assert text(ruleset(deaf, SLOW), "dtype=f32 M=4 N=4 K=4 act=relu") == "act == relu and M > 0 and N > 0"


def test_an_error_is_kept_by_the_values_that_it_reads():
    broken = candidate("broken", "hand_tuned", requires=["K % (N - 4) == 0"], honours=["act", "epilogue", "bias", "transpose_b"])
    assert text(ruleset(broken, SLOW), "dtype=f32 M=4 N=4 K=8") == "M > 0 and N > 0 and K == 8 and N == 4"


def test_costs_are_kept_where_they_decide():
    cheap = candidate("cheap", cost="1.0 * M", honours=["act", "epilogue", "bias", "transpose_b"])
    dear = candidate("dear", cost="3.0", honours=["act", "epilogue", "bias", "transpose_b"])
    assert text(ruleset(cheap, dear), "dtype=f32 M=2 N=4 K=8") == "M > 0 and N > 0 and M == 2"


def test_empty_results_nobody_and_forces():
    assert text(ruleset(FAST), "dtype=f32 M=0 N=4 K=8") == "M == 0"
    assert text(ruleset(FAST), "dtype=f32 M=1 N=4 K=8") == "M > 0 and N > 0 and K % 16 != 0"
    assert text(ruleset(FAST, SLOW), "dtype=f32 M=1 N=4 K=16", force="slow") == "M > 0 and N > 0"
    assert text(ruleset(FAST, SLOW), "dtype=f32 M=1 N=4 K=16", force="reference") == "M > 0 and N > 0"
    assert text(ruleset(FAST, SLOW), "dtype=f32 M=1 N=4") is None


@pytest.mark.parametrize("words", ["dtype=f32 N=4 K=32", "dtype=f32 K=32"])
def test_sizes_that_are_not_known_stay_open(words):
    assert text(ruleset(FAST, SLOW), words) == "dtype == f32 and M > 0 and N > 0 and K % 16 == 0"


def test_many_candidates_behind_cost_nothing():
    many = [candidate(f"m{index}", requires=[f"M != {index + 10}"]) for index in range(40)]
    assert text(ruleset(FAST, *many), "dtype=f32 M=4 N=4 K=32") == "dtype == f32 and M > 0 and N > 0 and K % 16 == 0"
    assert MATMUL.name == "matmul"
