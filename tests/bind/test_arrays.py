from __future__ import annotations

import array
import sys
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tessera_rules.bind.arrays import as_kind, as_numpy, dtype_of, like, view
from tessera_rules.dtypes import DTYPES
from tessera_rules.errors import OperandError


class Exporter:
    """Somebody's array that speaks one protocol only."""

    def __init__(self, array: np.ndarray[Any, Any], *, old: bool = False) -> None:
        self.array = array
        self.old = old
        self.copies = 0

    def __dlpack__(self, **options: Any) -> Any:
        if self.old and options:
            raise TypeError("__dlpack__() got an unexpected keyword argument")
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()


class Interface:
    """An object with a given ``__array_interface__`` (or the CUDA one)."""

    def __init__(self, interface: dict[str, Any], name: str = "__array_interface__", **more: Any) -> None:
        setattr(self, name, interface)
        for key, value in more.items():
            setattr(self, key, value)


def test_numpy_layouts_in_elements() -> None:
    base = np.zeros((6, 8), np.float32)
    it = view(base[1:5:2, 6:0:-2])
    assert (it.shape, it.strides, it.dtype, it.item_bytes) == ((2, 3), (16, -2), "f32", 4)
    assert it.address == base.ctypes.data + (8 + 6) * 4
    assert it.extent == (it.address - 4 * 4, it.address + 16 * 4 + 4)
    assert it.buffer == (base.ctypes.data, base.ctypes.data + base.nbytes)
    assert not it.contiguous
    assert view(base).contiguous


@pytest.mark.parametrize("word", [word for word in DTYPES if word != "tf32"])
def test_every_dtype_round_trips(word: str) -> None:
    x = np.zeros((2, 3), dtype_of(word))
    it = view(x)
    assert it.dtype == word
    assert as_numpy(it) is x
    assert like(x, (4,), word).dtype == x.dtype


@pytest.mark.parametrize("offset", [0, 1, 2, 8, 16])
def test_alignment_is_of_the_first_element(offset: int) -> None:
    raw = np.zeros(8192 + 64, np.uint8)
    start = -raw.ctypes.data % 4096 + offset
    it = view(raw[start : start + 16])
    assert it.align == (offset or 4096)


def test_read_only_is_seen() -> None:
    x = np.zeros(3)
    x.flags.writeable = False
    assert view(x).readonly
    assert view(memoryview(b"abcd")).readonly
    assert not view(bytearray(4)).readonly


def test_buffers_are_described_without_a_copy() -> None:
    x = array.array("d", [1.0, 2.0, 3.0])
    it = view(x)
    assert (it.dtype, it.shape, it.address) == ("f64", (3,), x.buffer_info()[0])
    assert as_numpy(x).tolist() == [1.0, 2.0, 3.0]
    memory = memoryview(bytearray(range(16)))[::2]
    assert (view(memory).strides, view(memory).dtype) == ((2,), "u8")


@pytest.mark.parametrize("old", [False, True])
def test_dlpack_is_described_without_a_copy(old: bool) -> None:
    x = np.arange(12, dtype=np.float32).reshape(3, 4)[:, 1:3]
    it = view(Exporter(x, old=old))
    assert (it.address, it.shape, it.strides, it.dtype, it.kind) == (x.ctypes.data, (3, 2), (4, 1), "f32", "dlpack")
    there = as_numpy(it)
    there[0, 0] = 99
    assert x[0, 0] == 99


def test_dlpack_memory_lives_as_long_as_its_view() -> None:
    x = np.arange(1000, dtype=np.float64)
    count = sys.getrefcount(x)
    it = view(Exporter(x))
    there = as_numpy(it)
    del it
    assert there.sum() == x.sum()
    assert sys.getrefcount(x) > count
    del there
    assert sys.getrefcount(x) == count


def test_dlpack_that_will_not_export_is_an_operand_error() -> None:
    class Refuses:
        def __dlpack__(self, **_: Any) -> Any:
            raise BufferError("it is being written")

        def __dlpack_device__(self) -> Any:
            return 1, 0

    with pytest.raises(OperandError, match=r"operand 'k' does not export its memory: it is being written"):
        view(Refuses(), "k")


def test_array_interface_of_others() -> None:
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    it = view(Interface(x.__array_interface__))
    assert (it.address, it.strides, it.kind) == (x.ctypes.data, (3, 1), "interface")
    y = np.zeros(4, ml_dtypes.bfloat16)
    assert view(Interface(y.__array_interface__, dtype=y.dtype)).dtype == "bf16"


