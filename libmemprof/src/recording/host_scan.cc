// Finds words of host memory that point to device memory.
#include "libmemprof/src/recording/host_scan.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>

#include "libmemprof/include/memprof/memprof.h"
#include "libmemprof/src/base/sys.h"
#include "libmemprof/src/driver/api.h"
#include "libmemprof/src/log/vocabulary.h"
#include "libmemprof/src/recording/record_event.h"

namespace memprof::recorder {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kPiece = std::size_t{1} << 20;  // read at once
// Nobody's data, but address space that a sanitizer or a runtime has set aside.
constexpr std::size_t kSetAside = std::size_t{1} << 40;
constexpr std::uint64_t kLongestScanNs = 60'000'000'000;
constexpr std::uint64_t kLongestFlushNs = 2'000'000'000;
constexpr std::size_t kSpareTargets = 4096;  // that may be born between counting and copying
// Sizes of the probes: the driver keeps small memory otherwise than large.
constexpr std::size_t kProbes[] = {4096,
                                   4096,
                                   std::size_t{1} << 20,
                                   std::size_t{1} << 20,
                                   std::size_t{4} << 20,
                                   std::size_t{4} << 20};

// Memory of the recorder's own, given back at the end.
template <typename T>
class OwnArray {
 public:
  explicit OwnArray(std::size_t size)
      : size_(size), items_(static_cast<T*>(MapMemory(size * sizeof(T)))) {}
  ~OwnArray() { UnmapMemory(items_, size_ * sizeof(T)); }
  OwnArray(const OwnArray&) = delete;
  OwnArray& operator=(const OwnArray&) = delete;
  T* get() const { return items_; }
  std::size_t size() const { return size_; }

 private:
  std::size_t size_;
  T* items_;
};

// The lines of /proc/self/maps, one by one; nothing is allocated.
class MapsReader {
 public:
  struct Line {
    std::uintptr_t begin, end;
    bool wanted;  // readable and writable
    const char* path;
  };

  MapsReader() : fd_(open("/proc/self/maps", O_RDONLY | O_CLOEXEC)) {}
  ~MapsReader() {
    if (fd_ >= 0) close(fd_);
  }
  MapsReader(const MapsReader&) = delete;
  MapsReader& operator=(const MapsReader&) = delete;
  bool ok() const { return fd_ >= 0; }

  bool Next(Line* line) {
    char* end = static_cast<char*>(memchr(text_ + at_, '\n', filled_ - at_));
    if (end == nullptr) {
      memmove(text_, text_ + at_, filled_ - at_);
      filled_ -= at_;
      at_ = 0;
      while (end == nullptr && filled_ < sizeof text_) {
        const ssize_t got = read(fd_, text_ + filled_, sizeof text_ - filled_);
        if (got <= 0) return false;
        end = static_cast<char*>(memchr(text_ + filled_, '\n', static_cast<std::size_t>(got)));
        filled_ += static_cast<std::size_t>(got);
      }
      if (end == nullptr) return false;
    }
    *end = '\0';
    char* at = text_ + at_;
    at_ = static_cast<std::size_t>(end - text_) + 1;
    line->begin = strtoul(at, &at, 16);
    if (*at == '-') ++at;
    line->end = strtoul(at, &at, 16);
    line->wanted = at[0] == ' ' && at[1] == 'r' && at[2] == 'w';
    const char* path = strchr(at, '/');
    line->path = path == nullptr ? "" : path;
    return true;
  }

 private:
  const int fd_;
  std::size_t at_ = 0, filled_ = 0;
  char text_[8192];
};

// Which of the pages have anything in them: reading the others would only make page tables.
class PageFilter {
 public:
  PageFilter() : fd_(open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC)) {}
  ~PageFilter() {
    if (fd_ >= 0) close(fd_);
  }
  PageFilter(const PageFilter&) = delete;
  PageFilter& operator=(const PageFilter&) = delete;

