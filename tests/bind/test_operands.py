from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tessera_rules.bind.operands import bind_operands
from tessera_rules.errors import OperandError
from tessera_rules.model.values import Ruleset
from tests.bind.rules import operands, rules

f32 = np.float32
ATTENTION = """
op attention {
  operand q: [B, Hq, Sq, head_dim]
  operand k: [B, Hkv, Skv, head_dim]
  operand mask?: [Sq, Skv]
  operand table?: [B, P] i32
  operand w?: [head_dim, 2 * F + 1] one of [f16, i8]
  result [B, Hq, Sq, head_dim // 2]
  dim head_dim in 8..256 step 8
  dim Hkv in 1..
  attr window: int?
  dtype q in [f32, f16]
  check Hq % Hkv == 0 because "query heads come in whole groups"
}
op writes { inout c: [M, N]; operand a: [M, N]; result c }
target x86 { "the host" }
"""


@pytest.fixture
def ruleset(tmp_path: Path) -> Ruleset:
    return rules(tmp_path, "")


@pytest.fixture
def attention(tmp_path: Path) -> Ruleset:
    return rules(tmp_path, "", op=ATTENTION)


def zeros(*shape: int, dtype: type = f32) -> np.ndarray:
    return np.zeros(shape, dtype)


def test_a_request_is_read_off_arrays(ruleset: Ruleset) -> None:
    base = zeros(64, 64)
    found = operands(ruleset, base[:5, 4:12], zeros(8, 3), bias=zeros(3), epilogue=["bias", "relu"], scale=2).request
    assert (found.target, found.dtype, dict(found.dims)) == ("x86", "f32", {"M": 5, "K": 8, "N": 3})
    assert found.given == {"bias"}
    assert (found.attrs["epilogue"], found.attrs["scale"], found.attrs["act"]) == (("bias", "relu"), 2.0, "none")
    assert found.layouts["a"].strides == (64, 1)
    assert found.layouts["a"].align == min(4096, (base.ctypes.data + 16) & -(base.ctypes.data + 16))


def test_optional_operands_go_by_position_or_name(ruleset: Ruleset) -> None:
    a, b, bias = zeros(2, 3), zeros(3, 4), zeros(4)
    assert operands(ruleset, a, b, bias).request.given == {"bias"}
    assert operands(ruleset, a, b, bias=bias).request.given == {"bias"}
    assert operands(ruleset, a, b, None).request.given == frozenset()
    assert operands(ruleset, a, b, bias=None).request.given == frozenset()
    assert operands(ruleset, b=b, a=a).request.dims["M"] == 2


@pytest.mark.parametrize(
    ("arrays", "named", "parts"),
    [
        ((zeros(2, 3), zeros(4, 5)), {}, ["operand 'b'", "K = 4", "'a' has K = 3"]),
        ((zeros(2, 0), zeros(4, 5)), {}, ["operand 'b'", "K = 4", "'a' has K = 0"]),
        ((zeros(2, 3), zeros(3)), {}, ["operand 'b'", "rank 1", "[K, N]"]),
        ((zeros(2, 3), zeros(3, 4), zeros(1)), {}, ["operand 'bias'", "N = 1", "'b' has N = 4"]),
        ((zeros(2, 3),), {}, ["operand 'b' of mm is missing"]),
        ((zeros(2, 3), zeros(3, 4), zeros(4), zeros(4)), {}, ["3 operands at most", "4 are given"]),
        ((zeros(2, 3), zeros(3, 4)), {"a": zeros(2, 3)}, ["'a'", "by position and by name"]),
        ((zeros(2, 3), zeros(3, 4)), {"biass": zeros(4)}, ["'biass'", "did you mean 'bias'"]),
        ((zeros(2, 3), zeros(3, 4)), {"causal": "maybe"}, ["'causal'", "bool"]),
        ((zeros(2, 3), zeros(3, 4)), {"act": "rellu"}, ["'act'", "did you mean 'relu'"]),
        ((zeros(2, 3), zeros(3, 4, dtype=np.float64)), {}, ["operand 'b'", "f64", "'a' is f32"]),
        ((zeros(2, 3, dtype=np.int16), zeros(3, 4, dtype=np.int16)), {}, ["operand 'a'", "i16", "f32, f64, i32, i8"]),
        (([[1.0]], zeros(1, 4)), {}, ["operand 'a' is a list"]),
    ],
)
def test_T26_a_mistake_names_operand_and_dimension(ruleset: Ruleset, arrays: tuple, named: dict, parts: list[str]) -> None:
    with pytest.raises(OperandError) as caught:
        operands(ruleset, *arrays, **named)
    for part in parts:
        assert part in caught.value.message


