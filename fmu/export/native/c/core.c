/* How an instance begins, and its values. Memory is allocated here alone, but for states that the importer asks for. */

#include "core.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int (*kp_function)(const double **, double **, kp_int *, double *, int);
typedef int (*kp_sizes)(kp_int *, kp_int *, kp_int *, kp_int *);

static bool allocate(kp_workspace *ws, kp_sizes sizes) {
  kp_int arg, res, iw, w;
  sizes(&arg, &res, &iw, &w);
  ws->arg = calloc((size_t)arg + 1, sizeof *ws->arg);
  ws->res = calloc((size_t)res + 1, sizeof *ws->res);
  ws->iw = calloc((size_t)iw + 1, sizeof *ws->iw);
  ws->w = calloc((size_t)w + 1, sizeof *ws->w);
  return ws->arg && ws->res && ws->iw && ws->w;
}

static void release(kp_workspace *ws) {
  free(ws->arg);
  free(ws->res);
  free(ws->iw);
  free(ws->w);
}

static const char *const PHASES[] = {"instantiated",       "in its initialization", "between two steps",
                                     "handling an event", "in continuous time",   "terminated"};

const char *kp_phase_name(const kp_instance *self) { return PHASES[(int)self->now.phase]; }

kp_status kp_say(kp_instance *self, kp_status status, const char *format, ...) {
  char text[1024];
  va_list arguments;
  if (KP_FMI == 3 && status == KP_ERROR) self->now.phase = KP_TERMINATED;
  if (self->logger && (self->logging || status >= KP_WARNING)) {
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    self->logger(self->environment, self->name, status, text);
  }
  return status;
}

bool kp_refused_within(kp_instance *self) {
  if (self->within) kp_say(self, KP_ERROR, "within a step variables can be got and set, and nothing else");
  return self->within;
}

void kp_stale(kp_instance *self) {
  self->y_fresh = false;
  self->dx_fresh = false;
}

void kp_reset(kp_instance *self) {
  memset(&self->now, 0, sizeof self->now);
  memcpy(self->now.p, kp_start_p, sizeof self->now.p);
  memcpy(self->now.u, kp_start_u, sizeof self->now.u);
  memcpy(self->now.x, kp_start_x, sizeof self->now.x);
  self->now.phase = KP_INSTANTIATED;
#if KP_PROJECTS
  self->now.tolerance = KP_TOLERANCE;
#endif
  self->last_successful_time = 0;
  kp_stale(self);
}

kp_instance *kp_create(const char *name, const char *token, kp_logger logger, void *environment, bool logging) {
  kp_instance *self = calloc(1, sizeof *self);
  bool ready;
  if (!self) return NULL;
  self->logger = logger;
  self->environment = environment;
  self->logging = logging;
  name = name && *name ? name : KP_MODEL;
  self->name = malloc(strlen(name) + 1);
  if (self->name) strcpy(self->name, name);
  ready = allocate(&self->step, kp_step_work);
#if KP_NR > 0
  ready = allocate(&self->ramp_step, kp_ramp_step_work) && ready;
#endif
  ready = allocate(&self->outputs, kp_outputs_work) && ready;
  ready = allocate(&self->rhs, kp_rhs_work) && ready;
  ready = allocate(&self->start, kp_start_work) && ready;
  ready = allocate(&self->memory, kp_memory_work) && ready;
  ready = allocate(&self->tangent, kp_tangent_work) && ready;
  ready = allocate(&self->start_tangent, kp_start_tangent_work) && ready;
#if KP_FMI == 3
  ready = allocate(&self->cotangent, kp_cotangent_work) && ready;
  ready = allocate(&self->start_cotangent, kp_start_cotangent_work) && ready;
#endif
  ready = allocate(&self->guard, kp_guard_work) && ready;
#if KP_PROJECTS
  ready = allocate(&self->projected, kp_projected_work) && ready;
#endif
  if (!ready || !self->name) {
    kp_destroy(self);
    return NULL;
  }
  if (!token || strcmp(token, KP_TOKEN) != 0) {
    kp_say(self, KP_ERROR, "this binary belongs to another model description: it has %s, it was given %s", KP_TOKEN,
           token ? token : "none");
    kp_destroy(self);
    return NULL;
  }
  kp_reset(self);
  return self;
}

void kp_destroy(kp_instance *self) {
  if (!self) return;
  release(&self->step);
  release(&self->ramp_step);
  release(&self->outputs);
  release(&self->rhs);
  release(&self->start);
  release(&self->memory);
  release(&self->tangent);
  release(&self->start_tangent);
  release(&self->cotangent);
  release(&self->start_cotangent);
  release(&self->guard);
  release(&self->projected);
  free(self->name);
  free(self->expanded[0]);
  free(self->expanded[1]);
  free(self);
}

