/* Every function of FMI 3.0 in every phase, with references and sizes that make sense and with those that do not. */

#include <stdlib.h>
#include <string.h>

#include "functions3.h"
#include "host.h"

#define STATES 64

static void call_values(const functions3 *f, fmi3Instance c) {
  const fmi3ValueReference known[] = {0, 1, 2}, wild[] = {4000000000u};
  const fmi3Byte byte = 1;
  fmi3Binary binary[] = {&byte};
  size_t sizes[] = {1};
  fmi3Clock clocks[] = {fmi3ClockInactive};
#define CALL(type)                            \
  {                                           \
    fmi3##type values[3] = {0};               \
    f->Get##type(c, known, 3, values, 3);     \
    f->Get##type(c, known, 3, values, 2);     \
    f->Get##type(c, wild, 1, values, 1);      \
    f->Get##type(c, NULL, 0, NULL, 0);        \
    f->Set##type(c, known, 3, values, 3);     \
    f->Set##type(c, known, 1, values, 2);     \
    f->Set##type(c, wild, 1, values, 1);      \
  }
  FMI3_TYPES(CALL)
  f->GetBinary(c, known, 1, sizes, binary, 1);
  f->SetBinary(c, known, 1, sizes, binary, 1);
  f->GetClock(c, known, 1, clocks);
  f->SetClock(c, known, 1, clocks);
}

static void call_states(const functions3 *f, fmi3Instance c) {
  fmi3FMUState state = NULL, copy = NULL;
  size_t size = 0;
  fmi3Byte *bytes;
  demand(f->GetFMUState(c, &state) == fmi3OK && f->SetFMUState(c, state) == fmi3OK, "state");
  demand(f->SerializedFMUStateSize(c, state, &size) == fmi3OK && size > 0, "size of a state");
  bytes = malloc(size);
  demand(f->SerializeFMUState(c, state, bytes, size) == fmi3OK, "serialize");
  demand(f->SerializeFMUState(c, state, bytes, size - 1) > fmi3Warning, "serialize into too little room");
  demand(f->DeserializeFMUState(c, bytes, size, &copy) == fmi3OK && f->SetFMUState(c, copy) == fmi3OK, "deserialize");
  demand(f->DeserializeFMUState(c, bytes, size - 1, &copy) > fmi3Warning, "deserialize too few bytes");
  memset(bytes, 0xff, size);
  demand(f->DeserializeFMUState(c, bytes, size, &copy) > fmi3Warning, "deserialize nonsense");
  free(bytes);
  f->FreeFMUState(c, &copy);
  f->FreeFMUState(c, &copy);
  f->FreeFMUState(c, NULL);
  demand(f->SetFMUState(c, NULL) > fmi3Warning, "set no state");
  f->FreeFMUState(c, &state);
}

static void call_clocks(const functions3 *f, fmi3Instance c) {
  const fmi3ValueReference known[] = {0};
  fmi3Float64 numbers[1] = {0};
  fmi3UInt64 counters[1] = {1}, resolutions[1] = {1};
  fmi3IntervalQualifier qualifiers[1];
  f->GetIntervalDecimal(c, known, 1, numbers, qualifiers);
  f->GetIntervalFraction(c, known, 1, counters, resolutions, qualifiers);
  f->GetShiftDecimal(c, known, 1, numbers);
  f->GetShiftFraction(c, known, 1, counters, resolutions);
  f->SetIntervalDecimal(c, known, 1, numbers);
  f->SetIntervalFraction(c, known, 1, counters, resolutions);
  f->SetShiftDecimal(c, known, 1, numbers);
  f->SetShiftFraction(c, known, 1, counters, resolutions);
  f->ActivateModelPartition(c, 0, 0);
}

static void call_them(const functions3 *f, fmi3Instance c) {
  const fmi3ValueReference known[] = {0, 1, 2}, wild[] = {4000000000u};
  fmi3Float64 numbers[STATES] = {0}, sensitivity[3];
  const fmi3Float64 seed[] = {1, 0, 0};
  const fmi3Int32 orders[] = {1};
  const fmi3String categories[] = {"logAll", "no such category"};
  fmi3Boolean a, b, d, e, g;
  fmi3ValueReference references[STATES];
  fmi3DependencyKind kinds[STATES];
  size_t count = 0, places[STATES];
  f->SetDebugLogging(c, true, 2, categories);
  f->SetDebugLogging(c, false, 0, NULL);
  call_values(f, c);
  call_states(f, c);
  call_clocks(f, c);
  f->GetNumberOfVariableDependencies(c, 0, &count);
  f->GetVariableDependencies(c, 0, places, references, places, kinds, 1);
  f->GetDirectionalDerivative(c, known, 3, known, 3, seed, 3, sensitivity, 3);
  f->GetDirectionalDerivative(c, known, 3, known, 3, seed, 2, sensitivity, 3);
  f->GetDirectionalDerivative(c, wild, 1, known, 1, seed, 1, sensitivity, 1);
  f->GetDirectionalDerivative(c, known, 1, wild, 1, seed, 1, sensitivity, 1);
  f->GetAdjointDerivative(c, known, 1, known, 1, seed, 1, sensitivity, 1);
  f->EnterConfigurationMode(c);
  f->ExitConfigurationMode(c);
  f->EvaluateDiscreteStates(c);
  f->UpdateDiscreteStates(c, &a, &b, &d, &e, &g, numbers);
  f->CompletedIntegratorStep(c, true, &a, &b);
  f->SetTime(c, 0.5);
  f->GetContinuousStates(c, numbers, 1);
  f->SetContinuousStates(c, numbers, 1);
  f->GetContinuousStateDerivatives(c, numbers, STATES);
  f->GetEventIndicators(c, numbers, 0);
  f->GetEventIndicators(c, numbers, 1);
  f->GetNominalsOfContinuousStates(c, numbers, STATES);
  demand(f->GetNumberOfEventIndicators(c, &count) == fmi3OK && count == 0, "number of event indicators");
  demand(f->GetNumberOfContinuousStates(c, &count) == fmi3OK && count < STATES, "number of states");
  f->GetOutputDerivatives(c, known, 1, orders, numbers, 1);
  f->DoStep(c, 0, 0.01, true, &a, &b, &d, numbers);
  f->DoStep(c, 0, -1, true, &a, &b, &d, numbers);
  f->DoStep(c, 7, 0.01, false, &a, &b, &d, numbers);
}

