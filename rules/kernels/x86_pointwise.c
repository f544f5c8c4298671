/* pointwise: a chain of elementary functions, element by element. */
#define TSR_WIDE /* a chain may leave the range of f32 on its way: log of exp */
#include "tsr_math.h"

#define STRIP 512

/* The words of `fn` in ops.tsr, in their order; the acts come first, as in `enum act`. */
enum {
    FN_NEG = ACT_COUNT, FN_ABS, FN_EXP, FN_EXPM1, FN_LOG, FN_LOG1P, FN_SQRT, FN_RSQRT, FN_RECIPROCAL, FN_SOFTPLUS, FN_SIGN,
    FN_ADD, FN_SUB, FN_MUL, FN_DIV, FN_MAXIMUM, FN_MINIMUM, FN_COUNT
};

#define EACH(expression)                                                                                                         \
    for (int64_t j = 0; j < n; j++) {                                                                                            \
        double v = x[j];                                                                                                         \
        x[j] = (expression);                                                                                                     \
    }                                                                                                                            \
    break

static void apply_fn(int32_t fn, double *restrict x, const double *restrict y, int64_t n) {
    switch (fn) {
    case FN_NEG: EACH(-v);
    case FN_ABS: EACH(acc_abs(v));
    case FN_EXP: EACH(acc_exp(v));
    case FN_EXPM1: EACH(acc_expm1(v));
    case FN_LOG: EACH(log(v));
    case FN_LOG1P: EACH(log1p(v));
    case FN_SQRT: EACH(sqrt(v));
    case FN_RSQRT: EACH(1 / sqrt(v));
    case FN_RECIPROCAL: EACH(1 / v);
    case FN_SOFTPLUS: EACH((v > 0 ? v : 0) + log1p(acc_exp(-acc_abs(v))));
    case FN_SIGN: EACH(v > 0 ? 1 : v < 0 ? -1 : v + 0.0); /* -0 + 0 is 0, and NaN stays */
    case FN_ADD: EACH(v + y[j]);
    case FN_SUB: EACH(v - y[j]);
    case FN_MUL: EACH(v * y[j]);
    case FN_DIV: EACH(v / y[j]);
    case FN_MAXIMUM: EACH(v >= y[j] || v != v ? v : y[j]); /* a NaN on either side is the result */
    case FN_MINIMUM: EACH(v <= y[j] || v != v ? v : y[j]);
    default: apply_act(fn, x, n); break;
    }
}

/* out[i, j] = fn_n(... fn_1(x[i, j])), where a binary fn takes y[i, j] as its second operand.
 *
 * `fn` is {n, w1 .. wn} of indices into the words of the op; none is a copy. Everything between the read and the one rounding
 * of the store is f64. NaN goes through every function, maximum, minimum and sign included; an element out of a function's
 * domain gives what C gives (log(0) = -Inf, sqrt(-1) = NaN, 1 / 0 = Inf). `y` may be NULL where no binary function is named.
 * Strides are in elements, any sign, 0 too. `out` is C-contiguous; it may be x or y itself where that is contiguous, and
 * overlaps them in no other way. Empty sizes write nothing. Status 2: an unknown word, or a binary one without y. */
int32_t tsr_pointwise(const elem_t *x, const elem_t *y, elem_t *out, int64_t M, int64_t N, int64_t sx0, int64_t sx1, int64_t sy0, int64_t sy1, const int32_t *fn) {
    double line[STRIP], second[STRIP];
    int binary = 0;
    for (int32_t w = 0; fn != NULL && w < fn[0]; w++) {
        if (fn[1 + w] < 0 || fn[1 + w] >= FN_COUNT) return TSR_DECLINE;
        binary |= fn[1 + w] >= FN_ADD;
    }
    if (binary && y == NULL) return TSR_DECLINE;
    for (int64_t i = 0; i < M; i++) {
        for (int64_t j = 0; j < N; j += STRIP) {
            int64_t n = min_i64(STRIP, N - j);
            load_row(line, x + i * sx0 + j * sx1, sx1, n);
            if (binary) load_row(second, y + i * sy0 + j * sy1, sy1, n);
            for (int32_t w = 0; fn != NULL && w < fn[0]; w++) apply_fn(fn[1 + w], line, second, n);
            store_row(out + i * N + j, line, n);
        }
    }
    return TSR_OK;
}
