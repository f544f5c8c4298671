/* matmul, batched_matmul, gemm and gated_matmul for any dtype, shape and strides.
 *
 * Sums are taken in f64 for f64 and f32, in f32 for f16 and bf16, and rounded once at the store. NaN and Inf propagate as in
 * the sums; nothing is skipped because it is zero. Strides are in elements, any sign, 0 too. `out` is C-contiguous and
 * overlaps no operand. Buffers: at most 4.5 MiB (eight rows of sums where N is larger), freed before the return; status 2
 * where they are not to be had.
 */
#include "tsr_product.h"

static void multiply(struct rows_buffer *buffer, struct matrix a, struct matrix b, elem_t *out, int64_t M, int64_t N, int64_t K) {
    for (int64_t i = 0; i < M; i += buffer->rows) {
        int64_t rows = min_i64(buffer->rows, M - i);
        product_rows(buffer, buffer->sums, rows_from(a, i, K), b, rows, N, K, NULL);
        for (int64_t r = 0; r < rows; r++) store_row(out + (i + r) * N, buffer->sums + r * buffer->ld, N);
    }
}

/* out[M, N] = a b. K = 0 gives zeros; M = 0 or N = 0 writes nothing. */
int32_t tsr_matmul(const elem_t *a, const elem_t *b, elem_t *out, int64_t M, int64_t N, int64_t K, int64_t sa0, int64_t sa1, int64_t sb0, int64_t sb1) {
    struct rows_buffer buffer;
    if (M <= 0 || N <= 0) return TSR_OK;
    if (!rows_buffer_make(&buffer, M, N, 1)) return TSR_DECLINE;
    multiply(&buffer, (struct matrix){a, sa0, sa1}, (struct matrix){b, sb0, sb1}, out, M, N, K);
    rows_buffer_free(&buffer);
    return TSR_OK;
}

/* out[B, M, N] = a[B] b[B] each. */
int32_t tsr_batched_matmul(const elem_t *a, const elem_t *b, elem_t *out, int64_t B, int64_t M, int64_t N, int64_t K, int64_t sa0, int64_t sa1, int64_t sa2, int64_t sb0,
                           int64_t sb1, int64_t sb2) {
    struct rows_buffer buffer;
    if (B <= 0 || M <= 0 || N <= 0) return TSR_OK;
    if (!rows_buffer_make(&buffer, M, N, 1)) return TSR_DECLINE;
    for (int64_t batch = 0; batch < B; batch++) {
        struct matrix left = {K > 0 ? a + batch * sa0 : a, sa1, sa2}, right = {K > 0 ? b + batch * sb0 : b, sb1, sb2};
        multiply(&buffer, left, right, out + batch * M * N, M, N, K);
    }
    rows_buffer_free(&buffer);
    return TSR_OK;
}

/* c = alpha a b + beta c, in place and with c's own strides (which must not make two of its elements one). Where beta = 0, c
 * is not read: a NaN that was there is gone. c overlaps neither a nor b. */
int32_t tsr_gemm(const elem_t *a, const elem_t *b, elem_t *c, int64_t M, int64_t N, int64_t K, int64_t sa0, int64_t sa1, int64_t sb0, int64_t sb1, int64_t sc0, int64_t sc1,
                 double alpha, double beta) {
    struct rows_buffer buffer;
    if (M <= 0 || N <= 0) return TSR_OK;
    if (!rows_buffer_make(&buffer, M, N, 1)) return TSR_DECLINE;
    for (int64_t i = 0; i < M; i += buffer.rows) {
        int64_t rows = min_i64(buffer.rows, M - i);
        struct matrix left = {a, sa0, sa1}, right = {b, sb0, sb1};
        product_rows(&buffer, buffer.sums, rows_from(left, i, K), right, rows, N, K, NULL);
        for (int64_t r = 0; r < rows; r++) {
            const acc_t *sums = buffer.sums + r * buffer.ld;
            elem_t *to = c + (i + r) * sc0;
            if (beta == 0) {
                for (int64_t j = 0; j < N; j++) to[j * sc1] = store_f64(alpha * (double)sums[j]);
            } else {
                for (int64_t j = 0; j < N; j++) to[j * sc1] = store_f64(alpha * (double)sums[j] + beta * (double)load_elem(to[j * sc1]));
            }
        }
    }
    rows_buffer_free(&buffer);
    return TSR_OK;
}

/* out[M, H] = gate(a wg) * (a wu); both products stay in the accumulator's type until the last rounding. */
int32_t tsr_gated_matmul(const elem_t *a, const elem_t *wg, const elem_t *wu, elem_t *out, int64_t M, int64_t H, int64_t K, int64_t sa0, int64_t sa1, int64_t sg0, int64_t sg1,
                         int64_t su0, int64_t su1, int32_t gate) {
    struct rows_buffer buffer;
    if (gate < 0 || gate >= ACT_COUNT) return TSR_DECLINE;
    if (M <= 0 || H <= 0) return TSR_OK;
    if (!rows_buffer_make(&buffer, M, H, 2)) return TSR_DECLINE;
    acc_t *gates = buffer.sums, *ups = buffer.sums + buffer.rows * buffer.ld;
    for (int64_t i = 0; i < M; i += buffer.rows) {
        int64_t rows = min_i64(buffer.rows, M - i);
        struct matrix block = rows_from((struct matrix){a, sa0, sa1}, i, K);
        product_rows(&buffer, gates, block, (struct matrix){wg, sg0, sg1}, rows, H, K, NULL);
        product_rows(&buffer, ups, block, (struct matrix){wu, su0, su1}, rows, H, K, NULL);
        for (int64_t r = 0; r < rows; r++) {
            acc_t *g = gates + r * buffer.ld, *u = ups + r * buffer.ld;
            apply_act(gate, g, H);
            for (int64_t j = 0; j < H; j++) g[j] *= u[j];
            store_row(out + (i + r) * H, g, H);
        }
    }
    rows_buffer_free(&buffer);
    return TSR_OK;
}
