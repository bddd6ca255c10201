// Decodes the shared memory of a dead process. Nothing in the file is trusted: sizes come from the
// file system, indices are checked, counts are read once.
#include "analysis/log/ring_recovery.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
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

// A copy of the file. Not a mapping of it: who owns the file could cut it short while it is read.
class RingView {
 public:
  RingView() = default;
  RingView(RingView&& other) noexcept
      : fd_(std::exchange(other.fd_, -1)),
        data_(std::exchange(other.data_, nullptr)),
        size_(other.size_),
        slabs_(other.slabs_) {}
  RingView(const RingView&) = delete;
  RingView& operator=(const RingView&) = delete;
  ~RingView() {
    if (data_ != nullptr) munmap(data_, size_);
    if (fd_ >= 0) close(fd_);
  }

  // Has only the header yet.
  static absl::StatusOr<RingView> Open(const std::string& path,
                                       std::optional<std::uint32_t> log_owner);
  // Takes everything, once nobody writes any more. False where the file has become shorter.
  bool Load();
  const RingHeader& header() const { return *reinterpret_cast<const RingHeader*>(data_); }
  std::uint32_t slabs() const { return slabs_; }
  const SlabHeader& slab(std::uint32_t index) const {
    return *reinterpret_cast<const SlabHeader*>(data_ + ring::kRingHeaderBytes +
                                                std::size_t{index} * ring::kSlabBytes);
  }
  const char* payload(std::uint32_t index) const {
    return reinterpret_cast<const char*>(&slab(index) + 1);
  }

 private:
  bool Read(std::size_t offset, std::size_t bytes);

  int fd_ = -1;
  char* data_ = nullptr;  // address space that gets memory where something is read to
  std::size_t size_ = 0;
  std::uint32_t slabs_ = 0;
  friend absl::Status CheckIdentity(RingView* view);
};

absl::Status CheckIdentity(RingView* view) {
  const RingHeader& header = view->header();
  if (std::memcmp(header.magic, ring::kRingMagic, sizeof header.magic) != 0)
    return absl::DataLossError("it is not a ring of memprof");
  if (header.version != ring::kRingVersion || header.slab_bytes != ring::kSlabBytes ||
      header.event_bytes != sizeof(RingEvent))
    return absl::DataLossError("it was written by another version of memprof");
  const std::size_t fit = (view->size_ - ring::kRingHeaderBytes) / ring::kSlabBytes;
  const std::uint32_t ready = header.slabs_ready.load(std::memory_order_acquire);
  view->slabs_ =
      static_cast<std::uint32_t>(std::min<std::size_t>(fit, std::min(ready, ring::kMaxSlabs)));
  return absl::OkStatus();
}

