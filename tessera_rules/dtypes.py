"""The dtypes that rules speak of: their words, their aliases, their sizes, and which holds which exactly."""

from __future__ import annotations

from typing import Literal

from attrs import frozen

Kind = Literal["float", "int", "uint", "bool", "complex"]


@frozen
class Format:
    """What a dtype can hold: ``bits`` of storage; for floats ``precision`` significant bits (the hidden one counted),

    ``min_exponent`` of the smallest subnormal and ``max_value`` the largest finite value.
    """

    kind: Kind
    bits: int
    precision: int
    min_exponent: int
    max_value: float


def _float(bits: int, precision: int, min_exponent: int, max_value: float) -> Format:
    return Format("float", bits, precision, min_exponent, max_value)


# Sources: IEEE 754-2019 table 3.5; OCP OFP8 1.0 table 1 (f8e4m3 is e4m3fn); OCP MX 1.0 for f4e2m1; NVIDIA's A100 white
# paper for tf32 (f32's range, 10 explicit bits; stored in 32); the fnuz pair as AMD's CDNA3 ISA and LLVM's APFloat have it.
FORMATS: dict[str, Format] = {
    "f64": _float(64, 53, -1074, 1.7976931348623157e308),
    "f32": _float(32, 24, -149, 3.4028234663852886e38),
    "tf32": _float(32, 11, -136, 3.4011621342146535e38),
    "f16": _float(16, 11, -24, 65504.0),
    "bf16": _float(16, 8, -133, 3.3895313892515355e38),
    "f8e4m3": _float(8, 4, -9, 448.0),
    "f8e5m2": _float(8, 3, -16, 57344.0),
    "f8e4m3fnuz": _float(8, 4, -10, 240.0),
    "f8e5m2fnuz": _float(8, 3, -17, 57344.0),
    "f4e2m1": _float(4, 2, -1, 6.0),
    "i64": Format("int", 64, 64, 0, float(2**63)),
    "i32": Format("int", 32, 32, 0, float(2**31)),
    "i16": Format("int", 16, 16, 0, float(2**15)),
    "i8": Format("int", 8, 8, 0, float(2**7)),
    "i4": Format("int", 4, 4, 0, float(2**3)),
    "u8": Format("uint", 8, 8, 0, 255.0),
    "u4": Format("uint", 4, 4, 0, 15.0),
    "bool": Format("bool", 8, 1, 0, 1.0),
    "c64": Format("complex", 64, 24, -149, 3.4028234663852886e38),
    "c128": Format("complex", 128, 53, -1074, 1.7976931348623157e308),
}

DTYPES: tuple[str, ...] = tuple(FORMATS)

ALIASES: dict[str, str] = {
    "float64": "f64", "fp64": "f64", "double": "f64",
    "float32": "f32", "fp32": "f32", "float": "f32", "single": "f32",
    "float16": "f16", "fp16": "f16", "half": "f16",
    "bfloat16": "bf16",
    "float8_e4m3fn": "f8e4m3", "float8_e4m3": "f8e4m3", "fp8_e4m3": "f8e4m3", "e4m3": "f8e4m3", "e4m3fn": "f8e4m3",
    "float8_e5m2": "f8e5m2", "fp8_e5m2": "f8e5m2", "e5m2": "f8e5m2",
    "float8_e4m3fnuz": "f8e4m3fnuz", "float8_e5m2fnuz": "f8e5m2fnuz",
    "float4_e2m1fn": "f4e2m1", "float4_e2m1": "f4e2m1", "fp4_e2m1": "f4e2m1",
    "int64": "i64", "int32": "i32", "int16": "i16", "int8": "i8", "int4": "i4",
    "uint8": "u8", "uint4": "u4",
    "complex64": "c64", "complex128": "c128",
}  # fmt: skip


def canonical(word: str) -> str | None:
    """Return the dtype that a word or an alias means, or None.

    >>> canonical("float16"), canonical("f16"), canonical("floof")
    ('f16', 'f16', None)
    """
    return word if word in FORMATS else ALIASES.get(word)


def bits(dtype: str) -> int:
    """Return the bits that one element takes in memory."""
    return FORMATS[dtype].bits


def holds(wide: str, narrow: str) -> bool:
    """Whether every finite value of ``narrow`` is exactly a value of ``wide``.

    >>> holds("tf32", "f32"), holds("f32", "bf16"), holds("f16", "i8"), holds("bf16", "f16")
    (False, True, True, False)
    """
    if wide == narrow:
        return True
    a, b = FORMATS[wide], FORMATS[narrow]
    if b.kind == "bool":
        return True
    if a.kind == "bool":
        return False
    if a.kind in ("float", "complex"):
        if b.kind == "complex" and a.kind != "complex":
            return False
        if b.kind in ("int", "uint"):
            value_bits = b.bits - (b.kind == "int")
            return value_bits <= a.precision and b.max_value <= a.max_value
        return b.precision <= a.precision and b.min_exponent >= a.min_exponent and b.max_value <= a.max_value
    if b.kind not in ("int", "uint"):
        return False
    if a.kind == "int":
        return b.bits + (b.kind == "uint") <= a.bits
    return b.kind == "uint" and b.bits <= a.bits


def accumulator(dtype: str) -> str:
    """Return the dtype in which products of a dtype are summed where nothing else is said, and a result with a null `dtype ATTR` has it.

    >>> accumulator("i8"), accumulator("f8e4m3"), accumulator("bf16"), accumulator("f64")
    ('i32', 'f32', 'f32', 'f64')
    """
    it = FORMATS[dtype]
    if it.kind == "float":
        return "f32" if it.bits < 32 else dtype
    return "i32" if it.kind in ("int", "uint", "bool") and it.bits < 32 else dtype