/* What comes back with an error ends the instance, unless it is set to an earlier state. */
static void call_in_phase(const functions3 *f, fmi3Instance c) {
  fmi3FMUState state = NULL;
  demand(f->GetFMUState(c, &state) == fmi3OK, "state before");
  call_them(f, c);
  demand(f->Terminate(c) == fmi3OK, "terminate after an error");
  demand(f->SetFMUState(c, state) == fmi3OK && f->FreeFMUState(c, &state) == fmi3OK, "state after");
}

static void call_refused(const functions3 *f, fmi3Instance c, fmi3Status (*call)(fmi3Instance), const char *what) {
  fmi3FMUState state = NULL;
  demand(f->GetFMUState(c, &state) == fmi3OK, "state before");
  demand(call(c) > fmi3Warning, what);
  demand(f->SetFMUState(c, state) == fmi3OK && f->FreeFMUState(c, &state) == fmi3OK, "state after");
}

static void call_in_phases(const functions3 *f, fmi3Instance c, int model_exchange) {
  demand(c != NULL, "no instance");
  call_in_phase(f, c);
  call_refused(f, c, f->ExitInitializationMode, "exit before enter");
  call_refused(f, c, f->EnterContinuousTimeMode, "continuous time before the initialization");
  demand(f->EnterInitializationMode(c, true, 1e-6, 5, true, 4) > fmi3Warning, "a stop before the start");
  demand(f->EnterInitializationMode(c, true, 1e-6, 0, true, 10) > fmi3Warning, "enter after an error");
  demand(f->Reset(c) == fmi3OK && f->EnterInitializationMode(c, true, 1e-6, 0, true, 10) == fmi3OK, "enter");
  call_in_phase(f, c);
  demand(f->ExitInitializationMode(c) == fmi3OK, "exit");
  call_in_phase(f, c);
  call_refused(f, c, f->EnterStepMode, "step mode without an event mode");
  if (model_exchange) {
    demand(f->EnterContinuousTimeMode(c) == fmi3OK, "continuous time mode");
    call_in_phase(f, c);
    demand(f->EnterEventMode(c) == fmi3OK, "event mode");
    call_in_phase(f, c);
  } else {
    call_refused(f, c, f->EnterEventMode, "event mode of co-simulation");
    call_refused(f, c, f->EnterContinuousTimeMode, "continuous time mode of co-simulation");
  }
  demand(f->Terminate(c) == fmi3OK, "terminate");
  call_in_phase(f, c);
  demand(f->Reset(c) == fmi3OK, "reset");
  call_in_phase(f, c);
  f->FreeInstance(c);
}

int call_all_3(const fmu *model) {
  const functions3 *f = model->functions;
  const char *token = model->token;
  fmi3Instance c;
  int count = 0;
  demand(!strcmp(f->GetVersion(), "3.0"), "version");
  demand(!f->InstantiateModelExchange("a", "{wrong}", NULL, false, false, NULL, log_3), "a wrong token is accepted");
  demand(!f->InstantiateCoSimulation("a", NULL, NULL, false, false, false, false, NULL, 0, NULL, log_3, NULL), "no token");
  demand(!f->InstantiateScheduledExecution("a", token, NULL, false, false, NULL, log_3, NULL, NULL, NULL), "scheduled");
  demand(!f->InstantiateScheduledExecution("a", token, NULL, false, false, NULL, NULL, NULL, NULL, NULL), "scheduled, silent");
  f->FreeInstance(NULL);
  c = f->InstantiateModelExchange(NULL, token, NULL, true, true, NULL, NULL);
  if (c) {
    call_in_phases(f, c, 1);
    call_in_phases(f, f->InstantiateModelExchange("", token, NULL, true, true, NULL, log_3), 1);
    demand(!f->InstantiateCoSimulation("", token, NULL, true, true, false, true, NULL, 0, NULL, log_3, NULL), "the other kind");
  } else {
    call_in_phases(f, f->InstantiateCoSimulation(NULL, token, NULL, true, true, false, true, NULL, 0, NULL, NULL, NULL), 0);
    call_in_phases(f, f->InstantiateCoSimulation("", token, NULL, true, true, false, true, NULL, 0, NULL, log_3, NULL), 0);
    demand(!f->InstantiateCoSimulation("", token, NULL, true, true, true, true, NULL, 0, NULL, log_3, NULL), "event mode");
  }
#define COUNT(name) count += f->name != NULL;
  FMI3_FUNCTIONS(COUNT)
  return count;
}
