/* The functions of FMI 3.0, for co-simulation and model exchange, on top of core.h. */

#include "core.h"

#include <stdint.h>
#include <stdlib.h>

typedef void *fmi3Instance;
typedef void *fmi3InstanceEnvironment;
typedef void *fmi3FMUState;
typedef uint32_t fmi3ValueReference;
typedef float fmi3Float32;
typedef double fmi3Float64;
typedef int8_t fmi3Int8;
typedef uint8_t fmi3UInt8;
typedef int16_t fmi3Int16;
typedef uint16_t fmi3UInt16;
typedef int32_t fmi3Int32;
typedef uint32_t fmi3UInt32;
typedef int64_t fmi3Int64;
typedef uint64_t fmi3UInt64;
typedef bool fmi3Boolean;
typedef const char *fmi3String;
typedef uint8_t fmi3Byte;
typedef const fmi3Byte *fmi3Binary;
typedef bool fmi3Clock;
typedef kp_status fmi3Status;
typedef int fmi3DependencyKind;
typedef int fmi3IntervalQualifier;
typedef void (*fmi3LogMessageCallback)(fmi3InstanceEnvironment, fmi3Status, fmi3String category, fmi3String message);
typedef void (*fmi3IntermediateUpdateCallback)(fmi3InstanceEnvironment, fmi3Float64, fmi3Boolean, fmi3Boolean, fmi3Boolean,
                                               fmi3Boolean, fmi3Boolean *, fmi3Float64 *);
typedef void (*fmi3ClockUpdateCallback)(fmi3InstanceEnvironment);
typedef void (*fmi3LockPreemptionCallback)(void);
typedef void (*fmi3UnlockPreemptionCallback)(void);

/* Set by those who link the sources into a program of their own. */
#if defined(FMI3_FUNCTION_PREFIX) && !defined(_WIN32)
#define KP_PASTE2(a, b) a##b
#define KP_PASTE(a, b) KP_PASTE2(a, b)
#define FMI3(name) KP_PASTE(FMI3_FUNCTION_PREFIX, name)
#else
#define FMI3(name) name
#endif
#define FMI3_STATUS KP_EXPORT fmi3Status

typedef struct {
  fmi3LogMessageCallback log;
  fmi3InstanceEnvironment environment;
  fmi3IntermediateUpdateCallback update;
  bool early_return;
} importer;

static void log_to(void *environment, const char *instance, kp_status status, const char *text) {
  const importer *to = environment;
  const char *category = status >= KP_ERROR     ? "logStatusError"
                         : status == KP_DISCARD ? "logStatusDiscard"
                         : status == KP_WARNING ? "logStatusWarning"
                                                : "logAll";
  (void)instance;
  if (to && to->log) to->log(to->environment, status, category, text);
}

/* Arrays have references behind those of the model's own variables: their components are those from begin(r) to end(r). */
static bool is_array(fmi3ValueReference r) { return r >= KP_COUNT && r - KP_COUNT < KP_NA; }
static size_t begin(fmi3ValueReference r) { return kp_array_ends[r - KP_COUNT]; }
static size_t end(fmi3ValueReference r) { return kp_array_ends[r - KP_COUNT + 1]; }
static size_t size_of(fmi3ValueReference r) { return is_array(r) ? end(r) - begin(r) : 1; }

static fmi3Instance refused(fmi3InstanceEnvironment environment, fmi3LogMessageCallback log, const char *text) {
  if (log) log(environment, KP_ERROR, "logStatusError", text);
  return NULL;
}

static fmi3Instance instantiate(fmi3String name, fmi3String token, fmi3Boolean logging, fmi3InstanceEnvironment environment,
                                fmi3LogMessageCallback log, bool model_exchange) {
  importer *to;
  kp_instance *self;
  if (model_exchange != KP_MODEL_EXCHANGE)
    return refused(environment, log,
                   KP_MODEL_EXCHANGE ? "this FMU is for model exchange alone" : "this FMU is for co-simulation alone");
  to = calloc(1, sizeof *to);
  if (!to) return NULL;
  to->log = log;
  to->environment = environment;
  self = kp_create(name, token, log_to, to, logging);
  if (!self) free(to);
  return self;
}

