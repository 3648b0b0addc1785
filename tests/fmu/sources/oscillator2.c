/* A damped oscillator, m a = F - c v - k x, as FMI 2 co-simulation and model exchange. Macros give it one defect each. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <fenv.h>
#include <locale.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "fmi2Functions.h"
#ifdef __x86_64__
#include <xmmintrin.h>
#endif

#ifndef GUID
#define GUID "{oscillator}"
#endif

enum { FORCE, POSITION, VELOCITY, ACCELERATION, MASS, STIFFNESS, DAMPING, RATE, REALS };

typedef struct {
    double real[REALS];
    int order;
    int locked;
    double time, stop;
    int stop_defined, stepping, stepped;
    double hidden, slope;
} State;

typedef struct {
    State state;
    char label[64];
    char name[64];
    const fmi2CallbackFunctions *functions;
    int logging;
    int ended; /* whether it asked for the end of the simulation */
    double last; /* time up to which the last step succeeded */
} Model;

#ifdef SHARED
static State shared;
#define STATE(m) (shared)
#else
#define STATE(m) ((m)->state)
#endif
#ifdef ONE_INSTANCE
#define FEW_INSTANCES
#define LIMIT 1
#else
#define LIMIT 5
#endif
#ifdef FEW_INSTANCES
static int alive = 0;
#endif

static void say(Model *m, fmi2Status status, const char *format, ...) {
    char text[256];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    if (m->logging && m->functions->logger)
        m->functions->logger(m->functions->componentEnvironment, m->name, status, "logAll", "%s", text);
}

#ifdef ABORT_AT_EXIT
__attribute__((destructor)) static void at_exit(void) { abort(); }
#endif

static void set_start(Model *m) {
    State fresh = {{0.0, 0.1, 0.0, 0.0, 2.0, 50.0, 0.4, 0.0}, 4, 0, 0.0, 0.0, 0, 0, 0, 0.0};
    STATE(m) = fresh;
    strcpy(m->label, "oscillator");
}

static void rates(const State *s, const double y[2], double dy[2]) {
    dy[0] = s->locked ? 0.0 : y[1];
    dy[1] = s->locked ? 0.0 : (s->real[FORCE] - s->real[DAMPING] * y[1] - s->real[STIFFNESS] * y[0]) / s->real[MASS];
}

static void outputs(State *s) {
    double dy[2];
    rates(s, &s->real[POSITION], dy);
    s->real[RATE] = dy[0];
#ifdef STALE_OUTPUT
    if (!s->stepped) return;
#endif
    s->real[ACCELERATION] = dy[1];
#ifdef CANCELLATION
    /* A small difference of large numbers: it is rounded to 1.2e-10. */
    s->real[ACCELERATION] = (dy[1] * 1e-6 + 1e6) - 1e6;
#endif
}

static void rk4(State *s, double h) {
    double *y = &s->real[POSITION], k[4][2], z[2];
    const double part[4] = {0.0, 0.5, 0.5, 1.0};
    for (int stage = 0; stage < 4; ++stage) {
        for (int i = 0; i < 2; ++i) z[i] = y[i] + (stage ? part[stage] * h * k[stage - 1][i] : 0.0);
        rates(s, z, k[stage]);
    }
    for (int i = 0; i < 2; ++i) y[i] += h / 6.0 * (k[0][i] + 2.0 * k[1][i] + 2.0 * k[2][i] + k[3][i]);
}

static int known(Model *m, fmi2ValueReference vr, fmi2ValueReference count) {
    if (vr < count) return 1;
    say(m, fmi2Error, "there is no variable with value reference %u", vr);
#ifdef STRICT_ERROR
    STATE(m).hidden = 1.0;
#endif
#ifdef CRASH_ON_UNKNOWN
    *(volatile int *)0 = 1;
#endif
    return 0;
}
#ifdef UNKNOWN_OK
#define UNKNOWN fmi2OK
#else
#define UNKNOWN fmi2Error
#endif

