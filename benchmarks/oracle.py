"""Wrong kernels against the oracle, and against what people use in its place. ``python -m benchmarks.oracle``; minutes.

Each kernel of tests/oracle/products.txt is compiled and proved. The other columns say which of them a single comparison of one
normal 64 x 64 x 64 product would have let pass: np.allclose with its defaults, rtol = atol = 0.1, rtol = atol = 1e-2, and the rule
of FlashAttention's tests (an error of at most twice that of plain arithmetic in the lower precision, here bf16).
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from tessera_rules.arbiter.request import bind_words
from tessera_rules.bind.child import Trier
from tessera_rules.oracle.prove import prove
from tests.oracle import bad_c
from tests.oracle.subjects import c_candidate, normal, session, subject

Array = np.ndarray[Any, Any]


def rules_of_thumb(result: Array, reference: Array, lower: Array) -> dict[str, bool]:
    """Return what each rule of thumb says of a result."""
    with np.errstate(all="ignore"):
        flash = bool(np.max(np.abs(result - reference)) <= 2 * np.max(np.abs(lower - reference)) + 1e-5)
    return {
        "np.allclose": bool(np.allclose(result, reference)),
        "0.1": bool(np.allclose(result, reference, rtol=0.1, atol=0.1)),
        "1e-2": bool(np.allclose(result, reference, rtol=1e-2, atol=1e-2)),
        "flash": flash,
    }


def examine(folder: Path, name: str, body: str) -> tuple[str, float, dict[str, bool]]:
    """Return the oracle's outcome, its seconds, and what the rules of thumb say."""
    promised = "\n deterministic" if "second call" in name or "noise" in name else ""
    arbiter = session(c_candidate(bad_c.write(folder, name, body), "requires { dtype == f32 }" + promised))
    request = bind_words(arbiter.ruleset, "product", "cpu", {"dtype": "f32", "M": 64, "N": 64, "K": 64}, arbiter.machine)
    it = subject(arbiter)
    start = time.perf_counter()
    proof = prove(it, request)
    seconds = time.perf_counter() - start
    operands = normal(request)
    reference = operands["a"].astype(np.float64) @ operands["b"].astype(np.float64)
    import ml_dtypes

    lower = (operands["a"].astype(ml_dtypes.bfloat16).astype(np.float32) @ operands["b"].astype(ml_dtypes.bfloat16).astype(np.float32)).astype(np.float64)
    with Trier() as trier:
        trial = trier.run(it.bound, operands, request)
    passes = rules_of_thumb(trial.outputs[0], reference, lower) if trial.outcome == "ran" and trial.outputs else {}
    return proof.outcome, seconds, passes


def main() -> None:
    """Print a line for each kernel and the sums."""
    columns = ("np.allclose", "0.1", "1e-2", "flash")
    with tempfile.TemporaryDirectory(prefix="tessera-oracle-") as work:
        for title, bodies in (("wrong", bad_c.BODIES), ("right", bad_c.RIGHT_BODIES)):
            rows = {name: examine(Path(work), name, body) for name, body in bodies.items()}
            print(f"{title:<48}{'oracle':<12}{'s':>5}  " + "  ".join(f"{column:<11}" for column in columns))
            for name, (outcome, seconds, passes) in rows.items():
                print(f"{name:<48}{outcome:<12}{seconds:5.2f}  " + "  ".join(f"{'passes' if passes.get(column) else '-':<11}" for column in columns))
            verified = sum(outcome == "verified" for outcome, _, _ in rows.values())
            sums = "  ".join(f"{sum(bool(passes.get(column)) for _, _, passes in rows.values()):<11}" for column in columns)
            print(f"{len(rows)} {title} kernels: {verified} verified by the oracle; passed by the others:{'':<13}{sums}\n")


if __name__ == "__main__":
    main()
