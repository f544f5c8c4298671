"""What a caller may say to `run` and `decide`: numbers and dtypes of array libraries, and what is no such word."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tessera_rules as tsr
from tessera_rules.session import Arbiter


@pytest.fixture(scope="module")
def session() -> Arbiter:
    return tsr.load()


def numbers(*shape: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(3).standard_normal(shape).astype("f4")


@pytest.mark.parametrize("size", [3, np.int64(3), np.uint8(3), np.array(3)])
@pytest.mark.parametrize("dtype", ["f32", "float32", np.float32, np.dtype("f4")])
def test_sizes_and_dtypes_of_numpy(session: Arbiter, size: Any, dtype: Any) -> None:
    request = session.decide("rmsnorm", target="x86", dtype=dtype, M=size, N=4, eps=np.float64(0.5)).request
    assert (request.dtype, dict(request.dims), request.attrs["eps"]) == ("f32", {"M": 3, "N": 4}, 0.5)
    assert type(request.dims["M"]) is int


@pytest.mark.parametrize(("dtype", "word"), [(ml_dtypes.bfloat16, "bf16"), (np.dtype(ml_dtypes.bfloat16), "bf16"), (float, "f64"), (np.float16, "f16")])
def test_dtypes_of_others(session: Arbiter, dtype: Any, word: str) -> None:
    assert session.decide("matmul", target="x86", dtype=dtype).request.dtype == word


def test_torch_dtypes(session: Arbiter) -> None:
    torch = pytest.importorskip("torch", reason="torch: it is not installed")
    assert session.decide("matmul", target="x86", dtype=torch.bfloat16).request.dtype == "bf16"


def test_attributes_may_be_numbers_of_numpy(session: Arbiter) -> None:
    assert session.run("rmsnorm", numbers(3, 4), eps=np.float32(0.5), target="x86").shape == (3, 4)
    spectrum = np.ones((2, 4), "c8")
    assert session.run("irfft", spectrum, n=np.int64(6), target="x86").shape == (2, 6)
    assert session.run("fft", spectrum, inverse=np.bool_(True), target="x86").shape == (2, 4)


@pytest.mark.parametrize("out", ["f32", np.float32, np.dtype("f4")])
def test_an_attribute_called_out_is_told_from_an_output(session: Arbiter, out: Any) -> None:
    a, b = np.ones((5, 7), "i1"), np.ones((7, 3), "i1")
    scales = np.ones(5, "f4"), np.ones(3, "f4")
    assert session.run("scaled_matmul", a, b, *scales, out=out, target="x86").dtype == np.float32
    place = np.zeros((5, 3), "i4")
    assert session.run("scaled_matmul", a, b, *scales, out=place, target="x86") is place
    assert (place == 7).all()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"threads": -1}, "threads is -1"),
        ({"threads": 0}, "threads is 0"),
        ({"threads": "x"}, "threads is an int"),
        ({"device": -1}, "device is -1"),
        ({"device": 9}, "device=9"),
        ({"allow": ["nope"]}, "'nope' is no dtype"),
        ({"require": ["nope"]}, "'nope' is nothing"),
        ({"require": "determinstic"}, "did you mean 'deterministic'"),
        ({"dtype": "f32"}, "no operand or attribute 'dtype'"),
        ({"M": 5}, "no operand or attribute 'M'"),
        ({"epsilon": 1.0}, "'epsilon'"),
        ({"target": "x87"}, "did you mean 'x86'"),
        ({"force": "x86_numpy_matmull"}, "did you mean 'x86_numpy_matmul'"),
        ({"verify": "perhaps"}, "perhaps"),
    ],
)
def test_what_is_no_word_of_a_run_is_said(session: Arbiter, words: dict[str, Any], said: str) -> None:
    with pytest.raises(tsr.TesseraError) as caught:
        session.run("matmul", numbers(5, 7), numbers(7, 3), **{"target": "x86", **words})
    assert said in str(caught.value)


def test_lists_of_words_may_be_one_text(session: Arbiter) -> None:
    _, execution = session.run_traced("matmul", numbers(5, 7), numbers(7, 3), target="x86", allow="tf32", require="deterministic")
    assert execution.decision.request.allow == {"tf32"}
    assert execution.decision.request.require == {"deterministic"}


class Described:
    """What says of itself in the array interface where it lies."""

    def __init__(self, **interface: Any) -> None:
        self.__array_interface__ = {"shape": (5, 7), "typestr": "<f4", "data": (0, False), "version": 3} | interface


@pytest.mark.parametrize(("interface", "said"), [({}, "has no address"), ({"shape": (-5, 7)}, "M = -5"), ({"typestr": "zz"}, "form that is not known")])
def test_T26_memory_that_is_none_is_the_callers_mistake(session: Arbiter, interface: dict[str, Any], said: str) -> None:
    for lane in (None, "x86_generic_matmul_f32", "reference"):
        with pytest.raises(tsr.OperandError, match=said):
            session.run("matmul", Described(**interface), numbers(7, 3), target="x86", force=lane)


@pytest.mark.parametrize("strides", [(-28, 4), (28, -4), (56, 4)])
def test_T26_a_view_that_leaves_its_buffer_at_either_end_is_the_callers_mistake(session: Arbiter, strides: tuple[int, int]) -> None:
    beyond = np.lib.stride_tricks.as_strided(numbers(5, 7), (5, 7), strides)
    with pytest.raises(tsr.OperandError, match="outside of its buffer"):
        session.run("matmul", beyond, numbers(7, 3), target="x86")