KP_EXPORT const char *FMI3(fmi3GetVersion)(void) { return "3.0"; }

FMI3_STATUS FMI3(fmi3SetDebugLogging)(fmi3Instance c, fmi3Boolean on, size_t count, const fmi3String categories[]) {
  (void)count;
  (void)categories;
  ((kp_instance *)c)->logging = on;
  return KP_OK;
}

KP_EXPORT fmi3Instance FMI3(fmi3InstantiateModelExchange)(fmi3String name, fmi3String token, fmi3String resources,
                                                          fmi3Boolean visible, fmi3Boolean logging,
                                                          fmi3InstanceEnvironment environment, fmi3LogMessageCallback log) {
  (void)resources;
  (void)visible;
  return instantiate(name, token, logging, environment, log, true);
}

/* Intermediate update: outputs after each internal step, inputs for the middle of it. */
static void update_between(kp_instance *self, double time, bool finished, bool more, double *until) {
  const importer *to = self->environment;
  fmi3Boolean requested = false;
  fmi3Float64 at = time;
  bool early = finished && more && to->early_return;
  to->update(to->environment, time, self->asks_inputs, finished, finished, early, &requested, &at);
  if (early && requested && at < *until) *until = at > time ? at : time;
}

KP_EXPORT fmi3Instance FMI3(fmi3InstantiateCoSimulation)(fmi3String name, fmi3String token, fmi3String resources,
                                                         fmi3Boolean visible, fmi3Boolean logging, fmi3Boolean event_mode,
                                                         fmi3Boolean early_return, const fmi3ValueReference intermediate[],
                                                         size_t intermediate_count, fmi3InstanceEnvironment environment,
                                                         fmi3LogMessageCallback log, fmi3IntermediateUpdateCallback update) {
  kp_instance *self;
  fmi3ValueReference first;
  size_t i;
  (void)resources;
  (void)visible;
  if (event_mode) return refused(environment, log, "this FMU has no event mode; instantiate it without");
  self = instantiate(name, token, logging, environment, log, false);
  if (!self || !update) return self;
  self->between = update_between;
  ((importer *)self->environment)->update = update;
  ((importer *)self->environment)->early_return = early_return;
  for (i = 0; i < intermediate_count; ++i) {
    first = is_array(intermediate[i]) ? kp_elements[begin(intermediate[i])] : intermediate[i];
    self->asks_inputs = self->asks_inputs || (first >= KP_FIRST_U && first < KP_FIRST_X);
  }
  return self;
}

KP_EXPORT fmi3Instance FMI3(fmi3InstantiateScheduledExecution)(fmi3String name, fmi3String token, fmi3String resources,
                                                               fmi3Boolean visible, fmi3Boolean logging,
                                                               fmi3InstanceEnvironment environment, fmi3LogMessageCallback log,
                                                               fmi3ClockUpdateCallback clock, fmi3LockPreemptionCallback lock,
                                                               fmi3UnlockPreemptionCallback unlock) {
  (void)name;
  (void)token;
  (void)resources;
  (void)visible;
  (void)logging;
  (void)clock;
  (void)lock;
  (void)unlock;
  return refused(environment, log, "this model has no scheduled execution");
}

KP_EXPORT void FMI3(fmi3FreeInstance)(fmi3Instance c) {
  if (c) free(((kp_instance *)c)->environment);
  kp_destroy(c);
}

FMI3_STATUS FMI3(fmi3EnterInitializationMode)(fmi3Instance c, fmi3Boolean tolerance_defined, fmi3Float64 tolerance,
                                              fmi3Float64 start, fmi3Boolean stop_defined, fmi3Float64 stop) {
  kp_status status = kp_setup(c, tolerance_defined, tolerance, start, stop_defined, stop);
  return status == KP_OK ? kp_enter_initialization(c) : status;
}

FMI3_STATUS FMI3(fmi3ExitInitializationMode)(fmi3Instance c) { return kp_exit_initialization(c); }
FMI3_STATUS FMI3(fmi3EnterEventMode)(fmi3Instance c) { return kp_enter(c, KP_EVENT); }
FMI3_STATUS FMI3(fmi3EnterContinuousTimeMode)(fmi3Instance c) { return kp_enter(c, KP_CONTINUOUS); }
FMI3_STATUS FMI3(fmi3EnterStepMode)(fmi3Instance c) { return kp_enter(c, KP_STEPPING); }
FMI3_STATUS FMI3(fmi3Terminate)(fmi3Instance c) { return kp_enter(c, KP_TERMINATED); }

