"""The gates one by one: what each verdict is, and everything that it says."""

from __future__ import annotations

import pytest

from tessera_rules.arbiter.race import race
from tessera_rules.arbiter.situation import Proved, Situation
from tessera_rules.errors import ArbiterError, OperandError, UsageError
from tessera_rules.model.values import Policy, Uses
from tests.arbiter.asking import GFX1151, ask, box, of, words_of
from tests.arbiter.factory import ATTENTION, CPU, MATMUL, ROCM, candidate, make_op, rule, ruleset, span, term

FLASH = candidate(
    "flash",
    "hand_tuned",
    op=ATTENTION,
    target=ROCM,
    available=["device.arch in ['gfx1150', 'gfx1151']"],
    requires=["dtype == f16", "head_dim % 16 == 0 and head_dim <= 256 because one K/V tile must fit in LDS", "Hq // Hkv in [1, 2, 3, 4, 8]"],
    honours=["causal"],
)
GENERIC = candidate("generic", "synthesized", op=ATTENTION, target=ROCM, honours=["causal", "softcap", "mask", "window"])
ROCM_RULES = ruleset(FLASH, GENERIC)
HEADS = "dtype=f16 B=1 Hq=8 Hkv=8 Sq=128 Skv=128"


def attend(words: str, **how):
    return ask(ROCM_RULES, words, op="attention", target="rocm", **how)


def test_aligned_is_selected_by_tier():
    decision = attend(f"{HEADS} head_dim=64 Dv=64")
    assert (decision.winner, decision.tag, decision.criterion) == ("flash", "flash", "tier")
    behind = of(decision, "generic")
    assert (behind.verdict, behind.extra) == ("outranked", {"by": "flash", "criterion": "tier"})
    assert decision.ranking == ("flash", "generic")


def test_T5_a_ragged_shape_is_refused_before_the_race_and_the_lower_tier_serves():
    decision = attend(f"{HEADS} head_dim=72 Dv=72")
    assert (decision.winner, decision.criterion) == ("generic", "only")
    no = of(decision, "flash")
    assert (no.verdict, no.code, no.clause) == ("refused", "requires", "head_dim % 16 == 0 and head_dim <= 256")
    assert no.because == "one K/V tile must fit in LDS"
    assert no.values == {"head_dim": 72}
    assert no.span is not None
    assert "head_dim = 72" in no.reason


def test_the_first_false_clause_in_file_order_is_the_verdict():
    assert of(attend("dtype=f32 B=1 Hq=40 Hkv=8 Sq=1 Skv=1 head_dim=72 Dv=1"), "flash").clause == "dtype == f16"


@pytest.mark.parametrize(
    ("ratio", "winner"), [(1, "flash"), (2, "flash"), (3, "flash"), (4, "flash"), (5, "generic"), (6, "generic"), (7, "generic"), (8, "flash"), (16, "generic")]
)
def test_P8_group_ratios_that_the_kernel_was_not_built_for(ratio, winner):
    assert attend(f"dtype=f16 B=1 Hq={2 * ratio} Hkv=2 Sq=8 Skv=8 head_dim=64 Dv=64").winner == winner


def test_P9_a_grid_extent_is_a_clause():
    rules = ruleset(candidate("grid", requires=["M <= 65535 because the grid's y extent"]), candidate("loop", "synthesized"))
    assert ask(rules, "dtype=f32 M=65535 N=1 K=1").winner == "grid"
    assert ask(rules, "dtype=f32 M=65536 N=1 K=1").winner == "loop"


def test_P10_offsets_past_two_to_the_31_are_exact():
    rules = ruleset(candidate("narrow", requires=["max_offset(a) < 2147483648"]), candidate("wide", "synthesized"))
    assert ask(rules, "dtype=f32 M=65536 K=32768 N=1").winner == "narrow"  # reaches 2^31 - 1
    assert ask(rules, "dtype=f32 M=65537 K=32768 N=1").winner == "wide"
    assert ask(rules, "dtype=f32 M=3 K=4 N=1 a.strides=1073741824,1").winner == "wide"
    assert ask(rules, f"dtype=f32 M={2**70} K={2**70} N=1").winner == "wide"


