/* The element type of one build, chosen by -DDTYPE_f64, _f32, _f16 or _bf16 (x86_scaled_matmul.c: _i8 and the eight-bit floats).
 *
 *   elem_t  what memory holds         acc_t   what the arithmetic is done in
 *   f64     double                    double
 *   f32     float                     double (so a result is rounded once, at the store)
 *   f16     16 bits, IEEE binary16    float
 *   bf16    16 bits, upper half f32   float
 *
 * A source that defines TSR_WIDE before it includes this one works in double for f16 and bf16 too.
 *
 * Every conversion rounds to nearest, ties to even; subnormals, signed zeros, infinities and overflow are exact, a NaN stays
 * a (quiet) NaN. They are plain integer arithmetic without branches, so that loops over them vectorise. They assume the
 * default rounding mode and subnormals on, and change neither.
 */
#ifndef TSR_ELEM_H
#define TSR_ELEM_H

#include <stdint.h>
#include <string.h>

#define TSR_OK 0
#define TSR_DECLINE 2 /* no memory, or an operand's data are not what the op speaks of */

static inline uint32_t bits_of_f32(float x) {
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}

static inline float f32_of_bits(uint32_t u) {
    float x;
    memcpy(&x, &u, sizeof x);
    return x;
}

/* binary16 to f32: the fields moved into place and scaled by 2^112, which also normalises the subnormals. */
static inline float f32_of_f16(uint16_t h) {
    uint32_t magnitude = (uint32_t)(h & 0x7fffu), sign = (uint32_t)(h & 0x8000u) << 16;
    uint32_t finite = bits_of_f32(f32_of_bits(magnitude << 13) * 0x1p112f);
    uint32_t special = 0x7f800000u | ((magnitude & 0x3ffu) << 13);
    return f32_of_bits(sign | (magnitude >= 0x7c00u ? special : finite));
}

static inline uint16_t f16_of_f32(float x) {
    uint32_t u = bits_of_f32(x), sign = (u >> 16) & 0x8000u, a = u & 0x7fffffffu;
    uint32_t normal = ((a + 0xfffu + ((a >> 13) & 1u)) >> 13) - (112u << 10);
    /* Below 2^-14 the spacing is 2^-24, the spacing of f32 at one half: the addition rounds. */
    uint32_t small = bits_of_f32(f32_of_bits(a < 0x38800000u ? a : 0u) + 0.5f) - 0x3f000000u;
    uint32_t h = a < 0x38800000u ? small : normal;
    h = a >= 0x47800000u ? 0x7c00u : h;
    h = a > 0x7f800000u ? 0x7e00u : h;
    return (uint16_t)(sign | h);
}

static inline float f32_of_bf16(uint16_t h) { return f32_of_bits((uint32_t)h << 16); }

static inline uint16_t bf16_of_f32(float x) {
    uint32_t u = bits_of_f32(x);
    uint32_t rounded = (u + 0x7fffu + ((u >> 16) & 1u)) >> 16;
    return (uint16_t)((u & 0x7fffffffu) > 0x7f800000u ? (u >> 16) | 0x40u : rounded);
}

/* f64 to f32 rounded to odd: a second rounding to 16 bits is then as good as one rounding from f64 (24 >= 11 + 2 bits). */
static inline float f32_to_odd(double x) {
    float near = (float)x;
    double back = (double)near;
    uint32_t u = bits_of_f32(near);
    double magnitude = x < 0 ? -x : x, of_back = back < 0 ? -back : back;
    if (of_back > magnitude) u -= 1; /* now towards zero; infinity steps back to the largest finite value */
    return back == x || x != x ? near : f32_of_bits(u | 1u);
}

static inline uint16_t f16_of_f64(double x) { return f16_of_f32(f32_to_odd(x)); }
static inline uint16_t bf16_of_f64(double x) { return bf16_of_f32(f32_to_odd(x)); }

