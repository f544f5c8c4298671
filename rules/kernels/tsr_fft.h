/* A discrete Fourier transform of any length n >= 1 over split arrays of f64, planned once and run for each row. */
#ifndef TSR_FFT_H
#define TSR_FFT_H

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define TSR_OK 0
#define TSR_DECLINE 2
#define FFT_MOST_STAGES 64
#define FFT_LONGEST ((int64_t)1 << 56)

struct fft {
    int64_t n;
    double *re, *im;           /* n numbers each: the input, and after fft_run the output */
    double *spare_re, *spare_im;
    double *root_re, *root_im; /* exp(-2 pi i k / n), k < n; for Bluestein the chirp exp(-pi i k^2 / n) */
    int stages, radix[FFT_MOST_STAGES];
    struct fft *longer;            /* Bluestein: the convolution's transform, else NULL */
    double *filter_re, *filter_im; /* Bluestein: the transform of the conjugate chirp, over its length */
    double *memory;
};

/* exp(-2 pi i k / n) for 0 <= k < n. */
static inline void unit_root(int64_t k, int64_t n, double *re, double *im) {
    int64_t quarter = 4 * k / n, rest = 4 * k - quarter * n;
    int turned = 2 * rest > n;
    double angle = 1.57079632679489661923 * ((double)(turned ? n - rest : rest) / (double)n);
    double c = turned ? sin(angle) : cos(angle), s = turned ? cos(angle) : sin(angle);
    switch (quarter) {
    case 0: *re = c, *im = -s; break;
    case 1: *re = -s, *im = -c; break;
    case 2: *re = -c, *im = s; break;
    default: *re = s, *im = c; break;
    }
}

/* One pass: y[t + s (p q + r)] = w^r sum over k of x[t + s (q + m k)] exp(-2 pi i r k / p), w = exp(-2 pi i q s / n),
 * for q < m, r < p, t < s, where n = p m s. The functions below do it for one q and all t. */
#define PUT(r, real, imaginary)                                                                                                  \
    do {                                                                                                                         \
        double re_ = (real), im_ = (imaginary);                                                                                  \
        yr[t + (r) * s] = re_ * wr[r] - im_ * wi[r];                                                                             \
        yi[t + (r) * s] = re_ * wi[r] + im_ * wr[r];                                                                             \
    } while (0)

static inline void butterflies_2(const double *restrict xr, const double *restrict xi, double *restrict yr, double *restrict yi, int64_t s, int64_t ms, const double *wr,
                                 const double *wi) {
    for (int64_t t = 0; t < s; t++) {
        double ar = xr[t], ai = xi[t], br = xr[t + ms], bi = xi[t + ms];
        yr[t] = ar + br;
        yi[t] = ai + bi;
        PUT(1, ar - br, ai - bi);
    }
}

static inline void butterflies_3(const double *restrict xr, const double *restrict xi, double *restrict yr, double *restrict yi, int64_t s, int64_t ms, const double *wr,
                                 const double *wi) {
    const double sin60 = 0.86602540378443864676;
    for (int64_t t = 0; t < s; t++) {
        double ar = xr[t], ai = xi[t], sr = xr[t + ms] + xr[t + 2 * ms], si = xi[t + ms] + xi[t + 2 * ms];
        double dr = sin60 * (xr[t + ms] - xr[t + 2 * ms]), di = sin60 * (xi[t + ms] - xi[t + 2 * ms]), hr = ar - 0.5 * sr, hi = ai - 0.5 * si;
        yr[t] = ar + sr;
        yi[t] = ai + si;
        PUT(1, hr + di, hi - dr);
        PUT(2, hr - di, hi + dr);
    }
}

static inline void butterflies_4(const double *restrict xr, const double *restrict xi, double *restrict yr, double *restrict yi, int64_t s, int64_t ms, const double *wr,
                                 const double *wi) {
    for (int64_t t = 0; t < s; t++) {
        double ar = xr[t] + xr[t + 2 * ms], ai = xi[t] + xi[t + 2 * ms], br = xr[t] - xr[t + 2 * ms], bi = xi[t] - xi[t + 2 * ms];
        double cr = xr[t + ms] + xr[t + 3 * ms], ci = xi[t + ms] + xi[t + 3 * ms], dr = xr[t + ms] - xr[t + 3 * ms], di = xi[t + ms] - xi[t + 3 * ms];
        yr[t] = ar + cr;
        yi[t] = ai + ci;
        PUT(1, br + di, bi - dr);
        PUT(2, ar - cr, ai - ci);
        PUT(3, br - di, bi + dr);
    }
}

