"""Writes rules of a wished size: candidates over several ops, of the kinds that people write. The same for the same seed.

python -m benchmarks.generate 1000 rules.tsr
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from pathlib import Path

OPS = """op product {
  "a·b with an epilogue."
  operand a: [M, K]
  operand b: [K, N]
  operand bias?: [N]
  result [M, N]
  attr epilogue: list of [bias, relu, gelu, silu] = []
  attr alpha: float = 1.0
  dtype a in [f32, f16, bf16]
  reference python "no.such:product"
}
op attention {
  operand q: [B, Hq, Sq, head_dim]
  operand k: [B, Hkv, Skv, head_dim]
  operand v: [B, Hkv, Skv, Dv]
  operand mask?: [Sq, Skv]
  dim Hkv in 1..
  result [B, Hq, Sq, Dv]
  attr causal: bool = false
  attr scale: float?
  dtype q in [f32, f16, bf16]
  check Hq % Hkv == 0 because "query heads come in whole groups"
  reference python "no.such:attention"
}
op norm {
  operand x: [rows, cols]
  operand weight?: [cols]
  dim cols in 1..
  result [rows, cols]
  attr eps: float = 1e-5
  dtype x in [f32, f16, bf16]
  reference python "no.such:norm"
}
op transform {
  operand x: [batch, n] one of [c64, c128]
  result [batch, n] one of [c64, c128]
  attr inverse: bool = false
  dtype x
  reference python "no.such:transform"
}
"""
TARGETS = """target amd {
  fact arch: one of ["gfx90a", "gfx942", "gfx1100", "gfx1151", "gfx1200"]
  fact compute_units: int
  fact driver: version
}
target nv {
  fact arch: one of ["sm_80", "sm_86", "sm_90", "sm_100"]
  fact driver: version
}
target cpu { fact cores: int }
predicate tile(rows, cols, step) = rows % step == 0 and cols % step == 0
"""
DIMS = {"product": ("M", "N", "K"), "attention": ("Sq", "Skv", "head_dim"), "norm": ("rows", "cols", "cols"), "transform": ("batch", "n", "n")}
HONOURS = {"product": "[epilogue, alpha, bias]", "attention": "[causal, scale, mask]", "norm": "[eps, weight]", "transform": "[inverse]"}
ARCHS = {"amd": ("gfx90a", "gfx942", "gfx1100", "gfx1151", "gfx1200"), "nv": ("sm_80", "sm_86", "sm_90", "sm_100")}
TIERS = ("synthesized", "emitted", "hand_tuned")


def rules(count: int, seed: int = 7) -> str:
    """Return one file with ``count`` candidates, a rule for each fifty and a test for each hundred."""
    chance = random.Random(seed)
    parts = ["tessera 1\n", OPS, TARGETS]
    for number in range(count):
        parts.extend(_candidate(number, chance))
        if number % 50 == 49:
            parts.append(f'rule errata_{number} {{\n  op product  target amd\n  when M > {number}\n  deny "amd_product_*"\n  because "issue {number}"\n}}\n')
        if number % 100 == 99:
            request = f"request product on cpu {{ dtype f32  M {number}  N 64  K 64 }}"
            parts.append(f'test "size {number}" {{\n  {request}\n  assume available all\n  expect not undecided\n}}\n')
    parts.insert(3, 'candidate amd_product_base {\n  tier synthesized\n  target amd\n  op product\n  bind python "no.such:base"\n}\n')
    return "".join(parts)


def _candidate(number: int, chance: random.Random) -> Iterator[str]:
    op = chance.choice(list(DIMS))
    target = chance.choice(("amd", "nv", "cpu"))
    tier = chance.choice(TIERS)
    one, two, three = DIMS[op]
    step = chance.choice((8, 16, 32, 64))
    name = f"{target}_{op}_{number}"
    yield f'candidate {name} {{\n  "{op} by {step}, variant {number}."\n  tier {tier}\n  target {target}\n  op {op}\n  tags [step{step}, generated]\n'
    if target == "cpu":
        yield f'  available {{ cpu("avx2") because "vector unit"; device.cores >= {chance.randint(1, 8)} }}\n'
    else:
        archs = ", ".join(f'"{arch}"' for arch in sorted(chance.sample(ARCHS[target], 2)))
        yield f'  available {{\n    device.arch in [{archs}]\n    library("lib{target}.so") because "runtime"\n    env("NO_{target.upper()}") != "1"\n  }}\n'
    yield "  requires {\n"
    yield f"    dtype in [{'c64' if op == 'transform' else 'f16, bf16'}]\n    {three} % {step} == 0 and {three} <= {chance.randint(4, 64) * step}"
    yield f' because "one tile of {step}"\n    {two} >= {chance.randint(1, 512)}\n    tile({one}, {two}, {step // 4})\n  }}\n'
    yield f"  honours {HONOURS[op]}\n"
    if chance.random() < 0.3:
        yield f'  avoid {{ {one} < {step} because "launch cost" }}\n'
    if chance.random() < 0.6:
        yield f"  accuracy {{ atol {chance.randint(1, 9)}e-3  rtol 1e-2 }}\n"
    if chance.random() < 0.5:
        yield f"  cost 2.0 * {one} * {two} * {three} / {chance.randint(1, 90)}e11\n"
    yield f'  bind python "no.such:{name}"\n}}\n'


def main(words: list[str]) -> None:
    """Write a file."""
    Path(words[1]).write_text(rules(int(words[0])), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
