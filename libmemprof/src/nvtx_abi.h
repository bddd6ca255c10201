// What a tool must know of NVTX 3 to be its injection library: the layouts and numbers that NVTX's
// headers document and never change, without those headers, which not every toolkit has.
#pragma once

#include <wchar.h>

#include <cstddef>
#include <cstdint>

namespace memprof::nvtx {

// Given to InitializeInjectionNvtx2 by each library that has NVTX compiled in.
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

// What a push returns that no tool keeps count of, as when there is no tool at all.
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
  union {
    const char* ascii;
    const wchar_t* unicode;
    const void* registered;  // what our DomainRegisterString returned
  } message;
};
static_assert(sizeof(EventAttributes) == 48);

}  // namespace memprof::nvtx
