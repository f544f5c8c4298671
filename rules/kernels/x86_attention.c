/* attention: softmax(scale q kᵀ, capped, + mask) v with an online softmax; no buffer of Sq by Skv numbers. */
#include "tsr_product.h"
#include "tsr_rows.h"

#define BLOCK_QUERIES 128
#define BLOCK_KEYS 64
/* The weight of a key that is not seen: it adds nothing, and is told from a weight that underflowed by its sign. */
#define HIDDEN (-0.0)

/* One head of the problem: the operands at their (batch, head), the attributes resolved. */
struct head {
    struct matrix q, k, v, mask; /* mask.data is NULL where there is none */
    elem_t *out;
    int64_t queries, keys, depth, values; /* Sq, Skv, head_dim, Dv */
    int64_t window;                       /* keys that a query sees up to its own place, or as many as there are */
    int causal;
    acc_t scale, softcap;
    int capped;
};

struct buffers {
    int64_t values_ld, keys_ld;
    acc_t *queries, *panel, *scores, *weights, *sums, *line;
    double totals[BLOCK_QUERIES];
    acc_t tops[BLOCK_QUERIES];
};

static int64_t padded(int64_t n) { return (n + TILE_COLUMNS - 1) / TILE_COLUMNS * TILE_COLUMNS; }

static int buffers_make(struct buffers *to, int64_t depth, int64_t values) {
    if (depth > INT64_MAX / 65536 || values > INT64_MAX / 65536) return 0;
    to->values_ld = padded(values);
    to->keys_ld = padded(BLOCK_KEYS);
    int64_t deepest = max_i64(depth, BLOCK_KEYS);
    int64_t queries = BLOCK_QUERIES * depth, panel = deepest * TILE_COLUMNS, scores = BLOCK_QUERIES * to->keys_ld, weights = BLOCK_QUERIES * BLOCK_KEYS;
    int64_t sums = BLOCK_QUERIES * to->values_ld, line = max_i64(deepest, to->keys_ld);
    to->queries = malloc((size_t)(queries + panel + scores + weights + sums + line) * sizeof(acc_t));
    if (to->queries == NULL) return 0;
    to->panel = to->queries + queries;
    to->scores = to->panel + panel;
    to->weights = to->scores + scores;
    to->sums = to->weights + weights;
    to->line = to->sums + sums;
    return 1;
}

/* The keys [first, last) that query i sees, mask apart. */
static int64_t last_key(const struct head *h, int64_t i) {
    int64_t place = i + h->keys - h->queries;
    return h->causal ? max_i64(0, min_i64(h->keys, place + 1)) : h->keys;
}

static int64_t first_key(const struct head *h, int64_t i) {
    int64_t place = i + h->keys - h->queries;
    return max_i64(0, place - h->window + 1);
}

static void pack_queries(const struct head *h, struct buffers *to, int64_t i0, int64_t rows) {
    for (int64_t i = 0; i < rows; i++) {
        acc_t *packed = to->queries + i / TILE_ROWS * TILE_ROWS * h->depth + i % TILE_ROWS;
        load_row(to->line, h->q.data + (i0 + i) * h->q.row, h->q.column, h->depth);
        for (int64_t d = 0; d < h->depth; d++) packed[d * TILE_ROWS] = to->line[d];
    }
}

/* scores[i, j] = scale q[i] . k[j0 + j], capped and masked; -Inf for a key that query i does not see. */
static void score_block(const struct head *h, struct buffers *to, int64_t i0, int64_t rows, int64_t j0, int64_t columns) {
    memset(to->scores, 0, (size_t)(rows * to->keys_ld) * sizeof(acc_t));
    for (int64_t j = 0; j < columns; j += TILE_COLUMNS) {
        struct matrix turned = {h->k.data + (j0 + j) * h->k.row, h->k.column, h->k.row};
        pack_panel(to->panel, turned, h->depth, min_i64(TILE_COLUMNS, columns - j));
        for (int64_t i = 0; i < rows; i += TILE_ROWS) {
            tile(min_i64(TILE_ROWS, rows - i), h->depth, to->queries + i * h->depth, to->panel, to->scores + i * to->keys_ld + j, to->keys_ld);
        }
    }
    for (int64_t i = 0; i < rows; i++) {
        acc_t *row = to->scores + i * to->keys_ld;
        for (int64_t j = 0; j < columns; j++) row[j] *= h->scale;
        if (h->capped) {
            for (int64_t j = 0; j < columns; j++) row[j] = h->softcap * acc_tanh(row[j] / h->softcap);
        }
        if (h->mask.data != NULL) {
            load_row(to->line, h->mask.data + (i0 + i) * h->mask.row + j0 * h->mask.column, h->mask.column, columns);
            for (int64_t j = 0; j < columns; j++) row[j] += to->line[j];
        }
        int64_t first = min_i64(columns, max_i64(0, first_key(h, i0 + i) - j0)), last = max_i64(0, min_i64(columns, last_key(h, i0 + i) - j0));
        for (int64_t j = 0; j < first; j++) row[j] = (acc_t)-INFINITY;
        for (int64_t j = last; j < columns; j++) row[j] = (acc_t)-INFINITY;
    }
}

