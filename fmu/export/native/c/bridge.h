/* FMI 2.0 for co-simulation, carried out by Python: bridge.c has the functions of the standard, interpreter.c finds Python. */

#ifndef KP_BRIDGE_H
#define KP_BRIDGE_H

#include <stdbool.h>
#include <stddef.h>

/* KP_MODULE and KP_TOKEN: the Python module and the GUID of one FMU. */
#include "bridge_model.h"

#define HIDDEN __attribute__((visibility("hidden")))
#define EXPORT __attribute__((visibility("default")))

typedef enum { OK, WARNING, DISCARD, ERROR, FATAL } status;

typedef struct {
  void (*logger)(void *, const char *instance, status, const char *category, const char *message, ...);
  void *(*allocateMemory)(size_t, size_t);
  void (*freeMemory)(void *);
  void (*stepFinished)(void *, status);
  void *componentEnvironment;
} callbacks;

typedef struct {
  char *name;
  callbacks importer;
  bool logging;
} component;

/* What Python does, in the order of _FUNCTIONS in slave/bridge_front.py; the first function is ours. */
typedef struct {
  void (*log)(void *, int, const char *);
  int (*create)(void *, const char *resources);
  int (*destroy)(void *);
  int (*setup)(void *, double start, int stop_defined, double stop);
  int (*enter_initialization)(void *);
  int (*exit_initialization)(void *);
  int (*terminate)(void *);
  int (*reset)(void *);
  int (*get)(void *, const unsigned *, size_t, double *);
  int (*set)(void *, const unsigned *, size_t, const double *);
  int (*step)(void *, double from, double size);
  size_t (*state_size)(void *);
  int (*get_state)(void *, char *, size_t);
  int (*set_state)(void *, const char *, size_t);
  int (*check_state)(void *, const char *, size_t);
  double (*time)(void *);
} functions_of_python;

HIDDEN extern functions_of_python kp_python;

HIDDEN status kp_tell(component *self, int level, const char *text);
HIDDEN status kp_say(component *self, int level, const char *format, ...);

/* Whether there is an interpreter now; started if there was none. */
HIDDEN bool kp_start_python(component *self);
HIDDEN bool kp_python_lives(void);
/* The folder behind a URI. */
HIDDEN bool kp_find_resources(const char *uri, char *folder, size_t size);
/* Let the Python module in a folder fill in kp_python. */
HIDDEN bool kp_connect(component *self, const char *folder);

#endif
