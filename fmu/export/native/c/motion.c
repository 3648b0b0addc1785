/* How an instance moves: its own steps, the motion that an importer integrates, and derivatives along a direction, and back. */

#include "core.h"

#include <math.h>
#include <string.h>

/* Let the integrator begin anew where its memory does not belong to the state and to steps of length h. Lengths that differ by
   rounding, as those of an importer that subtracts times, are the same. */
static kp_status remember(kp_instance *self, double t, double h, const double *u) {
#if KP_NM > 0
  kp_workspace *ws = &self->memory;
  size_t i;
  if (self->now.memory_step > 0 && fabs(h - self->now.memory_step) <= 1e-6 * h) return KP_OK;
  ws->arg[0] = &t;
  ws->arg[1] = self->now.x;
  ws->arg[2] = u;
  ws->arg[3] = self->now.p;
  ws->arg[4] = &h;
  ws->res[0] = self->now.memory;
  self->now.memory_step = 0;
  if (kp_memory(ws->arg, ws->res, ws->iw, ws->w, 0))
    return kp_say(self, KP_DISCARD, "the integrator cannot begin at t = %.9g s: what it needs there cannot be evaluated", t);
  for (i = 0; i < KP_NM; ++i)
    if (!isfinite(self->now.memory[i]))
      return kp_say(self, KP_DISCARD, "the integrator cannot begin at t = %.9g s: what it needs there is %g", t,
                    self->now.memory[i]);
  self->now.memory_step = h;
#else
  (void)self;
  (void)t;
  (void)h;
  (void)u;
#endif
  return KP_OK;
}

kp_status kp_advance(kp_instance *self, double t, double h, const double *u, bool ramps) {
  kp_workspace *ws = ramps && KP_NR > 0 ? &self->ramp_step : &self->step;
  size_t i;
  int joint, failed;
  if (remember(self, t, h, u) != KP_OK) return KP_DISCARD;
  memcpy(self->before, self->now.x, KP_NX * sizeof *self->before);
  memcpy(self->before + KP_NX, self->now.memory, KP_NM * sizeof *self->before);
  ws->arg[0] = &t;
  ws->arg[1] = self->before;
  ws->arg[2] = u;
  ws->arg[3] = self->now.p;
  ws->arg[4] = &h;
  ws->res[0] = self->following;
#if KP_NR > 0
  failed = (ramps ? kp_ramp_step : kp_step)(ws->arg, ws->res, ws->iw, ws->w, 0);
#else
  failed = kp_step(ws->arg, ws->res, ws->iw, ws->w, 0);
#endif
  if (failed)
    return kp_say(self, KP_DISCARD, "the step of %g s from t = %.9g s found no solution; try a shorter one", h, t);
  for (i = 0; i < KP_NX; ++i)
    if (!isfinite(self->following[i]))
      return kp_say(self, KP_DISCARD, "'%s' becomes %g in the step of %g s from t = %.9g s, where it was %.9g; try a shorter step",
                    kp_names[KP_FIRST_X + i], self->following[i], h, t, self->now.x[i]);
  joint = kp_singular_joint(self, self->following);
  if (joint >= 0)
    return kp_say(self, KP_DISCARD, "joint '%s' is about to lock at t = %.9g s: its coordinates become singular",
                  kp_guarded[joint], t + h);
  for (i = KP_NX; i < KP_NX + KP_NM; ++i)
    if (!isfinite(self->following[i]))
      return kp_say(self, KP_DISCARD, "what the integrator remembers becomes %g in the step of %g s from t = %.9g s; try a shorter step",
                    self->following[i], h, t);
  memcpy(self->now.x, self->following, KP_NX * sizeof *self->following);
  memcpy(self->now.memory, self->following + KP_NX, KP_NM * sizeof *self->following);
  return KP_OK;
}

bool kp_ask(kp_instance *self, double t, bool finished, bool more, double *until) {
  self->now.time = t;
  kp_stale(self);
  self->within = true;
  self->may_get = finished;
  self->may_set = self->asks_inputs;
  self->between(self, t, finished, more, until);
  self->within = false;
  return self->now.phase == KP_STEPPING;
}