static inline void butterflies_5(const double *restrict xr, const double *restrict xi, double *restrict yr, double *restrict yi, int64_t s, int64_t ms, const double *wr,
                                 const double *wi) {
    const double c1 = 0.30901699437494742410, c2 = -0.80901699437494742410, s1 = 0.95105651629515357212, s2 = 0.58778525229247312917;
    for (int64_t t = 0; t < s; t++) {
        double ar = xr[t], ai = xi[t];
        double pr = xr[t + ms] + xr[t + 4 * ms], pi = xi[t + ms] + xi[t + 4 * ms], mr = xr[t + ms] - xr[t + 4 * ms], mi = xi[t + ms] - xi[t + 4 * ms];
        double qr = xr[t + 2 * ms] + xr[t + 3 * ms], qi = xi[t + 2 * ms] + xi[t + 3 * ms], nr = xr[t + 2 * ms] - xr[t + 3 * ms], ni = xi[t + 2 * ms] - xi[t + 3 * ms];
        double er = ar + c1 * pr + c2 * qr, ei = ai + c1 * pi + c2 * qi, fr = ar + c2 * pr + c1 * qr, fi = ai + c2 * pi + c1 * qi;
        double gr = s1 * mr + s2 * nr, gi = s1 * mi + s2 * ni, hr = s2 * mr - s1 * nr, hi = s2 * mi - s1 * ni;
        yr[t] = ar + pr + qr;
        yi[t] = ai + pi + qi;
        PUT(1, er + gi, ei - gr);
        PUT(2, fr + hi, fi - hr);
        PUT(3, fr - hi, fi + hr);
        PUT(4, er - gi, ei + gr);
    }
}

static inline void fft_pass(const struct fft *plan, int64_t p, int64_t m, int64_t s, const double *xr, const double *xi, double *yr, double *yi) {
    for (int64_t q = 0; q < m; q++) {
        double wr[5], wi[5];
        for (int64_t r = 0; r < p; r++) {
            wr[r] = plan->root_re[q * r * s];
            wi[r] = plan->root_im[q * r * s];
        }
        const double *ar = xr + q * s, *ai = xi + q * s;
        double *br = yr + p * q * s, *bi = yi + p * q * s;
        switch (p) {
        case 2: butterflies_2(ar, ai, br, bi, s, m * s, wr, wi); break;
        case 3: butterflies_3(ar, ai, br, bi, s, m * s, wr, wi); break;
        case 4: butterflies_4(ar, ai, br, bi, s, m * s, wr, wi); break;
        default: butterflies_5(ar, ai, br, bi, s, m * s, wr, wi); break;
        }
    }
}

static inline void swap_arrays(double **a, double **b) {
    double *kept = *a;
    *a = *b;
    *b = kept;
}

static inline void fft_stockham(struct fft *plan) {
    int64_t left = plan->n, s = 1;
    double *re = plan->re, *im = plan->im, *to_re = plan->spare_re, *to_im = plan->spare_im;
    for (int stage = 0; stage < plan->stages; stage++) {
        int64_t p = plan->radix[stage];
        left /= p;
        fft_pass(plan, p, left, s, re, im, to_re, to_im);
        s *= p;
        swap_arrays(&re, &to_re);
        swap_arrays(&im, &to_im);
    }
    if (re != plan->re) {
        memcpy(plan->re, re, (size_t)plan->n * sizeof(double));
        memcpy(plan->im, im, (size_t)plan->n * sizeof(double));
    }
}

/* X[k] = c[k] sum over j of (x[j] c[j]) conj(c[k - j]), c[k] = exp(-pi i k^2 / n): a convolution, done in a length that Stockham has. */
static inline void fft_run(struct fft *plan) {
    struct fft *longer = plan->longer;
    if (longer == NULL) {
        fft_stockham(plan);
        return;
    }
    const double *cr = plan->root_re, *ci = plan->root_im;
    for (int64_t j = 0; j < longer->n; j++) {
        int inside = j < plan->n;
        longer->re[j] = inside ? plan->re[j] * cr[j] - plan->im[j] * ci[j] : 0;
        longer->im[j] = inside ? plan->re[j] * ci[j] + plan->im[j] * cr[j] : 0;
    }
    fft_stockham(longer);
    for (int64_t j = 0; j < longer->n; j++) {
        double re = longer->re[j] * plan->filter_re[j] - longer->im[j] * plan->filter_im[j];
        double im = longer->re[j] * plan->filter_im[j] + longer->im[j] * plan->filter_re[j];
        longer->re[j] = im; /* exchanged, for the inverse transform */
        longer->im[j] = re;
    }
    fft_stockham(longer);
    for (int64_t k = 0; k < plan->n; k++) {
        plan->re[k] = longer->im[k] * cr[k] - longer->re[k] * ci[k];
        plan->im[k] = longer->im[k] * ci[k] + longer->re[k] * cr[k];
    }
}

