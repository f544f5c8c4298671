"""Small rules with real kernels, written into a test's folder."""

from __future__ import annotations

import textwrap
from pathlib import Path

from tessera_rules.bind.bound import Bound, bind
from tessera_rules.bind.operands import Operands, bind_operands
from tessera_rules.bind.outcome import Unbound
from tessera_rules.model.load import load
from tessera_rules.model.values import Ruleset

OP = """
op mm {
  operand a: [M, K]
  operand b: [K, N]
  operand bias?: [N]
  result [M, N]
  attr act: one of [none, relu, gelu] = none
  attr epilogue: list of [bias, relu, gelu] = []
  attr axes: list of int = []
  attr scales: list of float = []
  attr scale: float?
  attr window: int?
  attr causal: bool = false
  attr to: dtype = f16
  dtype a in [f32, f64, i32, i8]
}
target x86 { "the host" }
"""

MATMUL_C = """
#include <stdint.h>
int mm(const float *a, const float *b, const float *bias, float *out, int64_t M, int64_t N, int64_t K, int64_t lda, int64_t ldb) {
  for (int64_t i = 0; i < M; i++)
    for (int64_t j = 0; j < N; j++) {
      float sum = bias ? bias[j] : 0;
      for (int64_t k = 0; k < K; k++) sum += a[i * lda + k] * b[k * ldb + j];
      out[i * N + j] = sum;
    }
  return 0;
}
"""
MATMUL_ARGUMENTS = (
    "(ptr a, ptr b, ptr? bias, ptr out, i64 M, i64 N, i64 K, i64 lda = stride(a, 0), i64 ldb = stride(b, 0)) returns i32 { ok 0  decline 2  no_memory 3 }"
)


def candidate(name: str, bind_text: str, fields: str = "") -> str:
    """Return a candidate of `mm`."""
    return f"candidate {name} {{\n  tier synthesized; target x86; op mm\n  {fields}\n  {bind_text}\n}}\n"


def rules(folder: Path, text: str, *, op: str = OP, **files: str) -> Ruleset:
    """Return the ruleset of a text, with files beside it (``k_c`` is ``k.c``). Raises for a finding that is an error."""
    for name, content in files.items():
        stem, _, suffix = name.rpartition("_")
        (folder / f"{stem}.{suffix}").write_text(textwrap.dedent(content))
    (folder / "rules.tsr").write_text("tessera 1\n" + op + text)
    return load([folder / "rules.tsr"]).ruleset_or_raise()


def bound(ruleset: Ruleset, name: str) -> Bound:
    """Return a candidate that has to bind."""
    found = try_bind(ruleset, name)
    assert not isinstance(found, Unbound), found.reason
    return found


def try_bind(ruleset: Ruleset, name: str) -> Bound | Unbound:
    """Return a candidate bound, or why not."""
    each = ruleset.candidates[name]
    return bind(each, ruleset.ops[each.op])


def operands(ruleset: Ruleset, *arrays: object, op: str = "mm", **named: object) -> Operands:
    """Return operands bound to the op, on x86."""
    return bind_operands(ruleset.ops[op], arrays, named, {}, "x86")
