"""Candidates for the tests of the oracle: one op of its own, bound to C that a test writes, or to Python."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from tessera_rules.arbiter.request import bind_words
from tessera_rules.bind.bound import Bound
from tessera_rules.model.request import Request
from tessera_rules.oracle.proof import Proof
from tessera_rules.oracle.prove import Subject, prove
from tessera_rules.session import Arbiter, open_arbiter

PRODUCT = """
op product {
  operand a: [M, K]
  operand b: [K, N]
  result [M, N]
  dtype a in [f64, f32, f16, bf16]
  reference python "tessera_rules.ops.matmul:reference"
}
target cpu { }
"""
C_ARGUMENTS = "ptr a, ptr b, ptr out, i64 M, i64 N, i64 K, i64 sa0 = stride(a, 0), i64 sa1 = stride(a, 1), i64 sb0 = stride(b, 0), i64 sb1 = stride(b, 1)"


def c_candidate(path: Path, more: str = "requires { dtype == f32 }") -> str:
    """Return the declaration of a candidate over a C source."""
    return (
        f'candidate it {{ tier emitted; target cpu; op product; {more}\n  bind source "{path}" compiler "cc" flags ["-O1", "-march=native", "-lm"] '
        f'symbol "product" ({C_ARGUMENTS}) returns i32 {{ ok 0 decline 2 }} }}\n'
    )


def python_candidate(name: str, op: str = "product", more: str = "") -> str:
    """Return the declaration of a candidate over a function of `tests.oracle.bad_python`."""
    return f'candidate it {{ tier emitted; target cpu; op {op}; {more}\n  bind python "tests.oracle.bad_python:{name}" }}\n'


def session(*texts: str, ops: str = PRODUCT) -> Arbiter:
    """Return an arbiter over one op and candidates."""
    return open_arbiter([], texts={"ops.tsr": ops, "t.tsr": "".join(texts)})


def subject(arbiter: Arbiter, name: str = "it") -> Subject:
    """Return a candidate bound on this machine."""
    candidate = arbiter.ruleset.candidates[name]
    machine: Any = arbiter.machine
    bound = machine.binder.bind(candidate, machine.devices(arbiter.ruleset.targets[candidate.target])[0])
    assert isinstance(bound, Bound), bound.reason
    return Subject(bound, arbiter.ruleset, machine)


def proved(declaration: str, op: str = "product", ops: str = PRODUCT, **words: Any) -> Proof:
    """Return what the oracle says of a candidate on a request of words, with no operands in hand."""
    arbiter = session(declaration, ops=ops)
    request = bind_words(arbiter.ruleset, op, "cpu", words or {"dtype": "f32", "M": 64, "N": 64, "K": 64}, arbiter.machine)
    return prove(subject(arbiter), request)


def normal(request: Request, seed: int = 0) -> dict[str, np.ndarray[Any, Any]]:
    """Return normal operands of the product."""
    rng = np.random.default_rng(seed)
    dims = request.dims
    return {
        "a": rng.standard_normal((dims["M"], dims["K"])).astype(np.float32),
        "b": rng.standard_normal((dims["K"], dims["N"])).astype(np.float32),
    }