#if defined(DTYPE_f64)
typedef double elem_t;
typedef double acc_t;
static inline acc_t load_elem(elem_t x) { return x; }
static inline elem_t store_elem(acc_t x) { return x; }
static inline elem_t store_f64(double x) { return x; }
#elif defined(DTYPE_f32)
typedef float elem_t;
typedef double acc_t;
static inline acc_t load_elem(elem_t x) { return (acc_t)x; }
static inline elem_t store_elem(acc_t x) { return (elem_t)x; }
static inline elem_t store_f64(double x) { return (elem_t)x; }
#elif defined(DTYPE_f16)
typedef uint16_t elem_t;
#ifdef TSR_WIDE
typedef double acc_t;
static inline elem_t store_elem(acc_t x) { return f16_of_f64(x); }
#else
#define TSR_ACC_F32 1
typedef float acc_t;
static inline elem_t store_elem(acc_t x) { return f16_of_f32(x); }
#endif
static inline acc_t load_elem(elem_t x) { return (acc_t)f32_of_f16(x); }
static inline elem_t store_f64(double x) { return f16_of_f64(x); }
#elif defined(DTYPE_bf16)
typedef uint16_t elem_t;
#ifdef TSR_WIDE
typedef double acc_t;
static inline elem_t store_elem(acc_t x) { return bf16_of_f64(x); }
#else
#define TSR_ACC_F32 1
typedef float acc_t;
static inline elem_t store_elem(acc_t x) { return bf16_of_f32(x); }
#endif
static inline acc_t load_elem(elem_t x) { return (acc_t)f32_of_bf16(x); }
static inline elem_t store_f64(double x) { return bf16_of_f64(x); }
#else
#define TSR_NARROW 1 /* read only: results of such operands are of another type */
typedef double acc_t; /* sums of products of bytes are exact below 2^53 */
#if defined(DTYPE_i8)
typedef int8_t elem_t;
static inline acc_t load_elem(elem_t x) { return (acc_t)x; }
#elif defined(DTYPE_f8e4m3)
typedef uint8_t elem_t;
/* OCP e4m3 (e4m3fn): bias 7, no infinity, NaN at 0x7f and 0xff. The scaling also normalises the subnormals. */
static inline acc_t load_elem(elem_t x) {
    uint32_t magnitude = (uint32_t)(x & 0x7fu), sign = (uint32_t)(x & 0x80u) << 24;
    uint32_t finite = bits_of_f32(f32_of_bits(magnitude << 20) * 0x1p120f);
    return (acc_t)f32_of_bits(sign | (magnitude == 0x7fu ? 0x7fc00000u : finite));
}
#elif defined(DTYPE_f8e5m2)
typedef uint8_t elem_t;
/* OCP e5m2 is the upper byte of a binary16. */
static inline acc_t load_elem(elem_t x) { return (acc_t)f32_of_f16((uint16_t)((uint32_t)x << 8)); }
#elif defined(DTYPE_f8e4m3fnuz) || defined(DTYPE_f8e5m2fnuz)
typedef uint8_t elem_t;
#ifdef DTYPE_f8e4m3fnuz
#define FNUZ_SHIFT 20
#define FNUZ_SCALE 0x1p119f
#else
#define FNUZ_SHIFT 21
#define FNUZ_SCALE 0x1p111f
#endif
/* The fnuz pair: a bias one larger than OCP's, neither infinity nor a negative zero, whose place the only NaN has. */
static inline acc_t load_elem(elem_t x) {
    uint32_t magnitude = (uint32_t)(x & 0x7fu), sign = (uint32_t)(x & 0x80u) << 24;
    uint32_t finite = bits_of_f32(f32_of_bits(magnitude << FNUZ_SHIFT) * FNUZ_SCALE);
    return (acc_t)f32_of_bits(x == 0x80u ? 0x7fc00000u : sign | finite);
}
#else
#error "say which element type, as -DDTYPE_f32"
#endif
#endif

static inline int64_t min_i64(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t max_i64(int64_t a, int64_t b) { return a > b ? a : b; }

#ifndef TSR_NARROW
/* out[j] = row[j], rounded. */
static inline void store_row(elem_t *restrict out, const acc_t *restrict row, int64_t n) {
    for (int64_t j = 0; j < n; j++) out[j] = store_elem(row[j]);
}
#endif

/* row[j] = x[j * step], in the arithmetic's type. */
static inline void load_row(acc_t *restrict row, const elem_t *restrict x, int64_t step, int64_t n) {
    if (step == 1) {
        for (int64_t j = 0; j < n; j++) row[j] = load_elem(x[j]);
    } else {
        for (int64_t j = 0; j < n; j++) row[j] = load_elem(x[j * step]);
    }
}

#endif
