/* fused_matmul: prologue on a, product, epilogue in the order given, residual, reduction over N. */
#include "tsr_product.h"
#include "tsr_rows.h"

/* The words of `epilogue`: bias, then acts. */
enum { STEP_BIAS, STEP_FIRST_ACT };
enum { REDUCE_NONE, REDUCE_SOFTMAX, REDUCE_RMSNORM, REDUCE_LAYERNORM };

static int epilogue_is_known(words_t prologue, words_t epilogue, const elem_t *bias, int32_t reduction) {
    for (int32_t w = 0; prologue != NULL && w < prologue[0]; w++) {
        if (prologue[1 + w] < 0 || prologue[1 + w] >= ACT_COUNT) return 0;
    }
    for (int32_t w = 0; epilogue != NULL && w < epilogue[0]; w++) {
        int32_t word = epilogue[1 + w];
        if (word < 0 || word >= STEP_FIRST_ACT + ACT_COUNT || (word == STEP_BIAS && bias == NULL)) return 0;
    }
    return reduction >= REDUCE_NONE && reduction <= REDUCE_LAYERNORM;
}

static void apply_epilogue(words_t epilogue, acc_t *row, const acc_t *bias, int64_t N) {
    for (int32_t w = 0; epilogue != NULL && w < epilogue[0]; w++) {
        if (epilogue[1 + w] == STEP_BIAS) {
            for (int64_t j = 0; j < N; j++) row[j] += bias[j];
        } else {
            apply_act(epilogue[1 + w] - STEP_FIRST_ACT, row, N);
        }
    }
}

static void reduce_row(int32_t reduction, acc_t *row, int64_t N, double eps) {
    switch (reduction) {
    case REDUCE_SOFTMAX: softmax_row(row, N); break;
    case REDUCE_RMSNORM: rmsnorm_row(row, N, eps); break;
    case REDUCE_LAYERNORM: layernorm_row(row, N, eps); break;
    default: break;
    }
}

/* out[M, N] = reduce(epilogue(prologue(a) b) + residual).
 *
 * `prologue` and `epilogue` are {n, w1 .. wn} of indices into the words of the op ([acts] and [bias, acts]), `reduction` an
 * index into [none, softmax, rmsnorm, layernorm]. `bias` (N numbers) is read where the epilogue names it, `residual`
 * (M by N) where it is not NULL; both may be NULL. The norms have no weights.
 *
 * From the product to the last step everything stays in the accumulator's type (f64 for f64 and f32, f32 for f16 and bf16; the
 * statistics of the norms in f64) and is rounded once at the store. Strides are in elements, any sign, 0 too; `out` is
 * C-contiguous and overlaps no operand. K = 0: the product is zeros, and the epilogue runs. M = 0 or N = 0 writes nothing.
 * NaN and Inf propagate. Status 2: no memory for the buffers (4.5 MiB, or eight rows of sums where N is larger, and two rows), an
 * unknown word, or an epilogue that names a bias that is not there. */
int32_t tsr_fused_matmul(const elem_t *a, const elem_t *b, const elem_t *bias, const elem_t *residual, elem_t *out, int64_t M, int64_t N, int64_t K, int64_t sa0, int64_t sa1,
                         int64_t sb0, int64_t sb1, int64_t sbias, int64_t sr0, int64_t sr1, const int32_t *prologue, const int32_t *epilogue, int32_t reduction, double eps) {
    struct rows_buffer buffer;
    if (!epilogue_is_known(prologue, epilogue, bias, reduction)) return TSR_DECLINE;
    if (M <= 0 || N <= 0) return TSR_OK;
    if (!rows_buffer_make(&buffer, M, N, 1)) return TSR_DECLINE;
    acc_t *extra = malloc(2 * (size_t)N * sizeof(acc_t)), *bias_row = extra, *residual_row = extra + (extra == NULL ? 0 : N);
    if (extra == NULL) {
        rows_buffer_free(&buffer);
        return TSR_DECLINE;
    }
    if (bias != NULL) load_row(bias_row, bias, sbias, N);
    for (int64_t i = 0; i < M; i += buffer.rows) {
        int64_t rows = min_i64(buffer.rows, M - i);
        struct matrix left = {a, sa0, sa1}, right = {b, sb0, sb1};
        product_rows(&buffer, buffer.sums, rows_from(left, i, K), right, rows, N, K, prologue);
        for (int64_t r = 0; r < rows; r++) {
            acc_t *row = buffer.sums + r * buffer.ld;
            apply_epilogue(epilogue, row, bias_row, N);
            if (residual != NULL) {
                load_row(residual_row, residual + (i + r) * sr0, sr1, N);
                for (int64_t j = 0; j < N; j++) row[j] += residual_row[j];
            }
            reduce_row(reduction, row, N, eps);
            store_row(out + (i + r) * N, row, N);
        }
    }
    free(extra);
    rows_buffer_free(&buffer);
    return TSR_OK;
}
