"""Wrong kernels that the suites must reject: each is the NumPy lane with one fault seeded."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from tessera_rules.kernels.x86 import numpy_attention, numpy_fft, numpy_matmul, numpy_pointwise, numpy_rows, numpy_scaled_matmul
from tests.conformance import base
from tests.conformance.checking import Conformance

Kernel = Callable[..., Any]
LANES: dict[str, Kernel] = {
    "matmul": numpy_matmul.matmul,
    "batched_matmul": numpy_matmul.batched_matmul,
    "gemm": numpy_matmul.gemm,
    "fused_matmul": numpy_matmul.fused_matmul,
    "gated_matmul": numpy_matmul.gated_matmul,
    "scaled_matmul": numpy_scaled_matmul.scaled_matmul,
    "softmax": numpy_rows.softmax,
    "rmsnorm": numpy_rows.rmsnorm,
    "layernorm": numpy_rows.layernorm,
    "pointwise": numpy_pointwise.pointwise,
    "attention": numpy_attention.attention,
    "paged_attention": numpy_attention.paged_attention,
    "fft": numpy_fft.fft,
    "rfft": numpy_fft.rfft,
    "irfft": numpy_fft.irfft,
}


def runs(suite: Conformance, test: Kernel) -> Iterator[dict[str, Any]]:
    """Yield the arguments of each run that pytest would make of a test."""
    lists: dict[str, list[Any]] = {}
    if "dtype" in inspect.signature(test).parameters:
        lists["dtype"] = [{"dtype": dtype} for dtype in suite.dtypes]
    for mark in getattr(test, "pytestmark", []):
        names, values = mark.args
        if isinstance(names, str):
            lists[names] = [{names: value} for value in values]
        else:
            lists[",".join(names)] = [dict(zip(names, value, strict=True)) for value in values]
    for chosen in itertools.product(*lists.values()):
        yield {name: value for part in chosen for name, value in part.items()}


def first_failure(op: str, kernel: Kernel) -> str | None:
    """Return the first test of an op's suite that a kernel fails, None where it passes all."""
    suite = type("Wrong", (base.SUITES[op],), {"kernel": staticmethod(kernel)})()
    suite.__class__.dtypes = [dtype for dtype in suite.dtypes if dtype not in ("f64", "f16", "f8e5m2fnuz", "f8e4m3fnuz")]
    for name, test in inspect.getmembers(suite, callable):
        if name.startswith("test_"):
            for arguments in runs(suite, test):
                try:
                    test(**arguments)
                except pytest.skip.Exception:
                    continue
                except Exception:
                    return f"{name} {arguments}"
    return None


def after(change: Callable[[Any], Any]) -> Callable[[Kernel], Kernel]:
    """Return a fault that changes the result."""

    def fault(kernel: Kernel) -> Kernel:
        def wrong(**arguments: Any) -> Any:
            arguments.pop("out", None) if "pages_k" not in arguments and "scale_a" not in arguments else None
            result = kernel(**arguments)
            if isinstance(result, np.ndarray):
                changed = change(result.copy())
                if "c" in arguments and changed.shape == result.shape and changed.dtype == result.dtype:
                    arguments["c"][...] = changed
                    return arguments["c"]
                return changed
            return result

        return wrong

    return fault


def before(change: Callable[[dict[str, Any]], dict[str, Any]]) -> Callable[[Kernel], Kernel]:
    """Return a fault that changes the arguments."""

    def fault(kernel: Kernel) -> Kernel:
        def wrong(**arguments: Any) -> Any:
            return kernel(**change(arguments))

        return wrong

    return fault


def scaled(x: Any) -> Any:
    return (x * np.asarray(1.01 if x.dtype.itemsize < 4 else 1.001).astype(x.dtype)).astype(x.dtype) if x.dtype.kind != "i" else x + (x > 500)


def last_row(x: Any) -> Any:
    x[..., -1:, :] = 0
    return x


def swapped(x: Any) -> Any:
    if x.shape[-1] > 3:
        x[..., [1, 2]] = x[..., [2, 1]]
    return x


def one_nan(x: Any) -> Any:
    if x.size > 8 and x.dtype.kind != "i":
        x.flat[5] = np.nan
    elif x.size > 8:
        x.flat[5] += 3
    return x


