/* acc = f(a) b for a block of rows: the product that matmul, batched_matmul, gemm, fused_matmul, gated_matmul and
 * scaled_matmul share.
 *
 * a and b are views of any strides (elements; negative and 0 too). A block of rows of a is packed once per K step (with the
 * prologue applied), b panel by panel, both converted to acc_t, so that the inner loop reads only contiguous numbers of one
 * type. Sums run over k in order within one accumulator each. K = 0 leaves zeros.
 */
#ifndef TSR_PRODUCT_H
#define TSR_PRODUCT_H

#include "tsr_math.h"

#include <stdlib.h>

#ifdef __AVX512F__
#define VECTOR_BYTES 64
#define TILE_ROWS 8
#else
#define VECTOR_BYTES 32
#define TILE_ROWS 4
#endif
#define LANES ((int64_t)(VECTOR_BYTES / sizeof(acc_t)))
#define TILE_COLUMNS (2 * LANES)
#define STEP_K 256
#define STEP_PANELS 4 /* panels of b that are packed together: whole cache lines of its rows */
#define BLOCK_ROWS 128
#define FEW_ROWS 2 /* up to here packing b costs more than it saves */
#define ACC_TARGET ((int64_t)1 << 19) /* numbers of a block of sums, where N allows: 4 MiB of f64 */

typedef acc_t vector_t __attribute__((vector_size(VECTOR_BYTES)));

struct matrix {
    const elem_t *data;
    int64_t row, column; /* strides */
};

/* The acts of a prologue in order: {n, w1 .. wn}, or NULL for none. */
typedef const int32_t *words_t;

struct rows_buffer {
    int64_t rows, ld; /* at most so many rows at a time; distance of rows in sums */
    acc_t *packed, *panels, *sums;
};

/* sums[rows, TILE_COLUMNS] += left[depth, TILE_ROWS]^T right[depth, TILE_COLUMNS]; `rows` is a constant after inlining. */
static inline __attribute__((always_inline)) void tile_of(const int rows, int64_t depth, const acc_t *left, const acc_t *right, acc_t *sums, int64_t ld) {
    vector_t c0[TILE_ROWS], c1[TILE_ROWS];
    for (int i = 0; i < rows; i++) {
        memcpy(&c0[i], sums + i * ld, sizeof c0[i]);
        memcpy(&c1[i], sums + i * ld + LANES, sizeof c1[i]);
    }
    for (int64_t k = 0; k < depth; k++) {
        vector_t b0, b1;
        memcpy(&b0, right, sizeof b0);
        memcpy(&b1, right + LANES, sizeof b1);
        for (int i = 0; i < rows; i++) {
            c0[i] += left[i] * b0;
            c1[i] += left[i] * b1;
        }
        left += TILE_ROWS;
        right += TILE_COLUMNS;
    }
    for (int i = 0; i < rows; i++) {
        memcpy(sums + i * ld, &c0[i], sizeof c0[i]);
        memcpy(sums + i * ld + LANES, &c1[i], sizeof c1[i]);
    }
}

static inline void tile(int64_t rows, int64_t depth, const acc_t *left, const acc_t *right, acc_t *sums, int64_t ld) {
    switch (rows) {
    case 1: tile_of(1, depth, left, right, sums, ld); break;
    case 2: tile_of(2, depth, left, right, sums, ld); break;
    case 3: tile_of(3, depth, left, right, sums, ld); break;
#if TILE_ROWS == 8
    case 4: tile_of(4, depth, left, right, sums, ld); break;
    case 5: tile_of(5, depth, left, right, sums, ld); break;
    case 6: tile_of(6, depth, left, right, sums, ld); break;
    case 7: tile_of(7, depth, left, right, sums, ld); break;
#endif
    default: tile_of(TILE_ROWS, depth, left, right, sums, ld); break;
    }
}

