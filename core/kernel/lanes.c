/* Several runs side by side: before the C code that CasADi generates, with numbers that are rows of KP_LANES numbers, one for
   each run. Every lane does what the code for a single run does, in the same order, so that the results are the same bits. What
   has no form here (solvers, branches) does not compile, and the runs are carried out one by one. */

#include <math.h>
#include <stdlib.h>

#ifndef KP_LANES
#if defined(__AVX512F__)
#define KP_LANES 8
#elif defined(__AVX__)
#define KP_LANES 4
#else
#define KP_LANES 2
#endif
#endif

/* A table of plain numbers would fill the lanes with numbers that do not belong together. */
#pragma GCC diagnostic error "-Wmissing-braces"

#if KP_LANES == 8
#define KP_EACH(value) {value, value, value, value, value, value, value, value}
#elif KP_LANES == 4
#define KP_EACH(value) {value, value, value, value}
#else
#define KP_EACH(value) {value, value}
#endif

typedef double kp_lanes __attribute__((vector_size(8 * KP_LANES)));
typedef long long kp_truths __attribute__((vector_size(8 * KP_LANES)));

static inline kp_lanes kp_all(double value) { return value - (kp_lanes){0.}; }

/* 1 where a comparison holds, and 0 where it does not, as in the code for one run. */
static inline kp_lanes kp_truth(kp_truths truths) { return (kp_lanes)(truths & (kp_truths)kp_all(1.)); }

#define kp_less(a, b) kp_truth((a) < (b))
#define kp_less_or_equal(a, b) kp_truth((a) <= (b))
#define kp_equal(a, b) kp_truth((a) == (b))
#define kp_unequal(a, b) kp_truth((a) != (b))
#define kp_not(a) kp_truth((a) == kp_all(0.))
#define kp_and(a, b) kp_truth(((a) != kp_all(0.)) & ((b) != kp_all(0.)))
#define kp_or(a, b) kp_truth(((a) != kp_all(0.)) | ((b) != kp_all(0.)))

/* a where `truth` is not 0, else b, whatever the other one is. */
static inline kp_lanes kp_select(kp_truths truth, kp_lanes a, kp_lanes b) {
  return (kp_lanes)(((kp_truths)a & truth) | ((kp_truths)b & ~truth));
}

#define kp_if(truth, a) kp_select((truth) != kp_all(0.), a, kp_all(0.))

#define KP_ONE(name) \
  static inline kp_lanes kp_##name(kp_lanes x) { \
    kp_lanes y; \
    for (int k = 0; k < KP_LANES; ++k) y[k] = name(x[k]); \
    return y; \
  }
#define KP_TWO(name) \
  static inline kp_lanes kp_##name(kp_lanes a, kp_lanes b) { \
    kp_lanes y; \
    for (int k = 0; k < KP_LANES; ++k) y[k] = name(a[k], b[k]); \
    return y; \
  }

KP_ONE(sqrt) KP_ONE(fabs) KP_ONE(exp) KP_ONE(log) KP_ONE(sin) KP_ONE(cos) KP_ONE(tan) KP_ONE(asin) KP_ONE(acos) KP_ONE(atan)
KP_ONE(sinh) KP_ONE(cosh) KP_ONE(tanh) KP_ONE(asinh) KP_ONE(acosh) KP_ONE(atanh) KP_ONE(floor) KP_ONE(ceil) KP_ONE(erf)
KP_ONE(expm1) KP_ONE(log1p)
KP_TWO(pow) KP_TWO(atan2) KP_TWO(fmod) KP_TWO(copysign) KP_TWO(hypot) KP_TWO(fmin) KP_TWO(fmax)

#define sqrt kp_sqrt
#define fabs kp_fabs
#define exp kp_exp
#define log kp_log
#define sin kp_sin
#define cos kp_cos
#define tan kp_tan
#define asin kp_asin
#define acos kp_acos
#define atan kp_atan
#define sinh kp_sinh
#define cosh kp_cosh
#define tanh kp_tanh
#define asinh kp_asinh
#define acosh kp_acosh
#define atanh kp_atanh
#define floor kp_floor
#define ceil kp_ceil
#define erf kp_erf
#define expm1 kp_expm1
#define log1p kp_log1p
#define pow kp_pow
#define atan2 kp_atan2
#define fmod kp_fmod
#define copysign kp_copysign
#define hypot kp_hypot
#define fmin kp_fmin
#define fmax kp_fmax
#define casadi_real kp_lanes