const char *fmi2GetTypesPlatform(void) { return "default"; }
const char *fmi2GetVersion(void) { return "2.0"; }
fmi2Status fmi2SetDebugLogging(fmi2Component c, fmi2Boolean on, size_t n, const fmi2String categories[]) {
    ((Model *)c)->logging = on;
    return fmi2OK;
}

fmi2Component fmi2Instantiate(fmi2String name, fmi2Type type, fmi2String guid, fmi2String resources,
                              const fmi2CallbackFunctions *functions, fmi2Boolean visible, fmi2Boolean logging) {
#ifdef SAYS_WHY
    if (strcmp(guid, GUID)) functions->logger(NULL, name, fmi2Error, "logAll", "the GUID is not %s", GUID);
#endif
    if (strcmp(guid, GUID)) return NULL;
#ifdef HANG_AT_START
    for (;;) {}
#endif
#ifdef PLAIN_FOLDERS
    if (strchr(resources, '%')) *(volatile int *)0 = 1;
#endif
#ifdef FEW_INSTANCES
    if (alive >= LIMIT) return NULL;
    ++alive;
#endif
    Model *m = calloc(1, sizeof(Model));
    strncpy(m->name, name, sizeof m->name - 1);
    m->functions = functions;
    m->logging = logging;
    set_start(m);
#ifdef BAD_TEXT
    say(m, fmi2OK, "instantiated, at 20 \xb0" "C");
#else
    say(m, fmi2OK, "instantiated, %d degree of freedom", 1);
#endif
    return m;
}

void fmi2FreeInstance(fmi2Component c) {
#ifdef FEW_INSTANCES
    --alive;
#endif
    free(c);
}

fmi2Status fmi2SetupExperiment(fmi2Component c, fmi2Boolean td, fmi2Real tol, fmi2Real start, fmi2Boolean sd, fmi2Real stop) {
    Model *m = c;
    STATE(m).time = start;
    STATE(m).stop_defined = sd;
    STATE(m).stop = stop;
    return fmi2OK;
}
fmi2Status fmi2EnterInitializationMode(fmi2Component c) { return fmi2OK; }
fmi2Status fmi2ExitInitializationMode(fmi2Component c) {
    outputs(&STATE((Model *)c));
    STATE((Model *)c).stepping = 1;
    return fmi2OK;
}
fmi2Status fmi2Terminate(fmi2Component c) {
#ifdef STRICT_ERROR
    if (STATE((Model *)c).hidden) abort();
#endif
#ifdef HANG_AT_END
    for (;;) {}
#endif
#ifdef TERMINATE_FAILS
    say(c, fmi2Error, "cannot terminate");
    return fmi2Error;
#endif
    return fmi2OK;
}
fmi2Status fmi2Reset(fmi2Component c) {
#ifdef RESET_KEEPS
    STATE((Model *)c).stepping = 0;
#else
    set_start(c);
#endif
    return fmi2OK;
}