kp_status kp_check_step(kp_instance *self, double from, double size) {
  /* Times that importers add up step by step wander by rounding; anything larger is a misunderstanding. */
  double slack = 1e-6 * fabs(size) + 1e-9 * fabs(self->now.time);
  self->returned_early = false;
  if (kp_refused_within(self)) return KP_ERROR;
  if (self->now.phase != KP_STEPPING)
    return kp_say(self, KP_ERROR, "a step was asked for, but the model is %s", kp_phase_name(self));
  if (!isfinite(size) || size < 0) return kp_say(self, KP_ERROR, "a communication step of %g s is impossible", size);
  if (!(fabs(from - self->now.time) <= slack))
    return kp_say(self, KP_ERROR, "a step from t = %.9g s was asked for, but the model is at t = %.9g s", from, self->now.time);
  if (self->now.stop_defined && from + size > self->now.stop_time + slack)
    return kp_say(self, KP_ERROR, "a step to t = %.9g s was asked for, beyond the stop time of %.9g s", from + size,
                  self->now.stop_time);
  return kp_check_given(self);
}

#if !KP_SAMPLED
/* The number of internal steps from time zero to t, or -1 if it is not whole. Times that importers add up wander by rounding:
   those that are whole are taken as just that, so that a result depends neither on who counts nor on how steps are divided. */
static double whole_steps(double t) {
  double n = round(t / KP_STEP);
  return n >= 0 && fabs(t - n * KP_STEP) <= 1e-6 * KP_STEP ? n : -1;
}

/* Write how inputs change from time t on into the row u of a step that asks itself for values, at the times at which it needs
   them; the values at t are there. */
static void write_course(const kp_instance *self, double *u, double t) {
#if KP_NR > 0
  size_t i;
  int k;
  u[KP_NU] = t;
  for (i = 0; i < KP_NU; ++i)
    for (k = 0; k < KP_ORDERS && kp_rate_places[i] >= 0; ++k) u[kp_rate_places[i] + k] = self->now.u_course[k][i];
#else
  (void)self;
  (void)u;
  (void)t;
#endif
}

/* Ask the importer for the inputs in the middle and at the end of an internal step of length h, and write them into its row: as
   the parabolas through these and the values at the begin. False if the importer did what ends the instance. */
static bool ask_course(kp_instance *self, double t, double h, double *until, double *u) {
#if KP_NR > 0
  double middle[KP_ROOM(KP_NU)];
  size_t i;
  memcpy(u, self->now.u, KP_NU * sizeof *u);
  if (!kp_ask(self, t + 0.5 * h, false, false, until)) return false;
  memcpy(middle, self->now.u, KP_NU * sizeof *u);
  if (!kp_ask(self, t + h, false, false, until)) return false;
  for (i = 0; i < KP_NU; ++i) {
    self->now.u_course[0][i] = (4 * middle[i] - 3 * u[i] - self->now.u[i]) / h;
    self->now.u_course[1][i] = 2 * (u[i] - 2 * middle[i] + self->now.u[i]) / (h * h);
  }
  write_course(self, u, t);
  kp_hold_inputs(self);
#else
  /* An integrator that remembers inputs from step to step sees each with its value in the middle of the step. */
  if (!kp_ask(self, t + 0.5 * h, false, false, until)) return false;
  memcpy(u, self->now.u, KP_NU * sizeof *u);
#endif
  return true;
}

