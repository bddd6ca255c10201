// A program that the viewer's benchmark records: a training with a caching allocator like
// PyTorch's, reported to the recorder by its C API. Steps have forward and backward passes over
// layers with varying batches; weights live from the start, and results for some steps. Segments
// come from the null driver; the simulated allocator decides the positions of blocks in them.
// Prints one line: the number of events, and the time that they took.
#include <memprof/memprof.h>
#include <time.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <map>
#include <random>
#include <vector>

#include "analysis/allocators/caching.h"
#include "benchmarks/guest.h"

namespace {

namespace allocators = memprof::analysis::allocators;
using allocators::Handle;

constexpr int kLayers = 48;
constexpr int kTensorsOfLayer = 6;
constexpr std::size_t kKeptSteps = 30;  // how long results live

class Training {
 public:
  Training(std::uint64_t stacks, std::uint64_t seed) : random_(seed), stacks_(stacks) {}

  bool failed() const { return failed_; }
  std::uint64_t events() const { return events_; }

  void TakeWeights() {
    for (int i = 0; i < kLayers * kTensorsOfLayer * 3; ++i) Take(Bytes(64 << 10, 8 << 20));
  }

  void Step(std::uint64_t number) {
    failed_ |= memprof_step(number) != 0;
    ++events_;
    const std::uint64_t batch = 1 + random_() % 16;
    std::vector<Handle> activations;
    for (int i = 0; i < kLayers * kTensorsOfLayer; ++i) {
      activations.push_back(Take(batch * Bytes(4 << 10, 1 << 20)));
      // A workspace that lives for one operation.
      if (random_() % 2 == 0) Give(Take(Bytes(1 << 10, 4 << 20)));
    }
    while (!activations.empty()) {
      const Handle gradient = Take(batch * Bytes(4 << 10, 1 << 20));
      Give(activations.back());
      activations.pop_back();
      Give(gradient);
    }
    for (int i = 0; i < 4; ++i) kept_.push_back(Take(Bytes(512, 2 << 20)));
    while (kept_.size() > 4 * kKeptSteps) {
      Give(kept_.front());
      kept_.pop_front();
    }
  }

 private:
  std::uint64_t Bytes(std::uint64_t least, std::uint64_t most) {
    return least + random_() % (most - least);
  }

  Handle Take(std::uint64_t bytes) {
    Handle handle = allocators::kNoHandle;
    guest::Descend(random_() % stacks_, guest::kDepth, [&] { handle = Allocate(bytes); });
    return handle;
  }

  Handle Allocate(std::uint64_t bytes) {
    const std::uint64_t segments = allocator_.figures().segments;
    const Handle handle = allocator_.Allocate(bytes, 0);
    const allocators::Place place = allocator_.PlaceOf(handle);
    // A new segment's first block is at its begin.
    if (allocator_.figures().segments > segments)
      NewSegment(place.address, allocators::CachingSegmentBytes(place.bytes));
    failed_ |= memprof_block_create(0, Pointer(place.address), place.bytes, bytes, nullptr) != 0;
    ++events_;
    return handle;
  }

  void NewSegment(std::uint64_t simulated, std::uint64_t bytes) {
    unsigned long long pointer = 0;
    failed_ |= guest::g_allocate(&pointer, bytes) != 0;
    segment_at_[simulated] = pointer;
    failed_ |= memprof_segment_create(0, Pointer(simulated), bytes, nullptr) != 0;
    events_ += 2;
  }

  void Give(Handle handle) {
    failed_ |= memprof_block_destroy(0, Pointer(allocator_.PlaceOf(handle).address)) != 0;
    allocator_.Free(handle);
    ++events_;
  }

  const void* Pointer(std::uint64_t simulated) const {
    const auto segment = std::prev(segment_at_.upper_bound(simulated));
    return reinterpret_cast<const void*>(segment->second + (simulated - segment->first));
  }

  std::mt19937_64 random_;
  const std::uint64_t stacks_;
  allocators::Device device_;
  allocators::CachingAllocator allocator_{{}, &device_};
  std::map<std::uint64_t, std::uint64_t> segment_at_;  // the driver's address, by the simulated one
  std::deque<Handle> kept_;
  std::uint64_t events_ = 0;
  bool failed_ = false;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: framework_traffic EVENTS STACKS SEED\n");
    return 2;
  }
  const auto events = static_cast<std::uint64_t>(std::atoll(argv[1]));
  const auto stacks = static_cast<std::uint64_t>(std::atoll(argv[2]));
  const auto seed = static_cast<std::uint64_t>(std::atoll(argv[3]));
  if (stacks < 1 || !guest::LoadDriver() || guest::g_set_current(guest::g_context) != 0) {
    std::fprintf(stderr, "framework_traffic: bad arguments, or no usable libcuda.so.1\n");
    return 1;
  }
  timespec begin, end;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  Training training(stacks, seed);
  training.TakeWeights();
  for (std::uint64_t step = 0; training.events() < events; ++step) training.Step(step);
  clock_gettime(CLOCK_MONOTONIC, &end);
  const double seconds = static_cast<double>(end.tv_sec - begin.tv_sec) +
                         static_cast<double>(end.tv_nsec - begin.tv_nsec) * 1e-9;
  std::printf("events=%llu seconds=%.6f\n", static_cast<unsigned long long>(training.events()),
              seconds);
  return training.failed() ? 1 : 0;
}
