// Contexts, green ones among them. The end of a context frees everything that
// belonged to it at once, and is recorded like a free: before the real call.
//
// A green context has a share of the multiprocessors of a device. It holds the device's primary
// context, and is the primary one with fewer resources once it is converted (cuda.h): what is
// allocated under it ends with the primary context, not with itself, unless it was the last to
// hold that.
#pragma once

#include "libmemprof/src/events/call.h"

namespace memprof::recorder {

void RecordNewContext(Call* call, CUresult result, CUcontext* context, CUdevice device);

// The device is the last of the parameters.
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

// Each attachment takes one more cuCtxDetach to destroy the context.
struct AttachContext : ContextEvent {
  void After(Call* call, CUresult result, CUcontext* context, unsigned) const;
};

struct DetachContext : ContextEvent {
  void Before(Call* call, CUcontext context) const;
};

struct RetainPrimary : ContextEvent {
  void After(Call* call, CUresult result, CUcontext* context, CUdevice device) const;
};

// Only the last release destroys the primary context; the driver's own answer tells which it was.
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

// The handles that belong to a context end with it, and the memory bound to its arrays.
void RecordEndOf(Call* call, const CallContext& gone, std::uint64_t before_ns);

}  // namespace memprof::recorder
