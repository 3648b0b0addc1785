/* Communication steps of a coupled system. A step is a row of operations: numbers are moved, functions of FMUs and the time loops
   of compiled models are called. What compiled.py hands over stays in Python's memory, and its structures are the same as here. */

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

enum { KP_MOVE, KP_PACK, KP_UNPACK, KP_TABLE, KP_SCALE, KP_ADD, KP_CALL, KP_CALL_SIZED, KP_STEP, KP_MARCH };
/* How kp_steps ended; and why a step of an FMU did, if its status does not tell. */
enum { KP_GOES_ON, KP_IN_STEP, KP_LOOK_CLOSELY, KP_JUDGE, KP_IN_RECORD, KP_LOOK_BESIDE };
enum { KP_STATUS, KP_ENDED, KP_NO_PROGRESS };
/* Times closer than this part of a step are the same; as in instance.py. */
static const double KP_SAME_TIME = 1e-9;

typedef struct {
  int64_t kind, n, size;      /* what is done with how many; the numbers behind n variables, the FMI of a step, whether steps fit */
  int64_t type, forward;      /* the type of numbers that are no doubles, in the order of KP_EACH_TYPE */
  void *function, *handle;
  const void *references;
  void *source, *target;
  const int64_t *source_at, *target_at;
  const double *factors, *offsets;
  double own, slack;
} kp_operation;

/* Values that are watched, as in watch.py. */
typedef struct {
  int64_t n, count, stretch;
  const double *values;
  double *good, *ring, *largest, *times, *most;
  int64_t *stretches;
  const int64_t *part;
  double growth, rounding, oscillating;
  int64_t least;
} kp_watch;

typedef struct {
  int64_t effort_out, effort_in, flow_out, flow_in;
} kp_bond;

typedef struct {
  const kp_operation *step, *record;
  int64_t steps, records;
  double first, h, limit;     /* times of a step, and after how many seconds of the clock to come back */
  int64_t count, done, most;  /* steps since `first`, steps of this call, and how many it may take */
  kp_watch *watch, *beside;
  const kp_bond *bonds;
  int64_t n_bonds;
  const double *inputs, *factors, *offsets;
  double *energies;
  int64_t per_sample, columns;
  const int64_t *column;
  int64_t samples;            /* that were kept in this call, in the rows of `times` and `rows` */
  double *times, *rows;
  int64_t at, status, why;    /* the operation that stopped it, what that said, and a step of an FMU from `begin` by `length` */
  double begin, length, end, last;
} kp_job;

#define KP_EACH_TYPE(DO) \
  switch (op->type) { \
    case 0: DO(double) case 1: DO(float) case 2: DO(int8_t) case 3: DO(uint8_t) case 4: DO(int16_t) case 5: DO(uint16_t) \
    case 6: DO(int32_t) case 7: DO(uint32_t) case 8: DO(int64_t) case 9: DO(uint64_t) default: DO(bool) \
  }
#define KP_TO(T) { T *to = op->target; for (k = 0; k < op->n; ++k) to[op->target_at[k]] = (T)from[op->source_at[k]]; break; }
#define KP_FROM(T) { const T *of = op->source; for (k = 0; k < op->n; ++k) into[op->target_at[k]] = (double)of[op->source_at[k]]; break; }

/* A step of an FMU in n equal parts; what returns early goes on from there. */
static int kp_fmu_step(kp_job *job, const kp_operation *op, double t0) {
  for (int64_t k = 0; k < op->n; ++k) {
    double a = (double)k * job->h / (double)op->n, b = (double)(k + 1) * job->h / (double)op->n;
    double t = t0 + a, h = b - a, end = t + h, last = 0;
    bool again = true, event = false, ended = false, early = false;
    while (again) {
      int status;
      if (op->size == 1) status = ((int (*)(void *, double, double, char))op->function)(op->handle, t, h, 1);
      else if (op->size == 2) status = ((int (*)(void *, double, double, int))op->function)(op->handle, t, h, (int)op->forward);
      else
        status = ((int (*)(void *, double, double, bool, bool *, bool *, bool *, double *))op->function)(
            op->handle, t, h, op->forward != 0, &event, &ended, &early, &last);
      again = early && last < end - KP_SAME_TIME * h;
      job->status = status;
      job->why = status > 1 ? KP_STATUS : ended ? KP_ENDED : KP_NO_PROGRESS;
      job->begin = t; job->length = h; job->end = end; job->last = last;
      if (status > 1 || ended || (again && !(t < last && last <= end))) return 1;
      if (again) { t = last; h = end - t; }
    }
  }
  return 0;
}

