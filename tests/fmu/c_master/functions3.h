/* Every function of FMI 3.0: EACH(name) for each. */

#define FMI3_TYPES(EACH)                                                                                                  \
  EACH(Float32) EACH(Float64) EACH(Int8) EACH(UInt8) EACH(Int16) EACH(UInt16) EACH(Int32) EACH(UInt32) EACH(Int64)        \
  EACH(UInt64) EACH(Boolean) EACH(String)

#define FMI3_FUNCTIONS(EACH)                                                                                              \
  EACH(GetVersion) EACH(SetDebugLogging) EACH(InstantiateModelExchange) EACH(InstantiateCoSimulation)                     \
  EACH(InstantiateScheduledExecution) EACH(FreeInstance) EACH(EnterInitializationMode) EACH(ExitInitializationMode)       \
  EACH(EnterEventMode) EACH(Terminate) EACH(Reset) EACH(GetFloat32) EACH(GetFloat64) EACH(GetInt8) EACH(GetUInt8)         \
  EACH(GetInt16) EACH(GetUInt16) EACH(GetInt32) EACH(GetUInt32) EACH(GetInt64) EACH(GetUInt64) EACH(GetBoolean)           \
  EACH(GetString) EACH(GetBinary) EACH(GetClock) EACH(SetFloat32) EACH(SetFloat64) EACH(SetInt8) EACH(SetUInt8)           \
  EACH(SetInt16) EACH(SetUInt16) EACH(SetInt32) EACH(SetUInt32) EACH(SetInt64) EACH(SetUInt64) EACH(SetBoolean)           \
  EACH(SetString) EACH(SetBinary) EACH(SetClock) EACH(GetNumberOfVariableDependencies) EACH(GetVariableDependencies)      \
  EACH(GetFMUState) EACH(SetFMUState) EACH(FreeFMUState) EACH(SerializedFMUStateSize) EACH(SerializeFMUState)             \
  EACH(DeserializeFMUState) EACH(GetDirectionalDerivative) EACH(GetAdjointDerivative) EACH(EnterConfigurationMode)        \
  EACH(ExitConfigurationMode) EACH(GetIntervalDecimal) EACH(GetIntervalFraction) EACH(GetShiftDecimal)                    \
  EACH(GetShiftFraction) EACH(SetIntervalDecimal) EACH(SetIntervalFraction) EACH(SetShiftDecimal) EACH(SetShiftFraction)  \
  EACH(EvaluateDiscreteStates) EACH(UpdateDiscreteStates) EACH(EnterContinuousTimeMode) EACH(CompletedIntegratorStep)     \
  EACH(SetTime) EACH(SetContinuousStates) EACH(GetContinuousStateDerivatives) EACH(GetEventIndicators)                    \
  EACH(GetContinuousStates) EACH(GetNominalsOfContinuousStates) EACH(GetNumberOfEventIndicators)                          \
  EACH(GetNumberOfContinuousStates) EACH(EnterStepMode) EACH(GetOutputDerivatives) EACH(DoStep)                           \
  EACH(ActivateModelPartition)

#include "fmi3FunctionTypes.h"

#define MEMBER(name) fmi3##name##TYPE *name;
typedef struct {
  FMI3_FUNCTIONS(MEMBER)
} functions3;
#undef MEMBER

functions3 *load_functions_3(void *library);
void log_3(fmi3InstanceEnvironment environment, fmi3Status status, fmi3String category, fmi3String message);
