// Simulates PyTorch's reports of blocks and segments, with driver calls on a fake driver.
#pragma once

#include "libmemprof/src/torch/layer.h"
#include "tests/libmemprof/events/recorded_driver.h"

namespace memprof::recorder {

inline constexpr std::uint64_t kMiB = 1 << 20;

// A short form of an event.
struct ShortEvent {
  log::Op op;
  log::Layer layer;
  std::uint64_t address, bytes;
  bool operator==(const ShortEvent&) const = default;
};
inline void PrintTo(const ShortEvent& event, std::ostream* out) {
  *out << log::Op_Name(event.op) << ' ' << log::Layer_Name(event.layer) << ' ' << std::hex
       << event.address << ' ' << std::dec << event.bytes;
}

// Simulates PyTorch's allocator with its totals.
class TorchLayerTest : public HooksTest {
 protected:
  CUdeviceptr Memory(std::size_t bytes) {
    CUdeviceptr pointer = 0;
    EXPECT_EQ(Call("cuMemAlloc_v2", &pointer, bytes), CUDA_SUCCESS);
    return pointer;
  }
  // Allocates driver memory for a new segment.
  CUdeviceptr Segment(std::size_t bytes) {
    reserved_ += bytes;
    return Memory(bytes);
  }
  void Report(std::uint64_t address, std::int64_t bytes, TorchDevice device = {kTorchCuda, 0}) {
    allocated_ += static_cast<std::uint64_t>(bytes);
    RecordTorchUsage({address, bytes, allocated_, reserved_, true}, device);
  }
  void Old(std::uint64_t address, std::int64_t bytes) {
    RecordTorchUsage({address, bytes, 0, 0, false}, {kTorchCuda, 0});
  }
  void OutOfMemory(std::int64_t asked) {
    RecordTorchOutOfMemory({0, asked, allocated_, reserved_, true}, {kTorchCuda, 0});
  }
  // One page of an expandable segment; it belongs to the allocator from the next report on.
  Handle Map(CUdeviceptr at, std::size_t bytes) {
    const Handle handle = CreateMemory(bytes);
    Call("cuMemMap", at, bytes, std::size_t{0}, handle, 0ull);
    return handle;
  }
  void Unmap(CUdeviceptr at, std::size_t bytes, CUmemGenericAllocationHandle handle) {
    Call("cuMemUnmap", at, bytes);
    Call("cuMemRelease", handle);
  }
  // The framework's events in the log, and the driver memory below them.
  static std::vector<ShortEvent> Events(const testing::Log& log) {
    std::vector<ShortEvent> events;
    for (const testing::Event& event : log.events)
      if (event.op == log::OP_ALLOC || event.op == log::OP_FREE)
        events.push_back({event.op, event.layer, event.address, event.bytes});
    return events;
  }
  static std::vector<ShortEvent> Framework(const testing::Log& log) {
    std::vector<ShortEvent> events = Events(log);
    std::erase_if(events, [](const ShortEvent& e) { return e.layer < log::LAYER_SEGMENT; });
    return events;
  }
  static std::uint64_t Differences(const testing::Log& log) {
    const auto found = log.counters.find("framework_totals_differ");
    return found == log.counters.end() ? 0 : found->second;
  }
  static ShortEvent Begun(log::Layer layer, std::uint64_t address, std::uint64_t bytes) {
    return {log::OP_ALLOC, layer, address, bytes};
  }
  static ShortEvent Ended(log::Layer layer, std::uint64_t address, std::uint64_t bytes) {
    return {log::OP_FREE, layer, address, bytes};
  }

  std::uint64_t allocated_ = 0, reserved_ = 0;
};

}  // namespace memprof::recorder
