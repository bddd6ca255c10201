// The basic types of the analysis library: ids, ops, layers, times and sizes.
//
// Sizes are bytes, times are nanoseconds of the recording machine's CLOCK_MONOTONIC. Everything
// here is a value type and thread-safe.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>
#include <string_view>

namespace memprof::analysis {

// A dense index that cannot be mixed with an index of another table.
template <typename Tag>
struct Index {
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
  std::uint32_t value = kNone;

  constexpr Index() = default;
  constexpr explicit Index(std::uint32_t v) : value(v) {}
  constexpr bool valid() const { return value != kNone; }
  constexpr auto operator<=>(const Index&) const = default;
};

using EventId = Index<struct EventTag>;  // row of Session::events(), in order of time
using AllocationId =
    Index<struct AllocationTag>;         // row of Session::allocations(), in order of birth
using StackId = Index<struct StackTag>;  // node of the stack trie; none = no stack
using FrameId =
    Index<struct FrameTag>;  // a distinct frame (one ip of one module, or one Python position)
using StringId = Index<struct StringTag>;
using TensorId = Index<struct TensorTag>;

// Same numbers as log.Op and log.Layer (proto/memprof.proto).
enum class Op : std::uint8_t {
  kUnspecified = 0,
  kAlloc = 1,
  kFree = 2,
  kAllocFailed = 3,
  kMap = 4,
  kUnmap = 5,
  kFreeFailed = 6,
  kStep = 10,
  kRangePush = 11,
  kRangePop = 12,
  kSnapshot = 13,
  kPause = 14,
  kResume = 15,
  kContextCreate = 16,
  kContextDestroy = 17,
  kDeviceReset = 18,
  kModuleLoad = 19,
  kModuleUnload = 20,
  kMemoryInfo = 21,
  kLaunch = 22,
  kTouch = 23,
  kMemcpy = 24,
  kMemset = 25,
  kSync = 26,
  kPoolCreate = 27,
  kPoolDestroy = 28,
  kPoolTrim = 29,
  kPoolSample = 30,
  kCheckpoint = 31,
  kFork = 32,
  kFrameworkOom = 33,
  kPrefetch = 34,
  kAdvise = 35,
  kDiscard = 36,
  kModuleGlobal = 37,
  kFreeRequested = 40,
  kHostScan = 38,
  kUnreachable = 39,
  kHeld = 41,
  kHolders = 42,
  kPoolUsage = 43,
  kFrameworkPool = 44,
  kStreamUse = 45,
  kWaiting = 46,
  kPresent = 47,  // in logs; an allocation at the beginning of the session
  kThinned = 48,
  kLevel = 49,
  kExported = 50,
  kSampled = 200,  // in sessions: a drawn block with its end; see store/sampling.h
};

enum class Layer : std::uint8_t {
  kUnspecified = 0,
  kLinear = 1,
  kPitched = 2,
  kArray = 3,
  kManaged = 4,
  kPinned = 5,
  kRegistered = 6,
  kStreamOrdered = 7,
  kVmmPhysical = 8,
  kVmmAddress = 9,
  kImported = 10,
  kGraph = 11,
  kModule = 12,
  kMulticast = 13,
  kSegment = 16,
  kBlock = 17,
  kTensor = 18,
};
inline constexpr int kLayerCount = 20;

// Where imported memory came from; same numbers as log.ImportKind.
enum class ImportKind : std::uint8_t {
  kUnknown = 0,
  kIpc = 1,
  kPhysical = 2,
  kPoolPointer = 3,
  kExternal = 4,
  kExternalView = 5,
  kGraphics = 6,
  kGraphicsView = 7,
  kExternalArray = 8,
  kGraphicsArray = 9,
  kOwn = 10,
};

// "alloc", "alloc_failed", "step", …: the names used by `memprof dump`. "unknown" for others.
std::string_view OpName(Op op);
// Whether the event concerns memory that stays alive: a prefetch, an advice, a discard, the look-up
// of a global, the result of a scan that no pointer to it is left, a holder, an export.
bool IsMark(Op op);
// "linear", "stream-ordered", "vmm", "block", …: names used in reports and JSON.
std::string_view LayerName(Layer layer);
// "ipc", "vmm", "pool", "external", "external-view", "external-array", "graphics", "graphics-view",
// "graphics-array", "own"; else "unknown".
std::string_view ImportKindName(ImportKind kind);
// "IPC memory", "external memory", …: for people. "memory" for others.
std::string_view ImportName(ImportKind kind);
// A view of an import, or of this process's own memory, whose bytes must not be added.
bool IsImportView(ImportKind kind);
// Whether OP_MAP and OP_UNMAP of this layer concern addresses of memory. Memory is also bound to
// multicast objects and arrays, and resources of graphics interfaces are mapped; these get no
// address.
bool GivesAddress(Layer layer);
// Memory of this layer occupies a device and counts in peak_bytes and live_bytes (linear, pitched,
// array, managed, stream-ordered, VMM physical, graph).
bool OccupiesDevice(Layer layer);
// Pinned or registered host memory.
bool OccupiesHost(Layer layer);
// Segment, block or tensor: memory that a lower layer already counts.
bool IsFrameworkLayer(Layer layer);

inline constexpr int kNoDevice = -1;

// The driver allocates the memory of a device in pages of this size, which smaller allocations
// share.
inline constexpr std::uint64_t kPage = std::uint64_t{2} << 20;

using TimeNs = std::uint64_t;
inline constexpr TimeNs kForever = std::numeric_limits<TimeNs>::max();

// [begin, end) in recorded time.
struct TimeWindow {
  TimeNs begin = 0;
  TimeNs end = kForever;
  bool Contains(TimeNs t) const { return t >= begin && t < end; }
};

}  // namespace memprof::analysis
