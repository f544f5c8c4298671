"""What the caller's arrays are, whoever made them: address, shape, strides, dtype; nothing is copied.

NumPy arrays (with `ml_dtypes` for bf16, f8 and i4), torch tensors, the buffer protocol, ``__array_interface__``, DLPack and
``__cuda_array_interface__`` all become an `ArrayView`. Device memory is described and never read.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import lru_cache
from math import prod
from typing import Any, Literal

import numpy as np
from attrs import field, frozen

from tessera_rules.dtypes import FORMATS
from tessera_rules.errors import MissingExtraError, OperandError
from tessera_rules.model.request import MAX_ALIGN

Kind = Literal["numpy", "torch", "buffer", "interface", "dlpack", "cuda"]

# NumPy, ml_dtypes and torch share these names. `float8_e4m3` of ml_dtypes is another format (it has infinities).
WORDS: dict[str, str] = {
    "float64": "f64", "float32": "f32", "float16": "f16", "bfloat16": "bf16", "float8_e4m3fn": "f8e4m3", "float8_e5m2": "f8e5m2",
    "float8_e4m3fnuz": "f8e4m3fnuz", "float8_e5m2fnuz": "f8e5m2fnuz", "float4_e2m1fn": "f4e2m1", "int64": "i64", "int32": "i32",
    "int16": "i16", "int8": "i8", "int4": "i4", "uint8": "u8", "uint4": "u4", "bool": "bool", "complex64": "c64", "complex128": "c128",
}  # fmt: skip
NAMES: dict[str, str] = {word: name for name, word in WORDS.items()} | {"tf32": "float32"}
EXTRA = frozenset(("bf16", "f8e4m3", "f8e5m2", "f8e4m3fnuz", "f8e5m2fnuz", "f4e2m1", "i4", "u4"))
_WORD_OF: dict[Any, str] = {}
_DTYPE_OF: dict[str, np.dtype[Any]] = {}


@frozen(eq=False)
class ArrayView:
    """One array as kernels see it.

    ``address`` is of the first element, ``strides`` count elements, ``item_bytes`` is what one element takes in this memory
    (an ``i4`` of ml_dtypes takes a whole byte). ``buffer`` holds the addresses between which memory is known to be the
    array's, where that can be told. ``owner`` keeps the memory alive and is what came in.
    """

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: str
    item_bytes: int
    readonly: bool
    device: str
    kind: Kind
    owner: Any = field(repr=False)
    buffer: tuple[int, int] | None = None

    @property
    def size(self) -> int:
        """Elements."""
        return prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes of the elements, as though they lay side by side."""
        return prod(self.shape) * self.item_bytes

    @property
    def contiguous(self) -> bool:
        """Whether elements lie in C order without gaps; axes of one element do not matter."""
        return is_contiguous(self.shape, self.strides)

    @property
    def align(self) -> int:
        """Bytes: the largest power of two, up to a page, that divides the address."""
        return MAX_ALIGN if not self.address else min(MAX_ALIGN, self.address & -self.address)

    @property
    def extent(self) -> tuple[int, int]:
        """The addresses of the first byte that the elements reach and of the one past the last."""
        low, high = reach(self.shape, self.strides)
        return self.address + low * self.item_bytes, self.address + high * self.item_bytes

    @property
    def on_host(self) -> bool:
        """Whether the memory can be read from here."""
        return self.device == "cpu"


@lru_cache(maxsize=4096)
def reach(shape: tuple[int, ...], strides: tuple[int, ...]) -> tuple[int, int]:
    """Return the lowest element offset that is reached, and the one past the highest; both 0 where there are no elements.

    >>> reach((2, 3), (3, 1)), reach((2, 3), (-8, 1)), reach((0, 3), (3, 1))
    ((0, 6), (-8, 3), (0, 0))
    """
    if 0 in shape:
        return 0, 0
    low = sum((n - 1) * s for n, s in zip(shape, strides, strict=True) if s < 0)
    high = sum((n - 1) * s for n, s in zip(shape, strides, strict=True) if s > 0)
    return low, high + 1


