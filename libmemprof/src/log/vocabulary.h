// The numbers of log.Op, log.Layer and the like, for code that cannot include protobuf's header:
// the recorder and its sources. A test compares them with the generated enums.
#pragma once

#include <cstdint>

namespace memprof::vocabulary {

enum Op : std::uint8_t {
  kOpAlloc = 1,
  kOpFree = 2,
  kOpAllocFailed = 3,
  kOpMap = 4,
  kOpUnmap = 5,
  kOpFreeFailed = 6,
  kOpStep = 10,
  kOpRangePush = 11,
  kOpRangePop = 12,
  kOpSnapshot = 13,
  kOpPause = 14,
  kOpResume = 15,
  kOpContextCreate = 16,
  kOpContextDestroy = 17,
  kOpDeviceReset = 18,
  kOpModuleLoad = 19,
  kOpModuleUnload = 20,
  kOpMemoryInfo = 21,
  kOpLaunch = 22,
  kOpTouch = 23,
  kOpMemcpy = 24,
  kOpMemset = 25,
  kOpSync = 26,
  kOpPoolCreate = 27,
  kOpPoolDestroy = 28,
  kOpPoolTrim = 29,
  kOpPoolSample = 30,
  kOpCheckpoint = 31,
  kOpFork = 32,
  kOpFrameworkOom = 33,
  kOpPrefetch = 34,
  kOpAdvise = 35,
  kOpDiscard = 36,
  kOpModuleGlobal = 37,
  kOpHostScan = 38,
  kOpUnreachable = 39,
  kOpHeld = 41,
  kOpHolders = 42,
  kOpPoolUsage = 43,
  kOpFrameworkPool = 44,
  kOpStreamUse = 45,
  kOpWaiting = 46,
  kOpPresent = 47,
  kOpThinned = 48,
  kOpLevel = 49,
  kOpExported = 50,
};

enum Layer : std::uint8_t {
  kLayerNone = 0,
  kLayerLinear = 1,
  kLayerPitched = 2,
  kLayerArray = 3,
  kLayerManaged = 4,
  kLayerPinned = 5,
  kLayerRegistered = 6,
  kLayerStreamOrdered = 7,
  kLayerVmmPhysical = 8,
  kLayerVmmAddress = 9,
  kLayerImported = 10,
  kLayerGraph = 11,
  kLayerModule = 12,
  kLayerMulticast = 13,
  kLayerSegment = 16,
  kLayerBlock = 17,
  kLayerTensor = 18,
};

// log.ImportKind.
enum ImportKind : std::uint64_t {
  kImportIpc = 1,
  kImportPhysical = 2,
  kImportPoolPointer = 3,
  kImportExternal = 4,
  kImportExternalView = 5,
  kImportGraphics = 6,
  kImportGraphicsView = 7,
  kImportExternalArray = 8,
  kImportGraphicsArray = 9,
  kImportOwn = 10,
};

inline constexpr std::uint64_t kHolderCpp = 3;  // of log.HolderKind

enum CopyKind : std::uint32_t {
  kCopyUnknown = 0,
  kCopyHostToDevice = 1,
  kCopyDeviceToHost = 2,
  kCopyDeviceToDevice = 3,
  kCopyHostToHost = 4,
  kCopyPeer = 5,
};
// Added to the copy kind, or alone in a memset's aux1, if the stream was being captured.
inline constexpr std::uint32_t kCaptured = 16;

enum SourceState : std::uint32_t {
  kSourceOff = 0,
  kSourceOn = 1,
  kSourceRefused = 2,
  kSourceLost = 3,
};

}  // namespace memprof::vocabulary

namespace memprof::recorder {
using namespace vocabulary;
}
