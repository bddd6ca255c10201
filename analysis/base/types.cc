// Names of ops and layers, and which layers count where.
#include "analysis/base/types.h"

#include <array>
#include <utility>

namespace memprof::analysis {

namespace {

constexpr std::pair<Op, std::string_view> kOpNames[] = {
    {Op::kUnspecified, "unknown"},
    {Op::kAlloc, "alloc"},
    {Op::kFree, "free"},
    {Op::kAllocFailed, "alloc_failed"},
    {Op::kMap, "map"},
    {Op::kUnmap, "unmap"},
    {Op::kFreeFailed, "free_failed"},
    {Op::kStep, "step"},
    {Op::kRangePush, "range_push"},
    {Op::kRangePop, "range_pop"},
    {Op::kSnapshot, "snapshot"},
    {Op::kPause, "pause"},
    {Op::kResume, "resume"},
    {Op::kContextCreate, "context_create"},
    {Op::kContextDestroy, "context_destroy"},
    {Op::kDeviceReset, "device_reset"},
    {Op::kModuleLoad, "module_load"},
    {Op::kModuleUnload, "module_unload"},
    {Op::kMemoryInfo, "memory_info"},
    {Op::kLaunch, "launch"},
    {Op::kTouch, "touch"},
    {Op::kMemcpy, "memcpy"},
    {Op::kMemset, "memset"},
    {Op::kSync, "sync"},
    {Op::kPoolCreate, "pool_create"},
    {Op::kPoolDestroy, "pool_destroy"},
    {Op::kPoolTrim, "pool_trim"},
    {Op::kPoolSample, "pool_sample"},
    {Op::kCheckpoint, "checkpoint"},
    {Op::kFork, "fork"},
    {Op::kFrameworkOom, "framework_oom"},
    {Op::kPrefetch, "prefetch"},
    {Op::kAdvise, "advise"},
    {Op::kDiscard, "discard"},
    {Op::kModuleGlobal, "module_global"},
    {Op::kFreeRequested, "free_requested"},
    {Op::kHostScan, "host_scan"},
    {Op::kUnreachable, "unreachable"},
    {Op::kHeld, "held"},
    {Op::kHolders, "holders"},
    {Op::kPoolUsage, "pool_usage"},
    {Op::kFrameworkPool, "framework_pool"},
    {Op::kStreamUse, "stream_use"},
    {Op::kWaiting, "waiting"},
    {Op::kPresent, "present"},
    {Op::kThinned, "thinned"},
    {Op::kLevel, "level"},
    {Op::kExported, "exported"},
    {Op::kSampled, "sampled"},
};

constexpr auto kNameOfOp = [] {
  std::array<std::string_view, 256> names;
  names.fill("unknown");
  for (const auto& [op, name] : kOpNames) names[static_cast<std::uint8_t>(op)] = name;
  return names;
}();

}  // namespace

std::string_view OpName(Op op) { return kNameOfOp[static_cast<std::uint8_t>(op)]; }

bool IsMark(Op op) {
  return op == Op::kPrefetch || op == Op::kAdvise || op == Op::kDiscard ||
         op == Op::kModuleGlobal || op == Op::kUnreachable || op == Op::kHeld ||
         op == Op::kExported;
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