/* Room for a block of rows of an M by N result, `count` of them side by side (gated_matmul has two); 0 where there is none. */
static inline int rows_buffer_make(struct rows_buffer *buffer, int64_t M, int64_t N, int64_t count) {
    if (N > INT64_MAX / 4096) return 0;
    buffer->ld = (N + TILE_COLUMNS - 1) / TILE_COLUMNS * TILE_COLUMNS;
    int64_t rows = min_i64(BLOCK_ROWS, ACC_TARGET / buffer->ld) / TILE_ROWS * TILE_ROWS;
    buffer->rows = max_i64(TILE_ROWS, rows);
    if (M < buffer->rows) buffer->rows = (M + TILE_ROWS - 1) / TILE_ROWS * TILE_ROWS;
    size_t packed = (size_t)buffer->rows * STEP_K, panels = (size_t)(STEP_K * STEP_PANELS * TILE_COLUMNS);
    size_t sums = (size_t)buffer->rows * (size_t)buffer->ld * (size_t)count;
    if (sums > SIZE_MAX / sizeof(acc_t) - packed - panels) return 0;
    buffer->packed = malloc((packed + panels + sums) * sizeof(acc_t));
    if (buffer->packed == NULL) return 0;
    buffer->panels = buffer->packed + packed;
    buffer->sums = buffer->panels + panels;
    return 1;
}

static inline void rows_buffer_free(struct rows_buffer *buffer) { free(buffer->packed); }

static inline int apply_prologue(words_t prologue, acc_t *row, int64_t n) {
    for (int32_t w = 0; prologue != NULL && w < prologue[0]; w++) {
        if (!apply_act(prologue[1 + w], row, n)) return 0;
    }
    return 1;
}

/* a from row i on; of an operand without elements (K = 0) no address is formed. */
static inline struct matrix rows_from(struct matrix a, int64_t i, int64_t K) {
    if (K > 0) a.data += i * a.row;
    return a;
}

/* packed[tile][k][i] = f(a[i0 + i, k0 + k]). */
static inline int pack_rows(acc_t *packed, struct matrix a, int64_t rows, int64_t depth, words_t prologue) {
    acc_t line[STEP_K];
    for (int64_t i = 0; i < rows; i++) {
        acc_t *to = packed + i / TILE_ROWS * TILE_ROWS * depth + i % TILE_ROWS;
        load_row(line, a.data + i * a.row, a.column, depth);
        if (!apply_prologue(prologue, line, depth)) return 0;
        for (int64_t k = 0; k < depth; k++) to[k * TILE_ROWS] = line[k];
    }
    return 1;
}

/* panel[k][j] = b[k, j], with zeros beyond `columns`. */
static inline void pack_panel(acc_t *restrict panel, struct matrix b, int64_t depth, int64_t columns) {
    if (columns < TILE_COLUMNS) memset(panel, 0, (size_t)(depth * TILE_COLUMNS) * sizeof(acc_t));
    if (b.column == 1) {
        for (int64_t k = 0; k < depth; k++) {
            for (int64_t j = 0; j < columns; j++) panel[k * TILE_COLUMNS + j] = load_elem(b.data[k * b.row + j]);
        }
    } else {
        for (int64_t j = 0; j < columns; j++) {
            for (int64_t k = 0; k < depth; k++) panel[k * TILE_COLUMNS + j] = load_elem(b.data[k * b.row + j * b.column]);
        }
    }
}

