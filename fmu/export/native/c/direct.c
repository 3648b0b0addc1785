/* Plain entry points on top of core.h, for the Python inside an FMU: it calls them through ctypes and needs nothing else.

   Every function answers with a kp_status; what there is to say about it is kept until the next call, and warnings, one below
   the other, until somebody takes them. */

#include "core.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  kp_instance *model;
  char text[1024];
  char warnings[4096];
} direct;

static void keep(void *environment, const char *instance, kp_status status, const char *text) {
  direct *self = environment;
  size_t used = strlen(self->warnings);
  (void)instance;
  if (status == KP_WARNING)
    snprintf(self->warnings + used, sizeof self->warnings - used, "%s%s", used ? "\n" : "", text);
  else
    snprintf(self->text, sizeof self->text, "%s", text);
}

KP_EXPORT void kp_direct_destroy(direct *self) {
  if (self) kp_destroy(self->model);
  free(self);
}

KP_EXPORT direct *kp_direct_create(const char *token) {
  direct *self = calloc(1, sizeof *self);
  if (!self) return NULL;
  self->model = kp_create(KP_MODEL, token, keep, self, false);
  if (!self->model) {
    kp_direct_destroy(self);
    return NULL;
  }
  return self;
}

KP_EXPORT const char *kp_direct_text(const direct *self) { return self->text; }

/* Copy the warnings to a place of at least 4096 bytes, and forget them; 0 if there are none. */
KP_EXPORT int kp_direct_take_warnings(direct *self, char place[]) {
  if (!*self->warnings) return 0;
  strcpy(place, self->warnings);
  *self->warnings = 0;
  return 1;
}

KP_EXPORT double kp_direct_time(const direct *self) { return self->model->now.time; }
KP_EXPORT size_t kp_direct_state_size(void) { return kp_serialized_size(); }

KP_EXPORT int kp_direct_setup(direct *self, double start, int stop_defined, double stop) {
  return kp_setup(self->model, false, 0, start, stop_defined != 0, stop);
}

KP_EXPORT int kp_direct_enter_initialization(direct *self) { return kp_enter_initialization(self->model); }
KP_EXPORT int kp_direct_exit_initialization(direct *self) { return kp_exit_initialization(self->model); }
KP_EXPORT int kp_direct_terminate(direct *self) { return kp_enter(self->model, KP_TERMINATED); }

KP_EXPORT int kp_direct_get(direct *self, const unsigned references[], size_t count, double values[]) {
  return kp_get(self->model, references, count, values);
}

KP_EXPORT int kp_direct_set(direct *self, const unsigned references[], size_t count, const double values[]) {
  return kp_set(self->model, references, count, values);
}

KP_EXPORT int kp_direct_step(direct *self, double from, double size) {
  kp_status status = kp_do_step(self->model, from, size);
  /* What is to be said is told by kp_direct_take_warnings. */
  return status == KP_WARNING ? KP_OK : status;
}

KP_EXPORT int kp_direct_get_state(direct *self, char bytes[], size_t size) {
  return kp_serialize(self->model, &self->model->now, bytes, size);
}

/* Go back to a state, or only find out whether that is possible. */
KP_EXPORT int kp_direct_set_state(direct *self, const char bytes[], size_t size, int only_check) {
  void *state = NULL;
  kp_status status = kp_deserialize(self->model, bytes, size, &state);
  if (status == KP_OK && !only_check) status = kp_set_state(self->model, state);
  kp_free_state(self->model, &state);
  return status;
}
