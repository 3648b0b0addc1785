/* States that an importer takes, goes back to, and keeps as bytes. */

#include "core.h"

#include <stdlib.h>
#include <string.h>

kp_status kp_get_state(kp_instance *self, void **state) {
  if (kp_refused_within(self)) return KP_ERROR;
  if (!*state) *state = malloc(sizeof self->now);
  if (!*state) return kp_say(self, KP_ERROR, "no memory for a copy of the state");
  memcpy(*state, &self->now, sizeof self->now);
  return KP_OK;
}

kp_status kp_set_state(kp_instance *self, const void *state) {
  if (kp_refused_within(self)) return KP_ERROR;
  if (!state) return kp_say(self, KP_ERROR, "there is no state to go back to");
  memcpy(&self->now, state, sizeof self->now);
  self->last_successful_time = self->now.time;
  kp_stale(self);
  return KP_OK;
}

kp_status kp_free_state(kp_instance *self, void **state) {
  (void)self;
  if (state) {
    free(*state);
    *state = NULL;
  }
  return KP_OK;
}

/* Serialised: eight letters, the token, the state as it is in memory. */
static const char MAGIC[8] = {'k', 'p', 's', 't', 'a', 't', 'e', '1'};

size_t kp_serialized_size(void) { return sizeof MAGIC + sizeof KP_TOKEN + sizeof(kp_state); }

kp_status kp_serialize(kp_instance *self, const void *state, char bytes[], size_t size) {
  if (!state || size < kp_serialized_size())
    return kp_say(self, KP_ERROR, "a state takes %lu bytes, not %lu", (unsigned long)kp_serialized_size(), (unsigned long)size);
  memcpy(bytes, MAGIC, sizeof MAGIC);
  memcpy(bytes + sizeof MAGIC, KP_TOKEN, sizeof KP_TOKEN);
  memcpy(bytes + sizeof MAGIC + sizeof KP_TOKEN, state, sizeof(kp_state));
  return KP_OK;
}

kp_status kp_deserialize(kp_instance *self, const char bytes[], size_t size, void **state) {
  kp_state found;
  if (size < kp_serialized_size() || memcmp(bytes, MAGIC, sizeof MAGIC) != 0 ||
      memcmp(bytes + sizeof MAGIC, KP_TOKEN, sizeof KP_TOKEN) != 0)
    return kp_say(self, KP_ERROR, "these %lu bytes are not a state of this model", (unsigned long)size);
  memcpy(&found, bytes + sizeof MAGIC + sizeof KP_TOKEN, sizeof found);
  if (!(found.phase >= KP_INSTANTIATED && found.phase <= KP_TERMINATED))
    return kp_say(self, KP_ERROR, "these %lu bytes are a damaged state", (unsigned long)size);
  if (!*state) *state = malloc(sizeof found);
  if (!*state) return kp_say(self, KP_ERROR, "no memory for a state");
  memcpy(*state, &found, sizeof found);
  return KP_OK;
}
