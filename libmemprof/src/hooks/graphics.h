// Hooks of resources of graphics interfaces: OpenGL, EGL, VDPAU. A registered resource is one
// import, owned elsewhere; while it is mapped, its addresses and arrays are views of it.
#pragma once

#include "libmemprof/src/hooks/import.h"

namespace memprof::recorder {

template <typename Real, typename... Arguments>
CUresult RegisterGraphics(FunctionId id, Real real, CUgraphicsResource* resource,
                          Arguments... arguments) {
  Hook hook(id);
  const CUresult result = real(resource, arguments...);
  if (RecordsAllocations(hook))
    hook.Allocated(result, kLayerImported, result == CUDA_SUCCESS ? HandleNumber(*resource) : 0, 0,
                   0, kImportGraphics);
  return result;
}

// The views end with the mapping, or at the latest with the registration.
inline void EndViews(Hook* hook, std::uint64_t resource, std::uint64_t before_ns) {
  const CallContext context = hook->Context();
  HandleTable::Entry view;
  while (hook->driver()->handles()->TakeOwned(resource, HandleKind::kGraphicsView, &view)) {
    ring::RingEvent event = hook->Event(kOpFree, kLayerImported);
    event.time_ns = before_ns;
    event.context = context.id;
    event.SetDevice(context.device);
    event.address = view.handle;
    hook->Emit(&event);
  }
}

// `resource` as it is in the log.
template <typename Real, typename... Arguments>
CUresult Unregister(FunctionId id, Real real, std::uint64_t resource, Arguments... arguments) {
  Hook hook(id);
  const bool records = RecordsAllocations(hook);
  const std::uint64_t before_ns = records ? NowNs() : 0;
  if (records) hook.Freeing(kLayerImported, resource);
  const CUresult result = real(arguments...);
  if (!records) return result;
  hook.Freed(result, kLayerImported, resource);
  if (result == CUDA_SUCCESS) EndViews(&hook, resource, before_ns);
  return result;
}

template <typename Real>
CUresult UnregisterGraphics(FunctionId id, Real real, CUgraphicsResource resource) {
  return Unregister(id, real, HandleNumber(resource), resource);
}

// May be asked again while mapped: one event.
inline void RecordView(Hook* hook, std::uint64_t view, std::uint64_t bytes, std::uint64_t resource,
                       ImportKind kind) {
  if (hook->driver()->handles()->Add(
          {view, HandleKind::kGraphicsView, hook->Context().id, resource, 0, 0, 1}))
    hook->Allocated(CUDA_SUCCESS, kLayerImported, view, bytes, resource, kind);
}

// Bytes of an array that somebody else made; 0 where the driver does not say.
inline std::uint64_t BytesOfArray(CUarray array) {
  CUDA_ARRAY3D_DESCRIPTOR descriptor{};
  const CalledFunctions& driver = Driver();
  return driver.cuArray3DGetDescriptor_v2 != nullptr &&
                 driver.cuArray3DGetDescriptor_v2(&descriptor, array) == CUDA_SUCCESS
             ? ArrayBytes3D(&descriptor, 1)
             : 0;
}

template <typename Real, typename Pointer, typename Size>
CUresult GetGraphicsPointer(FunctionId id, Real real, Pointer* pointer, Size* bytes,
                            CUgraphicsResource resource) {
  Hook hook(id);
  const CUresult result = real(pointer, bytes, resource);
  if (!RecordsAllocations(hook)) return result;
  hook.Failed(result, kLayerImported);
  if (result == CUDA_SUCCESS && pointer != nullptr)
    RecordView(&hook, *pointer, bytes == nullptr ? 0 : *bytes, HandleNumber(resource),
               kImportGraphicsView);
  return result;
}

template <typename Real>
CUresult GetGraphicsArray(FunctionId id, Real real, CUarray* array, CUgraphicsResource resource,
                          unsigned index, unsigned level) {
  Hook hook(id);
  const CUresult result = real(array, resource, index, level);
  if (!RecordsAllocations(hook)) return result;
  hook.Failed(result, kLayerImported);
  if (result == CUDA_SUCCESS && array != nullptr)
    RecordView(&hook, HandleNumber(*array), BytesOfArray(*array), HandleNumber(resource),
               kImportGraphicsArray);
  return result;
}

// How many levels it has, and so its bytes, is not to be asked.
template <typename Real>
CUresult GetGraphicsMipmap(FunctionId id, Real real, CUmipmappedArray* array,
                           CUgraphicsResource resource) {
  Hook hook(id);
  const CUresult result = real(array, resource);
  if (!RecordsAllocations(hook)) return result;
  hook.Failed(result, kLayerImported);
  if (result == CUDA_SUCCESS && array != nullptr)
    RecordView(&hook, HandleNumber(*array), 0, HandleNumber(resource), kImportGraphicsArray);
  return result;
}

// The beginning and what follows of CUeglFrame, as far as it tells where the planes are.
struct EglFrame {
  void* planes[3];  // addresses or arrays
  unsigned width, height, depth, pitch, plane_count, channels;
  int is_pitched;
};

template <typename Real>
CUresult GetEglFrame(FunctionId id, Real real, void* frame, CUgraphicsResource resource,
                     unsigned index, unsigned level) {
  Hook hook(id);
  const CUresult result = real(frame, resource, index, level);
  if (!RecordsAllocations(hook)) return result;
  hook.Failed(result, kLayerImported);
  if (result != CUDA_SUCCESS || frame == nullptr) return result;
  const auto& planes = *static_cast<const EglFrame*>(frame);
  for (unsigned i = 0; i < planes.plane_count && i < 3; ++i) {
    const std::uint64_t plane = HandleNumber(planes.planes[i]);
    // Only of the first plane are pitch and height known.
    const std::uint64_t pitched = i == 0 ? std::uint64_t{planes.pitch} * planes.height : 0;
    if (planes.is_pitched != 0)
      RecordView(&hook, plane, pitched, HandleNumber(resource), kImportGraphicsView);
    else
      RecordView(&hook, plane, BytesOfArray(static_cast<CUarray>(planes.planes[i])),
                 HandleNumber(resource), kImportGraphicsArray);
  }
  return result;
}

// OP_MAP and OP_UNMAP of each resource.
inline void RecordMapped(Hook* hook, Op op, unsigned count, const CUgraphicsResource* resources,
                         std::uint64_t time_ns, CUstream stream) {
  const CallContext context = hook->Context();
  for (unsigned i = 0; i < count; ++i) {
    if (op == kOpUnmap) EndViews(hook, HandleNumber(resources[i]), time_ns);
    ring::RingEvent event = hook->Event(op, kLayerImported);
    if (op == kOpUnmap) event.time_ns = time_ns;
    event.context = context.id;
    event.SetDevice(context.device);
    event.address = HandleNumber(resources[i]);
    event.stream = HandleNumber(stream);
    hook->Emit(&event);
  }
}

template <typename Real>
CUresult MapGraphics(FunctionId id, Real real, unsigned count, CUgraphicsResource* resources,
                     CUstream stream) {
  Hook hook(id);
  const CUresult result = real(count, resources, stream);
  if (!RecordsAllocations(hook)) return result;
  hook.Failed(result, kLayerImported);
  if (result == CUDA_SUCCESS && resources != nullptr)
    RecordMapped(&hook, kOpMap, count, resources, 0, stream);
  return result;
}

template <typename Real>
CUresult UnmapGraphics(FunctionId id, Real real, unsigned count, CUgraphicsResource* resources,
                       CUstream stream) {
  Hook hook(id);
  const bool records = RecordsAllocations(hook);
  const std::uint64_t before_ns = records ? NowNs() : 0;
  const CUresult result = real(count, resources, stream);
  if (records && result == CUDA_SUCCESS && resources != nullptr)
    RecordMapped(&hook, kOpUnmap, count, resources, before_ns, stream);
  return result;
}

// A frame of an EGL stream is registered and mapped in one, until it is released.
template <typename Real>
CUresult AcquireFrame(FunctionId id, Real real, void* connection, CUgraphicsResource* resource,
                      CUstream* stream, unsigned timeout) {
  Hook hook(id);
  const CUresult result = real(connection, resource, stream, timeout);
  // That no frame came in time is no failure.
  if (!RecordsAllocations(hook) || result == CUDA_ERROR_LAUNCH_TIMEOUT) return result;
  const bool success = result == CUDA_SUCCESS && resource != nullptr;
  hook.Allocated(result, kLayerImported, success ? HandleNumber(*resource) : 0, 0, 0,
                 kImportGraphics);
  return result;
}

template <typename Real>
CUresult ReleaseFrame(FunctionId id, Real real, void* connection, CUgraphicsResource resource,
                      CUstream* stream) {
  return Unregister(id, real, HandleNumber(resource), connection, resource, stream);
}

// The interface of CUDA 2 knows no resources, only OpenGL's names of buffers: small numbers, which
// must not be taken for another handle in the log.
inline std::uint64_t GlBuffer(unsigned name) { return 0x474c'0000'0000'0000 | name; }  // "GL"

template <typename Real>
CUresult RegisterGlBuffer(FunctionId id, Real real, unsigned buffer) {
  Hook hook(id);
  const CUresult result = real(buffer);
  if (RecordsAllocations(hook))
    hook.Allocated(result, kLayerImported, GlBuffer(buffer), 0, 0, kImportGraphics);
  return result;
}

template <typename Real>
CUresult UnregisterGlBuffer(FunctionId id, Real real, unsigned buffer) {
  return Unregister(id, real, GlBuffer(buffer), buffer);
}

template <typename Real, typename Pointer, typename Size, typename... Stream>
CUresult MapGlBuffer(FunctionId id, Real real, Pointer* pointer, Size* bytes, unsigned buffer,
                     Stream... stream) {
  Hook hook(id);
  const CUresult result = real(pointer, bytes, buffer, stream...);
  if (!RecordsAllocations(hook)) return result;
  hook.Failed(result, kLayerImported);
  if (result == CUDA_SUCCESS && pointer != nullptr)
    RecordView(&hook, *pointer, bytes == nullptr ? 0 : *bytes, GlBuffer(buffer),
               kImportGraphicsView);
  return result;
}

template <typename Real, typename... Stream>
CUresult UnmapGlBuffer(FunctionId id, Real real, unsigned buffer, Stream... stream) {
  Hook hook(id);
  const bool records = RecordsAllocations(hook);
  const std::uint64_t before_ns = records ? NowNs() : 0;
  const CUresult result = real(buffer, stream...);
  if (records && result == CUDA_SUCCESS) EndViews(&hook, GlBuffer(buffer), before_ns);
  return result;
}

}  // namespace memprof::recorder
