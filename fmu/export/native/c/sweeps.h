/* Derivatives by sweeps over a tape: a computation with one operation per place, each of places before it.

   A tape is a table, so that derivatives cost a compiler nothing and little room, and serve both ways: along a direction from the
   first operation to the last, and back from the last to the first. The places are those of the arguments, one after the other,
   then of constants, then of operations; runs of operations of one kind keep the processor from guessing what comes next. */

#ifndef KP_SWEEPS_H
#define KP_SWEEPS_H

#include "model.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Wide enough for the places of the tapes of one model; KP_PLACE is set by whoever has these. */
typedef KP_PLACE kp_place;

/* x and y: the operands, f: the result. For each kind: what it computes, and its partial derivatives, all as CasADi has them. */
#define KP_SIGN(x) ((x) < 0 ? -1. : (x) > 0 ? 1. : (x))
#define KP_POLYNOMIALS(BINARY, UNARY) \
  BINARY(ADD, x + y, 1., 1.)          \
  BINARY(SUB, x - y, 1., -1.)         \
  BINARY(MUL, x * y, y, x)            \
  UNARY(NEG, -x, -1.)                 \
  UNARY(SQ, x * x, 2. * x)            \
  UNARY(TWICE, 2. * x, 2.)
#define KP_OTHERS(BINARY, UNARY)                                                                               \
  BINARY(DIV, x / y, 1. / y, -f / y)                                                                           \
  BINARY(POW, pow(x, y), y * pow(x, y - 1.), log(x) * f)                                                       \
  BINARY(CONSTPOW, pow(x, y), y * pow(x, y - 1.), 0.)                                                          \
  BINARY(FMOD, fmod(x, y), 1., (f - x) / y)                                                                    \
  BINARY(REMAINDER, remainder(x, y), 1., (f - x) / y)                                                          \
  BINARY(COPYSIGN, copysign(x, y), copysign(1., y) * KP_SIGN(x), 0.)                                           \
  BINARY(FMIN, fmin(x, y), (x <= y) / ((x <= y) + (double)(y <= x)), (y <= x) / ((x <= y) + (double)(y <= x))) \
  BINARY(FMAX, fmax(x, y), (x >= y) / ((x >= y) + (double)(y >= x)), (y >= x) / ((x >= y) + (double)(y >= x))) \
  BINARY(ATAN2, atan2(x, y), y / (x * x + y * y), -x / (x * x + y * y))                                        \
  BINARY(HYPOT, hypot(x, y), x / f, y / f)                                                                     \
  UNARY(INV, 1. / x, -f * f)                                                                                   \
  UNARY(SQRT, sqrt(x), 1. / (2. * f))                                                                          \
  UNARY(EXP, exp(x), f)                                                                                        \
  UNARY(EXPM1, expm1(x), exp(x))                                                                               \
  UNARY(LOG, log(x), 1. / x)                                                                                   \
  UNARY(LOG1P, log1p(x), 1. / (1. + x))                                                                        \
  UNARY(SIN, sin(x), cos(x))                                                                                   \
  UNARY(COS, cos(x), -sin(x))                                                                                  \
  UNARY(TAN, tan(x), 1. / (cos(x) * cos(x)))                                                                   \
  UNARY(ASIN, asin(x), 1. / sqrt(1. - x * x))                                                                  \
  UNARY(ACOS, acos(x), -1. / sqrt(1. - x * x))                                                                 \
  UNARY(ATAN, atan(x), 1. / (1. + x * x))                                                                      \
  UNARY(SINH, sinh(x), cosh(x))                                                                                \
  UNARY(COSH, cosh(x), sinh(x))                                                                                \
  UNARY(TANH, tanh(x), 1. - f * f)                                                                             \
  UNARY(ASINH, asinh(x), 1. / sqrt(1. + x * x))                                                                \
  UNARY(ACOSH, acosh(x), 1. / sqrt(x - 1.) / sqrt(x + 1.))                                                     \
  UNARY(ATANH, atanh(x), 1. / (1. - x * x))                                                                    \
  UNARY(ERF, erf(x), 1.1283791670955126 * exp(-x * x))                                                         \
  UNARY(FABS, fabs(x), KP_SIGN(x))
/* What jumps has no derivative but zero. */
#define KP_JUMPS(BINARY, UNARY)         \
  BINARY(LT, x < y, 0., 0.)             \
  BINARY(LE, x <= y, 0., 0.)            \
  BINARY(EQ, x == y, 0., 0.)            \
  BINARY(NE, x != y, 0., 0.)            \
  BINARY(AND, x != 0 && y != 0, 0., 0.) \
  BINARY(OR, x != 0 || y != 0, 0., 0.)  \
  UNARY(NOT, x == 0, 0.)                \
  UNARY(FLOOR, floor(x), 0.)            \
  UNARY(CEIL, ceil(x), 0.)              \
  UNARY(SIGN, KP_SIGN(x), 0.)

