// The numbers of proto/memprof.proto that this source writes. They are repeated here because
// libprotobuf may not come into other people's processes; a test compares them with the generated
// enumerations.
#pragma once

#include <cstdint>

namespace memprof::cupti {

// Op
inline constexpr std::uint32_t kOpAlloc = 1;
inline constexpr std::uint32_t kOpFree = 2;
inline constexpr std::uint32_t kOpAllocFailed = 3;
inline constexpr std::uint32_t kOpMap = 4;
inline constexpr std::uint32_t kOpUnmap = 5;
inline constexpr std::uint32_t kOpFreeFailed = 6;
inline constexpr std::uint32_t kOpContextCreate = 16;
inline constexpr std::uint32_t kOpContextDestroy = 17;
inline constexpr std::uint32_t kOpDeviceReset = 18;
inline constexpr std::uint32_t kOpModuleLoad = 19;
inline constexpr std::uint32_t kOpModuleUnload = 20;
inline constexpr std::uint32_t kOpLaunch = 22;
inline constexpr std::uint32_t kOpTouch = 23;
inline constexpr std::uint32_t kOpMemcpy = 24;
inline constexpr std::uint32_t kOpMemset = 25;
inline constexpr std::uint32_t kOpSync = 26;
inline constexpr std::uint32_t kOpPoolCreate = 27;
inline constexpr std::uint32_t kOpPoolDestroy = 28;
inline constexpr std::uint32_t kOpPoolTrim = 29;
inline constexpr std::uint32_t kOpPoolSample = 30;
inline constexpr std::uint32_t kOpCheckpoint = 31;
inline constexpr std::uint32_t kOpPrefetch = 34;
inline constexpr std::uint32_t kOpAdvise = 35;
inline constexpr std::uint32_t kOpDiscard = 36;

// Layer
inline constexpr std::uint32_t kLayerNone = 0;
inline constexpr std::uint32_t kLayerLinear = 1;
inline constexpr std::uint32_t kLayerPitched = 2;
inline constexpr std::uint32_t kLayerArray = 3;
inline constexpr std::uint32_t kLayerManaged = 4;
inline constexpr std::uint32_t kLayerPinned = 5;
inline constexpr std::uint32_t kLayerRegistered = 6;
inline constexpr std::uint32_t kLayerStreamOrdered = 7;
inline constexpr std::uint32_t kLayerVmmPhysical = 8;
inline constexpr std::uint32_t kLayerVmmAddress = 9;
inline constexpr std::uint32_t kLayerImported = 10;
inline constexpr std::uint32_t kLayerGraph = 11;
inline constexpr std::uint32_t kLayerModule = 12;
inline constexpr std::uint32_t kLayerMulticast = 13;

// ImportKind
inline constexpr std::uint64_t kImportIpc = 1;
inline constexpr std::uint64_t kImportPhysical = 2;
inline constexpr std::uint64_t kImportPoolPointer = 3;
inline constexpr std::uint64_t kImportExternal = 4;
inline constexpr std::uint64_t kImportExternalView = 5;

// CopyKind
inline constexpr std::uint32_t kCopyUnknown = 0;
inline constexpr std::uint32_t kCopyHostToDevice = 1;
inline constexpr std::uint32_t kCopyDeviceToHost = 2;
inline constexpr std::uint32_t kCopyDeviceToDevice = 3;
inline constexpr std::uint32_t kCopyHostToHost = 4;
inline constexpr std::uint32_t kCopyPeer = 5;
// Added to it, and alone in a memset's aux1, where the stream was being captured.
inline constexpr std::uint32_t kCaptured = 16;

// SourceState
inline constexpr std::uint32_t kSourceOff = 0;
inline constexpr std::uint32_t kSourceOn = 1;
inline constexpr std::uint32_t kSourceRefused = 2;
inline constexpr std::uint32_t kSourceLost = 3;

}  // namespace memprof::cupti
