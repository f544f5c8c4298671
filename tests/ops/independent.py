"""The ops once more, by loops over plain Python numbers: what the references are compared with, sharing nothing with them.

Sums are `math.fsum`'s, exact and rounded once, and functions the textbook forms on `math`; the transforms are their definition
in long double.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Rows = list[list[float]]


def rows_of(x: Any) -> Rows:
    """Return a matrix as lists of Python floats."""
    return np.asarray(x).astype(np.float64).tolist()


def total(values: Any) -> float:
    """Return a sum without rounding but the last; NaN and infinities as IEEE 754 adds them."""
    listed = list(values)
    if any(math.isnan(v) for v in listed) or (math.inf in listed and -math.inf in listed):
        return math.nan
    return math.fsum(listed)


def exp(x: float) -> float:
    return math.inf if x > 709.78 else math.exp(x)


def sigmoid(x: float) -> float:
    return 1 / (1 + exp(-x)) if x >= -700 else exp(x)


def gelu(x: float) -> float:
    return 0.5 * x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def gelu_erf(x: float) -> float:
    return 0.5 * x * (1 + math.erf(x / math.sqrt(2)))


def keep_nan(value: float, *operands: float) -> float:
    return math.nan if any(math.isnan(v) for v in operands) else value


def divided(a: float, b: float) -> float:
    with np.errstate(all="ignore"):
        return float(np.float64(a) / np.float64(b))


def log(x: float) -> float:
    return math.nan if x < 0 or math.isnan(x) else -math.inf if x == 0 else math.log(x)


def log1p(x: float) -> float:
    return math.nan if x < -1 or math.isnan(x) else -math.inf if x == -1 else math.log1p(x)


def sqrt(x: float) -> float:
    return math.nan if x < 0 or math.isnan(x) else math.copysign(math.sqrt(x), x)


ACTS: dict[str, Any] = {
    "relu": lambda x: keep_nan(x if x > 0 else 0.0, x),
    "gelu": gelu,
    "gelu_erf": gelu_erf,
    "silu": lambda x: x * sigmoid(x),
    "sigmoid": sigmoid,
    "tanh": math.tanh,
}
UNARY: dict[str, Any] = ACTS | {
    "neg": lambda x: -x,
    "abs": abs,
    "exp": exp,
    "expm1": lambda x: math.inf if x > 709.78 else math.expm1(x),
    "log": log,
    "log1p": log1p,
    "sqrt": sqrt,
    "rsqrt": lambda x: divided(1.0, sqrt(x)),
    "reciprocal": lambda x: divided(1.0, x),
    "softplus": lambda x: x if x > 40 else math.log1p(exp(x)),
    "sign": lambda x: keep_nan(float((x > 0) - (x < 0)), x),
}
BINARY: dict[str, Any] = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "div": divided,
    "maximum": lambda x, y: keep_nan(max(x, y), x, y),
    "minimum": lambda x, y: keep_nan(min(x, y), x, y),
}


def product(a: Rows, b: Rows, columns: int) -> Rows:
    """Return a·b."""
    turned = [[row[j] for row in b] for j in range(columns)]
    return [[total(x * y for x, y in zip(row, column, strict=True)) for column in turned] for row in a]


def shaped(rows: Rows, shape: tuple[int, ...]) -> Array:
    return np.array(rows, dtype=np.float64).reshape(shape)


def matmul(a: Any, b: Any) -> Array:
    return shaped(product(rows_of(a), rows_of(b), b.shape[1]), (a.shape[0], b.shape[1]))


def batched_matmul(a: Any, b: Any) -> Array:
    return np.array([matmul(x, y) for x, y in zip(a, b, strict=True)]).reshape(a.shape[0], a.shape[1], b.shape[2])


def gemm(a: Any, b: Any, c: Any, alpha: float = 1.0, beta: float = 0.0) -> Array:
    out = product(rows_of(a), rows_of(b), b.shape[1])
    added = rows_of(c)
    return shaped([[alpha * v + (beta * added[i][j] if beta != 0 else 0.0) for j, v in enumerate(row)] for i, row in enumerate(out)], c.shape)


def softmax_row(row: list[float]) -> list[float]:
    if not row:
        return []
    if any(math.isnan(v) for v in row) or math.inf in row or max(row) == -math.inf:
        return [math.nan] * len(row)
    weights = [math.exp(v - max(row)) for v in row]
    return [w / math.fsum(weights) for w in weights]


def rmsnorm_row(row: list[float], eps: float) -> list[float]:
    root = sqrt(total(v * v for v in row) / len(row) + eps) if row else 1.0
    return [divided(v, root) for v in row]


def layernorm_row(row: list[float], eps: float) -> list[float]:
    mean = total(row) / len(row) if row else 0.0
    return rmsnorm_row([v - mean for v in row], eps)


def softmax(x: Any) -> Array:
    return shaped([softmax_row(row) for row in rows_of(x)], x.shape)


def rmsnorm(x: Any, weight: Any = None, eps: float = 1e-6) -> Array:
    scale = [1.0] * x.shape[1] if weight is None else rows_of(weight)
    return shaped([[v * s for v, s in zip(rmsnorm_row(row, eps), scale, strict=True)] for row in rows_of(x)], x.shape)


def layernorm(x: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Array:
    scale = [1.0] * x.shape[1] if weight is None else rows_of(weight)
    shift = [0.0] * x.shape[1] if bias is None else rows_of(bias)
    return shaped([[v * s + t for v, s, t in zip(layernorm_row(row, eps), scale, shift, strict=True)] for row in rows_of(x)], x.shape)


def fused_matmul(
    a: Any, b: Any, bias: Any = None, residual: Any = None, prologue: Any = (), epilogue: Any = (), reduction: str = "none", eps: float = 1e-6
) -> Array:
    left = rows_of(a)
    for word in prologue:
        left = [[ACTS[word](v) for v in row] for row in left]
    out = product(left, rows_of(b), b.shape[1])
    shift = [] if bias is None else rows_of(bias)
    for word in epilogue:
        out = [[v + shift[j] if word == "bias" else ACTS[word](v) for j, v in enumerate(row)] for row in out]
    if residual is not None:
        out = [[v + r for v, r in zip(row, more, strict=True)] for row, more in zip(out, rows_of(residual), strict=True)]
    reductions: dict[str, Any] = {"softmax": softmax_row, "rmsnorm": lambda row: rmsnorm_row(row, eps), "layernorm": lambda row: layernorm_row(row, eps)}
    reduce = reductions.get(reduction, list)
    return shaped([reduce(row) for row in out], (a.shape[0], b.shape[1]))


def gated_matmul(a: Any, wg: Any, wu: Any, gate: str = "silu") -> Array:
    gates, values = (product(rows_of(a), rows_of(w), w.shape[1]) for w in (wg, wu))
    return shaped([[ACTS[gate](g) * v for g, v in zip(x, y, strict=True)] for x, y in zip(gates, values, strict=True)], (a.shape[0], wg.shape[1]))


def scaled_matmul(a: Any, b: Any, scale_a: Any, scale_b: Any, out: str | None = None) -> Array:
    rows, columns = rows_of(scale_a), rows_of(scale_b)
    found = product(rows_of(a), rows_of(b), b.shape[1])
    value = shaped([[v * rows[i] * columns[j] for j, v in enumerate(row)] for i, row in enumerate(found)], (a.shape[0], b.shape[1]))
    whole = out == "i32" or (out is None and a.dtype.name.startswith("int"))
    return np.minimum(np.maximum(value, -(2.0**31)), 2.0**31 - 1) if whole else value


def pointwise(x: Any, y: Any = None, fn: Any = ()) -> Array:
    others = rows_of(x if y is None else y)

    def chain(v: float, other: float) -> float:
        for word in fn:
            v = UNARY[word](v) if word in UNARY else BINARY[word](v, other)
        return v

    return shaped([[chain(v, w) for v, w in zip(row, more, strict=True)] for row, more in zip(rows_of(x), others, strict=True)], x.shape)


def attend(query: list[float], keys: Rows, values: Rows, added: list[float], factor: float, softcap: float | None, width: int) -> list[float]:
    """Return one query's result over the keys that it sees; ``added`` is the mask's part of each."""
    scores = []
    for key, more in zip(keys, added, strict=True):
        score = total(x * y for x, y in zip(query, key, strict=True)) * factor
        if softcap is not None:
            score = softcap * math.tanh(score / softcap)
        scores.append(score + more)
    seen = [j for j, s in enumerate(scores) if s != -math.inf]
    if not seen:
        return [0.0] * width
    weights = softmax_row([scores[j] for j in seen])
    return [total(w * values[j][c] for w, j in zip(weights, seen, strict=True)) for c in range(width)]


def attention(
    q: Any, k: Any, v: Any, mask: Any = None, causal: bool = False, scale: float | None = None, softcap: float | None = None, window: int | None = None
) -> Array:
    B, Hq, Sq, d = q.shape
    Hkv, Skv, Dv = v.shape[1:]
    out = np.zeros((B, Hq, Sq, Dv))
    added = [[0.0] * Skv for _ in range(Sq)] if mask is None else rows_of(mask)
    for batch in range(B):
        for head in range(Hq):
            queries, keys, values = rows_of(q[batch, head]), rows_of(k[batch, head * Hkv // Hq]), rows_of(v[batch, head * Hkv // Hq])
            for i in range(Sq):
                place = Skv - Sq + i
                seen = [j for j in range(Skv) if (j <= place or not causal) and (window is None or place - j < window)]
                mine = [[part[j] for j in seen] for part in (keys, values)]
                factor = 1 / math.sqrt(d) if scale is None else scale
                out[batch, head, i] = attend(queries[i], *mine, [added[i][j] for j in seen], factor, softcap, Dv)
    return out


def paged_attention(q: Any, pages_k: Any, pages_v: Any, table: Any, lengths: Any, scale: float | None = None, softcap: float | None = None) -> Array:
    B, Hq, d = q.shape
    page, Hkv = pages_k.shape[1:3]
    out = np.zeros((B, Hq, d))
    for b in range(B):
        for head in range(Hq):
            places = [(int(table[b, j // page]), j % page, head * Hkv // Hq) for j in range(int(lengths[b]))]
            keys, values = ([rows_of(pages[place]) for place in places] for pages in (pages_k, pages_v))
            factor = 1 / math.sqrt(d) if scale is None else scale
            out[b, head] = attend(rows_of(q[b, head]), keys, values, [0.0] * len(places), factor, softcap, d)
    return out


def fft(x: Any, inverse: bool = False) -> Array:
    """The definition, n² products in long double; j·k mod n, an exact integer, keeps the angle in one turn."""
    n = x.shape[1]
    place = np.arange(n)
    turn = np.longdouble(8) * np.arctan(np.longdouble(1))
    angle = (1 if inverse else -1) * turn * place / n
    roots = (np.cos(angle) + 1j * np.sin(angle)).astype(np.clongdouble)
    out = np.empty(x.shape, np.clongdouble)
    for k in range(n):
        out[:, k] = (x.astype(np.clongdouble) * roots[place * k % n]).sum(axis=1) / (n if inverse else 1)
    return out.astype(np.complex128)


def rfft(x: Any) -> Array:
    return fft(x)[:, : x.shape[1] // 2 + 1]


def irfft(x: Any, n: int | None = None) -> Array:
    count = 2 * (x.shape[1] - 1) if n is None else n
    whole = np.zeros((x.shape[0], count), dtype=np.complex128)
    for k in range(x.shape[1]):
        whole[:, k] = x[:, k]
        if k:
            whole[:, count - k] = np.conj(x[:, k])
        if k == 0 or 2 * k == count:
            whole[:, k] = x[:, k].real
    return fft(whole, inverse=True).real
