// Turns events from the ring into the columns of a log.Events message.
//
// Not thread-safe: belongs to the writer thread (or to a test).
#pragma once

#include <cstddef>
#include <cstdint>

#include "libmemprof/src/base/byte_buffer.h"
#include "libmemprof/src/log/proto_writer.h"
#include "proto/ring.h"

namespace memprof::recorder {

class EventEncoder {
 public:
  static constexpr std::size_t kMaxRuns = 512;

  // Adds `count` events of one thread in their order; they must not move until Encode. False when
  // there is no space for another run: encode first.
  // `weight`: log.Events.weight of each.
  bool Add(std::uint32_t thread, const ring::RingEvent* events, std::uint32_t count,
           std::uint32_t weight = 0);

  std::uint32_t events() const { return events_; }
  std::uint64_t first_time_ns() const { return first_time_ns_; }
  std::uint64_t last_time_ns() const { return last_time_ns_; }

  // Appends the message of all added events to `out`, and starts a new one.
  void Encode(ByteBuffer* out);

 private:
  struct Run {
    const ring::RingEvent* events;
    std::uint32_t count;
    std::uint32_t thread;
    std::uint32_t weight;
  };
  void FindUsedColumns();
  template <typename Value>
  void Column(ProtoWriter* message, std::uint32_t field, Value value);
  template <typename Value>
  void DeltaColumn(ProtoWriter* message, std::uint32_t field, std::uint64_t base, Value value);

  Run runs_[kMaxRuns];
  std::size_t run_count_ = 0;
  std::uint32_t events_ = 0;
  std::uint64_t first_time_ns_ = 0;
  std::uint64_t last_time_ns_ = 0;
  ring::RingEvent used_{};  // bitwise or of all events: the column of a zero field is left out
  bool has_weights_ = false;
  ByteBuffer column_{Need::kWriter};
};

// Zigzag: small magnitudes of either sign become small numbers.
constexpr std::uint64_t ZigZag(std::uint64_t delta) { return delta << 1 ^ (0 - (delta >> 63)); }

}  // namespace memprof::recorder
