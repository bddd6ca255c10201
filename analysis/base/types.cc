// Names of ops and layers, and which layers count where.
#include "analysis/base/types.h"

namespace memprof::analysis {

std::string_view OpName(Op op) {
  switch (op) {
    case Op::kUnspecified:
      return "unknown";
    case Op::kAlloc:
      return "alloc";
    case Op::kFree:
      return "free";
    case Op::kAllocFailed:
      return "alloc_failed";
    case Op::kMap:
      return "map";
    case Op::kUnmap:
      return "unmap";
    case Op::kFreeFailed:
      return "free_failed";
    case Op::kStep:
      return "step";
    case Op::kRangePush:
      return "range_push";
    case Op::kRangePop:
      return "range_pop";
    case Op::kSnapshot:
      return "snapshot";
    case Op::kPause:
      return "pause";
    case Op::kResume:
      return "resume";
    case Op::kContextCreate:
      return "context_create";
    case Op::kContextDestroy:
      return "context_destroy";
    case Op::kDeviceReset:
      return "device_reset";
    case Op::kModuleLoad:
      return "module_load";
    case Op::kModuleUnload:
      return "module_unload";
    case Op::kMemoryInfo:
      return "memory_info";
    case Op::kLaunch:
      return "launch";
    case Op::kTouch:
      return "touch";
    case Op::kMemcpy:
      return "memcpy";
    case Op::kMemset:
      return "memset";
    case Op::kSync:
      return "sync";
    case Op::kPoolCreate:
      return "pool_create";
    case Op::kPoolDestroy:
      return "pool_destroy";
    case Op::kPoolTrim:
      return "pool_trim";
    case Op::kPoolSample:
      return "pool_sample";
    case Op::kCheckpoint:
      return "checkpoint";
    case Op::kFork:
      return "fork";
    case Op::kFrameworkOom:
      return "framework_oom";
    case Op::kPrefetch:
      return "prefetch";
    case Op::kAdvise:
      return "advise";
    case Op::kDiscard:
      return "discard";
    case Op::kModuleGlobal:
      return "module_global";
    case Op::kFreeRequested:
      return "free_requested";
    case Op::kHostScan:
      return "host_scan";
    case Op::kUnreachable:
      return "unreachable";
  }
  return "unknown";
}

bool IsMark(Op op) {
  return op == Op::kPrefetch || op == Op::kAdvise || op == Op::kDiscard ||
         op == Op::kModuleGlobal || op == Op::kUnreachable;
}

std::string_view LayerName(Layer layer) {
  switch (layer) {
    case Layer::kUnspecified:
      return "none";
    case Layer::kLinear:
      return "linear";
    case Layer::kPitched:
      return "pitched";
    case Layer::kArray:
      return "array";
    case Layer::kManaged:
      return "managed";
    case Layer::kPinned:
      return "pinned";
    case Layer::kRegistered:
      return "registered";
    case Layer::kStreamOrdered:
      return "stream-ordered";
    case Layer::kVmmPhysical:
      return "vmm";
    case Layer::kVmmAddress:
      return "vmm-address";
    case Layer::kImported:
      return "imported";
    case Layer::kGraph:
      return "graph";
    case Layer::kModule:
      return "module";
    case Layer::kMulticast:
      return "multicast";
    case Layer::kSegment:
      return "segment";
    case Layer::kBlock:
      return "block";
    case Layer::kTensor:
      return "tensor";
  }
  return "unknown";
}

std::string_view ImportKindName(ImportKind kind) {
  switch (kind) {
    case ImportKind::kIpc:
      return "ipc";
    case ImportKind::kPhysical:
      return "vmm";
    case ImportKind::kPoolPointer:
      return "pool";
    case ImportKind::kExternal:
      return "external";
    case ImportKind::kExternalView:
      return "external-view";
    case ImportKind::kGraphics:
      return "graphics";
    case ImportKind::kGraphicsView:
      return "graphics-view";
    case ImportKind::kExternalArray:
      return "external-array";
    case ImportKind::kGraphicsArray:
      return "graphics-array";
    case ImportKind::kOwn:
      return "own";
    case ImportKind::kUnknown:
      break;
  }
  return "unknown";
}

std::string_view ImportName(ImportKind kind) {
  switch (kind) {
    case ImportKind::kIpc:
      return "IPC memory";
    case ImportKind::kPhysical:
      return "a shared VMM handle";
    case ImportKind::kPoolPointer:
      return "memory of a shared pool";
    case ImportKind::kExternal:
      return "external memory";
    case ImportKind::kExternalView:
      return "a view of external memory";
    case ImportKind::kGraphics:
      return "a graphics resource";
    case ImportKind::kGraphicsView:
    case ImportKind::kGraphicsArray:
      return "a mapped graphics resource";
    case ImportKind::kExternalArray:
      return "an array in external memory";
    case ImportKind::kOwn:
      return "the process's own memory";
    case ImportKind::kUnknown:
      break;
  }
  return "memory";
}

bool IsImportView(ImportKind kind) {
  switch (kind) {
    case ImportKind::kExternalView:
    case ImportKind::kExternalArray:
    case ImportKind::kGraphicsView:
    case ImportKind::kGraphicsArray:
    case ImportKind::kOwn:
      return true;
    default:
      return false;
  }
}

bool GivesAddress(Layer layer) {
  return layer != Layer::kMulticast && layer != Layer::kArray && layer != Layer::kImported;
}

bool OccupiesDevice(Layer layer) {
  switch (layer) {
    case Layer::kLinear:
    case Layer::kPitched:
    case Layer::kArray:
    case Layer::kManaged:
    case Layer::kStreamOrdered:
    case Layer::kVmmPhysical:
    case Layer::kGraph:
      return true;
    default:
      return false;
  }
}

bool OccupiesHost(Layer layer) { return layer == Layer::kPinned || layer == Layer::kRegistered; }

bool IsFrameworkLayer(Layer layer) {
  return layer == Layer::kSegment || layer == Layer::kBlock || layer == Layer::kTensor;
}

}  // namespace memprof::analysis
