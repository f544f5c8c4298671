"""Wrong kernels in C, one mechanism each, as ``products.txt`` lists them: the right product with one fault put in."""

from __future__ import annotations

from pathlib import Path

HEAD = """
#include <stdint.h>
#include <string.h>
#include <stdlib.h>
#include <math.h>
#include <xmmintrin.h>
#include <pmmintrin.h>
#include <stdio.h>
#include <signal.h>
typedef int64_t i64;
static int calls;
static inline float cut(float x, int bits) {  /* round to fewer significant bits */
  uint32_t u; memcpy(&u, &x, 4); int drop = 24 - bits; u += (1u << (drop - 1)); u &= ~((1u << drop) - 1); memcpy(&x, &u, 4); return x;
}
static inline float chop(float x, int bits) {
  uint32_t u; memcpy(&u, &x, 4); u &= ~((1u << (24 - bits)) - 1); memcpy(&x, &u, 4); return x;
}
#define LOOP for (i64 i = 0; i < M; i++) for (i64 j = 0; j < N; j++)
#define SUM(K0, K1) double s = 0; for (i64 k = (K0); k < (K1); k++) s += (double)a[i*sa0 + k*sa1] * (double)b[k*sb0 + j*sb1];
int product(float *a, float *b, float *out, i64 M, i64 N, i64 K, i64 sa0, i64 sa1, i64 sb0, i64 sb1) {
  calls++;
"""
_WRONG, _RIGHT = Path(__file__).with_name("products.txt").read_text().split("---\n", 1)


def _bodies(text: str) -> dict[str, str]:
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return {name.strip(): body.strip() for name, _, body in (line.partition(" | ") for line in lines)}


BODIES, RIGHT_BODIES = _bodies(_WRONG), _bodies(_RIGHT)


def source(body: str) -> str:
    """Return one kernel as C text."""
    return HEAD + "  " + body + "\n}\n"


def write(folder: Path, name: str, body: str) -> Path:
    """Write a kernel to a folder."""
    path = folder / ("".join(c if c.isalnum() else "_" for c in name) + ".c")
    path.write_text(source(body))
    return path