absl::StatusOr<RingView> RingView::Open(const std::string& path,
                                        std::optional<std::uint32_t> log_owner) {
  RingView view;
  view.fd_ = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (view.fd_ < 0) {
    const std::string what = absl::StrCat(path, ": ", std::strerror(errno));
    if (errno == ENOENT) return absl::NotFoundError(what);
    return errno == EACCES ? absl::PermissionDeniedError(what) : absl::DataLossError(what);
  }
  struct stat status;
  if (fstat(view.fd_, &status) != 0 || !S_ISREG(status.st_mode) ||
      status.st_size < static_cast<off_t>(ring::kRingHeaderBytes + ring::kSlabBytes))
    return absl::DataLossError(absl::StrCat(path, ": it is not a ring of memprof"));
  if (status.st_uid != geteuid() && status.st_uid != log_owner)
    return absl::PermissionDeniedError(absl::StrCat(path, ": it belongs to another user"));
  constexpr std::size_t kMostBytes =
      ring::kRingHeaderBytes + std::size_t{ring::kMaxSlabs} * ring::kSlabBytes;
  view.size_ = std::min(static_cast<std::size_t>(status.st_size), kMostBytes);
  void* memory = mmap(nullptr, view.size_, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return absl::DataLossError(absl::StrCat(path, ": no memory for it"));
  view.data_ = static_cast<char*>(memory);
  if (!view.Read(0, ring::kRingHeaderBytes))
    return absl::DataLossError(absl::StrCat(path, ": cannot be read"));
  if (const absl::Status identity = CheckIdentity(&view); !identity.ok())
    return absl::DataLossError(absl::StrCat(path, ": ", identity.message()));
  return view;
}

bool RingView::Read(std::size_t offset, std::size_t bytes) {
  for (std::size_t done = 0; done < bytes;) {
    const ssize_t got =
        pread(fd_, data_ + offset + done, bytes - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    done += static_cast<std::size_t>(got);
  }
  return true;
}

bool RingView::Load() {
  if (!Read(0, ring::kRingHeaderBytes) || !CheckIdentity(this).ok()) return false;
  for (std::uint32_t i = 0; i < slabs_; ++i) {
    const std::size_t at = ring::kRingHeaderBytes + std::size_t{i} * ring::kSlabBytes;
    if (!Read(at, sizeof(SlabHeader))) return false;
    const SlabState state = slab(i).state.load(std::memory_order_relaxed);
    if (state != SlabState::kOwned && state != SlabState::kSealed) continue;
    if (!Read(at + sizeof(SlabHeader), ring::kSlabBytes - sizeof(SlabHeader))) return false;
  }
  return true;
}

std::string ReadText(const std::string& path) {
  std::ifstream file(path);
  return std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
}

// Whether /proc/PID/maps lists `path`, shared and writable. (A reader may have it mapped too, but
// only to read.)
bool HasWritableMap(const std::string& maps, const std::string& path) {
  for (const absl::string_view line : absl::StrSplit(maps, '\n'))
    if (absl::EndsWith(line, path) && absl::StrContains(line, " rw-s ")) return true;
  return false;
}

// Whether the process still has the ring mapped. A pid alone says little: it may have been given to
// another process, or the program may have replaced itself by exec, which keeps it.
bool StillRecording(const RingHeader& header, const std::string& ring_path) {
  const std::string process = absl::StrCat("/proc/", header.pid);
  if (kill(static_cast<pid_t>(header.pid), 0) != 0 && errno == ESRCH) return false;
  const std::string maps = ReadText(process + "/maps");
  if (!maps.empty()) return HasWritableMap(maps, ring_path);
  // A zombie's maps are empty, and another user's cannot be read: what its state says must do.
  const std::string stat = ReadText(process + "/stat");
  const std::size_t command = stat.rfind(')');
  if (command == std::string::npos || command + 2 >= stat.size()) return false;
  if (stat[command + 2] == 'Z' || stat[command + 2] == 'X') return false;
  std::size_t field = command;
  for (int skip = 0; skip < 20 && field != std::string::npos; ++skip)
    field = stat.find(' ', field + 1);
  return field != std::string::npos &&
         std::strtoull(stat.c_str() + field, nullptr, 10) == header.pid_start_time;
}

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
  // Takes in what is sound of `part`. False if something was not.
  bool Read(const RingView& view, const Part& part) {
    const char* payload = view.payload(part.slab);
    std::uint32_t at = part.from;
    bool sound = true;
    while (at + sizeof(ring::DefinitionRecord) <= part.to) {
      ring::DefinitionRecord record;
      std::memcpy(&record, payload + at, sizeof record);
      if (record.bytes > part.to - at - sizeof record) return false;  // no telling what follows
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
      log::Definitions fields;  // apart, so that what is broken spoils nothing else
      if (!fields.ParseFromArray(body.data(), static_cast<int>(body.size()))) return false;
      definitions_.MergeFrom(fields);
      return true;
    }
    if (kind != ring::DefinitionKind::kNode || body.size() != sizeof node) return false;
    std::memcpy(&node, body.data(), sizeof node);
    return AddNode(node);
  }

  // False when the row of ids has a gap, which a sound ring never has.
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
  static constexpr const char* kNames[] = {
#define MEMPROF_ANOMALY_NAME(identifier, name, severity, advice) name,
      MEMPROF_ANOMALIES(MEMPROF_ANOMALY_NAME)
#undef MEMPROF_ANOMALY_NAME
  };
  log::Counters counters;
  for (std::size_t i = 0; i < std::size(kNames); ++i) {
    std::uint64_t value = header.anomalies[i].load(std::memory_order_relaxed);
    if (i == static_cast<std::size_t>(log::Anomaly::kDefinitionsLost)) value += broken_definitions;
    if (value == 0) continue;
    log::Counter* counter = counters.add_counter();
    counter->set_name(kNames[i]);
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
