/* The time loop of march.c for KP_LANES runs at once: appended to generated C code whose numbers are rows of lanes. */

#define KP_EXPORT __attribute__((visibility("default")))

enum { KP_OK = 0, KP_STEP_FAILED = 1, KP_NOT_FINITE = 2, KP_NO_MEMORY = 3, KP_OUTPUT_NOT_FINITE = 4, KP_SINGULAR = 5 };

/* KP_LANES runs of `n` steps from t0 on. Each has its own state, inputs (a new row every u_every steps; a stride of zero holds the
   first), parameters and outputs, of which there is a row after every `substeps` steps; and its own end: the steps it finished, its status, and
   when it stopped, as in march.c. A run that has stopped is carried along to no effect. Python has the same struct. */
typedef struct {
  casadi_int n, substeps, u_every;
  double t0, h;
  double *x[KP_LANES];
  const double *u[KP_LANES];
  const double *p[KP_LANES];
  double *y[KP_LANES];
  casadi_int u_stride[KP_LANES];
  casadi_int nx, nu, np, ny;
  casadi_int done[KP_LANES];
  casadi_int status[KP_LANES];
  double t_stop[KP_LANES];
} kp_lanes_job;

KP_EXPORT casadi_int kp_lane_count(void) { return KP_LANES; }

typedef struct {
  const kp_lanes **arg;
  kp_lanes **res;
  casadi_int *iw;
  kp_lanes *w;
} kp_workspace;

static kp_lanes *kp_rows(casadi_int n) { return aligned_alloc(8 * KP_LANES, (n + 1) * sizeof(kp_lanes)); }

static int kp_allocate(kp_workspace *ws, int (*work)(casadi_int *, casadi_int *, casadi_int *, casadi_int *)) {
  casadi_int sz_arg, sz_res, sz_iw, sz_w;
  work(&sz_arg, &sz_res, &sz_iw, &sz_w);
  ws->arg = calloc(sz_arg + 1, sizeof *ws->arg);
  ws->res = calloc(sz_res + 1, sizeof *ws->res);
  ws->iw = calloc(sz_iw + 1, sizeof *ws->iw);
  ws->w = kp_rows(sz_w);
  return ws->arg && ws->res && ws->iw && ws->w;
}

static void kp_free(kp_workspace *ws) {
  free(ws->arg);
  free(ws->res);
  free(ws->iw);
  free(ws->w);
}

/* Row `row` of the inputs of every run. */
static void kp_inputs(const kp_lanes_job *job, casadi_int row, kp_lanes *u) {
  for (int k = 0; k < KP_LANES; ++k)
    for (casadi_int j = 0; j < job->nu; ++j) u[j][k] = job->u[k][job->u_stride[k] * row + j];
}

/* Where all of some numbers are finite. */
static kp_truths kp_finite(const kp_lanes *values, casadi_int n) {
  kp_lanes sum = kp_all(0.);
  for (casadi_int j = 0; j < n; ++j) sum += values[j] * 0.;
  return sum == kp_all(0.);
}

/* End the runs of which something does not hold, unless they have ended before; return whether any go on. */
static int kp_go_on(kp_lanes_job *job, kp_truths holds, casadi_int status, double t) {
  int left = 0;
  for (int k = 0; k < KP_LANES; ++k) {
    if (job->status[k] == KP_OK && !holds[k]) {
      job->status[k] = status;
      job->t_stop[k] = t;
    }
    left += job->status[k] == KP_OK;
  }
  return left;
}

typedef struct {
  kp_workspace step, observe, guard;
  kp_lanes *x, *next, *u, *p, *y, *measures;
} kp_lanes_room;

static void kp_begin(kp_lanes_job *job, kp_lanes_room *room) {
  for (int k = 0; k < KP_LANES; ++k) {
    for (casadi_int j = 0; j < job->nx; ++j) room->x[j][k] = job->x[k][j];
    for (casadi_int j = 0; j < job->np; ++j) room->p[j][k] = job->p[k][j];
    job->done[k] = 0;
    job->status[k] = KP_OK;
    job->t_stop[k] = job->t0;
  }
}

