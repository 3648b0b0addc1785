/* A damped oscillator, m a = F - c v - k x, as FMI 1.0 co-simulation; it begins at rest where the force holds the spring. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "fmi1Functions.h"

enum { FORCE, POSITION, VELOCITY, STIFFNESS, REALS };

typedef struct {
    double real[REALS];
    int steps, initialised;
    char locked;
    fmi1CallbackFunctions functions;
} Model;

#define NAME(name) oscillator_fmi##name

const char *NAME(GetTypesPlatform)(void) { return "standard32"; }
const char *NAME(GetVersion)(void) { return "1.0"; }
fmi1Status NAME(SetDebugLogging)(fmi1Component c, fmi1Boolean on) { return fmi1OK; }

fmi1Component NAME(InstantiateSlave)(fmi1String name, fmi1String guid, fmi1String location, fmi1String mime, fmi1Real timeout,
                                     fmi1Boolean visible, fmi1Boolean interactive, fmi1CallbackFunctions functions,
                                     fmi1Boolean logging) {
    if (strcmp(guid, "{oscillator}") || strncmp(location, "file:///", 8)) return NULL;
    Model *m = calloc(1, sizeof(Model));
    m->real[STIFFNESS] = 50.0;
    m->functions = functions;
    functions.logger(m, name, fmi1OK, "all", "instantiated, %d degree of freedom", 1);
    return m;
}
fmi1Status NAME(InitializeSlave)(fmi1Component c, fmi1Real start, fmi1Boolean stop_defined, fmi1Real stop) {
    Model *m = c;
    if (m->initialised) return fmi1Error;
    m->initialised = 1;
    m->real[POSITION] = m->real[FORCE] / m->real[STIFFNESS];
    return fmi1OK;
}
fmi1Status NAME(TerminateSlave)(fmi1Component c) { return fmi1OK; }
fmi1Status NAME(ResetSlave)(fmi1Component c) { return fmi1Error; }
void NAME(FreeSlaveInstance)(fmi1Component c) { free(c); }

#define ACCESS(KIND, TYPE, COUNT, PLACE)                                                                              \
    fmi1Status NAME(Get##KIND)(fmi1Component c, const fmi1ValueReference vr[], size_t n, TYPE value[]) {               \
        Model *m = c;                                                                                                 \
        if (!m->initialised) return fmi1Error;                                                                        \
        for (size_t i = 0; i < n; ++i) {                                                                              \
            if (vr[i] >= COUNT) return fmi1Error;                                                                     \
            value[i] = PLACE;                                                                                         \
        }                                                                                                             \
        return fmi1OK;                                                                                                \
    }                                                                                                                 \
    fmi1Status NAME(Set##KIND)(fmi1Component c, const fmi1ValueReference vr[], size_t n, const TYPE value[]) {         \
        Model *m = c;                                                                                                 \
        for (size_t i = 0; i < n; ++i) {                                                                              \
            if (vr[i] >= COUNT) return fmi1Error;                                                                     \
            PLACE = value[i];                                                                                         \
        }                                                                                                             \
        return fmi1OK;                                                                                                \
    }
ACCESS(Real, fmi1Real, REALS, m->real[vr[i]])
ACCESS(Integer, fmi1Integer, 1, m->steps)
ACCESS(Boolean, fmi1Boolean, 1, m->locked)
fmi1Status NAME(GetString)(fmi1Component c, const fmi1ValueReference vr[], size_t n, fmi1String value[]) { return fmi1Error; }
fmi1Status NAME(SetString)(fmi1Component c, const fmi1ValueReference vr[], size_t n, const fmi1String value[]) { return fmi1Error; }

fmi1Status NAME(DoStep)(fmi1Component c, fmi1Real t, fmi1Real h, fmi1Boolean new_step) {
    Model *m = c;
    if (!new_step || h > 0.5) {
        m->functions.logger(m, "oscillator", fmi1Error, "all", "a step of %g s is too long", h);
        return fmi1Error;
    }
    for (int i = 0; i < 1000 && !m->locked; ++i) {  /* velocity first: of the first order, and stable */
        m->real[VELOCITY] += h / 1000 * (m->real[FORCE] - 0.4 * m->real[VELOCITY] - m->real[STIFFNESS] * m->real[POSITION]) / 2.0;
        m->real[POSITION] += h / 1000 * m->real[VELOCITY];
    }
    ++m->steps;
    return fmi1OK;
}
fmi1Status NAME(CancelStep)(fmi1Component c) { return fmi1Error; }
fmi1Status NAME(SetRealInputDerivatives)(fmi1Component c, const fmi1ValueReference vr[], size_t n, const fmi1Integer o[], const fmi1Real v[]) { return fmi1Error; }
fmi1Status NAME(GetRealOutputDerivatives)(fmi1Component c, const fmi1ValueReference vr[], size_t n, const fmi1Integer o[], fmi1Real v[]) { return fmi1Error; }
fmi1Status NAME(GetStatus)(fmi1Component c, const fmi1StatusKind k, fmi1Status *v) { return fmi1Discard; }
fmi1Status NAME(GetRealStatus)(fmi1Component c, const fmi1StatusKind k, fmi1Real *v) { return fmi1Discard; }
fmi1Status NAME(GetIntegerStatus)(fmi1Component c, const fmi1StatusKind k, fmi1Integer *v) { return fmi1Discard; }
fmi1Status NAME(GetBooleanStatus)(fmi1Component c, const fmi1StatusKind k, fmi1Boolean *v) { return fmi1Discard; }
fmi1Status NAME(GetStringStatus)(fmi1Component c, const fmi1StatusKind k, fmi1String *v) { return fmi1Discard; }