  // The first address >= `from` whose page has something in it; `end` if none has.
  std::uintptr_t NextUsed(std::uintptr_t from, std::uintptr_t end) {
    constexpr std::uint64_t kInMemoryOrSwapped = std::uint64_t{3} << 62;
    if (fd_ < 0) return from;
    for (std::uintptr_t at = from / kPage * kPage; at < end; at += kPage) {
      const std::size_t page = at / kPage;
      if (page < first_ || page >= first_ + count_) {
        const ssize_t got = pread(fd_, entries_, sizeof entries_, static_cast<off_t>(page * 8));
        if (got < 8) return std::max(at, from);
        first_ = page;
        count_ = static_cast<std::size_t>(got) / 8;
      }
      if ((entries_[page - first_] & kInMemoryOrSwapped) != 0) return std::max(at, from);
    }
    return end;
  }

 private:
  const int fd_;
  std::size_t first_ = 0, count_ = 0;
  std::uint64_t entries_[512];
};

// Reads this process's memory so that a page which is not there is an error and no signal: by
// process_vm_readv or, where that is forbidden, by /proc/self/mem.
class MemoryReader {
 public:
  MemoryReader() = default;
  ~MemoryReader() {
    if (fd_ >= 0) close(fd_);
  }
  MemoryReader(const MemoryReader&) = delete;
  MemoryReader& operator=(const MemoryReader&) = delete;

  // As read(2).
  ssize_t Read(std::uintptr_t from, void* to, std::size_t bytes) {
    if (fd_ < 0) {
      const iovec local{to, bytes}, remote{reinterpret_cast<void*>(from), bytes};
      const ssize_t got = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);
      if (got >= 0 || (errno != EPERM && errno != ENOSYS && errno != EACCES)) return got;
      fd_ = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
      if (fd_ < 0) return -1;
    }
    return pread(fd_, to, bytes, static_cast<off_t>(from));
  }

 private:
  int fd_ = -1;
};

class Scanner {
 public:
  Scanner(ScanTarget* targets, std::size_t count, std::uint64_t deadline_ns, std::uint64_t* buffer)
      : targets_(targets), count_(count), deadline_ns_(deadline_ns), buffer_(buffer) {}

  ScanResult Run(const OwnRange* own, std::size_t own_count) {
    MapsReader maps;
    if (!maps.ok() || count_ == 0) return {0, maps.ok()};
    const auto frame = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    MapsReader::Line line;
    std::uintptr_t own_library_end = 0;
    while (maps.Next(&line)) {
      // The library's data, and what follows it without a name: its data that begins as zeroes.
      const bool ours = strstr(line.path, "/libmemprof") != nullptr ||
                        (line.begin == own_library_end && line.path[0] == '\0');
      if (ours) own_library_end = line.end;
      if (!line.wanted || ours || IsRing(line.path) || line.end - line.begin >= kSetAside) continue;
      if (line.begin <= frame && frame < line.end) line.begin = frame & ~std::uintptr_t{7};
      std::uintptr_t cursor = line.begin;
      for (std::size_t i = 0; i < own_count; ++i) {
        if (own[i].end <= cursor || own[i].begin >= line.end) continue;
        if (!ScanRange(cursor, own[i].begin)) return {bytes_, false};
        cursor = own[i].end;
      }
      if (!ScanRange(cursor, line.end)) return {bytes_, false};
    }
    return {bytes_, true};
  }

 private:
  static bool IsRing(const char* path) {
    if (TheRecorder() == nullptr) return false;
    const char* ring = TheRecorder()->ring()->path();
    return ring != nullptr && ring[0] != '\0' && strncmp(path, ring, strlen(ring)) == 0;
  }

  bool ScanRange(std::uintptr_t from, std::uintptr_t end) {
    while (from < end) {
      from = pages_.NextUsed(from, end);
      if (from >= end) break;
      if (NowNs() > deadline_ns_) return false;
      const std::size_t piece = std::min<std::size_t>(end - from, kPiece);
      const ssize_t got = memory_.Read(from, buffer_, piece);
      if (got < 0 && errno != EFAULT && errno != ENOMEM && errno != EIO) return false;
      if (got <= 0) {
        from = (from / kPage + 1) * kPage;
        continue;
      }
      CountIn(static_cast<std::size_t>(got) / sizeof(std::uint64_t));
      bytes_ += static_cast<std::uint64_t>(got);
      from += static_cast<std::size_t>(got);
    }
    return true;
  }

