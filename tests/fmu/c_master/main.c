/* A small master for FMUs of FMI 2.0 and 3.0, in plain C.

     master VERSION LIBRARY TOKEN run STEPS SIZE REFERENCE...            values at every communication point, as hexadecimal floats
     master VERSION LIBRARY TOKEN run STEPS SIZE REF=VALUE... REF...     the same with start values
     master VERSION LIBRARY TOKEN calls                                  every function in every phase
     master VERSION LIBRARY TOKEN threads STEPS SIZE REFERENCE...        two instances in two threads, against one alone
     master VERSION LIBRARY TOKEN save FILE STEPS SIZE                   run, then write the state to a file
     master VERSION LIBRARY TOKEN restore FILE STEPS SIZE REFERENCE...   go on from that state
     master VERSION LIBRARY TOKEN together VERSION LIBRARY TOKEN STEPS SIZE REFERENCE...   two models at once, visible to each other
     master VERSION LIBRARY TOKEN time STEPS SIZE                        seconds per step, the shortest of ten portions */

#define _POSIX_C_SOURCE 200809L

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "host.h"

#define MOST 512

typedef struct {
  long steps;
  double size;
  unsigned set[MOST], get[MOST];
  double values[MOST];
  size_t set_count, get_count;
} plan;

static plan read_plan(char **words, int count) {
  plan it = {0};
  char *equals;
  int i;
  demand(count >= 2, "how many steps, and of what size?");
  it.steps = atol(words[0]);
  it.size = atof(words[1]);
  for (i = 2; i < count; ++i) {
    demand(it.set_count < MOST && it.get_count < MOST, "too many references");
    equals = strchr(words[i], '=');
    if (equals) {
      it.set[it.set_count] = (unsigned)atol(words[i]);
      it.values[it.set_count++] = atof(equals + 1);
    } else {
      it.get[it.get_count++] = (unsigned)atol(words[i]);
    }
  }
  return it;
}

static void print_values(instance *self, const plan *it, double t) {
  double values[MOST];
  size_t i;
  demand(host_get(self, it->get, it->get_count, values) == 0, "values cannot be read at t = %g", t);
  printf("%a", t);
  for (i = 0; i < it->get_count; ++i) printf(" %a", values[i]);
  putchar('\n');
}

static instance begin(const fmu *model, const plan *it) {
  instance self = host_create(model, "one");
  demand(host_initialize(&self, 0, it->set, it->set_count, it->values) == 0, "the initialization failed");
  return self;
}

static void run(const fmu *model, const plan *it) {
  instance self = begin(model, it);
  long i;
  print_values(&self, it, 0);
  for (i = 0; i < it->steps; ++i) {
    demand(host_step(&self, i * it->size, it->size) == 0, "the step from t = %g failed", i * it->size);
    print_values(&self, it, (i + 1) * it->size);
  }
  host_free(&self);
}

typedef struct {
  instance self;
  const plan *it;
  double values[MOST];
  pthread_barrier_t *barrier;
} worker;

/* Every worker reads outputs and takes states between its steps, so that all workspaces are in use at once. */
static void *work(void *argument) {
  worker *w = argument;
  void *state = NULL;
  long i;
  if (w->barrier) pthread_barrier_wait(w->barrier);
  for (i = 0; i < w->it->steps; ++i) {
    demand(host_get_state(&w->self, &state) == 0, "no state");
    demand(host_step(&w->self, i * w->it->size, w->it->size) == 0, "the step from t = %g failed", i * w->it->size);
    if (i % 3 == 0) {
      demand(host_set_state(&w->self, state) == 0, "no way back");
      demand(host_step(&w->self, i * w->it->size, w->it->size) == 0, "the repeated step failed");
    }
    demand(host_get(&w->self, w->it->get, w->it->get_count, w->values) == 0, "values cannot be read");
  }
  host_free_state(&w->self, &state);
  return NULL;
}

static void threads(const fmu *model, const plan *it) {
  enum { WORKERS = 2 };
  worker alone = {begin(model, it), it, {0}, NULL}, both[WORKERS];
  pthread_t thread[WORKERS];
  pthread_barrier_t barrier;
  int k;
  work(&alone);
  pthread_barrier_init(&barrier, NULL, WORKERS);
  for (k = 0; k < WORKERS; ++k) {
    both[k] = (worker){begin(model, it), it, {0}, &barrier};
    demand(pthread_create(&thread[k], NULL, work, &both[k]) == 0, "no thread");
  }
  for (k = 0; k < WORKERS; ++k) {
    pthread_join(thread[k], NULL);
    demand(memcmp(both[k].values, alone.values, sizeof alone.values) == 0, "thread %d came to other numbers", k);
    host_free(&both[k].self);
  }
  host_free(&alone.self);
  puts("same bits");
}

