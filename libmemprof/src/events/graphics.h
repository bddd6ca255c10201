// Resources of graphics interfaces: OpenGL and EGL. A registered resource is one import, owned by
// the interface. While it is mapped, its addresses and arrays are recorded as views of it.
#pragma once

#include "libmemprof/src/events/call.h"

namespace memprof::recorder {

struct RegisterGraphics : MemoryEvent {
  template <typename... Arguments>
  void After(Call* call, CUresult result, CUgraphicsResource* resource, Arguments...) const {
    call->Allocated(result, kLayerImported, Output(result, resource), 0, 0, kImportGraphics);
  }
};

class EndGraphics : public MemoryEvent {
 protected:
  void Begin(Call* call, CUgraphicsResource resource);
  void End(Call* call, CUresult result, CUgraphicsResource resource) const;

 private:
  std::uint64_t before_ns_ = 0;
};

struct UnregisterGraphics : EndGraphics {
  void Before(Call* call, CUgraphicsResource resource) { Begin(call, resource); }
  void After(Call* call, CUresult result, CUgraphicsResource resource) const {
    End(call, result, resource);
  }
};

struct GetGraphicsPointer : MemoryEvent {
  void After(Call* call, CUresult result, CUdeviceptr* pointer, std::size_t* bytes,
             CUgraphicsResource resource) const;
};

struct GetGraphicsArray : MemoryEvent {
  void After(Call* call, CUresult result, CUarray* array, CUgraphicsResource resource, unsigned,
             unsigned) const;
};

struct GetGraphicsMipmap : MemoryEvent {
  void After(Call* call, CUresult result, CUmipmappedArray* array,
             CUgraphicsResource resource) const;
};

struct GetEglFrame : MemoryEvent {
  void After(Call* call, CUresult result, void* frame, CUgraphicsResource resource, unsigned,
             unsigned) const;
};

struct MapGraphics : MemoryEvent {
  void After(Call* call, CUresult result, unsigned count, CUgraphicsResource* resources,
             CUstream stream) const;
};

struct UnmapGraphics : MemoryEvent {
  std::uint64_t before_ns = 0;
  void Before(Call*, unsigned, CUgraphicsResource*, CUstream) { before_ns = NowNs(); }
  void After(Call* call, CUresult result, unsigned count, CUgraphicsResource* resources,
             CUstream stream) const;
};

// A frame of an EGL stream is registered and mapped in one call, until it is released.
struct AcquireFrame : MemoryEvent {
  void After(Call* call, CUresult result, void*, CUgraphicsResource* resource, CUstream*,
             unsigned) const {
    if (result == CUDA_ERROR_LAUNCH_TIMEOUT) return;  // no frame came in time: no failure
    call->Allocated(result, kLayerImported, Output(result, resource), 0, 0, kImportGraphics);
  }
};

struct ReleaseFrame : EndGraphics {
  void Before(Call* call, void*, CUgraphicsResource resource, CUstream*) { Begin(call, resource); }
  void After(Call* call, CUresult result, void*, CUgraphicsResource resource, CUstream*) const {
    End(call, result, resource);
  }
};

}  // namespace memprof::recorder
