// Contexts, including green ones. The end of a context frees everything in it at once, and is
// recorded like a free: before the real call.
//
// A green context has a share of the multiprocessors of a device, and refers to the device's
// primary context. Converted, it is the primary context with fewer resources (cuda.h). So its
// memory ends with the primary context, and not with the green one, unless that held the last
// reference.
#pragma once

#include "libmemprof/src/events/call.h"

namespace memprof::recorder {

void RecordNewContext(Call* call, CUresult result, CUcontext* context, CUdevice device);

// The device is the last parameter.
struct CreateContext : ContextEvent {
  void After(Call* call, CUresult result, CUcontext* context, unsigned, CUdevice device) const {
    RecordNewContext(call, result, context, device);
  }
  void After(Call* call, CUresult result, CUcontext* context, void*, unsigned,
             CUdevice device) const {
    RecordNewContext(call, result, context, device);
  }
  void After(Call* call, CUresult result, CUcontext* context, void*, int, unsigned,
             CUdevice device) const {
    RecordNewContext(call, result, context, device);
  }
};

struct DestroyContext : ContextEvent {
  void Before(Call* call, CUcontext context) const;
};

// After each attachment, the context needs one more cuCtxDetach to be destroyed.
struct AttachContext : ContextEvent {
  void After(Call* call, CUresult result, CUcontext* context, unsigned) const;
};

struct DetachContext : ContextEvent {
  void Before(Call* call, CUcontext context) const;
};

struct RetainPrimary : ContextEvent {
  void After(Call* call, CUresult result, CUcontext* context, CUdevice device) const;
};

// Only the last release destroys the primary context; the driver's state before and after shows
// which one it was.
struct ReleasePrimary : ContextEvent {
  std::uint64_t before_ns = 0;
  void Before(Call*, CUdevice) { before_ns = NowNs(); }
  void After(Call* call, CUresult result, CUdevice device) const;
};

struct ResetPrimary : ContextEvent {
  void Before(Call* call, CUdevice device) const;
};

struct CreateGreen : ContextEvent {
  void After(Call* call, CUresult result, void** green, void*, CUdevice device, unsigned) const;
};

struct ContextFromGreen : ContextEvent {
  void After(Call* call, CUresult result, CUcontext* context, void* green) const;
};

struct DestroyGreen : ContextEvent {
  std::uint64_t before_ns = 0;
  void Before(Call*, void*) { before_ns = NowNs(); }
  void After(Call* call, CUresult result, void* green) const;
};

// Ends the handles of a context, and the memory bound to its arrays.
void RecordEndOf(Call* call, const CallContext& ended, std::uint64_t before_ns);

}  // namespace memprof::recorder