  void CountIn(std::size_t words) {
    const std::uint64_t low = targets_[0].address;
    const std::uint64_t span = targets_[count_ - 1].address + targets_[count_ - 1].bytes - low;
    for (std::size_t i = 0; i < words; ++i) {
      if (buffer_[i] - low >= span) continue;
      ScanTarget* after = std::upper_bound(
          targets_, targets_ + count_, buffer_[i],
          [](std::uint64_t word, const ScanTarget& target) { return word < target.address; });
      ScanTarget& target = *(after - 1);
      if (buffer_[i] - target.address < target.bytes) ++target.references;
    }
  }

  ScanTarget* targets_;
  const std::size_t count_;
  const std::uint64_t deadline_ns_;
  std::uint64_t* buffer_;
  std::uint64_t bytes_ = 0;
  MemoryReader memory_;
  PageFilter pages_;
};

// A current context while it lives: the caller's own, or one that the program has. While a thread
// exits it may have lost its own already.
class SomeContext {
 public:
  SomeContext() {
    const CalledFunctions& driver = Driver();
    CUcontext context = nullptr;
    if (driver.cuCtxGetCurrent == nullptr || driver.cuCtxPushCurrent_v2 == nullptr ||
        driver.cuCtxPopCurrent_v2 == nullptr || TheRecorder()->driver()->calls_held() ||
        driver.cuCtxGetCurrent(&context) != CUDA_SUCCESS)
      return;
    if (context == nullptr) {
      context = TheRecorder()->driver()->AnyContext();
      pushed_ = context != nullptr && driver.cuCtxPushCurrent_v2(context) == CUDA_SUCCESS;
      if (!pushed_) return;
    }
    there_ = true;
    if (driver.cuThreadExchangeStreamCaptureMode != nullptr)
      exchanged_ = driver.cuThreadExchangeStreamCaptureMode(&mode_) == CUDA_SUCCESS;
  }
  ~SomeContext() {
    CUcontext context = nullptr;
    if (exchanged_) Driver().cuThreadExchangeStreamCaptureMode(&mode_);
    if (pushed_) Driver().cuCtxPopCurrent_v2(&context);
  }
  SomeContext(const SomeContext&) = delete;
  SomeContext& operator=(const SomeContext&) = delete;
  bool there() const { return there_; }

 private:
  // A stream that is being captured must not mind our calls.
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
  bool there_ = false, pushed_ = false, exchanged_ = false;
};

// Allocates device memory to which the program has no pointer: the addresses are in `targets`
// alone, which is memory of the recorder. How many there are; all, or the scan has no verdict.
std::size_t MakeProbes(ScanTarget* targets) {
  static_assert(sizeof(CUdeviceptr) == sizeof(targets->address));
  const CalledFunctions& driver = Driver();
  std::size_t made = 0;
  if (driver.cuMemAlloc_v2 == nullptr || driver.cuMemFree_v2 == nullptr) return made;
  for (; made < std::size(kProbes); ++made) {
    auto* address = reinterpret_cast<CUdeviceptr*>(&targets[made].address);
    if (driver.cuMemAlloc_v2(address, kProbes[made]) != CUDA_SUCCESS) break;
    targets[made].bytes = kProbes[made];
    targets[made].is_probe = 1;
  }
  return made;
}

void FreeProbes(const ScanTarget* targets, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i)
    if (targets[i].is_probe != 0) Driver().cuMemFree_v2(targets[i].address);
}

void Publish(ThreadSlot* slot, std::uint8_t op, const ScanTarget& target, std::uint64_t aux0,
             std::uint64_t aux1) {
  ring::RingEvent event{};
  event.op = op;
  event.layer = target.layer;
  event.device_plus_1 = target.device_plus_1;
  event.address = target.address;
  event.bytes = target.bytes;
  event.aux0 = aux0;
  event.aux1 = aux1;
  RecordEvent(slot, &event, false);
}

