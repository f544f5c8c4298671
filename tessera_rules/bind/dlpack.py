"""DLPack as it is in memory, so that dtypes NumPy does not take (bf16, f8) are read too.

Source: DLPack 1.0, ``dlpack.h``. The capsule is read and never consumed: its own destructor gives the memory back.
"""

from __future__ import annotations

import ctypes
from typing import Any

from tessera_rules.bind.arrays import ArrayView, dense_strides, item_size
from tessera_rules.errors import OperandError

CPU, CUDA, CUDA_HOST, ROCM, ROCM_HOST, CUDA_MANAGED = 1, 2, 3, 10, 11, 13
DEVICES = {CPU: "cpu", CUDA_HOST: "cpu", ROCM_HOST: "cpu", CUDA: "cuda", CUDA_MANAGED: "cuda", ROCM: "rocm"}
# (code, bits) of DLDataType; codes 7 to 17 are those of DLPack 1.1.
DTYPES = {
    (0, 8): "i8", (0, 16): "i16", (0, 32): "i32", (0, 64): "i64", (1, 8): "u8", (2, 16): "f16", (2, 32): "f32", (2, 64): "f64",
    (4, 16): "bf16", (5, 64): "c64", (5, 128): "c128", (6, 8): "bool", (10, 8): "f8e4m3", (11, 8): "f8e4m3fnuz", (12, 8): "f8e5m2", (13, 8): "f8e5m2fnuz",
}  # fmt: skip


class _Device(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int32), ("id", ctypes.c_int32)]


class _DataType(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", _Device),
        ("ndim", ctypes.c_int32),
        ("dtype", _DataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class _Versioned(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    ]


_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
_valid = ctypes.pythonapi.PyCapsule_IsValid
_valid.restype, _valid.argtypes = ctypes.c_int, [ctypes.py_object, ctypes.c_char_p]


def read(x: Any, name: str) -> ArrayView:
    """Return what a DLPack exporter holds. Raises `OperandError` where it will not export or what it holds is not ours."""
    try:
        try:
            capsule = x.__dlpack__(max_version=(1, 1), copy=False)
        except TypeError:  # an exporter from before these arguments
            capsule = x.__dlpack__()
    except (BufferError, ValueError, RuntimeError, TypeError) as problem:
        raise OperandError(f"operand '{name}' does not export its memory: {problem}") from None
    readonly = False
    if _valid(capsule, b"dltensor_versioned"):
        versioned = ctypes.cast(_pointer(capsule, b"dltensor_versioned"), ctypes.POINTER(_Versioned)).contents
        if versioned.major != 1:
            raise OperandError(f"operand '{name}' exports DLPack {versioned.major}.{versioned.minor}, and 1 is known here")
        tensor, readonly = versioned.tensor, bool(versioned.flags & 1)
    elif _valid(capsule, b"dltensor"):
        tensor = ctypes.cast(_pointer(capsule, b"dltensor"), ctypes.POINTER(_Tensor)).contents
    else:
        raise OperandError(f"operand '{name}' exports a capsule that is no fresh DLPack tensor")
    dtype = DTYPES.get((tensor.dtype.code, tensor.dtype.bits)) if tensor.dtype.lanes == 1 else None
    if dtype is None:
        raise OperandError(f"operand '{name}' has DLPack dtype (code {tensor.dtype.code}, {tensor.dtype.bits} bits, {tensor.dtype.lanes} lanes), not ours")
    place = DEVICES.get(tensor.device.type)
    if place is None:
        raise OperandError(f"operand '{name}' lies on a device of DLPack type {tensor.device.type}, which no kernel here reaches")
    shape = tuple(tensor.shape[i] for i in range(tensor.ndim))
    strides = tuple(tensor.strides[i] for i in range(tensor.ndim)) if tensor.strides else dense_strides(shape)
    address = (tensor.data or 0) + tensor.byte_offset
    device = place if place == "cpu" else f"{place}:{tensor.device.id}"
    return ArrayView(address, shape, strides, dtype, item_size(dtype), readonly, device, "dlpack", (x, capsule))
