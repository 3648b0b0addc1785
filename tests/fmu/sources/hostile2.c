/* An FMI 2 slave that does harm, or tries to. What it does at its first step is in its guid, deeds separated by ';':
   {read PATH; list PATH; write PATH; link FROM TO; connect ADDRESS PORT; signal PID; fill PATH; burrow PATH; forks; memory;
   spin; sleep; crash; abort; environment NAME; networks; namespace; trace}. How each attempt ended is told through the logger. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include "fmi2Functions.h"

typedef struct {
    const fmi2CallbackFunctions *callbacks;
    char deeds[2000];
    double y;
    int done;
} Model;

static void say(Model *m, const char *format, ...) {
    char text[500];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    m->callbacks->logger(m->callbacks->componentEnvironment, "hostile", fmi2OK, "deeds", "%s", text);
}

static void tell(Model *m, const char *what, const char *of, int well) {
    if (well) say(m, "could %s %s", what, of);
    else say(m, "could not %s %s: %s", what, of, strerror(errno));
}

static void connect_to(Model *m, const char *address, int port) {
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};
    const int s = socket(AF_INET, SOCK_STREAM, 0);
    inet_pton(AF_INET, address, &to.sin_addr);
    tell(m, "connect to", address, s >= 0 && connect(s, (struct sockaddr *)&to, sizeof to) == 0);
    if (s >= 0) close(s);
}

static void fill(Model *m, const char *folder) {
    static char block[1 << 20];
    char path[600];
    memset(block, 7, sizeof block);
    for (int i = 0;; ++i) {
        snprintf(path, sizeof path, "%s/filling-%d", folder, i);
        const int f = open(path, O_WRONLY | O_CREAT, 0600);
        long written = 0, size = 0;
        while (f >= 0 && size < 64 << 20 && (written = write(f, block, sizeof block)) > 0) size += written;
        if (f < 0 || written < 0) {
            tell(m, "fill", folder, 0);
            if (f >= 0) close(f);
            return;
        }
        close(f);
    }
}

static void burrow(Model *m, const char *folder) {
    char here[600];
    if (!getcwd(here, sizeof here) || chdir(folder)) return;
    for (int i = 0; i < 3000; ++i)
        if (mkdir("below", 0700) || chdir("below")) break;
    say(m, "burrowed in %s", folder);
    chdir(here);
}

static void do_one(Model *m, char *deed) {
    char word[32] = "", first[500] = "", second[500] = "";
    if (sscanf(deed, " %31s %499s %499s", word, first, second) < 1) return;
    if (!strcmp(word, "read")) {
        char content[64];
        const int f = open(first, O_RDONLY);
        tell(m, "read", first, f >= 0 && read(f, content, sizeof content) >= 0);
        if (f >= 0) close(f);
    } else if (!strcmp(word, "list")) {
        DIR *d = opendir(first);
        tell(m, "list", first, d != NULL);
        for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d)) say(m, "%s holds %s", first, e->d_name);
        if (d) closedir(d);
    } else if (!strcmp(word, "write")) {
        const int f = open(first, O_WRONLY | O_CREAT, 0600);
        tell(m, "write", first, f >= 0 && write(f, "harm", 4) == 4);
        if (f >= 0) close(f);
    } else if (!strcmp(word, "link")) {
        tell(m, "link", second, symlink(first, second) == 0);
    } else if (!strcmp(word, "connect")) {
        connect_to(m, first, atoi(second));
    } else if (!strcmp(word, "networks")) {
        char line[200];
        FILE *f = fopen("/proc/net/dev", "r");
        while (f && fgets(line, sizeof line, f))
            if (strchr(line, ':')) say(m, "there is the network %.*s", (int)(strchr(line, ':') - line), line);
        if (f) fclose(f);
    } else if (!strcmp(word, "signal")) {
        tell(m, "signal", first, kill(atoi(first), SIGCONT) == 0);
    } else if (!strcmp(word, "environment")) {
        say(m, "%s is %s", first, getenv(first) ? getenv(first) : "not set");
    } else if (!strcmp(word, "namespace")) {
        tell(m, "make", "a namespace", unshare(CLONE_NEWUSER) == 0);
    } else if (!strcmp(word, "trace")) {
        tell(m, "trace", "its parent", ptrace(PTRACE_ATTACH, getppid(), 0, 0) == 0);
    } else if (!strcmp(word, "fill")) {
        fill(m, first);
    } else if (!strcmp(word, "burrow")) {
        burrow(m, first);
    } else if (!strcmp(word, "memory")) {
        for (;;) {
            char *p = malloc(16 << 20);
            memset(p, 7, 16 << 20); /* also where there is none left */
        }
    } else if (!strcmp(word, "forks")) {
        int count = 0, failed = 0;
        while (count < 3000 && !failed) {
            const pid_t child = fork();
            if (child == 0) {
                sleep(60);
                _exit(0);
            }
            if (child < 0) failed = errno;
            else ++count;
        }
        say(m, "%s after %d processes", failed ? strerror(failed) : "no end", count);
    } else if (!strcmp(word, "spin")) {
        for (volatile int i = 0;; ++i) {}
    } else if (!strcmp(word, "sleep")) {
        sleep(3600);
    } else if (!strcmp(word, "crash")) {
        *(volatile int *)0 = 1;
    } else if (!strcmp(word, "abort")) {
        abort();
    } else {
        say(m, "there is no deed %s", word);
    }
}

