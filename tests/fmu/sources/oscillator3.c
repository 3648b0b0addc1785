/* The damped oscillator, m a = F - c v - k x, as FMI 3 co-simulation, with an array output. Macros give it one defect each. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "fmi3Functions.h"

enum { TIME, FORCE, POSITION, VELOCITY, ACCELERATION, MASS, STIFFNESS, DAMPING, REALS, STATES = 20 };

typedef struct {
    double real[REALS];
    double stop;
    int stop_defined;
    fmi3InstanceEnvironment environment;
    fmi3LogMessageCallback log;
} Model;

static fmi3Status refuse(Model *m, const char *format, unsigned number) {
    char text[128];
    snprintf(text, sizeof text, format, number);
    if (m->log) m->log(m->environment, fmi3Error, "logAll", text);
    return fmi3Error;
}
static void set_start(Model *m) {
    const double start[REALS] = {0.0, 0.0, 0.1, 0.0, 0.0, 2.0, 50.0, 0.4};
    memcpy(m->real, start, sizeof start);
    m->stop_defined = 0;
}
static double acceleration(const Model *m, double x, double v) {
    return (m->real[FORCE] - m->real[DAMPING] * v - m->real[STIFFNESS] * x) / m->real[MASS];
}

const char *fmi3GetVersion(void) { return "3.0"; }
fmi3Status fmi3SetDebugLogging(fmi3Instance i, fmi3Boolean on, size_t n, const fmi3String categories[]) { return fmi3OK; }
fmi3Instance fmi3InstantiateCoSimulation(fmi3String name, fmi3String token, fmi3String resources, fmi3Boolean visible,
                                         fmi3Boolean logging, fmi3Boolean events, fmi3Boolean early,
                                         const fmi3ValueReference required[], size_t n, fmi3InstanceEnvironment environment,
                                         fmi3LogMessageCallback log, fmi3IntermediateUpdateCallback update) {
    if (strcmp(token, "{oscillator3}")) return NULL;
    Model *m = calloc(1, sizeof(Model));
    m->environment = environment;
    m->log = log;
    set_start(m);
    return m;
}
fmi3Instance fmi3InstantiateModelExchange(fmi3String name, fmi3String token, fmi3String resources, fmi3Boolean visible,
                                          fmi3Boolean logging, fmi3InstanceEnvironment e, fmi3LogMessageCallback log) { return NULL; }
fmi3Instance fmi3InstantiateScheduledExecution(fmi3String name, fmi3String token, fmi3String resources, fmi3Boolean visible,
                                               fmi3Boolean logging, fmi3InstanceEnvironment e, fmi3LogMessageCallback log,
                                               fmi3ClockUpdateCallback c, fmi3LockPreemptionCallback l,
                                               fmi3UnlockPreemptionCallback u) { return NULL; }
void fmi3FreeInstance(fmi3Instance i) { free(i); }
fmi3Status fmi3EnterInitializationMode(fmi3Instance i, fmi3Boolean td, fmi3Float64 tol, fmi3Float64 start, fmi3Boolean sd, fmi3Float64 stop) {
    Model *m = i;
    m->real[TIME] = start;
    m->stop_defined = sd;
    m->stop = stop;
    return fmi3OK;
}
fmi3Status fmi3ExitInitializationMode(fmi3Instance i) { return fmi3OK; }
fmi3Status fmi3EnterEventMode(fmi3Instance i) { return fmi3OK; }
fmi3Status fmi3Terminate(fmi3Instance i) { return fmi3OK; }
fmi3Status fmi3Reset(fmi3Instance i) {
    set_start(i);
    return fmi3OK;
}

fmi3Status fmi3GetFloat64(fmi3Instance i, const fmi3ValueReference vr[], size_t n, fmi3Float64 values[], size_t count) {
    Model *m = i;
    size_t k = 0;
    m->real[ACCELERATION] = acceleration(m, m->real[POSITION], m->real[VELOCITY]);
    for (size_t j = 0; j < n; ++j) {
        if (vr[j] == STATES) {
            values[k++] = m->real[POSITION];
            values[k++] = m->real[VELOCITY];
        } else if (vr[j] < REALS) {
            values[k++] = m->real[vr[j]];
        } else {
            return refuse(m, "there is no variable with value reference %u", vr[j]);
        }
    }
    return fmi3OK;
}
fmi3Status fmi3SetFloat64(fmi3Instance i, const fmi3ValueReference vr[], size_t n, const fmi3Float64 values[], size_t count) {
    Model *m = i;
    for (size_t j = 0; j < n; ++j) {
        if (vr[j] >= REALS) return refuse(m, "there is no variable with value reference %u", vr[j]);
#ifndef PASS_NAN
        if (!isfinite(values[j])) return refuse(m, "value reference %u: not a finite number", vr[j]);
#endif
        m->real[vr[j]] = values[j];
    }
    return fmi3OK;
}
#define NONE(NAME, TYPE)                                                                                              \
    fmi3Status fmi3Get##NAME(fmi3Instance i, const fmi3ValueReference vr[], size_t n, TYPE v[], size_t c) {           \
        return refuse(i, "there is no variable with value reference %u", vr[0]);                                      \
    }                                                                                                                 \
    fmi3Status fmi3Set##NAME(fmi3Instance i, const fmi3ValueReference vr[], size_t n, const TYPE v[], size_t c) {     \
        return refuse(i, "there is no variable with value reference %u", vr[0]);                                      \
    }
NONE(Float32, fmi3Float32)
NONE(Int8, fmi3Int8)
NONE(UInt8, fmi3UInt8)
NONE(Int16, fmi3Int16)
NONE(UInt16, fmi3UInt16)
NONE(Int32, fmi3Int32)
NONE(UInt32, fmi3UInt32)
NONE(Int64, fmi3Int64)
NONE(UInt64, fmi3UInt64)
NONE(Boolean, fmi3Boolean)
NONE(String, fmi3String)

fmi3Status fmi3GetFMUState(fmi3Instance i, fmi3FMUState *state) {
    if (!*state) *state = malloc(sizeof(Model));
    memcpy(*state, i, sizeof(Model));
    return fmi3OK;
}
fmi3Status fmi3SetFMUState(fmi3Instance i, fmi3FMUState state) {
    Model *m = i;
    memcpy(m->real, ((Model *)state)->real, sizeof m->real);
    return fmi3OK;
}
fmi3Status fmi3FreeFMUState(fmi3Instance i, fmi3FMUState *state) {
    free(*state);
    *state = NULL;
    return fmi3OK;
}
fmi3Status fmi3SerializedFMUStateSize(fmi3Instance i, fmi3FMUState state, size_t *size) {
    *size = REALS * sizeof(double);
    return fmi3OK;
}
fmi3Status fmi3SerializeFMUState(fmi3Instance i, fmi3FMUState state, fmi3Byte bytes[], size_t size) {
    memcpy(bytes, ((Model *)state)->real, size);
    return fmi3OK;
}
fmi3Status fmi3DeserializeFMUState(fmi3Instance i, const fmi3Byte bytes[], size_t size, fmi3FMUState *state) {
    Model *copy = malloc(sizeof(Model));
    memcpy(copy, i, sizeof(Model));
    memcpy(copy->real, bytes, size);
    *state = copy;
    return fmi3OK;
}
fmi3Status fmi3GetDirectionalDerivative(fmi3Instance i, const fmi3ValueReference u[], size_t nu, const fmi3ValueReference k[],
                                        size_t nk, const fmi3Float64 seed[], size_t ns, fmi3Float64 out[], size_t no) {
    Model *m = i;
    for (size_t a = 0; a < nu; ++a) {
        out[a] = 0.0;
        for (size_t b = 0; b < nk; ++b)
            if (u[a] == ACCELERATION && k[b] == FORCE) out[a] += seed[b] / m->real[MASS];
    }
#ifdef WRONG_DERIVATIVE
    out[0] += 1e-3;
#endif
    return fmi3OK;
}

fmi3Status fmi3DoStep(fmi3Instance i, fmi3Float64 t, fmi3Float64 h, fmi3Boolean no_set, fmi3Boolean *event,
                      fmi3Boolean *terminate, fmi3Boolean *early, fmi3Float64 *last) {
    Model *m = i;
    *event = *terminate = *early = fmi3False;
    *last = t;
    if (h < 0.0) return refuse(m, "a step backwards%.0u", 0);
    if (m->stop_defined && t + h > m->stop + 1e-9) return refuse(m, "beyond the stop time%.0u", 0);
#ifdef DISCARD
    if (h > 0.0045) return fmi3Discard;
#endif
#ifdef EARLY_RETURN
    if (h > 0.0045) {
        h = 0.004;
        *early = fmi3True;
    }
#endif
#ifdef END_EARLY
    if (t + h > 0.5) {
        *terminate = fmi3True;
        return fmi3OK;
    }
#endif
#ifdef END_AT
    if (t + h > END_AT - 1e-12) {
        h = END_AT - t;
        *terminate = fmi3True;
    }
#endif
    const int count = h > 0.0 ? (int)ceil(h / 1e-3 - 1e-9) : 0;
    for (int n = 0; n < count; ++n) {
        double s = h / count, *x = &m->real[POSITION], *v = &m->real[VELOCITY];
        double a1 = acceleration(m, *x, *v), xm = *x + 0.5 * s * *v, vm = *v + 0.5 * s * a1;
        *x += s * vm;
        *v += s * acceleration(m, xm, vm);
    }
    m->real[TIME] = *last = t + h;
    return fmi3OK;
}

/* Everything else that FMI 3 demands. */
#define STUB(NAME, ...) \
    fmi3Status NAME(__VA_ARGS__) { return fmi3Error; }
