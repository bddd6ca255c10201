// Stands in for libcupti's activities in a test of the guest `activity`: every forced flush
// delivers one buffer with a record of another kind, an allocation and a free, in the layout of
// CUPTI 13.0.
#include <cupti.h>

#include <cstdint>
#include <cstring>

namespace {

CUpti_BuffersCallbackRequestFunc g_wanted = nullptr;
CUpti_BuffersCallbackCompleteFunc g_filled = nullptr;
bool g_enabled = false;

// All records have the same size, so that the next one can be found.
constexpr std::size_t kRecordBytes = 256;
static_assert(sizeof(CUpti_ActivityMemory4) <= kRecordBytes);

CUpti_ActivityMemory4 Record(CUpti_ActivityMemoryOperationType operation, std::uint64_t time) {
  CUpti_ActivityMemory4 record{};
  record.kind = CUPTI_ACTIVITY_KIND_MEMORY2;
  record.memoryOperationType = operation;
  record.memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  record.address = 0x7f0000001000;
  record.bytes = 12345;
  record.timestamp = time;
  record.PC = 0x401000;
  record.deviceId = 3;
  record.isAsync = 1;
  return record;
}

}  // namespace

extern "C" {

CUptiResult CUPTIAPI cuptiGetVersion(std::uint32_t* version) {
  *version = 130000;
  return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc wanted,
                                                    CUpti_BuffersCallbackCompleteFunc filled) {
  g_wanted = wanted;
  g_filled = filled;
  return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiActivityEnable(CUpti_ActivityKind kind) {
  g_enabled = kind == CUPTI_ACTIVITY_KIND_MEMORY2;
  return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiActivityGetNextRecord(std::uint8_t* buffer, std::size_t valid,
                                                CUpti_Activity** record) {
  std::uint8_t* next =
      *record == nullptr ? buffer : reinterpret_cast<std::uint8_t*>(*record) + kRecordBytes;
  if (next + kRecordBytes > buffer + valid) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  *record = reinterpret_cast<CUpti_Activity*>(next);
  return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiActivityFlushAll(std::uint32_t flag) {
  if (!g_enabled || flag != CUPTI_ACTIVITY_FLAG_FLUSH_FORCED) return CUPTI_SUCCESS;
  std::uint8_t* buffer = nullptr;
  std::size_t size = 0, most = 0;
  g_wanted(&buffer, &size, &most);
  CUpti_ActivityMemory4 records[] = {Record(CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION, 11),
                                     Record(CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION, 22),
                                     Record(CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE, 33)};
  records[0].kind = CUPTI_ACTIVITY_KIND_MEMORY_POOL;
  for (std::size_t i = 0; i < 3; ++i)
    std::memcpy(buffer + i * kRecordBytes, &records[i], sizeof records[i]);
  g_filled(nullptr, 0, buffer, size, 3 * kRecordBytes);
  return CUPTI_SUCCESS;
}

}  // extern "C"
