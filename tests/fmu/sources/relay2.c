/* An FMI 2 co-simulation slave that passes on what it gets, in every type: y = k u + a, and copies of all else. */
#include "fmi2Functions.h"
#include <stdlib.h>
#include <string.h>

typedef struct {
    double real[8];
    int integer[8];
    int boolean[4];
    char text[3][64];
    double time, step;
} Relay;

const char *fmi2GetTypesPlatform(void) { return "default"; }
const char *fmi2GetVersion(void) { return "2.0"; }

fmi2Component fmi2Instantiate(fmi2String name, fmi2Type type, fmi2String guid, fmi2String location,
                              const fmi2CallbackFunctions *functions, fmi2Boolean visible, fmi2Boolean logging) {
    Relay *r = calloc(1, sizeof(Relay));
    r->real[1] = 1.0;
    r->real[4] = 300.0;
    r->integer[2] = 1;
    strcpy(r->text[0], "relay");
    return r;
}
void fmi2FreeInstance(fmi2Component c) { free(c); }
fmi2Status fmi2SetDebugLogging(fmi2Component c, fmi2Boolean on, size_t n, const fmi2String names[]) { return fmi2OK; }
fmi2Status fmi2SetupExperiment(fmi2Component c, fmi2Boolean d, fmi2Real t, fmi2Real s, fmi2Boolean e, fmi2Real end) { return fmi2OK; }
fmi2Status fmi2EnterInitializationMode(fmi2Component c) { return fmi2OK; }
fmi2Status fmi2ExitInitializationMode(fmi2Component c) { return fmi2OK; }
fmi2Status fmi2Terminate(fmi2Component c) { return fmi2OK; }
fmi2Status fmi2Reset(fmi2Component c) { return fmi2OK; }

static double real(const Relay *r, unsigned reference) {
    switch (reference) {
    case 3: return r->real[1] * r->real[0] + r->real[2];
    case 5: return r->real[4];
    case 6: return r->time;
    case 7: return r->step;
    default: return r->real[reference];
    }
}
fmi2Status fmi2GetReal(fmi2Component c, const fmi2ValueReference vr[], size_t n, fmi2Real v[]) {
    for (size_t i = 0; i < n; i++) v[i] = real(c, vr[i]);
    return fmi2OK;
}
fmi2Status fmi2SetReal(fmi2Component c, const fmi2ValueReference vr[], size_t n, const fmi2Real v[]) {
    for (size_t i = 0; i < n; i++) ((Relay *)c)->real[vr[i]] = v[i];
    return fmi2OK;
}
/* An odd reference is a copy of the one before it. */
fmi2Status fmi2GetInteger(fmi2Component c, const fmi2ValueReference vr[], size_t n, fmi2Integer v[]) {
    for (size_t i = 0; i < n; i++) v[i] = ((Relay *)c)->integer[vr[i] & ~1u];
    return fmi2OK;
}
fmi2Status fmi2SetInteger(fmi2Component c, const fmi2ValueReference vr[], size_t n, const fmi2Integer v[]) {
    for (size_t i = 0; i < n; i++) ((Relay *)c)->integer[vr[i]] = v[i];
    return fmi2OK;
}
fmi2Status fmi2GetBoolean(fmi2Component c, const fmi2ValueReference vr[], size_t n, fmi2Boolean v[]) {
    for (size_t i = 0; i < n; i++) v[i] = ((Relay *)c)->boolean[vr[i] & ~1u];
    return fmi2OK;
}
fmi2Status fmi2SetBoolean(fmi2Component c, const fmi2ValueReference vr[], size_t n, const fmi2Boolean v[]) {
    for (size_t i = 0; i < n; i++) ((Relay *)c)->boolean[vr[i]] = v[i];
    return fmi2OK;
}
fmi2Status fmi2GetString(fmi2Component c, const fmi2ValueReference vr[], size_t n, fmi2String v[]) {
    for (size_t i = 0; i < n; i++) v[i] = ((Relay *)c)->text[vr[i]];
    return fmi2OK;
}
fmi2Status fmi2SetString(fmi2Component c, const fmi2ValueReference vr[], size_t n, const fmi2String v[]) {
    for (size_t i = 0; i < n; i++) strncpy(((Relay *)c)->text[vr[i]], v[i], 63);
    return fmi2OK;
}
fmi2Status fmi2DoStep(fmi2Component c, fmi2Real t, fmi2Real h, fmi2Boolean forward) {
    ((Relay *)c)->time = t + h;
    ((Relay *)c)->step = h;
    return fmi2OK;
}
fmi2Status fmi2CancelStep(fmi2Component c) { return fmi2Error; }
fmi2Status fmi2GetFMUstate(fmi2Component c, fmi2FMUstate *s) { return fmi2Error; }
fmi2Status fmi2SetFMUstate(fmi2Component c, fmi2FMUstate s) { return fmi2Error; }
fmi2Status fmi2FreeFMUstate(fmi2Component c, fmi2FMUstate *s) { return fmi2Error; }
fmi2Status fmi2SerializedFMUstateSize(fmi2Component c, fmi2FMUstate s, size_t *n) { return fmi2Error; }
fmi2Status fmi2SerializeFMUstate(fmi2Component c, fmi2FMUstate s, fmi2Byte b[], size_t n) { return fmi2Error; }
fmi2Status fmi2DeSerializeFMUstate(fmi2Component c, const fmi2Byte b[], size_t n, fmi2FMUstate *s) { return fmi2Error; }
fmi2Status fmi2GetDirectionalDerivative(fmi2Component c, const fmi2ValueReference u[], size_t nu, const fmi2ValueReference k[],
                                        size_t nk, const fmi2Real dk[], fmi2Real du[]) { return fmi2Error; }
fmi2Status fmi2SetRealInputDerivatives(fmi2Component c, const fmi2ValueReference vr[], size_t n, const fmi2Integer o[],
                                       const fmi2Real v[]) { return fmi2Error; }
fmi2Status fmi2GetRealOutputDerivatives(fmi2Component c, const fmi2ValueReference vr[], size_t n, const fmi2Integer o[],
                                        fmi2Real v[]) { return fmi2Error; }
fmi2Status fmi2GetStatus(fmi2Component c, const fmi2StatusKind k, fmi2Status *v) { return fmi2Discard; }
fmi2Status fmi2GetRealStatus(fmi2Component c, const fmi2StatusKind k, fmi2Real *v) { return fmi2Discard; }
fmi2Status fmi2GetIntegerStatus(fmi2Component c, const fmi2StatusKind k, fmi2Integer *v) { return fmi2Discard; }
fmi2Status fmi2GetBooleanStatus(fmi2Component c, const fmi2StatusKind k, fmi2Boolean *v) { return fmi2Discard; }
fmi2Status fmi2GetStringStatus(fmi2Component c, const fmi2StatusKind k, fmi2String *v) { return fmi2Discard; }
