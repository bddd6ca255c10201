// Decodes the shared memory of a dead process. Nothing in the file is trusted: sizes come from the
// file system, indices are checked, counts are read once.
#include "analysis/log/ring_recovery.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <limits>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "analysis/log/internal/ring_view.h"
#include "proto/anomalies.h"
#include "proto/framing.h"
#include "proto/ring.h"

namespace memprof::analysis {
namespace {

using ring::RingEvent;
using ring::RingHeader;
using ring::SlabHeader;
using ring::SlabKind;
using ring::SlabState;

// A part of a slab that the log does not have.
struct Part {
  std::uint32_t slab;
  std::uint32_t thread;
  std::uint64_t sequence;
  std::uint32_t from;
  std::uint32_t to;
};

std::vector<Part> FindParts(const RingView& view, SlabKind kind, bool pending_is_written) {
  const std::uint32_t limit =
      kind == SlabKind::kEvents ? ring::kEventsPerSlab : ring::kSlabPayloadBytes;
  std::vector<Part> parts;
  for (std::uint32_t i = 0; i < view.slabs(); ++i) {
    const SlabHeader& slab = view.slab(i);
    const SlabState state = slab.state.load(std::memory_order_acquire);
    if ((state != SlabState::kOwned && state != SlabState::kSealed) || slab.kind != kind) continue;
    const std::uint32_t from =
        (pending_is_written ? slab.pending : slab.taken).load(std::memory_order_relaxed);
    const std::uint32_t to = std::min(slab.published.load(std::memory_order_acquire), limit);
    if (from < to) parts.push_back({i, slab.thread, slab.sequence, from, to});
  }
  std::sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) {
    return a.thread != b.thread ? a.thread < b.thread : a.sequence < b.sequence;
  });
  return parts;
}

// The definitions of a ring, put together from the records of its slabs.
class DefinitionReader {
 public:
  // Reads the sound part of `part`. False if something was damaged.
  bool Read(const RingView& view, const Part& part) {
    const char* payload = view.payload(part.slab);
    std::uint32_t at = part.from;
    bool sound = true;
    while (at + sizeof(ring::DefinitionRecord) <= part.to) {
      ring::DefinitionRecord record;
      std::memcpy(&record, payload + at, sizeof record);
      // The rest cannot be interpreted.
      if (record.bytes > part.to - at - sizeof record) return false;
      sound &= Add(record.kind, {payload + at + sizeof record, record.bytes});
      at += ring::PaddedRecordBytes(record.bytes);
    }
    return sound && at >= part.to;
  }

  log::Definitions Take() {
    if (trie_.parent_size() > 0) *definitions_.mutable_trie() = std::move(trie_);
    return std::move(definitions_);
  }

 private:
  bool Add(ring::DefinitionKind kind, absl::string_view body) {
    ring::NodeRecord node;
    if (kind == ring::DefinitionKind::kFields) {
      log::Definitions fields;  // separate, so that damage affects nothing else
      if (!fields.ParseFromArray(body.data(), static_cast<int>(body.size()))) return false;
      definitions_.MergeFrom(fields);
      return true;
    }
    if (kind != ring::DefinitionKind::kNode || body.size() != sizeof node) return false;
    std::memcpy(&node, body.data(), sizeof node);
    return AddNode(node);
  }

  // False if the ids have a gap, which a sound ring never has.
  bool AddNode(const ring::NodeRecord& node) {
    if (trie_.parent_size() == 0)
      trie_.set_first_id(node.id);
    else if (node.id != trie_.first_id() + static_cast<std::uint32_t>(trie_.parent_size()))
      return false;
    trie_.add_parent(node.parent);
    trie_.add_module(node.module);
    trie_.add_kind(node.kind);
    if (node.kind == log::FRAME_PYTHON) {
      trie_.add_address_delta(static_cast<std::int64_t>(node.address));  // an id, no difference
    } else {
      trie_.add_address_delta(static_cast<std::int64_t>(node.address - last_address_));
      last_address_ = node.address;
    }
    return true;
  }

  log::Definitions definitions_;
  log::StackTrie trie_;
  std::uint64_t last_address_ = 0;
};

// One log.Events message from some events of the ring.
class ColumnBuilder {
 public:
  int count() const { return columns_.op_size(); }

  void Add(std::uint32_t thread, const RingEvent& event) {
    if (count() == 0) columns_.set_base_time_ns(last_.time_ns = event.time_ns);
    columns_.add_op(event.op);
    columns_.add_layer(event.layer);
    columns_.add_time_delta(Delta(event.time_ns, last_.time_ns));
    columns_.add_thread(thread);
    columns_.add_device_plus_1(event.device_plus_1);
    columns_.add_address_delta(Delta(event.address, last_.address));
    columns_.add_bytes(event.bytes);
    columns_.add_stack(event.stack);
    columns_.add_context(event.context);
    columns_.add_stream(event.stream);
    columns_.add_label(event.label);
    columns_.add_api(event.api);
    columns_.add_result(event.result);
    columns_.add_aux0_delta(Delta(event.aux0, last_.aux0));
    columns_.add_aux1_delta(Delta(event.aux1, last_.aux1));
    last_ = event;
  }

