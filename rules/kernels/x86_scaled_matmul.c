/* scaled_matmul: eight-bit operands, a scale for each row of a and each column of b. */
#include "tsr_product.h"

/* Indices into the dtypes of the language (tessera_rules.dtypes). */
enum { RESULT_F64 = 0, RESULT_F32 = 1, RESULT_F16 = 3, RESULT_BF16 = 4, RESULT_I32 = 11 };

#ifdef DTYPE_i8
#define RESULT_DEFAULT RESULT_I32
#else
#define RESULT_DEFAULT RESULT_F32
#endif

/* To the nearest integer, ties to even; what i32 cannot hold becomes its nearest end, NaN 0. */
static int32_t i32_of_f64(double x) {
    double near = nearbyint(x);
    if (near != near) return 0;
    return near >= 2147483647.0 ? INT32_MAX : near <= -2147483648.0 ? INT32_MIN : (int32_t)near;
}

static void store_scaled(void *out, int32_t result, int64_t at, const acc_t *sums, double scale, const float *scales, int64_t step, int64_t n) {
    for (int64_t j = 0; j < n; j++) {
        double value = (double)sums[j] * scale * (double)scales[j * step];
        switch (result) {
        case RESULT_F64: ((double *)out)[at + j] = value; break;
        case RESULT_F32: ((float *)out)[at + j] = (float)value; break;
        case RESULT_F16: ((uint16_t *)out)[at + j] = f16_of_f64(value); break;
        case RESULT_BF16: ((uint16_t *)out)[at + j] = bf16_of_f64(value); break;
        default: ((int32_t *)out)[at + j] = i32_of_f64(value); break;
        }
    }
}

/* out[M, N] = (a b)[i, j] scale_a[i] scale_b[j], rounded once to the type that `*result` names (NULL: i32 for i8, else f32).
 *
 * Sums and scaling are in f64: products of bytes are exact there, and their sums below 2^53. NaN (and e5m2's Inf) propagate
 * into a float result; an i32 result takes the nearest integer, the nearest end where it does not fit, 0 for NaN. Strides are
 * in elements, any sign, 0 too; `out` is C-contiguous and overlaps no operand. K = 0 gives zeros times the scales. M = 0 or
 * N = 0 writes nothing. Status 2: no memory (4.5 MiB), or a result type that is none of f64, f32, f16, bf16, i32. */
int32_t tsr_scaled_matmul(const elem_t *a, const elem_t *b, const float *scale_a, const float *scale_b, void *out, int64_t M, int64_t N, int64_t K, int64_t sa0, int64_t sa1,
                          int64_t sb0, int64_t sb1, int64_t ssa, int64_t ssb, const int32_t *result) {
    struct rows_buffer buffer;
    int32_t type = result != NULL ? *result : RESULT_DEFAULT;
    if (type != RESULT_F64 && type != RESULT_F32 && type != RESULT_F16 && type != RESULT_BF16 && type != RESULT_I32) return TSR_DECLINE;
    if (M <= 0 || N <= 0) return TSR_OK;
    if (!rows_buffer_make(&buffer, M, N, 1)) return TSR_DECLINE;
    for (int64_t i = 0; i < M; i += buffer.rows) {
        int64_t rows = min_i64(buffer.rows, M - i);
        struct matrix left = {a, sa0, sa1}, right = {b, sb0, sb1};
        product_rows(&buffer, buffer.sums, rows_from(left, i, K), right, rows, N, K, NULL);
        for (int64_t r = 0; r < rows; r++) {
            store_scaled(out, type, (i + r) * N, buffer.sums + r * buffer.ld, (double)scale_a[(i + r) * ssa], scale_b, ssb, N);
        }
    }
    rows_buffer_free(&buffer);
    return TSR_OK;
}