@pytest.mark.parametrize("shape", [(0, 3, 4), (2, 0, 4), (2, 3, 0), (0, 0, 0)])
def test_P11_empty_operands_are_requests_like_others(ruleset: Ruleset, shape: tuple[int, int, int]) -> None:
    m, k, n = shape
    found = operands(ruleset, zeros(m, k), zeros(k, n)).request
    assert dict(found.dims) == {"M": m, "K": k, "N": n}


def test_sizes_that_the_op_does_not_take(attention: Ruleset) -> None:
    with pytest.raises(OperandError, match=r"'q' of attention has head_dim = 12 at axis 3, and head_dim is in 8..256 step 8"):
        operands(attention, zeros(1, 2, 4, 12), zeros(1, 2, 4, 12), op="attention")
    with pytest.raises(OperandError, match=r"'k' of attention has Hkv = 0 .* Hkv is in 1\.\."):
        operands(attention, zeros(1, 2, 4, 8), zeros(1, 0, 4, 8), op="attention")


def test_a_check_that_is_false_is_the_callers(attention: Ruleset) -> None:
    with pytest.raises(OperandError, match="whole groups"):
        operands(attention, zeros(1, 3, 4, 8), zeros(1, 2, 4, 8), op="attention")


def test_operands_with_dtypes_of_their_own(attention: Ruleset) -> None:
    q, k = zeros(1, 2, 4, 8), zeros(1, 2, 6, 8)
    found = operands(attention, q, k, op="attention", table=zeros(1, 5, dtype=np.int32), w=zeros(8, 7, dtype=np.int8)).request
    assert (found.dims["P"], found.dims["F"], found.layouts["w"].dtype, found.layouts["table"].dtype) == (5, 3, "i8", None)
    with pytest.raises(OperandError, match=r"'table' of attention is i64, and it is i32"):
        operands(attention, q, k, op="attention", table=zeros(1, 5, dtype=np.int64))
    with pytest.raises(OperandError, match=r"'w' of attention is f32, and it is f16 or i8"):
        operands(attention, q, k, op="attention", w=zeros(8, 7))
    with pytest.raises(OperandError, match=r"'w' of attention has size 6 at axis 1"):
        operands(attention, q, k, op="attention", w=zeros(8, 6, dtype=np.int8))


def test_dimensions_of_operands_that_are_not_given_stay_open(attention: Ruleset) -> None:
    found = operands(attention, zeros(1, 2, 4, 8), zeros(1, 2, 6, 8), op="attention").request
    assert "P" not in found.dims
    assert "F" not in found.dims


def test_what_is_written_to_has_to_be_writable(attention: Ruleset) -> None:
    c = zeros(2, 3)
    c.flags.writeable = False
    with pytest.raises(OperandError, match=r"'c' of writes is written to, and this array is read-only"):
        operands(attention, c, zeros(2, 3), op="writes")


def test_operands_lie_in_one_place(ruleset: Ruleset) -> None:
    class Device:
        __cuda_array_interface__ = {"shape": (3, 4), "typestr": "<f4", "data": (4096, False), "version": 3}

    with pytest.raises(OperandError, match=r"'b' of mm lies on cuda:0, and 'a' on cpu"):
        operands(ruleset, zeros(2, 3), Device())


def test_the_target_is_where_the_arrays_are(ruleset: Ruleset) -> None:
    class Device:
        def __init__(self, *shape: int) -> None:
            self.__cuda_array_interface__ = {"shape": shape, "typestr": "<f4", "data": (4096, False), "version": 3}

    assert bind_operands(ruleset.ops["mm"], (zeros(2, 3), zeros(3, 4))).request.target == "x86"
    assert bind_operands(ruleset.ops["mm"], (Device(2, 3), Device(3, 4))).request.target == "nvidia"
