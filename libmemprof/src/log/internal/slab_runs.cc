// Reads the states of slabs, while their owners change them.
#include "libmemprof/src/log/internal/slab_runs.h"

#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

namespace memprof::recorder {
namespace {

using ring::RingEvent;
using ring::SlabHeader;
using ring::SlabKind;
using ring::SlabState;

// Leaves events after `time_ns` to the next drain. The allocation of a free is then in the same
// batch or an earlier one, whichever threads made them: the allocation was published before the
// free got its time.
void CutAt(std::uint64_t time_ns, SlabRun* runs, std::size_t count) {
  bool cut = false;
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0 && runs[i].thread != runs[i - 1].thread) cut = false;
    if (cut) runs[i].to = runs[i].from;
    const RingEvent* events = SlabEvents(runs[i].slab);
    std::uint32_t at = runs[i].from;
    while (at < runs[i].to && events[at].time_ns <= time_ns) ++at;
    cut = cut || at < runs[i].to;
    runs[i].to = at;
  }
}

}  // namespace

SlabRuns::~SlabRuns() {
  if (runs_ != nullptr)
    UnmapMemory(runs_, ring_->header()->slab_count * sizeof(SlabRun), Need::kWriter);
}

// Collects all slabs of the kind with new content, for each thread in the order in which it filled
// them. A slab that was read half full, while its successor already existed, is read again: the
// successor's content is newer.
std::size_t SlabRuns::Collect() {
  const std::uint64_t cut_ns = kind_ == SlabKind::kEvents ? NowNs() : 0;
  if (runs_ == nullptr)
    runs_ = static_cast<SlabRun*>(
        MapMemory(ring_->header()->slab_count * sizeof(SlabRun), Need::kWriter));
  if (runs_ == nullptr) return 0;
  std::size_t count = 0;
  const std::uint32_t ready = ring_->slabs_ready();
  for (std::uint32_t i = 0; i < ready; ++i) {
    SlabHeader* slab = ring_->slab(i);
    const SlabState state = slab->state.load(std::memory_order_acquire);
    if (state == SlabState::kFree || slab->kind != kind_) continue;
    runs_[count++] = {slab, slab->sequence, slab->thread,
                      slab->taken.load(std::memory_order_relaxed),
                      slab->published.load(std::memory_order_acquire)};
  }
  std::sort(runs_, runs_ + count, [](const SlabRun& a, const SlabRun& b) {
    return a.thread != b.thread ? a.thread < b.thread : a.sequence < b.sequence;
  });
  for (std::size_t i = 0; i + 1 < count; ++i)
    if (runs_[i + 1].thread == runs_[i].thread)
      runs_[i].to = runs_[i].slab->published.load(std::memory_order_acquire);
  if (kind_ == SlabKind::kEvents) CutAt(cut_ns, runs_, count);
  return static_cast<std::size_t>(
      std::remove_if(runs_, runs_ + count, [](const SlabRun& run) { return run.to <= run.from; }) -
      runs_);
}

void ReleaseDrainedSlabs(RingBuffer* ring) {
  const std::uint32_t ready = ring->slabs_ready();
  for (std::uint32_t i = 0; i < ready; ++i) {
    SlabHeader* slab = ring->slab(i);
    if (slab->state.load(std::memory_order_acquire) != SlabState::kSealed) continue;
    if (slab->published.load(std::memory_order_acquire) ==
        slab->taken.load(std::memory_order_relaxed))
      ring->Release(slab);
  }
}

void SealSlabsOfDeadThreads(RingBuffer* ring) {
  const std::uint32_t ready = ring->slabs_ready();
  for (std::uint32_t i = 0; i < ready; ++i) {
    SlabHeader* slab = ring->slab(i);
    if (slab->state.load(std::memory_order_acquire) != SlabState::kOwned ||
        slab->kind != SlabKind::kEvents || slab->tid == 0)
      continue;
    if (syscall(SYS_tgkill, getpid(), slab->tid, 0) != 0 && errno == ESRCH) ring->Seal(slab);
  }
}

}  // namespace memprof::recorder
