// Carries out the three phases of the writer (proto/ring.h) for a writer that has died.
#include "analysis/log/ring_fold.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "analysis/log/decode.h"
#include "analysis/log/internal/append.h"
#include "analysis/log/internal/ring_view.h"
#include "analysis/log/reader.h"
#include "analysis/log/ring_recovery.h"
#include "proto/anomalies.h"
#include "proto/framing.h"
#include "proto/ring.h"

namespace memprof::analysis {
namespace {

using ring::RingHeader;
using ring::SlabHeader;

constexpr char kRingSuffix[] = ".mprof.ring";

// The content of the ring as the log's next chunks; empty if it is more than a log may have.
std::string Chunks(RecoveredRing ring) {
  std::string chunks;
  const std::string definitions = ring.definitions.SerializeAsString();
  if (definitions.size() > log::kMaxRawBytes) return "";
  if (!definitions.empty()) AppendChunk(log::ChunkKind::kDefinitions, definitions, 0, &chunks);
  std::uint64_t events = 0;
  for (const log::Events& message : ring.events) {
    AppendChunk(log::ChunkKind::kEvents, message.SerializeAsString(), message.count(), &chunks);
    events += message.count();
  }
  log::Counter* recovered = ring.counters.add_counter();
  recovered->set_name("ring_recovered");
  recovered->set_value(1);
  log::SelfAccounting* self = ring.counters.mutable_self();
  self->set_events_written(self->events_written() + events);
  self->set_bytes_written(ring.committed_log_bytes + chunks.size());
  AppendChunk(log::ChunkKind::kCounters, ring.counters.SerializeAsString(), 0, &chunks);
  return chunks;
}

// The ring, mapped for writing. RecoverRing has checked it before, but the counts are checked
// again.
class WritableRing {
 public:
  explicit WritableRing(const OwnFile& file) : bytes_(file.bytes()) {
    memory_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, file.fd(), 0);
  }
  ~WritableRing() {
    if (memory_ != MAP_FAILED) munmap(memory_, bytes_);
  }
  WritableRing(const WritableRing&) = delete;
  WritableRing& operator=(const WritableRing&) = delete;
  bool ok() const { return memory_ != MAP_FAILED; }
  RingHeader& header() { return *static_cast<RingHeader*>(memory_); }

  template <typename Visit>
  void ForEachSlab(Visit visit) {
    const std::size_t fit = (bytes_ - ring::kRingHeaderBytes) / ring::kSlabBytes;
    const std::size_t slabs =
        std::min<std::size_t>(fit, std::min(header().slabs_ready.load(), ring::kMaxSlabs));
    for (std::size_t i = 0; i < slabs; ++i)
      visit(*reinterpret_cast<SlabHeader*>(static_cast<char*>(memory_) + ring::kRingHeaderBytes +
                                           i * ring::kSlabBytes));
  }

  // Ends the commit during which the writer died: completes it if `done`, otherwise undoes it.
  void EndCommit(std::uint64_t committed, bool done) {
    if (done) ForEachSlab([](SlabHeader& slab) { slab.taken.store(slab.pending.load()); });
    header().committed.store(committed);
    header().commit_at.store(ring::kNotCommitted);
  }

  void BeginCommit(std::uint64_t log_bytes) {
    ForEachSlab([](SlabHeader& slab) { slab.pending.store(slab.published.load()); });
    header().commit_at.store(log_bytes);
  }