static void save(const fmu *model, const plan *it, const char *path) {
  instance self = begin(model, it);
  void *state = NULL;
  unsigned char *bytes;
  size_t size;
  FILE *file = fopen(path, "wb");
  long i;
  for (i = 0; i < it->steps; ++i) demand(host_step(&self, i * it->size, it->size) == 0, "a step failed");
  demand(host_get_state(&self, &state) == 0, "no state");
  size = host_state_size(&self, state);
  bytes = malloc(size);
  demand(host_serialize(&self, state, bytes, size) == 0, "no bytes");
  demand(file && fwrite(bytes, 1, size, file) == size && fclose(file) == 0, "%s cannot be written", path);
  free(bytes);
  host_free_state(&self, &state);
  host_free(&self);
}

static void restore(const fmu *model, const plan *it, const char *path) {
  instance self = host_create(model, "two");
  static unsigned char bytes[1 << 20];
  FILE *file = fopen(path, "rb");
  size_t size = file ? fread(bytes, 1, sizeof bytes, file) : 0;
  void *state = NULL;
  unsigned clock = 0;
  double t;
  long i;
  demand(size > 0 && fclose(file) == 0, "%s cannot be read", path);
  demand(host_deserialize(&self, bytes, size, &state) == 0, "these are no bytes of a state");
  demand(host_set_state(&self, state) == 0 && host_free_state(&self, &state) == 0, "the state cannot be set");
  for (i = 0; i < it->steps; ++i) {
    demand(host_get(&self, &clock, 1, &t) == 0 && host_step(&self, t, it->size) == 0, "a step failed");
    demand(host_get(&self, &clock, 1, &t) == 0, "no time");
    print_values(&self, it, t);
  }
  host_free(&self);
}

static void together(const fmu *a, const fmu *b, const plan *it) {
  instance first = begin(a, it), second = begin(b, it);
  long i;
  for (i = 0; i < it->steps; ++i) {
    demand(host_step(&first, i * it->size, it->size) == 0, "the first model's step failed");
    demand(host_step(&second, i * it->size, it->size) == 0, "the second model's step failed");
  }
  print_values(&first, it, it->steps * it->size);
  print_values(&second, it, it->steps * it->size);
  host_free(&first);
  host_free(&second);
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void measure(const fmu *model, const plan *it) {
  instance self = begin(model, it);
  double started, shortest = 1e300;
  long i, portion = it->steps / 10;
  int k;
  for (k = 0; k < 10; ++k) {
    started = now();
    for (i = k * portion; i < (k + 1) * portion; ++i)
      demand(host_step(&self, i * it->size, it->size) == 0, "the step from t = %g failed", i * it->size);
    if (now() - started < shortest) shortest = now() - started;
  }
  printf("%.9g\n", shortest / portion);
  host_free(&self);
}

int main(int count, char **words) {
  const char *verb = count > 4 ? words[4] : "";
  fmu model, other;
  plan it;
  demand(count > 4, "see the first lines of main.c");
  model = host_load(atoi(words[1]), words[2], words[3], strcmp(verb, "together") == 0);
  if (strcmp(verb, "calls") == 0) {
    printf("%d functions\n", model.version == 2 ? call_all_2(&model) : call_all_3(&model));
  } else if (strcmp(verb, "together") == 0) {
    demand(count > 9, "two models are needed");
    other = host_load(atoi(words[5]), words[6], words[7], true);
    it = read_plan(words + 8, count - 8);
    together(&model, &other, &it);
    host_unload(&other);
  } else if (strcmp(verb, "save") == 0 || strcmp(verb, "restore") == 0) {
    demand(count > 7, "which file?");
    it = read_plan(words + 6, count - 6);
    (strcmp(verb, "save") == 0 ? save : restore)(&model, &it, words[5]);
  } else {
    it = read_plan(words + 5, count - 5);
    demand(!strcmp(verb, "run") || !strcmp(verb, "threads") || !strcmp(verb, "time"), "unknown verb %s", verb);
    (!strcmp(verb, "run") ? run : !strcmp(verb, "threads") ? threads : measure)(&model, &it);
  }
  host_unload(&model);
  return 0;
}
