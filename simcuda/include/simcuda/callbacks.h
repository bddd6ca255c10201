/* How the stand-in libcupti listens to the stand-in libcuda: the real pair uses undocumented
 * export tables, this one four plain functions. Not for programs. */
#ifndef SIMCUDA_CALLBACKS_H
#define SIMCUDA_CALLBACKS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One driver call, at its entry (exit = 0) or at its return (exit = 1). */
struct simcuda_api_call {
  uint32_t cbid; /* CUPTI_DRIVER_TRACE_CBID_* */
  int exit;
  const char* function; /* its exported name */
  const void* params;   /* <function>_params of generated_cuda_meta.h */
  const int* result;    /* CUresult; valid when exit = 1 */
  void* context;        /* current CUcontext, may be null */
  uint32_t context_uid;
  uint32_t correlation_id;    /* same at entry and return */
  uint64_t* correlation_data; /* the listener's, kept from entry to return */
  const char* symbol;         /* kernel name, for launches; else null */
};

/* An event of a context or a module. */
struct simcuda_resource_event {
  uint32_t cbid; /* CUPTI_CBID_RESOURCE_* */
  void* context;
  uint32_t context_uid;
  void* stream;       /* for stream events */
  uint32_t module_id; /* for module events */
  const void* image;
  size_t image_bytes;
};

struct simcuda_listener {
  void* user;
  void (*api)(void* user, const struct simcuda_api_call* call);
  void (*resource)(void* user, const struct simcuda_resource_event* event);
};

/* Exported by the stand-in libcuda. At most one listener; null removes it, and returns when no
 * callback of it runs any more. Returns 0, or 1 if there is another listener. */
int simcuda_set_listener(const struct simcuda_listener* listener);
/* Enables or disables callbacks for one driver function (all are disabled at first). */
void simcuda_enable_api(uint32_t cbid, int on);
void simcuda_enable_resources(int on);
/* The name of a driver cbid, or null. */
const char* simcuda_api_name(uint32_t cbid);

#ifdef __cplusplus
}
#endif

#endif /* SIMCUDA_CALLBACKS_H */
