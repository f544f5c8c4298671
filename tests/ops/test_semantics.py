"""What the ops mean, on cases small enough to work out by hand; references and NumPy lanes must both say so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tessera_rules.declined import Declined
from tessera_rules.errors import OperandError
from tessera_rules.kernels.x86 import numpy_attention, numpy_fft, numpy_matmul, numpy_pointwise, numpy_rows
from tessera_rules.ops import reference_of

Kernel = Callable[..., Any]
nan, inf = np.nan, np.inf


def both(op: str, lane: Kernel) -> Any:
    return pytest.mark.parametrize("kernel", [reference_of(op), lane], ids=["reference", "numpy"])


def f32(*values: Any) -> Any:
    return np.array(values, dtype=np.float32)


@both("matmul", numpy_matmul.matmul)
def test_P2_a_product_over_nothing_is_zeros(kernel: Kernel) -> None:
    result = kernel(np.empty((2, 0), np.float32), np.empty((0, 3), np.float32))
    assert result.tolist() == [[0.0] * 3] * 2
    assert result.dtype == np.float32


@both("gemm", numpy_matmul.gemm)
def test_P2_K_0_and_beta_0_give_zeros_over_a_stale_c(kernel: Kernel) -> None:
    assert kernel(np.empty((1, 0), np.float32), np.empty((0, 2), np.float32), f32([nan, inf]), alpha=2.0, beta=0.0).tolist() == [[0.0, 0.0]]
    assert kernel(np.empty((1, 0), np.float32), np.empty((0, 2), np.float32), f32([3.0, -1.0]), beta=2.0).tolist() == [[6.0, -2.0]]


@both("gemm", numpy_matmul.gemm)
def test_c_is_read_where_beta_is_not_0(kernel: Kernel) -> None:
    assert np.isnan(kernel(f32([1.0]), f32([1.0]), f32([nan]), beta=1e-30)).all()
    assert kernel(f32([3.0]), f32([5.0]), f32([7.0]), alpha=2.0, beta=-1.0).item() == 23.0


@both("fused_matmul", numpy_matmul.fused_matmul)
def test_the_epilogue_is_applied_in_its_order(kernel: Kernel) -> None:
    a, b, bias = f32([1.0, 2.0]), f32([1.0], [-2.0]), f32(5.0)  # a·b = −3
    assert kernel(a, b, bias, epilogue=["bias", "relu"]).item() == 2.0
    assert kernel(a, b, bias, epilogue=["relu", "bias"]).item() == 5.0
    assert kernel(a, b, bias, f32([10.0]), epilogue=["bias", "relu"]).item() == 12.0  # the residual is added after it
    assert kernel(-a, b, prologue=["relu"]).item() == 0.0  # on a, before the product
    assert kernel(f32([1.0, -2.0]), b, prologue=["relu"]).item() == 1.0


@both("fused_matmul", numpy_matmul.fused_matmul)
def test_reductions_are_over_N(kernel: Kernel) -> None:
    a, b = f32([1.0], [2.0]), f32([1.0, -1.0, 3.0])
    assert np.allclose(kernel(a, b, reduction="softmax").sum(axis=1), 1.0)
    assert np.allclose(kernel(a, b, reduction="layernorm", eps=0.0), np.array([[0.0, -2.0, 2.0]] * 2) / np.sqrt(8 / 3), atol=1e-6)
    assert np.allclose(kernel(a, b, reduction="rmsnorm", eps=0.0)[0], np.array([1, -1, 3]) / np.sqrt(11 / 3))
    assert np.allclose(kernel(a, b, reduction="rmsnorm", eps=1.0)[0], np.array([1, -1, 3]) / np.sqrt(14 / 3))


@both("fused_matmul", numpy_matmul.fused_matmul)
def test_a_bias_and_the_epilogue_that_adds_it_belong_together(kernel: Kernel) -> None:
    for given, epilogue in ((None, ["bias"]), (f32(1.0), ["relu"])):
        try:
            answer: Any = kernel(f32([1.0]), f32([1.0]), given, epilogue=epilogue)
        except OperandError as problem:
            answer = problem
        assert isinstance(answer, Declined | OperandError)
        assert "bias" in str(answer)


def test_the_reference_refuses_what_the_op_excludes() -> None:
    reference, one = reference_of("fused_matmul"), f32([1.0])
    with pytest.raises(OperandError, match="twice"):
        reference(one, one, f32(1.0), epilogue=["bias", "bias"])
    with pytest.raises(OperandError, match="a residual and softmax"):
        reference(one, one, residual=one, reduction="softmax")
    with pytest.raises(OperandError, match="did you mean 'gelu'"):
        reference(one, one, epilogue=["gelo"])


@both("attention", numpy_attention.attention)
def test_causal_is_aligned_at_the_last_key(kernel: Kernel) -> None:
    """2 queries, 4 keys: the first sees 3, the second all; 4 queries, 2 keys: the first two see none."""
    q, k, v = np.zeros((1, 1, 2, 4), np.float32), np.zeros((1, 1, 4, 4), np.float32), f32([3.0], [6.0], [9.0], [12.0])[None, None]
    assert kernel(q, k, v, causal=True).ravel().tolist() == [6.0, 7.5]
    assert kernel(k, q, v[:, :, :2], causal=True).ravel().tolist() == [0.0, 0.0, 3.0, 4.5]


@both("attention", numpy_attention.attention)
def test_a_window_counts_keys_up_to_the_own_place(kernel: Kernel) -> None:
    """Query i sees keys j with i + Skv − Sq − window < j; without causal those after its place too."""
    q, v = np.zeros((1, 1, 3, 2), np.float32), f32([3.0], [6.0], [12.0])[None, None]
    assert kernel(q, q, v, causal=True, window=1).ravel().tolist() == [3.0, 6.0, 12.0]
    assert kernel(q, q, v, causal=True, window=2).ravel().tolist() == [3.0, 4.5, 9.0]
    assert kernel(q, q, v, window=1).ravel().tolist() == [7.0, 9.0, 12.0]
    assert kernel(q[:, :, :1], q, v, causal=True, window=2).ravel().tolist() == [9.0]


@both("attention", numpy_attention.attention)
def test_a_row_that_sees_no_key_gives_zeros(kernel: Kernel) -> None:
    q, v = np.zeros((1, 1, 2, 2), np.float32), f32([3.0], [6.0])[None, None]
    assert kernel(q, q, v, f32([-inf, -inf], [0.0, -inf])).ravel().tolist() == [0.0, 3.0]
    assert kernel(q, q[:, :, :0], v[:, :, :0]).ravel().tolist() == [0.0, 0.0]
    # What the mask leaves, causal hides: query 0 may see key 0 alone.
    assert kernel(q, q, v, f32([-inf, 0.0], [0.0, 0.0]), causal=True).ravel().tolist() == [0.0, 4.5]


@both("attention", numpy_attention.attention)
def test_the_softcap_is_applied_before_the_mask(kernel: Kernel) -> None:
    """Scores 10 and 0 capped at 1 are tanh(10) and 0; the mask then adds 4 to the second, which after the cap is more."""
    q, k, v = f32([10.0])[None, None], f32([1.0], [0.0])[None, None], f32([1.0], [0.0])[None, None]
    first = 1 / (1 + np.exp(4.0 - np.tanh(10.0)))
    assert kernel(q, k, v, f32([0.0, 4.0]), scale=1.0, softcap=1.0).item() == pytest.approx(first, rel=1e-5)


@both("attention", numpy_attention.attention)
def test_scale_is_the_root_of_head_dim_unless_given(kernel: Kernel) -> None:
    q, k, v = np.full((1, 1, 1, 4), 1.0, np.float32), f32([1.0] * 4, [0.0] * 4)[None, None], f32([1.0], [0.0])[None, None]
    assert kernel(q, k, v).item() == pytest.approx(1 / (1 + np.exp(-2.0)), rel=1e-6)
    assert kernel(q, k, v, scale=0.25).item() == pytest.approx(1 / (1 + np.exp(-1.0)), rel=1e-6)
    assert kernel(q, k, v, scale=0.0).item() == 0.5


@both("attention", numpy_attention.attention)
def test_query_heads_take_their_group_of_keys(kernel: Kernel) -> None:
    q, k = np.zeros((1, 4, 1, 2), np.float32), np.zeros((1, 2, 1, 2), np.float32)
    assert kernel(q, k, f32([[1.0]], [[2.0]])[None]).ravel().tolist() == [1.0, 1.0, 2.0, 2.0]


@both("attention", numpy_attention.attention)
def test_P6_the_output_is_as_wide_as_the_values(kernel: Kernel) -> None:
    q = np.zeros((1, 1, 2, 8), np.float32)
    assert kernel(q, q, np.ones((1, 1, 2, 3), np.float32)).shape == (1, 1, 2, 3)
    assert kernel(q, q, np.ones((1, 1, 2, 11), np.float32)).shape == (1, 1, 2, 11)


@both("attention", numpy_attention.attention)
def test_a_hidden_key_adds_nothing_whatever_its_value(kernel: Kernel) -> None:
    """0 · NaN would be NaN."""
    q, v = np.zeros((1, 1, 2, 2), np.float32), f32([3.0, 1.0], [nan, inf])[None, None]
    first, second = kernel(q, q, v, causal=True)[0, 0]
    assert first.tolist() == [3.0, 1.0]
    assert np.isnan(second[0])
    assert second[1] == inf


@both("softmax", numpy_rows.softmax)
def test_softmax_of_minus_infinities(kernel: Kernel) -> None:
    assert kernel(f32([-inf, 0.0, 0.0])).tolist() == [[0.0, 0.5, 0.5]]
    assert np.isnan(kernel(f32([-inf, -inf]))).all()
    assert kernel(f32([1e4, 1e4])).tolist() == [[0.5, 0.5]]


@both("layernorm", numpy_rows.layernorm)
def test_layernorm_takes_the_population_variance(kernel: Kernel) -> None:
    assert kernel(f32([1.0, 3.0]), eps=0.0).tolist() == [[-1.0, 1.0]]
    assert kernel(f32([5.0]), f32(2.0), f32(7.0)).tolist() == [[7.0]]


@both("pointwise", numpy_pointwise.pointwise)
def test_T23_NaN_is_kept(kernel: Kernel) -> None:
    x, y = f32([nan, 1.0, 2.0]), f32([1.0, nan, 3.0])
    assert kernel(x, y, fn=["maximum"])[0].tolist()[2] == 3.0
    for word in ("maximum", "minimum"):
        assert np.isnan(kernel(x, y, fn=[word])).tolist() == [[True, True, False]]
    for word in ("sign", "relu", "abs", "gelu", "gelu_erf", "silu", "sigmoid", "softplus", "neg"):
        assert np.isnan(kernel(x, fn=[word])).tolist() == [[True, False, False]], word


@both("pointwise", numpy_pointwise.pointwise)
def test_the_two_gelus_are_two(kernel: Kernel) -> None:
    """At 2 they differ in the fifth digit: 1.954597694 by tanh, 2·Φ(2) = 1.954499736."""
    assert kernel(np.array([[2.0]]), fn=["gelu"]).item() == pytest.approx(1.954597694087775, rel=1e-14)
    assert kernel(np.array([[2.0]]), fn=["gelu_erf"]).item() == pytest.approx(1.9544997361036416, rel=1e-14)


@both("pointwise", numpy_pointwise.pointwise)
def test_the_chain_goes_from_left_to_right(kernel: Kernel) -> None:
    x, y = f32([3.0]), f32([2.0])
    assert kernel(x, y, fn=["sub", "neg", "mul"]).item() == -2.0
    assert kernel(x, y, fn=["mul", "sub", "neg"]).item() == -4.0
    assert kernel(x, fn=[]).item() == 3.0
    assert kernel(f32([6.0]), y, fn=["div"]).item() == 3.0


@both("irfft", numpy_fft.irfft)
def test_irfft_makes_an_even_length_unless_told(kernel: Kernel) -> None:
    x = np.array([[3.0, 0.0, 0.0]], np.complex64)
    assert kernel(x).shape == (1, 4)
    assert kernel(x, n=5).shape == (1, 5)
    assert kernel(x, n=5).tolist() == [[pytest.approx(0.6)] * 5]
    assert kernel(np.array([[2.0 + 9j]], np.complex64), n=1).tolist() == [[2.0]]


@both("fft", numpy_fft.fft)
def test_fft_has_the_negative_exponent_and_its_inverse_is_divided_by_n(kernel: Kernel) -> None:
    x = np.array([[0.0, 1.0, 0.0, 0.0]], np.complex128)
    assert np.allclose(kernel(x), [[1.0, -1j, -1.0, 1j]])
    assert np.allclose(kernel(x, inverse=True) * 4, [[1.0, 1j, -1.0, -1j]])


def test_scaled_matmul_has_i32_of_integers_and_f32_of_floats() -> None:
    from tessera_rules.bind.arrays import dtype_of

    reference, one = reference_of("scaled_matmul"), np.ones(1, np.float32)
    assert reference(np.ones((1, 1), np.int8), np.ones((1, 1), np.int8), one, one).dtype == np.int32
    for word in ("i4", "f8e4m3", "f8e5m2", "f8e4m3fnuz", "f8e5m2fnuz"):
        x = np.ones((1, 1)).astype(dtype_of(word))
        assert reference(x, x, one, one).dtype == (np.int32 if word == "i4" else np.float32)
        assert reference(x, x, one, one, out="f16").dtype == np.float16


def test_a_reference_names_operand_and_dimension_of_a_misfit() -> None:
    with pytest.raises(OperandError, match=r"'b' of matmul has K = 4 at axis 0, and 'a' has K = 3"):
        reference_of("matmul")(np.ones((2, 3)), np.ones((4, 5)))
    with pytest.raises(OperandError, match=r"'q' has shape \[2, 3\], and attention takes \[B, Hq, Sq, head_dim\]"):
        reference_of("attention")(np.ones((2, 3)), np.ones((2, 3)), np.ones((2, 3)))
    with pytest.raises(OperandError, match="whole groups"):
        reference_of("attention")(np.ones((1, 3, 1, 1)), np.ones((1, 2, 1, 1)), np.ones((1, 2, 1, 1)))
    pages = np.ones((2, 1, 1, 1))
    with pytest.raises(OperandError, match=r"table\[0, 1\] is 9, and pages are 0 to 1"):
        reference_of("paged_attention")(np.ones((1, 1, 1)), pages, pages, np.array([[0, 9]], np.int32), np.array([2], np.int32))
    with pytest.raises(OperandError, match="8 real values have 5 bins"):
        reference_of("irfft")(np.ones((1, 4), np.complex64), n=8)