/* Carry operations out; return whether one of them stopped it. */
static int kp_do(kp_job *job, const kp_operation *operations, int64_t count, double t) {
  for (int64_t i = 0; i < count; ++i) {
    const kp_operation *op = operations + i;
    const double *from = op->source;
    double *into = op->target;
    int64_t k;
    int status = 0;
    switch (op->kind) {
      case KP_MOVE: for (k = 0; k < op->n; ++k) into[op->target_at[k]] = from[op->source_at[k]]; break;
      case KP_PACK: KP_EACH_TYPE(KP_TO) break;
      case KP_UNPACK:
        /* A truth value is any byte but zero. */
        if (op->type == 10) for (k = 0; k < op->n; ++k) into[op->target_at[k]] = ((uint8_t *)op->source)[op->source_at[k]] != 0;
        else KP_EACH_TYPE(KP_FROM)
        break;
      case KP_TABLE:
        for (k = 0; k < op->n; ++k) if (*into == op->factors[k]) { *into = op->offsets[k]; break; }
        break;
      case KP_SCALE:
        for (k = 0; k < op->n; ++k) { into[k] *= op->factors[k]; into[k] += op->offsets[k]; }
        break;
      case KP_ADD: for (k = 0; k < op->n; ++k) into[op->target_at[k]] += op->factors[k] * from[op->source_at[k]]; break;
      case KP_CALL:
        status = ((int (*)(void *, const void *, size_t, void *))op->function)(op->handle, op->references, (size_t)op->n, into);
        break;
      case KP_CALL_SIZED:
        status = ((int (*)(void *, const void *, size_t, void *, size_t))op->function)(
            op->handle, op->references, (size_t)op->n, into, (size_t)op->size);
        break;
      case KP_STEP:
        job->at = i;
        if (kp_fmu_step(job, op, t)) return 1;
        break;
      case KP_MARCH:
        /* From whole multiples of the model's own step, if that fits; a zero has no sign, as in Python's whole numbers. */
        *into = op->size ? (nearbyint(t / op->own) + 0.0) * op->own : t;
        job->at = i;
        job->status = -1;  /* the time is off its multiples */
        if (!(fabs(t - *into) <= op->slack)) return 1;
        status = 2 * ((int (*)(void *))op->function)(op->handle);
        break;
    }
    if (status > 1) {
      job->at = i;
      job->status = op->kind == KP_MARCH ? status / 2 : status;
      return 1;
    }
  }
  return 0;
}

/* Look at values that were reached: 1 if they are not all finite, 2 if some have grown for long. */
static int kp_look(kp_watch *w) {
  int64_t n = w->n, j, i;
  double *row = w->ring + w->count % w->stretch * n;
  int wild = 0;
  for (j = 0; j < n; ++j) if (!isfinite(w->values[j])) return 1;
  for (j = 0; j < n; ++j) row[j] = w->good[j] = w->values[j];
  if (++w->count % w->stretch || !(w->growth > 0)) return 0;
  for (j = 0; j < n; ++j) w->most[w->part[j]] = 0;
  for (j = 0; j < n; ++j) {
    double largest = 0;
    for (i = 0; i < w->stretch; ++i) largest = fmax(largest, fabs(w->ring[i * n + j]));
    w->good[j] = largest;  /* room for a moment */
    w->most[w->part[j]] = fmax(w->most[w->part[j]], largest);
  }
  for (j = 0; j < n; ++j) {
    double largest = w->good[j] < w->rounding * w->most[w->part[j]] ? 0.0 : w->good[j];
    int grown = largest > w->growth * w->largest[j] && w->largest[j] > 0;
    w->stretches[j] = grown ? w->stretches[j] + 1 : 0;
    w->times[j] = grown ? w->times[j] * (largest / w->largest[j]) : 1.0;
    w->largest[j] = largest;
    w->good[j] = w->values[j];
    if (w->stretches[j] >= w->least && w->times[j] >= w->oscillating) wild = 2;
  }
  return wild;
}

static double kp_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Take steps until there are enough, the time is over or something is to be looked at; `done` counts those that are finished. */
__attribute__((visibility("default"))) int64_t kp_steps(kp_job *job) {
  double begun = kp_now(), t = job->first + (double)job->count * job->h;
  const double *y = job->watch->values, *u = job->inputs;
  for (job->done = job->samples = 0; job->done < job->most;) {
    if (kp_do(job, job->step, job->steps, t)) return KP_IN_STEP;
    ++job->done;
    /* Multiplied, not accumulated. */
    t = job->first + (double)++job->count * job->h;
    for (int64_t i = 0; i < job->n_bonds; ++i) {
      const kp_bond *bond = job->bonds + i;
      double effort = (u[bond->effort_in] - job->offsets[bond->effort_in]) / job->factors[bond->effort_in];
      double flow = job->factors[bond->flow_in] * y[bond->flow_out] + job->offsets[bond->flow_in];
      double one = y[bond->effort_out] * u[bond->flow_in], other = effort * flow;
      job->energies[2 * i] = one;
      job->energies[2 * i + 1] += (one - other) * job->h;
    }
    int look = kp_look(job->watch);
    if (look) return look == 1 ? KP_LOOK_CLOSELY : KP_JUDGE;
    if (job->count % job->per_sample == 0) {
      if (kp_do(job, job->record, job->records, t)) return KP_IN_RECORD;
      if (kp_look(job->beside)) return KP_LOOK_BESIDE;
      double *row = job->rows + job->samples * (job->columns + 2 * job->n_bonds);
      job->times[job->samples++] = t;
      for (int64_t j = 0; j < job->columns; ++j) {
        int64_t beside = job->column[j] - job->watch->n;
        row[j] = beside < 0 ? y[job->column[j]] : job->beside->values[beside];
      }
      for (int64_t j = 0; j < 2 * job->n_bonds; ++j) row[job->columns + j] = job->energies[j];
    }
    if (kp_now() - begun > job->limit) break;
  }
  return KP_GOES_ON;
}
