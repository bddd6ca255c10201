// Opens and copies rings. Nothing in the file is trusted: sizes come from the file system.
#include "analysis/log/internal/ring_view.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace memprof::analysis {
namespace {

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

}  // namespace

using ring::RingEvent;
using ring::RingHeader;
using ring::SlabHeader;
using ring::SlabState;

absl::Status RingView::CheckIdentity() {
  const RingHeader& header = this->header();
  if (std::memcmp(header.magic, ring::kRingMagic, sizeof header.magic) != 0)
    return absl::DataLossError("it is not a ring of memprof");
  if (header.version != ring::kRingVersion || header.slab_bytes != ring::kSlabBytes ||
      header.event_bytes != sizeof(RingEvent))
    return absl::DataLossError("it was written by another version of memprof");
  const std::size_t fit = (size_ - ring::kRingHeaderBytes) / ring::kSlabBytes;
  const std::uint32_t ready = header.slabs_ready.load(std::memory_order_acquire);
  slabs_ = static_cast<std::uint32_t>(std::min<std::size_t>(fit, std::min(ready, ring::kMaxSlabs)));
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
  constexpr std::size_t kMaxBytes =
      ring::kRingHeaderBytes + std::size_t{ring::kMaxSlabs} * ring::kSlabBytes;
  view.size_ = std::min(static_cast<std::size_t>(status.st_size), kMaxBytes);
  void* memory = mmap(nullptr, view.size_, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return absl::DataLossError(absl::StrCat(path, ": no memory for it"));
  view.data_ = static_cast<char*>(memory);
  if (!view.Read(0, ring::kRingHeaderBytes))
    return absl::DataLossError(absl::StrCat(path, ": cannot be read"));
  if (const absl::Status identity = view.CheckIdentity(); !identity.ok())
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
  if (!Read(0, ring::kRingHeaderBytes) || !CheckIdentity().ok()) return false;
  for (std::uint32_t i = 0; i < slabs_; ++i) {
    const std::size_t at = ring::kRingHeaderBytes + std::size_t{i} * ring::kSlabBytes;
    if (!Read(at, sizeof(SlabHeader))) return false;
    const SlabState state = slab(i).state.load(std::memory_order_relaxed);
    if (state != SlabState::kOwned && state != SlabState::kSealed) continue;
    if (!Read(at + sizeof(SlabHeader), ring::kSlabBytes - sizeof(SlabHeader))) return false;
  }
  return true;
}

bool StillRecording(const RingHeader& header, const std::string& ring_path) {
  const std::string process = absl::StrCat("/proc/", header.pid);
  if (kill(static_cast<pid_t>(header.pid), 0) != 0 && errno == ESRCH) return false;
  const std::string maps = ReadText(process + "/maps");
  if (!maps.empty()) return HasWritableMap(maps, ring_path);
  // The maps of a zombie are empty, and those of another user cannot be read: its state must do.
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

}  // namespace memprof::analysis
