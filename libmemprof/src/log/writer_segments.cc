// What the writer does for a recording that is always on.
#include "libmemprof/src/log/writer.h"

namespace memprof::recorder {

Thinner* Writer::BeginThinner() {
  if (!always_on_.wanted()) return nullptr;
  log_->SetLimit(always_on_.budget_bytes);
  thinner_.emplace(always_on_, /*seed=*/NowNs());
  return &*thinner_;
}

void Writer::ServeThinner(std::uint64_t now_ns, bool flush, bool finish) {
  thinner_->Tick(now_ns);
  if (finish) thinner_->Finish(now_ns);
  if (thinner_->SegmentIsOver(now_ns)) BeginSegment(now_ns);
  if (failed() || (!flush && !finish && !thinner_->IsDue(now_ns))) return;
  if (const int error = drain_.WriteKept(now_ns)) Fail(error);
}

void Writer::BeginSegment(std::uint64_t now_ns) {
  thinner_->EndSegment(now_ns);
  int error = drain_.WriteKept(now_ns);
  if (error == 0) {
    WriteCounters();
    error = drain_.EndLog();
  }
  if (error == 0) {
    // A reader of a killed process takes what the ring has, if the new log is not yet there.
    ring_->header()->commit_at.store(ring::kNotCommitted, std::memory_order_release);
    message_.Clear();
    if (housekeeping_.header != nullptr)
      housekeeping_.header(housekeeping_.owner, ++segment_, now_ns, &message_);
    error = log_->BeginNext(message_, always_on_.kept);
  }
  if (error != 0) return Fail(error);
  ring_->header()->start_time_ns = now_ns;  // by which a reader finds the ring of a log
  thinner_->BeginSegment(now_ns, log_->size() + log_->batch_bytes() + log_->end_bytes());
  drain_.BeginSegment();
  if ((error = drain_.WriteKept(now_ns)) != 0) Fail(error);
}

}  // namespace memprof::recorder
