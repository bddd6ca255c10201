// Programs that run for days, thinned, against what they did.
#include "libmemprof/src/log/thinner.h"

#include <gmock/gmock.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <random>
#include <set>

#include "libmemprof/src/log/internal/drain.h"
#include "libmemprof/src/log/vocabulary.h"
#include "tests/libmemprof/log/with_ring.h"
#include "tests/support/temp_file.h"

namespace memprof::recorder {
namespace {

using ring::RingEvent;

constexpr std::uint64_t kSecond = 1'000'000'000, kDay = 86400 * kSecond;
constexpr std::uint64_t kStart = 5'000 * kSecond;

// Drives a thinner and writes its segments, as the writer does.
class ThinnerTest : public WithRing {
 protected:
  void Begin(const log::AlwaysOnBudget& always_on, std::uint64_t seed = 1) {
    always_on_ = always_on;
    ASSERT_EQ(log_.Create(directory_.File("run.mprof").c_str()), 0);
    log_.SetLimit(always_on.budget_bytes);
    thinner_ = std::make_unique<Thinner>(always_on, seed);
    drain_ = std::make_unique<Drain>(&ring_, &log_, thinner_.get());
    log_.AddChunk(log::ChunkKind::kHeader, ByteBuffer());
    thinner_->BeginSegment(kStart);
    definitions_.InternString("a name");
    definitions_.SealCurrent();
    drain_->Once();
  }
  void Add(RingEvent event) {
    now_ = event.time_ns;
    all_.push_back(event);
    AddOnly(event);
  }
  void AddOnly(const RingEvent& event) {
    thinner_->Add(event, 1);
    now_ = event.time_ns;
    if (thinner_->SegmentIsOver(now_) || thinner_->IsDue(now_)) Serve();
  }
  void Serve() {
    if (thinner_->SegmentIsOver(now_)) NextSegment();
    ASSERT_EQ(drain_->WriteKept(now_), 0);
  }
  void NextSegment() {
    thinner_->EndSegment(now_);
    ASSERT_EQ(drain_->WriteKept(now_), 0);
    ASSERT_EQ(drain_->EndLog(), 0);
    ASSERT_EQ(log_.BeginNext(ByteBuffer(), always_on_.kept), 0);
    drain_->BeginSegment();
    thinner_->BeginSegment(now_, log_.size() + log_.batch_bytes() + log_.end_bytes());
    begins_.push_back(now_);
    ASSERT_EQ(drain_->WriteKept(now_), 0);
  }
  void End() {
    ++now_;  // stretches end before what is at their end
    thinner_->Finish(now_);
    ASSERT_EQ(drain_->WriteKept(now_), 0);
    ASSERT_EQ(drain_->EndLog(), 0);
  }
  std::vector<std::string> Segments() const {
    std::vector<std::string> paths;
    for (std::size_t i = 1; i <= begins_.size(); ++i)
      paths.push_back(directory_.File("run.segment-" + std::to_string(i) + ".mprof"));
    paths.push_back(directory_.File("run.mprof"));
    return paths;
  }
  static RingEvent Of(std::uint8_t op, std::uint64_t time_ns) {
    RingEvent event{};
    event.op = op;
    event.time_ns = time_ns;
    return event;
  }
  static RingEvent Block(std::uint8_t op, std::uint64_t time_ns, std::uint64_t address,
                         std::uint64_t bytes = 0, std::uint32_t stack = 0) {
    RingEvent event = Of(op, time_ns);
    event.layer = kLayerBlock;
    event.device_plus_1 = 1;
    event.address = address;
    event.bytes = bytes;
    event.stack = stack;
    return event;
  }

