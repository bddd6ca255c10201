// Writes one device of a PyTorch snapshot as events of a log.
#pragma once

#include <cstdint>
#include <iterator>
#include <map>
#include <set>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "analysis/interchange/import.h"
#include "analysis/interchange/internal/torch_names.h"
#include "analysis/interchange/internal/torch_snapshot.h"
#include "analysis/interchange/internal/torch_state.h"
#include "analysis/store/lifetime_walk.h"

namespace memprof::analysis::torch {

// Writes the events of one device.
class DeviceWriter {
 public:
  DeviceWriter(int ordinal, const Device& device, const Settings& settings, Names* names,
               LogWriter* log)
      : ordinal_(ordinal),
        device_(device),
        names_(*names),
        log_(*log),
        state_(Reconstruct(device, settings)),
        thread_(log->Thread(0, absl::StrCat("PyTorch, device ", ordinal))) {
    for (const Segment& segment : device.segments) pools_[segment.address] = segment.pool;
    const auto cut = [this](std::uint64_t address, std::uint64_t bytes) {
      cuts_.insert(address);
      cuts_.insert(EndAddress(address, bytes));
    };
    for (const Entry& entry : device.trace)
      if (entry.action == Action::kSegmentUnmap) cut(entry.address, entry.bytes);
    for (const Segment& segment : state_.gone_segments)
      if (segment.expandable) cut(segment.address, segment.bytes);
  }

  const Reconstruction& state() const { return state_; }

  // What existed before the trace.
  void Begin(std::uint64_t time_ns) {
    for (const Segment& segment : state_.segments) AddSegment(segment, time_ns);
    for (const Block& block : state_.blocks) AddBlock(block, time_ns);
  }
  void MarkBegin(std::uint64_t time_ns) {
    LogWriter::Event event = Make(Op::kSnapshot, Layer::kUnspecified, time_ns, 0, 0);
    event.device = kNoDevice;
    event.label = log_.String(kTraceBegins);
    log_.Add(event);
  }
  void Take(std::size_t i, std::uint64_t time_ns);
  // For differences between the end of the trace and the state in the snapshot.
  void End(std::uint64_t time_ns) {
    for (const Block& block : state_.gone_blocks)
      log_.Add(Make(Op::kFree, Layer::kBlock, time_ns, block.address, 0));
    for (const Segment& segment : state_.gone_segments) RemoveSegment(segment, 0, time_ns);
    for (const Segment& segment : state_.late_segments) AddSegment(segment, time_ns);
    for (const Block& block : state_.late_blocks) AddBlock(block, time_ns);
  }

 private:
  LogWriter::Event Make(Op op, Layer layer, std::uint64_t time_ns, std::uint64_t address,
                        std::uint64_t bytes) const {
    LogWriter::Event event;
    event.op = op;
    event.layer = layer;
    event.device = ordinal_;
    event.time = time_ns;
    event.address = address;
    event.bytes = bytes;
    event.thread = thread_;
    return event;
  }
  void AddSegment(const Segment& segment, std::uint64_t time_ns) {
    segment.expandable ? AddMapped(segment, names_.Stack(segment.frames), time_ns)
                       : AddLinear(segment, names_.Stack(segment.frames), time_ns);
  }
  void AddLinear(const Segment& segment, std::uint32_t stack, std::uint64_t time_ns);
  void AddMapped(const Segment& segment, std::uint32_t stack, std::uint64_t time_ns);
  void AddPiece(const Segment& piece, std::uint32_t stack, std::uint64_t time_ns);
  void RemoveSegment(const Segment& segment, std::uint32_t stack, std::uint64_t time_ns);
  void AddBlock(const Block& block, std::uint64_t time_ns) {
    LogWriter::Event event = Make(Op::kAlloc, Layer::kBlock, time_ns, block.address, block.bytes);
    event.aux0 = block.requested;
    event.stack = names_.Stack(block.frames);
    const auto segment = streams_.upper_bound(block.address);
    if (segment != streams_.begin()) event.stream = std::prev(segment)->second;
    log_.Add(event);
    if (block.pending_free)
      log_.Add(Make(Op::kFreeRequested, Layer::kBlock, time_ns, block.address, block.requested));
  }
  bool FreedAtOnce(std::size_t i) const;
  void TakeOom(const Entry& entry, LogWriter::Event event);

  int ordinal_;
  const Device& device_;
  Names& names_;
  LogWriter& log_;
  Reconstruction state_;
  std::uint32_t thread_;
  std::size_t ooms_ = 0;
  std::set<std::uint64_t> cuts_;                    // where mapped memory will be taken apart
  std::map<std::uint64_t, std::uint64_t> pieces_;   // mapped: address → bytes
  std::map<std::uint64_t, std::uint64_t> streams_;  // of segments, by address
  absl::flat_hash_map<std::uint64_t, std::uint64_t> pools_;
};

}  // namespace memprof::analysis::torch