def is_contiguous(shape: Sequence[int], strides: Sequence[int]) -> bool:
    """Whether strides (in elements) are those of C order without gaps.

    >>> is_contiguous((2, 1, 3), (3, 99, 1)), is_contiguous((2, 3), (1, 2))
    (True, False)
    """
    expected = 1
    for n, s in zip(reversed(shape), reversed(strides), strict=True):
        if n == 0:
            return True
        if n != 1:
            if s != expected:
                return False
            expected *= n
    return True


def dense_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """Return the strides of C order, in elements.

    >>> dense_strides((2, 3, 4))
    (12, 4, 1)
    """
    strides = [1] * len(shape)
    for axis in range(len(shape) - 2, -1, -1):
        strides[axis] = strides[axis + 1] * max(1, shape[axis + 1])
    return tuple(strides)


def view(x: Any, name: str = "x") -> ArrayView:
    """Return what an array is. Raises `OperandError`, naming the operand, for what is no array that kernels can take.

    >>> it = view(np.zeros((2, 3), np.float32).T)
    >>> it.shape, it.strides, it.dtype, it.contiguous
    ((3, 2), (1, 3), 'f32', False)
    """
    if type(x) is np.ndarray:
        return _numpy(x, name)
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(x, torch.Tensor):
        return _torch(x, name, torch)
    if isinstance(x, np.ndarray):
        if isinstance(x, np.ma.MaskedArray):
            raise OperandError(f"operand '{name}' is a masked array, and kernels know no mask", hint="x.filled(value) gives an array")
        return _numpy(x, name)
    if hasattr(x, "__cuda_array_interface__"):
        return _interface(x, x.__cuda_array_interface__, name, "cuda")
    if isinstance(x, np.generic):
        return _numpy(np.asarray(x), name, readonly=True)
    if hasattr(x, "__array_interface__"):
        return _interface(x, x.__array_interface__, name, "interface")
    if hasattr(x, "__dlpack__"):
        from tessera_rules.bind.dlpack import read

        return read(x, name)
    try:
        memory = memoryview(x)
    except TypeError:
        raise OperandError(
            f"operand '{name}' is {_article(type(x).__name__)}, which is no array",
            hint="NumPy, torch, DLPack, __array_interface__ and the buffer protocol are taken; np.asarray(x, dtype) makes an array of a list",
        ) from None
    return _buffer(x, memory, name)


def _article(word: str) -> str:
    return f"{'an' if word[:1].lower() in 'aeiou' else 'a'} {word}"


def word_of(dtype: Any, name: str = "x") -> str:
    """Return our word for a NumPy dtype. Raises `OperandError` for a dtype that no rule can speak of."""
    word = _WORD_OF.get(dtype)
    if word is None:
        known = WORDS.get(dtype.name) if dtype.fields is None else None
        if known is None:
            raise OperandError(f"operand '{name}' has dtype {dtype}, which rules have no word for", hint=f"the dtypes are {', '.join(FORMATS)}")
        if not dtype.isnative:
            raise OperandError(f"operand '{name}' has dtype {dtype}, whose bytes are in the other order", hint="x.astype(x.dtype.newbyteorder('=')) swaps them")
        word = _WORD_OF[dtype] = known
    return word


def dtype_of(word: str) -> np.dtype[Any]:
    """Return the NumPy dtype of a word. Raises `MissingExtraError` where `ml_dtypes` is needed and not here.

    >>> dtype_of("f16"), dtype_of("c64")
    (dtype('float16'), dtype('complex64'))
    """
    found = _DTYPE_OF.get(word)
    if found is None:
        if word in EXTRA:
            try:
                import ml_dtypes
            except ImportError:
                raise MissingExtraError("dtypes", f"an array of {word}") from None
            found = np.dtype(getattr(ml_dtypes, NAMES[word]))
        else:
            found = np.dtype(NAMES[word])
        _DTYPE_OF[word] = found
    return found