@pytest.mark.parametrize("dims", ["M=0 N=4 K=4", "M=4 N=0 K=4", "M=0", "M=0 N=0 K=0"])
def test_P11_an_empty_result_is_answered_by_the_reference_at_once(dims):
    rules = ruleset(candidate("a", "hand_tuned"), candidate("b", requires=["M >= 1"]))
    decision = ask(rules, f"dtype=f32 {dims}")
    assert (decision.winner, decision.tag, decision.criterion) == (None, "reference", "empty")
    assert of(decision, "a").extra["by"] == "reference"
    forced = ask(rules, f"dtype=f32 {dims}", force="a")
    assert forced.criterion == "empty"
    assert any("force=a is ignored" in note for note in forced.notes)


def test_an_empty_sum_is_no_empty_result():
    assert ask(ruleset(candidate("a")), "dtype=f32 M=4 N=4 K=0").winner == "a"


def test_every_result_must_be_empty():
    op = make_op("two", {"x": "M N"}, "M N")
    more = make_op("more", {"x": "M N"}, "M")
    from attrs import evolve

    op = evolve(op, results=(*op.results, evolve(more.results[0], name="rows")))
    rules = ruleset(candidate("a", op=op), ops=[op])
    assert ask(rules, "dtype=f32 M=4 N=0", op="two").winner == "a"
    assert ask(rules, "dtype=f32 M=0 N=4", op="two").criterion == "empty"


@pytest.mark.parametrize(
    ("chip", "winner"), [("gfx1150", "flash"), ("gfx1151", "flash"), ("gfx1100", "generic"), ("gfx1152", "generic"), ("gfx1151a", "generic")]
)
def test_P12_P13_only_the_chips_that_are_named_pass(chip, winner):
    machine = box(targets={"rocm": {**GFX1151, "arch": chip}})
    decision = attend(f"{HEADS} head_dim=64 Dv=64", machine=machine)
    assert decision.winner == winner
    if winner == "generic":
        no = of(decision, "flash")
        assert no.verdict == "unavailable"
        assert no.extra["probe"] == "device.arch in ['gfx1150', 'gfx1151']"
        assert chip in no.extra["found"]


@pytest.mark.parametrize(("driver", "holds"), [("12.10", True), ("12.9", True), ("12.8", False), ("2.99", False), ("12.9.0", True), ("12.9rc1", False)])
def test_P14_versions_compare_by_component(driver, holds):
    rules = ruleset(candidate("new", target=ROCM, available=["device.driver >= version('12.9')"]), candidate("old", "synthesized", target=ROCM))
    machine = box(targets={"rocm": {**GFX1151, "driver": driver}})
    assert (ask(rules, target="rocm", machine=machine).winner == "new") is holds


def test_P18_decisions_are_per_device():
    machine = box(targets={"rocm": [GFX1151, {**GFX1151, "arch": "gfx1100"}]})
    assert attend(f"{HEADS} head_dim=64 Dv=64", machine=machine).winner == "flash"
    assert attend(f"{HEADS} head_dim=64 Dv=64 device=1", machine=machine).winner == "generic"
    with pytest.raises(OperandError, match=r"device=2 .* 2 devices"):
        attend(f"{HEADS} head_dim=64 Dv=64 device=2", machine=machine)


@pytest.mark.parametrize(
    ("word", "told"),
    [("softcap=30.0", "softcap=30.0"), ("window=4", "window=4"), ("given=mask", "mask")],
)
def test_P19_closed_world_refuses_who_does_not_name_it(word, told):
    decision = attend(f"{HEADS} head_dim=64 Dv=64 {word}")
    no = of(decision, "flash")
    assert (decision.winner, no.verdict, no.code) == ("generic", "refused", "closed_world")
    assert "does not honour" in no.reason
    assert told in no.reason


@pytest.mark.parametrize("word", ["softcap=null", "causal=false", "causal=true", "window=null", "given="])
def test_closed_world_lets_defaults_and_named_ones_pass(word):
    assert attend(f"{HEADS} head_dim=64 Dv=64 {word}").winner == "flash"


def test_an_attribute_without_a_default_is_always_another_value():
    from tests.arbiter.factory import NEEDY

    rules = ruleset(candidate("deaf", "hand_tuned", op=NEEDY), candidate("hears", op=NEEDY, honours=["fn"]))
    assert ask(rules, "dtype=f32 M=4 fn=exp", op="needy").winner == "hears"


