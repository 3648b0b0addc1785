/* See core.h. Nothing here allocates memory after kp_create, but for states that the importer asks for. */

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

kp_status kp_say(kp_instance *self, kp_status status, const char *format, ...) {
  char text[1024];
  va_list arguments;
  if (self->logger && (self->logging || status >= KP_DISCARD)) {
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    self->logger(self->environment, self->name, status, text);
  }
  return status;
}

static void stale(kp_instance *self) {
  self->y_fresh = false;
  self->dx_fresh = false;
}

void kp_reset(kp_instance *self) {
  memset(&self->now, 0, sizeof self->now);
  memcpy(self->now.p, kp_start_p, sizeof self->now.p);
  memcpy(self->now.u, kp_start_u, sizeof self->now.u);
  memcpy(self->now.x, kp_start_x, sizeof self->now.x);
  self->now.phase = KP_INSTANTIATED;
  self->last_successful_time = 0;
  stale(self);
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
  ready = allocate(&self->outputs, kp_outputs_work) && ready;
  ready = allocate(&self->rhs, kp_rhs_work) && ready;
  ready = allocate(&self->start, kp_start_work) && ready;
  ready = allocate(&self->tangent, kp_tangent_work) && ready;
  ready = allocate(&self->guard, kp_guard_work) && ready;
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
  release(&self->outputs);
  release(&self->rhs);
  release(&self->start);
  release(&self->tangent);
  release(&self->guard);
  free(self->name);
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

static kp_status refresh_outputs(kp_instance *self) {
  size_t i;
  if (self->y_fresh) return KP_OK;
  if (!evaluate(self, &self->outputs, kp_outputs, self->y))
    return kp_say(self, KP_ERROR, "the outputs cannot be evaluated at t = %.9g s", self->now.time);
  for (i = 0; i < KP_NY; ++i)
    if (!isfinite(self->y[i]))
      return kp_say(self, KP_ERROR, "output '%s' is %g at t = %.9g s", kp_names[KP_FIRST_Y + i], self->y[i], self->now.time);
  self->y_fresh = true;
  return KP_OK;
}

static kp_status refresh_derivatives(kp_instance *self) {
  size_t i;
  if (self->dx_fresh) return KP_OK;
  if (!evaluate(self, &self->rhs, kp_rhs, self->dx))
    return kp_say(self, KP_ERROR, "the derivatives cannot be evaluated at t = %.9g s", self->now.time);
  for (i = 0; i < KP_NX; ++i)
    if (!isfinite(self->dx[i]))
      return kp_say(self, KP_ERROR, "'%s' is %g at t = %.9g s", kp_names[KP_FIRST_DX + i], self->dx[i], self->now.time);
  self->dx_fresh = true;
  return KP_OK;
}

/* Compute the start values that are formulas of parameters, unless the importer has set them. */
static bool compute_start(kp_instance *self) {
  double found[KP_ROOM(KP_NX)];
  size_t i;
  self->start.arg[0] = self->now.p;
  self->start.res[0] = found;
  if (kp_start(self->start.arg, self->start.res, self->start.iw, self->start.w, 0)) return false;
  for (i = 0; i < KP_NX; ++i)
    if (kp_calculated[i] && !self->now.x_given[i]) self->now.x[i] = found[i];
  stale(self);
  return true;
}

/* Return the place of the first joint whose coordinates are singular in state x, or -1. */
static int singular_joint(kp_instance *self, const double *x) {
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

kp_status kp_enter_initialization(kp_instance *self, double start, bool stop_defined, double stop) {
  if (!isfinite(start) || (stop_defined && !(stop >= start)))
    return kp_say(self, KP_ERROR, "a run from t = %g s to %g s makes no sense", start, stop);
  self->now.time = start;
  self->now.stop_defined = stop_defined;
  self->now.stop_time = stop_defined ? stop : 0;
  self->now.phase = KP_INITIALIZING;
  self->last_successful_time = start;
  stale(self);
  return KP_OK;
}

kp_status kp_exit_initialization(kp_instance *self, kp_phase next) {
  int joint;
  if (!compute_start(self)) return kp_say(self, KP_ERROR, "the start values cannot be computed from the parameters");
  joint = singular_joint(self, self->now.x);
  if (joint >= 0)
    return kp_say(self, KP_ERROR, "joint '%s' starts where its coordinates are singular; choose other start values",
                  kp_guarded[joint]);
  self->now.phase = next;
  return KP_OK;
}

kp_status kp_get(kp_instance *self, const unsigned references[], size_t count, double values[]) {
  size_t i;
  unsigned r;
  if (self->now.phase == KP_INITIALIZING && !compute_start(self))
    return kp_say(self, KP_ERROR, "the start values cannot be computed from the parameters");
  for (i = 0; i < count; ++i) {
    r = references[i];
    if (r >= KP_COUNT)
      return kp_say(self, KP_ERROR, "there is no variable with value reference %u; the last one is %u", r, KP_COUNT - 1u);
    if (r == 0)
      values[i] = self->now.time;
    else if (r < KP_FIRST_U)
      values[i] = self->now.p[r - KP_FIRST_P];
    else if (r < KP_FIRST_X)
      values[i] = self->now.u[r - KP_FIRST_U];
    else if (r < KP_FIRST_DX)
      values[i] = self->now.x[r - KP_FIRST_X];
    else if (r < KP_FIRST_Y) {
      if (refresh_derivatives(self) != KP_OK) return KP_ERROR;
      values[i] = self->dx[r - KP_FIRST_DX];
    } else {
      if (refresh_outputs(self) != KP_OK) return KP_ERROR;
      values[i] = self->y[r - KP_FIRST_Y];
    }
  }
  return KP_OK;
}

kp_status kp_set(kp_instance *self, const unsigned references[], size_t count, const double values[]) {
  size_t i;
  unsigned r;
  bool starting = self->now.phase == KP_INSTANTIATED || self->now.phase == KP_INITIALIZING;
  /* Everything is checked before anything is changed. */
  for (i = 0; i < count; ++i) {
    r = references[i];
    if (r >= KP_COUNT)
      return kp_say(self, KP_ERROR, "there is no variable with value reference %u; the last one is %u", r, KP_COUNT - 1u);
    if (!isfinite(values[i]))
      return kp_say(self, KP_ERROR, "'%s' was set to %g at t = %.9g s; it must be finite", kp_names[r], values[i],
                    self->now.time);
    if (r == 0 || r >= KP_FIRST_DX)
      return kp_say(self, KP_ERROR, "'%s' is computed by the model and cannot be set", kp_names[r]);
    if (r >= KP_FIRST_X && !starting)
      return kp_say(self, KP_ERROR, "the start value of '%s' can be set only before the end of the initialization", kp_names[r]);
  }
  for (i = 0; i < count; ++i) {
    r = references[i];
    if (r < KP_FIRST_U)
      self->now.p[r - KP_FIRST_P] = values[i];
    else if (r < KP_FIRST_X) {
      self->now.u[r - KP_FIRST_U] = values[i];
      self->now.u_rate[r - KP_FIRST_U] = 0;
    } else {
      self->now.x[r - KP_FIRST_X] = values[i];
      self->now.x_given[r - KP_FIRST_X] = 1;
    }
  }
  stale(self);
  return KP_OK;
}

kp_status kp_set_input_rates(kp_instance *self, const unsigned references[], size_t count, const int orders[],
                             const double rates[]) {
  size_t i;
  for (i = 0; i < count; ++i) {
    if (references[i] < KP_FIRST_U || references[i] >= KP_FIRST_X)
      return kp_say(self, KP_ERROR, "value reference %u is not an input, so it has no derivative to set", references[i]);
    if (orders[i] != 1)
      return kp_say(self, KP_ERROR, "inputs are interpolated to first order; a derivative of order %d cannot be used", orders[i]);
    if (!isfinite(rates[i]))
      return kp_say(self, KP_ERROR, "the derivative of '%s' was set to %g; it must be finite", kp_names[references[i]], rates[i]);
  }
  for (i = 0; i < count; ++i) self->now.u_rate[references[i] - KP_FIRST_U] = rates[i];
  return KP_OK;
}

/* One internal step from time t, with the inputs in u; the state changes only if all went well. */
static kp_status advance(kp_instance *self, double t, double h, const double *u) {
  kp_workspace *ws = &self->step;
  size_t i;
  int joint;
  ws->arg[0] = &t;
  ws->arg[1] = self->now.x;
  ws->arg[2] = u;
  ws->arg[3] = self->now.p;
  ws->arg[4] = &h;
  ws->res[0] = self->following;
  if (kp_step(ws->arg, ws->res, ws->iw, ws->w, 0))
    return kp_say(self, KP_DISCARD, "the step of %g s from t = %.9g s found no solution; try a shorter one", h, t);
  for (i = 0; i < KP_NX; ++i)
    if (!isfinite(self->following[i]))
      return kp_say(self, KP_DISCARD, "'%s' becomes %g in the step of %g s from t = %.9g s, where it was %.9g; try a shorter step",
                    kp_names[KP_FIRST_X + i], self->following[i], h, t, self->now.x[i]);
  joint = singular_joint(self, self->following);
  if (joint >= 0)
    return kp_say(self, KP_DISCARD, "joint '%s' is about to lock at t = %.9g s: its coordinates become singular",
                  kp_guarded[joint], t + h);
  memcpy(self->now.x, self->following, sizeof self->now.x);
  return KP_OK;
}

kp_status kp_do_step(kp_instance *self, double from, double size) {
  double u[KP_ROOM(KP_NU)];
  double h, count;
  long k, n;
  size_t i;
  bool ramps = false;
  kp_status status;
  /* Times that importers add up step by step wander by rounding; anything larger is a misunderstanding. */
  double slack = 1e-6 * fabs(size) + 1e-9 * fabs(self->now.time);
  if (!isfinite(size) || size < 0) return kp_say(self, KP_ERROR, "a communication step of %g s is impossible", size);
  if (!(fabs(from - self->now.time) <= slack))
    return kp_say(self, KP_ERROR, "a step from t = %.9g s was asked for, but the model is at t = %.9g s", from, self->now.time);
  if (self->now.stop_defined && from + size > self->now.stop_time + slack)
    return kp_say(self, KP_ERROR, "a step to t = %.9g s was asked for, beyond the stop time of %.9g s", from + size,
                  self->now.stop_time);
  if (size == 0) return KP_OK;
  /* As many internal steps as fit, none longer than the one the model was exported with. */
  count = ceil(size / KP_STEP * (1 - 1e-9));
  if (!(count < 1e9)) return kp_say(self, KP_ERROR, "a step of %g s holds more than 1e9 internal steps of %g s", size, KP_STEP);
  n = count < 1 ? 1 : (long)count;
  h = size / (double)n;
  for (i = 0; i < KP_NU; ++i) {
    u[i] = self->now.u[i];
    ramps = ramps || self->now.u_rate[i] != 0;
  }
  stale(self);
  for (k = 0; k < n; ++k) {
    /* An input that changes linearly acts with its value in the middle of the step. */
    if (ramps)
      for (i = 0; i < KP_NU; ++i) u[i] = self->now.u[i] + self->now.u_rate[i] * ((double)k + 0.5) * h;
    status = advance(self, from + (double)k * h, h, u);
    if (status != KP_OK) {
      for (i = 0; i < KP_NU; ++i) self->now.u[i] += self->now.u_rate[i] * (double)k * h;
      self->now.time = from + (double)k * h;
      self->last_successful_time = self->now.time;
      return status;
    }
  }
  for (i = 0; i < KP_NU; ++i) {
    self->now.u[i] += self->now.u_rate[i] * size;
    self->now.u_rate[i] = 0;
  }
  self->now.time = from + size;
  self->last_successful_time = self->now.time;
  return KP_OK;
}

kp_status kp_set_time(kp_instance *self, double time) {
  if (!isfinite(time)) return kp_say(self, KP_ERROR, "the time was set to %g", time);
  self->now.time = time;
  stale(self);
  return KP_OK;
}

static kp_status check_count(kp_instance *self, size_t count) {
  if (count == KP_NX) return KP_OK;
  return kp_say(self, KP_ERROR, "the model has %d continuous states, not %lu", KP_NX, (unsigned long)count);
}

kp_status kp_set_states(kp_instance *self, const double x[], size_t count) {
  size_t i;
  if (check_count(self, count) != KP_OK) return KP_ERROR;
  for (i = 0; i < count; ++i)
    if (!isfinite(x[i]))
      return kp_say(self, KP_DISCARD, "'%s' was set to %g at t = %.9g s", kp_names[KP_FIRST_X + i], x[i], self->now.time);
  memcpy(self->now.x, x, count * sizeof *x);
  stale(self);
  return KP_OK;
}

kp_status kp_get_states(kp_instance *self, double x[], size_t count) {
  if (check_count(self, count) != KP_OK) return KP_ERROR;
  memcpy(x, self->now.x, count * sizeof *x);
  return KP_OK;
}

kp_status kp_get_derivatives(kp_instance *self, double dx[], size_t count) {
  if (check_count(self, count) != KP_OK || refresh_derivatives(self) != KP_OK) return KP_ERROR;
  memcpy(dx, self->dx, count * sizeof *dx);
  return KP_OK;
}

kp_status kp_get_nominals(kp_instance *self, double nominals[], size_t count) {
  if (check_count(self, count) != KP_OK) return KP_ERROR;
  memcpy(nominals, kp_nominal_x, count * sizeof *nominals);
  return KP_OK;
}

kp_status kp_directional(kp_instance *self, const unsigned unknowns[], size_t unknown_count, const unsigned knowns[],
                         size_t known_count, const double seed[], double sensitivity[]) {
  kp_workspace *ws = &self->tangent;
  size_t i;
  unsigned r;
  double *seeds = self->seed, *found = self->sensitivity;
  memset(seeds, 0, sizeof self->seed);
  for (i = 0; i < known_count; ++i) {
    r = knowns[i];
    if (r >= KP_FIRST_X && r < KP_FIRST_DX)
      seeds[r - KP_FIRST_X] += seed[i];
    else if (r >= KP_FIRST_U && r < KP_FIRST_X)
      seeds[KP_NX + r - KP_FIRST_U] += seed[i];
    else if (r >= KP_FIRST_P && r < KP_FIRST_U)
      seeds[KP_NX + KP_NU + r - KP_FIRST_P] += seed[i];
    else
      return kp_say(self, KP_ERROR, "no derivative with respect to value reference %u: it is no state, input or parameter", r);
  }
  ws->arg[0] = &self->now.time;
  ws->arg[1] = self->now.x;
  ws->arg[2] = self->now.u;
  ws->arg[3] = self->now.p;
  ws->arg[4] = seeds;
  ws->res[0] = found;
  if (kp_tangent(ws->arg, ws->res, ws->iw, ws->w, 0))
    return kp_say(self, KP_ERROR, "the derivatives cannot be evaluated at t = %.9g s", self->now.time);
  for (i = 0; i < unknown_count; ++i) {
    r = unknowns[i];
    if (r >= KP_FIRST_DX && r < KP_COUNT)
      sensitivity[i] = found[r - KP_FIRST_DX];
    else if (r >= KP_FIRST_X && r < KP_FIRST_DX)
      sensitivity[i] = seeds[r - KP_FIRST_X];
    else
      return kp_say(self, KP_ERROR, "value reference %u is no output, state or derivative", r);
    if (!isfinite(sensitivity[i]))
      return kp_say(self, KP_ERROR, "the derivative of '%s' is %g at t = %.9g s", kp_names[r], sensitivity[i], self->now.time);
  }
  return KP_OK;
}

kp_status kp_get_state(kp_instance *self, void **state) {
  if (!*state) *state = malloc(sizeof self->now);
  if (!*state) return kp_say(self, KP_ERROR, "no memory for a copy of the state");
  memcpy(*state, &self->now, sizeof self->now);
  return KP_OK;
}

kp_status kp_set_state(kp_instance *self, const void *state) {
  if (!state) return kp_say(self, KP_ERROR, "there is no state to go back to");
  memcpy(&self->now, state, sizeof self->now);
  self->last_successful_time = self->now.time;
  stale(self);
  return KP_OK;
}

kp_status kp_free_state(kp_instance *self, void **state) {
  (void)self;
  if (state) {
    free(*state);
    *state = NULL;
  }
  return KP_OK;
}

/* Serialised: eight letters, the token, the state as it is in memory. */
static const char MAGIC[8] = {'k', 'p', 's', 't', 'a', 't', 'e', '1'};

size_t kp_serialized_size(void) { return sizeof MAGIC + sizeof KP_TOKEN + sizeof(kp_state); }

kp_status kp_serialize(kp_instance *self, const void *state, char bytes[], size_t size) {
  if (!state || size < kp_serialized_size())
    return kp_say(self, KP_ERROR, "a state takes %lu bytes, not %lu", (unsigned long)kp_serialized_size(), (unsigned long)size);
  memcpy(bytes, MAGIC, sizeof MAGIC);
  memcpy(bytes + sizeof MAGIC, KP_TOKEN, sizeof KP_TOKEN);
  memcpy(bytes + sizeof MAGIC + sizeof KP_TOKEN, state, sizeof(kp_state));
  return KP_OK;
}

kp_status kp_deserialize(kp_instance *self, const char bytes[], size_t size, void **state) {
  if (size < kp_serialized_size() || memcmp(bytes, MAGIC, sizeof MAGIC) != 0 ||
      memcmp(bytes + sizeof MAGIC, KP_TOKEN, sizeof KP_TOKEN) != 0)
    return kp_say(self, KP_ERROR, "these %lu bytes are not a state of this model", (unsigned long)size);
  if (!*state) *state = malloc(sizeof(kp_state));
  if (!*state) return kp_say(self, KP_ERROR, "no memory for a state");
  memcpy(*state, bytes + sizeof MAGIC + sizeof KP_TOKEN, sizeof(kp_state));
  return KP_OK;
}
