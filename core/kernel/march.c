/* The time loop around a compiled step, and the sampling of outputs: appended to the C code that CasADi generates.
   Both are called through ctypes, so the interpreter's lock is free while they run. */

#include <stdlib.h>

#ifdef _WIN32
#define KP_EXPORT __declspec(dllexport)
#else
#define KP_EXPORT __attribute__((visibility("default")))
#endif

enum { KP_OK = 0, KP_STEP_FAILED = 1, KP_NOT_FINITE = 2, KP_NO_MEMORY = 3, KP_OUTPUT_NOT_FINITE = 4, KP_SINGULAR = 5 };

typedef struct {
  const casadi_real **arg;
  casadi_real **res;
  casadi_int *iw;
  casadi_real *w;
} kp_workspace;

static int kp_allocate(kp_workspace *ws, int (*work)(casadi_int *, casadi_int *, casadi_int *, casadi_int *)) {
  casadi_int sz_arg, sz_res, sz_iw, sz_w;
  work(&sz_arg, &sz_res, &sz_iw, &sz_w);
  ws->arg = calloc(sz_arg + 1, sizeof *ws->arg);
  ws->res = calloc(sz_res + 1, sizeof *ws->res);
  ws->iw = calloc(sz_iw + 1, sizeof *ws->iw);
  ws->w = calloc(sz_w + 1, sizeof *ws->w);
  return ws->arg && ws->res && ws->iw && ws->w;
}

static void kp_free(kp_workspace *ws) {
  free(ws->arg);
  free(ws->res);
  free(ws->iw);
  free(ws->w);
}

/* Row i of the inputs; a stride of zero holds the first row for good. */
#define KP_ROW(u, stride, i) ((u) + (stride) * (i))

#ifdef KP_HAS_OBSERVE
/* y[i] = observe(t[i], x[i], u[i], p[i]) for i = 0 .. n-1 */
KP_EXPORT int kp_sample(casadi_int n, const double *t, const double *x, casadi_int nx, const double *u,
                        casadi_int u_stride, const double *p, casadi_int p_stride, double *y, casadi_int ny) {
  kp_workspace ws;
  casadi_int i;
  int status = KP_NO_MEMORY;
  if (kp_allocate(&ws, kp_observe_work)) {
    status = KP_OK;
    for (i = 0; i < n && status == KP_OK; ++i) {
      ws.arg[0] = t + i;
      ws.arg[1] = x + i * nx;
      ws.arg[2] = KP_ROW(u, u_stride, i);
      ws.arg[3] = KP_ROW(p, p_stride, i);
      ws.res[0] = y + i * ny;
      if (kp_observe(ws.arg, ws.res, ws.iw, ws.w, 0)) status = KP_STEP_FAILED;
    }
  }
  kp_free(&ws);
  return status;
}
#endif

#ifdef KP_HAS_GUARD
/* Whether every joint's coordinates are far enough from a singularity. */
static int kp_regular(const kp_workspace *wg, const double *x, double *measures, casadi_int n) {
  casadi_int j;
  wg->arg[0] = x;
  wg->res[0] = measures;
  if (kp_guard(wg->arg, wg->res, wg->iw, wg->w, 0)) return 0;
  for (j = 0; j < n; ++j)
    if (!(measures[j] > 0)) return 0;
  return 1;
}
#endif

#ifdef KP_HAS_STEP
/* What a time loop needs beside its arrays; kept from call to call. */
typedef struct {
  kp_workspace step, observe;
#ifdef KP_HAS_GUARD
  kp_workspace guard;
  double measures[KP_HAS_GUARD];
#endif
  double *next;
} kp_room;

/* A time loop, with a new row of inputs every u_every steps: steps first .. first + n - 1 of a run that began at t0. x holds the state before and after; after every `substeps`
   steps the outputs go into the next row of y, of which the first is that of sample `y_first` + 1. `done` counts finished steps; on failure t_stop is the start of the failed step,
   or the time of outputs that are not finite, and x the last good state; `before` is the state before the first step. The state
   after every `keep` steps goes into the next row of `trail`, if there is one; its row 0 is the state before step `trail_first`.
   `told` adds up what steps tell beside their states, over all calls.
   Python has the same struct. */
