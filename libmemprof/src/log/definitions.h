// Definitions: strings, stacks, tensors and the like, which events refer to by id. A definition is
// published in the ring, already encoded, before its id is returned, so that it survives the
// process together with the events.
//
// Thread-safety: every function may be called by any thread. When there is no space left, a
// definition is counted as lost and its id is 0.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "libmemprof/src/base/byte_buffer.h"
#include "libmemprof/src/base/hash_table.h"
#include "libmemprof/src/base/locks.h"
#include "libmemprof/src/log/ring_buffer.h"

namespace memprof::recorder {

struct DeviceInfo {
  std::uint32_t ordinal;
  const char* name;
  std::uint64_t capacity_bytes;
  const void* uuid;  // 16 bytes or null
  bool simulated;
  std::uint32_t driver_version;
  std::uint64_t free_at_start_bytes;
  bool uses_system_memory;
  std::uint32_t multiprocessors;
  std::uint32_t threads_per_multiprocessor;
};

struct ModuleInfo {
  std::uint32_t id;
  const char* path;
  const void* build_id;
  std::size_t build_id_bytes;
  std::uint64_t load_bias;
  std::uint64_t first_address;
  std::uint64_t end_address;
};

class Definitions {
 public:
  explicit Definitions(RingBuffer* ring) : ring_(ring) {}
  Definitions(const Definitions&) = delete;
  Definitions& operator=(const Definitions&) = delete;

  // The same text gives the same id.
  std::uint32_t InternString(const char* text, std::size_t length);
  std::uint32_t InternString(const char* text);

  void AddThread(std::uint32_t id, std::uint32_t tid, const char* name);
  void AddDevice(const DeviceInfo& device);
  void AddContext(std::uint32_t id, std::uint64_t handle, std::uint32_t device, bool primary);
  void AddPool(std::uint64_t handle, std::uint32_t device, bool is_default);
  void AddModule(const ModuleInfo& module);
  // `name` and `dtype` are string ids. The same arguments give the same id.
  std::uint32_t InternTensor(std::uint32_t name, std::uint32_t dtype, int rank,
                             const std::int64_t* shape);
  // `function` and `file` are string ids. The same arguments give the same id.
  std::uint32_t InternPythonFrame(std::uint32_t function, std::uint32_t file, std::uint32_t line);
  void AddSource(const char* name, std::uint32_t state, const char* detail);
  void AddFramework(const char* name, const char* release);

  // Publishes a node; false when there is no space.
  bool AddNode(const ring::NodeRecord& node);

  // Counts a definition that was lost for lack of memory elsewhere.
  void CountLost() { ring_->Count(log::Anomaly::kDefinitionsLost); }

  // Passes the current slab to the writer.
  void SealCurrent();

 private:
  // Maps hashed bytes to ids; the bytes are kept for comparison.
  struct Entry {
    std::uint64_t key_hash;
    std::uint32_t id;  // 0 = empty
    std::uint32_t bytes;
    std::uint64_t offset;  // in keys_

    bool empty() const { return id == 0; }
    std::uint64_t hash() const { return key_hash; }
  };
  struct Table {
    static constexpr std::size_t kFirstCapacity = 1024;
    static constexpr std::size_t kMaxCapacity = 1u << 19;  // 12 MiB
    HashTable<Entry> entries{kFirstCapacity, kMaxCapacity};
    std::uint32_t last_id = 0;
  };

  Entry* FindOrInsert(Table* table, const void* key, std::size_t bytes, bool* inserted);
  std::uint32_t PublishEntry(Table* table, Entry* entry);
  bool PublishScratch();
  bool Publish(ring::DefinitionKind kind, const void* payload, std::uint32_t bytes);

  RingBuffer* ring_;
  Mutex<LockRank::kDefinitions> mutex_;
  ring::SlabHeader* slab_ = nullptr;
  ByteBuffer scratch_;
  ByteBuffer clean_;
  ByteBuffer keys_;
  Table strings_;
  Table tensors_;
  Table python_frames_;
};

}  // namespace memprof::recorder
