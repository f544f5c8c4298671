/* Elementary functions in acc_t, and the activations made of them.
 *
 * exp and expm1 are reduced to |r| <= ln2 / 2 by the nearest multiple of ln2 (taken out in two parts) and a Taylor polynomial;
 * about one unit in the last place of acc_t. They have no branch and no table, so that loops over them vectorise. NaN in is
 * NaN out, exp(-Inf) = 0, exp(Inf) = Inf; gradual underflow is kept.
 */
#ifndef TSR_MATH_H
#define TSR_MATH_H

#include "tsr_elem.h"

#include <math.h>

#ifdef TSR_ACC_F32
typedef uint32_t acc_bits_t;
#define ACC(x) x##f
#define ACC_FN(name) name##f
#define ACC_MANTISSA 23
#define ACC_BIAS 127
#define ACC_SHIFTER 0x1.8p23f
#define ACC_EXP_LOW (-110.0f)
#define ACC_EXP_HIGH 90.0f
#define ACC_LN2_HIGH 0x1.62e4p-1f
#define ACC_LN2_LOW 0x1.7f7d1cp-20f
#define ACC_LOG2E 0x1.715476p+0f
#else
typedef uint64_t acc_bits_t;
#define ACC(x) x
#define ACC_FN(name) name
#define ACC_MANTISSA 52
#define ACC_BIAS 1023
#define ACC_SHIFTER 0x1.8p52
#define ACC_EXP_LOW (-760.0)
#define ACC_EXP_HIGH 711.0
#define ACC_LN2_HIGH 0x1.62e42fefap-1
#define ACC_LN2_LOW 0x1.cf79abc9e3b3ap-40
#define ACC_LOG2E 0x1.71547652b82fep+0
#endif

static inline acc_t acc_of_bits(acc_bits_t u) {
    acc_t x;
    memcpy(&x, &u, sizeof x);
    return x;
}

static inline acc_bits_t bits_of_acc(acc_t x) {
    acc_bits_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}

/* exp(r) - 1 for |r| <= ln2 / 2. */
static inline acc_t expm1_near_zero(acc_t r) {
#ifdef TSR_ACC_F32
    acc_t p = 1.0f / 5040;
#else
    acc_t p = 1.0 / 6227020800;
    p = p * r + 1.0 / 479001600;
    p = p * r + 1.0 / 39916800;
    p = p * r + 1.0 / 3628800;
    p = p * r + 1.0 / 362880;
    p = p * r + 1.0 / 40320;
    p = p * r + 1.0 / 5040;
#endif
    p = p * r + ACC(1.0) / 720;
    p = p * r + ACC(1.0) / 120;
    p = p * r + ACC(1.0) / 24;
    p = p * r + ACC(1.0) / 6;
    p = p * r + ACC(1.0) / 2;
    return r + r * r * p;
}

/* x = n ln2 + r. `*half` and `*rest` are powers of two whose product is 2^n: one alone would overflow at both ends. */
static inline acc_t reduce_by_ln2(acc_t x, acc_t *half, acc_t *rest) {
    x = x < ACC_EXP_LOW ? ACC_EXP_LOW : x;
    x = x > ACC_EXP_HIGH ? ACC_EXP_HIGH : x;
    acc_t shifted = x * ACC_LOG2E + ACC_SHIFTER;
    acc_t n = shifted - ACC_SHIFTER;
    /* The low bits of `shifted` are n in two's complement, 1.5 * 2^m being even; the bias makes the halving unsigned. */
    acc_bits_t even = (acc_bits_t)4 * ACC_BIAS;
    acc_bits_t whole = bits_of_acc(shifted) - bits_of_acc(ACC_SHIFTER) + even;
    acc_bits_t first = whole >> 1, second = whole - first;
    *half = acc_of_bits((first - even / 2 + ACC_BIAS) << ACC_MANTISSA);
    *rest = acc_of_bits((second - even / 2 + ACC_BIAS) << ACC_MANTISSA);
    return (x - n * ACC_LN2_HIGH) - n * ACC_LN2_LOW;
}

static inline acc_t acc_exp(acc_t x) {
    acc_t half, rest, r = reduce_by_ln2(x, &half, &rest);
    return (expm1_near_zero(r) + 1) * half * rest;
}

static inline acc_t acc_expm1(acc_t x) {
    acc_t half, rest, r = reduce_by_ln2(x, &half, &rest);
    acc_t p = expm1_near_zero(r), scale = half * rest;
    acc_t y = p * half * rest + (scale - 1);
    return x == 0 ? x : y;
}

static inline acc_t acc_abs(acc_t x) { return x < 0 ? -x : x + 0; }

/* expm1 keeps small arguments exact to an ulp; no difference of nearly equal numbers. */
static inline acc_t acc_tanh(acc_t x) {
    acc_t m = acc_expm1(-2 * acc_abs(x));
    acc_t t = -m / (m + 2);
    return x < 0 ? -t : (x == 0 ? x : t);
}

/* Of exp(-|x|) alone, so that both ends keep their relative precision. */
static inline acc_t acc_sigmoid(acc_t x) {
    acc_t e = acc_exp(-acc_abs(x));
    return (x < 0 ? e : 1) / (1 + e);
}

/* NaN at -Inf, where it is -Inf times 0; so are the gelus. */
static inline acc_t acc_silu(acc_t x) { return x * acc_sigmoid(x); }

/* x/2 (1 + tanh u) = x sigmoid(2u), without the cancellation that the tanh form has for negative x. */
static inline acc_t acc_gelu(acc_t x) { return x * acc_sigmoid(ACC(1.59576912160573071176) * (x + ACC(0.044715) * x * x * x)); }

static inline acc_t acc_gelu_erf(acc_t x) { return ACC(0.5) * x * ACC_FN(erfc)(x * ACC(-0.70710678118654752440)); }

/* NaN stays NaN: the comparison is false for it. */
static inline acc_t acc_relu(acc_t x) { return x <= 0 ? 0 : x; }

/* The words of `acts` in ops.tsr, in their order. */
enum act { ACT_RELU, ACT_GELU, ACT_GELU_ERF, ACT_SILU, ACT_SIGMOID, ACT_TANH, ACT_COUNT };

/* row[j] = act(row[j]); 0 where the word is none of acts. */
static inline int apply_act(int32_t act, acc_t *row, int64_t n) {
    switch (act) {
    case ACT_RELU:
        for (int64_t j = 0; j < n; j++) row[j] = acc_relu(row[j]);
        return 1;
    case ACT_GELU:
        for (int64_t j = 0; j < n; j++) row[j] = acc_gelu(row[j]);
        return 1;
    case ACT_GELU_ERF:
        for (int64_t j = 0; j < n; j++) row[j] = acc_gelu_erf(row[j]);
        return 1;
    case ACT_SILU:
        for (int64_t j = 0; j < n; j++) row[j] = acc_silu(row[j]);
        return 1;
    case ACT_SIGMOID:
        for (int64_t j = 0; j < n; j++) row[j] = acc_sigmoid(row[j]);
        return 1;
    case ACT_TANH:
        for (int64_t j = 0; j < n; j++) row[j] = acc_tanh(row[j]);
        return 1;
    default:
        return 0;
    }
}

#endif
