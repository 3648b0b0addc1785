/* Every function of FMI 2.0 in every phase, with references and sizes that make sense and with those that do not. */

#include <stdlib.h>
#include <string.h>

#include "functions2.h"
#include "host.h"

#define STATES 64

static void call_them(const functions2 *f, fmi2Component c) {
  const fmi2ValueReference known[] = {0, 1, 2}, wild[] = {4000000000u};
  fmi2Real numbers[STATES] = {0}, sensitivity[3];
  const fmi2Real seed[] = {1, 0, 0};
  fmi2Integer whole[] = {1, 1, 1};
  const fmi2Integer orders[] = {1, 7, 1};
  fmi2Boolean flags[3] = {0};
  fmi2String texts[] = {"a", "b", "c"};
  const fmi2String categories[] = {"logAll", "no such category"};
  fmi2FMUstate state = NULL, copy = NULL;
  fmi2EventInfo info;
  fmi2Status status;
  size_t size = 0;
  char *bytes;
  int kind;
  f->SetDebugLogging(c, 1, 2, categories);
  f->SetDebugLogging(c, 0, 0, NULL);
  f->GetReal(c, known, 3, numbers);
  f->GetReal(c, wild, 1, numbers);
  f->GetReal(c, NULL, 0, NULL);
  f->SetReal(c, known, 3, seed);
  f->SetReal(c, wild, 1, seed);
  f->GetInteger(c, known, 1, whole);
  f->SetInteger(c, known, 1, whole);
  f->GetBoolean(c, known, 1, flags);
  f->SetBoolean(c, known, 1, flags);
  f->GetString(c, known, 1, texts);
  f->SetString(c, known, 1, texts);
  demand(f->GetFMUstate(c, &state) == fmi2OK && f->SetFMUstate(c, state) == fmi2OK, "state");
  demand(f->SerializedFMUstateSize(c, state, &size) == fmi2OK && size > 0, "size of a state");
  bytes = malloc(size);
  demand(f->SerializeFMUstate(c, state, bytes, size) == fmi2OK, "serialize");
  demand(f->SerializeFMUstate(c, state, bytes, size - 1) > fmi2Warning, "serialize into too little room");
  demand(f->DeSerializeFMUstate(c, bytes, size, &copy) == fmi2OK && f->SetFMUstate(c, copy) == fmi2OK, "deserialize");
  demand(f->DeSerializeFMUstate(c, bytes, size - 1, &copy) > fmi2Warning, "deserialize too few bytes");
  memset(bytes, 0xff, size);
  demand(f->DeSerializeFMUstate(c, bytes, size, &copy) > fmi2Warning, "deserialize nonsense");
  free(bytes);
  f->FreeFMUstate(c, &copy);
  f->FreeFMUstate(c, &copy);
  f->FreeFMUstate(c, NULL);
  demand(f->SetFMUstate(c, NULL) > fmi2Warning, "set no state");
  f->GetDirectionalDerivative(c, known, 3, known, 3, seed, sensitivity);
  f->GetDirectionalDerivative(c, wild, 1, known, 1, seed, sensitivity);
  f->GetDirectionalDerivative(c, known, 1, wild, 1, seed, sensitivity);
  f->NewDiscreteStates(c, &info);
  f->CompletedIntegratorStep(c, 1, &flags[0], &flags[1]);
  f->SetTime(c, 0.5);
  f->GetContinuousStates(c, numbers, 1);
  f->SetContinuousStates(c, numbers, 1);
  f->GetDerivatives(c, numbers, STATES);
  f->GetEventIndicators(c, numbers, 0);
  f->GetEventIndicators(c, numbers, 1);
  f->GetNominalsOfContinuousStates(c, numbers, STATES);
  f->SetRealInputDerivatives(c, known, 3, orders, seed);
  f->SetRealInputDerivatives(c, wild, 1, orders, seed);
  f->GetRealOutputDerivatives(c, known, 1, orders, numbers);
  f->DoStep(c, 0, 0.01, 1);
  f->DoStep(c, 0, -1, 1);
  f->DoStep(c, 7, 0.01, 0);
  f->CancelStep(c);
  for (kind = 0; kind < 4; ++kind) {
    f->GetStatus(c, kind, &status);
    f->GetRealStatus(c, kind, numbers);
    f->GetIntegerStatus(c, kind, whole);
    f->GetBooleanStatus(c, kind, flags);
    f->GetStringStatus(c, kind, texts);
  }
  demand(f->SetFMUstate(c, state) == fmi2OK, "go back");
  f->FreeFMUstate(c, &state);
}

int call_all_2(const fmu *model) {
  const functions2 *f = model->functions;
  int count = 0, kinds = 0;
  fmi2Component c;
  fmi2Type type;
  demand(!strcmp(f->GetTypesPlatform(), "default") && !strcmp(f->GetVersion(), "2.0"), "platform and version");
  demand(f->Instantiate("a", fmi2CoSimulation, "{wrong}", NULL, &callbacks2, 0, 0) == NULL, "a wrong GUID is accepted");
  demand(f->Instantiate("a", fmi2CoSimulation, NULL, NULL, &callbacks2, 0, 0) == NULL, "no GUID is accepted");
  f->FreeInstance(NULL);
  for (type = fmi2ModelExchange; type <= fmi2CoSimulation; ++type) {
    c = f->Instantiate(NULL, type, model->token, NULL, NULL, 1, 1); /* nobody to tell anything to */
    kinds += c != NULL;
    if (!c) continue;
    call_them(f, c);
    f->FreeInstance(c);
    c = f->Instantiate("", type, model->token, NULL, &callbacks2, 1, 1);
    demand(c != NULL, "no instance");
    call_them(f, c);
    demand(f->ExitInitializationMode(c) > fmi2Warning && f->EnterContinuousTimeMode(c) > fmi2Warning, "phases out of order");
    demand(f->SetupExperiment(c, 1, 1e-6, 5, 1, 4) > fmi2Warning, "a stop before the start");
    demand(f->SetupExperiment(c, 1, 1e-6, 0, 1, 10) == fmi2OK && f->EnterInitializationMode(c) == fmi2OK, "enter");
    call_them(f, c);
    demand(f->ExitInitializationMode(c) == fmi2OK, "exit");
    demand(f->EnterInitializationMode(c) > fmi2Warning && f->SetupExperiment(c, 0, 0, 0, 0, 0) > fmi2Warning, "again");
    call_them(f, c);
    if (type == fmi2ModelExchange) {
      demand(f->EnterContinuousTimeMode(c) == fmi2OK, "continuous time mode");
      call_them(f, c);
      demand(f->EnterEventMode(c) == fmi2OK, "event mode");
      call_them(f, c);
    } else {
      demand(f->EnterEventMode(c) > fmi2Warning && f->EnterContinuousTimeMode(c) > fmi2Warning, "modes of model exchange");
    }
    demand(f->Terminate(c) == fmi2OK, "terminate");
    call_them(f, c);
    demand(f->Terminate(c) > fmi2Warning && f->Reset(c) == fmi2OK, "reset");
    call_them(f, c);
    f->FreeInstance(c);
  }
  demand(kinds == 1, "either co-simulation or model exchange");
#define COUNT(name) count += f->name != NULL;
  FMI2_FUNCTIONS(COUNT)
  return count;
}
