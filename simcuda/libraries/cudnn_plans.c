/* simcuda-cudnn-plans FOLDER: answers for libcudnn_reference.c. For each line of standard input, a
 * convolution, it writes a line with what the heuristics of the cuDNN in FOLDER would run on a GPU
 * of a compute capability: the number of plans, and for each its workspace and numerical notes.
 * It uses only the documented interface of cuDNN 9.8 and later, and no GPU. Numbers:
 * cudnn_graph.h. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libcudnn.h"

typedef void* descriptor;

static int (*create)(int, descriptor*);
static int (*destroy)(descriptor);
static int (*set)(descriptor, int, int, int64_t, const void*);
static int (*get)(descriptor, int, int, int64_t, int64_t*, void*);
static int (*finalize)(descriptor);

enum {
  kDataType = 1,
  kInt64 = 3,
  kFloat = 4,
  kMode = 7,
  kHeuristicMode = 8,
  kNote = 11,
  kDescriptor = 15,
  kChar = 24
};
enum {
  kConvolution = 1,
  kEngine = 2,
  kConfiguration = 3,
  kHeuristics = 4,
  kPlan = 5,
  kGraph = 15,
  kTensor = 17,
  kDevice = 38
};

/* All descriptors of a request: freed after it. */
static descriptor g_made[256];
static int g_made_count;
static int g_failed;

static descriptor make(int type) {
  descriptor made = NULL;
  if (g_made_count == 256 || create(type, &made) != 0) {
    g_failed = 1;
    return NULL;
  }
  g_made[g_made_count++] = made;
  return made;
}

static void put(descriptor to, int name, int type, int64_t count, const void* values) {
  if (!g_failed && set(to, name, type, count, values) != 0) g_failed = 1;
}
static void put_int64(descriptor to, int name, int64_t value) { put(to, name, kInt64, 1, &value); }
static void put_enum(descriptor to, int name, int type, int value) {
  put(to, name, type, 1, &value);
}
static void put_descriptor(descriptor to, int name, descriptor value) {
  put(to, name, kDescriptor, 1, &value);
}
static void finish(descriptor made) {
  if (!g_failed && finalize(made) != 0) g_failed = 1;
}

static descriptor tensor(const struct convolution* c, int64_t id, const int64_t* extents,
                         const int64_t* strides) {
  descriptor made = make(kTensor);
  put_int64(made, 900, c->alignment);
  put_enum(made, 901, kDataType, c->type);
  put(made, 902, kInt64, c->dims, extents);
  put(made, 903, kInt64, c->dims, strides);
  put_int64(made, 906, id);
  finish(made);
  return made;
}

/* The graph of one convolution, as PyTorch makes it. */
static descriptor graph_of(const struct convolution* c) {
  static const int kOperations[] = {10, 12, 11}; /* by kind */
  static const int kFirstAttribute[] = {700, 706, 712};
  static const int kPlaces[][3] = {{703, 704, 705}, {709, 710, 711}, {715, 716, 717}}; /* w, x, y */
  descriptor convolution = make(kConvolution);
  put_enum(convolution, 100, kDataType, 0); /* sums are in single precision */
  put_enum(convolution, 101, kMode, 1);     /* cross-correlation */
  put_int64(convolution, 106, c->dims - 2);
  put(convolution, 102, kInt64, c->dims - 2, c->dilations);
  put(convolution, 103, kInt64, c->dims - 2, c->strides);
  put(convolution, 104, kInt64, c->dims - 2, c->padding);
  put(convolution, 105, kInt64, c->dims - 2, c->padding);
  finish(convolution);
  descriptor operation = make(kOperations[c->kind]);
  const float one = 1, zero = 0;
  const int first = kFirstAttribute[c->kind];
  put(operation, first, kFloat, 1, &one);
  put(operation, first + 1, kFloat, 1, &zero);
  put_descriptor(operation, first + 2, convolution);
  put_descriptor(operation, kPlaces[c->kind][0], tensor(c, 'w', c->w, c->w_strides));
  put_descriptor(operation, kPlaces[c->kind][1], tensor(c, 'x', c->x, c->x_strides));
  put_descriptor(operation, kPlaces[c->kind][2], tensor(c, 'y', c->y, c->y_strides));
  finish(operation);
  descriptor graph = make(kGraph);
  put_descriptor(graph, 801, operation);
  finish(graph);
  return graph;
}

/* A GPU of a compute capability. The choice depends on the capability alone (tried: clocks, memory,
 * L2 and multiprocessors change nothing), so the rest is that of an RTX 3060. */
static descriptor device_of(int capability) {
  char text[1024];
  const int length = snprintf(
      text, sizeof text,
      "{\"deviceVer\":%d,\"multiProcessorCount\":28,\"warpSize\":32,"
      "\"maxSharedMemoryPerBlock\":49152,\"maxSharedMemoryPerBlockOptin\":%d,"
      "\"reservedSharedMemoryPerBlock\":1024,\"maxRegistersPerSM\":65536,\"maxCtasPerSM\":16,"
      "\"maxThreadsPerBlock\":1024,\"maxThreadsPerSM\":1536,\"regsPerBlock\":65536,"
      "\"totalGlobalMem\":12622168064,\"smClockRateKHz\":1777000,\"l2CacheSize\":2359296,"
      "\"maxBlockSize\":[1024,1024,64],\"memClockRateKHz\":7501000,"
      "\"maxGridSize\":[2147483647,65535,65535],\"supportCoopLaunch\":1,\"pciDeviceId\":0,"
      "\"isTccDriver\":0,\"cudaDeviceId\":0,\"driverVer\":12040,\"deviceName\":\"GPU\"}",
      capability * 10,
      capability == 80                       ? 166912
      : capability >= 90 && capability < 120 ? 232448
                                             : 101376);
  descriptor made = make(kDevice);
  put(made, 2702, kChar, length, text);
  finish(made);
  return made;
}