def item_size(word: str) -> int:
    """Return the bytes that one element of a dtype takes in an array; less than a byte takes one."""
    return max(1, FORMATS[word].bits // 8)


def _in_elements(strides: Sequence[int], item: int, shape: Sequence[int], name: str) -> tuple[int, ...]:
    found = []
    for n, s in zip(shape, strides, strict=True):
        if s % item and n > 1:
            raise OperandError(f"operand '{name}' has strides of {tuple(strides)} bytes, which are no multiples of its {item}-byte elements", hint="copy it")
        found.append(s // item)
    return tuple(found)


def _numpy(x: np.ndarray[Any, Any], name: str, *, readonly: bool = False) -> ArrayView:
    word = _WORD_OF.get(x.dtype) or word_of(x.dtype, name)
    item, flags, shape = x.itemsize, x.flags, x.shape
    address = x.__array_interface__["data"][0]
    strides = _in_elements(x.strides, item, shape, name)
    buffer = (address, address + x.nbytes) if x.base is None and flags.forc else _numpy_buffer(x)
    return ArrayView(address, shape, strides, word, item, readonly or not flags.writeable, "cpu", "numpy", x, buffer)


def _numpy_buffer(x: np.ndarray[Any, Any]) -> tuple[int, int] | None:
    """Return the bounds of the memory that an array is a view of; None where the last owner is not an array."""
    base: Any = x
    while True:
        below = getattr(base, "base", None)  # as_strided puts an object between the view and its array
        if below is None:
            break
        base = below
    if isinstance(base, np.ndarray):
        return np.lib.array_utils.byte_bounds(base)
    if isinstance(base, bytes | bytearray | memoryview):
        return np.lib.array_utils.byte_bounds(np.frombuffer(base, np.uint8))
    return None


def _torch(x: Any, name: str, torch: Any) -> ArrayView:
    dtype = str(x.dtype).removeprefix("torch.")
    word = WORDS.get(dtype)
    if word is None:
        raise OperandError(f"operand '{name}' has dtype {x.dtype}, which rules have no word for", hint=f"the dtypes are {', '.join(FORMATS)}")
    if x.layout is not torch.strided:
        raise OperandError(f"operand '{name}' is a tensor of layout {x.layout}, and kernels take strided ones", hint="x.to_dense()")
    if x.is_conj() or x.is_neg():
        raise OperandError(f"operand '{name}' is a lazily conjugated or negated tensor", hint="x.resolve_conj().resolve_neg()")
    kind = x.device.type
    if kind not in ("cpu", "cuda"):
        raise OperandError(f"operand '{name}' lies on device {x.device}, which no kernel here reaches")
    device = "cpu" if kind == "cpu" else f"{'rocm' if torch.version.hip else 'cuda'}:{x.device.index or 0}"
    storage = x.untyped_storage()
    start = storage.data_ptr()
    return ArrayView(
        x.data_ptr(), tuple(x.shape), tuple(x.stride()), word, x.element_size(), False, device, "torch", x, (start, start + storage.nbytes())
    )  # fmt: skip


def _interface(x: Any, interface: Any, name: str, kind: Kind) -> ArrayView:
    try:
        shape = tuple(int(n) for n in interface["shape"])
        data, text, steps = interface.get("data"), interface["typestr"], interface.get("strides")
        dtype = np.dtype(text)
    except (KeyError, TypeError, ValueError, AttributeError) as problem:
        raise OperandError(f"operand '{name}' describes itself in a form that is not known: {problem}") from None
    if interface.get("mask") is not None:
        raise OperandError(f"operand '{name}' has a mask, and kernels know no mask")
    if data is None and kind == "interface":
        return _numpy(np.asarray(x), name)
    if not (isinstance(data, tuple) and len(data) == 2):
        raise OperandError(f"operand '{name}' does not say where its data lie")
    if dtype.kind == "V" and hasattr(x, "dtype"):  # a dtype of ml_dtypes is bare bytes in this protocol
        dtype = np.dtype(x.dtype)
    item = dtype.itemsize
    word = word_of(dtype, name)
    strides = dense_strides(shape) if steps is None else _in_elements([int(s) for s in steps], item, shape, name)
    device = "cpu" if kind == "interface" else "cuda:0"
    return ArrayView(int(data[0] or 0), shape, strides, word, item, bool(data[1]), device, kind, x)


def _buffer(x: Any, memory: memoryview, name: str) -> ArrayView:
    if memory.format == "c":
        memory = memory.cast("B")
    try:
        array = np.asarray(memory)
    except (ValueError, TypeError) as problem:
        raise OperandError(f"operand '{name}' is a buffer of format '{memory.format}', which is no dtype: {problem}") from None
    word = word_of(array.dtype, name)
    strides = _in_elements(array.strides, array.itemsize, array.shape, name)
    whole = np.lib.array_utils.byte_bounds(array) if array.size else None
    return ArrayView(array.__array_interface__["data"][0], array.shape, strides, word, array.itemsize, memory.readonly, "cpu", "buffer", (x, array), whole)


class _Exposed:
    """Memory of somebody else, as NumPy takes it; holds the owner for as long as an array needs it."""

    def __init__(self, it: ArrayView, typestr: str) -> None:
        strides = tuple(s * it.item_bytes for s in it.strides)
        self.owner = it.owner
        self.__array_interface__ = {"shape": it.shape, "typestr": typestr, "data": (it.address, it.readonly), "strides": strides, "version": 3}


def as_numpy(x: Any, name: str = "x") -> np.ndarray[Any, Any]:
    """Return a host array (or a view of one) as NumPy, without a copy. Raises `OperandError` for device memory."""
    if type(x) is np.ndarray:
        return x
    it = x if isinstance(x, ArrayView) else view(x, name)
    if isinstance(it.owner, np.ndarray):
        return it.owner
    if not it.on_host:
        raise OperandError(f"operand '{name}' lies on {it.device}, and this needs host memory")
    dtype = dtype_of(it.dtype)
    if not it.size or not it.address:
        return np.empty(it.shape, dtype)
    plain = dtype.kind != "V" and it.dtype not in EXTRA
    array = np.asarray(_Exposed(it, dtype.str if plain else f"|V{it.item_bytes}"))
    return array if plain else array.view(dtype)


def like(x: Any, shape: Sequence[int], dtype: str) -> Any:
    """Return an uninitialised C-contiguous array of the kind that came in: a torch tensor for one, else NumPy's.

    >>> like(np.zeros(3), (2, 2), "f16").dtype
    dtype('float16')
    """
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(x, torch.Tensor):
        return torch.empty(tuple(shape), dtype=getattr(torch, NAMES[dtype]), device=x.device)
    if type(x) is np.ndarray:
        return np.empty(tuple(shape), dtype_of(dtype))
    it = x if isinstance(x, ArrayView) else view(x)
    if not it.on_host:
        raise OperandError(f"an output on {it.device} must be given with `out`: nothing here allocates memory of that device")
    return np.empty(tuple(shape), dtype_of(dtype))


def as_kind(result: Any, x: Any) -> Any:
    """Return a result as the kind of array that ``x`` is, without a copy where that kind allows it."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(x, torch.Tensor):
        return result if isinstance(result, torch.Tensor) else _to_torch(result, torch)
    if isinstance(result, np.ndarray | np.generic) or not hasattr(x, "__array_namespace__"):
        if type(x).__module__.partition(".")[0] != "numpy" and hasattr(x, "__array_namespace__"):
            try:
                return x.__array_namespace__().from_dlpack(result)
            except (AttributeError, BufferError, TypeError, RuntimeError):
                return result
        return result
    return result


def _to_torch(result: Any, torch: Any) -> Any:
    array = np.ascontiguousarray(result) if any(s < 0 for s in np.asarray(result).strides) else np.asarray(result)
    word = word_of(array.dtype)
    if word not in EXTRA:
        return torch.from_numpy(array if array.flags.writeable else array.copy())
    raw = array.view(np.int16 if array.itemsize == 2 else np.uint8)
    return torch.from_numpy(raw if raw.flags.writeable else raw.copy()).view(getattr(torch, NAMES[word]))