def test_T14_tf32_does_not_serve_f32_unasked():
    rules = ruleset(candidate("fast", "hand_tuned", requires=["dtype == f32"], computes="tf32"), candidate("exact", "synthesized"))
    decision = ask(rules)
    no = of(decision, "fast")
    assert (decision.winner, no.verdict, no.code) == ("exact", "refused", "precision")
    assert "tf32" in no.reason
    assert ask(rules, "dtype=f32 M=64 N=64 K=64 allow=tf32").winner == "fast"
    assert ask(rules, "dtype=f32 M=64 N=64 K=64 allow=bf16").winner == "exact"


@pytest.mark.parametrize(
    ("computes", "dtype", "serves"),
    [
        ("f32", "f16", True),
        ("f32", "bf16", True),
        ("f16", "bf16", False),
        ("bf16", "f16", False),
        ("tf32", "bf16", True),
        ("f32", "f64", False),
        ("f16", "f8e4m3", True),
        ("f32", "i8", True),
        ("f16", "i32", False),
    ],
)
def test_precision_is_by_class(computes, dtype, serves):
    rules = ruleset(candidate("a", computes=computes))
    assert (ask(rules, f"dtype={dtype} M=4 N=4 K=4").winner == "a") is serves


def test_a_dtype_that_is_not_known_leaves_precision_open_unless_every_dtype_of_the_op_fits():
    rules = ruleset(candidate("a", computes="f32"))
    assert words_of(ask(rules, "M=4 N=4 K=4")) == {"a": "undecided"}
    wide = ruleset(candidate("a", computes="f64", op=ATTENTION, target=ROCM))
    assert ask(wide, "B=1", op="attention", target="rocm").winner == "a"


def test_D15_a_missing_value_is_open_by_name_and_never_zero():
    rules = ruleset(candidate("zero", "hand_tuned", requires=["K == 0"]), candidate("any", "synthesized"))
    decision = ask(rules, "dtype=f32 M=4 N=4")
    assert (decision.winner, decision.tag) == (None, "undecided")
    assert words_of(decision) == {"zero": "undecided", "any": "undecided"}
    assert [(each.candidate, each.condition, each.needs) for each in decision.residual if each.candidate == "zero"] == [("zero", "K == 0", ("K",))]
    ahead = next(each for each in decision.residual if each.candidate == "any")
    assert "zero" in ahead.condition
    assert ahead.needs == ("K",)


def test_T8_an_error_in_one_gate_is_that_candidates_verdict():
    rules = ruleset(candidate("c", "hand_tuned", requires=["K % (N - 4) == 0"]), candidate("d", "synthesized"))
    decision = ask(rules, "dtype=f32 M=64 N=4 K=8")
    assert (decision.winner, of(decision, "c").verdict) == ("d", "error")
    assert of(decision, "c").values == {"K": 8, "N": 4}
    assert of(decision, "c").clause == "K % (N - 4) == 0"


def test_T8_an_exception_of_ours_in_one_gate_is_contained_too():
    class Moody(type(box())):  # type: ignore[misc]
        def probe(self, key, candidate):
            raise RuntimeError("the probe broke")

    there = box()
    moody = Moody(**{name: getattr(there, name) for name in ("name", "os", "targets")})
    rules = ruleset(candidate("a", "hand_tuned", available=["library('x')"]), candidate("b", "synthesized"))
    decision = ask(rules, machine=moody)
    assert decision.winner == "b"
    assert of(decision, "a").verdict == "error"
    assert "the probe broke" in of(decision, "a").reason


def test_a_missing_fact_is_an_error_that_names_it():
    rules = ruleset(candidate("a", "hand_tuned", target=ROCM, available=["device.compute_units >= 40"]), candidate("b", "synthesized", target=ROCM))
    decision = ask(rules, target="rocm", machine=box(targets={"rocm": {"arch": "gfx1151", "compute_unit": 40}}))
    assert (decision.winner, of(decision, "a").verdict) == ("b", "error")
    assert "device.compute_units is missing" in of(decision, "a").reason
    assert "compute_unit'" in of(decision, "a").reason


