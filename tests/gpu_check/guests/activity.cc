// Guest of scripts/gpu-check: CUPTI's memory records (MEMORY2) for one block of each family, and
// which clock they use.
//
//   activity BYTES
#include <cupti.h>

#include <cstddef>
#include <cstring>
#include <mutex>

#include "cupti_client.h"
#include "driver.h"
#include "tests/families/families.h"
#include "timing.h"

namespace memprof::gpu_check {

namespace {

// The first fields of the records in all versions of CUPTI.
struct MemoryRecord {
  std::uint32_t kind, operation, memory_kind, correlation;
  std::uint64_t address, bytes, time, program_counter;
  std::uint32_t process, device, context, stream;
  const char* name;
  std::uint32_t is_async;
};
#if CUDA_VERSION >= 13000
static_assert(offsetof(CUpti_ActivityMemory4, timestamp) == offsetof(MemoryRecord, time) &&
              offsetof(CUpti_ActivityMemory4, streamId) == offsetof(MemoryRecord, stream) &&
              offsetof(CUpti_ActivityMemory4, isAsync) == offsetof(MemoryRecord, is_async));
#endif

decltype(&cuptiActivityGetNextRecord) g_next = nullptr;
std::mutex g_mutex;
std::string g_records;  // records of this family
long g_others = 0;

constexpr std::size_t kBufferBytes = 1 << 20;

void CUPTIAPI BufferWanted(std::uint8_t** buffer, std::size_t* size, std::size_t* most_records) {
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(8, kBufferBytes));
  *size = kBufferBytes;
  *most_records = 0;
}

void CUPTIAPI BufferFilled(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t,
                           std::size_t filled) {
  const std::lock_guard lock(g_mutex);
  CUpti_Activity* at = nullptr;
  while (filled > 0 && g_next(buffer, filled, &at) == CUPTI_SUCCESS) {
    if (at->kind != CUPTI_ACTIVITY_KIND_MEMORY2) {
      ++g_others;
      continue;
    }
    MemoryRecord record;
    std::memcpy(&record, at, sizeof record);
    g_records += (g_records.empty() ? "\n{\"operation\":" : ",\n{\"operation\":") +
                 std::to_string(record.operation) +
                 ",\"kind\":" + std::to_string(record.memory_kind) +
                 ",\"bytes\":" + std::to_string(record.bytes) +
                 ",\"address\":" + std::to_string(record.address) +
                 ",\"time\":" + std::to_string(record.time) +
                 ",\"device\":" + std::to_string(record.device) +
                 ",\"async\":" + std::to_string(record.is_async) +
                 ",\"has_pc\":" + std::to_string(record.program_counter != 0) + "}";
  }
  std::free(buffer);
}

std::string Enable(void* library) {
  decltype(&cuptiActivityRegisterCallbacks) callbacks = nullptr;
  decltype(&cuptiActivityEnable) enable = nullptr;
  if (!FindIn(library, "cuptiActivityRegisterCallbacks", &callbacks) ||
      !FindIn(library, "cuptiActivityEnable", &enable) ||
      !FindIn(library, "cuptiActivityGetNextRecord", &g_next))
    return "libcupti lacks its activities";
  CUptiResult result = callbacks(&BufferWanted, &BufferFilled);
  if (result != CUPTI_SUCCESS)
    return "cuptiActivityRegisterCallbacks returned " + std::to_string(result);
  result = enable(CUPTI_ACTIVITY_KIND_MEMORY2);
  return result == CUPTI_SUCCESS ? "" : "cuptiActivityEnable returned " + std::to_string(result);
}

std::string Range(const char* name, std::int64_t from, std::int64_t to) {
  return std::string("\"") + name + "\":[" + std::to_string(from) + "," + std::to_string(to) + "]";
}

template <typename Flush>
std::string OneFamily(const std::string& name, std::uint64_t bytes, const Flush& flush) {
  std::string text = "\n{\"family\":\"" + name + "\"";
  try {
    const Family* const family = FindFamily(name);
    if (family == nullptr) throw Skipped("not built with this toolkit");
    Blocks blocks(*family);
    flush(0);
    {
      const std::lock_guard lock(g_mutex);
      g_records.clear();
    }
    const std::int64_t real = Now(CLOCK_REALTIME), monotonic = Now(),
                       raw = Now(CLOCK_MONOTONIC_RAW);
    const std::uint64_t asked = blocks.Take(bytes);
    blocks.GiveBack();
    CALL(cuCtxSynchronize);
    text += ",\"asked\":" + std::to_string(asked) + ",\"clocks\":{" +
            Range("CLOCK_REALTIME", real, Now(CLOCK_REALTIME)) + "," +
            Range("CLOCK_MONOTONIC", monotonic, Now()) + "," +
            Range("CLOCK_MONOTONIC_RAW", raw, Now(CLOCK_MONOTONIC_RAW)) + "}";
    flush(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    const std::lock_guard lock(g_mutex);
    text += ",\"records\":[" + g_records + "]";
  } catch (const std::exception& error) {
    text += ",\"skipped\":" + Quote(error.what());
  }
  return text + "}";
}

std::string Describe(std::uint64_t bytes) {
  CALL(cuInit, 0);
  void* used = nullptr;
  const std::string why = OpenCupti([&used](void* library) {
    used = library;
    return Enable(library);
  });
  if (!why.empty()) throw Skipped("CUPTI's records could not be had: " + why);
  decltype(&cuptiActivityFlushAll) flush = nullptr;
  decltype(&cuptiGetVersion) get_version = nullptr;
  if (!FindIn(used, "cuptiActivityFlushAll", &flush)) throw Skipped("no cuptiActivityFlushAll");
  std::uint32_t version = 0;
  if (FindIn(used, "cuptiGetVersion", &get_version)) get_version(&version);
  UsePrimaryContext();
  std::string families;
  for (const char* name : {"linear", "pitched", "array", "managed", "pinned", "registered",
                           "stream-ordered", "pool", "vmm", "graph", "module"})
    families += (families.empty() ? "" : ",") + OneFamily(name, bytes, flush);
  return "\"version\":" + std::to_string(version) + ",\"others\":" + std::to_string(g_others) +
         ",\"families\":[" + families + "]";
}

}  // namespace
}  // namespace memprof::gpu_check

int main(int argc, char** argv) {
  const unsigned long long bytes = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 4u << 20;
  return memprof::gpu_check::Answer([bytes] { return memprof::gpu_check::Describe(bytes); });
}