const char *fmi2GetTypesPlatform(void) { return "default"; }
const char *fmi2GetVersion(void) { return "2.0"; }
fmi2Status fmi2SetDebugLogging(fmi2Component c, fmi2Boolean on, size_t n, const fmi2String names[]) { return fmi2OK; }
fmi2Component fmi2Instantiate(fmi2String name, fmi2Type type, fmi2String guid, fmi2String place, const fmi2CallbackFunctions *callbacks, fmi2Boolean visible, fmi2Boolean logging) {
    Model *m = calloc(1, sizeof *m);
    m->callbacks = callbacks;
    strncpy(m->deeds, guid + 1, sizeof m->deeds - 1);
    m->deeds[strlen(m->deeds) - 1] = 0;
    return m;
}
void fmi2FreeInstance(fmi2Component c) { free(c); }
fmi2Status fmi2SetupExperiment(fmi2Component c, fmi2Boolean d, fmi2Real t, fmi2Real a, fmi2Boolean e, fmi2Real b) { return fmi2OK; }
fmi2Status fmi2EnterInitializationMode(fmi2Component c) { return fmi2OK; }
fmi2Status fmi2ExitInitializationMode(fmi2Component c) { return fmi2OK; }
fmi2Status fmi2Terminate(fmi2Component c) { return fmi2OK; }
fmi2Status fmi2Reset(fmi2Component c) { return fmi2OK; }
fmi2Status fmi2GetReal(fmi2Component c, const fmi2ValueReference vr[], size_t n, fmi2Real value[]) {
    for (size_t i = 0; i < n; ++i) value[i] = ((Model *)c)->y;
    return fmi2OK;
}
fmi2Status fmi2SetReal(fmi2Component c, const fmi2ValueReference vr[], size_t n, const fmi2Real value[]) { return fmi2OK; }
#define NONE(NAME, TYPE)                                                                                              \
    fmi2Status fmi2Get##NAME(fmi2Component c, const fmi2ValueReference vr[], size_t n, TYPE value[]) { return n ? fmi2Error : fmi2OK; } \
    fmi2Status fmi2Set##NAME(fmi2Component c, const fmi2ValueReference vr[], size_t n, const TYPE value[]) { return n ? fmi2Error : fmi2OK; }
NONE(Integer, fmi2Integer)
NONE(Boolean, fmi2Boolean)
NONE(String, fmi2String)
fmi2Status fmi2GetFMUstate(fmi2Component c, fmi2FMUstate *s) { return fmi2Error; }
fmi2Status fmi2SetFMUstate(fmi2Component c, fmi2FMUstate s) { return fmi2Error; }
fmi2Status fmi2FreeFMUstate(fmi2Component c, fmi2FMUstate *s) { return fmi2Error; }
fmi2Status fmi2SerializedFMUstateSize(fmi2Component c, fmi2FMUstate s, size_t *n) { return fmi2Error; }
fmi2Status fmi2SerializeFMUstate(fmi2Component c, fmi2FMUstate s, fmi2Byte b[], size_t n) { return fmi2Error; }
fmi2Status fmi2DeSerializeFMUstate(fmi2Component c, const fmi2Byte b[], size_t n, fmi2FMUstate *s) { return fmi2Error; }
fmi2Status fmi2GetDirectionalDerivative(fmi2Component c, const fmi2ValueReference u[], size_t nu, const fmi2ValueReference k[], size_t nk, const fmi2Real dk[], fmi2Real du[]) { return fmi2Error; }
fmi2Status fmi2SetRealInputDerivatives(fmi2Component c, const fmi2ValueReference vr[], size_t n, const fmi2Integer o[], const fmi2Real v[]) { return fmi2Error; }
fmi2Status fmi2GetRealOutputDerivatives(fmi2Component c, const fmi2ValueReference vr[], size_t n, const fmi2Integer o[], fmi2Real v[]) { return fmi2Error; }
fmi2Status fmi2DoStep(fmi2Component c, fmi2Real t, fmi2Real h, fmi2Boolean no_set_before) {
    Model *m = c;
    char *rest = m->deeds, *deed;
    if (!m->done)
        while ((deed = strsep(&rest, ";"))) do_one(m, deed);
    m->done = 1;
    m->y = t + h;
    return fmi2OK;
}
fmi2Status fmi2CancelStep(fmi2Component c) { return fmi2Error; }
fmi2Status fmi2GetStatus(fmi2Component c, const fmi2StatusKind k, fmi2Status *v) { return fmi2Discard; }
fmi2Status fmi2GetRealStatus(fmi2Component c, const fmi2StatusKind k, fmi2Real *v) { return fmi2Discard; }
fmi2Status fmi2GetIntegerStatus(fmi2Component c, const fmi2StatusKind k, fmi2Integer *v) { return fmi2Discard; }
fmi2Status fmi2GetBooleanStatus(fmi2Component c, const fmi2StatusKind k, fmi2Boolean *v) { return fmi2Discard; }
fmi2Status fmi2GetStringStatus(fmi2Component c, const fmi2StatusKind k, fmi2String *v) { return fmi2Discard; }