/* scores become weights exp(score - top); where a row's top has risen, what it summed so far is scaled down. */
static void weigh_block(const struct head *h, struct buffers *to, int64_t rows, int64_t columns) {
    for (int64_t i = 0; i < rows; i++) {
        acc_t *row = to->scores + i * to->keys_ld, before = to->tops[i], top = largest_of_row(row, columns);
        if (top > before) {
            acc_t *sums = to->sums + i * to->values_ld, scale = acc_exp(before - top);
            to->tops[i] = top;
            to->totals[i] *= (double)scale;
            for (int64_t d = 0; d < h->values; d++) sums[d] *= scale;
        }
        /* A row that has seen no key yet keeps its NaNs and turns -Inf into 0 with any base. */
        acc_t base = to->tops[i] == (acc_t)-INFINITY ? 0 : to->tops[i];
        for (int64_t j = 0; j < columns; j++) row[j] = row[j] == (acc_t)-INFINITY ? (acc_t)HIDDEN : acc_exp(row[j] - base);
        to->totals[i] += sum_of_row(row, columns);
        acc_t *packed = to->weights + i / TILE_ROWS * TILE_ROWS * columns + i % TILE_ROWS;
        for (int64_t j = 0; j < columns; j++) packed[j * TILE_ROWS] = row[j];
    }
}

static int panel_is_finite(const acc_t *panel, int64_t n) {
    acc_t zero = 0;
    for (int64_t j = 0; j < n; j++) zero += panel[j] * 0;
    return zero == 0;
}

/* sums += weights v. A hidden key adds nothing, whatever its values: with NaN or Inf among them 0 times that would. */
static void add_values(const struct head *h, struct buffers *to, int64_t rows, int64_t j0, int64_t columns) {
    for (int64_t d = 0; d < h->values; d += TILE_COLUMNS) {
        struct matrix block = {h->v.data + j0 * h->v.row + d * h->v.column, h->v.row, h->v.column};
        int64_t width = min_i64(TILE_COLUMNS, h->values - d);
        pack_panel(to->panel, block, columns, width);
        if (panel_is_finite(to->panel, columns * TILE_COLUMNS)) {
            for (int64_t i = 0; i < rows; i += TILE_ROWS) {
                tile(min_i64(TILE_ROWS, rows - i), columns, to->weights + i * columns, to->panel, to->sums + i * to->values_ld + d, to->values_ld);
            }
            continue;
        }
        for (int64_t i = 0; i < rows; i++) {
            const acc_t *weights = to->scores + i * to->keys_ld;
            acc_t *sums = to->sums + i * to->values_ld + d;
            for (int64_t j = 0; j < columns; j++) {
                for (int64_t e = 0; !signbit(weights[j]) && e < width; e++) sums[e] += weights[j] * to->panel[j * TILE_COLUMNS + e];
            }
        }
    }
}

