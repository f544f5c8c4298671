"""The functions that generated headers share. ``st`` is where an expression says what became of it; the first that happens counts."""

PRELUDE = r"""
#ifndef TSR_RULES_PRELUDE
#define TSR_RULES_PRELUDE 1

/* What an expression can come to besides a value. */
#define TSR_ST_ERROR 1 /* it has no answer: a divisor that is not positive, a missing fact */
#define TSR_ST_WIDE 2  /* it does not fit in 64 bits, or would be rounded: the library knows, this header does not */

#if defined(__GNUC__)
#define TESSERA_HOT static inline __attribute__((always_inline))
#else
#define TESSERA_HOT static inline
#endif

static inline int64_t tsr_st(int *st, int what) {
    if (*st == 0) *st = what;
    return 0;
}
#define TSR_FAIL(st) tsr_st((st), TSR_ST_ERROR)
#define TSR_WIDE(st) tsr_st((st), TSR_ST_WIDE)

static inline int64_t tsr_add(int64_t a, int64_t b, int *st) {
#if defined(__GNUC__) && !defined(TSR_PORTABLE)
    int64_t r;
    return __builtin_add_overflow(a, b, &r) ? TSR_WIDE(st) : r;
#else
    if (b > 0 ? a > INT64_MAX - b : a < INT64_MIN - b) return TSR_WIDE(st);
    return a + b;
#endif
}

static inline int64_t tsr_sub(int64_t a, int64_t b, int *st) {
#if defined(__GNUC__) && !defined(TSR_PORTABLE)
    int64_t r;
    return __builtin_sub_overflow(a, b, &r) ? TSR_WIDE(st) : r;
#else
    if (b < 0 ? a > INT64_MAX + b : a < INT64_MIN + b) return TSR_WIDE(st);
    return a - b;
#endif
}

static inline int64_t tsr_mul(int64_t a, int64_t b, int *st) {
#if defined(__GNUC__) && !defined(TSR_PORTABLE)
    int64_t r;
    return __builtin_mul_overflow(a, b, &r) ? TSR_WIDE(st) : r;
#else
    if (a == 0 || b == 0) return 0;
    if (a > 0 ? (b > 0 ? a > INT64_MAX / b : b < INT64_MIN / a) : (b > 0 ? a < INT64_MIN / b : b < INT64_MAX / a)) return TSR_WIDE(st);
    return a * b;
#endif
}

static inline int64_t tsr_neg(int64_t a, int *st) { return a == INT64_MIN ? TSR_WIDE(st) : -a; }
static inline int64_t tsr_abs(int64_t a, int *st) { return a < 0 ? tsr_neg(a, st) : a; }
static inline int64_t tsr_min(int64_t a, int64_t b) { return b < a ? b : a; }
static inline int64_t tsr_max(int64_t a, int64_t b) { return b > a ? b : a; }
static inline double tsr_fmin(double a, double b) { return b < a ? b : a; }
static inline double tsr_fmax(double a, double b) { return b > a ? b : a; }

/* Division floors, and a divisor is positive. */
static inline int64_t tsr_floordiv(int64_t a, int64_t b, int *st) {
    int64_t q;
    if (b <= 0) return TSR_FAIL(st);
    q = a / b;
    return a % b < 0 ? q - 1 : q;
}

static inline int64_t tsr_mod(int64_t a, int64_t b, int *st) {
    int64_t r;
    if (b <= 0) return TSR_FAIL(st);
    r = a % b;
    return r < 0 ? r + b : r;
}

static inline int64_t tsr_ceil_div(int64_t a, int64_t b, int *st) {
    int64_t q;
    if (b <= 0) return TSR_FAIL(st);
    q = a / b;
    return a % b > 0 ? q + 1 : q;
}

static inline int64_t tsr_align_up(int64_t a, int64_t b, int *st) {
    if (b <= 0) return TSR_FAIL(st);
    return tsr_mul(tsr_ceil_div(a, b, st), b, st);
}

static inline int64_t tsr_gcd(int64_t a, int64_t b, int *st) {
    uint64_t x = a < 0 ? 0 - (uint64_t)a : (uint64_t)a, y = b < 0 ? 0 - (uint64_t)b : (uint64_t)b;
    while (y != 0) {
        uint64_t r = x % y;
        x = y;
        y = r;
    }
    return x > (uint64_t)INT64_MAX ? TSR_WIDE(st) : (int64_t)x;
}

static inline int64_t tsr_log2(int64_t a, int *st) {
    int64_t k = 0;
    if (a <= 0) return TSR_FAIL(st);
    while ((a >>= 1) != 0) k++;
    return k;
}

static inline int tsr_is_pow2(int64_t a) { return a > 0 && (a & (a - 1)) == 0; }

static inline int tsr_in_range(int64_t x, int64_t low, int64_t high, int64_t step, int *st) {
    if (step <= 0) return (int)TSR_FAIL(st);
    return low <= x && x <= high && ((uint64_t)x - (uint64_t)low) % (uint64_t)step == 0;
}

/* Doubles: a result that is not finite is an error, an integer that a double would round is compared by the library. */
static inline double tsr_finite(double a, int *st) { return a - a == 0.0 ? a : (double)TSR_FAIL(st); }

static inline double tsr_exact(int64_t a, int *st) {
    const int64_t limit = INT64_C(9007199254740992);
    return a > limit || a < -limit ? (double)TSR_WIDE(st) : (double)a;
}

static inline double tsr_div(double a, double b, int *st) { return b == 0.0 ? (double)TSR_FAIL(st) : tsr_finite(a / b, st); }

/* Who of `left` stays where some are preferred over others: before[i] has who is preferred over i. */
static inline uint64_t tsr_keep(uint64_t left, uint64_t *before, int count) {
    uint64_t kept = left;
    int via, i, j;
    for (via = 0; via < count; via++)
        for (i = 0; i < count; i++)
            if (before[i] >> via & 1) before[i] |= before[via];
    for (i = 0; i < count; i++)
        for (j = 0; j < count; j++)
            if ((before[i] >> j & 1) && !(before[j] >> i & 1)) kept &= ~(UINT64_C(1) << i);
    return kept;
}

#endif
"""

SQUARE_ROOT = r"""
#ifndef TSR_RULES_SQRT
#define TSR_RULES_SQRT 1
#include <math.h>
static inline double tsr_sqrt(double a, int *st) { return a < 0.0 ? (double)TSR_FAIL(st) : tsr_finite(sqrt(a), st); }
#endif
"""