def test_cuda_memory_is_described_and_not_touched() -> None:
    interface = {"shape": (2, 3), "typestr": "<f2", "data": (0xDEAD0000, False), "version": 3, "strides": None}
    it = view(Interface(interface, "__cuda_array_interface__"))
    assert (it.address, it.device, it.strides, it.dtype, it.on_host) == (0xDEAD0000, "cuda:0", (3, 1), "f16", False)
    with pytest.raises(OperandError, match=r"'q' lies on cuda:0"):
        as_numpy(it, "q")
    with pytest.raises(OperandError, match="must be given with `out`"):
        like(it, (2,), "f16")


@pytest.mark.parametrize(
    ("x", "said"),
    [
        ([1.0, 2.0], "is a list, which is no array"),
        (3, "is an int"),
        (None, "NoneType"),
        ("text", "is a str"),
        (np.zeros(2, ">f4"), "bytes are in the other order"),
        (np.zeros(2, np.uint32), "has dtype uint32"),
        (np.zeros(2, object), "has dtype object"),
        (np.zeros(2, [("x", "f4")]), "no word for"),
        (np.zeros(2, ml_dtypes.float8_e4m3), "has dtype float8_e4m3,"),
        (np.ma.masked_array(np.zeros(2), [0, 1]), "masked"),
        (np.zeros((4, 2), [("a", "i1"), ("b", "<f4")])["b"], "no multiples of its 4-byte elements"),
        (Interface({"shape": (2,)}), "a form that is not known"),
        (Interface({"shape": (2,), "typestr": "<f4", "data": (16, False), "mask": object(), "version": 3}), "mask"),
    ],
)
def test_what_is_no_array_is_named(x: object, said: str) -> None:
    with pytest.raises(OperandError) as caught:
        view(x, "weight")
    assert "'weight'" in caught.value.message
    assert said in caught.value.message


def test_a_view_past_its_buffer_is_known_as_one() -> None:
    x = np.zeros(4, np.float32)
    it = view(np.lib.stride_tricks.as_strided(x, (100,), (4,)))
    assert it.buffer == (x.ctypes.data, x.ctypes.data + 16)
    assert it.extent[1] > it.buffer[1]


def test_an_array_of_an_array_api_namespace_comes_back_as_one() -> None:
    class Namespaced(Exporter):
        def __array_namespace__(self) -> Any:
            class Namespace:
                @staticmethod
                def from_dlpack(x: Any) -> Any:
                    return Namespaced(np.from_dlpack(x))

            return Namespace

    result = as_kind(np.ones(3), Namespaced(np.zeros(3)))
    assert isinstance(result, Namespaced)
    assert result.array.tolist() == [1, 1, 1]
    assert isinstance(as_kind(np.ones(3), np.zeros(3)), np.ndarray)


def torch() -> Any:
    return pytest.importorskip("torch", reason="torch: it is not installed")


@pytest.mark.parametrize("word", ["f64", "f32", "f16", "bf16", "f8e4m3", "f8e5m2", "i64", "i32", "i16", "i8", "u8", "bool", "c64", "c128"])
def test_torch_tensors_share_memory(word: str) -> None:
    t = torch()
    from tessera_rules.bind.arrays import NAMES

    x = t.zeros((4, 6), dtype=getattr(t, NAMES[word]))[1:3, ::2]
    it = view(x, "x")
    assert (it.dtype, it.shape, it.strides, it.address) == (word, (2, 3), (6, 2), x.data_ptr())
    assert it.buffer == (x.untyped_storage().data_ptr(), x.untyped_storage().data_ptr() + x.untyped_storage().nbytes())
    as_numpy(x)[0, 0] = 1
    assert x.to(t.complex128)[0, 0] == 1
    made = like(x, (2, 2), word)
    assert isinstance(made, t.Tensor)
    assert made.dtype == x.dtype
    assert as_kind(np.ones((2, 2), dtype_of(word)), x).dtype == x.dtype


def test_torch_tensors_that_kernels_cannot_take() -> None:
    t = torch()
    with pytest.raises(OperandError, match="'m' is a tensor of layout"):
        view(t.zeros((2, 2)).to_sparse(), "m")
    with pytest.raises(OperandError, match="conjugated"):
        view(t.zeros(2, dtype=t.complex64).conj(), "m")
    with pytest.raises(OperandError, match="device meta"):
        view(t.zeros(2, device="meta"), "m")
    assert view(t.zeros(2, requires_grad=True), "m").dtype == "f32"


def test_nothing_here_imports_torch() -> None:
    view(np.zeros(2))
    import subprocess

    text = "import numpy, sys; from tessera_rules.bind.arrays import view; view(numpy.zeros(2)); assert not {'torch', 'ml_dtypes'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", text], check=True)
