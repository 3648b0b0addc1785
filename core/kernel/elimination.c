/* LU by tables, without a search for pivots: row by row, with one row spread out. See elimination.py for the tables. Pivots are
   kept as their reciprocals. */

/* How much of a solution rounding may have eaten where equations are linear, relative to their right side. */
#define KP_EATEN 1e-9
/* Newton's iteration ends where, by the way in which it converges, less than this is left: with factors of its own, where that is
   an upper bound, and with kept ones, where it is what is left, always to the same side, and must not add up over steps. */
#define KP_CONVERGED 1e-15
#define KP_CONVERGED_KEPT 1e-19
/* Movements of this size are rounding, if they do not become smaller. */
#define KP_ROUNDING 1e-13

/* Polished, however little the rest is: a step spends much of its time here. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC push_options
#pragma GCC optimize("O2")
#endif

static int kp_factorize(casadi_int n, int count, const int *places, const int *starts, const int *pivots, const int *columns,
                        const casadi_real *matrix, casadi_real *factors, casadi_real *row) {
  int i, j, k, s;
  casadi_real share;
  for (k = 0; k < starts[n]; ++k) factors[k] = 0;
  for (k = 0; k < count; ++k) factors[places[k]] = matrix[k];
  for (i = 0; i < n; ++i) {
    for (k = starts[i]; k < starts[i + 1]; ++k) row[columns[k]] = factors[k];
    for (k = starts[i]; k < pivots[i]; ++k) {
      j = columns[k];
      share = row[j] * factors[pivots[j]];
      factors[k] = share;
      for (s = pivots[j] + 1; s < starts[j + 1]; ++s) row[columns[s]] -= share * factors[s];
    }
    if (!(fabs(row[i]) > 1e-300 && fabs(row[i]) < 1e300)) return 1;
    factors[pivots[i]] = 1 / row[i];
    for (k = pivots[i] + 1; k < starts[i + 1]; ++k) factors[k] = row[columns[k]];
  }
  return 0;
}

static void kp_substitute(casadi_int n, const int *starts, const int *pivots, const int *columns, const casadi_real *factors,
                          casadi_real *x) {
  int i, k;
  casadi_real sum;
  for (i = 0; i < n; ++i) {
    sum = x[i];
    for (k = starts[i]; k < pivots[i]; ++k) sum -= factors[k] * x[columns[k]];
    x[i] = sum;
  }
  for (i = n - 1; i >= 0; --i) {
    sum = x[i];
    for (k = pivots[i] + 1; k < starts[i + 1]; ++k) sum -= factors[k] * x[columns[k]];
    x[i] = sum * factors[pivots[i]];
  }
}

/* Solve matrix x = right in place of right; 1, and right as it was, where that is not possible in this order. */
static int kp_eliminated(casadi_int n, int count, const int *places, const int *starts, const int *pivots, const int *columns,
                         const casadi_int *pattern, const casadi_real *matrix, casadi_real *right, casadi_real *factors,
                         casadi_real *row, casadi_real *found) {
  casadi_int i, j, k;
  const casadi_int *begins = pattern + 2, *rows = pattern + 2 + n + 1;
  casadi_real size = 0, left = 0;
  if (kp_factorize(n, count, places, starts, pivots, columns, matrix, factors, row)) return 1;
  for (i = 0; i < n; ++i) found[i] = row[i] = right[i];
  kp_substitute(n, starts, pivots, columns, factors, found);
  if (begins[0] == 1) { /* full */
    for (j = 0, k = 0; j < n; ++j)
      for (i = 0; i < n; ++i, ++k) row[i] -= matrix[k] * found[j];
  } else {
    for (j = 0; j < n; ++j)
      for (k = begins[j]; k < begins[j + 1]; ++k) row[rows[k]] -= matrix[k] * found[j];
  }
  for (i = 0; i < n; ++i) {
    if (!(fabs(right[i]) <= size)) size = fabs(right[i]);
    if (!(fabs(row[i]) <= left)) left = fabs(row[i]);
  }
  if (!(left <= KP_EATEN * size)) return 1;
  for (i = 0; i < n; ++i) right[i] = found[i];
  return 0;
}

#ifdef KP_ELIMINATED_NEWTON
/* One iteration; other than 0 if it was the last. `kept` says whether the factors of the iteration before are taken, and is told
   whether the next one may take them: while they make errors a hundred times smaller each time. Where a pivot vanishes, or
   numbers do, the result is none, which whoever called sees. */
static int kp_eliminated_newton(const struct casadi_newton_mem *m, int count, const int *places, const int *starts,
                                const int *pivots, const int *columns, casadi_real *factors, casadi_real *row,
                                casadi_real *moved, int *kept) {
  casadi_int i;
  casadi_real size = 0, before = *moved, left;
  const int old = kept && *kept;
  for (i = 0; i < m->n; ++i)
    if (!(fabs(m->g[i]) <= size)) size = fabs(m->g[i]);
  if (size <= m->abstol) return 1;
  if (!old && kp_factorize(m->n, count, places, starts, pivots, columns, m->jac_g_x, factors, row)) {
    m->x[0] = NAN;
    return 3;
  }
  kp_substitute(m->n, starts, pivots, columns, factors, m->g);
  for (i = 0, size = 0, left = 0; i < m->n; ++i) {
    m->x[i] -= m->g[i];
    left += m->g[i];
    if (fabs(m->g[i]) > size) size = fabs(m->g[i]);
  }
  if (!(fabs(left) < 1e100)) {
    m->x[0] = NAN;
    return 3;
  }
  *moved = size;
  if (kept) *kept = !before || size <= 0.01 * before;
  if (!old && size <= m->abstol_step) return 2;
  if (!before) return 0;
  /* With factors of its own the errors go like e, c e^2, c^3 e^4, with kept ones like e, r e, r^2 e: what is left is c size^2 with
     c = size / before^2, or r size / (1 - r) with r = size / before. */
  if (!old) return size <= 1e-6 && size * size * size <= KP_CONVERGED * before * before ? 2 : 0;
  if (size <= KP_ROUNDING && size > 0.1 * before) return 2;
  return size <= 1e-6 && size * size <= KP_CONVERGED_KEPT * (before - size) ? 2 : 0;
}
#endif

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC pop_options
#endif
