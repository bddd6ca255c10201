// Events of resources of graphics interfaces.
#include "libmemprof/src/events/graphics.h"

#include "libmemprof/src/driver/array_bytes.h"

namespace memprof::recorder {
namespace {

// CUeglFrame, as far as it locates the planes.
struct EglFrame {
  void* planes[3];  // addresses or arrays
  unsigned width, height, depth, pitch, plane_count, channels;
  int is_pitched;
};

// The views end with the mapping, or at the latest with the registration.
void EndViews(Call* call, std::uint64_t resource, std::uint64_t before_ns) {
  const CallContext context = call->Context();
  HandleTable::Entry view;
  while (call->driver()->handles()->TakeOwned(resource, HandleKind::kGraphicsView, &view)) {
    ring::RingEvent event = call->Event(kOpFree, kLayerImported);
    event.time_ns = before_ns;
    event.context = context.id;
    event.SetDevice(context.device);
    event.address = view.handle;
    call->Emit(&event);
  }
}

// A program may query the same view again while it is mapped: it is recorded once.
void RecordView(Call* call, std::uint64_t view, std::uint64_t bytes, CUgraphicsResource resource,
                ImportKind kind) {
  if (call->driver()->handles()->Add(HandleTable::Entry(view, HandleKind::kGraphicsView,
                                                        call->Context().id, Number(resource))))
    call->Allocated(CUDA_SUCCESS, kLayerImported, view, bytes, Number(resource), kind);
}

// The bytes of an array that other code made; 0 where the driver does not report them.
std::uint64_t BytesOfArray(CUarray array) {
  CUDA_ARRAY3D_DESCRIPTOR descriptor{};
  const CalledFunctions& driver = Driver();
  return driver.cuArray3DGetDescriptor_v2 != nullptr &&
                 driver.cuArray3DGetDescriptor_v2(&descriptor, array) == CUDA_SUCCESS
             ? ArrayBytes3D(&descriptor, 1)
             : 0;
}

// OP_MAP and OP_UNMAP of each resource.
void RecordMapped(Call* call, Op op, unsigned count, const CUgraphicsResource* resources,
                  std::uint64_t time_ns, CUstream stream) {
  const CallContext context = call->Context();
  for (unsigned i = 0; i < count; ++i) {
    if (op == kOpUnmap) EndViews(call, Number(resources[i]), time_ns);
    ring::RingEvent event = call->Event(op, kLayerImported);
    if (op == kOpUnmap) event.time_ns = time_ns;
    event.context = context.id;
    event.SetDevice(context.device);
    event.address = Number(resources[i]);
    event.stream = Number(stream);
    call->Emit(&event);
  }
}

}  // namespace

void EndGraphics::Begin(Call* call, CUgraphicsResource resource) {
  before_ns_ = NowNs();
  call->Freeing(kLayerImported, Number(resource));
}

void EndGraphics::End(Call* call, CUresult result, CUgraphicsResource resource) const {
  call->Freed(result, kLayerImported, Number(resource));
  if (result == CUDA_SUCCESS) EndViews(call, Number(resource), before_ns_);
}

void GetGraphicsPointer::After(Call* call, CUresult result, CUdeviceptr* pointer,
                               std::size_t* bytes, CUgraphicsResource resource) const {
  call->Failed(result, kLayerImported);
  if (result == CUDA_SUCCESS && pointer != nullptr)
    RecordView(call, *pointer, bytes == nullptr ? 0 : *bytes, resource, kImportGraphicsView);
}

void GetGraphicsArray::After(Call* call, CUresult result, CUarray* array,
                             CUgraphicsResource resource, unsigned, unsigned) const {
  call->Failed(result, kLayerImported);
  if (result == CUDA_SUCCESS && array != nullptr)
    RecordView(call, Number(*array), BytesOfArray(*array), resource, kImportGraphicsArray);
}

// The number of levels cannot be queried, so the size is unknown.
void GetGraphicsMipmap::After(Call* call, CUresult result, CUmipmappedArray* array,
                              CUgraphicsResource resource) const {
  call->Failed(result, kLayerImported);
  if (result == CUDA_SUCCESS && array != nullptr)
    RecordView(call, Number(*array), 0, resource, kImportGraphicsArray);
}

void GetEglFrame::After(Call* call, CUresult result, void* frame, CUgraphicsResource resource,
                        unsigned, unsigned) const {
  call->Failed(result, kLayerImported);
  if (result != CUDA_SUCCESS || frame == nullptr) return;
  const auto& planes = *static_cast<const EglFrame*>(frame);
  for (unsigned i = 0; i < planes.plane_count && i < 3; ++i) {
    const std::uint64_t plane = Number(planes.planes[i]);
    // The pitch and height are only known for the first plane.
    const std::uint64_t pitched = i == 0 ? std::uint64_t{planes.pitch} * planes.height : 0;
    if (planes.is_pitched != 0)
      RecordView(call, plane, pitched, resource, kImportGraphicsView);
    else
      RecordView(call, plane, BytesOfArray(static_cast<CUarray>(planes.planes[i])), resource,
                 kImportGraphicsArray);
  }
}

void MapGraphics::After(Call* call, CUresult result, unsigned count, CUgraphicsResource* resources,
                        CUstream stream) const {
  call->Failed(result, kLayerImported);
  if (result == CUDA_SUCCESS && resources != nullptr)
    RecordMapped(call, kOpMap, count, resources, 0, stream);
}

void UnmapGraphics::After(Call* call, CUresult result, unsigned count,
                          CUgraphicsResource* resources, CUstream stream) const {
  if (result == CUDA_SUCCESS && resources != nullptr)
    RecordMapped(call, kOpUnmap, count, resources, before_ns, stream);
}

}  // namespace memprof::recorder