/* Evaluate a function of (t, x, u, p) with one result. */
static bool evaluate(kp_instance *self, kp_workspace *ws, kp_function function, double *result) {
  ws->arg[0] = &self->now.time;
  ws->arg[1] = self->now.x;
  ws->arg[2] = self->now.u;
  ws->arg[3] = self->now.p;
  ws->res[0] = result;
  return function(ws->arg, ws->res, ws->iw, ws->w, 0) == 0;
}

kp_status kp_check_given(kp_instance *self) {
#if KP_NQ > 0
  size_t i, k;
  const int *at;
  bool zero;
  for (i = 0; i < KP_NQ; ++i) {
    at = kp_given_quaternions + 4 * i;
    for (k = 0, zero = true; k < 4; ++k) zero = zero && self->now.u[at[k]] == 0;
    if (zero)
      return kp_say(self, KP_ERROR, "the quaternion of '%s', '%s', '%s', '%s' is zero at t = %.9g s, which is no rotation; (1, 0, 0, 0) is none",
                    kp_names[KP_FIRST_U + at[0]], kp_names[KP_FIRST_U + at[1]], kp_names[KP_FIRST_U + at[2]],
                    kp_names[KP_FIRST_U + at[3]], self->now.time);
  }
#else
  (void)self;
#endif
  return KP_OK;
}

static kp_status refresh_outputs(kp_instance *self) {
  size_t i;
  if (self->y_fresh) return KP_OK;
  if (kp_check_given(self) != KP_OK) return KP_ERROR;
  if (!evaluate(self, &self->outputs, kp_outputs, self->y))
    return kp_say(self, KP_ERROR, "the outputs cannot be evaluated at t = %.9g s", self->now.time);
  for (i = 0; i < KP_NY; ++i)
    if (!isfinite(self->y[i]))
      return kp_say(self, KP_ERROR, "output '%s' is %g at t = %.9g s", kp_names[KP_FIRST_Y + i], self->y[i], self->now.time);
  self->y_fresh = true;
  return KP_OK;
}

kp_status kp_refresh_derivatives(kp_instance *self) {
  size_t i;
  if (self->dx_fresh) return KP_OK;
  if (kp_check_given(self) != KP_OK) return KP_ERROR;
  if (!evaluate(self, &self->rhs, kp_rhs, self->dx))
    return kp_say(self, KP_ERROR, "the derivatives cannot be evaluated at t = %.9g s", self->now.time);
  for (i = 0; i < KP_NX; ++i)
    if (!isfinite(self->dx[i]))
      return kp_say(self, KP_ERROR, "'%s' is %g at t = %.9g s", kp_names[KP_FIRST_DX + i], self->dx[i], self->now.time);
  self->dx_fresh = true;
  return KP_OK;
}

kp_status kp_settle(kp_instance *self) {
  double found[KP_ROOM(KP_NX)];
  size_t i;
  if (self->now.phase != KP_INITIALIZING) return KP_OK;
  self->start.arg[0] = self->now.p;
  self->start.res[0] = found;
  if (kp_start(self->start.arg, self->start.res, self->start.iw, self->start.w, 0))
    return kp_say(self, KP_ERROR, "the start values cannot be computed from the parameters");
  for (i = 0; i < KP_NX; ++i)
    if (kp_calculated[i] && !self->now.x_given[i]) {
      if (!isfinite(found[i]))
        return kp_say(self, KP_ERROR, "the parameters make the start value of '%s' %g", kp_names[KP_FIRST_X + i], found[i]);
      if (self->now.x[i] != found[i]) kp_stale(self);
      self->now.x[i] = found[i];
    }
  return KP_OK;
}

/* Scale the quaternions in the state to unit length. */
static kp_status normalize(kp_instance *self) {
#if KP_NE > 0
  double *e, length;
  size_t i;
  for (i = 0; i < KP_NE; ++i) {
    e = self->now.x + kp_quaternions[i];
    length = sqrt(e[0] * e[0] + e[1] * e[1] + e[2] * e[2] + e[3] * e[3]);
    if (!(isfinite(length) && length > 0))
      return kp_say(self, KP_ERROR, "the quaternion that begins with '%s' has length %g, which is no rotation; (1, 0, 0, 0) is none",
                    kp_names[KP_FIRST_X + kp_quaternions[i]], length);
    e[0] /= length;
    e[1] /= length;
    e[2] /= length;
    e[3] /= length;
  }
#else
  (void)self;
#endif
  return KP_OK;
}

