"""Small rules that the tests of this room build on."""

from __future__ import annotations

from tessera_rules.model.load import Loaded, load

OPS = """
op matmul {
  operand a: [M, K]
  operand b: [K, N]
  operand bias?: [N]
  result [M, N]
  attr act: one of [none, relu, gelu, silu] = none
  attr epilogue: list of [bias, relu, gelu] = []
  attr alpha: float = 1.0
  attr window: int?
  attr fast: bool = false
  attr out_dtype: dtype = f32
  dtype a in [f64, f32, f16, bf16]
  reference python "no.such.module:matmul"
}
op fft {
  operand x: [B, n] one of [c64, c128]
  result [B, n]
  dtype x
  reference python "no.such.module:fft"
}
target gpu {
  fact arch: one of ["g1", "g2"]
  fact sm: int
  fact memory: int
  fact driver: version
}
target cpu { fact cores: int }
"""


def built(text: str, ops: str = OPS) -> Loaded:
    """Return the load of some declarations with the ops above."""
    return load([], texts={"ops.tsr": ops, "t.tsr": text})


def codes(text: str, ops: str = OPS) -> list[tuple[str, int]]:
    """Return code and line of every finding in the text."""
    return [(finding.code, finding.span.line) for finding in built(text, ops).findings if finding.span.source.name == "t.tsr"]


def candidate(
    requires: str = "", *, name: str = "c", extra: str = "", op: str = "matmul", target: str = "gpu", bind: str = 'bind python "no.such.module:c"'
) -> str:
    """Return a candidate whose `requires` block starts on line 5 of the text."""
    return f"candidate {name} {{\n  tier emitted; target {target}\n  op {op}\n  requires {{\n{requires}\n  }}\n  {extra}\n  {bind}\n}}\n"