fmi2Status fmi2GetReal(fmi2Component c, const fmi2ValueReference vr[], size_t n, fmi2Real value[]) {
    Model *m = c;
#ifdef STRICT_ERROR
    if (STATE(m).hidden) abort();
#endif
#ifdef END_MUTE
    if (m->ended) return fmi2Error;
#endif
    outputs(&STATE(m));
    for (size_t i = 0; i < n; ++i) {
        if (!known(m, vr[i], REALS)) return UNKNOWN;
        value[i] = STATE(m).real[vr[i]];
#ifdef GET_TOO_MUCH
        if (i == n - 1) value[n] = 0.0;
#endif
    }
    return fmi2OK;
}
fmi2Status fmi2SetReal(fmi2Component c, const fmi2ValueReference vr[], size_t n, const fmi2Real value[]) {
    Model *m = c;
    for (size_t i = 0; i < n; ++i) {
        if (!known(m, vr[i], REALS)) return UNKNOWN;
#ifndef PASS_NAN
        if (!isfinite(value[i])) {
            say(m, fmi2Error, "value reference %u: %g is not a finite number", vr[i], value[i]);
            return fmi2Error;
        }
#endif
#ifdef REFUSE_INPUT
        if (vr[i] == FORCE && STATE(m).stepping) return fmi2Error;
#endif
#ifdef IGNORE_PARAMETER
        if (vr[i] == STIFFNESS) continue;
#endif
        STATE(m).real[vr[i]] = value[i];
#ifdef WRITE_VALUES
        if (vr[i] == FORCE) ((double *)value)[i] += 1.0;
#endif
#ifdef WRITE_REFERENCES
        ((fmi2ValueReference *)vr)[i] = 0;
#endif
    }
    return fmi2OK;
}
#define ACCESS(NAME, TYPE, FIELD)                                                                                     \
    fmi2Status fmi2Get##NAME(fmi2Component c, const fmi2ValueReference vr[], size_t n, TYPE value[]) {                \
        for (size_t i = 0; i < n; ++i) {                                                                              \
            if (!known(c, vr[i], 1)) return UNKNOWN;                                                                  \
            value[i] = STATE((Model *)c).FIELD;                                                                       \
        }                                                                                                             \
        return fmi2OK;                                                                                                \
    }                                                                                                                 \
    fmi2Status fmi2Set##NAME(fmi2Component c, const fmi2ValueReference vr[], size_t n, const TYPE value[]) {          \
        for (size_t i = 0; i < n; ++i) {                                                                              \
            if (!known(c, vr[i], 1)) return UNKNOWN;                                                                  \
            STATE((Model *)c).FIELD = value[i];                                                                       \
        }                                                                                                             \
        return fmi2OK;                                                                                                \
    }
ACCESS(Integer, fmi2Integer, order)
ACCESS(Boolean, fmi2Boolean, locked)
fmi2Status fmi2GetString(fmi2Component c, const fmi2ValueReference vr[], size_t n, fmi2String value[]) {
    for (size_t i = 0; i < n; ++i) {
        if (!known(c, vr[i], 1)) return UNKNOWN;
        value[i] = ((Model *)c)->label;
    }
    return fmi2OK;
}
fmi2Status fmi2SetString(fmi2Component c, const fmi2ValueReference vr[], size_t n, const fmi2String value[]) {
    for (size_t i = 0; i < n; ++i) {
        if (!known(c, vr[i], 1)) return UNKNOWN;
        strncpy(((Model *)c)->label, value[i], 63);
    }
    return fmi2OK;
}

fmi2Status fmi2GetFMUstate(fmi2Component c, fmi2FMUstate *state) {
    if (!*state) *state = malloc(sizeof(State));
    *(State *)*state = STATE((Model *)c);
    return fmi2OK;
}
fmi2Status fmi2SetFMUstate(fmi2Component c, fmi2FMUstate state) {
#ifdef HIDDEN_STATE
    double hidden = STATE((Model *)c).hidden;
#endif
    STATE((Model *)c) = *(State *)state;
#ifdef HIDDEN_STATE
    STATE((Model *)c).hidden = hidden;
#endif
    return fmi2OK;
}
fmi2Status fmi2FreeFMUstate(fmi2Component c, fmi2FMUstate *state) {
    free(*state);
    *state = NULL;
    return fmi2OK;
}
fmi2Status fmi2SerializedFMUstateSize(fmi2Component c, fmi2FMUstate state, size_t *size) {
#ifdef SERIAL_POINTER
    *size = sizeof(void *);
#else
    *size = sizeof(State);
#endif
    return fmi2OK;
}
fmi2Status fmi2SerializeFMUstate(fmi2Component c, fmi2FMUstate state, fmi2Byte bytes[], size_t size) {
#ifdef SERIAL_POINTER
    memcpy(bytes, &state, sizeof state);
#else
    memcpy(bytes, state, sizeof(State));
#ifdef SERIAL_ROUNDS
    ((State *)bytes)->real[POSITION] = (float)((State *)bytes)->real[POSITION];
#endif
#endif
    return fmi2OK;
}
fmi2Status fmi2DeSerializeFMUstate(fmi2Component c, const fmi2Byte bytes[], size_t size, fmi2FMUstate *state) {
    *state = malloc(sizeof(State));
#ifdef SERIAL_POINTER
    State *old;
    memcpy(&old, bytes, sizeof old);
    memcpy(*state, old, sizeof(State));
#else
    memcpy(*state, bytes, sizeof(State));
#endif
    return fmi2OK;
}

