/* One instance of a model: its values, its workspaces, and everything that FMI 2 and FMI 3 have in common.

   A value reference is the place of a variable in one row: time, parameters, inputs, states, their derivatives, outputs. */

#ifndef KP_CORE_H
#define KP_CORE_H

#include <stdbool.h>
#include <stddef.h>

#include "model.h"

#if defined(_WIN32)
#define KP_LOCAL
#define KP_EXPORT __declspec(dllexport)
#else
#define KP_LOCAL __attribute__((visibility("hidden")))
#define KP_EXPORT __attribute__((visibility("default")))
#endif

/* No array has length zero in C. */
#define KP_ROOM(n) ((n) > 0 ? (n) : 1)

/* Errors of constraints and quaternions that are worth an event, in parts of what the solver lets pass in one step: more often, and
   a solver of many steps would begin anew all the time. */
#define KP_DRIFT 100.0
/* Errors that are rounding, and the rounds in which larger ones must become so. */
#define KP_MENDED 1e-12
#define KP_MENDING_ROUNDS 10

enum {
  KP_FIRST_P = 1,
  KP_FIRST_U = KP_FIRST_P + KP_NP,
  KP_FIRST_X = KP_FIRST_U + KP_NU,
  KP_FIRST_DX = KP_FIRST_X + KP_NX,
  KP_FIRST_Y = KP_FIRST_DX + KP_NX,
  KP_COUNT = KP_FIRST_Y + KP_NY
};

/* In the order of fmi2Status and fmi3Status. */
typedef enum { KP_OK, KP_WARNING, KP_DISCARD, KP_ERROR, KP_FATAL } kp_status;
/* FMI 3 ends an instance that answered with an error; until it is reset or set to an earlier state, its values can be read. */
typedef enum { KP_INSTANTIATED, KP_INITIALIZING, KP_STEPPING, KP_EVENT, KP_CONTINUOUS, KP_TERMINATED } kp_phase;

/* What rollback and serialisation keep: everything that later results depend on. */
typedef struct {
  double time;
  double p[KP_ROOM(KP_NP)];
  double u[KP_ROOM(KP_NU)];
  /* How inputs change from now on, if the importer tells: for each power of the time since, the coefficient of every input. */
  double u_course[KP_ORDERS][KP_ROOM(KP_NU)];
  double x[KP_ROOM(KP_NX)];
  double stop_time;
  double phase;
  double stop_defined;
  /* Which start values the importer has set, so that they are not computed from parameters. */
  double x_given[KP_ROOM(KP_NX)];
  /* What the integrator carries from step to step beside the state, and the step length that it is for; 0: begin anew. */
  double memory[KP_ROOM(KP_NM)];
  double memory_step;
#if KP_PROJECTS
  /* What the importer's solver works with, as far as it tells. */
  double tolerance;
#endif
} kp_state;

typedef struct {
  const double **arg;
  double **res;
  kp_int *iw;
  double *w;
} kp_workspace;

typedef void (*kp_logger)(void *environment, const char *instance, kp_status status, const char *text);
typedef struct kp_instance kp_instance;
/* Lets the importer look at a step that is finished, or give the inputs of one that is to come; it may make ``until`` earlier. */
typedef void (*kp_between)(kp_instance *self, double time, bool finished, bool more, double *until);

struct kp_instance {
  kp_state now;
  double y[KP_ROOM(KP_NY)];
  double dx[KP_ROOM(KP_NX)];
  bool y_fresh;
  bool dx_fresh;
  double last_successful_time;
  kp_workspace step, ramp_step, outputs, rhs, guard, start, memory, tangent, start_tangent, projected, cotangent,
      start_cotangent;
  /* The state, followed by the integrator's memory, before and after a step. */
  double before[KP_ROOM(KP_NX + KP_NM)];
  double following[KP_ROOM(KP_NX + KP_NM)];
  double seed[1 + KP_NX + KP_NU + KP_NP];
  double sensitivity[KP_ROOM(KP_NX + KP_NY)];
  double mended[KP_ROOM(KP_NX)];
  char *name;
  kp_logger logger;
  void *environment;
  bool logging;
  kp_between between;
  /* Whether the importer gives inputs within a communication step. */
  bool asks_inputs;
  /* What it may do while it is asked, in the middle of a step. */
  bool within, may_get, may_set;
  bool returned_early;
  /* Room for the components of arrays that a call names. */
  unsigned *expanded[2];
  size_t room[2];
};