def half(x: Any) -> Any:
    x.flat[x.size // 2 :] = np.asarray(7).astype(x.dtype)
    return x


def other_dtype(x: Any) -> Any:
    kinds = (np.complex64, np.complex128) if x.dtype.kind == "c" else (np.float32, np.float64)
    return x.astype(kinds[x.dtype != kinds[1]])


RESULT_FAULTS: dict[str, Callable[[Kernel], Kernel]] = {
    "off by a thousandth": after(scaled),
    "last row is zero": after(last_row),
    "two columns swapped": after(swapped),
    "one NaN": after(one_nan),
    "half is not written": after(half),
    "all zeros": after(np.zeros_like),
    "another rank": after(lambda x: x[None]),
    "a scalar": after(lambda x: x.reshape(-1)[:1].sum() if x.size else x),
    "another dtype": after(other_dtype),
}


def down(arguments: dict[str, Any]) -> dict[str, Any]:
    """Round f32 operands as bf16 does, and 16-bit ones to four bits less."""
    found = dict(arguments)
    for name in ("a", "b", "q", "k", "x", "pages_k", "pages_v"):
        x = found.get(name)
        if x is not None and x.dtype == np.float32:
            found[name] = (x.view(np.uint32) & 0xFFFF0000).view(np.float32) if x.flags.c_contiguous else x
    return found


def without(*names: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda arguments: {name: value for name, value in arguments.items() if name not in names}


def changed(name: str, change: Callable[[Any], Any]) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda arguments: arguments | {name: change(arguments[name])} if arguments.get(name) is not None else arguments


def short_k(step: int) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Drop the end of K down to a multiple of a step (all but the last for step 1)."""

    def change(arguments: dict[str, Any]) -> dict[str, Any]:
        a = arguments["a"]
        k = a.shape[-1] - 1 if step == 1 else a.shape[-1] // step * step
        cut = {name: arguments[name][..., :k, :] for name in ("b", "wg", "wu") if name in arguments}
        return arguments | {"a": a[..., :k]} | cut

    return change


def head_by_rest(arguments: dict[str, Any]) -> dict[str, Any]:
    """Key head h % Hkv instead of h // (Hq / Hkv)."""
    heads, kv = arguments["q"].shape[1], arguments["k"].shape[1]
    order = np.arange(heads) % max(1, kv)
    return arguments | {name: arguments[name][:, order] for name in ("k", "v")} if kv and heads % kv == 0 else arguments


def causal_from_the_first_key(kernel: Kernel) -> Kernel:
    def wrong(**arguments: Any) -> Any:
        if arguments.pop("causal", False):
            queries, keys = arguments["q"].shape[2], arguments["k"].shape[2]
            mask = np.where(np.tri(queries, keys, dtype=bool), 0.0, -np.inf).astype(arguments["q"].dtype)
            arguments["mask"] = mask + arguments["mask"] if arguments.get("mask") is not None else mask
        return kernel(**arguments)

    return wrong


def reads_stale_c(kernel: Kernel) -> Kernel:
    def wrong(a: Any, b: Any, c: Any, alpha: float = 1.0, beta: float = 0.0) -> Any:
        return kernel(a, b, c, alpha, beta or 1e-30)

    return wrong


def drops_nan(kernel: Kernel) -> Kernel:
    def wrong(**arguments: Any) -> Any:
        if list(arguments["fn"]) == ["maximum"] and "y" in arguments:
            result = np.fmax(arguments["x"], arguments["y"])
            if arguments.get("out") is None:
                return result
            arguments["out"][...] = result
            return arguments["out"]
        return kernel(**arguments)

    return wrong


def one_pass(kernel: Kernel) -> Kernel:
    def wrong(x: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
        if x.dtype != np.float32 or not x.size or weight is None or x.ndim != 2 or weight.shape != x.shape[1:]:
            return kernel(x, weight, bias, eps)
        mean = x.mean(axis=1, keepdims=True)
        variance = (x * x).mean(axis=1, keepdims=True) - mean * mean
        y = (x - mean) / np.sqrt(np.maximum(variance, 0) + np.float32(eps)) * weight
        return y if bias is None else y + bias

    return wrong


def sample_variance(kernel: Kernel) -> Kernel:
    def wrong(x: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
        n = max(2, x.shape[-1])
        return kernel(x, weight if weight is None else (weight * np.asarray(np.sqrt((n - 1) / n)).astype(x.dtype)).astype(x.dtype), bias, eps)

    return wrong


def spoils_its_input(kernel: Kernel) -> Kernel:
    def wrong(**arguments: Any) -> Any:
        first = next(iter(arguments.values()))
        result = kernel(**arguments)
        if isinstance(first, np.ndarray) and first.flags.writeable and first.size > 4:
            first.flat[0] = first.flat[1]
        return result

    return wrong


PRODUCTS = ("matmul", "batched_matmul", "gemm", "fused_matmul", "gated_matmul", "scaled_matmul")
NARROWED = ("matmul", "batched_matmul", "gemm", "fused_matmul", "attention", "paged_attention", "softmax")
FAULTS: list[tuple[str, str, Callable[[Kernel], Kernel]]] = [
    *((op, name, fault) for op in LANES for name, fault in RESULT_FAULTS.items()),
    *((op, "the last k dropped", before(short_k(1))) for op in PRODUCTS),
    *((op, "the tail of K dropped", before(short_k(4))) for op in PRODUCTS),
    *(
        (op, "operands cast one level down", before(down))
        for op in ("matmul", "batched_matmul", "gemm", "fused_matmul", "attention", "paged_attention", "softmax")
    ),
    *((op, "its input is written to", spoils_its_input) for op in LANES),
    ("gemm", "alpha ignored", before(without("alpha"))),
    ("gemm", "beta ignored", before(without("beta"))),
    ("gemm", "c read where beta is 0", reads_stale_c),
    ("gemm", "beta is 1 where it is not 0", before(changed("beta", lambda beta: float(beta != 0)))),
    ("fused_matmul", "prologue ignored", before(without("prologue"))),
    ("fused_matmul", "residual ignored", before(without("residual"))),
    ("fused_matmul", "reduction ignored", before(without("reduction"))),
    ("fused_matmul", "eps ignored", before(without("eps"))),
    ("fused_matmul", "bias always first", before(changed("epilogue", lambda words: sorted(words, key=lambda word: word != "bias")))),
    ("fused_matmul", "gelu_erf for gelu", before(changed("epilogue", lambda words: ["gelu_erf" if word == "gelu" else word for word in words]))),
    ("fused_matmul", "layernorm for rmsnorm", before(changed("reduction", lambda word: "layernorm" if word == "rmsnorm" else word))),
    ("gated_matmul", "gate ignored", before(without("gate"))),
    ("gated_matmul", "gate and value swapped", before(lambda arguments: arguments | {"wg": arguments["wu"], "wu": arguments["wg"]})),
    ("scaled_matmul", "out ignored", before(without("out"))),
    ("scaled_matmul", "scale_b ignored", before(changed("scale_b", np.ones_like))),
    ("rmsnorm", "eps ignored", before(without("eps"))),
    ("rmsnorm", "weight ignored", before(without("weight"))),
    ("layernorm", "eps ignored", before(without("eps"))),
    ("layernorm", "bias ignored", before(without("bias"))),
    ("layernorm", "variance by one pass", one_pass),
    ("layernorm", "variance over N - 1", sample_variance),
    ("pointwise", "maximum drops NaN (T23)", drops_nan),
    ("pointwise", "order of fn reversed", before(changed("fn", lambda words: list(words)[::-1]))),
    ("pointwise", "gelu_erf for gelu", before(changed("fn", lambda words: ["gelu_erf" if word == "gelu" else word for word in words]))),
    ("attention", "causal ignored", before(without("causal"))),
    ("attention", "causal aligned at the first key", causal_from_the_first_key),
    ("attention", "scale ignored", before(without("scale"))),
    ("attention", "softcap ignored (P19)", before(without("softcap"))),
    ("attention", "window ignored", before(without("window"))),
    ("attention", "window one too wide", before(changed("window", lambda window: window + 1))),
    ("attention", "mask ignored", before(without("mask"))),
    ("attention", "another head of keys", before(head_by_rest)),
    ("paged_attention", "scale ignored", before(without("scale"))),
    ("paged_attention", "softcap ignored", before(without("softcap"))),
    ("paged_attention", "pages in their own order", before(changed("table", lambda table: np.sort(table, axis=1)))),
    ("fft", "inverse ignored", before(without("inverse"))),
    ("irfft", "n ignored", before(without("n"))),
]


@pytest.mark.parametrize(("op", "name", "fault"), FAULTS, ids=[f"{op}: {name}" for op, name, _ in FAULTS])
def test_T21_a_wrong_kernel_fails_its_suite(op: str, name: str, fault: Callable[[Kernel], Kernel]) -> None:
    assert first_failure(op, fault(LANES[op])) is not None, f"{op} with the fault '{name}' passes"


@pytest.mark.parametrize("op", LANES)
def test_the_lane_without_a_fault_passes(op: str) -> None:
    """What makes faults makes none of its own."""
    assert first_failure(op, after(lambda x: x)(LANES[op])) is None
    assert first_failure(op, before(dict)(LANES[op])) is None
