/* Every function of FMI 2.0: EACH(name) for each. */

#define FMI2_FUNCTIONS(EACH)                                                                                              \
  EACH(GetTypesPlatform) EACH(GetVersion) EACH(SetDebugLogging) EACH(Instantiate) EACH(FreeInstance)                      \
  EACH(SetupExperiment) EACH(EnterInitializationMode) EACH(ExitInitializationMode) EACH(Terminate) EACH(Reset)            \
  EACH(GetReal) EACH(GetInteger) EACH(GetBoolean) EACH(GetString) EACH(SetReal) EACH(SetInteger) EACH(SetBoolean)         \
  EACH(SetString) EACH(GetFMUstate) EACH(SetFMUstate) EACH(FreeFMUstate) EACH(SerializedFMUstateSize)                     \
  EACH(SerializeFMUstate) EACH(DeSerializeFMUstate) EACH(GetDirectionalDerivative) EACH(EnterEventMode)                   \
  EACH(NewDiscreteStates) EACH(EnterContinuousTimeMode) EACH(CompletedIntegratorStep) EACH(SetTime)                       \
  EACH(SetContinuousStates) EACH(GetDerivatives) EACH(GetEventIndicators) EACH(GetContinuousStates)                       \
  EACH(GetNominalsOfContinuousStates) EACH(SetRealInputDerivatives) EACH(GetRealOutputDerivatives) EACH(DoStep)           \
  EACH(CancelStep) EACH(GetStatus) EACH(GetRealStatus) EACH(GetIntegerStatus) EACH(GetBooleanStatus) EACH(GetStringStatus)

#include "fmi2FunctionTypes.h"

#define MEMBER(name) fmi2##name##TYPE *name;
typedef struct {
  FMI2_FUNCTIONS(MEMBER)
} functions2;
#undef MEMBER

functions2 *load_functions_2(void *library);
extern const fmi2CallbackFunctions callbacks2;
