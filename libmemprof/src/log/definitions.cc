// Interns and publishes definitions.
#include "libmemprof/src/log/definitions.h"

#include <string.h>

#include "libmemprof/include/memprof/memprof.h"
#include "libmemprof/src/base/hash.h"
#include "libmemprof/src/base/text.h"
#include "libmemprof/src/log/proto_writer.h"

namespace memprof::recorder {
namespace {

constexpr std::size_t kMaxKeyBytes = std::size_t{16} << 20;  // bounds the memory of all names

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
  kFramework = 11,
};

}  // namespace

Definitions::Entry* Definitions::FindOrInsert(Table* table, const void* key, std::size_t bytes,
                                              bool* inserted) {
  const std::uint64_t hash = HashBytes(key, bytes);
  Entry* known = table->entries.Find(hash, [&](const Entry& entry) {
    return entry.key_hash == hash && entry.bytes == bytes &&
           memcmp(keys_.data() + entry.offset, key, bytes) == 0;
  });
  *inserted = known == nullptr;
  if (known != nullptr) return known;
  if (keys_.size() + bytes > kMaxKeyBytes || !keys_.TryReserve(bytes + 1)) return nullptr;
  Entry* entry = table->entries.Insert(
      {hash, table->last_id + 1, static_cast<std::uint32_t>(bytes), keys_.size()});
  if (entry == nullptr) return nullptr;
  keys_.Append(key, bytes);
  ++table->last_id;
  return entry;
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
    ProtoWriter fields(scratch_);
    ProtoWriter message(fields, kString);
    message.AddVarint(1, entry->id);
    message.AddBytes(2, clean_.data(), clean_.size());
  }
  return PublishEntry(&strings_, entry);
}

void Definitions::AddThread(std::uint32_t id, std::uint32_t tid, const char* name) {
  LockGuard lock(mutex_);
  clean_.Clear();
  AppendCleanText(name, strlen(name), &clean_);
  scratch_.Clear();
  {
    ProtoWriter fields(scratch_);
    ProtoWriter message(fields, kThread);
    message.AddVarint(1, id);
    message.AddVarint(2, tid);
    message.AddBytes(3, clean_.data(), clean_.size());
  }
  PublishScratch();
}

void Definitions::AddDevice(const DeviceInfo& device) {
  LockGuard lock(mutex_);
  clean_.Clear();
  AppendCleanText(device.name, strlen(device.name), &clean_);
  scratch_.Clear();
  {
    ProtoWriter fields(scratch_);
    ProtoWriter message(fields, kDevice);
    message.AddVarint(1, device.ordinal);
    message.AddBytes(2, clean_.data(), clean_.size());
    message.AddVarint(3, device.capacity_bytes);
    if (device.uuid != nullptr) message.AddBytes(4, device.uuid, 16);
    message.AddVarint(5, device.simulated);
    message.AddVarint(6, device.driver_version);
    message.AddVarint(7, device.free_at_start_bytes);
    message.AddVarint(8, device.uses_system_memory);
    message.AddVarint(9, device.multiprocessors);
    message.AddVarint(10, device.threads_per_multiprocessor);
  }
  PublishScratch();
}

void Definitions::AddContext(std::uint32_t id, std::uint64_t handle, std::uint32_t device,
                             bool primary) {
  LockGuard lock(mutex_);
  scratch_.Clear();
  {
    ProtoWriter fields(scratch_);
    ProtoWriter message(fields, kContext);
    message.AddVarint(1, id);
    message.AddVarint(2, handle);
    message.AddVarint(3, device);
    message.AddVarint(4, primary);
  }
  PublishScratch();
}

void Definitions::AddPool(std::uint64_t handle, std::uint32_t device, bool is_default) {
  LockGuard lock(mutex_);
  scratch_.Clear();
  {
    ProtoWriter fields(scratch_);
    ProtoWriter message(fields, kPool);
    message.AddVarint(1, handle);
    message.AddVarint(2, device);
    message.AddVarint(3, is_default);
  }
  PublishScratch();
}

void Definitions::AddModule(const ModuleInfo& module) {
  LockGuard lock(mutex_);
  clean_.Clear();
  AppendCleanText(module.path, strlen(module.path), &clean_);
  scratch_.Clear();
  {
    ProtoWriter fields(scratch_);
    ProtoWriter message(fields, kModule);
    message.AddVarint(1, module.id);
    message.AddBytes(2, clean_.data(), clean_.size());
    if (module.build_id_bytes > 0) message.AddBytes(3, module.build_id, module.build_id_bytes);
    message.AddVarint(4, module.load_bias);
    message.AddVarint(5, module.first_address);
    message.AddVarint(6, module.end_address);
    message.AddVarint(7, NowNs());
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
    ProtoWriter fields(scratch_);
    ProtoWriter message(fields, kTensor);
    message.AddVarint(1, entry->id);
    message.AddVarint(2, name);
    message.AddVarint(3, dtype);
    message.AddVarints(4, key + 2, static_cast<std::size_t>(rank));
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
    ProtoWriter fields(scratch_);
    ProtoWriter message(fields, kPythonFrame);
    message.AddVarint(1, entry->id);
    message.AddVarint(2, function);
    message.AddVarint(3, file);
    message.AddVarint(4, line);
  }
  return PublishEntry(&python_frames_, entry);
}

void Definitions::AddSource(const char* name, std::uint32_t state, const char* detail) {
  LockGuard lock(mutex_);
  clean_.Clear();
  AppendCleanText(detail, strlen(detail), &clean_);
  scratch_.Clear();
  {
    ProtoWriter fields(scratch_);
    ProtoWriter message(fields, kSource);
    message.AddText(1, name);
    message.AddVarint(2, state);
    message.AddBytes(3, clean_.data(), clean_.size());
    message.AddVarint(4, NowNs());
  }
  PublishScratch();
}

void Definitions::AddFramework(const char* name, const char* release) {
  LockGuard lock(mutex_);
  clean_.Clear();
  AppendCleanText(release, strlen(release), &clean_);
  scratch_.Clear();
  {
    ProtoWriter fields(scratch_);
    ProtoWriter message(fields, kFramework);
    message.AddText(1, name);
    message.AddBytes(2, clean_.data(), clean_.size());
  }
  PublishScratch();
}

std::uint32_t Definitions::PublishEntry(Table* table, Entry* entry) {
  if (PublishScratch()) return entry->id;
  // The id was never returned, and its key is the last one: both are taken back.
  keys_.Truncate(entry->offset);
  table->entries.Erase(entry);
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
