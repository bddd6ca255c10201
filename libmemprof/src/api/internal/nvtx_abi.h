// The part of NVTX 3 that an injection library needs: layouts and numbers that NVTX's headers
// document and never change. Without those headers, because not every toolkit has them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace memprof::nvtx {

// Each library with NVTX compiled in passes one to InitializeInjectionNvtx2.
using GetExportTable = const void* (*)(std::uint32_t table);
inline constexpr std::uint32_t kCallbacksTable = 1;

using Function = void (*)();
using FunctionTable = Function**;  // an array of pointers to where the functions are kept
struct CallbacksTable {
  std::size_t bytes;
  int (*get_module_functions)(int module, FunctionTable* table, unsigned* count);
};
inline constexpr int kModuleCore = 1;
inline constexpr int kModuleCore2 = 5;

enum Core : unsigned {
  kRangeStartEx = 4,
  kRangeStartA = 5,
  kRangeStartW = 6,
  kRangeEnd = 7,
  kRangePushEx = 8,
  kRangePushA = 9,
  kRangePushW = 10,
  kRangePop = 11,
};
enum Core2 : unsigned {
  kDomainRangeStartEx = 2,
  kDomainRangeEnd = 3,
  kDomainRangePushEx = 4,
  kDomainRangePop = 5,
  kDomainRegisterStringA = 10,
  kDomainRegisterStringW = 11,
  kDomainCreateA = 12,
  kDomainCreateW = 13,
};

// What a push returns when no tool counts the levels.
inline constexpr int kNoTracking = -2;

enum MessageType : std::int32_t { kMessageAscii = 1, kMessageUnicode = 2, kMessageRegistered = 3 };

struct EventAttributes {
  std::uint16_t version;
  std::uint16_t bytes;
  std::uint32_t category;
  std::int32_t color_type;
  std::uint32_t color;
  std::int32_t payload_type;
  std::int32_t reserved;
  std::uint64_t payload;
  std::int32_t message_type;
  const void* message;  // text, or what our DomainRegisterString returned
};
static_assert(sizeof(EventAttributes) == 48);

// Extensions of NVTX each have a table of functions, which InitializeInjectionNvtxExtension fills.
// This is the one of memory: heaps of sub-allocators, regions of memory, and their names.
struct ExtensionSegment {
  std::size_t id;
  std::size_t slots;
  std::intptr_t* functions;
};
struct ExtensionModule {
  std::uint16_t nvtx_version;
  std::uint16_t bytes;
  std::uint16_t module;
  std::uint16_t compatibility;
  std::size_t segment_count;
  ExtensionSegment* segments;
  void* get_export;
  const void* info;
};
inline constexpr std::uint16_t kModuleMemory = 1;
inline constexpr std::uint16_t kMemoryCompatibility = 0x0102;
enum Memory : unsigned {
  kHeapRegister = 0,
  kHeapUnregister = 1,
  kHeapReset = 2,
  kRegionsRegister = 3,
  kRegionsResize = 4,
  kRegionsUnregister = 5,
  kRegionsName = 6,
};

// Every structure of the extension begins with this.
struct MemoryHeader {
  std::uint16_t compatibility;
  std::uint16_t bytes;
  std::uint32_t reserved_or_type;
};
inline constexpr std::uint32_t kVirtualAddress = 1;  // the one kind of memory that it has
struct VirtualRange {
  std::size_t bytes;
  const void* address;
};
struct HeapDescription {
  MemoryHeader header;
  std::uint32_t usage;  // 1 = a sub-allocator, 2 = a layout
  std::uint32_t type;
  std::size_t range_bytes;
  const VirtualRange* range;
  std::uint32_t category;
  std::int32_t message_type;
  const void* message;
};
struct RegionsRegister {
  MemoryHeader header;
  const void* heap;  // null = the whole process
  std::size_t count;
  std::size_t element_bytes;
  const void* elements;  // of VirtualRange
  const void** handles;  // the tool's handles; null = addresses are the handles
};
struct RegionsResize {
  MemoryHeader header;
  std::size_t count;
  std::size_t element_bytes;
  const void* elements;  // of VirtualRange
};
struct RegionsUnregister {
  MemoryHeader header;
  std::size_t count;
  std::size_t element_bytes;
  const void* elements;  // of addresses or handles
};
struct RegionName {
  std::uint32_t reference_type;
  std::int32_t message_type;
  const void* region;  // address or handle
  const void* message;
};
struct RegionsName {
  MemoryHeader header;
  std::size_t count;
  std::size_t element_bytes;
  const void* elements;  // of RegionName
};

}  // namespace memprof::nvtx
