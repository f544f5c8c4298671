/* softmax, rmsnorm and layernorm over the last axis of [M, N].
 *
 * Each row is brought into a buffer of N numbers, worked on there and rounded once at the store: in f64 for f64 and f32; for
 * f16 and bf16 in f32, with sums and statistics in f64. Strides are in elements, any sign, 0 too. `out` is C-contiguous; it may be x itself where x is
 * contiguous, and overlaps the operands in no other way. M = 0 or N = 0 writes nothing. Status 2: no memory for the buffer.
 */
#include "tsr_rows.h"

#include <stdlib.h>

/* out[i, j] = exp(x[i, j] - max) / sum over j of the same. A NaN or +Inf in a row, or a row of -Inf alone, makes it NaN. */
int32_t tsr_softmax(const elem_t *x, elem_t *out, int64_t M, int64_t N, int64_t sx0, int64_t sx1) {
    if (M <= 0 || N <= 0) return TSR_OK;
    acc_t *row = malloc((size_t)N * sizeof(acc_t));
    if (row == NULL) return TSR_DECLINE;
    for (int64_t i = 0; i < M; i++) {
        load_row(row, x + i * sx0, sx1, N);
        softmax_row(row, N);
        store_row(out + i * N, row, N);
    }
    free(row);
    return TSR_OK;
}

/* weight and bias as rows of N numbers after the first row of the buffer, or NULL where they are absent. */
struct affine {
    acc_t *row, *weight, *bias;
};

static int affine_make(struct affine *buffer, const elem_t *weight, int64_t sw, const elem_t *bias, int64_t sb, int64_t N) {
    if ((uint64_t)N > SIZE_MAX / (4 * sizeof(acc_t))) return 0;
    buffer->row = malloc(3 * (size_t)N * sizeof(acc_t));
    if (buffer->row == NULL) return 0;
    buffer->weight = weight == NULL ? NULL : buffer->row + N;
    buffer->bias = bias == NULL ? NULL : buffer->row + 2 * N;
    if (weight != NULL) load_row(buffer->weight, weight, sw, N);
    if (bias != NULL) load_row(buffer->bias, bias, sb, N);
    return 1;
}

static void affine_apply(const struct affine *buffer, int64_t N) {
    acc_t *row = buffer->row;
    if (buffer->weight != NULL) {
        for (int64_t j = 0; j < N; j++) row[j] *= buffer->weight[j];
    }
    if (buffer->bias != NULL) {
        for (int64_t j = 0; j < N; j++) row[j] += buffer->bias[j];
    }
}

/* out[i, j] = x[i, j] / sqrt(mean over j of x^2 + eps) weight[j]; a NULL weight is ones. */
int32_t tsr_rmsnorm(const elem_t *x, const elem_t *weight, elem_t *out, int64_t M, int64_t N, int64_t sx0, int64_t sx1, int64_t sw, double eps) {
    struct affine buffer;
    if (M <= 0 || N <= 0) return TSR_OK;
    if (!affine_make(&buffer, weight, sw, NULL, 0, N)) return TSR_DECLINE;
    for (int64_t i = 0; i < M; i++) {
        load_row(buffer.row, x + i * sx0, sx1, N);
        rmsnorm_row(buffer.row, N, eps);
        affine_apply(&buffer, N);
        store_row(out + i * N, buffer.row, N);
    }
    free(buffer.row);
    return TSR_OK;
}

/* out[i, j] = (x[i, j] - mean) / sqrt(population variance + eps) weight[j] + bias[j]; NULL is ones and zeros. */
int32_t tsr_layernorm(const elem_t *x, const elem_t *weight, const elem_t *bias, elem_t *out, int64_t M, int64_t N, int64_t sx0, int64_t sx1, int64_t sw, int64_t sbias,
                      double eps) {
    struct affine buffer;
    if (M <= 0 || N <= 0) return TSR_OK;
    if (!affine_make(&buffer, weight, sw, bias, sbias, N)) return TSR_DECLINE;
    for (int64_t i = 0; i < M; i++) {
        load_row(buffer.row, x + i * sx0, sx1, N);
        layernorm_row(buffer.row, N, eps);
        affine_apply(&buffer, N);
        store_row(out + i * N, buffer.row, N);
    }
    free(buffer.row);
    return TSR_OK;
}
