"""Rules with every kind of declaration and field, loaded once for the tests of this folder."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from tessera_rules.model.load import Loaded, load

TEXT = """tessera 1
op matmul {
  "a·b."
  operand a: [M, K]
  operand b: [K, N] one of [f16, i8]
  operand bias?: [N] f32
  inout c: [M, N]
  result c
  result lse: [M] f32
  dim K in 1..4096
  attr act: one of [none, relu] = none
  attr chain: list of [bias, relu] = []
  attr sizes: list of int = []
  attr scale: float?
  dtype a in [f32, f16]
  check M <= 65536 because "one launch"
  reference python "no.such:matmul"
}
op sum {
  operand x: [n, 2 * n]
  result [n] one of [f32, f64]
  dtype x in [f16, f32]
  reference python "no.such:sum"
}
target box {
  "A box."
  fact arch: one of ["v1", "v2"]
  fact driver: version
  facts python "no.such:facts"
}
predicate tile = M % 16 == 0
for (s, step) in [(f16, 16), (f32, 8)] {
  candidate tiled_{s} {
    "Tiles."
    tier hand_tuned
    target box
    op matmul
    tags [fast, mma]
    available { device.arch == "v2" because "the unit"; library("libx.so") }
    requires { dtype == s; K % step == 0; tile; chain like [bias?, (relu)*] }
    computes s
    honours [act]
    guard { amax(a) <= 5.0 because "overflow" } else plain
    avoid { M < 64 }
    accuracy { atol 1e-3  rtol max(1e-2, 1e-4 * K) }
    cost 2.0 * M * N * K / 1e12
    workspace 4 * M
    packs b python "no.such:pack"
    deterministic
    bind python "no.such:tiled" with (step = step)
  }
}
candidate plain {
  tier emitted
  target box
  op matmul
  uses sum(n = M, dtype = f32)
  bind source "k.cu" compiler "nvrtc" flags ["-O3"] symbol "k" (ptr a, ptr b, ptr? bias, ptr c, i64 M, i64 N, i64 K, i64 lda = stride(a, 0), f32 alpha = 1.0)
       returns i32 { ok 0  decline 2 } launch { grid [ceil_div(N, 128), M]  block [128]  shared 48Ki }
}
candidate lib {
  tier synthesized
  target box
  op matmul
  bind native "libx.so" symbol "mm" (ptr a, ptr b, ptr c, ptr lse, i64 M, i64 N, i64 K) returns i32 { ok 0 }
}
rule r1 {
  "Why."
  op matmul  target box
  when device.driver < version("2.0") and K % 64 != 0
  deny "tiled_*"
  avoid plain
  because "errata"
}
rule r2 { op matmul  when M == 1  prefer plain over tier hand_tuned }
rule r3 { op matmul  when M == 2  force lib }
policy {
  order rules, tier
  on_none error
  verify never
  require [deterministic]
  workspace 1Mi
}
test "loop" {
  for k in 16..64 step 16
  request matmul on box { dtype f16  M 16  N 16  K k  given [bias]  layout a { align 8  strides [64, 1] } }
  device { arch "v2"  driver "1.5" }
  assume available tiled_f16, plain
  assume unavailable lib
  expect not lib
  expect tiled_f16 denied by "r1"
}
"""


def load_text(text: str) -> Loaded:
    """Load one file's text."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "r.tsr"
        path.write_text(text, encoding="utf-8")
        return load([path])


@cache
def everything() -> Loaded:
    """The load of `TEXT`."""
    return load_text(TEXT)
