// Interns and publishes definitions.
#include "libmemprof/src/log/definitions.h"

#include <string.h>

#include "libmemprof/include/memprof/memprof.h"
#include "libmemprof/src/base/text.h"
#include "libmemprof/src/log/pbf_writer.h"

namespace memprof::recorder {
namespace {

constexpr std::size_t kMostKeyBytes = std::size_t{16} << 20;  // bounds the memory of all names
constexpr std::uint32_t kMostCapacity = 1u << 19;             // ... and of each table: 12 MiB

// Field numbers of log.Definitions and its messages; the test decodes with libprotobuf.
enum Field : std::uint32_t {
  kString = 1,
  kModule = 2,
  kThread = 3,
  kDevice = 4,
  kContext = 5,
  kTensor = 6,
  kPythonFrame = 7,
  kSource = 9,
  kPool = 10,
};

}  // namespace

std::uint64_t HashBytes(const void* data, std::size_t bytes) {
  const auto* at = static_cast<const unsigned char*>(data);
  std::uint64_t hash = 0x9e3779b97f4a7c15u ^ bytes * 0xff51afd7ed558ccdu;
  while (bytes > 0) {
    std::uint64_t word = 0;
    const std::size_t take = bytes < 8 ? bytes : 8;
    memcpy(&word, at, take);
    hash = (hash ^ word) * 0x9fb21c651e98df25u;
    hash ^= hash >> 32;
    at += take;
    bytes -= take;
  }
  return hash == 0 ? 1 : hash;
}

Definitions::~Definitions() {
  UnmapMemory(strings_.entries, strings_.capacity * sizeof(Entry));
  UnmapMemory(tensors_.entries, tensors_.capacity * sizeof(Entry));
  UnmapMemory(python_frames_.entries, python_frames_.capacity * sizeof(Entry));
}

bool Definitions::Enlarge(Table* table) {
  const std::uint32_t capacity = table->capacity == 0 ? 1024 : table->capacity * 2;
  if (capacity > kMostCapacity) return false;
  auto* entries = static_cast<Entry*>(MapMemory(capacity * sizeof(Entry)));
  if (entries == nullptr) return false;
  for (std::uint32_t i = 0; i < table->capacity; ++i) {
    const Entry& old = table->entries[i];
    if (old.id == 0) continue;
    std::uint32_t slot = static_cast<std::uint32_t>(old.hash) & (capacity - 1);
    while (entries[slot].id != 0) slot = (slot + 1) & (capacity - 1);
    entries[slot] = old;
  }
  UnmapMemory(table->entries, table->capacity * sizeof(Entry));
  table->entries = entries;
  table->capacity = capacity;
  return true;
}

Definitions::Entry* Definitions::FindOrInsert(Table* table, const void* key, std::size_t bytes,
                                              bool* inserted) {
  *inserted = false;
  if (table->capacity == 0 && !Enlarge(table)) return nullptr;
  const std::uint64_t hash = HashBytes(key, bytes);
  const auto probe = [&](std::uint32_t* slot) -> Entry* {
    *slot = static_cast<std::uint32_t>(hash) & (table->capacity - 1);
    for (;; *slot = (*slot + 1) & (table->capacity - 1)) {
      Entry& entry = table->entries[*slot];
      if (entry.id == 0) return nullptr;
      if (entry.hash == hash && entry.bytes == bytes &&
          memcmp(keys_.data() + entry.offset, key, bytes) == 0)
        return &entry;
    }
  };
  std::uint32_t slot;
  if (Entry* known = probe(&slot)) return known;
  if (table->used * 2 >= table->capacity) {
    if (!Enlarge(table)) return nullptr;
    probe(&slot);
  }
  if (keys_.size() + bytes > kMostKeyBytes || !keys_.TryReserve(bytes + 1)) return nullptr;
  Entry& entry = table->entries[slot];
  entry.hash = hash;
  entry.bytes = static_cast<std::uint32_t>(bytes);
  entry.offset = keys_.size();
  keys_.Append(key, bytes);
  entry.id = ++table->last_id;
  ++table->used;
  *inserted = true;
  return &entry;
}

std::uint32_t Definitions::InternString(const char* text) {
  return InternString(text, strlen(text));
}

std::uint32_t Definitions::InternString(const char* text, std::size_t length) {
  LockGuard lock(mutex_);
  clean_.Clear();
  AppendCleanText(text, length, &clean_);
  bool inserted;
  Entry* entry =
      clean_.failed() ? nullptr : FindOrInsert(&strings_, clean_.data(), clean_.size(), &inserted);
  if (entry == nullptr) {
    ring_->Count(log::Anomaly::kDefinitionsLost);
    return 0;
  }
  if (!inserted) return entry->id;
  scratch_.Clear();
  {
    PbfWriter fields(scratch_);
    PbfWriter message(fields, kString);
    message.add_uint32(1, entry->id);
    message.add_string(2, clean_.data(), clean_.size());
  }
  return PublishEntry(&strings_, entry);
}

void Definitions::AddThread(std::uint32_t id, std::uint32_t tid, const char* name) {
  LockGuard lock(mutex_);
  clean_.Clear();
  AppendCleanText(name, strlen(name), &clean_);
  scratch_.Clear();
  {
    PbfWriter fields(scratch_);
    PbfWriter message(fields, kThread);
    message.add_uint32(1, id);
    message.add_uint32(2, tid);
    message.add_string(3, clean_.data(), clean_.size());
  }
  PublishScratch();
}

void Definitions::AddDevice(const DeviceInfo& device) {
  LockGuard lock(mutex_);
  clean_.Clear();
  AppendCleanText(device.name, strlen(device.name), &clean_);
  scratch_.Clear();
  {
    PbfWriter fields(scratch_);
    PbfWriter message(fields, kDevice);
    message.add_uint32(1, device.ordinal);
    message.add_string(2, clean_.data(), clean_.size());
    message.add_uint64(3, device.capacity_bytes);
    if (device.uuid != nullptr) message.add_bytes(4, static_cast<const char*>(device.uuid), 16);
    message.add_bool(5, device.simulated);
    message.add_uint32(6, device.driver_version);
    message.add_uint64(7, device.free_at_start_bytes);
  }
  PublishScratch();
}

void Definitions::AddContext(std::uint32_t id, std::uint64_t handle, std::uint32_t device,
                             bool primary) {
  LockGuard lock(mutex_);
  scratch_.Clear();
  {
    PbfWriter fields(scratch_);
    PbfWriter message(fields, kContext);
    message.add_uint32(1, id);
    message.add_uint64(2, handle);
    message.add_uint32(3, device);
    message.add_bool(4, primary);
  }
  PublishScratch();
}

void Definitions::AddPool(std::uint64_t handle, std::uint32_t device, bool is_default) {
  LockGuard lock(mutex_);
  scratch_.Clear();
  {
    PbfWriter fields(scratch_);
    PbfWriter message(fields, kPool);
    message.add_uint64(1, handle);
    message.add_uint32(2, device);
    message.add_bool(3, is_default);
  }
  PublishScratch();
}

void Definitions::AddModule(const ModuleInfo& module) {
  LockGuard lock(mutex_);
  clean_.Clear();
  AppendCleanText(module.path, strlen(module.path), &clean_);
  scratch_.Clear();
  {
    PbfWriter fields(scratch_);
    PbfWriter message(fields, kModule);
    message.add_uint32(1, module.id);
    message.add_string(2, clean_.data(), clean_.size());
    if (module.build_id_bytes > 0)
      message.add_bytes(3, static_cast<const char*>(module.build_id), module.build_id_bytes);
    message.add_uint64(4, module.load_bias);
    message.add_uint64(5, module.first_address);
    message.add_uint64(6, module.end_address);
    message.add_uint64(7, NowNs());
  }
  PublishScratch();
}

std::uint32_t Definitions::InternTensor(std::uint32_t name, std::uint32_t dtype, int rank,
                                        const std::int64_t* shape) {
  std::uint64_t key[2 + MEMPROF_MAX_RANK] = {name, dtype};
  for (int i = 0; i < rank; ++i) key[2 + i] = static_cast<std::uint64_t>(shape[i]);
  const std::size_t key_bytes = sizeof(std::uint64_t) * (2 + static_cast<std::size_t>(rank));
  LockGuard lock(mutex_);
  bool inserted;
  Entry* entry = FindOrInsert(&tensors_, key, key_bytes, &inserted);
  if (entry == nullptr) {
    ring_->Count(log::Anomaly::kDefinitionsLost);
    return 0;
  }
  if (!inserted) return entry->id;
  scratch_.Clear();
  {
    PbfWriter fields(scratch_);
    PbfWriter message(fields, kTensor);
    message.add_uint32(1, entry->id);
    message.add_uint32(2, name);
    message.add_uint32(3, dtype);
    message.add_packed_uint64(4, key + 2, key + 2 + rank);
  }
  return PublishEntry(&tensors_, entry);
}

std::uint32_t Definitions::InternPythonFrame(std::uint32_t function, std::uint32_t file,
                                             std::uint32_t line) {
  const std::uint32_t key[] = {function, file, line};
  LockGuard lock(mutex_);
  bool inserted;
  Entry* entry = FindOrInsert(&python_frames_, key, sizeof key, &inserted);
  if (entry == nullptr) {
    ring_->Count(log::Anomaly::kDefinitionsLost);
    return 0;
  }
  if (!inserted) return entry->id;
  scratch_.Clear();
  {
    PbfWriter fields(scratch_);
    PbfWriter message(fields, kPythonFrame);
    message.add_uint32(1, entry->id);
    message.add_uint32(2, function);
    message.add_uint32(3, file);
    message.add_uint32(4, line);
  }
  return PublishEntry(&python_frames_, entry);
}

void Definitions::AddSource(const char* name, std::uint32_t state, const char* detail) {
  LockGuard lock(mutex_);
  clean_.Clear();
  AppendCleanText(detail, strlen(detail), &clean_);
  scratch_.Clear();
  {
    PbfWriter fields(scratch_);
    PbfWriter message(fields, kSource);
    message.add_string(1, name);
    message.add_uint32(2, state);
    message.add_string(3, clean_.data(), clean_.size());
    message.add_uint64(4, NowNs());
  }
  PublishScratch();
}

std::uint32_t Definitions::PublishEntry(Table* table, Entry* entry) {
  if (PublishScratch()) return entry->id;
  // Nobody has seen the id, the entry is the last of its probe chain, and its key the last of all:
  // take them back.
  entry->id = 0;
  keys_.Resize(entry->offset);
  --table->used;
  --table->last_id;
  return 0;
}

bool Definitions::AddNode(const ring::NodeRecord& node) {
  LockGuard lock(mutex_);
  return Publish(ring::DefinitionKind::kNode, &node, sizeof node);
}

bool Definitions::PublishScratch() {
  if (scratch_.failed() || clean_.failed()) {
    ring_->Count(log::Anomaly::kDefinitionsLost);
    return false;
  }
  return Publish(ring::DefinitionKind::kFields, scratch_.data(),
                 static_cast<std::uint32_t>(scratch_.size()));
}

bool Definitions::Publish(ring::DefinitionKind kind, const void* payload, std::uint32_t bytes) {
  const std::uint32_t padded = ring::PaddedRecordBytes(bytes);
  std::uint32_t used = slab_ == nullptr ? 0 : slab_->published.load(std::memory_order_relaxed);
  if (slab_ != nullptr && used + padded > ring::kSlabPayloadBytes) {
    ring_->Seal(slab_);
    slab_ = nullptr;
    used = 0;
  }
  if (slab_ == nullptr && padded <= ring::kSlabPayloadBytes)
    slab_ = ring_->Acquire(ring::SlabKind::kDefinitions, 0, 0);
  if (slab_ == nullptr) {
    ring_->Count(log::Anomaly::kDefinitionsLost);
    return false;
  }
  const ring::DefinitionRecord record{kind, bytes};
  char* at = SlabBytesBegin(slab_) + used;
  memcpy(at, &record, sizeof record);
  memcpy(at + sizeof record, payload, bytes);
  slab_->published.store(used + padded, std::memory_order_release);
  return true;
}

void Definitions::SealCurrent() {
  LockGuard lock(mutex_);
  if (slab_ == nullptr) return;
  ring_->Seal(slab_);
  slab_ = nullptr;
}

}  // namespace memprof::recorder