int kp_singular_joint(kp_instance *self, const double *x) {
#if KP_NG > 0
  double measures[KP_NG];
  int i;
  self->guard.arg[0] = x;
  self->guard.res[0] = measures;
  if (kp_guard(self->guard.arg, self->guard.res, self->guard.iw, self->guard.w, 0)) return 0;
  for (i = 0; i < KP_NG; ++i)
    if (!(measures[i] > 0)) return i;
#else
  (void)self;
  (void)x;
#endif
  return -1;
}

kp_status kp_setup(kp_instance *self, bool tolerance_defined, double tolerance, double start, bool stop_defined, double stop) {
  if (self->now.phase != KP_INSTANTIATED)
    return kp_say(self, KP_ERROR, "start and stop time cannot be set any more: the model is %s; reset it first",
                  kp_phase_name(self));
  if (!isfinite(start) || (stop_defined && !(stop >= start)))
    return kp_say(self, KP_ERROR, "a run from t = %g s to %g s makes no sense", start, stop);
  if (tolerance_defined && !(isfinite(tolerance) && tolerance > 0))
    return kp_say(self, KP_ERROR, "a tolerance of %g makes no sense", tolerance);
#if KP_PROJECTS
  self->now.tolerance = tolerance_defined ? tolerance : KP_TOLERANCE;
#endif
  self->now.time = start;
  self->now.stop_defined = stop_defined;
  self->now.stop_time = stop_defined ? stop : 0;
  self->last_successful_time = start;
#if KP_SAMPLED
  self->now.x[KP_ROW_ORIGIN] = start;
#endif
  kp_stale(self);
  return KP_OK;
}

kp_status kp_enter_initialization(kp_instance *self) {
  if (self->now.phase != KP_INSTANTIATED)
    return kp_say(self, KP_ERROR, "the initialization cannot begin: the model is %s; reset it first", kp_phase_name(self));
  self->now.phase = KP_INITIALIZING;
  return KP_OK;
}

kp_status kp_exit_initialization(kp_instance *self) {
  int joint;
  if (self->now.phase != KP_INITIALIZING)
    return kp_say(self, KP_ERROR, "there is no initialization to end: the model is %s", kp_phase_name(self));
  if (kp_settle(self) != KP_OK || normalize(self) != KP_OK) return KP_ERROR;
  self->now.memory_step = 0;
  kp_stale(self);
  joint = kp_singular_joint(self, self->now.x);
  if (joint >= 0)
    return kp_say(self, KP_ERROR, "joint '%s' starts where its coordinates are singular; choose other start values",
                  kp_guarded[joint]);
  /* FMI has the first event right after the initialization. */
  self->now.phase = KP_MODEL_EXCHANGE ? KP_EVENT : KP_STEPPING;
  return KP_OK;
}

kp_status kp_enter(kp_instance *self, kp_phase next) {
  bool known = next == KP_TERMINATED || (KP_MODEL_EXCHANGE && (next == KP_EVENT || next == KP_CONTINUOUS));
  if (kp_refused_within(self)) return KP_ERROR;
  /* After an error there is nothing left to terminate, though importers ask for it. */
  if (KP_FMI == 3 && next == KP_TERMINATED && self->now.phase == KP_TERMINATED) return KP_OK;
  if (!known || self->now.phase < KP_STEPPING || self->now.phase == KP_TERMINATED)
    return kp_say(self, KP_ERROR, "the model is %s and cannot be %s", kp_phase_name(self), PHASES[next]);
  self->now.phase = next;
  return KP_OK;
}

kp_status kp_get(kp_instance *self, const unsigned references[], size_t count, double values[]) {
  size_t i;
  unsigned r;
  if (self->within && !self->may_get)
    return kp_say(self, KP_ERROR, "there is nothing to get before the step from t = %.9g s is finished", self->now.time);
  if (kp_settle(self) != KP_OK) return KP_ERROR;
  for (i = 0; i < count; ++i) {
    r = references[i];
    if (r >= KP_COUNT)
      return kp_say(self, KP_ERROR, "there is no variable with value reference %u; the last one is %u", r, KP_COUNT + KP_NA - 1u);
    if (r == 0)
      values[i] = self->now.time;
    else if (r < KP_FIRST_U)
      values[i] = self->now.p[r - KP_FIRST_P];
    else if (r < KP_FIRST_X)
      values[i] = self->now.u[r - KP_FIRST_U];
    else if (r < KP_FIRST_DX)
      values[i] = self->now.x[r - KP_FIRST_X];
    else if (r < KP_FIRST_Y) {
      if (kp_refresh_derivatives(self) != KP_OK) return KP_ERROR;
      values[i] = self->dx[r - KP_FIRST_DX];
    } else {
      if (refresh_outputs(self) != KP_OK) return KP_ERROR;
      values[i] = self->y[r - KP_FIRST_Y];
    }
  }
  return KP_OK;
}

