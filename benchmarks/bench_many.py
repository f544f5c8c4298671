"""Requests a second that arrays decide, on the rules that ship: winners, and winners with every reason.

    python -m benchmarks.bench_many [--json PATH] [--count N]

Processor time of one thread, so that what else runs on the machine counts less. The structure is decided inside what is timed
for winners. A row is the best and the median of repeats, in millions of requests a second. The bars: 15 and 4.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tessera_rules.session import Arbiter, load

ASKED = (
    ("matmul", "x86", "f32"),
    ("matmul", "rocm", "f16"),
    ("matmul", "nvidia", "f16"),
    ("fused_matmul", "nvidia", "f16"),
    ("attention", "x86", "f32"),
    ("attention", "rocm", "f16"),
    ("attention", "nvidia", "f16"),
    ("softmax", "x86", "f32"),
)
WINNERS_BAR, REASONS_BAR = 15.0, 4.0


def sizes(arbiter: Arbiter, op: str, count: int) -> dict[str, Any]:
    """Return sizes that people use: batches and heads small, the rest to 4,096, half of it multiples of 16."""
    draw = np.random.default_rng(20261201)
    found: dict[str, Any] = {}
    for dim in arbiter.ruleset.ops[op].dims.values():
        high = min(8 if dim.name in ("B", "Hq", "Hkv") else 4096, dim.high or 4096)
        column = draw.integers(max(dim.low, 1), high + 1, count)
        found[dim.name] = np.where(draw.random(count) < 0.5, np.maximum(column // 16 * 16, 16), column) if high >= 64 else column
    if "Hq" in found:
        found["Hq"] = found["Hkv"] * 4
    return found


def rate(work: Callable[[], object], count: int, repeats: int) -> dict[str, float]:
    """Return millions a second: the best and the median of repeats."""
    seconds = []
    for _ in range(repeats):
        start = time.process_time()
        work()
        seconds.append(time.process_time() - start)
    return {"best": count / min(seconds) / 1e6, "median": count / statistics.median(seconds) / 1e6}


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--count", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    arbiter = load()
    rows = []
    print(f"{'':28} candidates   winners M/s (bar {WINNERS_BAR:.0f})   reasons M/s (bar {REASONS_BAR:.0f})")
    for op, target, dtype in ASKED:
        dims = sizes(arbiter, op, options.count)
        assume = () if target == "x86" else None

        def winners(op: str = op, target: str = target, dtype: str = dtype, dims: dict[str, Any] = dims, assume: Any = assume) -> Any:
            return arbiter.decide_many(op, target, dims=dims, dtype=dtype, assume=assume)

        many = winners()

        def reasons(many: Any = many) -> Any:
            return many._question.reasons(list(many.reason_table))

        quick = rate(winners, options.count, options.repeats)
        both = rate(reasons, options.count, options.repeats)
        row = {"op": op, "target": target, "dtype": dtype, "candidates": len(many.names), "winners": quick, "reasons": both}
        rows.append(row)
        said = f"{quick['best']:6.1f} ({quick['median']:.1f})"
        print(f"{op + ' ' + target + ' ' + dtype:28} {len(many.names):10} {said:>22} {both['best']:14.1f} ({both['median']:.1f})")
    if options.json:
        options.json.write_text(json.dumps({"count": options.count, "rows": rows}, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