FMI3_STATUS FMI3(fmi3Reset)(fmi3Instance c) {
  if (kp_refused_within(c)) return KP_ERROR;
  kp_reset(c);
  return KP_OK;
}

/* Put the components of arrays in their place, in room number ``which``; NULL if there are not as many as there are values. */
static const unsigned *expanded(kp_instance *self, int which, const fmi3ValueReference vr[], size_t n, size_t count) {
  size_t i, k, total = 0;
  unsigned *list;
  for (i = 0; i < n; ++i) total += size_of(vr[i]);
  if (total != count) {
    kp_say(self, KP_ERROR, "%lu value references came with %lu values; they stand for %lu", (unsigned long)n, (unsigned long)count,
           (unsigned long)total);
    return NULL;
  }
  if (total > self->room[which] || !self->expanded[which]) {
    list = realloc(self->expanded[which], (total + 1) * sizeof *list);
    if (!list) {
      kp_say(self, KP_ERROR, "no memory for %lu values", (unsigned long)total);
      return NULL;
    }
    self->expanded[which] = list;
    self->room[which] = total;
  }
  list = self->expanded[which];
  for (i = 0; i < n; ++i)
    if (is_array(vr[i]))
      for (k = begin(vr[i]); k < end(vr[i]); ++k) *list++ = kp_elements[k];
    else
      *list++ = vr[i];
  return self->expanded[which];
}

/* How often a component of an array occurs in it: an entry off the diagonal of a symmetric matrix twice. */
static size_t repeated(fmi3ValueReference r, unsigned component) {
  size_t k, found = 0;
  for (k = begin(r); k < end(r); ++k) found += kp_elements[k] == component;
  return found;
}

/* Entries that are one and the same variable must have one value. */
static bool symmetric(kp_instance *self, const fmi3ValueReference vr[], size_t n, const fmi3Float64 *values) {
  size_t i, k, m;
  for (i = 0; i < n; values += size_of(vr[i++]))
    if (is_array(vr[i]))
      for (k = begin(vr[i]); k < end(vr[i]); ++k)
        for (m = begin(vr[i]); m < k; ++m)
          if (kp_elements[m] == kp_elements[k] && values[m - begin(vr[i])] != values[k - begin(vr[i])]) {
            kp_say(self, KP_ERROR, "'%s' was set to %g and to %g: the matrix must be symmetric", kp_names[kp_elements[k]],
                   values[m - begin(vr[i])], values[k - begin(vr[i])]);
            return false;
          }
  return true;
}

FMI3_STATUS FMI3(fmi3GetFloat64)(fmi3Instance c, const fmi3ValueReference vr[], size_t n, fmi3Float64 values[], size_t count) {
  const unsigned *list = expanded(c, 0, vr, n, count);
  return list ? kp_get(c, list, count, values) : KP_ERROR;
}

FMI3_STATUS FMI3(fmi3SetFloat64)(fmi3Instance c, const fmi3ValueReference vr[], size_t n, const fmi3Float64 values[],
                                 size_t count) {
  const unsigned *list = expanded(c, 0, vr, n, count);
  return list && symmetric(c, vr, n, values) ? kp_set(c, list, count, values) : KP_ERROR;
}

/* All variables are of type Float64. */
static fmi3Status none_of_type(fmi3Instance c, size_t n, const char *type) {
  return n == 0 ? KP_OK : kp_say(c, KP_ERROR, "this model has no %s variables; all its variables are of type Float64", type);
}

