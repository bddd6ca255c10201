// A batch: encodes the new content of the ring, writes it, and removes it from the ring.
#include "libmemprof/src/log/internal/drain.h"

#include <algorithm>

namespace memprof::recorder {
namespace {

using ring::RingEvent;
using ring::SlabHeader;

// Events of one commit: bounds the memory of the batch and the loss at a disk error.
constexpr std::uint64_t kEventsPerCommit = 16 * 1024;
constexpr std::size_t kDefinitionSlabsPerCommit = 32;  // 2 MiB before packing
constexpr char kCleanEnd[] = "exit";                   // log.Trailer.reason

}  // namespace

Drain::Result Drain::Once() {
  const std::size_t event_runs = runs_.Collect();
  const std::size_t definition_runs = definition_runs_.Collect();
  if (event_runs + definition_runs == 0) {
    ReleaseDrainedSlabs(ring_);
    return {};
  }
  ring::RingHeader* header = ring_->header();
  std::size_t defined = 0;
  // Many definitions are committed in pieces, which bounds the batch.
  for (; definition_runs - defined > kDefinitionSlabsPerCommit;
       defined += kDefinitionSlabsPerCommit) {
    header->commit_at.store(ring::kNotCommitted, std::memory_order_release);
    EncodeDefinitions(defined, defined + kDefinitionSlabsPerCommit);
    if (const int error = Commit(0)) return {true, error};
    ReleaseDrainedSlabs(ring_);
  }
  header->commit_at.store(ring::kNotCommitted, std::memory_order_release);
  EncodeDefinitions(defined, definition_runs);
  live_.Apply(runs_, event_runs, thinner_);
  if (thinner_ != nullptr) return TakeThinned(event_runs);
  std::size_t done = 0;
  do {
    header->commit_at.store(ring::kNotCommitted, std::memory_order_release);
    const std::size_t first = done;
    done = EncodeEvents(first, event_runs);
    std::uint64_t events = 0;
    for (std::size_t i = first; i < done; ++i) {
      runs_[i].slab->pending.store(runs_[i].to, std::memory_order_release);
      events += runs_[i].to - runs_[i].from;
    }
    if (const int error = Commit(events)) return {true, error};
    ReleaseDrainedSlabs(ring_);  // here too, because threads may be waiting for a slab
  } while (done < event_runs);
  return {true, 0};
}

// The events leave the ring, for the thinner's memory.
Drain::Result Drain::TakeThinned(std::size_t runs) {
  for (std::size_t i = 0; i < runs; ++i)
    runs_[i].slab->pending.store(runs_[i].to, std::memory_order_release);
  const int error = thinner_->IsUrgent() || thinner_->kept()->size() >= log::kEventsPerChunk
                        ? WriteKept(NowNs())
                        : Commit(0);
  if (error == 0) ReleaseDrainedSlabs(ring_);
  return {true, error};
}

int Drain::WriteKept(std::uint64_t now_ns) {
  thinner_->BeforeWriting();
  const std::uint64_t before = log_->size() + log_->batch_bytes();
  std::uint64_t events = 0, first_ns = now_ns;
  for (const KeptEvent& kept : *thinner_->kept()) {
    first_ns = std::min(first_ns, kept.event.time_ns);
    if (encoder_.events() >= EventEncoder::kMaxRuns) FlushEncoder();
    encoder_.Add(kept.thread, &kept.event, 1, kept.weight);
    ++events;
  }
  FlushEncoder();
  const std::uint64_t refused = log_->TakeRefused();
  thinner_->NoteRefused(first_ns, refused);
  events -= refused;
  const std::uint64_t bytes = log_->size() + log_->batch_bytes() - before;
  const int error = Commit(events);
  if (error != 0) kept_lost_ += events;
  thinner_->kept()->Clear();
  thinner_->NoteWritten(now_ns, log_->size() + log_->end_bytes(), events, bytes);
  return error;
}

std::size_t Drain::EncodeEvents(std::size_t first_run, std::size_t runs) {
  std::uint64_t events = 0;
  std::size_t run = first_run;
  for (; run < runs && events < kEventsPerCommit; ++run) {
    const RingEvent* at = SlabEvents(runs_[run].slab) + runs_[run].from;
    std::uint32_t left = runs_[run].to - runs_[run].from;
    events += left;
    ring_->Heartbeat();
    while (left > 0) {
      const std::uint32_t part = std::min(left, log::kEventsPerChunk - encoder_.events());
      if (part == 0 || !encoder_.Add(runs_[run].thread, at, part)) {
        FlushEncoder();
        continue;
      }
      at += part;
      left -= part;
    }
  }
  FlushEncoder();
  return run;
}

void Drain::FlushEncoder() {
  const std::uint32_t events = encoder_.events();
  if (events == 0) return;
  message_.Clear();
  encoder_.Encode(&message_);
  log_->AddChunk(log::ChunkKind::kEvents, message_, events, encoder_.first_time_ns(),
                 encoder_.last_time_ns());
}

void Drain::EncodeDefinitions(std::size_t first_run, std::size_t runs) {
  for (std::size_t i = first_run; i < runs; ++i) {
    const SlabRun& run = definition_runs_[i];
    if (thinner_ != nullptr && !thinner_->HasRoom(log_->size() + log_->batch_bytes()))
      ring_->Count(log::Anomaly::kDefinitionsLost);
    else
      definition_encoder_.Add(SlabBytesBegin(run.slab) + run.from, run.to - run.from);
    run.slab->pending.store(run.to, std::memory_order_release);
  }
  definition_encoder_.Finish();
  ring_->Count(log::Anomaly::kDefinitionsLost, log_->TakeRefused());
}

int Drain::Commit(std::uint64_t events) {
  ring::RingHeader* header = ring_->header();
  header->pending_events.store(events, std::memory_order_release);
  header->commit_at.store(log_->size() + log_->batch_bytes(), std::memory_order_release);
  // A log that was ended once is ended again: the process may be gone before the next request.
  const int error =
      log_->finished()
          ? log_->Finish(NowNs(), header->events_written.load(std::memory_order_relaxed) + events,
                         kCleanEnd)
          : log_->WriteBatch();
  if (error != 0) return error;
  const std::uint32_t ready = ring_->slabs_ready();
  for (std::uint32_t i = 0; i < ready; ++i) {
    SlabHeader* slab = ring_->slab(i);
    const std::uint32_t pending = slab->pending.load(std::memory_order_relaxed);
    if (slab->taken.load(std::memory_order_relaxed) != pending)
      slab->taken.store(pending, std::memory_order_release);
  }
  header->committed.store(log_->size(), std::memory_order_release);
  header->events_written.fetch_add(events, std::memory_order_release);
  header->pending_events.store(0, std::memory_order_release);
  log_bytes_.store(log_->size(), std::memory_order_relaxed);
  return 0;
}

std::uint64_t Drain::CountUnwritten() {
  std::uint64_t events = kept_lost_;
  if (thinner_ != nullptr) events += thinner_->kept()->size();
  for (std::size_t run = runs_.Collect(); run-- > 0;) events += runs_[run].to - runs_[run].from;
  return events;
}

int Drain::EndLog() {
  const int error = log_->Finish(
      NowNs(), ring_->header()->events_written.load(std::memory_order_relaxed), kCleanEnd);
  if (error == 0) log_bytes_.store(log_->size(), std::memory_order_relaxed);
  return error;
}

}  // namespace memprof::recorder
