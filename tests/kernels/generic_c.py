"""The shipped C kernels, compiled and called by ctypes alone: a loader for their own tests, without the binding of the rules.

``KERNEL_TEST_CC`` names another compiler, ``KERNEL_TEST_MARCH`` another chip than this one (x86-64-v3, x86-64);
``KERNEL_TEST_SANITIZE=1`` compiles them with the address and undefined-behaviour sanitizers (and needs their runtime loaded
first: ``LD_PRELOAD="$(cc -print-file-name=libasan.so) $(cc -print-file-name=libubsan.so)"``).
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

try:
    import ml_dtypes
except ImportError:  # an optional dependency: the tests of its dtypes are skipped
    ml_dtypes = None

FOLDER = Path(__file__).parents[2] / "rules" / "kernels"
MARCH = f"-march={os.environ.get('KERNEL_TEST_MARCH', 'native')}"
FLAGS = ("-O3", MARCH, "-fno-math-errno")
SANITIZERS = ("-O1", "-g", MARCH, "-fsanitize=address,undefined", "-fno-sanitize-recover=undefined")
DTYPES: dict[str, Any] = {
    "f64": np.float64, "f32": np.float32, "f16": np.float16, "i8": np.int8, "i32": np.int32, "c64": np.complex64, "c128": np.complex128,
}  # fmt: skip
OTHERS = {
    "bf16": "bfloat16", "f8e4m3": "float8_e4m3fn", "f8e5m2": "float8_e5m2", "f8e4m3fnuz": "float8_e4m3fnuz", "f8e5m2fnuz": "float8_e5m2fnuz",
}  # fmt: skip
if ml_dtypes is not None:
    DTYPES |= {word: getattr(ml_dtypes, name) for word, name in OTHERS.items()}
_NO_DTYPES = pytest.mark.skipif(ml_dtypes is None, reason="extra: ml_dtypes is not installed")


def each(*dtypes: str) -> list[Any]:
    """Return dtypes as parameters of a test, those of ml_dtypes skipped where it is not there."""
    return [pytest.param(word, marks=_NO_DTYPES) if word in OTHERS else word for word in dtypes]


FLOATS = each("f64", "f32", "f16", "bf16")
# Unit roundoff of what is stored, and of what is summed in.
STORED = {"f64": 2.0**-53, "f32": 2.0**-24, "f16": 2.0**-11, "bf16": 2.0**-8}
SUMMED = {"f64": 2.0**-53, "f32": 2.0**-53, "f16": 2.0**-24, "bf16": 2.0**-24}
SMALLEST = {"f64": 2.0**-1074, "f32": 2.0**-149, "f16": 2.0**-24, "bf16": 2.0**-133}
ACTS = ("relu", "gelu", "gelu_erf", "silu", "sigmoid", "tanh")
compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="compiler: no cc on PATH")

i8 = ctypes.c_int8
i32 = ctypes.c_int32
i64 = ctypes.c_int64
f64 = ctypes.c_double


@functools.cache
def library(source: str, dtype: str) -> ctypes.CDLL:
    """Compile ``source`` for ``dtype`` (kept by content in a folder of this user) and load it."""
    flags = (*(SANITIZERS if os.environ.get("KERNEL_TEST_SANITIZE") else FLAGS), "-Wall", "-Wextra", "-Werror", f"-DDTYPE_{dtype}")
    compiler_words = os.environ.get("KERNEL_TEST_CC", "cc").split()
    digest = hashlib.sha256(repr((flags, compiler_words)).encode())
    for path in [*sorted(FOLDER.glob("*.h")), FOLDER / source]:
        digest.update(path.read_bytes())
    folder = Path(tempfile.gettempdir()) / f"tsr-tests-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    assert folder.stat().st_uid == os.getuid()
    built = folder / f"{source.removesuffix('.c')}-{dtype}-{digest.hexdigest()[:16]}.so"
    if not built.exists():
        part = built.with_suffix(f".{os.getpid()}.part")
        command = [*compiler_words, *flags, "-fPIC", "-shared", "-o", str(part), str(FOLDER / source), "-lm"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
        assert done.returncode == 0, done.stderr
        part.replace(built)
    return ctypes.CDLL(str(built))


def call(source: str, symbol: str, dtype: str, arguments: Sequence[Any], *, status: int = 0) -> None:
    """Call a kernel: an array is its first element, None a null pointer, a bare int an i64; anything else is ctypes' own."""
    function = getattr(library(source, dtype), symbol)
    function.restype = ctypes.c_int32
    ready: list[Any] = []
    for argument in arguments:
        if argument is None or isinstance(argument, np.ndarray):
            ready.append(ctypes.c_void_p(argument.ctypes.data if argument is not None else None))
        elif isinstance(argument, int):
            ready.append(ctypes.c_int64(argument))
        else:
            ready.append(argument)
    assert function(*ready) == status


