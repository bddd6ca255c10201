// Builds the shared memory of a dead process by hand, as proto/ring.h defines it, also in states
// that a recorder has only for an instant or never reaches.
#pragma once

#include <cstring>
#include <string>
#include <string_view>

#include "proto/ring.h"

namespace memprof::analysis::testing {

class RingBuilder {
 public:
  RingBuilder(std::uint32_t pid, std::uint64_t start_time_ns)
      : bytes_(ring::kRingHeaderBytes, '\0') {
    std::memcpy(header()->magic, ring::kRingMagic, sizeof ring::kRingMagic);
    header()->version = ring::kRingVersion;
    header()->slab_bytes = ring::kSlabBytes;
    header()->event_bytes = sizeof(ring::RingEvent);
    header()->pid = pid;
    header()->start_time_ns = start_time_ns;
    header()->commit_at = ring::kNotCommitted;
  }

  ring::RingHeader* header() { return reinterpret_cast<ring::RingHeader*>(bytes_.data()); }
  ring::SlabHeader* slab(std::uint32_t index) {
    return reinterpret_cast<ring::SlabHeader*>(bytes_.data() + SlabAt(index));
  }
  std::string& bytes() { return bytes_; }

  // Adds a slab owned by `thread`; returns its index.
  std::uint32_t AddSlab(ring::SlabKind kind, std::uint32_t thread, std::uint64_t sequence) {
    const std::uint32_t index = header()->slab_count;
    bytes_.resize(SlabAt(index + 1));
    header()->slab_count = index + 1;
    header()->slabs_ready = index + 1;
    slab(index)->state = ring::SlabState::kOwned;
    slab(index)->kind = kind;
    slab(index)->thread = thread;
    slab(index)->sequence = sequence;
    return index;
  }

  void AddEvent(std::uint32_t index, const ring::RingEvent& event) {
    const std::uint32_t at = slab(index)->published;
    std::memcpy(Payload(index) + at * sizeof event, &event, sizeof event);
    slab(index)->published = at + 1;
  }

  // Adds a record; returns its offset in the payload.
  std::uint32_t AddDefinition(std::uint32_t index, ring::DefinitionKind kind,
                              std::string_view body) {
    const std::uint32_t at = slab(index)->published;
    const ring::DefinitionRecord record{kind, static_cast<std::uint32_t>(body.size())};
    std::memcpy(Payload(index) + at, &record, sizeof record);
    std::memcpy(Payload(index) + at + sizeof record, body.data(), body.size());
    slab(index)->published = at + ring::PaddedRecordBytes(record.bytes);
    return at;
  }

  std::uint32_t AddNode(std::uint32_t index, const ring::NodeRecord& node) {
    return AddDefinition(index, ring::DefinitionKind::kNode,
                         {reinterpret_cast<const char*>(&node), sizeof node});
  }

  char* Payload(std::uint32_t index) {
    return bytes_.data() + SlabAt(index) + sizeof(ring::SlabHeader);
  }

 private:
  static std::size_t SlabAt(std::uint32_t index) {
    return ring::kRingHeaderBytes + std::size_t{index} * ring::kSlabBytes;
  }
  std::string bytes_;
};

}  // namespace memprof::analysis::testing
