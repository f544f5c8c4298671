/* fft, rfft and irfft of any length: Stockham with radices 4, 2, 3 and 5, Bluestein's chirp for a length with another prime.
 *
 * Built for complex numbers of two f32 (-DDTYPE_f32) or two f64 (-DDTYPE_f64). All arithmetic is f64, rounded once at the
 * store. Roots of unity come from an angle of at most pi / 4, by integer reduction. Strides are in elements (a complex number
 * is one), any sign, 0 too; `out` is C-contiguous and overlaps x in no way. A NaN or Inf in a row reaches all of that row's
 * results (as NaN, mostly) and no other row. Buffers: about 8 n numbers of f64, 14 to 30 n for Bluestein; status 2 where they
 * are not to be had.
 */
#include "tsr_fft.h"

#if defined(DTYPE_f32)
typedef float real_t;
#elif defined(DTYPE_f64)
typedef double real_t;
#else
#error "say the real type: -DDTYPE_f32 or -DDTYPE_f64"
#endif

/* out[b, k] = sum over j of x[b, j] exp(-2 pi i j k / n); `inverse`: exp(+...), divided by n. */
int32_t tsr_fft(const real_t *x, real_t *out, int64_t B, int64_t n, int64_t sx0, int64_t sx1, int8_t inverse) {
    struct fft plan;
    if (B <= 0 || n <= 0) return TSR_OK;
    if (!fft_make(&plan, n)) return TSR_DECLINE;
    /* With real and imaginary parts exchanged on both sides, the forward transform is the inverse one. */
    double *first = inverse ? plan.im : plan.re, *second = inverse ? plan.re : plan.im, divisor = inverse ? (double)n : 1;
    for (int64_t b = 0; b < B; b++) {
        for (int64_t j = 0; j < n; j++) {
            const real_t *at = x + 2 * (b * sx0 + j * sx1);
            first[j] = (double)at[0];
            second[j] = (double)at[1];
        }
        fft_run(&plan);
        real_t *to = out + 2 * b * n;
        for (int64_t k = 0; k < n; k++) {
            to[2 * k] = (real_t)(first[k] / divisor);
            to[2 * k + 1] = (real_t)(second[k] / divisor);
        }
    }
    fft_free(&plan);
    return TSR_OK;
}

/* out[b, k] for k <= n / 2 = sum over j of x[b, j] exp(-2 pi i j k / n), x real. The imaginary parts of bin 0, and of bin n / 2
 * where n is even, are 0. */
int32_t tsr_rfft(const real_t *x, real_t *out, int64_t B, int64_t n, int64_t sx0, int64_t sx1) {
    struct fft plan;
    int64_t bins = n / 2 + 1;
    if (B <= 0 || n <= 0) return TSR_OK;
    if (!fft_make(&plan, n)) return TSR_DECLINE;
    for (int64_t b = 0; b < B; b++) {
        for (int64_t j = 0; j < n; j++) {
            plan.re[j] = (double)x[b * sx0 + j * sx1];
            plan.im[j] = 0;
        }
        fft_run(&plan);
        real_t *to = out + 2 * b * bins;
        for (int64_t k = 0; k < bins; k++) {
            to[2 * k] = (real_t)plan.re[k];
            to[2 * k + 1] = k == 0 || 2 * k == n ? 0 : (real_t)plan.im[k];
        }
    }
    fft_free(&plan);
    return TSR_OK;
}

/* out[b, j] for j < n = 1/n sum over k of X[k] exp(+2 pi i j k / n), where X[k] = x[b, k] for k < bins and the conjugate of
 * X[n - k] beyond. `*n` is the length (NULL: 2 (bins - 1)), and bins = n / 2 + 1. The imaginary parts of bin 0, and of bin
 * n / 2 where n is even, are not read. Status 2 also where bins do not belong to n. */
int32_t tsr_irfft(const real_t *x, real_t *out, int64_t B, int64_t bins, int64_t sx0, int64_t sx1, const int64_t *length) {
    struct fft plan;
    int64_t n = length != NULL ? *length : 2 * (bins - 1);
    if (B <= 0 || n <= 0) return TSR_OK;
    if (n / 2 + 1 != bins) return TSR_DECLINE;
    if (!fft_make(&plan, n)) return TSR_DECLINE;
    for (int64_t b = 0; b < B; b++) {
        for (int64_t k = 0; k < bins; k++) {
            const real_t *at = x + 2 * (b * sx0 + k * sx1);
            double im = k == 0 || 2 * k == n ? 0 : (double)at[1];
            /* Exchanged parts again: re holds the imaginary ones. */
            plan.re[k] = im;
            plan.im[k] = (double)at[0];
            if (k > 0 && 2 * k < n) {
                plan.re[n - k] = -im;
                plan.im[n - k] = (double)at[0];
            }
        }
        fft_run(&plan);
        for (int64_t j = 0; j < n; j++) out[b * n + j] = (real_t)(plan.im[j] / (double)n);
    }
    fft_free(&plan);
    return TSR_OK;
}