/* panels[p][k][j] = b[k, p TILE_COLUMNS + j], with zeros beyond `columns`; row by row of b where its rows are dense. */
static inline void pack_panels(acc_t *restrict panels, struct matrix b, int64_t depth, int64_t columns) {
    if (b.column == 1 && columns == STEP_PANELS * TILE_COLUMNS) {
        for (int64_t k = 0; k < depth; k++) {
            for (int64_t p = 0; p < STEP_PANELS; p++) {
                acc_t *to = panels + (p * depth + k) * TILE_COLUMNS;
                const elem_t *from = b.data + k * b.row + p * TILE_COLUMNS;
                for (int64_t j = 0; j < TILE_COLUMNS; j++) to[j] = load_elem(from[j]);
            }
        }
        return;
    }
    for (int64_t j = 0; j < columns; j += TILE_COLUMNS) {
        struct matrix part = {b.data + j * b.column, b.row, b.column};
        pack_panel(panels + j * depth, part, depth, min_i64(TILE_COLUMNS, columns - j));
    }
}

/* One row of sums over dense rows of b, read where they lie: sums[j] += sum over k of left[k] b[k, j], in order of k. */
static inline void add_rows(acc_t *restrict sums, const acc_t *left, const elem_t *b, int64_t step, int64_t depth, int64_t N) {
    int64_t k = 0;
    for (; k + 4 <= depth; k += 4) {
        const elem_t *b0 = b + k * step, *b1 = b0 + step, *b2 = b1 + step, *b3 = b2 + step;
        acc_t a0 = left[k], a1 = left[k + 1], a2 = left[k + 2], a3 = left[k + 3];
        for (int64_t j = 0; j < N; j++) {
            acc_t sum = sums[j];
            sum += a0 * load_elem(b0[j]);
            sum += a1 * load_elem(b1[j]);
            sum += a2 * load_elem(b2[j]);
            sum += a3 * load_elem(b3[j]);
            sums[j] = sum;
        }
    }
    for (; k < depth; k++) {
        for (int64_t j = 0; j < N; j++) sums[j] += left[k] * load_elem(b[k * step + j]);
    }
}

static inline int few_rows(acc_t *sums, int64_t ld, struct matrix a, struct matrix b, int64_t rows, int64_t N, int64_t depth, words_t prologue) {
    acc_t line[STEP_K];
    for (int64_t i = 0; i < rows; i++) {
        load_row(line, a.data + i * a.row, a.column, depth);
        if (!apply_prologue(prologue, line, depth)) return 0;
        add_rows(sums + i * ld, line, b.data, b.row, depth, N);
    }
    return 1;
}

/* sums[i, j] = sum over k of f(a[i, k]) b[k, j] for `rows` <= buffer->rows rows; 0 where a word of the prologue is unknown. */
static inline int product_rows(const struct rows_buffer *buffer, acc_t *sums, struct matrix a, struct matrix b, int64_t rows, int64_t N, int64_t K, words_t prologue) {
    memset(sums, 0, (size_t)(rows * buffer->ld) * sizeof(acc_t));
    for (int64_t k = 0; k < K; k += STEP_K) {
        int64_t depth = min_i64(STEP_K, K - k);
        struct matrix left = {a.data + k * a.column, a.row, a.column}, right = {b.data + k * b.row, b.row, b.column};
        if (rows <= FEW_ROWS && b.column == 1) {
            if (!few_rows(sums, buffer->ld, left, right, rows, N, depth, prologue)) return 0;
            continue;
        }
        if (!pack_rows(buffer->packed, left, rows, depth, prologue)) return 0;
        for (int64_t j0 = 0; j0 < N; j0 += STEP_PANELS * TILE_COLUMNS) {
            int64_t columns = min_i64(STEP_PANELS * TILE_COLUMNS, N - j0);
            struct matrix part = {right.data + j0 * b.column, b.row, b.column};
            pack_panels(buffer->panels, part, depth, columns);
            for (int64_t i = 0; i < rows; i += TILE_ROWS) {
                for (int64_t j = 0; j < columns; j += TILE_COLUMNS) {
                    acc_t *to = sums + i * buffer->ld + j0 + j;
                    tile(min_i64(TILE_ROWS, rows - i), depth, buffer->packed + i * depth, buffer->panels + j * depth, to, buffer->ld);
                }
            }
        }
    }
    return 1;
}

#endif
