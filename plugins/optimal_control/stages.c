/* A program in stages, as functions that CasADi loads: nlp, nlp_f, nlp_g, nlp_grad_f, nlp_jac_g and nlp_hess_l.

   A stage is what an interval sees: [node; inner unknowns, inputs; copy of the next node]. Its rows are those of the gap between
   the copy and the next node, then its own, then those of the start, then variables that are held. The functions of one
   interval are machine code from elsewhere; where everything goes is told by numbers, so that this is compiled once. */

#include <string.h>

typedef long long kp_int;
typedef int (*kp_block)(const double **arg, double **res, kp_int *iw, double *w, int mem);
/* (x, rows, cost) -> whether to stop. */
typedef int (*kp_watch)(const double *x, const double *g, double f);

struct kp_stages {
  /* Stages with an interval; sizes of a stage, of a node, of what is before the copy, of the rows of an interval. */
  kp_int N, local, node, stride, own;
  /* Variables, rows, numbers. */
  kp_int n, m, numbers;
  kp_int cost_nnz, slope_nnz, curved_nnz, first_nnz, last_nnz, first_curved_nnz, last_curved_nnz;
  kp_int first_rows, last_rows, first_at, last_at, held_count, jac_nnz, hess_nnz, stop_at;
  kp_block value, cost, cost_slope, slope, curvature;
  kp_block first, first_slope, first_curvature, last, last_slope, last_curvature;
  /* The first row of every stage; variables that are held, and their rows. */
  const kp_int *at, *held, *held_rows;
  /* Places of nonzeros: of the slopes of a cost in a stage, and of all others in the matrices. Mirrored ones may be -1. */
  const kp_int *cost_place, *slope_place, *first_place, *last_place;
  const kp_int *curved_place, *curved_mirror, *first_curved_place, *first_curved_mirror, *last_curved_place, *last_curved_mirror;
  /* The Jacobian with what never changes in it. */
  const double *constant;
  /* Patterns as CasADi writes them. */
  const kp_int *x_pattern, *p_pattern, *scalar_pattern, *g_pattern, *jac_pattern, *hess_pattern;
  /* Room: for blocks, for nonzeros of one of them, and for the last Jacobian with its rows, at jac_x. */
  kp_int *iw;
  double *w, *some, *jac_x, *jac_g, *jac;
  kp_int known;
  kp_watch watch;
};

/* Set by whoever has loaded this. */
struct kp_stages kp_program;
#define P kp_program

static int called(kp_block block, const double *a0, const double *a1, const double *a2, const double *a3, const double *a4,
                  double *r0, double *r1) {
  const double *arg[16] = {a0, a1, a2, a3, a4};
  double *res[16] = {r0, r1};
  return block(arg, res, P.iw, P.w, 0);
}

static void linked(const double *x, double *g) {
  for (kp_int k = 0; k < P.N; ++k) {
    const double *copy = x + k * P.local + P.stride, *next = x + (k + 1) * P.local;
    for (kp_int i = 0; i < P.node; ++i) g[P.at[k] + i] = next[i] - copy[i];
  }
  for (kp_int i = 0; i < P.held_count; ++i) g[P.held_rows[i]] = x[P.held[i]];
}

static int ends(const double *x, const double *p, double *g) {
  if (P.first_rows && called(P.first, x, p, 0, 0, 0, g + P.first_at, 0)) return 1;
  return P.last_rows && called(P.last, x + P.N * P.local, p, 0, 0, 0, g + P.last_at, 0);
}

static int rows(const double *x, const double *p, double *g) {
  for (kp_int k = 0; k < P.N; ++k) {
    double number = (double)k;
    if (called(P.value, x + k * P.local, &number, p, 0, 0, g + P.at[k] + P.node, 0)) return 1;
  }
  linked(x, g);
  return ends(x, p, g);
}

static int costs(const double *x, const double *p, double *f) {
  double sum = 0, part;
  for (kp_int k = 0; k < P.N; ++k) {
    double number = (double)k;
    if (called(P.cost, x + k * P.local, &number, p, 0, 0, &part, 0)) return 1;
    sum += part;
  }
  *f = sum;
  return 0;
}