kp_status kp_do_step(kp_instance *self, double from, double size) {
  double u[KP_ROOM(KP_NU > KP_NR ? KP_NU : KP_NR)] = {0};
  double h, length, t, count, until = HUGE_VAL, first = whole_steps(from), last = whole_steps(from + size);
  long k, n;
  size_t i;
  bool moves = false;
  kp_status status = kp_check_step(self, from, size);
  if (status != KP_OK || size == 0) return status;
  /* As many internal steps as fit, none longer than the one the model was exported with. */
  count = ceil(size / KP_STEP * (1 - 1e-9));
  if (!(count < 1e9)) return kp_say(self, KP_ERROR, "a step of %g s holds more than 1e9 internal steps of %g s", size, KP_STEP);
  n = count < 1 ? 1 : (long)count;
  if (first < 0 || last <= first) first = last = -1;
  if (last > 0) n = (long)(last - first);
  h = last > 0 ? KP_STEP : size / (double)n;
  for (i = 0; i < KP_NU; ++i) {
    u[i] = self->now.u[i];
    moves = moves || kp_input_moves(self, i);
  }
  write_course(self, u, last > 0 ? first * h : from);
  kp_stale(self);
  for (k = 0; k < n; ++k) {
    t = last > 0 ? (first + (double)k) * h : from + (double)k * h;
    /* The importer may want to go no further than to some time within this step. */
    length = until - t < h * (1 - 1e-9) ? until - t : h;
    self->returned_early = length < h;
    if (!(length > 1e-9 * h)) break;
    if (self->between && self->asks_inputs) {
      if (!ask_course(self, t, length, &until, u)) return KP_ERROR;
      moves = true;
    } else if (moves && KP_NR == 0) {
      /* An integrator that remembers inputs from step to step sees each with its value in the middle of the step. */
      for (i = 0; i < KP_NU; ++i) u[i] = kp_input_after(self, i, ((double)k + 0.5) * h);
    }
    status = kp_advance(self, t, length, u, moves);
    if (status != KP_OK) {
      if (!self->asks_inputs) kp_move_inputs(self, (double)k * h);
      self->now.time = self->last_successful_time = t;
      return status;
    }
    t = self->returned_early ? until : last > 0 ? (first + (double)k + 1) * h : k + 1 < n ? from + ((double)k + 1) * h : from + size;
    if (self->between && !kp_ask(self, t, true, k + 1 < n && !self->returned_early, &until)) return KP_ERROR;
    if (self->returned_early) break;
  }
  kp_move_inputs(self, size);
  kp_hold_inputs(self);
  kp_stale(self);
  self->now.time = t;
  self->last_successful_time = self->returned_early ? t : from + size;
  return KP_OK;
}
#endif

kp_status kp_set_time(kp_instance *self, double time) {
  if (!isfinite(time)) return kp_say(self, KP_ERROR, "the time was set to %g", time);
  self->now.time = time;
  kp_stale(self);
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
  self->now.memory_step = 0;
  kp_stale(self);
  return KP_OK;
}

kp_status kp_get_states(kp_instance *self, double x[], size_t count) {
  if (check_count(self, count) != KP_OK || kp_settle(self) != KP_OK) return KP_ERROR;
  memcpy(x, self->now.x, count * sizeof *x);
  return KP_OK;
}

kp_status kp_get_derivatives(kp_instance *self, double dx[], size_t count) {
  if (check_count(self, count) != KP_OK || kp_settle(self) != KP_OK || kp_refresh_derivatives(self) != KP_OK) return KP_ERROR;
  memcpy(dx, self->dx, count * sizeof *dx);
  return KP_OK;
}

kp_status kp_get_nominals(kp_instance *self, double nominals[], size_t count) {
  if (check_count(self, count) != KP_OK) return KP_ERROR;
  memcpy(nominals, kp_nominal_x, count * sizeof *nominals);
  return KP_OK;
}

#if KP_PROJECTS
/* Find the state without errors of constraints and quaternions, and how far it is from x: in parts of what a solver with a
   relative tolerance of 1 would let pass. */
static bool mend(kp_instance *self, const double *x, double *distance) {
  kp_workspace *ws = &self->projected;
  double part;
  size_t i;
  ws->arg[0] = &self->now.time;
  ws->arg[1] = x;
  ws->arg[2] = self->now.u;
  ws->arg[3] = self->now.p;
  ws->res[0] = self->mended;
  if (kp_projected(ws->arg, ws->res, ws->iw, ws->w, 0)) return false;
  *distance = 0;
  for (i = 0; i < KP_NX; ++i) {
    part = fabs(self->mended[i] - x[i]) / (fabs(self->mended[i]) + kp_nominal_x[i]);
    if (!isfinite(part)) return false;
    if (part > *distance) *distance = part;
  }
  return true;
}
#endif

