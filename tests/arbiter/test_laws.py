"""What holds for every ruleset: order, refused candidates, forces, and what is said while something is open."""

from __future__ import annotations

import itertools

import pytest
from attrs import evolve
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from tessera_rules.arbiter import Decision, bind_words, decide, worlds
from tessera_rules.errors import ArbiterError
from tessera_rules.model.values import Ruleset
from tests.arbiter.asking import box, of
from tests.arbiter.drawing import NAMES, rulesets, some_requests
from tests.arbiter.factory import candidate, rule, ruleset

THERE = box()
QUICK = settings(max_examples=120, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])


def bound(words: str):
    return bind_words(ruleset(), "matmul", "cpu", dict(word.split("=", 1) for word in words.split()), THERE)


def tried(rules: Ruleset, words: str, **how) -> Decision | None:
    """Decide; None where a rule's force is refused."""
    try:
        return decide(rules, bound(words), THERE, **how)
    except ArbiterError:
        return None


def reordered(rules: Ruleset, order) -> Ruleset:
    return ruleset(*(rules.candidates[name] for name in order), rules=rules.rules, policy=rules.policy)


@QUICK
@given(rulesets(), some_requests, st.randoms(use_true_random=False))
def test_the_order_of_candidates_and_rules_decides_nothing_but_the_last_tie(rules, words, random):
    order = list(rules.candidates)
    random.shuffle(order)
    shuffled_rules = list(rules.rules)
    random.shuffle(shuffled_rules)
    one, two = tried(rules, words), tried(evolve(reordered(rules, order), rules=tuple(shuffled_rules)), words)
    assert (one is None) == (two is None)
    if one is None or two is None or "declaration" in (one.criterion, two.criterion):
        return
    assert (one.winner, one.tag, one.criterion) == (two.winner, two.tag, two.criterion)
    assert {each.candidate: each.verdict for each in one.verdicts} == {each.candidate: each.verdict for each in two.verdicts}


@QUICK
@given(rulesets(), some_requests, st.integers(0, 4), st.sampled_from(["requires", "available", "deny"]))
def test_adding_a_candidate_that_is_out_changes_nothing(rules, words, place, how):
    extra = candidate(
        "extra", "hand_tuned", cost="0.0", requires=["false"] if how == "requires" else [], available=["library('no')"] if how == "available" else []
    )
    everybody = list(rules.candidates.values())
    everybody.insert(place, extra)
    more = [rule("against", "deny extra")] if how == "deny" else []
    prefers = rule("liked", "prefer extra over " + ",".join(NAMES))
    before, after = tried(rules, words), tried(ruleset(*everybody, rules=[*rules.rules, *more, prefers], policy=rules.policy), words)
    assert (before is None) == (after is None)
    if before is None or after is None:
        return
    assert (before.winner, before.tag, before.criterion, before.ranking) == (after.winner, after.tag, after.criterion, after.ranking)
    assert [(each.candidate, each.verdict, each.reason) for each in before.verdicts] == [
        (each.candidate, each.verdict, each.reason) for each in after.verdicts if each.candidate != "extra"
    ]


@QUICK
@given(rulesets(), some_requests)
def test_forcing_who_is_admitted_selects_it_and_nobody_else_can_be_forced(rules, words):
    decision = tried(rules, words)
    assume(decision is not None)
    assert decision is not None
    for each in decision.verdicts:
        forced = tried(rules, words, force=each.candidate)
        if decision.criterion == "empty":
            assert forced is not None
            assert forced.criterion == "empty"
        elif each.verdict in ("selected", "outranked"):
            assert forced is not None
            assert (forced.winner, forced.tag, forced.criterion) == (each.candidate, each.candidate, "force")
        else:
            assert forced is None


@QUICK
@given(rulesets(), some_requests)
def test_everybody_has_one_verdict_and_the_winner_is_the_one_selected(rules, words):
    decision = tried(rules, words)
    assume(decision is not None)
    assert decision is not None
    assert [each.candidate for each in decision.verdicts] == list(rules.candidates)
    assert [each.candidate for each in decision.verdicts if each.verdict == "selected"] == ([decision.winner] if decision.winner else [])
    assert decision.tag == (decision.winner or "reference")
    assert decision.ranking[:1] == ((decision.winner,) if decision.winner else ())
    assert all(each.reason for each in decision.verdicts)


@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(rulesets(), st.sets(st.sampled_from(["M", "N", "K", "dtype"]), min_size=1), st.sampled_from([worlds.MAX_VARIABLES, 0]))
def test_what_is_said_while_something_is_open_holds_for_every_completion(rules, hidden, limit):
    names = ["M", "N", "K", "dtype"]
    choices = {name: ["f32", "bf16"] if name == "dtype" else [1, 2, 4] for name in names}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(worlds, "MAX_VARIABLES", limit)  # 0: as if too much were open to try every completion
        partial = tried(rules, " ".join(f"{name}={choices[name][-1]}" for name in names if name not in hidden))
    whole = []
    for values in itertools.product(*(choices[name] if name in hidden else choices[name][-1:] for name in names)):
        whole.append(tried(rules, " ".join(f"{name}={value}" for name, value in zip(names, values, strict=True))))
    if partial is None:
        assert all(each is None for each in whole)
        return
    if partial.tag != "undecided":
        # A size that is hidden may be 0, which is another matter: none of the completions here is.
        assert {each and each.winner for each in whole} == {partial.winner}
    for verdict in partial.verdicts:
        if verdict.verdict != "undecided":
            told = {of(each, verdict.candidate).verdict for each in whole if each is not None}
            assert verdict.verdict == "selected" or "selected" not in told
            if verdict.verdict in ("refused", "denied", "unavailable"):
                assert told <= {"refused", "denied", "unavailable", "error"}
    if partial.tag == "undecided":
        assert partial.residual
        assert all(each.needs for each in partial.residual)
        assert {need for each in partial.residual for need in each.needs} <= hidden