#define I fmi3Instance i
#define VR const fmi3ValueReference vr[], size_t n
STUB(fmi3GetBinary, I, VR, size_t sizes[], fmi3Binary v[], size_t c)
STUB(fmi3SetBinary, I, VR, const size_t sizes[], const fmi3Binary v[], size_t c)
STUB(fmi3GetClock, I, VR, fmi3Clock v[])
STUB(fmi3SetClock, I, VR, const fmi3Clock v[])
STUB(fmi3GetNumberOfVariableDependencies, I, fmi3ValueReference vr, size_t *n)
STUB(fmi3GetVariableDependencies, I, fmi3ValueReference d, size_t ed[], fmi3ValueReference in[], size_t ei[], fmi3DependencyKind k[], size_t n)
STUB(fmi3GetAdjointDerivative, I, const fmi3ValueReference u[], size_t nu, const fmi3ValueReference k[], size_t nk, const fmi3Float64 s[], size_t ns, fmi3Float64 o[], size_t no)
STUB(fmi3EnterConfigurationMode, I)
STUB(fmi3ExitConfigurationMode, I)
STUB(fmi3GetIntervalDecimal, I, VR, fmi3Float64 v[], fmi3IntervalQualifier q[])
STUB(fmi3GetIntervalFraction, I, VR, fmi3UInt64 c[], fmi3UInt64 r[], fmi3IntervalQualifier q[])
STUB(fmi3GetShiftDecimal, I, VR, fmi3Float64 v[])
STUB(fmi3GetShiftFraction, I, VR, fmi3UInt64 c[], fmi3UInt64 r[])
STUB(fmi3SetIntervalDecimal, I, VR, const fmi3Float64 v[])
STUB(fmi3SetIntervalFraction, I, VR, const fmi3UInt64 c[], const fmi3UInt64 r[])
STUB(fmi3SetShiftDecimal, I, VR, const fmi3Float64 v[])
STUB(fmi3SetShiftFraction, I, VR, const fmi3UInt64 c[], const fmi3UInt64 r[])
STUB(fmi3EvaluateDiscreteStates, I)
STUB(fmi3UpdateDiscreteStates, I, fmi3Boolean *a, fmi3Boolean *b, fmi3Boolean *c, fmi3Boolean *d, fmi3Boolean *e, fmi3Float64 *f)
STUB(fmi3EnterContinuousTimeMode, I)
STUB(fmi3CompletedIntegratorStep, I, fmi3Boolean a, fmi3Boolean *b, fmi3Boolean *c)
STUB(fmi3SetTime, I, fmi3Float64 t)
STUB(fmi3SetContinuousStates, I, const fmi3Float64 x[], size_t n)
STUB(fmi3GetContinuousStateDerivatives, I, fmi3Float64 d[], size_t n)
STUB(fmi3GetEventIndicators, I, fmi3Float64 z[], size_t n)
STUB(fmi3GetContinuousStates, I, fmi3Float64 x[], size_t n)
STUB(fmi3GetNominalsOfContinuousStates, I, fmi3Float64 x[], size_t n)
STUB(fmi3GetNumberOfEventIndicators, I, size_t *n)
STUB(fmi3GetNumberOfContinuousStates, I, size_t *n)
STUB(fmi3EnterStepMode, I)
STUB(fmi3GetOutputDerivatives, I, VR, const fmi3Int32 o[], fmi3Float64 v[], size_t c)
STUB(fmi3ActivateModelPartition, I, fmi3ValueReference c, fmi3Float64 t)