kp_status kp_set(kp_instance *self, const unsigned references[], size_t count, const double values[]) {
  size_t i, k;
  unsigned r;
  bool starting = self->now.phase == KP_INSTANTIATED || self->now.phase == KP_INITIALIZING;
  /* Everything is checked before anything is changed. */
  for (i = 0; i < count; ++i) {
    r = references[i];
    if (r >= KP_COUNT)
      return kp_say(self, KP_ERROR, "there is no variable with value reference %u; the last one is %u", r, KP_COUNT + KP_NA - 1u);
    /* A model that works at sample times looks at its inputs there. */
    if (!isfinite(values[i]) && !(KP_SAMPLED && r >= KP_FIRST_U && r < KP_FIRST_X))
      return kp_say(self, KP_ERROR, "'%s' was set to %g at t = %.9g s; it must be finite", kp_names[r], values[i],
                    self->now.time);
    if (r == 0 || r >= KP_FIRST_DX)
      return kp_say(self, KP_ERROR, "'%s' is computed by the model and cannot be set", kp_names[r]);
    if (self->within && !(self->may_set && r >= KP_FIRST_U && r < KP_FIRST_X))
      return kp_say(self, KP_ERROR, "'%s' cannot be set within a step; inputs can, where values for them are asked for", kp_names[r]);
    if (r >= KP_FIRST_X && !starting)
      return kp_say(self, KP_ERROR, "the start value of '%s' can be set only before the end of the initialization", kp_names[r]);
  }
  for (i = 0; i < count; ++i) {
    r = references[i];
    if (r < KP_FIRST_U) {
      /* What the integrator remembers was found with the old value. */
      if (self->now.p[r - KP_FIRST_P] != values[i]) self->now.memory_step = 0;
      self->now.p[r - KP_FIRST_P] = values[i];
    } else if (r < KP_FIRST_X) {
      self->now.u[r - KP_FIRST_U] = values[i];
      for (k = 0; k < KP_ORDERS; ++k) self->now.u_course[k][r - KP_FIRST_U] = 0;
    } else {
      self->now.x[r - KP_FIRST_X] = values[i];
      self->now.x_given[r - KP_FIRST_X] = 1;
      self->now.memory_step = 0;
    }
  }
  kp_stale(self);
  return KP_OK;
}

kp_status kp_set_input_rates(kp_instance *self, const unsigned references[], size_t count, const int orders[],
                             const double rates[]) {
  size_t i;
  for (i = 0; i < count; ++i) {
    if (references[i] < KP_FIRST_U || references[i] >= KP_FIRST_X)
      return kp_say(self, KP_ERROR, "value reference %u is not an input, so it has no derivative to set", references[i]);
    if (orders[i] < 1 || orders[i] > KP_ORDERS)
      return kp_say(self, KP_ERROR, "derivatives of inputs are taken from order 1 to %d; one of order %d cannot be used", KP_ORDERS,
                    orders[i]);
    if (!isfinite(rates[i]) && !KP_SAMPLED)
      return kp_say(self, KP_ERROR, "the derivative of '%s' was set to %g; it must be finite", kp_names[references[i]], rates[i]);
  }
  for (i = 0; i < count; ++i) {
    double factorial = 1;
    int k;
    for (k = 2; k <= orders[i]; ++k) factorial *= k;
    self->now.u_course[orders[i] - 1][references[i] - KP_FIRST_U] = rates[i] / factorial;
  }
  return KP_OK;
}

double kp_input_after(const kp_instance *self, size_t i, double after) {
  double value = 0;
  int k;
  /* An input that holds does so whatever it is; some models take ones that are not finite. */
  if (!kp_input_moves(self, i)) return self->now.u[i];
  for (k = KP_ORDERS - 1; k >= 0; --k) value = (value + self->now.u_course[k][i]) * after;
  return self->now.u[i] + value;
}

bool kp_input_moves(const kp_instance *self, size_t i) {
  int k;
  for (k = 0; k < KP_ORDERS; ++k)
    if (self->now.u_course[k][i] != 0) return true;
  return false;
}

void kp_move_inputs(kp_instance *self, double after) {
  size_t i;
  int first, k;
  for (i = 0; i < KP_NU; ++i) {
    if (!kp_input_moves(self, i)) continue;
    self->now.u[i] = kp_input_after(self, i, after);
    /* Horner's scheme, once for the value and once for each coefficient: the same polynomial in the time since then. */
    for (first = -1; first < KP_ORDERS; ++first)
      for (k = KP_ORDERS - 2; k >= 0 && k >= first; --k) self->now.u_course[k][i] += after * self->now.u_course[k + 1][i];
  }
}

void kp_hold_inputs(kp_instance *self) { memset(self->now.u_course, 0, sizeof self->now.u_course); }