static unsigned notes_of(descriptor configuration) {
  descriptor engine = make(kEngine);
  int64_t count = 0;
  int notes[32];
  unsigned bits = 0;
  if (g_failed || get(configuration, 300, kDescriptor, 1, &count, &engine) != 0) return 0;
  if (get(engine, 1303, kNote, 32, &count, notes) != 0) return 0;
  for (int64_t i = 0; i < count && i < 32; ++i)
    if (notes[i] >= 0 && notes[i] < 32) bits |= 1u << notes[i];
  return bits;
}

static int workspace_of(descriptor configuration, descriptor device, int64_t* workspace) {
  int64_t count = 0;
  descriptor plan = make(kPlan);
  put_descriptor(plan, 407, device);
  put_descriptor(plan, 401, configuration);
  if (g_failed || finalize(plan) != 0) return 0; /* not every engine can run everything */
  return get(plan, 402, kInt64, 1, &count, workspace) == 0;
}

static int plans_of(const struct convolution* c, int capability, struct convolution_plan* plans) {
  enum { kMost = 48 };
  descriptor configurations[kMost];
  int64_t found = 0;
  int count = 0;
  descriptor device = device_of(capability), graph = graph_of(c), heuristics = make(kHeuristics);
  put_descriptor(heuristics, 201, graph);
  put_enum(heuristics, 200, kHeuristicMode, 0); /* instant */
  put_descriptor(heuristics, 204, device);
  finish(heuristics);
  if (g_failed || get(heuristics, 202, kDescriptor, 0, &found, NULL) != 0) return 0;
  if (found > kMost) found = kMost;
  for (int64_t i = 0; i < found; ++i) configurations[i] = make(kConfiguration);
  if (g_failed || get(heuristics, 202, kDescriptor, found, &found, configurations) != 0) return 0;
  for (int64_t i = 0; i < found && count < kMaxPlans && !g_failed; ++i) {
    if (!workspace_of(configurations[i], device, &plans[count].workspace)) continue;
    plans[count++].notes = notes_of(configurations[i]);
  }
  return count;
}

static int read_values(int64_t* values, int count) {
  for (int i = 0; i < count; ++i) {
    long long value;
    if (scanf("%lld", &value) != 1) return 0;
    values[i] = value;
  }
  return 1;
}

static int read_convolution(struct convolution* c, int* capability) {
  if (scanf("%d %d %d %d", capability, &c->kind, &c->type, &c->dims) != 4) return 0;
  if (c->kind < 0 || c->kind > 2 || c->dims < 3 || c->dims > kCudnnMaxDims) return 0;
  const int n = c->dims;
  return read_values(&c->alignment, 1) && read_values(c->x, n) && read_values(c->x_strides, n) &&
         read_values(c->w, n) && read_values(c->w_strides, n) && read_values(c->y, n) &&
         read_values(c->y_strides, n) && read_values(c->padding, n - 2) &&
         read_values(c->strides, n - 2) && read_values(c->dilations, n - 2);
}

/* The libraries that cuDNN opens by name, which pip puts beside it. */
static void open_neighbour(const char* folder, const char* name) {
  char path[4096];
  snprintf(path, sizeof path, "%s/../../%s", folder, name);
  dlopen(path, RTLD_NOW | RTLD_GLOBAL);
}

static int open_cudnn(const char* folder) {
  const struct {
    const char* name;
    void* place;
  } functions[] = {
      {"cudnnBackendCreateDescriptor", &create}, {"cudnnBackendDestroyDescriptor", &destroy},
      {"cudnnBackendSetAttribute", &set},        {"cudnnBackendGetAttribute", &get},
      {"cudnnBackendFinalize", &finalize},
  };
  char path[4096];
  open_neighbour(folder, "cuda_nvrtc/lib/libnvrtc.so.12");
  open_neighbour(folder, "cublas/lib/libcublasLt.so.12");
  open_neighbour(folder, "cublas/lib/libcublas.so.12");
  open_neighbour(folder, "cu13/lib/libnvrtc.so.13"); /* where the packages for CUDA 13 are */
  open_neighbour(folder, "cu13/lib/libcublasLt.so.13");
  open_neighbour(folder, "cu13/lib/libcublas.so.13");
  snprintf(path, sizeof path, "%s/libcudnn.so.9", folder);
  void* library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
  if (library == NULL) return 0;
  for (size_t i = 0; i < sizeof functions / sizeof functions[0]; ++i) {
    void* function = dlsym(library, functions[i].name);
    if (function == NULL) return 0;
    memcpy(functions[i].place, &function, sizeof function);
  }
  return 1;
}

int main(int count, char** arguments) {
  if (count != 2) {
    fprintf(stderr, "usage: simcuda-cudnn-plans FOLDER (it is started by the stand-in of cuDNN)\n");
    return 2;
  }
  if (!open_cudnn(arguments[1])) {
    fprintf(stderr, "simcuda-cudnn-plans: no cuDNN 9 in %s\n", arguments[1]);
    return 1;
  }
  struct convolution convolution;
  struct convolution_plan plans[kMaxPlans];
  int capability;
  while (read_convolution(&convolution, &capability)) {
    g_failed = 0;
    const int plan_count = plans_of(&convolution, capability, plans);
    printf("%d", plan_count);
    for (int i = 0; i < plan_count; ++i)
      printf(" %lld %u", (long long)plans[i].workspace, plans[i].notes);
    printf("\n");
    fflush(stdout);
    while (g_made_count > 0) destroy(g_made[--g_made_count]);
  }
  return 0;
}