 private:
  void* memory_;
  std::size_t bytes_;
};

absl::Status Unwritable(const std::string& path) {
  return absl::UnavailableError(absl::StrCat(path, ": ", std::strerror(errno)));
}

struct LogState {
  HeaderRecord header;
  bool complete = false;
  std::uint64_t bytes = 0;
  std::uint32_t owner = 0;
};

absl::StatusOr<LogState> Look(const std::string& path) {
  absl::StatusOr<std::unique_ptr<LogReader>> reader =
      LogReader::Open(path, LogReader::Mode::kUseIndex);
  if (!reader.ok()) return reader.status();
  LogState state{.bytes = (*reader)->file_bytes(), .owner = (*reader)->owner()};
  PayloadBuffer buffer;
  for (const Chunk& chunk : (*reader)->chunks()) {
    if (chunk.kind() == log::ChunkKind::kTrailer) state.complete = true;
    if (chunk.kind() != log::ChunkKind::kHeader) continue;
    const absl::StatusOr<std::string_view> payload = (*reader)->ReadPayload(chunk, &buffer);
    if (payload.ok()) DecodeHeader(*payload, &state.header);
  }
  return state;
}

bool ProcessIsGone(std::uint32_t pid) {
  return static_cast<pid_t>(pid) > 0 && kill(static_cast<pid_t>(pid), 0) != 0 && errno == ESRCH;
}

// Whether a log that is no longer at its path may still need the ring. Stores in the ring when this
// was first checked.
bool MayBeWanted(const OwnFile& file, const std::string& path, const RingHeader& header,
                 std::int64_t now_unix_ns) {
  const absl::StatusOr<RecoveredRing> left =
      RecoverRing(path, header.pid, header.start_time_ns, header.committed.load());
  if (!left.ok() || (left->events.empty() && left->definitions.ByteSizeLong() == 0)) return false;
  const auto now = static_cast<std::uint64_t>(now_unix_ns);
  const std::uint64_t since = header.log_missing_since_ns;
  if (since != 0 && since <= now) return now - since <= std::uint64_t{kKeepForMovedLogNs};
  constexpr off_t kAt = offsetof(RingHeader, log_missing_since_ns);
  return pwrite(file.fd(), &now, sizeof now, kAt) == sizeof now;
}

// The header of a ring with the path of a log; null of any other file.
std::unique_ptr<RingHeader> HeaderOf(const OwnFile& file) {
  if (!file.ok() || file.bytes() < ring::kRingHeaderBytes) return nullptr;
  auto header = std::make_unique<RingHeader>();
  if (pread(file.fd(), static_cast<void*>(header.get()), sizeof *header, 0) !=
          static_cast<ssize_t>(sizeof *header) ||
      std::memcmp(header->magic, ring::kRingMagic, sizeof header->magic) != 0 ||
      header->version != ring::kRingVersion)
    return nullptr;
  header->log_path[sizeof header->log_path - 1] = '\0';
  return header->log_path[0] == '/' ? std::move(header) : nullptr;
}

// Whether a process holds the ring's lock that is not visible here, in another pid namespace.
// Otherwise `file` has the lock.
bool IsLocked(const OwnFile& file) { return flock(file.fd(), LOCK_EX | LOCK_NB) != 0; }

// Whether the ring at `path` is one of this user's that is no longer needed.
bool IsOrphaned(const std::string& path, std::int64_t now_unix_ns) {
  const OwnFile file(path, O_RDWR);
  const std::unique_ptr<RingHeader> header = HeaderOf(file);
  if (header == nullptr || !ProcessIsGone(header->pid) || IsLocked(file)) return false;
  const absl::StatusOr<LogState> log = Look(header->log_path);
  // A log that is unreadable for now, or damaged, is not missing.
  if (!log.ok())
    return absl::IsNotFound(log.status()) && !MayBeWanted(file, path, *header, now_unix_ns);
  return log->complete || log->header.run.pid != header->pid ||
         static_cast<std::uint64_t>(log->header.run.start_time) != header->start_time_ns;
}

// The log of the ring at `path`, if its process records no more and the log is one of `places` or
// below one. The process may be a zombie: in a container, the first process may not wait for those
// of others.
std::string DeadLogIn(const std::vector<std::string>& places, const std::string& path) {
  const OwnFile file(path, O_RDWR);
  const std::unique_ptr<RingHeader> header = HeaderOf(file);
  if (header == nullptr || StillRecording(*header, path) || IsLocked(file)) return "";
  std::error_code error;
  const std::string log = std::filesystem::canonical(header->log_path, error).string();
  for (const std::string& place : places)
    if (!error && (log == place || absl::StartsWith(log, place + "/"))) return log;
  return "";
}

// The paths of all rings in a directory.
std::vector<std::string> RingsIn(const std::string& directory) {
  std::vector<std::string> rings;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
    const std::string name = entry.path().filename().string();
    if (absl::StartsWith(name, "memprof-") && absl::EndsWith(name, kRingSuffix))
      rings.push_back(entry.path().string());
  }
  return rings;
}

}  // namespace

