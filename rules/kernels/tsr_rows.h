/* Reductions over one row of numbers in acc_t, in place: softmax, rmsnorm, layernorm.
 *
 * Sums and statistics are taken in f64 in eight interleaved parts, so that they vectorise and their error grows with n / 8.
 * A row of no numbers is left alone.
 */
#ifndef TSR_ROWS_H
#define TSR_ROWS_H

#include "tsr_math.h"

#define PARTS 8

static inline double sum_of_parts(const double *parts) {
    return ((parts[0] + parts[4]) + (parts[2] + parts[6])) + ((parts[1] + parts[5]) + (parts[3] + parts[7]));
}

static inline double sum_of_row(const acc_t *row, int64_t n) {
    double parts[PARTS] = {0};
    int64_t j = 0;
    for (; j + PARTS <= n; j += PARTS) {
        for (int p = 0; p < PARTS; p++) parts[p] += (double)row[j + p];
    }
    for (; j < n; j++) parts[j % PARTS] += (double)row[j];
    return sum_of_parts(parts);
}

static inline double sum_of_squares(const acc_t *row, int64_t n, double centre) {
    double parts[PARTS] = {0};
    int64_t j = 0;
    for (; j + PARTS <= n; j += PARTS) {
        for (int p = 0; p < PARTS; p++) {
            double d = (double)row[j + p] - centre;
            parts[p] += d * d;
        }
    }
    for (; j < n; j++) {
        double d = (double)row[j] - centre;
        parts[j % PARTS] += d * d;
    }
    return sum_of_parts(parts);
}

/* The largest of a row's numbers; NaNs are passed over (what is subtracted from them stays NaN). */
static inline acc_t largest_of_row(const acc_t *row, int64_t n) {
    acc_t parts[PARTS];
    int64_t j = 0;
    for (int p = 0; p < PARTS; p++) parts[p] = (acc_t)-INFINITY;
    for (; j + PARTS <= n; j += PARTS) {
        for (int p = 0; p < PARTS; p++) parts[p] = row[j + p] > parts[p] ? row[j + p] : parts[p];
    }
    for (; j < n; j++) parts[0] = row[j] > parts[0] ? row[j] : parts[0];
    for (int p = 1; p < PARTS; p++) parts[0] = parts[p] > parts[0] ? parts[p] : parts[0];
    return parts[0];
}

/* row[j] = exp(row[j] - max) / sum. A NaN or +Inf makes the whole row NaN, as does a row of -Inf alone. */
static inline void softmax_row(acc_t *row, int64_t n) {
    acc_t top = largest_of_row(row, n);
    for (int64_t j = 0; j < n; j++) row[j] = acc_exp(row[j] - top);
    double sum = sum_of_row(row, n);
    for (int64_t j = 0; j < n; j++) row[j] = (acc_t)((double)row[j] / sum);
}

/* row[j] = row[j] / sqrt(mean(row^2) + eps). */
static inline void rmsnorm_row(acc_t *row, int64_t n, double eps) {
    double spread = sqrt(sum_of_squares(row, n, 0) / (double)n + eps);
    for (int64_t j = 0; j < n; j++) row[j] = (acc_t)((double)row[j] / spread);
}

/* row[j] = (row[j] - mean) / sqrt(population variance + eps); the variance is taken about the mean, in a second pass. */
static inline void layernorm_row(acc_t *row, int64_t n, double eps) {
    double mean = sum_of_row(row, n) / (double)n;
    double spread = sqrt(sum_of_squares(row, n, mean) / (double)n + eps);
    for (int64_t j = 0; j < n; j++) row[j] = (acc_t)(((double)row[j] - mean) / spread);
}

#endif
