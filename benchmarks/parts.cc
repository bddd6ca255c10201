// The cost of the parts of recording one event, each compared with an alternative: reading the
// clock, finding a stack, encoding events. Single-threaded, in a loop, so all data is in the
// first-level cache; alloc_cost measures a pair in a program.
#include <benchmark/benchmark.h>
#include <execinfo.h>
#include <time.h>
#include <unistd.h>

#include <memory>
#include <random>
#include <vector>

#include "libmemprof/src/base/hash.h"
#include "libmemprof/src/base/memory_budget.h"
#include "libmemprof/src/log/encoder.h"
#include "libmemprof/src/log/thinner.h"
#include "libmemprof/src/log/vocabulary.h"
#include "libmemprof/src/stacks/stack_memo.h"
#include "libmemprof/src/stacks/stack_table.h"
#include "libmemprof/src/stacks/stack_walk.h"

namespace memprof::recorder {
namespace {

void BM_ClockGettime(benchmark::State& state) {
  timespec now;
  for (auto _ : state) {
    clock_gettime(CLOCK_MONOTONIC, &now);
    benchmark::DoNotOptimize(now);
  }
}
BENCHMARK(BM_ClockGettime);

// Calls `bottom` below that many further calls.
template <typename Bottom>
__attribute__((noinline)) void Descend(std::int64_t depth, Bottom& bottom) {
  if (depth > 1)
    Descend(depth - 1, bottom);
  else
    bottom();
  asm volatile("" ::: "memory");  // no tail call
}

void BM_Backtrace(benchmark::State& state) {
  auto bottom = [&] {
    void* frames[128];
    for (auto _ : state) benchmark::DoNotOptimize(backtrace(frames, 128));
  };
  Descend(state.range(0), bottom);
}
BENCHMARK(BM_Backtrace)->Arg(5)->Arg(20)->Arg(50);

// Walks stacks as the recorder does, on the thread that created it.
struct Walker {
  Walker() {
    SetMemoryLimit(kDefaultMemoryMib << 20, 0);
    ready = rules.Create();
  }
  bool Walk(const Registers& start) {
    return WalkStack(&rules, bounds, {}, start, StackWalk::kMaxFrames, &walk);
  }

  FrameRules rules;
  StackWalk walk;
  const StackBounds bounds = FindStackBounds();
  bool ready = false;
};

// A stack that is not in the memo: walked by the rules of its frames.
void BM_WalkedStack(benchmark::State& state) {
  Walker walker;
  if (!walker.ready) return state.SkipWithError("no memory");
  auto bottom = [&] {
    for (auto _ : state) {
      const Registers start = CaptureRegisters();
      if (!walker.Walk(start)) return state.SkipWithError("the stack cannot be walked");
    }
    state.counters["frames"] = static_cast<double>(walker.walk.frame_count);
  };
  Descend(state.range(0), bottom);
}
BENCHMARK(BM_WalkedStack)->Arg(5)->Arg(20)->Arg(50);

// A stack that is in the memo: its words are compared.
void BM_KnownStack(benchmark::State& state) {
  Walker walker;
  const auto memo = std::make_unique<StackMemo>();
  if (!walker.ready) return state.SkipWithError("no memory");
  memo->Reset(1);
  std::uint64_t missed = 0;
  auto bottom = [&] {
    for (auto _ : state) {
      const Registers start = CaptureRegisters();
      StackMemo::Result known;
      if (memo->Find(start, &known)) continue;
      ++missed;
      if (walker.Walk(start)) memo->Store(start, walker.walk, {1, walker.walk.truncated});
    }
  };
  Descend(state.range(0), bottom);
  state.counters["missed"] = static_cast<double>(missed);
  memo->Release();
}
BENCHMARK(BM_KnownStack)->Arg(5)->Arg(20)->Arg(50);

// Calls `bottom` below 20 calls, each from one of two places, chosen by the bits of `turns`. Stacks
// of different bits have the same stack pointers, but other return addresses.
constexpr int kTurns = 20;
template <typename Bottom>
__attribute__((noinline)) void Turn(std::uint64_t turns, int left, Bottom& bottom) {
  if (left == 0) {
    bottom();
  } else if ((turns & 1) != 0) {
    Turn(turns >> 1, left - 1, bottom);
    asm volatile("nop");  // so that the compiler does not merge the two calls
  } else {
    Turn(turns >> 1, left - 1, bottom);
    asm volatile("nop; nop");
  }
}

// The stacks of a program: `range(0)` stacks in random order; for 0, always a new one.
class Traffic {
 public:
  explicit Traffic(std::int64_t stacks) : stacks_(static_cast<std::uint64_t>(stacks)) {}
  std::uint64_t Next() {
    random_ = Mix(random_ + 1);
    const std::uint64_t chosen = stacks_ == 0 ? ++last_ : random_ % stacks_;
    return chosen * kHashFactor >> (64 - kTurns);
  }

