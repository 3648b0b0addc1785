/* The functions of FMI 2.0, for co-simulation and model exchange, on top of core.h. */

#include "core.h"

#include <stdlib.h>
#include <string.h>

typedef void *fmi2Component;
typedef void *fmi2ComponentEnvironment;
typedef void *fmi2FMUstate;
typedef unsigned int fmi2ValueReference;
typedef double fmi2Real;
typedef int fmi2Integer;
typedef int fmi2Boolean;
typedef const char *fmi2String;
typedef char fmi2Byte;
typedef kp_status fmi2Status;
typedef enum { fmi2ModelExchange, fmi2CoSimulation } fmi2Type;
typedef enum { fmi2DoStepStatus, fmi2PendingStatus, fmi2LastSuccessfulTime, fmi2Terminated } fmi2StatusKind;

typedef struct {
  void (*logger)(fmi2ComponentEnvironment, fmi2String instance, fmi2Status, fmi2String category, fmi2String message, ...);
  void *(*allocateMemory)(size_t, size_t);
  void (*freeMemory)(void *);
  void (*stepFinished)(fmi2ComponentEnvironment, fmi2Status);
  fmi2ComponentEnvironment componentEnvironment;
} fmi2CallbackFunctions;

typedef struct {
  fmi2Boolean newDiscreteStatesNeeded;
  fmi2Boolean terminateSimulation;
  fmi2Boolean nominalsOfContinuousStatesChanged;
  fmi2Boolean valuesOfContinuousStatesChanged;
  fmi2Boolean nextEventTimeDefined;
  fmi2Real nextEventTime;
} fmi2EventInfo;

/* Set by those who link the sources into a program of their own. */
#ifdef FMI2_FUNCTION_PREFIX
#define KP_PASTE2(a, b) a##b
#define KP_PASTE(a, b) KP_PASTE2(a, b)
#define FMI2(name) KP_PASTE(FMI2_FUNCTION_PREFIX, name)
#else
#define FMI2(name) name
#endif
#define FMI2_STATUS KP_EXPORT fmi2Status

static void log_to(void *environment, const char *instance, kp_status status, const char *text) {
  const fmi2CallbackFunctions *callbacks = environment;
  const char *category = status >= KP_ERROR     ? "logStatusError"
                         : status == KP_DISCARD ? "logStatusDiscard"
                         : status == KP_WARNING ? "logStatusWarning"
                                                : "logAll";
  if (callbacks && callbacks->logger)
    callbacks->logger(callbacks->componentEnvironment, instance, status, category, "%s", text);
}

KP_EXPORT const char *FMI2(fmi2GetTypesPlatform)(void) { return "default"; }
KP_EXPORT const char *FMI2(fmi2GetVersion)(void) { return "2.0"; }

FMI2_STATUS FMI2(fmi2SetDebugLogging)(fmi2Component c, fmi2Boolean on, size_t count, const fmi2String categories[]) {
  (void)count;
  (void)categories;
  ((kp_instance *)c)->logging = on != 0;
  return KP_OK;
}

KP_EXPORT fmi2Component FMI2(fmi2Instantiate)(fmi2String name, fmi2Type type, fmi2String guid, fmi2String resources,
                                              const fmi2CallbackFunctions *callbacks, fmi2Boolean visible, fmi2Boolean logging) {
  /* A copy, since the importer's own need not live as long as the instance. */
  fmi2CallbackFunctions *copy = calloc(1, sizeof *copy);
  kp_instance *self;
  (void)resources;
  (void)visible;
  if (!copy) return NULL;
  if (callbacks) *copy = *callbacks;
  self = kp_create(name, guid, log_to, copy, logging != 0);
  if (self && (type == fmi2ModelExchange) != KP_MODEL_EXCHANGE) {
    kp_say(self, KP_ERROR, "this FMU is for %s alone", KP_MODEL_EXCHANGE ? "model exchange" : "co-simulation");
    kp_destroy(self);
    self = NULL;
  }
  if (!self) free(copy);
  return self;
}

KP_EXPORT void FMI2(fmi2FreeInstance)(fmi2Component c) {
  if (c) free(((kp_instance *)c)->environment);
  kp_destroy(c);
}

