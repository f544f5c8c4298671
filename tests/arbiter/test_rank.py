"""The ranking: each criterion, preferences and their cycles, forces of rules and of the caller."""

from __future__ import annotations

import pytest
from attrs import evolve

from tessera_rules.errors import ArbiterError, UsageError
from tessera_rules.model.values import Policy
from tests.arbiter.asking import ask, box, of, words_of
from tests.arbiter.factory import ATTENTION, ROCM, candidate, rule, ruleset

A, B, C = candidate("a", "emitted"), candidate("b", "emitted"), candidate("c", "synthesized")


def test_declaration_breaks_the_last_tie_and_says_so():
    decision = ask(ruleset(A, B, C))
    assert (decision.winner, decision.criterion, decision.ranking) == ("a", "declaration", ("a", "b", "c"))
    assert of(decision, "b").extra == {"by": "a", "criterion": "declaration"}
    assert of(decision, "c").extra == {"by": "a", "criterion": "tier"}
    assert ask(ruleset(B, A, C)).winner == "b"


def test_tiers_go_from_hand_tuned_to_synthesized():
    decision = ask(ruleset(candidate("s", "synthesized"), candidate("e", "emitted"), candidate("h", "hand_tuned")))
    assert (decision.ranking, decision.criterion) == (("h", "e", "s"), "tier")


def test_one_left_is_only():
    assert ask(ruleset(A, candidate("x", "hand_tuned", requires=["M == 1"]))).criterion == "only"


def test_avoid_puts_a_candidate_behind_everybody_else_and_keeps_it():
    slow = candidate("slow", "hand_tuned", avoid=["M < 16 because launch cost dominates", "N < 100"])
    decision = ask(ruleset(slow, C), "dtype=f32 M=8 N=64 K=1")
    no = of(decision, "slow")
    assert (decision.winner, decision.criterion, no.verdict, no.extra["criterion"]) == ("c", "avoid", "outranked", "avoid")
    assert "launch cost dominates" in no.reason
    assert no.values == {"M": 8}
    assert ask(ruleset(slow, C), "dtype=f32 M=8 N=100 K=1").winner == "slow"  # joined by and
    assert ask(ruleset(slow), "dtype=f32 M=8 N=64 K=1").criterion == "only"
    both = ruleset(slow, candidate("other", "synthesized", avoid=["M == 8"]))
    assert ask(both, "dtype=f32 M=8 N=64 K=1").criterion == "tier"


def test_an_error_in_avoid_counts_as_false_and_is_reported():
    decision = ask(ruleset(candidate("x", "hand_tuned", avoid=["K % (N - 4) == 0"]), C), "dtype=f32 M=8 N=4 K=1")
    assert decision.winner == "x"
    assert any("in its avoid has no answer" in note for note in decision.notes)


def test_a_rule_avoids():
    rules = ruleset(candidate("x", "hand_tuned"), C, rules=[rule("slow", "avoid x", when="M <= 8", because="too few rows")])
    decision = ask(rules, "dtype=f32 M=8 N=4 K=1")
    assert (decision.winner, decision.criterion) == ("c", "avoid")
    no = of(decision, "x")
    assert (no.extra["rule"], no.because, no.clause, no.values) == ("slow", "too few rows", "M <= 8", {"M": 8})
    assert ask(rules, "dtype=f32 M=9 N=4 K=1").winner == "x"


def test_cost_breaks_a_tie_and_nothing_above_it():
    cheap, dear, none = candidate("cheap", cost="1.0 * M"), candidate("dear", cost="2.0 * M"), candidate("none")
    decision = ask(ruleset(dear, cheap))
    assert (decision.winner, decision.criterion) == ("cheap", "cost")
    assert "128" in of(decision, "dear").reason
    assert ask(ruleset(none, dear)).winner == "dear"  # a cost that is stated comes before none
    assert ask(ruleset(none, candidate("also"))).criterion == "declaration"
    assert ask(ruleset(candidate("low", "synthesized", cost="0.0"), dear)).criterion == "tier"


def test_an_error_in_cost_is_no_cost_and_is_reported():
    decision = ask(ruleset(candidate("x", cost="1.0 / (N - 4)"), candidate("y", cost="9.0")), "dtype=f32 M=8 N=4 K=1")
    assert (decision.winner, decision.criterion) == ("y", "cost")
    assert any("cost has no answer" in note for note in decision.notes)