#define KP_BINARY_NAME(name, ...) KP_OP_##name,
#define KP_UNARY_NAME(name, ...) KP_OP_##name,
enum {
  KP_POLYNOMIALS(KP_BINARY_NAME, KP_UNARY_NAME) KP_OTHERS(KP_BINARY_NAME, KP_UNARY_NAME)
      KP_JUMPS(KP_BINARY_NAME, KP_UNARY_NAME) KP_OP_IF_ELSE_ZERO
};

/* Operations of one kind in a row. */
typedef struct {
  unsigned kind, count, operands;
} kp_run;

typedef struct {
  /* How many numbers each argument has. */
  const size_t *sizes;
  size_t arguments, inputs, constants, places, runs, results, operands;
  const double *constant;
  const kp_run *run;
  /* The places of the operands of all operations, and of the results. */
  const kp_place *operand, *result;
} kp_tape;

/* iw: whether values are there, and, on the way back, which places something depends on; w: values, and what is swept. */
static void kp_tape_work(const kp_tape *tape, kp_int *arg, kp_int *res, kp_int *iw, kp_int *w) {
  *arg = (kp_int)tape->arguments + 1;
  *res = 1;
  *iw = 1 + (kp_int)((tape->places + sizeof(kp_int) - 1) / sizeof(kp_int));
  *w = 2 * (kp_int)tape->places;
}

#define KP_BINARY_VALUES(name, value, ...)   \
  case KP_OP_##name:                         \
    for (; i < end; ++i, o += 2) {           \
      const double x = w[o[0]], y = w[o[1]]; \
      w[i] = value;                          \
    }                                        \
    break;
#define KP_UNARY_VALUES(name, value, ...) \
  case KP_OP_##name:                      \
    for (; i < end; ++i, ++o) {           \
      const double x = w[o[0]];           \
      w[i] = value;                       \
    }                                     \
    break;

/* Compute all values, unless they are there: an importer that wants a matrix asks for it direction by direction. */
static void kp_tape_values(const kp_tape *tape, const double **arg, kp_int *iw, double *w) {
  const kp_place *o = tape->operand;
  bool known = iw[0] != 0;
  size_t i, k, end;
  for (i = k = 0; k < tape->arguments; i += tape->sizes[k++]) {
    if (tape->sizes[k] == 0) continue;
    known = known && memcmp(w + i, arg[k], tape->sizes[k] * sizeof *w) == 0;
    memcpy(w + i, arg[k], tape->sizes[k] * sizeof *w);
  }
  if (known) return;
  if (tape->constants > 0) memcpy(w + i, tape->constant, tape->constants * sizeof *w);
  i += tape->constants;
  for (k = 0; k < tape->runs; ++k) {
    end = i + tape->run[k].count;
    switch (tape->run[k].kind) {
      KP_POLYNOMIALS(KP_BINARY_VALUES, KP_UNARY_VALUES)
      KP_OTHERS(KP_BINARY_VALUES, KP_UNARY_VALUES)
      KP_JUMPS(KP_BINARY_VALUES, KP_UNARY_VALUES)
      KP_BINARY_VALUES(IF_ELSE_ZERO, x != 0 ? y : 0, 0., 0.)
    }
  }
  iw[0] = 1;
}

/* A constant does not change, even where a derivative with respect to it would be infinite. */
#define KP_CONSTANT(place) ((place) >= tape->inputs && (place) < tape->inputs + tape->constants)

#define KP_BINARY_ALONG(name, value, by_x, by_y)  \
  case KP_OP_##name:                              \
    for (; i < end; ++i, o += 2) {                \
      const double x = w[o[0]], y = w[o[1]];      \
      (void)x;                                    \
      (void)y;                                    \
      d[i] = (by_x) * d[o[0]] + (by_y) * d[o[1]]; \
    }                                             \
    break;
#define KP_UNARY_ALONG(name, value, by_x) \
  case KP_OP_##name:                      \
    for (; i < end; ++i, ++o) {           \
      const double x = w[o[0]], f = w[i]; \
      (void)x;                            \
      (void)f;                            \
      d[i] = (by_x) * d[o[0]];            \
    }                                     \
    break;
#define KP_CAREFUL_ALONG(name, value, by_x, by_y)                                                     \
  case KP_OP_##name:                                                                                  \
    for (; i < end; ++i, o += 2) {                                                                    \
      const double x = w[o[0]], y = w[o[1]], f = w[i];                                                \
      (void)x;                                                                                        \
      (void)f;                                                                                        \
      d[i] = (KP_CONSTANT(o[0]) ? 0 : (by_x) * d[o[0]]) + (KP_CONSTANT(o[1]) ? 0 : (by_y) * d[o[1]]); \
    }                                                                                                 \
    break;
