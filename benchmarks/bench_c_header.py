"""Nanoseconds for a decision by a generated C header, beside an if-chain written by hand that gives the same answers.

    python -m benchmarks.bench_c_header [--json PATH] [--compiler cc]

Eight candidates with the predicates that dispatch tables have. The chain is what a person would write who knows the rules: no
checks for overflow, no reasons. Answers are compared before anything is timed. The bars are 30 ns and 1.3 times the chain.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from tessera_rules.header import header
from tessera_rules.machine.stated import parse_machine
from tessera_rules.model.load import load as load_rules
from tessera_rules.session import load

CLAUSES = (
    ("M % 128 == 0 and N % 256 == 0 and K % 64 == 0 and M >= 512", "M % 128 == 0 && N % 256 == 0 && K % 64 == 0 && M >= 512"),
    ("M % 128 == 0 and N % 128 == 0 and K % 64 == 0", "M % 128 == 0 && N % 128 == 0 && K % 64 == 0"),
    ("M <= 4 and N >= 1024 and K % 8 == 0", "M <= 4 && N >= 1024 && K % 8 == 0"),
    ("M % 64 == 0 and N % 64 == 0 and K % 32 == 0 and K <= 8192", "M % 64 == 0 && N % 64 == 0 && K % 32 == 0 && K <= 8192"),
    ("M * N <= 65536 and K % 16 == 0", "M * N <= 65536 && K % 16 == 0"),
    ("N % 48 == 0 and K % 24 == 0", "N % 48 == 0 && K % 24 == 0"),
    ("M % 16 == 0 and N % 16 == 0 and K % 16 == 0", "M % 16 == 0 && N % 16 == 0 && K % 16 == 0"),
    ("M >= 1", "M >= 1"),
)
RULES = (
    """tessera 1
target t { fact cores: int }
op f {{
  operand a: [M, K]
  operand b: [K, N]
  result [M, N]
  dtype a in [f32]
  reference python "no_such_package:f"
}}
""".replace("{ fact cores: int }", "{\n  fact cores: int\n}")
    .replace("{{", "{")
    .replace("}}", "}")
)
CHAIN = """
static inline int chain_winner(int64_t M, int64_t K, int64_t N) {
    if (M < 0 || K < 0 || N < 0) return -3;
    if (M == 0 || N == 0) return -1;
%s
    return -1;
}
"""
PROGRAM = """
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#define COUNT 4096
static int64_t sizes[COUNT][3];
static double now(void) { return (double)clock() / CLOCKS_PER_SEC; }
int main(void) {
    static const int64_t usual[16] = {1, 2, 4, 16, 17, 48, 64, 96, 100, 128, 256, 512, 777, 1024, 4096, 8192};
    uint64_t state = 88172645463325252u;
    int i, k, repeat, wrong = 0;
    long sum = 0;
    for (i = 0; i < COUNT; i++) for (k = 0; k < 3; k++) {
        state ^= state << 13; state ^= state >> 7; state ^= state << 17;
        sizes[i][k] = usual[state % 16];
    }
    for (i = 0; i < COUNT; i++) wrong += NAME_winner(sizes[i][0], sizes[i][1], sizes[i][2]) != CHAIN_winner(sizes[i][0], sizes[i][1], sizes[i][2]);
    if (wrong) { printf("%d answers differ\\n", wrong); return 1; }
    for (repeat = 0; repeat < 31; repeat++) {
        double start = now(), middle, end;
        for (k = 0; k < 200; k++) for (i = 0; i < COUNT; i++) sum += NAME_winner(sizes[i][0], sizes[i][1], sizes[i][2]);
        middle = now();
        for (k = 0; k < 200; k++) for (i = 0; i < COUNT; i++) sum += CHAIN_winner(sizes[i][0], sizes[i][1], sizes[i][2]);
        end = now();
        printf("%.4f %.4f\\n", (middle - start) * 1e9 / (200.0 * COUNT), (end - middle) * 1e9 / (200.0 * COUNT));
    }
    return sum == 42;
}
"""
SHIPPED = (("matmul", "nvidia", "f16"), ("matmul", "x86", "f32"))


def timed(compiler: str, text: str, name: str, other: str, folder: Path) -> tuple[list[float], list[float]]:
    """Return nanoseconds of the repeats of two deciders. Raises where their answers differ."""
    source = folder / "bench.c"
    source.write_text(text + PROGRAM.replace("NAME", name).replace("CHAIN", other), encoding="ascii")
    subprocess.run([compiler, "-std=c99", "-O2", "-Wall", "-Wextra", "-o", str(folder / "bench"), str(source), "-lm"], check=True)
    done = subprocess.run([str(folder / "bench")], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stdout + done.stderr)
    pairs = [line.split() for line in done.stdout.splitlines()]
    return [float(one) for one, _ in pairs], [float(two) for _, two in pairs]


def main() -> int:
    """Print what was seen."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--compiler", default="cc")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    body = [f'candidate c{n} {{ tier emitted; target t; op f; requires {{ {ours} }}; bind python "p:c{n}" }}\n' for n, (ours, _) in enumerate(CLAUSES)]
    ruleset = load_rules((), texts={"bench.tsr": RULES + "".join(body)}).ruleset_or_raise()
    made = header(ruleset, parse_machine({"machine": 1, "targets": {"t": {"cores": 2}}}, "box"), "f", "t", {"dtype": "f32"}, name="ours").text
    chain = CHAIN % "\n".join(f"    if ({theirs}) return {n};" for n, (_, theirs) in enumerate(CLAUSES))
    found: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        ours, theirs = timed(options.compiler, made + chain, "ours", "chain", Path(folder))
        found["8 candidates"] = {"header_ns": min(ours), "header_median_ns": statistics.median(ours), "chain_ns": min(theirs), "ratio": min(ours) / min(theirs)}
        arbiter = load()
        for op, target, dtype in SHIPPED:
            assumed = frozenset[str]() if target == "x86" else None
            text = header(arbiter.ruleset, arbiter.machine, op, target, {"dtype": dtype}, assumed=assumed, name="ours").text
            ours, _ = timed(options.compiler, text, "ours", "ours", Path(folder))
            found[f"{op} {target} {dtype}, as shipped"] = {"header_ns": min(ours), "header_median_ns": statistics.median(ours)}
    for what, row in found.items():
        beside = f", chain {row['chain_ns']:.2f} ns, {row['ratio']:.2f} times (bar 1.3)" if "ratio" in row else ""
        print(f"{what}: {row['header_ns']:.2f} ns (median {row['header_median_ns']:.2f}; bar 30){beside}")
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
