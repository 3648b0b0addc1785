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
/* Take steps first .. first + n - 1 of a run. x holds the state before and after; after every `substeps` steps the outputs
   go into the next row of y. *done counts finished steps; on failure *t_stop is the start of the failed step, or the time
   of outputs that are not finite, and x the last good state. Step i starts at t0 + i h, free of accumulated rounding. */
KP_EXPORT int kp_march(casadi_int first, casadi_int n, casadi_int substeps, double t0, double h, double *x, casadi_int nx,
                       const double *u, casadi_int u_stride, const double *p, double *y, casadi_int ny,
                       casadi_int *done, double *t_stop) {
  kp_workspace ws, wo;
#ifdef KP_HAS_GUARD
  kp_workspace wg;
  double measures[KP_HAS_GUARD];
#endif
  casadi_int i, j, row;
  double t;
  int status = KP_OK;
  double *next = malloc((nx + 1) * sizeof *next);
  int ready = kp_allocate(&ws, kp_step_work);
  ready = kp_allocate(&wo, kp_observe_work) && ready && next;
#ifdef KP_HAS_GUARD
  ready = kp_allocate(&wg, kp_guard_work) && ready;
#endif
  *done = 0;
  *t_stop = t0;
  if (!ready) status = KP_NO_MEMORY;
  for (i = first; i < first + n && status == KP_OK; ++i) {
    t = t0 + i * h;
    ws.arg[0] = &t;
    ws.arg[1] = x;
    ws.arg[2] = KP_ROW(u, u_stride, i / substeps);
    ws.arg[3] = p;
    ws.arg[4] = &h;
    ws.res[0] = next;
    if (kp_step(ws.arg, ws.res, ws.iw, ws.w, 0)) status = KP_STEP_FAILED;
    for (j = 0; j < nx && status == KP_OK; ++j)
      if (!isfinite(next[j])) status = KP_NOT_FINITE;
#ifdef KP_HAS_GUARD
    if (status == KP_OK && !kp_regular(&wg, next, measures, KP_HAS_GUARD)) status = KP_SINGULAR;
#endif
    if (status == KP_OK) {
      for (j = 0; j < nx; ++j) x[j] = next[j];
      if ((i + 1) % substeps == 0) {
        row = (i + 1) / substeps;
        t = t0 + (i + 1) * h;
        wo.arg[0] = &t;
        wo.arg[1] = x;
        wo.arg[2] = KP_ROW(u, u_stride, row);
        wo.arg[3] = p;
        wo.res[0] = y + (row - 1) * ny;
        if (kp_observe(wo.arg, wo.res, wo.iw, wo.w, 0)) status = KP_STEP_FAILED;
        for (j = 0; j < ny && status == KP_OK; ++j)
          if (!isfinite(wo.res[0][j])) status = KP_OUTPUT_NOT_FINITE;
      }
    }
    if (status == KP_OK)
      ++*done;
    else
      *t_stop = t;
  }
  free(next);
  kp_free(&ws);
  kp_free(&wo);
#ifdef KP_HAS_GUARD
  kp_free(&wg);
#endif
  return status;
}
#endif