 private:
  const std::uint64_t stacks_;
  std::uint64_t random_ = 7, last_ = 0;
};

// Takes a stack by its frames: walks it, and searches its hash among the latest.
bool WalkAndFind(Walker* walker, StackCache* cache, const Registers& start) {
  if (!walker->Walk(start)) return false;
  const std::uint64_t hash = HashFrames(walker->walk.frames, walker->walk.frame_count, 1);
  StackCache::Entry& entry = cache->entries[hash & (StackCache::kEntries - 1)];
  const bool found = entry.hash == hash;
  entry.hash = hash;
  return found;
}

void BM_TrafficWithoutStacks(benchmark::State& state) {
  Traffic traffic(state.range(0));
  auto bottom = [] { benchmark::ClobberMemory(); };
  for (auto _ : state) Turn(traffic.Next(), kTurns, bottom);
}
BENCHMARK(BM_TrafficWithoutStacks)->Arg(1)->Arg(4)->Arg(64)->Arg(1024)->Arg(16384)->Arg(0);

void BM_TrafficWalked(benchmark::State& state) {
  Walker walker;
  const auto cache = std::make_unique<StackCache>();
  Traffic traffic(state.range(0));
  auto bottom = [&] {
    benchmark::DoNotOptimize(WalkAndFind(&walker, cache.get(), CaptureRegisters()));
  };
  for (auto _ : state) Turn(traffic.Next(), kTurns, bottom);
}
BENCHMARK(BM_TrafficWalked)->Arg(1)->Arg(4)->Arg(64)->Arg(1024)->Arg(16384)->Arg(0);

void BM_TrafficWithMemo(benchmark::State& state) {
  Walker walker;
  const auto cache = std::make_unique<StackCache>();
  const auto memo = std::make_unique<StackMemo>();
  memo->Reset(1);
  Traffic traffic(state.range(0));
  std::uint64_t missed = 0;
  auto bottom = [&] {
    const Registers start = CaptureRegisters();
    StackMemo::Result known;
    if (memo->Find(start, &known)) return;
    ++missed;
    benchmark::DoNotOptimize(WalkAndFind(&walker, cache.get(), start));
    memo->Store(start, walker.walk, {1, walker.walk.truncated});
  };
  for (auto _ : state) Turn(traffic.Next(), kTurns, bottom);
  state.counters["missed"] =
      benchmark::Counter(static_cast<double>(missed), benchmark::Counter::kAvgIterations);
  memo->Release();
}
BENCHMARK(BM_TrafficWithMemo)->Arg(1)->Arg(4)->Arg(64)->Arg(1024)->Arg(16384)->Arg(0);

// Events like those of random traffic, from the ring's form to the log's columns.
void BM_Encode(benchmark::State& state) {
  SetMemoryLimit(kDefaultMemoryMib << 20, 0);
  std::mt19937_64 random(3);
  std::vector<ring::RingEvent> events(static_cast<std::size_t>(state.range(0)));
  std::uint64_t time = 1'000'000'000;
  for (std::size_t i = 0; i < events.size(); ++i) {
    ring::RingEvent& event = events[i];
    event = {};
    event.time_ns = time += 100 + random() % 400;
    event.address = 0x7f00'0000'0000 + random() % 4096 * 512;
    event.op = i % 2 == 0 ? 1 : 2;
    event.layer = 1;
    event.device_plus_1 = 1;
    event.context = 1;
    event.api = 1 + static_cast<std::uint32_t>(i % 2);
    event.bytes = i % 2 == 0 ? random() % (1 << 20) : 0;
    event.stack = i % 2 == 0 ? static_cast<std::uint32_t>(1 + random() % 64) : 0;
  }
  ByteBuffer out;
  EventEncoder encoder;
  for (auto _ : state) {
    out.Clear();
    encoder.Add(1, events.data(), static_cast<std::uint32_t>(events.size()));
    encoder.Encode(&out);
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
  state.counters["bytes_per_event"] =
      static_cast<double>(out.size()) / static_cast<double>(events.size());
}
BENCHMARK(BM_Encode)->Arg(768)->Arg(4096);

// What a recording that is always on does with each event: steps of 10 ms with that many blocks of
// PyTorch, half of them freed in the order of their allocation and half in the opposite one. Few
// are written, so compare with BM_Encode, which other recordings have instead.
void BM_Thin(benchmark::State& state) {
  SetMemoryLimit(std::uint64_t{64} << 20, 0);
  constexpr std::uint64_t kStepNs = 10'000'000;
  const auto blocks = static_cast<std::uint64_t>(state.range(0));
  Thinner thinner({10'000'000, 86'400'000'000'000, 7}, 1);
  std::uint64_t step_ns = 1'000'000'000, written = 0;
  thinner.BeginSegment(step_ns);
  ring::RingEvent event{};
  event.layer = kLayerBlock;
  event.device_plus_1 = 1;
  const auto add = [&](Op op, std::uint64_t block, std::uint64_t at) {
    event.op = op;
    event.address = 0x7f00'0000'0000 + block * 4096;
    event.bytes = 512 + block % 7 * 512;
    event.time_ns = step_ns + 1 + at;
    thinner.Add(event, 1);
  };
  for (auto _ : state) {
    ring::RingEvent step{};
    step.op = kOpStep;
    step.time_ns = step_ns += kStepNs;
    thinner.Add(step, 1);
    for (std::uint64_t i = 0; i < blocks; ++i) add(kOpAlloc, i, i);
    for (std::uint64_t i = 0; i < blocks; ++i)
      add(kOpFree, i % 2 == 0 ? i : blocks - 1 - i / 2 * 2, blocks + i);
    written += thinner.kept()->size();
    if (thinner.IsDue(step_ns))
      thinner.NoteWritten(step_ns, written * 8, thinner.kept()->size(), thinner.kept()->size() * 8);
    thinner.kept()->Clear();
  }
  state.SetItemsProcessed(state.iterations() * (2 * state.range(0) + 1));
  state.counters["written"] = static_cast<double>(written) /
                              static_cast<double>(state.iterations() * (2 * state.range(0) + 1));
}
BENCHMARK(BM_Thin)->Arg(200)->Arg(5000);

}  // namespace
}  // namespace memprof::recorder

BENCHMARK_MAIN();
