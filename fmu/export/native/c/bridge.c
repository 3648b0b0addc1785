/* The functions of FMI 2.0 for co-simulation; what they do, Python does (interpreter.c, slave/bridge_front.py). */

#define _GNU_SOURCE
#include "bridge.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  size_t size;
  char bytes[];
} snapshot;

status kp_tell(component *self, int level, const char *text) {
  const char *category = level >= ERROR     ? "logStatusError"
                         : level == DISCARD ? "logStatusDiscard"
                         : level == WARNING ? "logStatusWarning"
                                            : "logAll";
  char *copy, *to;
  if (!self->importer.logger || (level < WARNING && !self->logging)) return (status)level;
  /* To the importer the text is a format, so percent signs are doubled. */
  copy = to = malloc(2 * strlen(text) + 1);
  if (!copy) return (status)level;
  for (; *text; *to++ = *text++)
    if (*text == '%') *to++ = '%';
  *to = 0;
  self->importer.logger(self->importer.componentEnvironment, self->name, (status)level, category, copy);
  free(copy);
  return (status)level;
}

status kp_say(component *self, int level, const char *format, ...) {
  char text[6000];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  return kp_tell(self, level, text);
}

static void discard(component *self) {
  if (self) free(self->name);
  free(self);
}

EXPORT const char *fmi2GetTypesPlatform(void) { return "default"; }
EXPORT const char *fmi2GetVersion(void) { return "2.0"; }

EXPORT void *fmi2Instantiate(const char *name, int type, const char *guid, const char *resources, const callbacks *importer,
                             int visible, int logging) {
  component *self = calloc(1, sizeof *self);
  char folder[8192];
  bool made = false;
  (void)visible;
  if (!self) return NULL;
  self->name = strdup(name ? name : "");
  if (importer) self->importer = *importer;
  self->logging = logging != 0;
  if (!self->name)
    ;
  else if (type != 1)
    kp_say(self, ERROR, "this FMU is for co-simulation only");
  else if (!guid || strcmp(guid, KP_TOKEN) != 0)
    kp_say(self, ERROR, "this binary belongs to another model description: it has %s, it was given %s", KP_TOKEN,
           guid ? guid : "none");
  else if (!kp_find_resources(resources, folder, sizeof folder))
    kp_say(self, ERROR, "the folder 'resources' of the FMU was not found, neither at '%s' nor beside the binary",
           resources ? resources : "");
  else
    made = kp_start_python(self) && kp_connect(self, folder) && kp_python.create(self, folder) == OK;
  if (made) return self;
  discard(self);
  return NULL;
}

EXPORT void fmi2FreeInstance(void *c) {
  /* A program in which Python has ended may still clean up. */
  if (c && kp_python_lives()) kp_python.destroy(c);
  discard(c);
}