FMI2_STATUS FMI2(fmi2SetupExperiment)(fmi2Component c, fmi2Boolean tolerance_defined, fmi2Real tolerance, fmi2Real start,
                                      fmi2Boolean stop_defined, fmi2Real stop) {
  return kp_setup(c, tolerance_defined != 0, tolerance, start, stop_defined != 0, stop);
}

FMI2_STATUS FMI2(fmi2EnterInitializationMode)(fmi2Component c) { return kp_enter_initialization(c); }
FMI2_STATUS FMI2(fmi2ExitInitializationMode)(fmi2Component c) { return kp_exit_initialization(c); }
FMI2_STATUS FMI2(fmi2Terminate)(fmi2Component c) { return kp_enter(c, KP_TERMINATED); }

FMI2_STATUS FMI2(fmi2Reset)(fmi2Component c) {
  kp_reset(c);
  return KP_OK;
}

FMI2_STATUS FMI2(fmi2GetReal)(fmi2Component c, const fmi2ValueReference vr[], size_t n, fmi2Real values[]) {
  return kp_get(c, vr, n, values);
}

FMI2_STATUS FMI2(fmi2SetReal)(fmi2Component c, const fmi2ValueReference vr[], size_t n, const fmi2Real values[]) {
  return kp_set(c, vr, n, values);
}

/* All variables are real numbers. */
static kp_status none_of_type(void *c, size_t n, const char *type) {
  return n == 0 ? KP_OK : kp_say(c, KP_ERROR, "this model has no %s variables; all its variables are of type Real", type);
}