def test_a_definite_no_later_on_outdoes_what_is_open():
    rules = ruleset(
        candidate("refused", requires=["K == 4", "dtype == f16"]),
        candidate("broken", requires=["K == 4", "M // N == 1"]),
        candidate("absent", requires=["K == 4"], available=["library('x')"]),
        candidate("open", requires=["K == 4"]),
        rules=[rule("r", "deny refused,absent", when="K == 8")],
    )
    assert words_of(ask(rules, "dtype=f32 M=4 N=0")) != {}  # an empty result: gates are asked all the same
    decision = ask(rules, "dtype=f32 M=4 N=2")
    assert words_of(decision) == {"refused": "refused", "broken": "refused", "absent": "unavailable", "open": "undecided"}


def test_no_device_makes_unavailable_and_device_facts_open():
    rules = ruleset(candidate("a", target=ROCM, requires=["device.compute_units >= 8"], available=["device.arch in ['gfx1151']"]))
    decision = ask(rules, target="rocm", machine=box(targets={"rock": {}}))
    assert (decision.criterion, of(decision, "a").verdict, of(decision, "a").code) == ("none", "unavailable", "device")
    assert "it lists 'rock'" in of(decision, "a").reason


def test_assumed_available_counts_the_target_as_there_with_facts_as_stated():
    rules = ruleset(
        candidate("plain", target=ROCM, available=["library('x')", "device.arch in ['gfx942']"]),
        candidate("asks", "hand_tuned", target=ROCM, requires=["device.compute_units >= 8"]),
    )
    nothing = box(targets={})
    assert ask(rules, target="rocm", machine=nothing).criterion == "none"
    assumed = ask(rules, target="rocm", machine=nothing, assume_available=None)
    assert words_of(assumed) == {"plain": "selected", "asks": "error"}
    assert ask(rules, target="rocm", machine=nothing, assume_available=frozenset({"plain"})).winner == "plain"
    assert words_of(ask(rules, target="rocm", assume_available=None, assume_unavailable=frozenset({"asks"}))) == {"plain": "selected", "asks": "unavailable"}


def test_unknown_assumed_names_are_the_callers_mistake():
    with pytest.raises(UsageError, match="flash"):
        attend(HEADS, assume_available=frozenset({"flsh"}))


def test_untrusted_rules_are_not_probed_here_and_are_decided_for_a_stated_machine():
    rules = ruleset(candidate("a"), untrusted=frozenset({"a"}))
    assert ask(rules).winner == "a"
    there = box()
    here = type(there)(**{name: getattr(there, name) for name in ("name", "os", "targets")}, stated=False)
    no = of(ask(rules, machine=here), "a")
    assert (no.verdict, no.code) == ("unavailable", "untrusted")
    assert "TSR_TRUST" in no.reason


def test_deny_names_the_rule_its_because_and_its_clause():
    rules = ruleset(candidate("a"), candidate("c", "synthesized"), rules=[rule("errata", "deny a", when="K % 64 != 0", because="the ragged tail is wrong")])
    decision = ask(rules, "dtype=f32 M=64 N=64 K=65")
    no = of(decision, "a")
    assert (decision.winner, no.verdict, no.extra["rule"], no.because, no.clause) == ("c", "denied", "errata", "the ragged tail is wrong", "K % 64 != 0")
    assert ask(rules).winner == "a"


def test_a_when_that_is_an_error_holds_its_deny_and_says_so():
    rules = ruleset(candidate("a"), candidate("b"), rules=[rule("r", "deny a", "prefer b over a", when="M % (N - 64) == 0")])
    decision = ask(rules)
    assert of(decision, "a").verdict == "denied"
    assert any("its deny holds" in note for note in decision.notes)
    assert any("its prefer does not hold" in note for note in decision.notes)


def test_an_unknown_deny_leaves_its_candidates_undecided():
    rules = ruleset(candidate("a"), candidate("b", "synthesized"), rules=[rule("r", "deny a", when="K % 64 != 0")])
    decision = ask(rules, "dtype=f32 M=4 N=4")
    assert words_of(decision) == {"a": "undecided", "b": "undecided"}
    assert decision.residual[0].needs == ("K",)


def test_rules_of_other_ops_and_targets_say_nothing():
    from attrs import evolve

    other = evolve(rule("r", "deny a"), target="rocm")
    assert ask(ruleset(candidate("a"), rules=[other])).winner == "a"
    elsewhere = evolve(rule("r", "deny a", when="M == 64"), op=None, target=None, conditions={})
    assert ask(ruleset(candidate("a"), rules=[elsewhere])).winner == "a"


