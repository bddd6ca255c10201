// Resources of OpenGL, without OpenGL: the name of a buffer object or texture determines its size.
// Buffer N has N times 64 KiB; texture N has N times N elements of four bytes. Their memory belongs
// to the graphics interface, and is not counted for any device.
#include <sys/mman.h>
#include <unistd.h>

#include "driver_api.h"
#include "simcuda/driver/allocation.h"
#include "simcuda/driver/array.h"
#include "simcuda/driver/context.h"
#include "simcuda/driver/ipc.h"

namespace memprof::simcuda {
namespace {

constexpr uint64_t kBufferUnit = uint64_t{64} << 10;
constexpr unsigned kMaxName = 16384;
constexpr unsigned kTexture2D = 0x0de1;  // GL_TEXTURE_2D

struct GraphicsResource {
  ~GraphicsResource() {
    if (descriptor >= 0) close(descriptor);
  }
  std::shared_ptr<Context> context;
  int descriptor = -1;   // the contents of a buffer
  uint64_t buffer = 0;   // bytes
  unsigned texture = 0;  // side; 0 for a buffer
  // Guarded by g_graphics_mutex:
  bool mapped = false;
  uint64_t address = 0;          // of a mapped buffer, once queried
  std::shared_ptr<Array> array;  // of a mapped texture
};

std::mutex g_graphics_mutex;

std::shared_ptr<GraphicsResource> FindResource(CUgraphicsResource handle) {
  return AllHandles<GraphicsResource>().Find(handle);
}

CUresult Register(CUgraphicsResource* handle, unsigned name, unsigned flags, bool texture) {
  auto resource = std::make_shared<GraphicsResource>();
  const CUresult known = RequireContext(&resource->context);
  if (known != CUDA_SUCCESS) return known;
  if (handle == nullptr || name == 0 || name > kMaxName || flags > 8) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (texture) {
    resource->texture = name;
  } else {
    resource->buffer = name * kBufferUnit;
    resource->descriptor = memfd_create("simcuda buffer", MFD_CLOEXEC);
    if (resource->descriptor < 0 ||
        ftruncate(resource->descriptor, static_cast<off_t>(resource->buffer)) != 0) {
      return CUDA_ERROR_OUT_OF_MEMORY;
    }
  }
  *handle = reinterpret_cast<CUgraphicsResource>(resource.get());
  AllHandles<GraphicsResource>().Add(std::move(resource));
  return CUDA_SUCCESS;
}

// Removes the views.
void Unmap(GraphicsResource* resource) {
  const auto is_view = [](const Allocation& one) { return one.kind == AllocationKind::kGraphics; };
  if (resource->address != 0) {
    if (const auto view = Allocations().Remove(resource->address, is_view)) {
      ReleaseAllocation(*view);
    }
  }
  resource->address = 0;
  if (resource->array != nullptr) AllHandles<Array>().Remove(resource->array.get());
  resource->array = nullptr;
  resource->mapped = false;
}

CUresult SetMapped(unsigned count, CUgraphicsResource* handles, CUstream stream_handle, bool map) {
  std::shared_ptr<Context> context;
  std::shared_ptr<Stream> stream;
  const CUresult known = RequireStream(stream_handle, &context, &stream);
  if (known != CUDA_SUCCESS) return known;
  if (count == 0 || handles == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (!map) context->Synchronize();
  const std::lock_guard lock(g_graphics_mutex);
  for (unsigned i = 0; i < count; ++i) {
    const auto resource = FindResource(handles[i]);
    if (resource == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (resource->mapped == map) return map ? CUDA_ERROR_ALREADY_MAPPED : CUDA_ERROR_NOT_MAPPED;
  }
  for (unsigned i = 0; i < count; ++i) {
    const auto resource = FindResource(handles[i]);
    if (map) {
      resource->mapped = true;
    } else {
      Unmap(resource.get());
    }
  }
  return CUDA_SUCCESS;
}

}  // namespace

namespace api {

CUresult cuGraphicsGLRegisterBuffer(CUgraphicsResource* pCudaResource, unsigned buffer,
                                    unsigned Flags) {
  return Register(pCudaResource, buffer, Flags, false);
}

CUresult cuGraphicsGLRegisterImage(CUgraphicsResource* pCudaResource, unsigned image,
                                   unsigned target, unsigned Flags) {
  if (target != kTexture2D) return CUDA_ERROR_INVALID_VALUE;
  return Register(pCudaResource, image, Flags, true);
}

CUresult cuGraphicsUnregisterResource(CUgraphicsResource resource) {
  const std::lock_guard lock(g_graphics_mutex);
  const auto found = AllHandles<GraphicsResource>().Remove(resource);
  if (found == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  Unmap(found.get());
  return CUDA_SUCCESS;
}

CUresult cuGraphicsMapResources(unsigned int count, CUgraphicsResource* resources,
                                CUstream hStream) {
  return SetMapped(count, resources, hStream, true);
}

CUresult cuGraphicsUnmapResources(unsigned int count, CUgraphicsResource* resources,
                                  CUstream hStream) {
  return SetMapped(count, resources, hStream, false);
}

CUresult cuGraphicsResourceSetMapFlags_v2(CUgraphicsResource resource, unsigned int flags) {
  const std::lock_guard lock(g_graphics_mutex);
  const auto found = FindResource(resource);
  if (found == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (flags > CU_GRAPHICS_MAP_RESOURCE_FLAGS_WRITE_DISCARD) return CUDA_ERROR_INVALID_VALUE;
  return found->mapped ? CUDA_ERROR_ALREADY_MAPPED : CUDA_SUCCESS;
}

CUresult cuGraphicsResourceGetMappedPointer_v2(CUdeviceptr* pDevPtr, size_t* pSize,
                                               CUgraphicsResource resource) {
  const std::lock_guard lock(g_graphics_mutex);
  const auto found = FindResource(resource);
  if (found == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (found->texture != 0) return CUDA_ERROR_NOT_MAPPED_AS_POINTER;
  if (!found->mapped) return CUDA_ERROR_NOT_MAPPED;
  if (pDevPtr == nullptr && pSize == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (found->address == 0) {
    auto view = std::make_shared<Allocation>();
    const CUresult result = ImportMemory(AllocationKind::kGraphics, found->descriptor, 0,
                                         found->buffer, found->context, view);
    if (result != CUDA_SUCCESS) return result;
    found->address = view->address;
  }
  if (pDevPtr != nullptr) *pDevPtr = found->address;
  if (pSize != nullptr) *pSize = found->buffer;
  return CUDA_SUCCESS;
}

CUresult cuGraphicsSubResourceGetMappedArray(CUarray* pArray, CUgraphicsResource resource,
                                             unsigned int arrayIndex, unsigned int mipLevel) {
  const std::lock_guard lock(g_graphics_mutex);
  const auto found = FindResource(resource);
  if (found == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (found->texture == 0) return CUDA_ERROR_NOT_MAPPED_AS_ARRAY;
  if (!found->mapped) return CUDA_ERROR_NOT_MAPPED;
  if (pArray == nullptr || arrayIndex != 0 || mipLevel != 0) return CUDA_ERROR_INVALID_VALUE;
  if (found->array == nullptr) {
    CUDA_ARRAY3D_DESCRIPTOR descriptor = {};
    descriptor.Width = descriptor.Height = found->texture;
    descriptor.Format = CU_AD_FORMAT_UNSIGNED_INT8;
    descriptor.NumChannels = 4;
    found->array = Array::Create(found->context, descriptor, true);
    if (found->array == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
    AllHandles<Array>().Add(found->array);
  }
  *pArray = reinterpret_cast<CUarray>(found->array.get());
  return CUDA_SUCCESS;
}

}  // namespace api

void FreeGraphicsOf(const Context* context) {
  const std::lock_guard lock(g_graphics_mutex);
  for (const auto& gone : AllHandles<GraphicsResource>().RemoveIf(
           [&](const GraphicsResource& one) { return one.context.get() == context; })) {
    Unmap(gone.get());
  }
}

}  // namespace memprof::simcuda