/* Put the outputs of all runs that go on into their rows. */
static int kp_put(kp_lanes_job *job, kp_lanes_room *room, casadi_int row, double t) {
  const int left = kp_go_on(job, kp_finite(room->y, job->ny), KP_OUTPUT_NOT_FINITE, t);
  for (int k = 0; k < KP_LANES; ++k)
    if (job->status[k] == KP_OK)
      for (casadi_int j = 0; j < job->ny; ++j) job->y[k][row * job->ny + j] = room->y[j][k];
  return left;
}

static int kp_march_in(kp_lanes_job *job, kp_lanes_room *room) {
  const kp_workspace *ws = &room->step, *wo = &room->observe;
  const kp_lanes h = kp_all(job->h);
  casadi_int i, j, row = -1;
  double time;
  kp_lanes t;
  kp_begin(job, room);
  for (i = 0; i < job->n; ++i) {
    time = job->t0 + i * job->h; /* free of accumulated rounding */
    t = kp_all(time);
    if (i / job->u_every != row) kp_inputs(job, row = i / job->u_every, room->u);
    ws->arg[0] = &t;
    ws->arg[1] = room->x;
    ws->arg[2] = room->u;
    ws->arg[3] = room->p;
    ws->arg[4] = &h;
    ws->res[0] = room->next;
    if (kp_step(ws->arg, ws->res, ws->iw, ws->w, 0)) return KP_STEP_FAILED;
    if (!kp_go_on(job, kp_finite(room->next, job->nx), KP_NOT_FINITE, time)) return KP_OK;
#ifdef KP_HAS_GUARD
    room->guard.arg[0] = room->next;
    room->guard.res[0] = room->measures;
    if (kp_guard(room->guard.arg, room->guard.res, room->guard.iw, room->guard.w, 0)) return KP_STEP_FAILED;
    for (j = 0; j < KP_HAS_GUARD; ++j)
      if (!kp_go_on(job, room->measures[j] > kp_all(0.), KP_SINGULAR, time)) return KP_OK;
#endif
    for (j = 0; j < job->nx; ++j) room->x[j] = room->next[j];
    if ((i + 1) % job->substeps == 0) {
      time = job->t0 + (i + 1) * job->h;
      t = kp_all(time);
      if ((i + 1) / job->u_every != row) kp_inputs(job, row = (i + 1) / job->u_every, room->u);
      wo->arg[0] = &t;
      wo->arg[1] = room->x;
      wo->arg[2] = room->u;
      wo->arg[3] = room->p;
      wo->res[0] = room->y;
      if (kp_observe(wo->arg, wo->res, wo->iw, wo->w, 0)) return KP_STEP_FAILED;
      if (!kp_put(job, room, (i + 1) / job->substeps - 1, time)) return KP_OK;
    }
    for (int k = 0; k < KP_LANES; ++k) job->done[k] += job->status[k] == KP_OK;
  }
  return KP_OK;
}

KP_EXPORT int kp_march_lanes(kp_lanes_job *job) {
  kp_lanes_room room = {0};
  int status = KP_NO_MEMORY, ready = kp_allocate(&room.step, kp_step_work);
  ready = kp_allocate(&room.observe, kp_observe_work) && ready;
#ifdef KP_HAS_GUARD
  ready = kp_allocate(&room.guard, kp_guard_work) && ready;
  ready = (room.measures = kp_rows(KP_HAS_GUARD)) && ready;
#endif
  ready = (room.x = kp_rows(job->nx)) && (room.next = kp_rows(job->nx)) && (room.u = kp_rows(job->nu)) && ready;
  ready = (room.p = kp_rows(job->np)) && (room.y = kp_rows(job->ny)) && ready;
  if (ready) status = kp_march_in(job, &room);
  kp_free(&room.step);
  kp_free(&room.observe);
  kp_free(&room.guard);
  free(room.x);
  free(room.next);
  free(room.u);
  free(room.p);
  free(room.y);
  free(room.measures);
  return status;
}