def test_a_preference_overrides_tier_and_says_which_rule():
    rules = ruleset(A, C, rules=[rule("decode", "prefer c over a", when="M <= 4", because="one pass")])
    decision = ask(rules, "dtype=f32 M=1 N=64 K=64")
    assert (decision.winner, decision.criterion) == ("c", "rules")
    behind = of(decision, "a")
    assert behind.extra == {"by": "c", "criterion": "rules", "rule": "decode"}
    assert behind.because == "one pass"
    assert behind.clause == "M <= 4"
    assert "decode" in behind.reason
    assert "one pass" in behind.reason
    assert ask(rules).winner == "a"


def test_preferences_hold_only_among_those_in_the_race():
    rules = ruleset(A, B, candidate("c", "synthesized", requires=["M == 1"]), rules=[rule("r", "prefer b over c"), rule("s", "prefer c over a")])
    assert ask(rules).winner == "a"  # c is refused, so that nobody is preferred over a
    assert ask(rules, "dtype=f32 M=1 N=1 K=1").winner == "b"


def test_undominated_stay_and_the_next_criterion_decides():
    rules = ruleset(C, A, candidate("h", "hand_tuned"), rules=[rule("r", "prefer c over h")])
    decision = ask(rules)
    assert (decision.winner, decision.criterion) == ("a", "tier")
    assert of(decision, "h").extra == {"by": "c", "criterion": "rules", "rule": "r"}


@pytest.mark.parametrize("order", [("a", "b", "c"), ("c", "b", "a"), ("b", "c", "a")])
def test_a_cycle_ties_its_members_and_stands_over_who_it_beats(order):
    by_name = {"a": A, "b": B, "c": candidate("c", "emitted"), "h": candidate("h", "hand_tuned")}
    loop = [rule("r", "prefer a over b"), rule("s", "prefer b over c"), rule("t", "prefer c over a,h")]
    decision = ask(ruleset(*(by_name[name] for name in order), by_name["h"], rules=loop))
    assert (decision.winner, decision.criterion) == (order[0], "declaration")
    assert of(decision, "h").extra["criterion"] == "rules"


def test_who_is_beaten_from_outside_the_cycle_falls():
    loop = [rule("r", "prefer a over b"), rule("s", "prefer b over a"), rule("t", "prefer c over a")]
    decision = ask(ruleset(A, B, C, rules=loop))
    assert decision.winner == "c"
    assert of(decision, "b").extra == {"by": "c", "criterion": "rules"}


def test_an_unknown_preference_leaves_the_rank_open():
    rules = ruleset(A, C, candidate("d", "synthesized"), rules=[rule("decode", "prefer c over a", when="M <= 4")])
    decision = ask(rules, "dtype=f32 N=64 K=64")
    assert words_of(decision) == {"a": "undecided", "c": "undecided", "d": "outranked"}
    assert any("M <= 4" in each.condition and each.needs == ("M",) for each in decision.residual)


def test_an_unknown_preference_that_cannot_matter_leaves_nothing_open():
    rules = ruleset(candidate("h", "hand_tuned"), A, C, rules=[rule("decode", "prefer c over a", when="M <= 4")])
    decision = ask(rules, "dtype=f32 N=64 K=64")
    assert (decision.winner, decision.criterion) == ("h", "tier")
    assert words_of(decision) == {"h": "selected", "a": "outranked", "c": "outranked"}


def test_an_unknown_avoid_leaves_the_rank_open():
    rules = ruleset(candidate("x", "hand_tuned", avoid=["M < 16"]), A, C)
    decision = ask(rules, "dtype=f32 N=64 K=64")
    assert words_of(decision) == {"x": "undecided", "a": "undecided", "c": "outranked"}
    by_rule = ruleset(candidate("x", "hand_tuned"), A, rules=[rule("r", "avoid x", when="M < 16")])
    assert ask(by_rule, "dtype=f32 N=64 K=64").tag == "undecided"


def test_an_unknown_cost_leaves_those_who_tie_open():
    rules = ruleset(candidate("x", cost="1.0 * M"), candidate("y", cost="2.0"), candidate("z", cost="3.0"), C)
    decision = ask(rules, "dtype=f32 N=64 K=64")
    assert words_of(decision) == {"x": "undecided", "y": "undecided", "z": "outranked", "c": "outranked"}