def strides(x: np.ndarray) -> list[int]:
    """Return the strides of ``x`` in elements."""
    return [step // x.itemsize for step in x.strides]


def words(names: Sequence[str], universe: Sequence[str]) -> Any:
    """Return a list attribute as a kernel reads it: the count, then each word's index."""
    return (ctypes.c_int32 * (len(names) + 1))(len(names), *(universe.index(name) for name in names))


def nullable(value: float | None, kind: Any) -> Any:
    """Return a pointer to ``value``, or a null one."""
    return ctypes.c_void_p(None) if value is None else ctypes.byref(kind(value))


def poisoned(shape: Sequence[int], dtype: str) -> np.ndarray:
    """Return an array that no kernel's result equals by chance."""
    out = np.empty(shape, DTYPES[dtype])
    out.view(np.uint8).reshape(-1)[...] = 0x7D
    return out


def normal(rng: np.random.Generator, shape: Sequence[int], dtype: str, scale: float = 1.0) -> np.ndarray:
    """Return normal numbers of ``dtype``."""
    return (rng.standard_normal(tuple(shape)) * scale).astype(DTYPES[dtype])


def views(x: np.ndarray) -> dict[str, np.ndarray]:
    """Return views of other strides that hold what ``x`` holds: transposed, gapped, reversed, one element off."""
    gap = np.zeros([2 * n + 1 for n in x.shape], x.dtype)
    gapped = gap[tuple(slice(1, None, 2) for _ in x.shape)]
    gapped[...] = x
    turned = np.ascontiguousarray(x.T).T
    backwards = np.ascontiguousarray(x[tuple(slice(None, None, -1) for _ in x.shape)])[tuple(slice(None, None, -1) for _ in x.shape)]
    line = np.zeros(x.size + 1, x.dtype)
    off = line[1:].reshape(x.shape)
    off[...] = x
    return {"transposed": turned, "gapped": gapped, "reversed": backwards, "off by one": off}


def wide(x: np.ndarray) -> np.ndarray:
    """Return ``x`` in float64, exactly."""
    with np.errstate(invalid="ignore"):
        return x.astype(np.float64)


def apply(act: str, x: np.ndarray) -> np.ndarray:
    """Return an activation in float64 (gelu written without cancellation, erf by math)."""
    import math

    with np.errstate(all="ignore"):
        if act == "relu":
            return np.where(x <= 0, 0.0, x)
        if act == "gelu":
            return x / (1 + np.exp(-2 * np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))
        if act == "gelu_erf":
            return np.asarray(0.5 * x * np.vectorize(math.erfc, otypes=[float])(-x / np.sqrt(2)))
        if act == "silu":
            return x / (1 + np.exp(-x))
        return np.asarray(1 / (1 + np.exp(-x)) if act == "sigmoid" else np.tanh(x))


def phi(n: int) -> float:
    """Return the growth of rounding errors in a sum of ``n`` terms."""
    return 6.0 * max(n, 1) ** 0.5


def assert_within(got: np.ndarray, want: np.ndarray, bound: np.ndarray | float, dtype: str) -> None:
    """Each element is of the reference's class, and each finite one within ``bound`` and one rounding of it."""
    got = wide(got)
    assert got.shape == want.shape
    with np.errstate(all="ignore"):
        rounded = want.astype(DTYPES[dtype]).astype(np.float64)
        assert (np.isnan(got) == np.isnan(rounded)).all()
        special = np.isinf(rounded)
        assert (got[special] == rounded[special]).all()
        finite = np.isfinite(rounded)
        limit = np.broadcast_to(np.asarray(bound, dtype=np.float64), want.shape)[finite] + STORED[dtype] * 1.01 * np.abs(want[finite]) + SMALLEST[dtype]
        error = np.abs(got[finite] - want[finite])
    assert (error <= limit).all(), f"worst {np.max(error / limit)} of the bound"