  analysis::testing::TempDirectory directory_;
  LogFile log_;
  log::AlwaysOnBudget always_on_;
  std::unique_ptr<Thinner> thinner_;
  std::unique_ptr<Drain> drain_;
  std::vector<RingEvent> all_;
  std::vector<std::uint64_t> begins_;  // of the segments after the first
  std::uint64_t now_ = kStart;
};

struct Traffic {
  double count = 0, bytes = 0, variance = 0;  // of the bytes
};

void AddTo(std::map<std::uint32_t, Traffic>* traffic, const testing::Event& event) {
  const double weight = event.weight == 0 ? 1 : event.weight / 256.0;
  const double bytes = static_cast<double>(event.bytes);
  Traffic& sum = (*traffic)[event.stack];
  sum.count += weight;
  sum.bytes += weight * bytes;
  sum.variance += weight * (weight - 1) * bytes * bytes;
}

// Steps of four seconds for a week: fifty parameters, activations of 512 B to 64 MiB that die
// within their step, gradients that live into the next, and a leak of 1 KiB every thousand steps.
class TrainingWeek : public ThinnerTest {
 protected:
  static constexpr int kSteps = 7 * 86400 / 4, kLeakEvery = 1000, kParameters = 50;
  enum Stack : std::uint32_t { kParameter = 1, kLeak = 2, kGradient = 3, kActivation = 10 };