def test_implied_clauses_are_refusals_of_the_binding():
    rules = ruleset(candidate("a", implied=["contiguous(a)", "M <= 2147483647"]), candidate("b", "synthesized"))
    assert ask(rules).winner == "a"
    no = of(ask(rules, "dtype=f32 M=4 N=4 K=4 a.strides=8,1"), "a")
    assert (no.code, no.clause) == ("binding", "contiguous(a)")
    assert of(ask(rules, "dtype=f32 M=2147483648 N=4 K=4"), "a").clause == "M <= 2147483647"


def test_workspace_over_the_policy_is_refused_by_name():
    rules = ruleset(candidate("big", "hand_tuned", workspace="M * N * 4"), candidate("small", "synthesized"), policy=Policy(workspace_bytes=1024))
    assert ask(rules, "dtype=f32 M=16 N=16 K=1").winner == "big"
    no = of(ask(rules, "dtype=f32 M=16 N=17 K=1"), "big")
    assert (no.verdict, no.code) == ("refused", "workspace")
    assert "1088" in no.reason
    assert of(ask(rules, "dtype=f32 M=16 K=1"), "big").verdict == "undecided"
    broken = ruleset(candidate("big", workspace="M // (N - 4)"), policy=Policy(workspace_bytes=1024))
    assert of(ask(broken, "dtype=f32 M=1 N=4 K=1"), "big").verdict == "error"


@pytest.mark.parametrize(("policy", "word"), [(Policy(require=frozenset({"deterministic"})), ""), (Policy(), "require=deterministic")])
def test_promises_are_required_by_policy_or_request(policy, word):
    rules = ruleset(candidate("loose", "hand_tuned"), candidate("firm", deterministic=True), policy=policy)
    decision = ask(rules, f"dtype=f32 M=4 N=4 K=4 {word}")
    assert (decision.winner, of(decision, "loose").code) == ("firm", "promise")


FFT = make_op("fft", {"x": "B n"}, "B n", dims={"n": (1, None)}, dtypes=("c64",))
RFFT = make_op("rfft", {"x": "B n"}, "B n")


def uses(n: str = "n", op: str = "fft", source=RFFT) -> Uses:
    return Uses(op, {"B": term("B", source), "n": term(n, source)}, {}, term("c64", source), span(), f"uses {op}(B = B, n = {n}, dtype = c64)")


def spectral(inner, used=None, **how):
    return ruleset(candidate("r", op=RFFT, uses=[used or uses()]), *inner, ops=[FFT, RFFT], **how)


def test_uses_needs_a_winner_of_the_other_op():
    fine = spectral([candidate("f", op=FFT, requires=["n <= 1024"])])
    assert ask(fine, "dtype=f32 B=2 n=64", op="rfft").winner == "r"
    no = of(ask(fine, "dtype=f32 B=2 n=2048", op="rfft"), "r")
    assert (no.verdict, no.code, no.clause) == ("refused", "requires", "uses fft(B = B, n = n, dtype = c64)")
    assert "n <= 1024" in no.reason
    nobody = of(ask(spectral([]), "dtype=f32 B=2 n=2048", op="rfft"), "r")
    assert "no candidate is registered for fft" in nobody.reason


def test_uses_is_open_while_its_dimensions_are():
    rules = spectral([candidate("f", op=FFT, requires=["n <= 1024"])])
    decision = ask(rules, "dtype=f32 B=2", op="rfft")
    assert words_of(decision) == {"r": "undecided"}
    assert decision.residual[0].needs == ("n",)


def test_uses_of_a_request_that_is_none_of_the_other_op_is_a_refusal():
    no = of(ask(spectral([candidate("f", op=FFT)], uses("n // 2")), "dtype=f32 B=2 n=1", op="rfft"), "r")
    assert (no.verdict, no.code) == ("refused", "requires")
    assert "dimension 'n' of fft is 0" in no.reason


def test_uses_in_a_cycle_is_an_error_and_ends():
    back = Uses("rfft", {"B": term("B", FFT), "n": term("n", FFT)}, {}, term("f32", FFT), span(), "uses rfft(B = B, n = n, dtype = f32)")
    rules = spectral([candidate("f", op=FFT, uses=[back])])
    no = of(ask(rules, "dtype=f32 B=2 n=4", op="rfft"), "r")
    assert no.verdict == "refused"
    assert "r → f → r" in no.reason


