/* See host.h. */

#include "host.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "functions2.h"
#include "functions3.h"

void demand(bool condition, const char *format, ...) {
  va_list arguments;
  if (condition) return;
  va_start(arguments, format);
  vfprintf(stderr, format, arguments);
  va_end(arguments);
  fputc('\n', stderr);
  exit(1);
}

static void *symbol(void *library, const char *name) {
  void *found = dlsym(library, name);
  demand(found != NULL, "%s is not exported", name);
  return found;
}

#define LOAD(name) *(void **)&all->name = symbol(library, "fmi2" #name);
functions2 *load_functions_2(void *library) {
  functions2 *all = calloc(1, sizeof *all);
  FMI2_FUNCTIONS(LOAD)
  return all;
}
#undef LOAD

#define LOAD(name) *(void **)&all->name = symbol(library, "fmi3" #name);
functions3 *load_functions_3(void *library) {
  functions3 *all = calloc(1, sizeof *all);
  FMI3_FUNCTIONS(LOAD)
  return all;
}

fmu host_load(int version, const char *path, const char *token, bool global) {
  fmu model = {version, dlopen(path, RTLD_NOW | (global ? RTLD_GLOBAL : RTLD_LOCAL)), token, NULL};
  demand(model.library != NULL, "%s", dlerror());
  model.functions = version == 2 ? (void *)load_functions_2(model.library) : (void *)load_functions_3(model.library);
  return model;
}

void host_unload(fmu *model) {
  free(model->functions);
  dlclose(model->library);
}

static void log_2(fmi2ComponentEnvironment environment, fmi2String name, fmi2Status status, fmi2String category,
                  fmi2String message, ...) {
  va_list arguments;
  (void)environment;
  (void)status;
  fprintf(stderr, "[%s] %s: ", category, name);
  va_start(arguments, message);
  vfprintf(stderr, message, arguments);
  va_end(arguments);
  fputc('\n', stderr);
}

void log_3(fmi3InstanceEnvironment environment, fmi3Status status, fmi3String category, fmi3String message) {
  (void)environment;
  (void)status;
  fprintf(stderr, "[%s] %s\n", category, message);
}

const fmi2CallbackFunctions callbacks2 = {log_2, calloc, free, NULL, NULL};

#define TWO(self) ((const functions2 *)(self)->of->functions)
#define THREE(self) ((const functions3 *)(self)->of->functions)

instance host_create(const fmu *model, const char *name) {
  instance self = {model, NULL};
  if (model->version == 2)
    self.component = TWO(&self)->Instantiate(name, fmi2CoSimulation, model->token, "file:///nowhere", &callbacks2, 0, 0);
  else
    self.component = THREE(&self)->InstantiateCoSimulation(name, model->token, "/nowhere", false, false, false, false, NULL, 0,
                                                           NULL, log_3, NULL);
  demand(self.component != NULL, "the model cannot be instantiated");
  return self;
}

void host_free(instance *self) {
  if (self->of->version == 2)
    TWO(self)->FreeInstance(self->component);
  else
    THREE(self)->FreeInstance(self->component);
}

int host_initialize(instance *self, double start, const unsigned references[], size_t count, const double values[]) {
  int status = 0;
  if (self->of->version == 2) {
    status |= TWO(self)->SetupExperiment(self->component, 0, 0, start, 0, 0);
    status |= TWO(self)->EnterInitializationMode(self->component);
    status |= host_set(self, references, count, values);
    return status | TWO(self)->ExitInitializationMode(self->component);
  }
  status |= THREE(self)->EnterInitializationMode(self->component, false, 0, start, false, 0);
  status |= host_set(self, references, count, values);
  return status | THREE(self)->ExitInitializationMode(self->component);
}

int host_get(instance *self, const unsigned references[], size_t count, double values[]) {
  if (self->of->version == 2) return TWO(self)->GetReal(self->component, references, count, values);
  return THREE(self)->GetFloat64(self->component, references, count, values, count);
}

int host_set(instance *self, const unsigned references[], size_t count, const double values[]) {
  if (self->of->version == 2) return TWO(self)->SetReal(self->component, references, count, values);
  return THREE(self)->SetFloat64(self->component, references, count, values, count);
}

int host_step(instance *self, double from, double size) {
  bool event, terminate, early;
  double last;
  if (self->of->version == 2) return TWO(self)->DoStep(self->component, from, size, 1);
  return THREE(self)->DoStep(self->component, from, size, true, &event, &terminate, &early, &last);
}

int host_reset(instance *self) {
  return self->of->version == 2 ? (int)TWO(self)->Reset(self->component) : (int)THREE(self)->Reset(self->component);
}

int host_get_state(instance *self, void **state) {
  if (self->of->version == 2) return TWO(self)->GetFMUstate(self->component, state);
  return THREE(self)->GetFMUState(self->component, state);
}

int host_set_state(instance *self, void *state) {
  if (self->of->version == 2) return TWO(self)->SetFMUstate(self->component, state);
  return THREE(self)->SetFMUState(self->component, state);
}

int host_free_state(instance *self, void **state) {
  if (self->of->version == 2) return TWO(self)->FreeFMUstate(self->component, state);
  return THREE(self)->FreeFMUState(self->component, state);
}

size_t host_state_size(instance *self, void *state) {
  size_t size = 0;
  int status = self->of->version == 2 ? (int)TWO(self)->SerializedFMUstateSize(self->component, state, &size)
                                      : (int)THREE(self)->SerializedFMUStateSize(self->component, state, &size);
  demand(status == 0, "the size of a state cannot be had");
  return size;
}

int host_serialize(instance *self, void *state, unsigned char bytes[], size_t size) {
  if (self->of->version == 2) return TWO(self)->SerializeFMUstate(self->component, state, (char *)bytes, size);
  return THREE(self)->SerializeFMUState(self->component, state, bytes, size);
}

int host_deserialize(instance *self, const unsigned char bytes[], size_t size, void **state) {
  if (self->of->version == 2) return TWO(self)->DeSerializeFMUstate(self->component, (const char *)bytes, size, state);
  return THREE(self)->DeserializeFMUState(self->component, bytes, size, state);
}
