/* How a model moves that works at sample times: there its own step is taken, and in between nothing changes. */

#include "core.h"

#if KP_SAMPLED

#include <math.h>
#include <string.h>

/* Times that are a sample time up to this part of the time between samples are taken as just that. */
#define KP_SAME_TIME 1e-6

/* The number of the first sample that is not before time t. */
static double due(double origin, double t) { return ceil((t - origin) / KP_STEP - KP_SAME_TIME); }

/* Say what became of a sample, where that is not what became of the one before it. */
static void tell(kp_instance *self, double t, const double *u, double refused, double bad) {
  const double *x = self->now.x;
  size_t i;
  if (bad == 0 && x[KP_ROW_REFUSED] > refused) {
    for (i = 0; i + 1 < KP_NU && isfinite(u[i]); ++i) continue;
    kp_say(self, KP_WARNING, "'%s' is %g at t = %.9g s: the sample is refused, and %s", kp_names[KP_FIRST_U + i], u[i],
           t, KP_OTHERWISE);
  } else if (bad == 0 && x[KP_ROW_BAD] > 0)
    kp_say(self, KP_WARNING, "the sample at t = %.9g s has no finite result: %s", t, KP_OTHERWISE);
  else if (bad > 0 && x[KP_ROW_BAD] == 0)
    kp_say(self, KP_WARNING, "the sample at t = %.9g s is good again, after %.0f that were refused or failed", t, bad);
}

static kp_status take_sample(kp_instance *self, double t, double after) {
  double u[KP_ROOM(KP_NU)];
  double refused = self->now.x[KP_ROW_REFUSED], bad = self->now.x[KP_ROW_BAD];
  kp_status status;
  size_t i;
  for (i = 0; i < KP_NU; ++i) u[i] = after > 0 ? kp_input_after(self, i, after) : self->now.u[i];
  status = kp_advance(self, t, KP_STEP, u, false);
  if (status == KP_OK) tell(self, t, u, refused, bad);
  return status;
}

kp_status kp_do_step(kp_instance *self, double from, double size) {
  double origin = self->now.x[KP_ROW_ORIGIN], begin = self->now.time, end = from + size, until = HUGE_VAL, t, k, after;
  double next = end;
  bool followed = false;
  kp_status status = kp_check_step(self, from, size);
  if (status != KP_OK || size == 0) return status;
  k = due(origin, begin);
  if (!(due(origin, end) - k < 1e9))
    return kp_say(self, KP_ERROR, "a step of %g s holds more than 1e9 samples, %g s apart", size, KP_STEP);
  kp_stale(self);
  for (t = begin; t < end; t = next) {
    if (due(origin, t + 2 * KP_SAME_TIME * KP_STEP) > k) {
      t = origin + k * KP_STEP;
      after = t - from > KP_SAME_TIME * KP_STEP ? t - from : 0;
      if (self->between && self->asks_inputs && !kp_ask(self, t, false, false, &until)) return KP_ERROR;
      status = take_sample(self, t, self->asks_inputs ? 0 : after);
      if (status != KP_OK) {
        self->now.time = self->last_successful_time = t;
        return status;
      }
      followed = followed || self->now.x[KP_ROW_BAD] > 0;
      k += 1;
    }
    next = origin + k * KP_STEP;
    if (next > end - KP_SAME_TIME * KP_STEP) next = fabs(next - end) <= KP_SAME_TIME * KP_STEP ? next : end;
    if (self->between && !kp_ask(self, next, true, next < end - KP_SAME_TIME * KP_STEP, &until)) return KP_ERROR;
    if (until < end - KP_SAME_TIME * KP_STEP) {
      self->returned_early = true;
      end = until > next ? until : next;
    }
    if (next >= end - KP_SAME_TIME * KP_STEP) break;
  }
  kp_move_inputs(self, end - from);
  kp_hold_inputs(self);
  kp_stale(self);
  self->now.time = next;
  self->last_successful_time = self->returned_early ? next : from + size;
  /* Whoever does something else at a bad sample than to hold still says so with every step. */
  return followed && KP_FOLLOWS ? KP_WARNING : KP_OK;
}

#else
/* C knows no empty files. */
typedef int kp_takes_no_samples;
#endif