/* The outputs and rates are linear in force, position and velocity. */
fmi2Status fmi2GetDirectionalDerivative(fmi2Component c, const fmi2ValueReference unknown[], size_t nu,
                                        const fmi2ValueReference knowns[], size_t nk, const fmi2Real dk[], fmi2Real du[]) {
    Model *m = c;
    State with = STATE(m), without = STATE(m);
    for (size_t i = 0; i < nk; ++i) {
        if (!known(m, knowns[i], REALS)) return fmi2Error;
        without.real[knowns[i]] = 0.0;
        with.real[knowns[i]] = dk[i];
    }
    with.stepped = without.stepped = 1;
    outputs(&with);
    outputs(&without);
    for (size_t i = 0; i < nu; ++i) {
        if (!known(m, unknown[i], REALS)) return fmi2Error;
        du[i] = with.real[unknown[i]] - without.real[unknown[i]];
#ifdef CANCELLATION
        if (unknown[i] == ACCELERATION) {
            du[i] = 0.0;
            for (size_t k = 0; k < nk; ++k)
                if (knowns[k] == FORCE) du[i] += 1e-6 / with.real[MASS] * dk[k];
        }
#endif
#ifdef ROUGH_DERIVATIVE
        du[i] *= 1.01;
#endif
#ifdef WRONG_DERIVATIVE
        du[i] *= 1.5;
#endif
    }
    return fmi2OK;
}