/* Let Python do it, unless it has ended. */
#define CALL(c, function, ...) \
  (kp_python_lives() ? (status)kp_python.function(c, ##__VA_ARGS__) : kp_say(c, ERROR, "Python has ended in this program"))

EXPORT status fmi2SetDebugLogging(void *c, int on, size_t count, const char *const categories[]) {
  (void)count;
  (void)categories;
  ((component *)c)->logging = on != 0;
  return OK;
}

EXPORT status fmi2SetupExperiment(void *c, int tolerance_defined, double tolerance, double start, int stop_defined, double stop) {
  (void)tolerance_defined;
  (void)tolerance;
  return CALL(c, setup, start, stop_defined, stop);
}

EXPORT status fmi2EnterInitializationMode(void *c) { return CALL(c, enter_initialization); }
EXPORT status fmi2ExitInitializationMode(void *c) { return CALL(c, exit_initialization); }
/* Importers that clean up last of all have nothing left to end. */
EXPORT status fmi2Terminate(void *c) { return kp_python_lives() ? CALL(c, terminate) : OK; }
EXPORT status fmi2Reset(void *c) { return CALL(c, reset); }

EXPORT status fmi2DoStep(void *c, double from, double size, int no_rollback) {
  (void)no_rollback;
  return CALL(c, step, from, size);
}

EXPORT status fmi2GetReal(void *c, const unsigned vr[], size_t n, double values[]) { return CALL(c, get, vr, n, values); }
EXPORT status fmi2SetReal(void *c, const unsigned vr[], size_t n, const double values[]) { return CALL(c, set, vr, n, values); }

/* All variables are real numbers. No exported function calls another: with two FMUs it might be the other FMU's. */
static status none_of_type(component *self, size_t n, const char *type) {
  return n == 0 ? OK : kp_say(self, ERROR, "this model has no %s variables; all its variables are of type Real", type);
}

#define NO_VARIABLES(type, word)                                                                                        \
  EXPORT status fmi2Get##word(void *c, const unsigned vr[], size_t n, type values[]) {                                   \
    (void)vr, (void)values;                                                                                             \
    return none_of_type(c, n, #word);                                                                                   \
  }                                                                                                                     \
  EXPORT status fmi2Set##word(void *c, const unsigned vr[], size_t n, const type values[]) {                             \
    (void)vr, (void)values;                                                                                             \
    return none_of_type(c, n, #word);                                                                                   \
  }

NO_VARIABLES(int, Integer)
NO_VARIABLES(int, Boolean)
NO_VARIABLES(char *, String)

static void forget(void **state) {
  if (!state) return;
  free(*state);
  *state = NULL;
}

EXPORT status fmi2FreeFMUstate(void *c, void **state) {
  (void)c;
  forget(state);
  return OK;
}

static status new_snapshot(component *self, size_t size, void **state) {
  snapshot *kept;
  if (!size) return ERROR; /* and Python has said why */
  kept = *state;
  if (kept && kept->size != size) forget(state);
  if (!*state) *state = calloc(1, sizeof *kept + size);
  if (!*state) return kp_say(self, ERROR, "no memory for a copy of the state");
  ((snapshot *)*state)->size = size;
  return OK;
}

EXPORT status fmi2GetFMUstate(void *c, void **state) {
  status done = new_snapshot(c, kp_python_lives() ? kp_python.state_size(c) : 0, state);
  return done == OK ? CALL(c, get_state, ((snapshot *)*state)->bytes, ((snapshot *)*state)->size) : done;
}

EXPORT status fmi2SetFMUstate(void *c, void *state) {
  if (!state) return kp_say(c, ERROR, "there is no state to go back to");
  return CALL(c, set_state, ((snapshot *)state)->bytes, ((snapshot *)state)->size);
}

EXPORT status fmi2SerializedFMUstateSize(void *c, void *state, size_t *size) {
  if (!state) return kp_say(c, ERROR, "there is no state whose size could be told");
  *size = ((snapshot *)state)->size;
  return OK;
}

EXPORT status fmi2SerializeFMUstate(void *c, void *state, char bytes[], size_t size) {
  if (!state || size < ((snapshot *)state)->size)
    return kp_say(c, ERROR, "a state takes %lu bytes, not %lu", (unsigned long)(state ? ((snapshot *)state)->size : 0),
                  (unsigned long)size);
  memcpy(bytes, ((snapshot *)state)->bytes, ((snapshot *)state)->size);
  return OK;
}

EXPORT status fmi2DeSerializeFMUstate(void *c, const char bytes[], size_t size, void **state) {
  status done = CALL(c, check_state, bytes, size);
  if (done == OK) done = new_snapshot(c, size, state);
  if (done == OK) memcpy(((snapshot *)*state)->bytes, bytes, size);
  return done;
}

#define NOT_OFFERED(level, what) kp_say(c, level, what " is not offered by this FMU")

EXPORT status fmi2GetDirectionalDerivative(void *c, const unsigned u[], size_t nu, const unsigned k[], size_t nk, const double s[],
                                           double found[]) {
  (void)u, (void)nu, (void)k, (void)nk, (void)s, (void)found;
  return NOT_OFFERED(ERROR, "fmi2GetDirectionalDerivative");
}

EXPORT status fmi2SetRealInputDerivatives(void *c, const unsigned vr[], size_t n, const int orders[], const double rates[]) {
  (void)vr, (void)orders, (void)rates;
  return n == 0 ? OK : NOT_OFFERED(ERROR, "fmi2SetRealInputDerivatives");
}

EXPORT status fmi2GetRealOutputDerivatives(void *c, const unsigned vr[], size_t n, const int orders[], double rates[]) {
  (void)vr, (void)orders, (void)rates;
  return n == 0 ? OK : NOT_OFFERED(ERROR, "fmi2GetRealOutputDerivatives");
}

EXPORT status fmi2CancelStep(void *c) {
  return kp_say(c, ERROR, "no step is running that could be cancelled: doStep returns when it is done");
}

EXPORT status fmi2GetStatus(void *c, int kind, status *value) {
  if (kind != 0) return NOT_OFFERED(DISCARD, "this status");
  *value = OK;
  return OK;
}

EXPORT status fmi2GetRealStatus(void *c, int kind, double *value) {
  if (kind != 2 || !kp_python_lives()) return NOT_OFFERED(DISCARD, "this status");
  *value = kp_python.time(c);
  return OK;
}

EXPORT status fmi2GetIntegerStatus(void *c, int kind, int *value) {
  (void)kind, (void)value;
  return NOT_OFFERED(DISCARD, "this status");
}

EXPORT status fmi2GetBooleanStatus(void *c, int kind, int *value) {
  if (kind != 3) return NOT_OFFERED(DISCARD, "this status");
  *value = 0;
  return OK;
}

EXPORT status fmi2GetStringStatus(void *c, int kind, const char **value) {
  (void)kind, (void)value;
  return NOT_OFFERED(DISCARD, "this status");
}

/* Model exchange. */

#define ABSENT(name, ...) \
  EXPORT status fmi2##name(void *c, ##__VA_ARGS__) { return kp_say(c, ERROR, "this FMU is for co-simulation only"); }

ABSENT(EnterEventMode)
ABSENT(NewDiscreteStates, void *info)
ABSENT(EnterContinuousTimeMode)
ABSENT(CompletedIntegratorStep, int no_rollback, int *enter_event_mode, int *terminate)
ABSENT(SetTime, double time)
ABSENT(SetContinuousStates, const double x[], size_t n)
ABSENT(GetDerivatives, double dx[], size_t n)
ABSENT(GetEventIndicators, double indicators[], size_t n)
ABSENT(GetContinuousStates, double x[], size_t n)
ABSENT(GetNominalsOfContinuousStates, double nominals[], size_t n)