static void attend(const struct head *h, struct buffers *to) {
    for (int64_t i0 = 0; i0 < h->queries; i0 += BLOCK_QUERIES) {
        int64_t rows = min_i64(BLOCK_QUERIES, h->queries - i0);
        pack_queries(h, to, i0, rows);
        memset(to->sums, 0, (size_t)(rows * to->values_ld) * sizeof(acc_t));
        for (int64_t i = 0; i < rows; i++) {
            to->totals[i] = 0;
            to->tops[i] = (acc_t)-INFINITY;
        }
        int64_t end = last_key(h, i0 + rows - 1);
        /* Blocks lie where they lie for every query, so that a row has the same bits whatever rows come with it. */
        for (int64_t j0 = first_key(h, i0) / BLOCK_KEYS * BLOCK_KEYS; j0 < end; j0 += BLOCK_KEYS) {
            int64_t columns = min_i64(BLOCK_KEYS, end - j0);
            score_block(h, to, i0, rows, j0, columns);
            weigh_block(h, to, rows, columns);
            add_values(h, to, rows, j0, columns);
        }
        for (int64_t i = 0; i < rows; i++) {
            acc_t *sums = to->sums + i * to->values_ld;
            double total = to->totals[i] == 0 ? 1 : to->totals[i];
            for (int64_t d = 0; d < h->values; d++) sums[d] = (acc_t)((double)sums[d] / total);
            store_row(h->out + (i0 + i) * h->values, sums, h->values);
        }
    }
}

/* out[B, Hq, Sq, Dv] = softmax(softcap tanh(scale q kᵀ / softcap) + mask) v.
 *
 * Query head h reads key and value head h // (Hq / Hkv). Query i stands at place i + Skv - Sq among the keys: `causal` hides
 * the keys after its place, `window` all but the last `window` up to its place. NULL for scale is head_dim^-1/2, for softcap
 * and window none, for mask zeros. Scores, weights and sums are f64 for f64 and f32, f32 for f16 and bf16 (the weights'
 * total in f64); one rounding at the store.
 *
 * A key that is hidden, or whose score is -Inf, adds nothing even where its values are NaN or Inf; a query that sees no key
 * gives zeros; a NaN or +Inf score makes the query's row NaN. Strides are in elements, any sign, 0 too; `out` is C-contiguous
 * and overlaps no operand. Empty sizes write nothing (Skv = 0: zeros). Buffers of 128 rows of head_dim, Dv and 64 keys, whatever
 * Sq and Skv; status 2 where they are not to be had, or heads do not come in groups. */
int32_t tsr_attention(const elem_t *q, const elem_t *k, const elem_t *v, const elem_t *mask, elem_t *out, int64_t B, int64_t Hq, int64_t Hkv, int64_t Sq, int64_t Skv,
                      int64_t head_dim, int64_t Dv, int64_t sq0, int64_t sq1, int64_t sq2, int64_t sq3, int64_t sk0, int64_t sk1, int64_t sk2, int64_t sk3, int64_t sv0,
                      int64_t sv1, int64_t sv2, int64_t sv3, int64_t sm0, int64_t sm1, int8_t causal, const double *scale, const double *softcap, const int64_t *window) {
    struct buffers buffers;
    if (B <= 0 || Hq <= 0 || Sq <= 0 || Dv <= 0) return TSR_OK;
    if (Hkv <= 0 || Hq % Hkv != 0) return TSR_DECLINE;
    if (!buffers_make(&buffers, head_dim, Dv)) return TSR_DECLINE;
    struct head h = {.queries = Sq, .keys = Skv, .depth = head_dim, .values = Dv, .causal = causal != 0, .capped = softcap != NULL};
    h.scale = (acc_t)(scale != NULL ? *scale : 1 / sqrt((double)head_dim));
    h.softcap = softcap != NULL ? (acc_t)*softcap : 0;
    /* Sq + Skv covers every key from every place. */
    h.window = window != NULL ? max_i64(0, min_i64(*window, Sq + Skv)) : Sq + Skv;
    h.mask = (struct matrix){mask, sm0, sm1};
    for (int64_t b = 0; b < B; b++) {
        for (int64_t head = 0; head < Hq; head++) {
            int64_t group = head / (Hq / Hkv);
            h.q = (struct matrix){head_dim > 0 ? q + b * sq0 + head * sq1 : q, sq2, sq3};
            h.k = (struct matrix){head_dim > 0 && Skv > 0 ? k + b * sk0 + group * sk1 : k, sk2, sk3};
            h.v = (struct matrix){Skv > 0 ? v + b * sv0 + group * sv1 : v, sv2, sv3};
            h.out = out + (b * Hq + head) * Sq * Dv;
            attend(&h, &buffers);
        }
    }
    free(buffers.queries);
    return TSR_OK;
}