#define KP_JUMP_ALONG(name, ...) case KP_OP_##name:

/* res[0] = the change of the results along a change of all arguments, arg[tape->arguments]. */
static int kp_along(const kp_tape *tape, const double **arg, double **res, kp_int *iw, double *w) {
  const kp_place *o = tape->operand;
  double *d = w + tape->places;
  size_t i, k, end;
  kp_tape_values(tape, arg, iw, w);
  memcpy(d, arg[tape->arguments], tape->inputs * sizeof *d);
  for (i = tape->inputs; i < tape->inputs + tape->constants; ++i) d[i] = 0;
  for (k = 0; k < tape->runs; ++k) {
    end = i + tape->run[k].count;
    switch (tape->run[k].kind) {
      KP_POLYNOMIALS(KP_BINARY_ALONG, KP_UNARY_ALONG)
      KP_OTHERS(KP_CAREFUL_ALONG, KP_UNARY_ALONG)
      case KP_OP_IF_ELSE_ZERO:
        for (; i < end; ++i, o += 2) d[i] = w[o[0]] != 0 ? d[o[1]] : 0;
        break;
      KP_JUMPS(KP_JUMP_ALONG, KP_JUMP_ALONG)
        o += (size_t)tape->run[k].operands * tape->run[k].count;
        for (; i < end; ++i) d[i] = 0;
    }
  }
  for (i = 0; i < tape->results; ++i) res[0][i] = d[tape->result[i]];
  return 0;
}

#if KP_FMI == 3
#define KP_HAND(place, part) \
  if (!KP_CONSTANT(place)) { \
    b[place] += (part);      \
    reached[place] = 1;      \
  }
#define KP_BINARY_BACK(name, value, by_x, by_y)          \
  case KP_OP_##name:                                     \
    while (i > end) {                                    \
      --i;                                               \
      o -= 2;                                            \
      if (reached[i]) {                                  \
        const double x = w[o[0]], y = w[o[1]], f = w[i]; \
        (void)x;                                         \
        (void)y;                                         \
        (void)f;                                         \
        KP_HAND(o[0], (by_x) * b[i])                     \
        KP_HAND(o[1], (by_y) * b[i])                     \
      }                                                  \
    }                                                    \
    break;
#define KP_UNARY_BACK(name, value, by_x)    \
  case KP_OP_##name:                        \
    while (i > end) {                       \
      --i;                                  \
      --o;                                  \
      if (reached[i]) {                     \
        const double x = w[o[0]], f = w[i]; \
        (void)x;                            \
        (void)f;                            \
        KP_HAND(o[0], (by_x) * b[i])        \
      }                                     \
    }                                       \
    break;

/* res[0] = the derivatives with respect to all arguments of the results, weighted with arg[tape->arguments]. What no weight asks
   for is not looked at: it may have no derivatives here. */
static int kp_back(const kp_tape *tape, const double **arg, double **res, kp_int *iw, double *w) {
  const double *weights = arg[tape->arguments];
  const kp_place *o = tape->operand + tape->operands;
  unsigned char *reached = (unsigned char *)(iw + 1);
  double *b = w + tape->places;
  size_t i, k, end;
  kp_tape_values(tape, arg, iw, w);
  memset(reached, 0, tape->places);
  for (i = 0; i < tape->places; ++i) b[i] = 0;
  for (i = 0; i < tape->results; ++i)
    if (weights[i] != 0) {
      b[tape->result[i]] += weights[i];
      reached[tape->result[i]] = 1;
    }
  for (i = tape->places, k = tape->runs; k > 0; --k) {
    end = i - tape->run[k - 1].count;
    switch (tape->run[k - 1].kind) {
      KP_POLYNOMIALS(KP_BINARY_BACK, KP_UNARY_BACK)
      KP_OTHERS(KP_BINARY_BACK, KP_UNARY_BACK)
      case KP_OP_IF_ELSE_ZERO:
        while (i > end) {
          --i;
          o -= 2;
          if (reached[i] && w[o[0]] != 0) {
            KP_HAND(o[1], b[i])
          }
        }
        break;
      KP_JUMPS(KP_JUMP_ALONG, KP_JUMP_ALONG)
        o -= (size_t)tape->run[k - 1].operands * tape->run[k - 1].count;
        i = end;
    }
  }
  memcpy(res[0], b, tape->inputs * sizeof *b);
  return 0;
}
#endif

#endif