KP_LOCAL kp_instance *kp_create(const char *name, const char *token, kp_logger logger, void *environment, bool logging);
KP_LOCAL void kp_destroy(kp_instance *self);
KP_LOCAL kp_status kp_say(kp_instance *self, kp_status status, const char *format, ...);
KP_LOCAL void kp_reset(kp_instance *self);
/* Whether a call comes at a time at which the importer is only asked about a step that is under way. */
KP_LOCAL bool kp_refused_within(kp_instance *self);
KP_LOCAL const char *kp_phase_name(const kp_instance *self);
/* Values have changed, so that outputs and derivatives must be computed again. */
KP_LOCAL void kp_stale(kp_instance *self);
/* While the initialization lasts, let start values that are formulas of parameters follow them. */
KP_LOCAL kp_status kp_settle(kp_instance *self);
KP_LOCAL kp_status kp_refresh_derivatives(kp_instance *self);
/* Refuse a rotation from outside whose quaternion is zero, by its name: what follows from it is no number. */
KP_LOCAL kp_status kp_check_given(kp_instance *self);
/* The place of the first joint whose coordinates are singular in state x, or -1. */
KP_LOCAL int kp_singular_joint(kp_instance *self, const double *x);

KP_LOCAL kp_status kp_setup(kp_instance *self, bool tolerance_defined, double tolerance, double start, bool stop_defined,
                            double stop);
KP_LOCAL kp_status kp_enter_initialization(kp_instance *self);
KP_LOCAL kp_status kp_exit_initialization(kp_instance *self);
/* Go on to another phase after the initialization. */
KP_LOCAL kp_status kp_enter(kp_instance *self, kp_phase next);

KP_LOCAL kp_status kp_get(kp_instance *self, const unsigned references[], size_t count, double values[]);
KP_LOCAL kp_status kp_set(kp_instance *self, const unsigned references[], size_t count, const double values[]);
KP_LOCAL kp_status kp_set_input_rates(kp_instance *self, const unsigned references[], size_t count, const int orders[],
                                      const double rates[]);
/* An input some time from now, as far as the importer has told how it changes; whether it does; and now as it is then. */
KP_LOCAL double kp_input_after(const kp_instance *self, size_t i, double after);
KP_LOCAL bool kp_input_moves(const kp_instance *self, size_t i);
KP_LOCAL void kp_move_inputs(kp_instance *self, double after);
/* From now on all inputs hold. */
KP_LOCAL void kp_hold_inputs(kp_instance *self);
KP_LOCAL kp_status kp_do_step(kp_instance *self, double from, double size);
/* Parts of it: what can be said against it before it begins; one internal step, the state changes only if all went well, with
   inputs u or, if they change during it (ramps), their values, the time of these, and coefficients; and a look of the importer at the
   state at time t, or at the inputs that hold there, false if it did what ends the instance. */
KP_LOCAL kp_status kp_check_step(kp_instance *self, double from, double size);
KP_LOCAL kp_status kp_advance(kp_instance *self, double t, double h, const double *u, bool ramps);
KP_LOCAL bool kp_ask(kp_instance *self, double t, bool finished, bool more, double *until);

KP_LOCAL kp_status kp_set_time(kp_instance *self, double time);
KP_LOCAL kp_status kp_set_states(kp_instance *self, const double x[], size_t count);
KP_LOCAL kp_status kp_get_states(kp_instance *self, double x[], size_t count);
KP_LOCAL kp_status kp_get_derivatives(kp_instance *self, double dx[], size_t count);
KP_LOCAL kp_status kp_get_nominals(kp_instance *self, double nominals[], size_t count);

/* Whether an integrator that has taken a step must let the state be mended in an event, or stop there. */
KP_LOCAL kp_status kp_completed_step(kp_instance *self, bool *event, bool *terminate);
/* In an event: take errors of constraints and quaternions out of the state, and say whether that changed it. */
KP_LOCAL kp_status kp_update(kp_instance *self, bool *states_changed);

/* sensitivity = d unknowns / d knowns * seed */
KP_LOCAL kp_status kp_directional(kp_instance *self, const unsigned unknowns[], size_t unknown_count, const unsigned knowns[],
                                  size_t known_count, const double seed[], double sensitivity[]);

/* sensitivity = (d unknowns / d knowns)' * seed; in FMI 3 alone */
KP_LOCAL kp_status kp_adjoint(kp_instance *self, const unsigned unknowns[], size_t unknown_count, const unsigned knowns[],
                              size_t known_count, const double seed[], double sensitivity[]);

KP_LOCAL kp_status kp_get_state(kp_instance *self, void **state);
KP_LOCAL kp_status kp_set_state(kp_instance *self, const void *state);
KP_LOCAL kp_status kp_free_state(kp_instance *self, void **state);
KP_LOCAL size_t kp_serialized_size(void);
KP_LOCAL kp_status kp_serialize(kp_instance *self, const void *state, char bytes[], size_t size);
KP_LOCAL kp_status kp_deserialize(kp_instance *self, const char bytes[], size_t size, void **state);

#endif
