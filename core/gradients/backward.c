/* The way back along a run: what each step, and each sample, hands on of the derivatives of a number at the end. Appended to the
   C code of kp_pull and kp_look that CasADi generates, behind march.c. */

/* Steps first + n - 1 .. first of a run, backwards; x holds the states before each of them and after the last. `weights` has a
   row for each sample of the run: how the number depends on what is looked at there. `lam` is how it depends on the state, at
   the end before and at the begin after the call; `own` is the room for what a function hands back: derivatives with respect to
   the state, the row of inputs and the parameters. Those of rows and parameters are added up. Python has the same struct. */
typedef struct {
  casadi_int first, n, substeps, u_every;
  double t0, h;
  const double *x;
  casadi_int nx;
  const double *u;
  casadi_int u_stride, nu;
  const double *p;
  casadi_int np;
  const double *weights;
  casadi_int nw;
  double *lam, *by_rows, *by_parameters, *own;
  double t_stop;
} kp_way_back;

static int kp_nothing(const double *values, casadi_int n) {
  casadi_int j;
  for (j = 0; j < n; ++j)
    if (values[j] != 0) return 0;
  return 1;
}

/* Add what was handed back for a row of inputs and for the parameters. */
static void kp_collect(kp_way_back *job, casadi_int row) {
  casadi_int j;
  const double *own = job->own + job->nx;
  double *by_row = job->by_rows + row * job->nu;
  for (j = 0; j < job->nu; ++j) by_row[j] += own[j];
  for (j = 0; j < job->np; ++j) job->by_parameters[j] += own[job->nu + j];
}

/* What sample number `sample`, at the state x after step - 1, adds. */
static int kp_look_back(kp_way_back *job, kp_workspace *ws, const double *x, casadi_int step) {
  casadi_int j, row = step / job->u_every;
  const double *weights = job->weights + step / job->substeps * job->nw;
  double t = job->t0 + step * job->h;
  if (kp_nothing(weights, job->nw)) return KP_OK;
  ws->arg[0] = &t;
  ws->arg[1] = x;
  ws->arg[2] = KP_ROW(job->u, job->u_stride, row);
  ws->arg[3] = job->p;
  ws->arg[4] = weights;
  ws->res[0] = job->own;
  if (kp_look(ws->arg, ws->res, ws->iw, ws->w, 0)) return KP_STEP_FAILED;
  for (j = 0; j < job->nx; ++j) {
    job->lam[j] += job->own[j];
    if (!isfinite(job->lam[j])) return KP_OUTPUT_NOT_FINITE;
  }
  kp_collect(job, row);
  return KP_OK;
}

static int kp_step_back(kp_way_back *job, kp_workspace *ws, const double *x, casadi_int step) {
  casadi_int j, row = step / job->u_every;
  double t = job->t0 + step * job->h;
  ws->arg[0] = &t;
  ws->arg[1] = x;
  ws->arg[2] = KP_ROW(job->u, job->u_stride, row);
  ws->arg[3] = job->p;
  ws->arg[4] = &job->h;
  ws->arg[5] = job->lam;
  ws->res[0] = job->own;
  if (kp_pull(ws->arg, ws->res, ws->iw, ws->w, 0)) return KP_STEP_FAILED;
  for (j = 0; j < job->nx; ++j) {
    job->lam[j] = job->own[j];
    if (!isfinite(job->lam[j])) return KP_NOT_FINITE;
  }
  kp_collect(job, row);
  return KP_OK;
}

KP_EXPORT int kp_back(kp_way_back *job) {
  kp_workspace pull, look;
  casadi_int i;
  int ready, status = KP_NO_MEMORY;
  ready = kp_allocate(&pull, kp_pull_work);
  ready = kp_allocate(&look, kp_look_work) && ready;
  if (ready) {
    status = KP_OK;
    for (i = job->first + job->n - 1; i >= job->first && status == KP_OK; --i) {
      job->t_stop = job->t0 + i * job->h;
      if ((i + 1) % job->substeps == 0) status = kp_look_back(job, &look, job->x + (i + 1 - job->first) * job->nx, i + 1);
      /* Before the first weight there is nothing to hand on. */
      if (status == KP_OK && !kp_nothing(job->lam, job->nx))
        status = kp_step_back(job, &pull, job->x + (i - job->first) * job->nx, i);
    }
    if (status == KP_OK && job->first == 0) status = kp_look_back(job, &look, job->x, 0);
  }
  kp_free(&pull);
  kp_free(&look);
  return status;
}