fmi2Status fmi2DoStep(fmi2Component c, fmi2Real t, fmi2Real h, fmi2Boolean no_set_before) {
    Model *m = c;
    State *s = &STATE(m);
    const double end = t + h;
#ifdef STRICT_ERROR
    if (s->hidden || (s->stop_defined && end > s->stop + 1e-9)) abort();
#endif
    if (h < 0.0) {
        say(m, fmi2Error, "the step is %g s", h);
        return fmi2Error;
    }
    if (s->stop_defined && end > s->stop * (1.0 + 1e-9) + 1e-9) {
        say(m, fmi2Error, "%g s is beyond the stop time %g s", end, s->stop);
        return fmi2Error;
    }
#ifdef HANG
    if (end > 0.0305) for (;;) {}
#endif
#ifdef DISCARD
    /* Too long a step: part of it is taken, or none, and the state is no good afterwards. */
    if (h > 0.0045) {
        m->last = DISCARD * 0.004 + t;
        s->real[POSITION] += 1.0;
        return fmi2Discard;
    }
#endif
#ifdef EXIT
    if (end > 0.0305) exit(3);
#endif
#ifdef CRASH_LATER
    if (end > 0.0305) {
        say(m, fmi2Warning, "the spring is about to break");
        *(volatile int *)0 = 1;
    }
#endif
#ifdef FAIL_LATER
    if (end > 0.0305) {
        say(m, fmi2Error, "the spring broke");
        return fmi2Error;
    }
#endif
#ifdef SLOW
    const struct timespec pause = {0, 20000000};
    nanosleep(&pause, NULL);
#endif
#ifdef NAN_LATER
    if (end > 0.0305) s->real[VELOCITY] = NAN;
#endif
#ifdef OVERRUN
    ((volatile char *)m)[sizeof *m] = 0x41;
#endif
#ifdef CLOSE_FILES
    for (int i = 3; i < 64; ++i) close(i);
#endif
#ifdef LEFT_OPEN
    if (t == 0.0) open("/dev/null", O_RDONLY);
#endif
#ifdef ROUND_UP
    fesetround(FE_UPWARD);
#endif
#ifdef TRAP
    feenableexcept(FE_OVERFLOW);
#endif
#ifdef FLUSH
    _mm_setcsr(_mm_getcsr() | 0x8040);
#endif
#ifdef SET_LOCALE
    setlocale(LC_ALL, "C.UTF-8");
#endif
#ifdef CHANGE_FOLDER
    chdir("/");
#endif
#ifdef UMASK
    umask(0);
#endif
#ifdef SIGNALS
    signal(SIGUSR1, SIG_IGN);
#endif
#ifdef SET_ENVIRONMENT
    setenv("OSCILLATOR", "on", 1);
#endif
#ifdef LEAK
    volatile char *lost = malloc(4096);
    for (int i = 0; i < 4096; i += 64) lost[i] = 1;
#endif
#ifdef END_AT
    const int ends = t < END_AT - 1e-12 && end > END_AT - 1e-12;
    if (ends) h = END_AT - t;
#endif
#ifdef STEP_DEPENDENT
    rk4(s, 1e-3);
#else
    const int count = h > 0.0 ? (int)ceil(h / 1e-3 - 1e-9) : 0;
    for (int i = 0; i < count; ++i) {
        s->real[FORCE] += s->slope * h / count / 2;
        rk4(s, h / count);
        s->real[FORCE] += s->slope * h / count / 2;
    }
    s->slope = 0.0;
#endif
#ifdef HIDDEN_STATE
    s->hidden += h;
    s->real[VELOCITY] += 1e-6 * s->hidden;
#endif
#ifdef RANDOM
    s->real[VELOCITY] += 1e-9 * ((size_t)m >> 12 & 0xfff);
#endif
#ifdef END_AT
    if (ends) {
        s->time = m->last = t + h;
        m->ended = 1;
        return fmi2Discard;
    }
#endif
    s->time = end;
    s->stepped = 1;
    outputs(s);
    return fmi2OK;
}
fmi2Status fmi2CancelStep(fmi2Component c) { return fmi2Error; }
fmi2Status fmi2SetRealInputDerivatives(fmi2Component c, const fmi2ValueReference vr[], size_t n, const fmi2Integer o[], const fmi2Real v[]) {
#ifdef FOLLOW
    STATE((Model *)c).slope = v[0];
#elif !defined IGNORE_SLOPE
    return fmi2Error;
#endif
    return fmi2OK;
}
fmi2Status fmi2GetRealOutputDerivatives(fmi2Component c, const fmi2ValueReference vr[], size_t n, const fmi2Integer o[], fmi2Real v[]) { return fmi2Error; }
#ifndef INCOMPLETE
fmi2Status fmi2GetStatus(fmi2Component c, const fmi2StatusKind k, fmi2Status *v) { return fmi2Discard; }
#endif
fmi2Status fmi2GetRealStatus(fmi2Component c, const fmi2StatusKind k, fmi2Real *v) {
#if defined DISCARD || defined END_AT
    *v = ((Model *)c)->last;
    return k == fmi2LastSuccessfulTime ? fmi2OK : fmi2Discard;
#else
    return fmi2Discard;
#endif
}
fmi2Status fmi2GetIntegerStatus(fmi2Component c, const fmi2StatusKind k, fmi2Integer *v) { return fmi2Discard; }
fmi2Status fmi2GetBooleanStatus(fmi2Component c, const fmi2StatusKind k, fmi2Boolean *v) {
#ifdef END_AT
    *v = ((Model *)c)->ended;
    return k == fmi2Terminated ? fmi2OK : fmi2Discard;
#else
    return fmi2Discard;
#endif
}
fmi2Status fmi2GetStringStatus(fmi2Component c, const fmi2StatusKind k, fmi2String *v) { return fmi2Discard; }

