// Columns of varints; of values that change little, the differences.
#include "libmemprof/src/log/encoder.h"

namespace memprof::recorder {
namespace {

using ring::RingEvent;

}  // namespace

bool EventEncoder::Add(std::uint32_t thread, const RingEvent* events, std::uint32_t count,
                       std::uint32_t weight) {
  if (count == 0) return true;
  if (run_count_ == kMaxRuns) return false;
  runs_[run_count_++] = {events, count, thread, weight};
  has_weights_ |= weight != 0;
  events_ += count;
  return true;
}

void EventEncoder::FindUsedColumns() {
  used_ = {};
  first_time_ns_ = ~std::uint64_t{0};
  last_time_ns_ = 0;
  for (std::size_t r = 0; r < run_count_; ++r) {
    for (std::uint32_t i = 0; i < runs_[r].count; ++i) {
      const RingEvent& event = runs_[r].events[i];
      used_.address |= event.address;
      used_.bytes |= event.bytes;
      used_.aux0 |= event.aux0;
      used_.aux1 |= event.aux1;
      used_.stream |= event.stream;
      used_.stack |= event.stack;
      used_.label |= event.label;
      used_.api |= event.api;
      used_.context |= event.context;
      used_.result |= event.result;
      used_.device_plus_1 |= event.device_plus_1;
      used_.layer |= event.layer;
      if (event.time_ns < first_time_ns_) first_time_ns_ = event.time_ns;
      if (event.time_ns > last_time_ns_) last_time_ns_ = event.time_ns;
    }
  }
}

// A packed field is a length-delimited field of varints: encoded separately, then added as bytes.
template <typename Value>
void EventEncoder::Column(ProtoWriter* message, std::uint32_t field, Value value) {
  column_.Clear();
  if (!column_.Reserve(events_ * ByteBuffer::kMaxVarintBytes)) return;
  for (std::size_t r = 0; r < run_count_; ++r)
    for (std::uint32_t i = 0; i < runs_[r].count; ++i)
      column_.PutVarint(value(runs_[r], runs_[r].events[i]));
  message->AddBytes(field, column_.data(), column_.size());
}

template <typename Value>
void EventEncoder::DeltaColumn(ProtoWriter* message, std::uint32_t field, std::uint64_t base,
                               Value value) {
  Column(message, field, [&base, value](const Run&, const RingEvent& event) {
    const std::uint64_t now = value(event);
    const std::uint64_t delta = now - base;
    base = now;
    return ZigZag(delta);
  });
}

void EventEncoder::Encode(ByteBuffer* out) {
  FindUsedColumns();
  ProtoWriter message(*out);
  message.AddVarint(1, first_time_ns_);
  message.AddVarint(2, events_);
  Column(&message, 3, [](const Run&, const RingEvent& e) { return e.op; });
  if (used_.layer != 0) Column(&message, 4, [](const Run&, const RingEvent& e) { return e.layer; });
  DeltaColumn(&message, 5, first_time_ns_, [](const RingEvent& e) { return e.time_ns; });
  Column(&message, 6, [](const Run& run, const RingEvent&) { return run.thread; });
  if (used_.device_plus_1 != 0)
    Column(&message, 7, [](const Run&, const RingEvent& e) { return e.device_plus_1; });
  if (used_.address != 0) DeltaColumn(&message, 8, 0, [](const RingEvent& e) { return e.address; });
  if (used_.bytes != 0) Column(&message, 9, [](const Run&, const RingEvent& e) { return e.bytes; });
  if (used_.stack != 0)
    Column(&message, 10, [](const Run&, const RingEvent& e) { return e.stack; });
  if (used_.context != 0)
    Column(&message, 11, [](const Run&, const RingEvent& e) { return e.context; });
  if (used_.stream != 0)
    Column(&message, 12, [](const Run&, const RingEvent& e) { return e.stream; });
  if (used_.label != 0)
    Column(&message, 13, [](const Run&, const RingEvent& e) { return e.label; });
  if (used_.api != 0) Column(&message, 14, [](const Run&, const RingEvent& e) { return e.api; });
  if (used_.result != 0)
    Column(&message, 15, [](const Run&, const RingEvent& e) { return e.result; });
  if (used_.aux0 != 0) DeltaColumn(&message, 16, 0, [](const RingEvent& e) { return e.aux0; });
  if (used_.aux1 != 0) DeltaColumn(&message, 17, 0, [](const RingEvent& e) { return e.aux1; });
  if (has_weights_)
    Column(&message, 18, [](const Run& run, const RingEvent&) { return run.weight; });
  run_count_ = 0;
  events_ = 0;
  has_weights_ = false;
}

}  // namespace memprof::recorder
