/* Finds Python, starts it if nobody has, and lets the FMU's own module tell what to call.

   It needs no header or library of Python where it is compiled, and works in programs that know nothing of Python: of the
   interpreter it uses six functions, looked up by name. */

#define _GNU_SOURCE
#include "bridge.h"

#include <ctype.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef __linux__
#include <link.h>
#endif

functions_of_python kp_python;

static int (*is_initialized)(void);
static void (*initialize)(int);
static void *(*save_thread)(void);
static int (*ensure)(void);
static void (*release)(int);
static int (*run)(const char *);
static pthread_mutex_t starting = PTHREAD_MUTEX_INITIALIZER;

static bool look_up(void *library) {
  is_initialized = (int (*)(void))dlsym(library, "Py_IsInitialized");
  initialize = (void (*)(int))dlsym(library, "Py_InitializeEx");
  save_thread = (void *(*)(void))dlsym(library, "PyEval_SaveThread");
  ensure = (int (*)(void))dlsym(library, "PyGILState_Ensure");
  release = (void (*)(int))dlsym(library, "PyGILState_Release");
  run = (int (*)(const char *))dlsym(library, "PyRun_SimpleString");
  return is_initialized && initialize && save_thread && ensure && release && run;
}

#ifdef __linux__
static int is_libpython(struct dl_phdr_info *info, size_t size, void *found) {
  const char *name = strrchr(info->dlpi_name, '/');
  (void)size;
  if (!name || strncmp(name, "/libpython3.", 12) != 0) return 0;
  snprintf(found, 4096, "%s", info->dlpi_name);
  return 1;
}
#endif

/* Python that this program has loaded already, perhaps for itself alone: the modules of Python need it visible to all. */
static bool find_loaded(void) {
  if (look_up(RTLD_DEFAULT)) return true;
#ifdef __linux__
  {
    char path[4096] = "";
    void *library;
    dl_iterate_phdr(is_libpython, path);
    library = *path ? dlopen(path, RTLD_NOW | RTLD_GLOBAL) : NULL;
    if (library && look_up(library)) return true;
  }
#endif
  return false;
}

/* What an interpreter says of itself: the library that it is, where it is installed, what it is called, where it searches. */
static const char QUESTION[] =
    "import os, sys, sysconfig\n"
    "value = sysconfig.get_config_var\n"
    "names = [value('INSTSONAME'), value('LDLIBRARY'), 'libpython%d.%d.so.1.0' % sys.version_info[:2]]\n"
    "folders = [value('LIBDIR') or '', os.path.join(value('LIBDIR') or '', value('MULTIARCH') or ''), sys.base_prefix + '/lib']\n"
    "paths = [os.path.join(folder, name) for name in names if name and name[-2:] != '.a' for folder in folders]\n"
    "print(next((path for path in paths if os.path.isfile(path)), names[-1]))\n"
    "print(sys.base_prefix)\n"
    "print(ascii(sys.executable))\n"
    "print(ascii([path for path in sys.path if path]))\n";

static bool read_line(FILE *from, char *line, int size) {
  if (!from || !fgets(line, size, from)) return false;
  line[strcspn(line, "\r\n")] = 0;
  return true;
}

static bool start_another(component *self) {
  static char library[4096], prefix[4096], executable[4096], path[65536], code[70000];
  const char *python = getenv("KINGPOST_PYTHON"), *home = getenv("PYTHONHOME");
  char command[8192];
  FILE *answer;
  void *handle;
  bool understood;
  python = python && *python ? python : "python3";
  snprintf(command, sizeof command, "'%s' -c \"%s\" 2>/dev/null", python, QUESTION);
  answer = popen(command, "r");
  understood = read_line(answer, library, sizeof library) && read_line(answer, prefix, sizeof prefix) &&
               read_line(answer, executable, sizeof executable) && read_line(answer, path, sizeof path);
  if (answer) pclose(answer);
  if (!understood) {
    kp_say(self, ERROR, "this FMU runs in Python, and there is none: '%s' cannot be started. Install Python 3.8 or newer, or set "
           "KINGPOST_PYTHON to the path of its executable", python);
    return false;
  }
  handle = dlopen(library, RTLD_NOW | RTLD_GLOBAL);
  if (!handle || !look_up(handle)) {
    kp_say(self, ERROR, "this FMU runs in Python, and '%s' (%s) has no shared library that a program can use: %s. Install it "
           "(libpython3, python3-libs or the like), or set KINGPOST_PYTHON to a Python that has one", python, executable,
           handle ? "it lacks functions" : dlerror());
    return false;
  }
  /* Python would look for its standard library beside the program that runs, which is not Python. */
  if (!home) setenv("PYTHONHOME", prefix, 1);
  initialize(0);
  if (!home) unsetenv("PYTHONHOME");
  snprintf(code, sizeof code, "import sys\nsys.executable = %s\nsys.path[:] = %s\n", executable, path);
  run(code);
  return true;
}