/* Model exchange. */
fmi2Status fmi2EnterEventMode(fmi2Component c) { return fmi2OK; }
fmi2Status fmi2NewDiscreteStates(fmi2Component c, fmi2EventInfo *info) {
    State *s = &STATE((Model *)c);
    memset(info, 0, sizeof *info);
#ifdef WALL
    if (s->real[POSITION] < -0.05 + 1e-6 && s->real[VELOCITY] < 0.0) {
        s->real[VELOCITY] = -s->real[VELOCITY];
        info->valuesOfContinuousStatesChanged = fmi2True;
    }
#endif
#ifdef SHRINK
    if (s->time > 0.255 - 1e-12 && s->hidden == 0.0) {
        s->hidden = 1.0;
        s->real[POSITION] *= 1e-6;
        s->real[VELOCITY] *= 1e-6;
        info->valuesOfContinuousStatesChanged = info->nominalsOfContinuousStatesChanged = fmi2True;
    }
    info->nextEventTimeDefined = s->hidden == 0.0;
    info->nextEventTime = 0.255;
#endif
#ifdef STEP_EVENT
    if (s->hidden == 1.0) s->real[FORCE] = 10.0;
#endif
#ifdef KICK
    if (s->time > 0.255 - 1e-12) s->real[FORCE] = 10.0;
    else info->nextEventTimeDefined = fmi2True;
    info->nextEventTime = 0.255;
#endif
#ifdef END_AT
    info->terminateSimulation = s->time > END_AT - 1e-12;
    info->nextEventTimeDefined = fmi2True;
    info->nextEventTime = END_AT;
#endif
#ifdef END_PUSHED
    info->terminateSimulation = s->real[FORCE] > 1.0;
#endif
    return fmi2OK;
}
fmi2Status fmi2EnterContinuousTimeMode(fmi2Component c) { return fmi2OK; }
fmi2Status fmi2CompletedIntegratorStep(fmi2Component c, fmi2Boolean n, fmi2Boolean *event, fmi2Boolean *terminate) {
    *event = *terminate = fmi2False;
#ifdef STEP_EVENT
    State *s = &STATE((Model *)c);
    if (s->hidden == 0.0 && s->real[POSITION] < 0.0) *event = s->hidden = 1.0;
#endif
#ifdef END_BELOW
    *terminate = STATE((Model *)c).real[POSITION] < 0.0;
#endif
    return fmi2OK;
}
fmi2Status fmi2SetTime(fmi2Component c, fmi2Real time) {
#ifdef STRICT_TIME
    if (STATE((Model *)c).stop_defined && time > STATE((Model *)c).stop) {
        say(c, fmi2Error, "%g s is beyond the stop time", time);
        return fmi2Error;
    }
#endif
    STATE((Model *)c).time = time;
    return fmi2OK;
}
fmi2Status fmi2SetContinuousStates(fmi2Component c, const fmi2Real x[], size_t n) {
    memcpy(&STATE((Model *)c).real[POSITION], x, 2 * sizeof(double));
    return fmi2OK;
}
fmi2Status fmi2GetContinuousStates(fmi2Component c, fmi2Real x[], size_t n) {
    memcpy(x, &STATE((Model *)c).real[POSITION], 2 * sizeof(double));
    return fmi2OK;
}
fmi2Status fmi2GetDerivatives(fmi2Component c, fmi2Real dx[], size_t n) {
    rates(&STATE((Model *)c), &STATE((Model *)c).real[POSITION], dx);
    return fmi2OK;
}
fmi2Status fmi2GetEventIndicators(fmi2Component c, fmi2Real z[], size_t n) {
    if (n) z[0] = STATE((Model *)c).real[POSITION] + 0.05;
    return fmi2OK;
}
fmi2Status fmi2GetNominalsOfContinuousStates(fmi2Component c, fmi2Real x[], size_t n) {
    x[0] = x[1] = 1.0;
#ifdef SHRINK
    if (STATE((Model *)c).hidden) x[0] = x[1] = 1e-6;
#endif
    return fmi2OK;
}
