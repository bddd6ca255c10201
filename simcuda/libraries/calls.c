/* Calls of the functions of generated stand-ins: they are counted, and answered by the function's
 * own code or by its rules. */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "standin.h"

/* Both structures are in the generated file (simcuda/tools/elf_library.py). Texts are given by
 * their distance from the structure, so that the file needs no relocation for them. */
struct library {
  int32_t name;
  int32_t part; /* the path of the shared object with own code; 0: none has own code */
  int32_t version;
  int32_t scale; /* what the major number counts in the version */
};

struct function {
  int32_t library; /* also a distance */
  int32_t name;
  int32_t rules; /* as in functions.txt */
  int32_t has_code;
  _Atomic(void*) code;
  atomic_ulong count;
  struct function* next;
};

struct arguments {
  const long* registers;
  const long* stack;
};

/* What enter.S does: it calls the code, or returns the result if there is none. */
struct outcome {
  void* code;
  long result;
};

struct outcome standin_called(struct function* function, const long* registers, const long* stack);

enum mode { kUnknown, kQuiet, kCount, kTrace };

static _Atomic int g_mode = kUnknown;
static _Atomic(struct function*) g_called = NULL;

static int mode_now(void) {
  int mode = atomic_load_explicit(&g_mode, memory_order_relaxed);
  if (mode != kUnknown) return mode;
  const char* wanted = getenv("SIMCUDA_LIBRARIES");
  mode = wanted == NULL                 ? kQuiet
         : strcmp(wanted, "trace") == 0 ? kTrace
         : strcmp(wanted, "count") == 0 ? kCount
                                        : kQuiet;
  atomic_store(&g_mode, mode);
  return mode;
}

static const char* text(const void* from, int32_t distance) { return (const char*)from + distance; }

static const struct library* library_of(const struct function* function) {
  return (const struct library*)(const void*)text(function, function->library);
}

static const char* library_name(const struct function* function) {
  const struct library* library = library_of(function);
  return text(library, library->name);
}

/* Counts or traces a call, if SIMCUDA_LIBRARIES says so. */
static void note(struct function* function) {
  const int mode = mode_now();
  if (mode == kQuiet) return;
  if (mode == kTrace)
    fprintf(stderr, "[%s] %s\n", library_name(function), text(function, function->name));
  if (atomic_fetch_add(&function->count, 1) != 0) return;
  struct function* first = atomic_load(&g_called);
  do {
    function->next = first;
  } while (!atomic_compare_exchange_weak(&g_called, &first, function));
}

__attribute__((destructor)) static void print_counts(void) {
  if (atomic_load(&g_mode) != kCount) return;
  for (struct function* one = atomic_load(&g_called); one != NULL; one = one->next)
    fprintf(stderr, "[%s] %s %lu\n", library_name(one), text(one, one->name),
            atomic_load(&one->count));
}

/* The function's own code. Its names are the library's names, so the process must not see them:
 * the part is opened for this library alone. */
static void* code_of(struct function* function) {
  void* code = atomic_load(&function->code);
  if (code != NULL || !function->has_code) return code;
  const struct library* library = library_of(function);
  void* part = dlopen(text(library, library->part), RTLD_NOW | RTLD_LOCAL);
  if (part != NULL) code = dlsym(part, text(function, function->name));
  if (code == NULL) {
    fprintf(stderr, "[%s] %s\n", library_name(function), dlerror());
    function->has_code = 0;
  }
  atomic_store(&function->code, code);
  return code;
}

static long argument(const struct arguments* given, int index) {
#ifdef __aarch64__
  enum { kRegisters = 8 };
#else
  enum { kRegisters = 6 };
#endif
  return index < kRegisters ? given->registers[index] : given->stack[index - kRegisters];
}

static int begins(const char* rule, const char* word) {
  return strncmp(rule, word, strlen(word)) == 0;
}

/* The number that a rule writes or returns. */
static int64_t number_of(const char* rule, const struct library* library,
                         const struct arguments* given) {
  static atomic_int numbers = 0;
  const int parts[] = {library->version / library->scale, library->version % library->scale / 100,
                       library->version % 100};
  if (begins(rule, "size4")) return STANDIN_WORKSPACE_ELEMENTS;
  if (begins(rule, "size8")) return STANDIN_WORKSPACE_BYTES;
  if (begins(rule, "minus")) return -1;
  if (begins(rule, "id")) return atomic_fetch_add(&numbers, 1) + 1;
  if (begins(rule, "version")) return library->version;
  if (begins(rule, "major")) return parts[0];
  if (begins(rule, "minor")) return parts[1];
  if (begins(rule, "property")) {
    const int which = (int)argument(given, 0);
    return parts[which == 0 || which == 1 ? which : 2];
  }
  return begins(rule, "fails") ? 15 : 0;
}

/* Applies one rule; returns what the function returns if it is the last one. */
static long apply(const char* rule, const struct library* library, const struct arguments* given) {
  const size_t length = strcspn(rule, "@ ");
  if (rule[length] != '@')
    return begins(rule, "text") ? (long)"stand-in" : number_of(rule, library, given);
  void* place = (void*)argument(given, atoi(rule + length + 1));
  if (begins(rule, "free")) standin_free(place);
  if (begins(rule, "free") || place == NULL) return 0;
  if (begins(rule, "handle")) {
    void* handle = standin_new(0);
    memcpy(place, &handle, sizeof handle);
  } else {
    const int64_t number = number_of(rule, library, given);
    memcpy(place, &number, rule[length - 1] == '8' ? 8 : 4); /* the lower bytes come first */
  }
  return 0;
}

static __thread int t_version = 0;

int standin_version(void) { return t_version; }

struct outcome standin_called(struct function* function, const long* registers, const long* stack) {
  note(function);
  t_version = library_of(function)->version;
  struct outcome outcome = {code_of(function), 0};
  if (outcome.code != NULL) return outcome;
  const struct arguments given = {registers, stack};
  for (const char* rule = text(function, function->rules); *rule != '\0';) {
    outcome.result = apply(rule, library_of(function), &given);
    rule += strcspn(rule, " ");
    rule += strspn(rule, " ");
  }
  return outcome;
}