static int cost_slopes(const double *x, const double *p, double *slopes) {
  double part;
  memset(slopes, 0, P.n * sizeof(double));
  for (kp_int k = 0; k < P.N; ++k) {
    double number = (double)k;
    if (called(P.cost_slope, x + k * P.local, &number, p, 0, 0, &part, P.some)) return 1;
    for (kp_int i = 0; i < P.cost_nnz; ++i) slopes[k * P.local + P.cost_place[i]] = P.some[i];
  }
  return 0;
}

/* Find the Jacobian and the rows at x, unless they are known. */
static int jacobian(const double *x, const double *p) {
  if (P.known && !memcmp(x, P.jac_x, P.n * sizeof(double))) return 0;
  P.known = 0;
  memcpy(P.jac, P.constant, P.jac_nnz * sizeof(double));
  for (kp_int k = 0; k < P.N; ++k) {
    double number = (double)k;
    const kp_int *place = P.slope_place + k * P.slope_nnz;
    if (called(P.slope, x + k * P.local, &number, p, 0, 0, P.some, P.jac_g + P.at[k] + P.node)) return 1;
    for (kp_int i = 0; i < P.slope_nnz; ++i) P.jac[place[i]] = P.some[i];
  }
  if (P.first_rows) {
    if (called(P.first_slope, x, p, 0, 0, 0, P.some, 0)) return 1;
    for (kp_int i = 0; i < P.first_nnz; ++i) P.jac[P.first_place[i]] = P.some[i];
  }
  if (P.last_rows) {
    if (called(P.last_slope, x + P.N * P.local, p, 0, 0, 0, P.some, 0)) return 1;
    for (kp_int i = 0; i < P.last_nnz; ++i) P.jac[P.last_place[i]] = P.some[i];
  }
  linked(x, P.jac_g);
  if (ends(x, p, P.jac_g)) return 1;
  memcpy(P.jac_x, x, P.n * sizeof(double));
  P.known = 1;
  return 0;
}

static void added(double *H, const kp_int *place, const kp_int *mirror, kp_int count) {
  for (kp_int i = 0; i < count; ++i) {
    H[place[i]] += P.some[i];
    if (mirror[i] >= 0) H[mirror[i]] += P.some[i];
  }
}

static int hessian(const double *x, const double *p, const double *sigma, const double *lam, double *H) {
  memset(H, 0, P.hess_nnz * sizeof(double));
  for (kp_int k = 0; k < P.N; ++k) {
    double number = (double)k;
    const double *own = lam + P.at[k] + P.node;
    if (called(P.curvature, x + k * P.local, &number, p, own, sigma, P.some, 0)) return 1;
    added(H, P.curved_place + k * P.curved_nnz, P.curved_mirror + k * P.curved_nnz, P.curved_nnz);
  }
  if (P.first_rows) {
    if (called(P.first_curvature, x, p, lam + P.first_at, 0, 0, P.some, 0)) return 1;
    added(H, P.first_curved_place, P.first_curved_mirror, P.first_curved_nnz);
  }
  if (P.last_rows) {
    if (called(P.last_curvature, x + P.N * P.local, p, lam + P.last_at, 0, 0, P.some, 0)) return 1;
    added(H, P.last_curved_place, P.last_curved_mirror, P.last_curved_nnz);
  }
  return 0;
}

/* The slopes of sigma f + lam . g. */
static int lagrangian_slopes(const double *x, const double *p, const double *sigma, const double *lam, double *slopes) {
  const kp_int *starts = P.jac_pattern + 2, *row = starts + P.n + 1;
  if (cost_slopes(x, p, slopes) || jacobian(x, p)) return 1;
  for (kp_int j = 0; j < P.n; ++j) {
    double sum = *sigma * slopes[j];
    for (kp_int k = starts[j]; k < starts[j + 1]; ++k) sum += P.jac[k] * lam[row[k]];
    slopes[j] = sum;
  }
  return 0;
}

int nlp(const double **arg, double **res, kp_int *iw, double *w, int mem) {
  if (res[0] && costs(arg[0], arg[1], res[0])) return 1;
  return res[1] && rows(arg[0], arg[1], res[1]);
}

int nlp_f(const double **arg, double **res, kp_int *iw, double *w, int mem) {
  return res[0] && costs(arg[0], arg[1], res[0]);
}

int nlp_g(const double **arg, double **res, kp_int *iw, double *w, int mem) {
  return res[0] && rows(arg[0], arg[1], res[0]);
}