// Of a table that the writer follows only roughly (a full one loses blocks), two entries may
// overlap; the later one is then left out, but for probes.
std::size_t SortApart(ScanTarget* targets, std::size_t count) {
  std::sort(targets, targets + count, [](const ScanTarget& a, const ScanTarget& b) {
    return a.address != b.address ? a.address < b.address : a.is_probe > b.is_probe;
  });
  std::size_t kept = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (kept > 0 && targets[i].address - targets[kept - 1].address < targets[kept - 1].bytes) {
      // A probe is certainly there, and has to be given back.
      if (targets[i].is_probe != 0 && targets[kept - 1].is_probe == 0)
        targets[kept - 1] = targets[i];
      continue;
    }
    targets[kept++] = targets[i];
  }
  return kept;
}

struct Room {
  ScanTarget* targets;
  std::size_t room;
  std::size_t count;
};
// On the writer's thread.
void AddTarget(void* to, const LiveBlock& block) {
  auto* room = static_cast<Room*>(to);
  if (room->count == room->room) return;
  room->targets[room->count++] = {block.address,       block.bytes, 0,
                                  block.device_plus_1, block.layer, 0};
}

int ScanAndTell(Recorder* recorder, ThreadSlot* slot) {
  if (!recorder->writer()->Flush(kLongestFlushNs)) return MEMPROF_UNAVAILABLE;
  const OwnArray<ScanTarget> targets(recorder->writer()->live_blocks() + kSpareTargets +
                                     std::size(kProbes));
  if (targets.get() == nullptr) return MEMPROF_UNAVAILABLE;
  const SomeContext context;
  const std::size_t probes = context.there() ? MakeProbes(targets.get()) : 0;
  Room live{targets.get() + probes, targets.size() - probes, 0};
  Writer::LiveCopy copy{AddTarget, &live};
  const bool copied = recorder->writer()->CopyLive(&copy, kLongestFlushNs);
  const std::size_t count = SortApart(targets.get(), probes + (copied ? live.count : 0));
  ScanResult result{};
  if (copied && probes == std::size(kProbes))
    result = CountReferences(targets.get(), count, NowNs() + kLongestScanNs);
  FreeProbes(targets.get(), count);
  std::uint32_t own = ~std::uint32_t{0};  // references that the driver has itself
  for (std::size_t i = 0; i < count; ++i)
    if (targets.get()[i].is_probe != 0) own = std::min(own, targets.get()[i].references);
  const ScanTarget whole{0, result.bytes, 0, 0, kLayerNone, 0};
  if (!result.complete) {
    Publish(slot, kOpHostScan, whole, live.count, 0);
    return MEMPROF_UNAVAILABLE;
  }
  for (std::size_t i = 0; i < count; ++i) {
    const ScanTarget& target = targets.get()[i];
    if (target.is_probe == 0 && target.references <= own)
      Publish(slot, kOpUnreachable, target, target.references, 0);
  }
  Publish(slot, kOpHostScan, whole, live.count, std::uint64_t{own} + 1);
  return MEMPROF_OK;
}

void AtExit() {
  if (Recording()) ScanHost();
}

}  // namespace

ScanResult CountReferences(ScanTarget* targets, std::size_t count, std::uint64_t deadline_ns) {
  const OwnArray<std::uint64_t> buffer(kPiece / sizeof(std::uint64_t));
  const OwnArray<OwnRange> own(kMostOwnRanges);
  const OwnArray<Scanner> room(1);  // too large for a small stack
  if (buffer.get() == nullptr || own.get() == nullptr || room.get() == nullptr) return {0, false};
  std::size_t ranges = 0;
  if (!CopyOwnRanges(own.get(), &ranges)) return {0, false};
  auto* scanner = new (room.get()) Scanner(targets, count, deadline_ns, buffer.get());
  const ScanResult result = scanner->Run(own.get(), ranges);
  scanner->~Scanner();
  return result;
}

int ScanHost() {
  if (!Recording()) return MEMPROF_NOT_RECORDING;
  SystemSection section;
  RecursionGuard guard;
  if (!guard.outermost()) return MEMPROF_NOT_RECORDING;
  return ScanAndTell(TheRecorder(), guard.slot());
}

void ScanAtExit() {
  static std::atomic<bool> arranged{false};
  if (!arranged.exchange(true)) atexit(AtExit);
}

}  // namespace memprof::recorder