def test_a_policy_order_is_lexicographic_and_what_it_leaves_out_is_not_asked():
    slow, cheap = candidate("slow", "hand_tuned", avoid=["M == 64"], cost="5.0"), candidate("cheap", "synthesized", cost="1.0")
    no_rules = [rule("r", "prefer cheap over slow")]
    assert ask(ruleset(slow, cheap, policy=Policy(order=("tier", "avoid", "declaration")))).criterion == "tier"
    assert ask(ruleset(slow, cheap, policy=Policy(order=("cost", "tier", "declaration")))).winner == "cheap"
    assert ask(ruleset(slow, cheap, rules=no_rules, policy=Policy(order=("tier", "declaration")))).winner == "slow"
    assert ask(ruleset(slow, cheap, policy=Policy(order=("declaration",)))).criterion == "declaration"
    forcing = ask(ruleset(slow, cheap, rules=[rule("pin", "force cheap")], policy=Policy(order=("tier", "declaration"))))
    assert forcing.winner == "slow"
    assert any("leaves `rules` out" in note for note in forcing.notes)


class Fastest:
    """Evidence that keeps one, provided that everybody in the race was a contestant."""

    def __init__(self, name, contestants):
        self.name, self.contestants = name, frozenset(contestants)

    def keep(self, live, left):
        return left & {self.name} if live <= self.contestants and self.name in left else left


def test_measurements_come_after_rules_and_before_avoid():
    slow = candidate("slow", "synthesized", avoid=["M == 64"])
    rules = ruleset(A, slow)
    decision = ask(rules, measured=Fastest("slow", ["a", "slow"]))
    assert (decision.winner, decision.criterion) == ("slow", "measured")
    assert ask(rules, measured=Fastest("slow", ["slow"])).winner == "a"  # somebody live was no contestant
    preferred = evolve(rules, rules=(rule("r", "prefer a over slow"),))
    assert ask(preferred, measured=Fastest("slow", ["a", "slow"])).criterion == "rules"


# ---- forces ----


def test_the_callers_force_selects_who_is_in_the_race():
    decision = ask(ruleset(A, B, C), force="c")
    assert (decision.winner, decision.criterion, decision.ranking) == ("c", "force", ("c",))
    assert of(decision, "a").extra == {"by": "c", "criterion": "force"}
    assert any("force=c" in note for note in decision.notes)


FLASH = candidate("flash", "hand_tuned", op=ATTENTION, target=ROCM, requires=["head_dim % 16 == 0 because tiles"], available=["library('libx.so')"])
GENERIC = candidate("generic", op=ATTENTION, target=ROCM)


def test_T11_D23_a_refused_force_is_an_error_that_says_why_and_who_there_is():
    with pytest.raises(ArbiterError) as caught:
        ask(ruleset(FLASH, GENERIC), "dtype=f16 head_dim=72", op="attention", target="rocm", force="flash")
    error = caught.value
    assert (error.candidate, error.clause, error.values) == ("flash", "head_dim % 16 == 0", {"head_dim": 72})
    assert error.span is not None
    for part in ("flash", "refused", "head_dim % 16 == 0", "tiles", "registered here: flash, generic"):
        assert part in error.message


@pytest.mark.parametrize(
    ("why", "rules"),
    [
        ("unavailable", ruleset(FLASH, GENERIC)),
        ("denied", ruleset(FLASH, GENERIC, rules=[rule("r", "deny flash", op=ATTENTION, target=ROCM)])),
        ("error", ruleset(evolve(FLASH, requires=candidate("x", op=ATTENTION, target=ROCM, requires=["Sq % (head_dim - 64) == 0"]).requires))),
    ],
)
def test_whatever_keeps_a_forced_candidate_out_is_an_error(why, rules):
    with pytest.raises(ArbiterError, match=f"flash is {why}"):
        ask(rules, "dtype=f16 head_dim=64 Sq=4", op="attention", target="rocm", force="flash")


def test_T11_a_forced_candidate_that_the_oracle_found_wrong_is_an_error():
    from tessera_rules.arbiter import reasons
    from tessera_rules.arbiter.situation import Proved

    with pytest.raises(ArbiterError, match=r"off by 3\.0"):
        ask(ruleset(A, C), force="a", proofs={"a": Proved("unverified", reasons.verdict(A, "wrong", "off by 3.0"))})