#define NO_VARIABLES(type, word)                                                                                        \
  FMI2_STATUS FMI2(fmi2Get##word)(fmi2Component c, const fmi2ValueReference vr[], size_t n, type values[]) {             \
    (void)vr;                                                                                                           \
    (void)values;                                                                                                       \
    return none_of_type(c, n, #word);                                                                                   \
  }                                                                                                                     \
  FMI2_STATUS FMI2(fmi2Set##word)(fmi2Component c, const fmi2ValueReference vr[], size_t n, const type values[]) {       \
    (void)vr;                                                                                                           \
    (void)values;                                                                                                       \
    return none_of_type(c, n, #word);                                                                                   \
  }

NO_VARIABLES(fmi2Integer, Integer)
NO_VARIABLES(fmi2Boolean, Boolean)
NO_VARIABLES(fmi2String, String)

FMI2_STATUS FMI2(fmi2GetFMUstate)(fmi2Component c, fmi2FMUstate *state) { return kp_get_state(c, state); }
FMI2_STATUS FMI2(fmi2SetFMUstate)(fmi2Component c, fmi2FMUstate state) { return kp_set_state(c, state); }
FMI2_STATUS FMI2(fmi2FreeFMUstate)(fmi2Component c, fmi2FMUstate *state) { return kp_free_state(c, state); }

FMI2_STATUS FMI2(fmi2SerializedFMUstateSize)(fmi2Component c, fmi2FMUstate state, size_t *size) {
  (void)c;
  (void)state;
  *size = kp_serialized_size();
  return KP_OK;
}

FMI2_STATUS FMI2(fmi2SerializeFMUstate)(fmi2Component c, fmi2FMUstate state, fmi2Byte bytes[], size_t size) {
  return kp_serialize(c, state, bytes, size);
}

FMI2_STATUS FMI2(fmi2DeSerializeFMUstate)(fmi2Component c, const fmi2Byte bytes[], size_t size, fmi2FMUstate *state) {
  return kp_deserialize(c, bytes, size, state);
}

FMI2_STATUS FMI2(fmi2GetDirectionalDerivative)(fmi2Component c, const fmi2ValueReference unknowns[], size_t unknown_count,
                                               const fmi2ValueReference knowns[], size_t known_count, const fmi2Real seed[],
                                               fmi2Real sensitivity[]) {
  return kp_directional(c, unknowns, unknown_count, knowns, known_count, seed, sensitivity);
}

/* Model exchange. The one event that there is takes errors of the importer's solver out of the state. */

FMI2_STATUS FMI2(fmi2EnterEventMode)(fmi2Component c) { return kp_enter(c, KP_EVENT); }

FMI2_STATUS FMI2(fmi2NewDiscreteStates)(fmi2Component c, fmi2EventInfo *info) {
  bool changed;
  kp_status status = kp_update(c, &changed);
  memset(info, 0, sizeof *info);
  info->valuesOfContinuousStatesChanged = changed;
  return status;
}

FMI2_STATUS FMI2(fmi2EnterContinuousTimeMode)(fmi2Component c) { return kp_enter(c, KP_CONTINUOUS); }

FMI2_STATUS FMI2(fmi2CompletedIntegratorStep)(fmi2Component c, fmi2Boolean no_rollback, fmi2Boolean *enter_event_mode,
                                              fmi2Boolean *terminate) {
  bool event, stop;
  kp_status status = kp_completed_step(c, &event, &stop);
  (void)no_rollback;
  *enter_event_mode = event;
  *terminate = stop;
  return status;
}

FMI2_STATUS FMI2(fmi2SetTime)(fmi2Component c, fmi2Real time) { return kp_set_time(c, time); }
FMI2_STATUS FMI2(fmi2SetContinuousStates)(fmi2Component c, const fmi2Real x[], size_t n) { return kp_set_states(c, x, n); }
FMI2_STATUS FMI2(fmi2GetDerivatives)(fmi2Component c, fmi2Real dx[], size_t n) { return kp_get_derivatives(c, dx, n); }
FMI2_STATUS FMI2(fmi2GetContinuousStates)(fmi2Component c, fmi2Real x[], size_t n) { return kp_get_states(c, x, n); }

FMI2_STATUS FMI2(fmi2GetNominalsOfContinuousStates)(fmi2Component c, fmi2Real nominals[], size_t n) {
  return kp_get_nominals(c, nominals, n);
}

FMI2_STATUS FMI2(fmi2GetEventIndicators)(fmi2Component c, fmi2Real indicators[], size_t n) {
  (void)indicators;
  return n == 0 ? KP_OK : kp_say(c, KP_ERROR, "this model has no event indicators");
}

/* Co-simulation. */

FMI2_STATUS FMI2(fmi2SetRealInputDerivatives)(fmi2Component c, const fmi2ValueReference vr[], size_t n, const fmi2Integer orders[],
                                              const fmi2Real rates[]) {
  return kp_set_input_rates(c, vr, n, orders, rates);
}

FMI2_STATUS FMI2(fmi2GetRealOutputDerivatives)(fmi2Component c, const fmi2ValueReference vr[], size_t n, const fmi2Integer orders[],
                                               fmi2Real rates[]) {
  (void)vr;
  (void)orders;
  (void)rates;
  return n == 0 ? KP_OK : kp_say(c, KP_ERROR, "derivatives of outputs are not offered (maxOutputDerivativeOrder is 0)");
}

FMI2_STATUS FMI2(fmi2DoStep)(fmi2Component c, fmi2Real from, fmi2Real size, fmi2Boolean no_rollback) {
  (void)no_rollback;
  return kp_do_step(c, from, size);
}

FMI2_STATUS FMI2(fmi2CancelStep)(fmi2Component c) {
  return kp_say(c, KP_ERROR, "no step is running that could be cancelled: doStep returns when it is done");
}

FMI2_STATUS FMI2(fmi2GetStatus)(fmi2Component c, const fmi2StatusKind kind, fmi2Status *value) {
  if (kind != fmi2DoStepStatus) return kp_say(c, KP_DISCARD, "there is no such status");
  *value = KP_OK;
  return KP_OK;
}

FMI2_STATUS FMI2(fmi2GetRealStatus)(fmi2Component c, const fmi2StatusKind kind, fmi2Real *value) {
  if (kind != fmi2LastSuccessfulTime) return kp_say(c, KP_DISCARD, "there is no such status");
  *value = ((kp_instance *)c)->last_successful_time;
  return KP_OK;
}

FMI2_STATUS FMI2(fmi2GetIntegerStatus)(fmi2Component c, const fmi2StatusKind kind, fmi2Integer *value) {
  (void)kind;
  (void)value;
  return kp_say(c, KP_DISCARD, "there is no such status");
}

FMI2_STATUS FMI2(fmi2GetBooleanStatus)(fmi2Component c, const fmi2StatusKind kind, fmi2Boolean *value) {
  if (kind != fmi2Terminated) return kp_say(c, KP_DISCARD, "there is no such status");
  *value = 0;
  return KP_OK;
}

FMI2_STATUS FMI2(fmi2GetStringStatus)(fmi2Component c, const fmi2StatusKind kind, fmi2String *value) {
  (void)kind;
  (void)value;
  return kp_say(c, KP_DISCARD, "there is no such status");
}