typedef struct {
  casadi_int first, n, substeps, u_every;
  double t0, h;
  double *x;
  casadi_int nx;
  const double *u;
  casadi_int u_stride;
  const double *p;
  double *y;
  casadi_int ny;
  casadi_int done;
  double t_stop;
  double *before;
  double *trail;
  casadi_int keep, trail_first;
  casadi_int y_first;
  double told;
  kp_room *room;
} kp_job;

KP_EXPORT void kp_release(kp_job *job) {
  kp_room *room = job->room;
  if (!room) return;
  free(room->next);
  kp_free(&room->step);
  kp_free(&room->observe);
#ifdef KP_HAS_GUARD
  kp_free(&room->guard);
#endif
  free(room);
  job->room = 0;
}

static int kp_furnish(kp_job *job) {
  int ready;
  kp_room *room;
  if (job->room) return 1;
  job->room = room = calloc(1, sizeof *room);
  if (!room) return 0;
  room->next = malloc((job->nx + 1) * sizeof *room->next);
  ready = kp_allocate(&room->step, kp_step_work);
  ready = kp_allocate(&room->observe, kp_observe_work) && ready && room->next;
#ifdef KP_HAS_GUARD
  ready = kp_allocate(&room->guard, kp_guard_work) && ready;
#endif
  if (!ready) kp_release(job);
  return ready;
}

/* Step i starts at t0 + i h, free of accumulated rounding. */
KP_EXPORT int kp_march(kp_job *job) {
  const casadi_int nx = job->nx, ny = job->ny, substeps = job->substeps;
  const casadi_int every = job->u_every ? job->u_every : substeps;
  casadi_int i, j, row;
  double t, told = 0;
  int status = KP_OK;
  kp_workspace *ws, *wo;
  double *next, *x = job->x;
  job->done = 0;
  job->t_stop = job->t0;
  if (!kp_furnish(job)) return KP_NO_MEMORY;
  ws = &job->room->step;
  wo = &job->room->observe;
  next = job->room->next;
  for (j = 0; j < nx; ++j) job->before[j] = x[j];
  for (i = job->first; i < job->first + job->n && status == KP_OK; ++i) {
    t = job->t0 + i * job->h;
    ws->arg[0] = &t;
    ws->arg[1] = x;
    ws->arg[2] = KP_ROW(job->u, job->u_stride, i / every);
    ws->arg[3] = job->p;
    ws->arg[4] = &job->h;
    ws->res[0] = next;
#ifdef KP_STEP_TELLS
    ws->res[1] = &told;
#endif
    if (kp_step(ws->arg, ws->res, ws->iw, ws->w, 0)) status = KP_STEP_FAILED;
    for (j = 0; j < nx && status == KP_OK; ++j)
      if (!isfinite(next[j])) status = KP_NOT_FINITE;
#ifdef KP_HAS_GUARD
    if (status == KP_OK && !kp_regular(&job->room->guard, next, job->room->measures, KP_HAS_GUARD)) status = KP_SINGULAR;
#endif
    if (status == KP_OK) {
      for (j = 0; j < nx; ++j) x[j] = next[j];
      if ((i + 1) % substeps == 0) {
        row = (i + 1) / substeps;
        t = job->t0 + (i + 1) * job->h;
        wo->arg[0] = &t;
        wo->arg[1] = x;
        wo->arg[2] = KP_ROW(job->u, job->u_stride, (i + 1) / every);
        wo->arg[3] = job->p;
        wo->res[0] = job->y + (row - 1 - job->y_first) * ny;
        if (kp_observe(wo->arg, wo->res, wo->iw, wo->w, 0)) status = KP_STEP_FAILED;
        for (j = 0; j < ny && status == KP_OK; ++j)
          if (!isfinite(wo->res[0][j])) status = KP_OUTPUT_NOT_FINITE;
      }
    }
    if (status == KP_OK && job->trail && (i + 1 - job->trail_first) % job->keep == 0)
      for (j = 0; j < nx; ++j) job->trail[(i + 1 - job->trail_first) / job->keep * nx + j] = x[j];
    if (status == KP_OK) {
      ++job->done;
      job->told += told;
    } else
      job->t_stop = t;
  }
  return status;
}
#endif
