// Merges the threads' runs by time.
#include "libmemprof/src/log/internal/live_account.h"

#include "libmemprof/src/log/vocabulary.h"

namespace memprof::recorder {
namespace {

using ring::RingEvent;

constexpr std::uint64_t kEventsPerHeartbeat = 4096;

// Whether memory of the kind `freed` was freed by the function of the kind `by`, which CUDA does
// not allow for it. The readers have the same rule (analysis/load/internal/spaces.h). cuMemFree
// frees three kinds. It and cuMemFreeAsync also free imported addresses. cuMemFreeAsync also frees
// what a pool in host memory has allocated.
bool IsForeignFree(std::uint8_t freed, std::uint8_t by) {
  const auto is_linear = [](std::uint8_t kind) {
    return kind == kLayerLinear || kind == kLayerPitched || kind == kLayerManaged;
  };
  if (freed == by || (is_linear(freed) && is_linear(by))) return false;
  if (freed == kLayerImported) return !is_linear(by) && by != kLayerStreamOrdered;
  return freed != kLayerPinned || by != kLayerStreamOrdered;
}

}  // namespace

// Applies the batch in the order of time over all threads: each thread is in order already, so this
// is a merge.
void LiveAccount::Apply(const SlabRuns& runs, std::size_t count, Thinner* next) {
  cursors_.Clear();
  if (count == 0 || !cursors_.Reserve(count)) return;
  for (std::size_t run = 0; run < count; ++run) {
    Cursor* last = cursors_.empty() ? nullptr : cursors_.end() - 1;
    if (last != nullptr && runs[last->run].thread == runs[run].thread)
      last->end_run = run + 1;
    else
      cursors_.Append({run, run + 1, runs[run].from});
  }
  for (std::uint64_t events = 1; !cursors_.empty(); ++events) {
    if (events % kEventsPerHeartbeat == 0) ring_->Heartbeat();
    RingEvent* earliest = nullptr;
    Cursor* which = nullptr;
    for (Cursor& cursor : cursors_) {
      RingEvent* event = SlabEvents(runs[cursor.run].slab) + cursor.event;
      if (earliest != nullptr && event->time_ns >= earliest->time_ns) continue;
      earliest = event;
      which = &cursor;
    }
    ApplyOne(earliest);
    if (next != nullptr) next->Add(*earliest, runs[which->run].thread);
    if (++which->event < runs[which->run].to) continue;
    if (++which->run < which->end_run)
      which->event = runs[which->run].from;
    else
      cursors_.EraseUnordered(which);
  }
  blocks_.store(table_.size(), std::memory_order_relaxed);
  LockGuard lock(totals_mutex_);
  totals_ = table_.totals();
}

void LiveAccount::ApplyOne(RingEvent* event) {
  const std::uint8_t layer = table_.Apply(*event);
  if (layer == event->layer) return;
  if (event->op == kOpFree && IsForeignFree(layer, event->layer))
    ring_->Count(log::Anomaly::kForeignFrees);
  event->layer = layer;
}

LiveTotals LiveAccount::totals() const {
  LockGuard lock(totals_mutex_);
  return totals_;
}

}  // namespace memprof::recorder
