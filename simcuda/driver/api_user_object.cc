// User objects, and the graphs that own them.
#include "driver_api.h"
#include "simcuda/driver/graph.h"
#include "simcuda/driver/handles.h"
#include "simcuda/driver/user_object.h"

namespace memprof::simcuda {
namespace {

constexpr unsigned kMaxReferences = 0x7fffffff;

bool GoodCount(unsigned count) { return count != 0 && count <= kMaxReferences; }

void ForgetDead(const std::shared_ptr<UserObject>& object) {
  if (object->dead()) AllHandles<UserObject>().Remove(object.get());
}

}  // namespace

bool UserObject::Release(unsigned count) {
  unsigned before = references_.load();
  do {
    if (before < count) return false;
  } while (!references_.compare_exchange_weak(before, before - count));
  if (before == count) destroy_(data_);
  return true;
}

UserReferences::~UserReferences() {
  object_->Release(count_);
  ForgetDead(object_);
}

namespace api {

CUresult cuUserObjectCreate(CUuserObject* object_out, void* ptr, CUhostFn destroy,
                            unsigned int initialRefcount, unsigned int flags) {
  if (object_out == nullptr || destroy == nullptr || !GoodCount(initialRefcount) ||
      flags != CU_USER_OBJECT_NO_DESTRUCTOR_SYNC) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const auto object = std::make_shared<UserObject>(ptr, destroy, initialRefcount);
  AllHandles<UserObject>().Add(object);
  *object_out = reinterpret_cast<CUuserObject>(object.get());
  return CUDA_SUCCESS;
}

CUresult cuUserObjectRetain(CUuserObject object, unsigned int count) {
  const auto found = AllHandles<UserObject>().Find(object);
  if (found == nullptr || !GoodCount(count)) return CUDA_ERROR_INVALID_VALUE;
  found->Retain(count);
  return CUDA_SUCCESS;
}

CUresult cuUserObjectRelease(CUuserObject object, unsigned int count) {
  const auto found = AllHandles<UserObject>().Find(object);
  if (found == nullptr || !GoodCount(count) || !found->Release(count))
    return CUDA_ERROR_INVALID_VALUE;
  ForgetDead(found);
  return CUDA_SUCCESS;
}

CUresult cuGraphRetainUserObject(CUgraph graph, CUuserObject object, unsigned int count,
                                 unsigned int flags) {
  const auto owner = AllHandles<Graph>().Find(graph);
  const auto found = AllHandles<UserObject>().Find(object);
  if (owner == nullptr || found == nullptr || !GoodCount(count) ||
      (flags & ~CU_GRAPH_USER_OBJECT_MOVE) != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if ((flags & CU_GRAPH_USER_OBJECT_MOVE) == 0) found->Retain(count);
  for (unsigned i = 0; i < count; ++i) owner->Own(std::make_shared<UserReferences>(found, 1));
  return CUDA_SUCCESS;
}

CUresult cuGraphReleaseUserObject(CUgraph graph, CUuserObject object, unsigned int count) {
  const auto owner = AllHandles<Graph>().Find(graph);
  const auto found = AllHandles<UserObject>().Find(object);
  if (owner == nullptr || found == nullptr || !GoodCount(count)) return CUDA_ERROR_INVALID_VALUE;
  for (unsigned i = 0; i < count; ++i) {
    if (!owner->Disown(found.get())) return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

}  // namespace api
}  // namespace memprof::simcuda