int nlp_grad_f(const double **arg, double **res, kp_int *iw, double *w, int mem) {
  return res[0] && cost_slopes(arg[0], arg[1], res[0]);
}

/* A solver has no ear for those that want it to stop. But it ends at once where the gaps are not what it takes them for. */
int nlp_jac_g(const double **arg, double **res, kp_int *iw, double *w, int mem) {
  double f;
  if (jacobian(arg[0], arg[1])) return 1;
  if (res[0]) memcpy(res[0], P.jac_g, P.m * sizeof(double));
  if (res[1]) memcpy(res[1], P.jac, P.jac_nnz * sizeof(double));
  if (P.watch) {
    if (costs(arg[0], arg[1], &f)) return 1;
    if (P.watch(arg[0], P.jac_g, f) && res[1]) res[1][P.stop_at] = 2;
  }
  return 0;
}

int nlp_hess_l(const double **arg, double **res, kp_int *iw, double *w, int mem) {
  if (res[0] && lagrangian_slopes(arg[0], arg[1], arg[2], arg[3], res[0])) return 1;
  return res[1] && hessian(arg[0], arg[1], arg[2], arg[3], res[1]);
}

/* Of a solution; how it depends on the numbers is nothing that anybody asks for here. */
int nlp_grad(const double **arg, double **res, kp_int *iw, double *w, int mem) {
  if (nlp(arg, res, iw, w, mem)) return 1;
  if (res[3]) memset(res[3], 0, P.numbers * sizeof(double));
  return res[2] && lagrangian_slopes(arg[0], arg[1], arg[2], arg[3], res[2]);
}

static const char *const inputs[] = {"x", "p", "lam_f", "lam_g"};

static const kp_int *input_pattern(kp_int i) {
  const kp_int *patterns[] = {P.x_pattern, P.p_pattern, P.scalar_pattern, P.g_pattern};
  return i < 4 ? patterns[i] : 0;
}

#define KP_WORDS(...) __VA_ARGS__
/* What CasADi asks of a function: its numbers, names and patterns of inputs and outputs. */
#define KP_TOLD(name, n_in, n_out, names, ...)                                                             \
  kp_int name##_n_in(void) { return n_in; }                                                                \
  kp_int name##_n_out(void) { return n_out; }                                                              \
  const char *name##_name_in(kp_int i) { return i < n_in ? inputs[i] : 0; }                                \
  const char *name##_name_out(kp_int i) {                                                                  \
    const char *const found[] = {KP_WORDS names};                                                          \
    return i < n_out ? found[i] : 0;                                                                       \
  }                                                                                                        \
  const kp_int *name##_sparsity_in(kp_int i) { return input_pattern(i); }                                  \
  const kp_int *name##_sparsity_out(kp_int i) {                                                            \
    const kp_int *found[] = {__VA_ARGS__};                                                                 \
    return i < n_out ? found[i] : 0;                                                                       \
  }                                                                                                        \
  int name##_work(kp_int *sz_arg, kp_int *sz_res, kp_int *sz_iw, kp_int *sz_w) {                           \
    if (sz_arg) *sz_arg = n_in;                                                                            \
    if (sz_res) *sz_res = n_out;                                                                           \
    if (sz_iw) *sz_iw = 0;                                                                                 \
    if (sz_w) *sz_w = 0;                                                                                   \
    return 0;                                                                                              \
  }

KP_TOLD(nlp, 2, 2, ("f", "g"), P.scalar_pattern, P.g_pattern)
KP_TOLD(nlp_f, 2, 1, ("f"), P.scalar_pattern)
KP_TOLD(nlp_g, 2, 1, ("g"), P.g_pattern)
KP_TOLD(nlp_grad_f, 2, 1, ("grad_f_x"), P.x_pattern)
KP_TOLD(nlp_jac_g, 2, 2, ("g", "jac_g_x"), P.g_pattern, P.jac_pattern)
KP_TOLD(nlp_hess_l, 4, 2, ("grad_gamma_x", "hess_gamma_x_x"), P.x_pattern, P.hess_pattern)
KP_TOLD(nlp_grad, 4, 4, ("f", "g", "grad_gamma_x", "grad_gamma_p"), P.scalar_pattern, P.g_pattern, P.x_pattern, P.p_pattern)