kp_status kp_completed_step(kp_instance *self, bool *event, bool *terminate) {
  int joint = kp_singular_joint(self, self->now.x);
  *event = false;
  *terminate = joint >= 0;
  if (joint >= 0) {
    kp_say(self, KP_DISCARD, "joint '%s' is about to lock at t = %.9g s: its coordinates become singular", kp_guarded[joint],
           self->now.time);
    return KP_OK;
  }
#if KP_PROJECTS
  {
    double distance;
    /* Where no mended state can be found, the event says so. */
    *event = !mend(self, self->now.x, &distance) || distance > KP_DRIFT * self->now.tolerance;
  }
#endif
  return KP_OK;
}

kp_status kp_update(kp_instance *self, bool *states_changed) {
  *states_changed = false;
  if (self->now.phase != KP_EVENT)
    return kp_say(self, KP_ERROR, "discrete states are updated in an event, but the model is %s", kp_phase_name(self));
#if KP_PROJECTS
  {
    double distance, x[KP_NX];
    int round;
    memcpy(x, self->now.x, sizeof x);
    for (round = 0; round < KP_MENDING_ROUNDS; ++round) {
      if (!mend(self, x, &distance)) break;
      if (distance <= KP_MENDED) {
        if (*states_changed) kp_set_states(self, x, KP_NX);
        return KP_OK;
      }
      memcpy(x, self->mended, sizeof x);
      *states_changed = true;
    }
    *states_changed = false;
    return kp_say(self, KP_ERROR, "the constraints of the model cannot be satisfied near the state that it has at t = %.9g s: give "
                  "start values nearer to closed loops, or let the solver take shorter steps", self->now.time);
  }
#else
  return KP_OK;
#endif
}

/* During the initialization, parameters also act through the start values that are formulas of them. */
static bool seed_start(kp_instance *self, double *seeds) {
  kp_workspace *ws = &self->start_tangent;
  double found[KP_ROOM(KP_NX)];
  size_t i;
  if (self->now.phase != KP_INITIALIZING) return true;
  ws->arg[0] = self->now.p;
  ws->arg[1] = seeds + 1 + KP_NX + KP_NU;
  ws->res[0] = found;
  if (kp_start_tangent(ws->arg, ws->res, ws->iw, ws->w, 0)) return false;
  for (i = 0; i < KP_NX; ++i)
    if (kp_calculated[i] && !self->now.x_given[i]) seeds[1 + i] += found[i];
  return true;
}

kp_status kp_directional(kp_instance *self, const unsigned unknowns[], size_t unknown_count, const unsigned knowns[],
                         size_t known_count, const double seed[], double sensitivity[]) {
  kp_workspace *ws = &self->tangent;
  size_t i;
  unsigned r;
  double *seeds = self->seed, *found = self->sensitivity;
  if (KP_SAMPLED) return kp_say(self, KP_ERROR, "a model that works at sample times has no derivatives along a direction");
  if (kp_settle(self) != KP_OK) return KP_ERROR;
  memset(seeds, 0, sizeof self->seed);
  for (i = 0; i < known_count; ++i) {
    r = knowns[i];
    if (r == 0)
      seeds[0] += seed[i];
    else if (r >= KP_FIRST_X && r < KP_FIRST_DX)
      seeds[1 + r - KP_FIRST_X] += seed[i];
    else if (r >= KP_FIRST_U && r < KP_FIRST_X)
      seeds[1 + KP_NX + r - KP_FIRST_U] += seed[i];
    else if (r >= KP_FIRST_P && r < KP_FIRST_U)
      seeds[1 + KP_NX + KP_NU + r - KP_FIRST_P] += seed[i];
    else
      return kp_say(self, KP_ERROR, "no derivative with respect to value reference %u: it is no state, input or parameter", r);
  }
  ws->arg[0] = &self->now.time;
  ws->arg[1] = self->now.x;
  ws->arg[2] = self->now.u;
  ws->arg[3] = self->now.p;
  ws->arg[4] = seeds;
  ws->res[0] = found;
  if (!seed_start(self, seeds) || kp_tangent(ws->arg, ws->res, ws->iw, ws->w, 0))
    return kp_say(self, KP_ERROR, "the derivatives cannot be evaluated at t = %.9g s", self->now.time);
  for (i = 0; i < unknown_count; ++i) {
    r = unknowns[i];
    if (r >= KP_FIRST_DX && r < KP_COUNT)
      sensitivity[i] = found[r - KP_FIRST_DX];
    else if (r >= KP_FIRST_X && r < KP_FIRST_DX)
      sensitivity[i] = seeds[1 + r - KP_FIRST_X];
    else
      return kp_say(self, KP_ERROR, "value reference %u is no output, state or derivative", r);
    if (!isfinite(sensitivity[i]))
      return kp_say(self, KP_ERROR, "the derivative of '%s' is %g at t = %.9g s", kp_names[r], sensitivity[i], self->now.time);
  }
  return KP_OK;
}