def test_the_forced_error_of_the_other_op_is_contained():
    rules = spectral([candidate("f", op=FFT, requires=["n <= 4"]), candidate("g", op=FFT)], rules=[rule("pin", "force f", op=FFT)])
    assert of(ask(rules, "dtype=f32 B=2 n=8", op="rfft"), "r").verdict == "refused"


def test_nobody_is_the_reference_or_an_error():
    from attrs import evolve

    rules = ruleset(candidate("a", requires=["M == 1"]))
    decision = ask(rules)
    assert (decision.winner, decision.tag, decision.criterion) == (None, "reference", "none")
    with pytest.raises(ArbiterError, match="M == 1") as caught:
        ask(evolve(rules, policy=Policy(on_none="error")))
    assert (caught.value.candidate, caught.value.clause, caught.value.values) == ("a", "M == 1", {"M": 64})
    assert ask(ruleset()).criterion == "none"


def test_T7_deciding_asks_the_one_function_that_says_who_races():
    rules = ruleset(candidate("a", requires=["M == 64"]), candidate("b", requires=["M == 1"]), candidate("c", requires=["threads == 7"]))
    decision = ask(rules)
    entries = race(Situation(rules, decision.request, box()))
    assert {entry.candidate.name for entry in entries if entry.state == "in"} == set(decision.ranking)
    assert [entry.verdict.reason for entry in entries if entry.verdict] == [each.reason for each in decision.verdicts if each.verdict == "refused"]


def test_the_oracles_verdict_keeps_a_candidate_out():
    from tessera_rules.arbiter import reasons

    a = candidate("a", "hand_tuned")
    rules = ruleset(a, candidate("b", "synthesized"))
    wrong = Proved("unverified", reasons.verdict(a, "wrong", "off by 3.0 at M=1", extra={"max_error": 3.0}))
    decision = ask(rules, proofs={"a": wrong, "b": Proved("verified")})
    assert (decision.winner, of(decision, "a").verdict, of(decision, "b").proof) == ("b", "wrong", "verified")
    ahead = ruleset(a, candidate("b", "synthesized"), policy=Policy(verify="ahead"))
    assert words_of(ask(ahead, proofs={"b": Proved("verified")})) == {"a": "unproved", "b": "selected"}
    assert ask(ahead).winner == "a"  # where no oracle is asked nothing is unproved


def test_family_values_are_among_the_values():
    rules = ruleset(candidate("m8", requires=["K % step == 0"], loops={"step": 32}))
    assert of(ask(rules, "dtype=f32 M=4 N=4 K=48"), "m8").values == {"K": 48, "step": 32}
    assert CPU.name == "cpu"
    assert MATMUL.name == "matmul"


def test_T17_a_guard_is_not_asked_without_data_and_is_named():
    rules = ruleset(candidate("fast", "hand_tuned", guard=("amax(a) <= 5.0", "safe")), candidate("safe", "synthesized"))
    decision = ask(rules)
    won = of(decision, "fast")
    assert (decision.winner, decision.residual) == ("fast", ())
    assert (won.extra["guard"], won.extra["otherwise"]) == ("amax(a) <= 5.0", "safe")
    assert "safe runs" in won.reason


def test_of_several_probes_in_a_clause_the_one_that_fails_is_named():
    rules = ruleset(candidate("a", available=["library('libx.so') and executable('cc') and os == linux"]))
    no = of(ask(rules, machine=box(libraries=["libx.so"])), "a")
    assert (no.extra["probe"], no.clause) == ('executable("cc")', "library('libx.so') and executable('cc') and os == linux")
    assert no.extra["found"] == "box.json does not list executable cc"


def test_an_undecided_verdict_has_its_clause_its_because_and_the_values_there_are():
    rules = ruleset(
        candidate("a", requires=["M * K <= 64 because it must fit"]), candidate("b"), rules=[rule("r", "deny b", when="K == M", because="known wrong")]
    )
    decision = ask(rules, "dtype=f32 M=4 N=4")
    a, b = of(decision, "a"), of(decision, "b")
    assert (a.clause, a.because, a.values, a.extra["needs"]) == ("M * K <= 64", "it must fit", {"M": 4}, ["K"])
    assert (b.clause, b.because, b.values) == ("K == M", "known wrong", {"M": 4})
