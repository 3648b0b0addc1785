/* FMUs of both standards behind one face, for a master that knows nothing of Python. Types are those of the standards' own
   headers, so that a wrong declaration in an FMU shows. */

#ifndef HOST_H
#define HOST_H

#include <stdbool.h>
#include <stddef.h>

typedef struct fmu fmu;
typedef struct instance instance;

/* A loaded library and the functions in it; `token` is the GUID or instantiation token that it is given. */
struct fmu {
  int version;
  void *library;
  const char *token;
  void *functions;
};

struct instance {
  const fmu *of;
  void *component;
};

/* Leave with a message unless a status is OK. */
void demand(bool condition, const char *format, ...);

fmu host_load(int version, const char *path, const char *token, bool global);
void host_unload(fmu *model);
instance host_create(const fmu *model, const char *name);
void host_free(instance *self);

/* All of these return the status of the FMU; 0 is OK. */
int host_initialize(instance *self, double start, const unsigned references[], size_t count, const double values[]);
int host_get(instance *self, const unsigned references[], size_t count, double values[]);
int host_set(instance *self, const unsigned references[], size_t count, const double values[]);
int host_step(instance *self, double from, double size);
int host_reset(instance *self);
int host_get_state(instance *self, void **state);
int host_set_state(instance *self, void *state);
int host_free_state(instance *self, void **state);
size_t host_state_size(instance *self, void *state);
int host_serialize(instance *self, void *state, unsigned char bytes[], size_t size);
int host_deserialize(instance *self, const unsigned char bytes[], size_t size, void **state);

/* Call every function of the standard in every phase, sensible or not; return how many there are. */
int call_all_2(const fmu *model);
int call_all_3(const fmu *model);

#endif