static inline void fft_free(struct fft *plan) {
    if (plan->longer != NULL) free(plan->longer->memory);
    free(plan->longer);
    free(plan->memory);
}

/* Factor n into the radices; 0 where a prime above 5 is left. */
static inline int fft_factor(struct fft *plan, int64_t n) {
    static const int radices[] = {4, 2, 3, 5};
    plan->stages = 0;
    for (int i = 0; i < 4; i++) {
        while (n % radices[i] == 0) {
            plan->radix[plan->stages++] = radices[i];
            n /= radices[i];
        }
    }
    return n == 1;
}

/* Room for a plan of length n; the six arrays of n numbers lie in one block. */
static inline int fft_room(struct fft *plan, int64_t n, int64_t filter) {
    plan->n = n;
    plan->longer = NULL;
    plan->memory = n > FFT_LONGEST ? NULL : malloc((size_t)(6 * n + 2 * filter) * sizeof(double));
    if (plan->memory == NULL) return 0;
    double **arrays[] = {&plan->re, &plan->im, &plan->spare_re, &plan->spare_im, &plan->root_re, &plan->root_im, &plan->filter_re};
    for (int i = 0; i < 7; i++) *arrays[i] = plan->memory + i * n;
    plan->filter_im = plan->filter_re + filter;
    return 1;
}

/* The shortest length of factors 2, 3 and 5 (few of the odd ones) that is at least `least`. */
static inline int64_t fft_convolution_length(int64_t least) {
    static const int64_t odd[] = {1, 3, 5, 9, 15, 25, 27};
    int64_t best = INT64_MAX;
    for (int i = 0; i < 7; i++) {
        int64_t length = odd[i];
        while (length < least) length *= 2;
        best = length < best ? length : best;
    }
    return best;
}

static inline int fft_make_bluestein(struct fft *plan, int64_t n) {
    int64_t length = n > FFT_LONGEST / 4 ? 0 : fft_convolution_length(2 * n - 1), square = 0;
    struct fft *longer = length == 0 ? NULL : malloc(sizeof *longer);
    if (longer == NULL) return 0;
    if (!fft_room(longer, length, 0)) {
        free(longer);
        return 0;
    }
    if (!fft_room(plan, n, length)) {
        free(longer->memory);
        free(longer);
        return 0;
    }
    plan->longer = longer;
    fft_factor(longer, length);
    for (int64_t k = 0; k < length; k++) unit_root(k, length, &longer->root_re[k], &longer->root_im[k]);
    memset(longer->re, 0, (size_t)length * sizeof(double));
    memset(longer->im, 0, (size_t)length * sizeof(double));
    for (int64_t k = 0; k < n; k++) {
        unit_root(square, 2 * n, &plan->root_re[k], &plan->root_im[k]);
        square = (square + 2 * k + 1) % (2 * n); /* (k + 1)^2 mod 2n */
        int64_t mirrored = k == 0 ? 0 : length - k;
        longer->re[k] = longer->re[mirrored] = plan->root_re[k] / (double)length;
        longer->im[k] = longer->im[mirrored] = -plan->root_im[k] / (double)length;
    }
    fft_stockham(longer);
    memcpy(plan->filter_re, longer->re, (size_t)length * sizeof(double));
    memcpy(plan->filter_im, longer->im, (size_t)length * sizeof(double));
    return 1;
}

/* Plan a transform of length n; 0 where there is no memory for it. */
static inline int fft_make(struct fft *plan, int64_t n) {
    if (!fft_factor(plan, n)) return fft_make_bluestein(plan, n);
    if (!fft_room(plan, n, 0)) return 0;
    for (int64_t k = 0; k < n; k++) unit_root(k, n, &plan->root_re[k], &plan->root_im[k]);
    return 1;
}

#endif
