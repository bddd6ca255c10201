// How fast requests are replayed: events of the trace in a second, for each allocator.
//
//     replay_bench [EVENTS | LOG]
//
// EVENTS (default 1,000,000) makes up a training run whose batches vary in size; a LOG is replayed
// as recorded, one line for each device and allocator.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "analysis/allocators/allocator_replay.h"
#include "analysis/allocators/recorded.h"
#include "analysis/load/load.h"

namespace {

using memprof::analysis::allocators::Trace;
using Clock = std::chrono::steady_clock;

double Since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Parameters, then steps: activations of 48 layers whose sizes follow that of the batch are
// allocated and freed, with workspaces between them.
Trace Training(std::size_t events) {
  Trace trace;
  std::mt19937_64 random(1);
  constexpr std::uint64_t kRow = std::uint64_t{1} << 12;
  for (int i = 0; i < 600; ++i) trace.Allocate(kRow * (1 + random() % 4096));
  while (trace.events.size() < events) {
    const std::uint64_t batch = 24 + random() % 17;
    std::vector<std::uint32_t> activations;
    for (int layer = 0; layer < 48; ++layer) {
      for (const std::uint64_t rows : {3u, 1u, 4u, 1u}) {
        activations.push_back(trace.Allocate(batch * rows * 20 * kRow));
        const std::uint32_t workspace = trace.Allocate(512 * (1 + random() % 4096));
        trace.Free(workspace);
      }
    }
    while (!activations.empty()) {
      const std::uint32_t gradient = trace.Allocate(batch * 20 * kRow);
      trace.Free(activations.back());
      activations.pop_back();
      trace.Free(gradient);
    }
  }
  return trace;
}

void Run(const Trace& trace) {
  for (const auto& spec : memprof::analysis::UsualAllocators()) {
    memprof::analysis::allocators::Device device;
    const auto allocator = memprof::analysis::allocators::MakeAllocator(spec, &device);
    const Clock::time_point start = Clock::now();
    memprof::analysis::allocators::Replay(trace, allocator.get(), &device);
    const double seconds = Since(start);
    std::printf(
        "%-28s %9zu events  %7.3f s  %6.1f million a second  reserved %llu, allocated %llu\n",
        memprof::analysis::allocators::SpecName(spec).c_str(), trace.events.size(), seconds,
        static_cast<double>(trace.events.size()) / seconds / 1e6,
        static_cast<unsigned long long>(allocator->figures().peak_reserved),
        static_cast<unsigned long long>(allocator->figures().peak_allocated));
  }
}

}  // namespace

int main(int argc, char** argv) {
  char* end = nullptr;
  const std::size_t events = argc > 1 ? std::strtoull(argv[1], &end, 10) : 1'000'000;
  if (argc <= 1 || *end == 0) {
    Run(Training(events));
    return 0;
  }
  const auto session = memprof::analysis::LoadLogs({argv[1]}, {.find_steps = false});
  if (!session.ok()) {
    std::fprintf(stderr, "replay_bench: %s\n", session.status().ToString().c_str());
    return 1;
  }
  const Clock::time_point start = Clock::now();
  const auto runs = memprof::analysis::allocators::RecordedRuns(**session);
  std::printf("reading the requests: %.3f s\n", Since(start));
  for (const auto& run : runs) Run(run.trace);
  return 0;
}