  void Run(int steps) {
    std::mt19937_64 random(3);
    std::uint64_t time = kStart;
    for (std::uint64_t i = 0; i < kParameters; ++i)
      Allocate(time += 1000, 0x1000'0000 + i * 0x10000, 65536, kParameter);
    for (int step = 0; step < steps; ++step) {
      time = kStart + kSecond + static_cast<std::uint64_t>(step) * 4 * kSecond;
      RingEvent mark = Of(kOpStep, time);
      mark.aux0 = static_cast<std::uint64_t>(step);
      AddOnly(mark);
      if (step % kLeakEvery == 500)
        Allocate(time += 1000, 0x5000'0000 + static_cast<std::uint64_t>(step) * 1024, 1024, kLeak);
      for (std::uint32_t i = 0; i < 8; ++i) {
        const std::uint64_t bytes = (std::uint64_t{512} << (2 * i)) + 512 * (random() % (1 + i));
        Allocate(time += 1000, 0x9000'0000'0000 + i * 0x1000'0000, bytes, kActivation + i);
        if (step > 0 && i % 4 == 0) AddOnly(Block(kOpFree, time += 1000, Gradient(step - 1, i)));
      }
      for (std::uint32_t i = 0; i < 8; i += 4)
        Allocate(time += 1000, Gradient(step, i), 4096 * (i + 1), kGradient);
      for (std::uint32_t i = 0; i < 8; ++i)
        AddOnly(Block(kOpFree, time += 1000, 0x9000'0000'0000 + i * 0x1000'0000));
    }
    End();
  }
  static std::uint64_t Gradient(int step, std::uint32_t i) {
    return 0x7000'0000 + i * 0x100'0000 + static_cast<std::uint64_t>(step % 2) * 0x80'0000;
  }
  void Allocate(std::uint64_t time, std::uint64_t address, std::uint64_t bytes,
                std::uint32_t stack) {
    AddOnly(Block(kOpAlloc, time, address, bytes, stack));
    Traffic& sum = truth_[stack];
    sum.count += 1;
    sum.bytes += static_cast<double>(bytes);
  }

  std::map<std::uint32_t, Traffic> truth_;
};

TEST_F(TrainingWeek, StaysWithinItsBudgetAndKeepsWhatLivesOn) {
  log::AlwaysOnBudget always_on{200'000, kDay, 7};
  Begin(always_on);
  Run(kSteps);
  const std::vector<std::string> segments = Segments();
  ASSERT_EQ(segments.size(), 7u);
  std::map<std::uint32_t, Traffic> estimated;
  int whole_steps = 0, levels = 0;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const auto size = std::filesystem::file_size(segments[i]);
    EXPECT_LE(size, always_on.budget_bytes) << segments[i];
    EXPECT_GE(size, always_on.budget_bytes / 3) << segments[i] << " makes no use of it";
    const testing::Log log = testing::ReadLog(segments[i]);
    EXPECT_EQ(log.error, "");
    EXPECT_TRUE(log.has_trailer);
    EXPECT_EQ(log.Text(1), "a name");
    EXPECT_EQ(log.Indexed().size() + 2, log.chunks.size());
    EXPECT_EQ(log.trailer.events(), log.events.size());
    const std::uint64_t begin = i == 0 ? 0 : begins_[i - 1];
    std::uint64_t thinned = 0;
    for (const testing::Event& event : log.events) {
      EXPECT_GE(event.time_ns, begin);
      if (event.op == log::OP_ALLOC && (i == 0 || event.time_ns != begin)) AddTo(&estimated, event);
      if (event.op == log::OP_ALLOC && event.stack <= kLeak) {
        EXPECT_EQ(event.weight, 0u);
      }
      if (event.op == log::OP_THINNED) thinned += event.time_ns - event.aux0;
      levels += event.op == log::OP_LEVEL;
    }
    const std::uint64_t length =
        (i + 1 < segments.size() ? begins_[i] : now_) - (i == 0 ? kStart : begin);
    whole_steps += static_cast<int>((length - thinned) / (4 * kSecond));
    // What is alive at the end can be told from each segment alone.
    std::map<std::uint64_t, std::uint32_t> alive;
    for (const testing::Event& event : log.ByTime()) {
      if (event.op == log::OP_ALLOC && event.weight == 0) alive[event.address] = event.stack;
      if (event.op == log::OP_FREE) alive.erase(event.address);
    }
    int parameters = 0;
    for (const auto& [address, stack] : alive) parameters += stack == kParameter;
    EXPECT_EQ(parameters, kParameters) << segments[i];
  }
  EXPECT_GT(whole_steps, 100);
  EXPECT_GT(levels, 100);
  for (const auto& [stack, truth] : truth_) {
    const Traffic& guess = estimated[stack];
    const double tolerance = 4 * std::sqrt(guess.variance) + 1e-6 * truth.bytes;
    EXPECT_NEAR(guess.bytes, truth.bytes, tolerance) << "stack " << stack;
    if (stack <= kLeak) {
      EXPECT_EQ(guess.count, truth.count);
    }
    if (stack == kActivation) {
      EXPECT_GT(guess.variance, 0) << "something is left out";
    }
  }
}

TEST_F(TrainingWeek, WhatIsLeftOutIsCountedExactly) {
  Begin({100'000, kDay, 7});
  Run(5000);
  const testing::Log log = testing::ReadLog(Segments()[0]);
  std::uint64_t allocations = 0, bytes = 0, peak = 0;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> stretches;
  for (const testing::Event& event : log.events) {
    if (event.op == log::OP_THINNED) stretches.push_back({event.aux0, event.time_ns});
    if (event.op != log::OP_LEVEL) continue;
    EXPECT_EQ(event.layer, log::LAYER_BLOCK);
    EXPECT_EQ(event.device, 0);
    allocations += event.aux1;
    bytes += event.address;
    peak = std::max(peak, event.bytes);
  }
  ASSERT_FALSE(stretches.empty());
  const auto in_stretch = [&](const testing::Event& event) {
    for (const auto& [begin, end] : stretches)
      if (event.time_ns >= begin && event.time_ns < end) return true;
    return false;
  };
  for (const testing::Event& event : log.events) {
    if (event.op != log::OP_ALLOC || in_stretch(event)) continue;
    EXPECT_EQ(event.weight, 0u) << "whole means whole";
    ++allocations;
    bytes += event.bytes;
  }
  double count = 0, sum = 0;
  for (const auto& [stack, truth] : truth_) {
    count += truth.count;
    sum += truth.bytes;
  }
  EXPECT_EQ(static_cast<double>(allocations), count);
  EXPECT_EQ(static_cast<double>(bytes), sum);
  EXPECT_GT(peak, std::uint64_t{512} << 14);
}

TEST_F(ThinnerTest, AFailureIsKeptWithItsStep) {
  Begin({100'000, kDay, 7});
  std::uint64_t time = kStart;
  for (std::uint64_t step = 0; step < 3000; ++step) {
    time = kStart + kSecond + step * kSecond / 4;
    RingEvent mark = Of(kOpStep, time);
    mark.aux0 = step;
    Add(mark);
    for (std::uint64_t i = 0; i < 40; ++i) Add(Block(kOpAlloc, time += 10, 0x1000 * (1 + i), 512));
    if (step == 2222) Add(Of(kOpAllocFailed, time += 10));
    if (step == 2500) Add(Of(kOpSnapshot, time += 10));
    for (std::uint64_t i = 0; i < 40; ++i) Add(Block(kOpFree, time += 10, 0x1000 * (1 + i)));
    Add(Of(kOpLaunch, time += 10));
  }
  End();
  const testing::Log log = testing::ReadLog(Segments()[0]);
  for (const std::uint64_t step : {2222, 2500}) {
    const std::uint64_t begin = kStart + kSecond + step * kSecond / 4, end = begin + kSecond / 4;
    int events = 0;
    for (const testing::Event& event : log.events)
      if (event.time_ns >= begin && event.time_ns < end && event.op != log::OP_LEVEL &&
          event.op != log::OP_THINNED)
        ++events;
    EXPECT_EQ(events, 83) << "step " << step;
  }
  EXPECT_LT(log.events.size(), all_.size() / 4);
}

// On a busy machine the writer may come to hundreds of steps at once, and spend the budget before
// the failure that ends the program.
class SleepyWriter : public ThinnerTest, public ::testing::WithParamInterface<int> {};

TEST_P(SleepyWriter, LosesNoFailure) {
  Begin({65536, kSecond, 100});
  std::mt19937_64 random(static_cast<std::uint64_t>(GetParam()));
  const std::uint64_t steps = 1000 + random() % 500, rate = 50 + random() % 500;
  const std::uint64_t longest = kSecond / 2 >> random() % 6;
  std::uint64_t time = kStart, wakes = kStart;
  for (std::uint64_t step = 0; step < steps; ++step) {
    time = std::max(time + 1, kStart + step * kSecond / rate);
    const auto add = [&](const RingEvent& event) {
      thinner_->Add(event, 1);
      now_ = event.time_ns;
    };
    RingEvent mark = Of(kOpStep, time);
    mark.aux0 = step;
    add(mark);
    for (std::uint64_t i = 0; i < 100; ++i)
      add(Block(kOpAlloc, time += 900, 0x7f00'0000'0000 + 0x20'0000 * i, 512 << (i + step) % 12,
                1));
    for (std::uint64_t i = 0; i < 100; ++i)
      add(Block(kOpFree, time += 900, 0x7f00'0000'0000 + 0x20'0000 * i, 0, 2));
    if (step % 10 == 0) add(Block(kOpAlloc, time += 900, 0x7f10'0000'0000 + step * 4096, 4096, 3));
    if (time < wakes) continue;
    if (thinner_->SegmentIsOver(now_) || thinner_->IsDue(now_)) Serve();
    wakes = time + random() % longest;
  }
  thinner_->Add(Of(kOpAllocFailed, time += 10), 1);
  now_ = time;
  End();
  std::size_t failed = 0;
  std::uint64_t last_step = 0;
  for (const std::string& path : Segments()) {
    EXPECT_LE(std::filesystem::file_size(path), always_on_.budget_bytes);
    const testing::Log log = testing::ReadLog(path);
    failed += log.WithOp(log::OP_ALLOC_FAILED).size();
    for (const testing::Event& step : log.WithOp(log::OP_STEP))
      last_step = std::max(last_step, step.aux0);
  }
  EXPECT_EQ(failed, 1u);
  EXPECT_EQ(last_step, steps - 1) << "that of the failure";
}

INSTANTIATE_TEST_SUITE_P(Seeds, SleepyWriter, ::testing::Range(0, 30));
// Here there was no room for the last step.
INSTANTIATE_TEST_SUITE_P(Spent, SleepyWriter, ::testing::Values(376, 575));

TEST_F(ThinnerTest, WhatItsContextEndsIsWrittenOnce) {
  Begin({100'000, kDay, 7});
  RingEvent event = Block(kOpAlloc, kStart + 10, 0x1000, 512);
  event.layer = kLayerLinear;
  event.context = 5;
  Add(event);
  RingEvent end = Of(kOpContextDestroy, kStart + 20);
  end.context = 5;
  Add(end);
  End();
  const testing::Log log = testing::ReadLog(Segments()[0]);
  EXPECT_EQ(log.WithOp(log::OP_ALLOC).size(), 1u);
  EXPECT_EQ(log.WithOp(log::OP_CONTEXT_DESTROY).size(), 1u);
}

// Traffic of which each event was once written whatever the budget.
class Flood : public ThinnerTest {
 protected:
  static constexpr std::uint64_t kBudget = 65536, kSeconds = 60;
  void SetUp() override { Begin({kBudget, kSeconds * kSecond, 100}); }

  // What was lost is counted; nothing is missing outside of the stretches that are thinned.
  void Check() {
    EXPECT_GT(thinner_->lost(), 0u);
    ASSERT_EQ(Segments().size(), 2u);
    for (std::size_t s = 0; s < 2; ++s) {
      const std::string path = Segments()[s];
      EXPECT_LE(std::filesystem::file_size(path), kBudget) << path;
      const testing::Log log = testing::ReadLog(path);
      EXPECT_EQ(log.error, "");
      EXPECT_FALSE(log.WithOp(log::OP_THINNED).empty());
      const std::uint64_t begin = s == 0 ? 0 : begins_[0], end = s == 0 ? begins_[0] : now_;
      std::vector<std::uint64_t> happened, written;
      for (const RingEvent& event : all_) happened.push_back(event.time_ns);
      for (const testing::Event& event : log.events)
        if (event.op != log::OP_THINNED && event.op != log::OP_LEVEL)
          written.push_back(event.time_ns);
      std::sort(written.begin(), written.end());
      EXPECT_EQ(CountWhole(log, written, begin, end), CountWhole(log, happened, begin, end));
    }
  }

 private:
  // Of `times`, in order, those within a segment and outside of its stretches.
  static std::size_t CountWhole(const testing::Log& log, const std::vector<std::uint64_t>& times,
                                std::uint64_t begin, std::uint64_t end) {
    std::map<std::uint64_t, std::uint64_t> stretches;
    for (const testing::Event& event : log.WithOp(log::OP_THINNED))
      stretches[event.aux0] = std::max(stretches[event.aux0], event.time_ns);
    std::size_t count = 0;
    auto next = stretches.begin();
    std::uint64_t thinned_until = 0;
    for (const std::uint64_t time : times) {
      for (; next != stretches.end() && next->first <= time; ++next)
        thinned_until = std::max(thinned_until, next->second);
      count += time > begin && time < end && time > thinned_until;
    }
    return count;
  }
};

TEST_F(Flood, OfFailedRequestsLeavesRoomForTheWholePeriod) {
  constexpr std::uint64_t kRate = 5'000;
  for (std::uint64_t i = 0; i < kRate * (kSeconds + 10); ++i)
    Add(Block(kOpAllocFailed, kStart + i * kSecond / kRate, 0, 1 << 30, 1 + i % 1000));
  End();
  Check();
  const testing::Log log = testing::ReadLog(Segments()[0]);
  std::set<std::uint64_t> tens;  // of seconds in which a failure can be seen
  for (const testing::Event& event : log.WithOp(log::OP_ALLOC_FAILED))
    tens.insert((event.time_ns - kStart) / (10 * kSecond));
  EXPECT_EQ(tens.size(), 6u);
}

TEST_F(Flood, OfBlocksThatLiveOnBeyondWhatIsFollowed) {
  constexpr std::uint64_t kBlocks = 150'000, kRate = 2'000, kBytes = 512;
  const auto block = [](std::uint8_t op, std::uint64_t time, std::uint64_t i) {
    return Block(op, time, 0x10000 + i * kBytes, op == kOpAlloc ? kBytes : 0);
  };
  for (std::uint64_t i = 0; i < kBlocks; ++i) Add(block(kOpAlloc, kStart + i * 1000, i));
  for (std::uint64_t i = 0; i < kRate * (kSeconds + 10); ++i) {
    const std::uint64_t time = kStart + kSecond + i * kSecond / kRate;
    Add(block(kOpFree, time, i % kBlocks));
    Add(block(kOpAlloc, time + 1, i % kBlocks));
  }
  End();
  Check();
  for (const std::string& path : Segments())
    for (const testing::Event& level : testing::ReadLog(path).WithOp(log::OP_LEVEL))
      EXPECT_LE(level.bytes, kBlocks * kBytes) << "what is not followed does not add up";
}

TEST_F(Flood, OfMaps) {
  constexpr std::uint64_t kRate = 2'000;
  std::mt19937_64 random(5);
  RingEvent map = Of(kOpMap, 0);
  for (std::uint64_t i = 0; i < kRate * (kSeconds + 10); ++i) {
    map.time_ns = kStart + i * kSecond / kRate + random() % 100'000;
    map.op = i % 2 == 0 ? kOpMap : kOpUnmap;
    if (i % 2 == 0) map.address = random() >> 20 << 12;
    map.bytes = 2 << 20;
    map.stack = static_cast<std::uint32_t>(random() % 1000);
    Add(map);
  }
  End();
  Check();
}

TEST_F(Flood, OfMapsThatAreAliveWhenASegmentBegins) {
  constexpr std::uint64_t kMaps = 30'000;
  std::mt19937_64 random(6);
  RingEvent map = Of(kOpMap, 0);
  for (std::uint64_t i = 0; i < kMaps; ++i) {
    map.time_ns = kStart + i * kSeconds * kSecond / kMaps;
    map.address = random() >> 20 << 12;
    map.bytes = 2 << 20;
    Add(map);
  }
  now_ = kStart + (kSeconds + 1) * kSecond;
  Serve();
  End();
  Check();
}

// A thread's step may come out of the ring after a tick for the time that it lies in.
TEST_F(ThinnerTest, AStepThatIsOlderThanTheLastTickGrantsNothing) {
  Begin({65536, kDay, 7});
  Add(Of(kOpLaunch, kStart));
  thinner_->Tick(kStart + 20 * kSecond);
  for (std::uint64_t i = 0; i < 400; ++i) Add(Of(kOpLaunch, kStart + 19 * kSecond + i));
  Add(Of(kOpStep, kStart + 19 * kSecond + 500));
  End();
  const testing::Log log = testing::ReadLog(Segments()[0]);
  EXPECT_EQ(log.WithOp(log::OP_LAUNCH).size(), 1u) << "there is no room for a unit of 400";
  for (const testing::Event& stretch : log.WithOp(log::OP_THINNED))
    EXPECT_LE(stretch.aux0, stretch.time_ns);
}

// Anything a program may do: what the log says of each address stays possible, what is outside
// thinned stretches is complete, and nothing of what lives on is missing but what others stand for.
class RandomProgram : public ThinnerTest, public ::testing::WithParamInterface<int> {};

TEST_P(RandomProgram, LeavesAConsistentLog) {
  std::mt19937_64 random(static_cast<std::uint64_t>(GetParam()));
  log::AlwaysOnBudget always_on{70'000, 300 * kSecond, 100};
  Begin(always_on, random());
  std::map<std::uint64_t, RingEvent> alive;
  std::uint64_t time = kStart, next = 0x10000;
  const std::uint64_t pause = 1'000'000u << (random() % 6);
  const bool marked = random() % 2 == 0;
  for (std::uint64_t i = 0; i < 60'000; ++i) {
    time += random() % pause;
    const auto what = random() % 1000;
    if (marked && i % 50 == 0) {
      RingEvent mark = Of(kOpStep, time++);
      mark.aux0 = i / 50;
      Add(mark);
    }
    if (what < 450 || alive.empty()) {
      const std::uint64_t address = next += 0x100;
      RingEvent event = Block(kOpAlloc, time, address, 1 + (random() >> (30 + random() % 33)));
      if (what % 3 == 0) event.layer = kLayerLinear;
      alive[address] = event;
      Add(event);
    } else if (what < 900) {
      auto found = random() % 50 == 0 ? alive.begin() : std::prev(alive.end());
      RingEvent event = found->second;
      event.op = kOpFree;
      event.time_ns = time;
      event.bytes = 0;
      Add(event);
      if (random() % 20 == 0) {
        event.op = kOpFreeFailed;
        event.time_ns = ++time;
        Add(event);
      } else {
        alive.erase(found);
      }
    } else if (what < 950) {
      RingEvent event = Of(what % 2 == 0 ? kOpRangePush : kOpRangePop, time);
      Add(event);
    } else if (what == 950) {
      Add(Of(kOpSnapshot, time));
    } else if (what == 951) {
      Add(Block(kOpFree, time, 0xdead0000 + i));
    } else {
      Add(Of(what % 2 == 0 ? kOpLaunch : kOpMemcpy, time));
    }
  }
  End();
  const std::vector<std::string> segments = Segments();
  std::multiset<std::pair<std::uint64_t, int>> truth;
  for (const RingEvent& event : all_)
    if (event.op != kOpRangePop && event.op != kOpRangePush)
      truth.insert({event.time_ns, event.op});
  for (std::size_t s = 0; s < segments.size(); ++s) {
    EXPECT_LE(std::filesystem::file_size(segments[s]), always_on.budget_bytes);
    const testing::Log log = testing::ReadLog(segments[s]);
    ASSERT_EQ(log.error, "");
    std::map<std::uint64_t, bool> is_alive;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> stretches;
    int depth = 0;
    for (const testing::Event& event : log.ByTime()) {
      if (event.op == log::OP_THINNED) stretches.push_back({event.aux0, event.time_ns});
      if (event.op == log::OP_RANGE_PUSH) ++depth;
      if (event.op == log::OP_RANGE_POP) {
        EXPECT_GE(--depth, 0);
      }
      if (event.address >= 0xdead0000) continue;
      bool& lives = is_alive[event.address];
      if (event.op == log::OP_ALLOC) {
        EXPECT_FALSE(lives) << event.address;
        lives = true;
      } else if (event.op == log::OP_FREE) {
        EXPECT_TRUE(lives) << event.address;
        lives = false;
      } else if (event.op == log::OP_FREE_FAILED) {
        EXPECT_FALSE(lives);
        lives = true;
      }
    }
    const std::uint64_t begin = s == 0 ? kStart : begins_[s - 1];
    const std::uint64_t end = s + 1 < segments.size() ? begins_[s] : now_;
    std::multiset<std::pair<std::uint64_t, int>> kept, expected;
    const auto is_whole = [&](std::uint64_t at) {
      for (const auto& [from, to] : stretches)
        if (at >= from && at < to) return false;
      return at > begin && at < end;
    };
    for (const testing::Event& event : log.events)
      if (is_whole(event.time_ns) && event.op != log::OP_RANGE_POP &&
          event.op != log::OP_RANGE_PUSH && event.op != log::OP_THINNED &&
          event.op != log::OP_LEVEL)
        kept.insert({event.time_ns, static_cast<int>(event.op)});
    for (const auto& event : truth)
      if (is_whole(event.first)) expected.insert(event);
    for (const auto& event : kept)
      if (!expected.contains(event))
        ADD_FAILURE() << "extra " << event.first << " " << event.second;
    for (const auto& event : expected)
      if (!kept.contains(event)) ADD_FAILURE() << "lost " << event.first << " " << event.second;
    if (s + 1 < segments.size()) continue;
    std::size_t missing = 0, drawn = 0;
    double told = 0, bytes = 0;
    for (const testing::Event& event : log.events) {
      if (event.op != log::OP_ALLOC || !alive.contains(event.address)) continue;
      drawn += event.weight > 0;
      told += static_cast<double>(event.bytes) * (event.weight == 0 ? 1 : event.weight / 256.0);
    }
    for (const auto& [address, event] : alive) {
      missing += !is_alive[address];
      bytes += static_cast<double>(event.bytes);
    }
    if (drawn == 0) EXPECT_EQ(missing, thinner_->lost());
    if (thinner_->lost() == 0)
      EXPECT_NEAR(told, bytes, 0.01 * bytes) << missing << " missing, " << drawn << " drawn";
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomProgram, ::testing::Range(0, 30));
// More lives on than the budget has room for, at the end and where a segment begins.
INSTANTIATE_TEST_SUITE_P(Crowded, RandomProgram, ::testing::Values(46, 542));

}  // namespace
}  // namespace memprof::recorder
