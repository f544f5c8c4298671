"""The main job on real input: two ops, each decided, run and forced onto each lane, with the reasons. `make demo` runs this."""

from __future__ import annotations

import sys

import numpy as np

import tessera_rules as tsr

LANES = {"C": "x86_generic_{op}_f32", "BLAS": "x86_numpy_{op}"}


def show(arbiter: tsr.Arbiter, op: str, *operands: np.ndarray, **attrs: object) -> bool:
    """Run one op as the rules decide, then forced onto each lane; say who ran, why, why not the others, error against budget."""
    fine = True
    for lane, force in ((None, None), *((lane, name.format(op=op)) for lane, name in LANES.items())):
        _, execution = arbiter.run_traced(op, *operands, target="x86", force=force, **attrs)
        print(f"\n=== {op}, {'as the rules decide' if lane is None else f'forced onto the {lane} lane'}: {execution.tag} ran")
        error, budget = execution.max_error, execution.budget
        told = f", error {error:.3g} where {budget:.3g} is allowed" if error is not None and budget is not None else ""
        print(f"    proof: {execution.proof}{told}")
        print(execution.decision.explain() if lane is None else f"    by {execution.decision.criterion}")
        fine &= execution.tag != "reference" and execution.proof == "verified"
    return fine


def main() -> int:
    """Return 0 where every run was served by a real lane and proved right."""
    rng = np.random.default_rng(0)
    arbiter = tsr.load()
    a, b, bias = (rng.standard_normal(shape, dtype=np.float32) for shape in ((197, 768), (768, 3072), (3072,)))
    q = rng.standard_normal((1, 8, 128, 64), dtype=np.float32)
    k, v = (rng.standard_normal((1, 2, 160, 64), dtype=np.float32) for _ in range(2))
    fine = show(arbiter, "fused_matmul", a, b, bias, epilogue=["bias", "gelu"])
    fine &= show(arbiter, "attention", q, k, v, causal=True)
    print("\nevery run was served by a real lane and proved right" if fine else "\nSOMETHING WAS NOT SERVED")
    return int(not fine)


if __name__ == "__main__":
    sys.exit(main())