def test_a_forced_undecided_stays_undecided():
    decision = ask(ruleset(candidate("x", requires=["M == 4"]), A), "dtype=f32 N=1 K=1", force="x")
    assert (decision.winner, decision.tag) == (None, "undecided")
    assert words_of(decision) == {"x": "undecided", "a": "outranked"}
    assert decision.residual[0].needs == ("M",)


def test_the_reference_may_be_forced():
    decision = ask(ruleset(A), force="reference")
    assert (decision.winner, decision.tag, decision.criterion) == (None, "reference", "force")
    assert of(decision, "a").extra == {"by": "reference", "criterion": "force"}


def test_a_forced_name_that_nobody_has_names_the_nearest():
    with pytest.raises(UsageError, match="'flash'"):
        ask(ruleset(FLASH, GENERIC), "dtype=f16", op="attention", target="rocm", force="flsh")
    with pytest.raises(ArbiterError, match="candidate of attention on rocm"):
        ask(ruleset(A, FLASH), force="flash")
    with pytest.raises(UsageError):
        ask(ruleset(A), "dtype=f32 M=0", force="b")


def test_a_rules_force_narrows_the_race():
    rules = ruleset(A, B, C, rules=[rule("pin", "force c", when="M * N * K <= 32768")])
    decision = ask(rules, "dtype=f32 M=32 N=32 K=32")
    assert (decision.winner, decision.criterion, decision.ranking) == ("c", "rules", ("c",))
    assert "pin" in of(decision, "a").reason
    assert any("rule pin forces c" in note for note in decision.notes)
    assert ask(rules, "dtype=f32 M=33 N=32 K=32").winner == "a"


def test_a_rules_force_of_several_is_the_best_of_them():
    rules = ruleset(candidate("h", "hand_tuned"), C, A, candidate("x", requires=["M == 1"]), rules=[rule("pin", "force c,a,x")])
    decision = ask(rules)
    assert (decision.winner, decision.criterion, decision.ranking) == ("a", "tier", ("a", "c"))


def test_rules_that_force_apart_are_an_error_and_that_overlap_are_not():
    with pytest.raises(ArbiterError, match="force apart"):
        ask(ruleset(A, B, rules=[rule("r", "force a"), rule("s", "force b", when="M == 64")]))
    assert ask(ruleset(A, B, rules=[rule("r", "force a"), rule("s", "force b", when="M == 1")])).winner == "a"
    assert ask(ruleset(A, B, C, rules=[rule("r", "force a,c"), rule("s", "force b,c")])).winner == "c"
    assert ask(ruleset(A, B, C, rules=[rule("r", "force c", "force b")])).winner == "b"  # one rule's forces add up


def test_D23_a_rules_force_whose_candidate_is_refused_is_an_error_with_the_clause():
    rules = ruleset(A, candidate("x", requires=["M == 1"]), rules=[rule("pin", "force x")])
    with pytest.raises(ArbiterError, match=r"rule pin forces x.*M == 1") as caught:
        ask(rules)
    assert (caught.value.candidate, caught.value.clause) == ("x", "M == 1")


def test_D23_the_callers_force_replaces_the_rules_and_says_so():
    decision = ask(ruleset(A, B, rules=[rule("pin", "force b")]), force="a")
    assert decision.winner == "a"
    assert any("pin" in note and "replaced" in note for note in decision.notes)


def test_an_unknown_force_leaves_its_candidates_undecided():
    rules = ruleset(A, C, candidate("d", "synthesized"), rules=[rule("pin", "force c", when="M * N <= 64")])
    decision = ask(rules, "dtype=f32 N=64 K=1")
    assert words_of(decision) == {"a": "undecided", "c": "undecided", "d": "outranked"}
    assert any("pin" in each.condition and each.needs == ("M",) for each in decision.residual)


def test_an_unknown_force_of_somebody_refused_is_open_too():
    rules = ruleset(A, candidate("c", requires=["N == 1"]), rules=[rule("pin", "force c", when="M <= 64")])
    decision = ask(rules, "dtype=f32 N=64 K=1")
    assert (decision.winner, decision.tag, of(decision, "c").verdict) == (None, "undecided", "refused")
    assert any("pin" in each.condition for each in decision.residual)


