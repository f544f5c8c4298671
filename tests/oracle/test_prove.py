"""What the oracle finds: shapes, attributes, layouts, promises, disguises, vacuous budgets."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tessera_rules.resources import rules_folder
from tests.oracle.subjects import PRODUCT, proved, python_candidate

SHIPPED = (rules_folder() / "ops.tsr").read_text().partition("\n")[2] + "\ntarget cpu { }\n"
ATTENTION = {"dtype": "f32", "B": 1, "Hq": 4, "Hkv": 2, "Sq": 6, "Skv": 9, "head_dim": 16, "Dv": 8}
HONOURS = "honours [mask, causal, scale, softcap, window]"


def product(name: str, more: str = "") -> Any:
    return proved(python_candidate(name, more=more))


def shipped(name: str, op: str, more: str, **words: Any) -> Any:
    return proved(python_candidate(name, op, more), op, SHIPPED, **words)


@pytest.mark.parametrize("name", ["leading_axis", "a_scalar", "wider_dtype", "a_list", "nothing", "two_results", "in_place"])
def test_T22_shape_dtype_and_kind_of_a_result_are_looked_at_first(name: str) -> None:
    assert product(name).outcome == "wrong"


@pytest.mark.parametrize("name", ["hands_back_the_reference", "hands_back_the_reference_from_a_thread"])
def test_a_decline_in_disguise_is_a_decline(name: str) -> None:
    found = product(name)
    assert found.outcome == "declined"
    assert "reference" in found.reason


def test_the_reference_openly_bound_is_no_disguise() -> None:
    text = 'candidate it { tier emitted; target cpu; op product\n bind python "tessera_rules.ops.matmul:reference" }'
    assert proved(text).outcome == "verified"


def test_a_right_kernel_is_verified() -> None:
    found = product("right", "deterministic; batch_invariant")
    assert found.outcome == "verified", found.reason
    assert found.probes > 50


def test_T25_a_kernel_for_one_layout_is_told_by_its_own_layouts() -> None:
    assert product("reads_natural_layout").outcome == "wrong"
    loud = product("natural_layout")
    assert loud.outcome == "verified"
    assert any("not contiguous" in note for note in loud.notes)


def test_misdeclared_says_which_class_fits() -> None:
    found = product("in_tf32")
    assert found.outcome == "wrong"
    assert "computes tf32" in found.reason
    words = {"dtype": "f32", "M": 64, "N": 64, "K": 64, "allow": "tf32"}
    assert proved(python_candidate("in_tf32", more="requires { dtype == f32 }; computes tf32"), **words).outcome == "verified"


@pytest.mark.parametrize("atol", ["1e3", "1e9"])
def test_T20_a_budget_under_which_zeros_would_pass_is_vacuous(atol: str) -> None:
    found = product("right", f"accuracy {{ atol {float(atol)} }}")
    assert found.outcome == "mistrusted"
    assert "zeros" in found.reason


def test_T20_a_stated_budget_that_tells_is_no_vacuous_one_and_a_wide_one_is_noted() -> None:
    found = product("sloppy", "accuracy { rtol 0.001; atol 0.0001 }")
    assert found.outcome == "verified", found.reason
    assert product("sloppy").outcome == "wrong"
    noted = product("right", "accuracy { rtol 0.001; atol 0.001 }")
    assert noted.outcome == "verified", noted.reason
    assert any("largest error seen" in note for note in noted.notes)


def test_promises_are_held() -> None:
    within = "requires { dtype == f32 }; accuracy { rtol 0.00001; atol 0.00001 }"
    assert product("noisy", within).outcome == "verified"
    noisy = product("noisy", within + "; deterministic")
    assert noisy.outcome == "wrong"
    assert "deterministic" in noisy.reason
    rows = product("row_depends_on_rows", within + "; batch_invariant")
    assert rows.outcome == "wrong"
    assert "batch_invariant" in rows.reason
    assert product("row_depends_on_rows", within).outcome == "verified"


GEMM = {"dtype": "f32", "M": 40, "N": 24, "K": 20}


def test_P1_alpha_dropped_past_the_first_tile_where_beta_is_not_0() -> None:
    assert shipped("gemm_right", "gemm", "honours [alpha, beta]", **GEMM).outcome == "verified"
    found = shipped("gemm_alpha_dropped_past_a_tile", "gemm", "honours [alpha, beta]", **GEMM)
    assert found.outcome == "wrong"
    assert "alpha" in str(found.probe)


@pytest.mark.parametrize("name", ["gemm_reads_c", "gemm_beta_ignored", "gemm_accumulates_twice"])
def test_P5_an_inout_operand_is_restored_for_each_run(name: str) -> None:
    assert shipped(name, "gemm", "honours [alpha, beta]", **GEMM).outcome == "wrong"


@pytest.mark.parametrize("name", ["attention_ignores_scale", "attention_ignores_causal", "attention_ignores_softcap"])
def test_T21_an_attribute_that_is_ignored_shows(name: str) -> None:
    assert shipped(name, "attention", HONOURS, **ATTENTION).outcome == "wrong"


def test_T24_a_fixed_window_shows_where_a_caller_may_ask_for_another() -> None:
    assert shipped("attention_window_of_four", "attention", HONOURS, window=4, causal=True, **ATTENTION).outcome == "wrong"


def test_P3_broadcast_keys_are_probed() -> None:
    assert shipped("attention_broadcast_keys", "attention", HONOURS, **ATTENTION).outcome == "wrong"


def test_P6_a_value_width_of_its_own_is_probed() -> None:
    words = {**ATTENTION, "Dv": 16}
    assert shipped("attention_output_of_k_width", "attention", HONOURS, **words).outcome == "wrong"


@pytest.mark.parametrize("name", ["attention_heads_modulo", "attention_causal_from_the_start"])
def test_attention_faults_of_indexing(name: str) -> None:
    assert shipped(name, "attention", HONOURS, **ATTENTION).outcome == "wrong"


def test_right_attention_is_verified() -> None:
    found = shipped("attention_right", "attention", HONOURS, **ATTENTION)
    assert found.outcome == "verified", found.reason


@pytest.mark.parametrize(("name", "fn"), [("pointwise_drops_nan", ("relu",)), ("pointwise_fmax", ("relu",))])
def test_T23_special_values_show_who_drops_a_nan(name: str, fn: tuple[str, ...]) -> None:
    words = {"dtype": "f32", "M": 9, "N": 33, "fn": fn}
    assert shipped("pointwise_right", "pointwise", "honours [y, fn]", **words).outcome == "verified"
    assert shipped(name, "pointwise", "honours [y, fn]", **words).outcome == "wrong"


CASES = PRODUCT.replace('reference python "tessera_rules.ops.matmul:reference"', 'reference python "tests.oracle.bad_python:another_reference"')


def test_an_op_of_a_users_own_is_probed_with_random_operands() -> None:
    assert proved(python_candidate("sloppy"), ops=CASES).outcome == "wrong"
    assert proved(python_candidate("right"), ops=CASES).outcome == "verified"


def test_probes_do_not_touch_the_operands_in_hand() -> None:
    from tessera_rules.arbiter.request import bind_words
    from tessera_rules.oracle.prove import prove
    from tests.oracle.subjects import normal, session, subject

    arbiter = session(python_candidate("in_place"))
    request = bind_words(arbiter.ruleset, "product", "cpu", {"dtype": "f32", "M": 4, "N": 4, "K": 4}, arbiter.machine)
    operands = normal(request)
    before = operands["a"].copy()
    found = prove(subject(arbiter), request, operands)
    assert found.outcome == "wrong"
    assert found.probe == "the operands in hand"
    assert np.array_equal(operands["a"], before)