bool kp_start_python(component *self) {
  bool found;
  pthread_mutex_lock(&starting);
  found = (run && is_initialized()) || (find_loaded() && is_initialized());
  if (!found) {
    if (run) {
      initialize(0);
      found = true;
    } else
      found = start_another(self);
    /* Nobody finalizes it: others may have come to use it. */
    if (found) save_thread();
  }
  pthread_mutex_unlock(&starting);
  return found;
}

bool kp_python_lives(void) { return is_initialized && is_initialized(); }

static bool holds_module(const char *folder) {
  char path[9000];
  snprintf(path, sizeof path, "%s/%s.py", folder, KP_MODULE);
  return access(path, R_OK) == 0;
}

static int digit(char letter) { return isdigit((unsigned char)letter) ? letter - '0' : (letter | 32) - 'a' + 10; }

bool kp_find_resources(const char *uri, char *folder, size_t size) {
  const char *from = uri ? uri : "";
  char *to = folder, *slash;
  Dl_info own;
  if (strncmp(from, "file:", 5) == 0) {
    from += 5;
    if (strncmp(from, "//", 2) == 0)
      for (from += 2; *from && *from != '/';) ++from; /* the name of this machine */
  }
  while (*from && to < folder + size - 1) {
    if (*from == '%' && isxdigit((unsigned char)from[1]) && isxdigit((unsigned char)from[2])) {
      *to++ = (char)(16 * digit(from[1]) + digit(from[2]));
      from += 3;
    } else
      *to++ = *from++;
  }
  *to = 0;
  if (holds_module(folder)) return true;
  /* Some importers write a plain path. */
  snprintf(folder, size, "%s", uri ? uri : "");
  if (holds_module(folder)) return true;
  /* Whatever they write, the place of this library is known. */
  if (!dladdr((void *)kp_find_resources, &own) || !own.dli_fname) return false;
  snprintf(folder, size, "%s", own.dli_fname);
  slash = strrchr(folder, '/');
  if (!slash) return false;
  snprintf(slash, size - (size_t)(slash - folder), "/../../resources");
  return holds_module(folder);
}

static const char CONNECT[] =
    "exec('''\n"
    "import os, sys\n"
    "folder = os.fsdecode(bytes.fromhex(\"%s\"))\n"
    "sys.path.insert(0, folder)\n"
    "try:\n"
    "    import ctypes\n"
    "    import %s as module\n"
    "    module.connect(%llu)\n"
    "except BaseException:\n"
    "    import traceback\n"
    "    text = traceback.format_exc().encode(\"utf-8\", \"replace\")[-4000:]\n"
    "    ctypes.memmove(%llu, text, len(text))\n"
    "finally:\n"
    "    sys.path.remove(folder)\n"
    "''', {'__name__': 'kingpost_bridge'})\n";

static void write_from_python(void *self, int level, const char *text) { kp_tell(self, level, text); }

bool kp_connect(component *self, const char *folder) {
  char why[4096] = "";
  size_t i, length = strlen(folder), room = sizeof CONNECT + 2 * length + sizeof KP_MODULE + 64;
  char *hex = malloc(2 * length + 1), *code = malloc(room);
  int lock, done = -1;
  if (hex && code) {
    for (i = 0; i < length; ++i) sprintf(hex + 2 * i, "%02x", (unsigned char)folder[i]);
    hex[2 * length] = 0;
    snprintf(code, room, CONNECT, hex, KP_MODULE, (unsigned long long)(size_t)&kp_python, (unsigned long long)(size_t)why);
    kp_python.log = write_from_python;
    lock = ensure();
    done = run(code);
    release(lock);
  }
  free(hex);
  free(code);
  if (done == 0 && !*why && kp_python.create) return true;
  kp_say(self, ERROR, "the Python module of this FMU, '%s' in '%s', cannot be loaded: %s", KP_MODULE, folder,
         *why ? why : "the reason is on the standard error output");
  return false;
}