def test_a_rules_force_of_somebody_undecided_is_undecided():
    rules = ruleset(A, candidate("c", requires=["M == 1"]), rules=[rule("pin", "force c")])
    decision = ask(rules, "dtype=f32 N=64 K=1")
    assert (decision.tag, words_of(decision)) == ("undecided", {"a": "outranked", "c": "undecided"})
    assert of(decision, "a").extra == {"by": "c", "criterion": "rules", "rule": "pin"}


# ---- what is open ----


def test_an_undecided_candidate_behind_who_surely_races_is_outranked():
    rules = ruleset(candidate("h", "hand_tuned"), candidate("x", requires=["M == 4"]), C)
    decision = ask(rules, "dtype=f32 N=1 K=1")
    assert (decision.winner, words_of(decision)) == ("h", {"h": "selected", "x": "outranked", "c": "outranked"})
    assert decision.residual == ()


def test_a_sound_candidate_behind_an_undecided_one_is_undecided_and_names_it():
    rules = ruleset(candidate("x", "hand_tuned", requires=["M == 4"]), A, C)
    decision = ask(rules, "dtype=f32 N=1 K=1")
    assert words_of(decision) == {"x": "undecided", "a": "undecided", "c": "outranked"}
    assert of(decision, "c").extra["by"] == "a"
    about_a = [each for each in decision.residual if each.candidate == "a"]
    assert about_a[0].needs == ("M",)
    assert "x is ahead" in about_a[0].condition


def test_the_same_condition_at_two_candidates_is_open_once():
    rules = ruleset(candidate("x", "hand_tuned", requires=["M == 4"]), candidate("y", requires=["M == 4"]), candidate("z", requires=["M == 5"]), C)
    decision = ask(rules, "dtype=f32 N=1 K=1")
    # Where y races x does too, so that y never comes first; z may.
    assert words_of(decision) == {"x": "undecided", "y": "outranked", "z": "undecided", "c": "undecided"}
    assert of(decision, "y").extra["by"] == "x"


def test_with_much_open_only_what_holds_by_itself_is_said():
    many = [candidate(f"m{index}", requires=[f"M == {index}"]) for index in range(14)]
    rules = ruleset(*many, C, candidate("d", "synthesized"))
    decision = ask(rules, "dtype=f32 N=1 K=1")
    assert decision.tag == "undecided"
    assert words_of(decision) == {**{each.name: "undecided" for each in many}, "c": "undecided", "d": "outranked"}
    top = ruleset(*many, candidate("h", "hand_tuned"))
    assert ask(top, "dtype=f32 N=1 K=1").winner == "h"


def test_with_much_open_no_winner_is_named_that_a_force_may_undo():
    many = [candidate(f"m{index}", requires=[f"M == {index}"]) for index in range(14)]
    rules = ruleset(candidate("h", "hand_tuned"), *many, candidate("x", requires=["N == 7"]), rules=[rule("pin", "force x", when="M == 99")])
    decision = ask(rules, "dtype=f32 N=1 K=1")
    assert (decision.winner, decision.tag) == (None, "undecided")


def test_who_is_behind_somebody_that_a_preference_may_push_aside_can_still_win():
    rules = ruleset(
        candidate("y", "hand_tuned"), candidate("x", "emitted"), candidate("z", "synthesized", requires=["M == 4"]), rules=[rule("r", "prefer z over y")]
    )
    assert words_of(ask(rules, "dtype=f32 N=1 K=1")) == {"y": "undecided", "x": "undecided", "z": "outranked"}
    assert ask(rules, "dtype=f32 M=4 N=1 K=1").winner == "x"


def test_somebody_who_never_wins_can_leave_others_undecided():
    rules = ruleset(A, B, candidate("d", requires=["M % 2 == 0"]), rules=[rule("r", "prefer d over a")])
    decision = ask(rules, "dtype=f32 N=1 K=1")
    assert words_of(decision) == {"a": "undecided", "b": "undecided", "d": "outranked"}
    assert [(each.candidate, each.needs) for each in decision.residual] == [("a", ("M",)), ("b", ("M",))]
    assert all("d" in each.condition and "M % 2 == 0" in each.condition for each in decision.residual)


def test_everybody_undecided_and_nobody_sure():
    decision = ask(ruleset(candidate("x", requires=["M == 4"])), "dtype=f32 N=1 K=1")
    assert (decision.winner, decision.tag, decision.criterion) == (None, "undecided", "undecided")
    assert box().stated