#if KP_FMI == 3
/* During the initialization, what is handed back to start values that are formulas of parameters goes on to these. */
static bool hand_on_start(kp_instance *self, double *handed) {
  kp_workspace *ws = &self->start_cotangent;
  double weights[KP_ROOM(KP_NX)], found[KP_ROOM(KP_NP)];
  size_t i;
  if (self->now.phase != KP_INITIALIZING) return true;
  for (i = 0; i < KP_NX; ++i) weights[i] = kp_calculated[i] && !self->now.x_given[i] ? handed[1 + i] : 0;
  ws->arg[0] = self->now.p;
  ws->arg[1] = weights;
  ws->res[0] = found;
  if (kp_start_cotangent(ws->arg, ws->res, ws->iw, ws->w, 0)) return false;
  for (i = 0; i < KP_NP; ++i) handed[1 + KP_NX + KP_NU + i] += found[i];
  return true;
}

kp_status kp_adjoint(kp_instance *self, const unsigned unknowns[], size_t unknown_count, const unsigned knowns[],
                     size_t known_count, const double seed[], double sensitivity[]) {
  kp_workspace *ws = &self->cotangent;
  double of_states[KP_ROOM(KP_NX)];
  double *weights = self->sensitivity, *handed = self->seed;
  size_t i;
  unsigned r;
  if (KP_SAMPLED) return kp_say(self, KP_ERROR, "a model that works at sample times has no adjoint derivatives");
  if (kp_settle(self) != KP_OK) return KP_ERROR;
  memset(weights, 0, sizeof self->sensitivity);
  memset(of_states, 0, sizeof of_states);
  for (i = 0; i < unknown_count; ++i) {
    r = unknowns[i];
    if (r >= KP_FIRST_DX && r < KP_COUNT)
      weights[r - KP_FIRST_DX] += seed[i];
    else if (r >= KP_FIRST_X && r < KP_FIRST_DX)
      of_states[r - KP_FIRST_X] += seed[i];
    else
      return kp_say(self, KP_ERROR, "value reference %u is no output, state or derivative", r);
  }
  ws->arg[0] = &self->now.time;
  ws->arg[1] = self->now.x;
  ws->arg[2] = self->now.u;
  ws->arg[3] = self->now.p;
  ws->arg[4] = weights;
  ws->res[0] = handed;
  if (kp_cotangent(ws->arg, ws->res, ws->iw, ws->w, 0))
    return kp_say(self, KP_ERROR, "the derivatives cannot be evaluated at t = %.9g s", self->now.time);
  for (i = 0; i < KP_NX; ++i) handed[1 + i] += of_states[i];
  if (!hand_on_start(self, handed))
    return kp_say(self, KP_ERROR, "the derivatives of start values cannot be evaluated at t = %.9g s", self->now.time);
  for (i = 0; i < known_count; ++i) {
    r = knowns[i];
    if (r == 0)
      sensitivity[i] = handed[0];
    else if (r >= KP_FIRST_X && r < KP_FIRST_DX)
      sensitivity[i] = handed[1 + r - KP_FIRST_X];
    else if (r >= KP_FIRST_U && r < KP_FIRST_X)
      sensitivity[i] = handed[1 + KP_NX + r - KP_FIRST_U];
    else if (r >= KP_FIRST_P && r < KP_FIRST_U)
      sensitivity[i] = handed[1 + KP_NX + KP_NU + r - KP_FIRST_P];
    else
      return kp_say(self, KP_ERROR, "no derivative with respect to value reference %u: it is no state, input or parameter", r);
    if (!isfinite(sensitivity[i]))
      return kp_say(self, KP_ERROR, "the derivative with respect to '%s' is %g at t = %.9g s", kp_names[r], sensitivity[i],
                    self->now.time);
  }
  return KP_OK;
}
#endif
