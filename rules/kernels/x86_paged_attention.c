/* paged_attention: one query a sequence against keys and values that lie in pages. */
#include "tsr_rows.h"

#include <stdlib.h>

#define BLOCK_KEYS 64

struct pages {
    const elem_t *data;
    int64_t page, key, head, column; /* strides */
};

/* sum over d of q[d] k[d step], in eight interleaved parts. */
static acc_t dot(const acc_t *q, const elem_t *k, int64_t step, int64_t n) {
    acc_t parts[PARTS] = {0}, sum = 0;
    int64_t d = 0;
    if (step == 1) {
        for (; d + PARTS <= n; d += PARTS) {
            for (int p = 0; p < PARTS; p++) parts[p] += q[d + p] * load_elem(k[d + p]);
        }
    }
    for (; d < n; d++) parts[d % PARTS] += q[d] * load_elem(k[d * step]);
    for (int p = 0; p < PARTS; p++) sum += parts[p];
    return sum;
}

static void add_scaled(acc_t *sums, acc_t weight, const elem_t *v, int64_t step, int64_t n) {
    if (step == 1) {
        for (int64_t d = 0; d < n; d++) sums[d] += weight * load_elem(v[d]);
    } else {
        for (int64_t d = 0; d < n; d++) sums[d] += weight * load_elem(v[d * step]);
    }
}

/* The element of key j of a sequence. */
static const elem_t *key_at(const struct pages *pages, const int32_t *table, int64_t step, int64_t page, int64_t j) {
    return pages->data + table[j / page * step] * pages->page + j % page * pages->key;
}

static int table_is_sound(const int32_t *table, int64_t step, int64_t used, int64_t P) {
    for (int64_t t = 0; t < used; t++) {
        if (table[t * step] < 0 || table[t * step] >= P) return 0;
    }
    return 1;
}

/* out[B, Hq, head_dim]: for sequence b and query head h, softmax over j < lengths[b] of (scale q . k_j, capped as
 * softcap tanh(s / softcap)), times v_j; key j lies at place j % page of page table[b, j / page], and head h reads key and
 * value head h // (Hq / Hkv). NULL for scale is head_dim^-1/2, for softcap none.
 *
 * Scores and sums are f64 for f64 and f32, f32 for f16 and bf16 (the weights' total in f64), with an online softmax over blocks
 * of 64 keys; one rounding at the store. A sequence of length 0 gives zeros. A key whose score is -Inf adds nothing, whatever
 * its values; a NaN or +Inf score makes the query's row NaN. Only pages that a length reaches are read. Strides are in
 * elements, any sign, 0 too; `out` is C-contiguous and overlaps no operand. Status 2, with `out` untouched: a negative length or one beyond
 * the table, a page number outside 0 .. P - 1, heads that do not come in groups, no memory for two rows. */
int32_t tsr_paged_attention(const elem_t *q, const elem_t *pages_k, const elem_t *pages_v, const int32_t *table, const int32_t *lengths, elem_t *out, int64_t B, int64_t Hq,
                            int64_t Hkv, int64_t head_dim, int64_t P, int64_t page, int64_t T, int64_t sq0, int64_t sq1, int64_t sq2, int64_t sk0, int64_t sk1, int64_t sk2,
                            int64_t sk3, int64_t sv0, int64_t sv1, int64_t sv2, int64_t sv3, int64_t st0, int64_t st1, int64_t sl0, const double *scale, const double *softcap) {
    if (B <= 0 || Hq <= 0 || head_dim <= 0) return TSR_OK;
    if (Hkv <= 0 || Hq % Hkv != 0) return TSR_DECLINE;
    for (int64_t b = 0; b < B; b++) {
        int64_t length = lengths[b * sl0];
        if (length < 0 || (length > 0 && (page <= 0 || (length - 1) / page >= T))) return TSR_DECLINE;
        if (length > 0 && !table_is_sound(table + b * st0, st1, (length - 1) / page + 1, P)) return TSR_DECLINE;
    }
    if ((uint64_t)head_dim > SIZE_MAX / (4 * sizeof(acc_t))) return TSR_DECLINE;
    acc_t *query = malloc(2 * (size_t)head_dim * sizeof(acc_t)), scores[BLOCK_KEYS];
    if (query == NULL) return TSR_DECLINE;
    acc_t *sums = query + head_dim, factor = (acc_t)(scale != NULL ? *scale : 1 / sqrt((double)head_dim)), cap = softcap != NULL ? (acc_t)*softcap : 0;
    for (int64_t b = 0; b < B; b++) {
        const int32_t *of_sequence = table + b * st0;
        for (int64_t h = 0; h < Hq; h++) {
            int64_t group = h / (Hq / Hkv), length = lengths[b * sl0];
            struct pages keys = {pages_k, sk0, sk1, sk2, sk3}, values = {pages_v, sv0, sv1, sv2, sv3};
            acc_t top = (acc_t)-INFINITY;
            double total = 0;
            load_row(query, q + b * sq0 + h * sq1, sq2, head_dim);
            for (int64_t d = 0; d < head_dim; d++) sums[d] = 0;
            for (int64_t j0 = 0; j0 < length; j0 += BLOCK_KEYS) {
                int64_t count = min_i64(BLOCK_KEYS, length - j0);
                for (int64_t j = 0; j < count; j++) {
                    scores[j] = factor * dot(query, key_at(&keys, of_sequence, st1, page, j0 + j) + group * keys.head, keys.column, head_dim);
                }
                for (int64_t j = 0; softcap != NULL && j < count; j++) scores[j] = cap * acc_tanh(scores[j] / cap);
                acc_t risen = largest_of_row(scores, count);
                if (risen > top) {
                    acc_t fall = acc_exp(top - risen);
                    top = risen;
                    total *= (double)fall;
                    for (int64_t d = 0; d < head_dim; d++) sums[d] *= fall;
                }
                for (int64_t j = 0; j < count; j++) {
                    if (scores[j] == (acc_t)-INFINITY) continue;
                    acc_t weight = acc_exp(scores[j] - (top == (acc_t)-INFINITY ? 0 : top));
                    total += (double)weight;
                    add_scaled(sums, weight, key_at(&values, of_sequence, st1, page, j0 + j) + group * values.head, values.column, head_dim);
                }
            }
            for (int64_t d = 0; d < head_dim; d++) sums[d] = (acc_t)((double)sums[d] / (total == 0 ? 1 : total));
            store_row(out + (b * Hq + h) * head_dim, sums, head_dim);
        }
    }
    free(query);
    return TSR_OK;
}