  log::Events Take() {
    columns_.set_count(static_cast<std::uint32_t>(count()));
    last_ = {};
    return std::exchange(columns_, {});
  }

 private:
  static std::int64_t Delta(std::uint64_t now, std::uint64_t before) {
    return static_cast<std::int64_t>(now - before);
  }
  log::Events columns_;
  RingEvent last_{};
};

std::vector<log::Events> RecoverEvents(const RingView& view, const std::vector<Part>& parts) {
  std::vector<log::Events> messages;
  ColumnBuilder columns;
  for (const Part& part : parts) {
    const char* payload = view.payload(part.slab);
    for (std::uint32_t i = part.from; i < part.to; ++i) {
      RingEvent event;
      std::memcpy(&event, payload + std::size_t{i} * sizeof event, sizeof event);
      columns.Add(part.thread, event);
      if (columns.count() == static_cast<int>(log::kEventsPerChunk))
        messages.push_back(columns.Take());
    }
  }
  if (columns.count() > 0) messages.push_back(columns.Take());
  return messages;
}

log::Counters RecoverCounters(const RingHeader& header, std::uint64_t log_bytes,
                              std::uint64_t recovered_events, std::uint64_t broken_definitions) {
  log::Counters counters;
  for (std::size_t i = 0; i < std::size(log::kAnomalyNames); ++i) {
    std::uint64_t value = header.anomalies[i].load(std::memory_order_relaxed);
    if (i == static_cast<std::size_t>(log::Anomaly::kDefinitionsLost)) value += broken_definitions;
    if (value == 0) continue;
    log::Counter* counter = counters.add_counter();
    counter->set_name(std::string(log::kAnomalyNames[i]));
    counter->set_value(value);
  }
  log::SelfAccounting* self = counters.mutable_self();
  const std::uint64_t written = header.events_written.load(std::memory_order_relaxed);
  self->set_events(written + recovered_events);
  self->set_events_written(written);
  self->set_bytes_written(log_bytes);
  self->set_hook_time_ns(header.hook_time_ns.load(std::memory_order_relaxed));
  self->set_writer_cpu_ns(header.writer_cpu_ns.load(std::memory_order_relaxed));
  return counters;
}

}  // namespace

absl::StatusOr<RecoveredRing> RecoverRing(const std::string& ring_path, std::uint32_t expected_pid,
                                          std::uint64_t expected_start_time_ns,
                                          std::uint64_t log_bytes,
                                          std::optional<std::uint32_t> log_owner) {
  absl::StatusOr<RingView> view = RingView::Open(ring_path, log_owner);
  if (!view.ok()) return view.status();
  const RingHeader& header = view->header();
  if (header.pid != expected_pid || header.start_time_ns != expected_start_time_ns)
    return absl::DataLossError(absl::StrCat(ring_path, ": it belongs to another recording"));
  if (StillRecording(header, ring_path))
    return absl::FailedPreconditionError(
        absl::StrCat("process ", expected_pid, " is still running and recording"));
  if (!view->Load())
    return absl::DataLossError(absl::StrCat(ring_path, ": it changes while it is read"));

  const std::uint64_t commit_at = header.commit_at.load(std::memory_order_acquire);
  const bool pending_is_written = commit_at != ring::kNotCommitted && log_bytes >= commit_at;
  RecoveredRing recovered;
  recovered.committed_log_bytes =
      pending_is_written ? commit_at : header.committed.load(std::memory_order_acquire);
  if (recovered.committed_log_bytes > log_bytes)
    return absl::DataLossError(
        absl::StrCat(ring_path, ": the log is shorter than when its process ended"));
  // A broken definition costs names and call stacks of some events, never the events.
  DefinitionReader definitions;
  std::uint64_t broken = 0;
  for (const Part& part : FindParts(*view, SlabKind::kDefinitions, pending_is_written))
    broken += definitions.Read(*view, part) ? 0 : 1;
  recovered.definitions = definitions.Take();
  recovered.events = RecoverEvents(*view, FindParts(*view, SlabKind::kEvents, pending_is_written));
  std::uint64_t events = 0;
  for (const log::Events& message : recovered.events) events += message.count();
  recovered.counters = RecoverCounters(header, recovered.committed_log_bytes, events, broken);
  return recovered;
}

}  // namespace memprof::analysis