#define NO_VARIABLES(word)                                                                                                      \
  FMI3_STATUS FMI3(fmi3Get##word)(fmi3Instance c, const fmi3ValueReference vr[], size_t n, fmi3##word values[], size_t count) {   \
    (void)vr;                                                                                                                   \
    (void)values;                                                                                                               \
    (void)count;                                                                                                                \
    return none_of_type(c, n, #word);                                                                                           \
  }                                                                                                                             \
  FMI3_STATUS FMI3(fmi3Set##word)(fmi3Instance c, const fmi3ValueReference vr[], size_t n, const fmi3##word values[],             \
                                  size_t count) {                                                                               \
    (void)vr;                                                                                                                   \
    (void)values;                                                                                                               \
    (void)count;                                                                                                                \
    return none_of_type(c, n, #word);                                                                                           \
  }

NO_VARIABLES(Float32)
NO_VARIABLES(Int8)
NO_VARIABLES(UInt8)
NO_VARIABLES(Int16)
NO_VARIABLES(UInt16)
NO_VARIABLES(Int32)
NO_VARIABLES(UInt32)
NO_VARIABLES(Int64)
NO_VARIABLES(UInt64)
NO_VARIABLES(Boolean)
NO_VARIABLES(String)

/* Parameters of functions that this model has no use for. */
#define UNUSED(...) ((void)sizeof((const void *[]){__VA_ARGS__}))

FMI3_STATUS FMI3(fmi3GetBinary)(fmi3Instance c, const fmi3ValueReference vr[], size_t n, size_t sizes[], fmi3Binary values[],
                                size_t count) {
  UNUSED(vr, sizes, values);
  (void)count;
  return none_of_type(c, n, "Binary");
}

FMI3_STATUS FMI3(fmi3SetBinary)(fmi3Instance c, const fmi3ValueReference vr[], size_t n, const size_t sizes[],
                                const fmi3Binary values[], size_t count) {
  UNUSED(vr, sizes, values);
  (void)count;
  return none_of_type(c, n, "Binary");
}

FMI3_STATUS FMI3(fmi3GetClock)(fmi3Instance c, const fmi3ValueReference vr[], size_t n, fmi3Clock values[]) {
  UNUSED(vr, values);
  return none_of_type(c, n, "Clock");
}

FMI3_STATUS FMI3(fmi3SetClock)(fmi3Instance c, const fmi3ValueReference vr[], size_t n, const fmi3Clock values[]) {
  UNUSED(vr, values);
  return none_of_type(c, n, "Clock");
}

static fmi3Status not_offered(fmi3Instance c, const char *what) { return kp_say(c, KP_ERROR, "this model offers no %s", what); }

FMI3_STATUS FMI3(fmi3GetNumberOfVariableDependencies)(fmi3Instance c, fmi3ValueReference vr, size_t *count) {
  (void)vr;
  UNUSED(count);
  return not_offered(c, "dependencies at run time; the model description lists them");
}

FMI3_STATUS FMI3(fmi3GetVariableDependencies)(fmi3Instance c, fmi3ValueReference dependent, size_t dependent_elements[],
                                              fmi3ValueReference independents[], size_t independent_elements[],
                                              fmi3DependencyKind kinds[], size_t count) {
  (void)dependent;
  (void)count;
  UNUSED(dependent_elements, independents, independent_elements, kinds);
  return not_offered(c, "dependencies at run time; the model description lists them");
}

FMI3_STATUS FMI3(fmi3GetFMUState)(fmi3Instance c, fmi3FMUState *state) { return kp_get_state(c, state); }
FMI3_STATUS FMI3(fmi3SetFMUState)(fmi3Instance c, fmi3FMUState state) { return kp_set_state(c, state); }
FMI3_STATUS FMI3(fmi3FreeFMUState)(fmi3Instance c, fmi3FMUState *state) { return kp_free_state(c, state); }

FMI3_STATUS FMI3(fmi3SerializedFMUStateSize)(fmi3Instance c, fmi3FMUState state, size_t *size) {
  UNUSED(c, state);
  *size = kp_serialized_size();
  return KP_OK;
}

FMI3_STATUS FMI3(fmi3SerializeFMUState)(fmi3Instance c, fmi3FMUState state, fmi3Byte bytes[], size_t size) {
  return kp_serialize(c, state, (char *)bytes, size);
}

FMI3_STATUS FMI3(fmi3DeserializeFMUState)(fmi3Instance c, const fmi3Byte bytes[], size_t size, fmi3FMUState *state) {
  return kp_deserialize(c, (const char *)bytes, size, state);
}

FMI3_STATUS FMI3(fmi3GetDirectionalDerivative)(fmi3Instance c, const fmi3ValueReference unknowns[], size_t unknown_count,
                                               const fmi3ValueReference knowns[], size_t known_count, const fmi3Float64 seed[],
                                               size_t seed_count, fmi3Float64 sensitivity[], size_t sensitivity_count) {
  const unsigned *along = expanded(c, 0, knowns, known_count, seed_count);
  const unsigned *of = along ? expanded(c, 1, unknowns, unknown_count, sensitivity_count) : NULL;
  double *parts;
  size_t i, k, place = 0;
  kp_status status;
  if (!of) return KP_ERROR;
  parts = malloc((seed_count + 1) * sizeof *parts);
  if (!parts) return kp_say(c, KP_ERROR, "no memory for %lu values", (unsigned long)seed_count);
  for (i = 0; i < known_count; ++i)
    for (k = size_of(knowns[i]); k > 0; --k, ++place)
      parts[place] = is_array(knowns[i]) ? seed[place] / (double)repeated(knowns[i], along[place]) : seed[place];
  status = kp_directional(c, of, sensitivity_count, along, seed_count, parts, sensitivity);
  free(parts);
  return status;
}

FMI3_STATUS FMI3(fmi3GetAdjointDerivative)(fmi3Instance c, const fmi3ValueReference unknowns[], size_t unknown_count,
                                           const fmi3ValueReference knowns[], size_t known_count, const fmi3Float64 seed[],
                                           size_t seed_count, fmi3Float64 sensitivity[], size_t sensitivity_count) {
  const unsigned *with = expanded(c, 0, knowns, known_count, sensitivity_count);
  const unsigned *of = with ? expanded(c, 1, unknowns, unknown_count, seed_count) : NULL;
  size_t i, k, place = 0;
  kp_status status;
  if (!of) return KP_ERROR;
  status = kp_adjoint(c, of, seed_count, with, sensitivity_count, seed, sensitivity);
  if (status != KP_OK) return status;
  /* What one variable is handed back belongs to all its entries in a matrix together. */
  for (i = 0; i < known_count; ++i)
    for (k = size_of(knowns[i]); k > 0; --k, ++place)
      if (is_array(knowns[i])) sensitivity[place] /= (double)repeated(knowns[i], with[place]);
  return KP_OK;
}

FMI3_STATUS FMI3(fmi3EnterConfigurationMode)(fmi3Instance c) { return not_offered(c, "structural parameters"); }
FMI3_STATUS FMI3(fmi3ExitConfigurationMode)(fmi3Instance c) { return not_offered(c, "structural parameters"); }

#define NO_CLOCKS(name, ...)                                                                            \
  FMI3_STATUS FMI3(name)(fmi3Instance c, const fmi3ValueReference vr[], size_t n, __VA_ARGS__) {         \
    (void)n;                                                                                            \
    UNUSED(vr, a, b, d);                                                                                \
    return not_offered(c, "clocks");                                                                    \
  }
#define NO_CLOCKS_1(name, A)                                                                            \
  FMI3_STATUS FMI3(name)(fmi3Instance c, const fmi3ValueReference vr[], size_t n, A a[]) {               \
    (void)n;                                                                                            \
    UNUSED(vr, a);                                                                                      \
    return not_offered(c, "clocks");                                                                    \
  }
#define NO_CLOCKS_2(name, A, B)                                                                         \
  FMI3_STATUS FMI3(name)(fmi3Instance c, const fmi3ValueReference vr[], size_t n, A a[], B b[]) {        \
    (void)n;                                                                                            \
    UNUSED(vr, a, b);                                                                                   \
    return not_offered(c, "clocks");                                                                    \
  }

NO_CLOCKS_2(fmi3GetIntervalDecimal, fmi3Float64, fmi3IntervalQualifier)
NO_CLOCKS(fmi3GetIntervalFraction, fmi3UInt64 a[], fmi3UInt64 b[], fmi3IntervalQualifier d[])
NO_CLOCKS_1(fmi3GetShiftDecimal, fmi3Float64)
NO_CLOCKS_2(fmi3GetShiftFraction, fmi3UInt64, fmi3UInt64)
NO_CLOCKS_1(fmi3SetIntervalDecimal, const fmi3Float64)
NO_CLOCKS_2(fmi3SetIntervalFraction, const fmi3UInt64, const fmi3UInt64)
NO_CLOCKS_1(fmi3SetShiftDecimal, const fmi3Float64)
NO_CLOCKS_2(fmi3SetShiftFraction, const fmi3UInt64, const fmi3UInt64)

FMI3_STATUS FMI3(fmi3EvaluateDiscreteStates)(fmi3Instance c) {
  (void)c;
  return KP_OK;
}

/* The one event that there is takes errors of the importer's solver out of the state. */
FMI3_STATUS FMI3(fmi3UpdateDiscreteStates)(fmi3Instance c, fmi3Boolean *need_update, fmi3Boolean *terminate,
                                           fmi3Boolean *nominals_changed, fmi3Boolean *states_changed, fmi3Boolean *next_defined,
                                           fmi3Float64 *next) {
  *need_update = *terminate = *nominals_changed = *next_defined = false;
  *next = 0;
  return kp_update(c, states_changed);
}

FMI3_STATUS FMI3(fmi3CompletedIntegratorStep)(fmi3Instance c, fmi3Boolean no_rollback, fmi3Boolean *enter_event_mode,
                                              fmi3Boolean *terminate) {
  (void)no_rollback;
  return kp_completed_step(c, enter_event_mode, terminate);
}

FMI3_STATUS FMI3(fmi3SetTime)(fmi3Instance c, fmi3Float64 time) { return kp_set_time(c, time); }
FMI3_STATUS FMI3(fmi3SetContinuousStates)(fmi3Instance c, const fmi3Float64 x[], size_t n) { return kp_set_states(c, x, n); }
FMI3_STATUS FMI3(fmi3GetContinuousStates)(fmi3Instance c, fmi3Float64 x[], size_t n) { return kp_get_states(c, x, n); }

FMI3_STATUS FMI3(fmi3GetContinuousStateDerivatives)(fmi3Instance c, fmi3Float64 dx[], size_t n) {
  return kp_get_derivatives(c, dx, n);
}

FMI3_STATUS FMI3(fmi3GetNominalsOfContinuousStates)(fmi3Instance c, fmi3Float64 nominals[], size_t n) {
  return kp_get_nominals(c, nominals, n);
}

FMI3_STATUS FMI3(fmi3GetEventIndicators)(fmi3Instance c, fmi3Float64 indicators[], size_t n) {
  UNUSED(indicators);
  return n == 0 ? KP_OK : not_offered(c, "event indicators");
}

FMI3_STATUS FMI3(fmi3GetNumberOfEventIndicators)(fmi3Instance c, size_t *n) {
  (void)c;
  *n = 0;
  return KP_OK;
}

FMI3_STATUS FMI3(fmi3GetNumberOfContinuousStates)(fmi3Instance c, size_t *n) {
  (void)c;
  *n = KP_NX;
  return KP_OK;
}

FMI3_STATUS FMI3(fmi3GetOutputDerivatives)(fmi3Instance c, const fmi3ValueReference vr[], size_t n, const fmi3Int32 orders[],
                                           fmi3Float64 values[], size_t count) {
  (void)count;
  UNUSED(vr, orders, values);
  return n == 0 ? KP_OK : not_offered(c, "derivatives of outputs");
}

FMI3_STATUS FMI3(fmi3DoStep)(fmi3Instance c, fmi3Float64 from, fmi3Float64 size, fmi3Boolean no_rollback,
                             fmi3Boolean *event_needed, fmi3Boolean *terminate, fmi3Boolean *early_return,
                             fmi3Float64 *last_successful_time) {
  kp_instance *self = c;
  kp_state before = self->now;
  kp_status status = kp_do_step(self, from, size);
  (void)no_rollback;
  /* A step that is discarded leaves no trace. */
  if (status == KP_DISCARD) kp_set_state(self, &before);
  *event_needed = *terminate = false;
  *early_return = self->returned_early && status <= KP_WARNING;
  *last_successful_time = self->last_successful_time;
  return status;
}

FMI3_STATUS FMI3(fmi3ActivateModelPartition)(fmi3Instance c, fmi3ValueReference clock, fmi3Float64 time) {
  (void)clock;
  (void)time;
  return not_offered(c, "scheduled execution");
}