absl::StatusOr<FoldResult> FoldRing(const std::string& log_path) {
  const absl::StatusOr<LogState> state = Look(log_path);
  if (!state.ok()) return state.status();
  const HeaderRecord& header = state->header;
  if (state->complete || header.ring_path.empty()) return FoldResult::kNothingToDo;
  const OwnFile ring_file(header.ring_path, O_RDWR);
  if (!ring_file.ok()) return FoldResult::kNothingToDo;
  // One process at a time. Not by flock, because children that the dead process forked may still
  // hold that.
  struct flock lock {};
  lock.l_type = F_WRLCK;
  if (fcntl(ring_file.fd(), F_OFD_SETLK, &lock) != 0)
    return absl::FailedPreconditionError(absl::StrCat(header.ring_path, ": it is in use"));
  if (!ring_file.HasName()) return FoldResult::kNothingToDo;  // another process did it first
  const OwnFile log(log_path, O_WRONLY);
  if (!log.ok()) return Unwritable(log_path);
  absl::StatusOr<RecoveredRing> recovered =
      RecoverRing(header.ring_path, static_cast<std::uint32_t>(header.run.pid),
                  static_cast<std::uint64_t>(header.run.start_time), log.bytes());
  if (!recovered.ok()) return recovered.status();
  WritableRing ring(ring_file);
  if (!ring.ok()) return Unwritable(header.ring_path);
  const std::uint64_t begin = recovered->committed_log_bytes;
  const bool done = ring.header().commit_at.load() == begin;
  const std::string chunks = Chunks(*std::move(recovered));
  if (chunks.empty())
    return absl::UnavailableError(absl::StrCat(header.ring_path, ": too large for the log"));

  ring.EndCommit(begin, done);
  if (ftruncate(log.fd(), static_cast<off_t>(begin)) != 0) return Unwritable(log_path);
  ring.BeginCommit(begin + chunks.size());
  if (!WriteAll(log.fd(), chunks, begin)) {
    const absl::Status error = Unwritable(log_path);
    // The ring still holds all events, and the log has none of them.
    if (ftruncate(log.fd(), static_cast<off_t>(begin)) == 0)
      ring.header().commit_at.store(ring::kNotCommitted);
    return error;
  }
  ring.EndCommit(begin + chunks.size(), true);
  unlink(header.ring_path.c_str());
  return FoldResult::kFolded;
}

absl::StatusOr<RingEnd> ReadRingEnd(const std::string& log_path) {
  const absl::StatusOr<LogState> state = Look(log_path);
  if (!state.ok()) return state.status();
  const HeaderRecord& header = state->header;
  if (state->complete || header.ring_path.empty())
    return absl::NotFoundError(absl::StrCat(log_path, ": has no ring"));
  absl::StatusOr<RecoveredRing> ring =
      RecoverRing(header.ring_path, static_cast<std::uint32_t>(header.run.pid),
                  static_cast<std::uint64_t>(header.run.start_time), state->bytes, state->owner);
  if (!ring.ok()) return ring.status();
  RingEnd end{.begin = ring->committed_log_bytes, .chunks = {}};
  end.chunks = Chunks(*std::move(ring));
  if (end.chunks.empty())
    return absl::UnavailableError(absl::StrCat(header.ring_path, ": too large for the log"));
  return end;
}

int RemoveOrphanedRings(const std::string& directory, std::int64_t now_unix_ns) {
  int removed = 0;
  for (const std::string& ring : RingsIn(directory))
    if (IsOrphaned(ring, now_unix_ns)) removed += unlink(ring.c_str()) == 0 ? 1 : 0;
  return removed;
}

int FoldOrphanedRings(const std::string& directory, const std::vector<std::string>& places) {
  int folded = 0;
  for (const std::string& ring : RingsIn(directory)) {
    const std::string log = DeadLogIn(places, ring);
    if (log.empty()) continue;
    const absl::StatusOr<FoldResult> result = FoldRing(log);
    folded += result.ok() && *result == FoldResult::kFolded ? 1 : 0;
  }
  return folded;
}

}  // namespace memprof::analysis
