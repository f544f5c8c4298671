"""C kernels, right and wrong, that the tests of this folder declare candidates for."""

from __future__ import annotations

from pathlib import Path

from tessera_rules.session import Arbiter, open_arbiter

SOURCE = """
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#define ARGUMENTS const float *a, const float *b, float *out, int64_t M, int64_t N, int64_t K, int64_t s0, int64_t s1
static int product(ARGUMENTS) {
  for (int64_t i = 0; i < M; i++)
    for (int64_t j = 0; j < N; j++) {
      double sum = 0;
      for (int64_t k = 0; k < K; k++) sum += (double)a[i * s0 + k * s1] * b[k * N + j];
      out[i * N + j] = sum;
    }
  return 0;
}
#define RIGHT product(a, b, out, M, N, K, s0, s1)
#define ZEROS (memset(out, 0, M * N * 4), 0)
int sound(ARGUMENTS) { return RIGHT; }
int no_reversal(ARGUMENTS) { return s0 < 0 || s1 < 0 ? ZEROS : RIGHT; }
int no_broadcast(ARGUMENTS) { return s0 == 0 || s1 == 0 ? ZEROS : RIGHT; }
int segfault(ARGUMENTS) { *(volatile int *)8 = 1; return 0; }
int aborts(ARGUMENTS) { abort(); }
int hangs(ARGUMENTS) { for (;;) usleep(1000); }
int leaves(ARGUMENTS) { _exit(3); }
int declines(ARGUMENTS) { return 2; }
int odd_status(ARGUMENTS) { return 77; }
int past_the_end(ARGUMENTS) { RIGHT; out[M * N] = 1; return 0; }
int before_the_start(ARGUMENTS) { RIGHT; out[-1] = 1; return 0; }
int writes_an_operand(ARGUMENTS) { RIGHT; ((float *)a)[0] = 9; return 0; }
int leaves_some_out(ARGUMENTS) { return product(a, b, out, M, N - 1, K, s0, s1); }
"""
OPS = """
op product { operand a: [M, K]; operand b: [K, N]; result [M, N]; dtype a in [f32]; reference python "tessera_rules.ops.matmul:reference" }
target cpu { }
"""


def candidate(symbol: str, tier: str = "emitted") -> str:
    """Return the declaration of a candidate that binds a function of `SOURCE`."""
    strides = "i64 s0 = stride(a, 0), i64 s1 = stride(a, 1)"
    bind = f'bind source "k.c" compiler "cc" flags ["-O1"] symbol "{symbol}" (ptr a, ptr b, ptr out, i64 M, i64 N, i64 K, {strides})'
    return f"candidate {symbol} {{ tier {tier}; target cpu; op product\n  {bind} returns i32 {{ ok 0  decline 2 }}\n}}\n"


def arbiter(folder: Path, *declarations: str) -> Arbiter:
    """Return an arbiter over candidates of C kernels, written into a folder."""
    (folder / "k.c").write_text(SOURCE)
    (folder / "r.tsr").write_text("tessera 1\n" + OPS + "".join(declarations))
    return open_arbiter([folder / "r.tsr"])
