// The contract of memprof.h, function by function: what is refused, what is recorded, and that
// calls have no effect without a recording.
#include <gmock/gmock.h>

#include <functional>
#include <limits>

#include "libmemprof/include/memprof/memprof.h"
#include "tests/libmemprof/recording/recording.h"

namespace memprof::recorder {
namespace {

class CApi : public RecordingTest {
 protected:
  static constexpr std::int64_t kShape[MEMPROF_MAX_RANK] = {3, 5};
  // The only event of the log.
  testing::Event TheEvent() {
    log_ = Finish();
    EXPECT_EQ(log_.events.size(), 1u);
    return log_.events.empty() ? testing::Event() : log_.events[0];
  }
  testing::Log log_;
};

struct NamedCall {
  const char* name;
  std::function<int()> call;
};

std::vector<NamedCall> ValidCalls() {
  return {
      {"snapshot", [] { return memprof_snapshot("s"); }},
      {"step", [] { return memprof_step(1); }},
      {"range_push", [] { return memprof_range_push("r"); }},
      {"range_pop", [] { return memprof_range_pop(); }},
      {"tensor_create", [] { return memprof_tensor_create(0, At(8), 1, "t", "f", 0, nullptr); }},
      {"tensor_destroy", [] { return memprof_tensor_destroy(0, At(8)); }},
      {"segment_create", [] { return memprof_segment_create(0, At(8), 1, nullptr); }},
      {"segment_destroy", [] { return memprof_segment_destroy(0, At(8)); }},
      {"block_create", [] { return memprof_block_create(0, At(8), 1, 1, nullptr); }},
      {"block_destroy", [] { return memprof_block_destroy(0, At(8)); }},
      {"framework_oom", [] { return memprof_framework_oom(0, 1, 2, 3); }},
      {"held", [] { return memprof_held(0, At(8), 1, 1, "list `a`"); }},
      {"holders", [] { return memprof_holders(1, 2, 3); }},
      {"pool_usage", [] { return memprof_pool_usage(-1, "KV cache", 0, 8, 8, 0, 0); }},
      {"pool_create", [] { return memprof_pool_create(1, 0); }},
      {"stream_use", [] { return memprof_stream_use(0, At(8), At(9)); }},
      {"waiting", [] { return memprof_waiting(0, 1, 2, 3); }},
      {"present", [] { return memprof_present(0, 17, At(8), 1, 1, nullptr, 0, nullptr); }},
  };
}

TEST_F(CApi, BeforeTheStartAndWhilePausedEveryCallDoesNothing) {
  for (const NamedCall& call : ValidCalls())
    EXPECT_EQ(call.call(), MEMPROF_NOT_RECORDING) << call.name;
  EXPECT_EQ(memprof_stop(), MEMPROF_NOT_RECORDING);
  EXPECT_EQ(memprof_flush(), MEMPROF_NOT_RECORDING);
  EXPECT_FALSE(std::filesystem::exists(path_));
  ASSERT_EQ(memprof_start(), MEMPROF_OK);
  ASSERT_EQ(memprof_start(), MEMPROF_OK) << "again, while recording";
  ASSERT_EQ(memprof_stop(), MEMPROF_OK);
  for (const NamedCall& call : ValidCalls())
    EXPECT_EQ(call.call(), MEMPROF_NOT_RECORDING) << call.name;
  EXPECT_EQ(memprof_flush(), MEMPROF_OK) << "what was recorded is still written";
  EXPECT_EQ(Finish().events.size(), 1u) << "the pause";
}

TEST_F(CApi, WhileRecordingEveryCallIsOneEvent) {
  ASSERT_EQ(memprof_start(), MEMPROF_OK);
  for (const NamedCall& call : ValidCalls()) EXPECT_EQ(call.call(), MEMPROF_OK) << call.name;
  EXPECT_EQ(Finish().events.size(), ValidCalls().size());
}

TEST_F(CApi, WhatMakesNoSenseIsRefusedAndLeavesNoEvent) {
  ASSERT_EQ(memprof_start(), MEMPROF_OK);
  const NamedCall calls[] = {
      {"snapshot", [] { return memprof_snapshot(nullptr); }},
      {"range_push", [] { return memprof_range_push(nullptr); }},
      {"tensor without memory",
       [] { return memprof_tensor_create(0, nullptr, 1, "t", "f", 0, nullptr); }},
      {"tensor without name",
       [] { return memprof_tensor_create(0, At(8), 1, nullptr, "f", 0, nullptr); }},
      {"tensor without dtype",
       [] { return memprof_tensor_create(0, At(8), 1, "t", nullptr, 0, nullptr); }},
      {"tensor without shape",
       [] { return memprof_tensor_create(0, At(8), 1, "t", "f", 1, nullptr); }},
      {"negative rank", [] { return memprof_tensor_create(0, At(8), 1, "t", "f", -1, kShape); }},
      {"rank too high",
       [] { return memprof_tensor_create(0, At(8), 1, "t", "f", MEMPROF_MAX_RANK + 1, kShape); }},
      {"tensor_destroy", [] { return memprof_tensor_destroy(0, nullptr); }},
      {"segment_create", [] { return memprof_segment_create(0, nullptr, 1, nullptr); }},
      {"segment_destroy", [] { return memprof_segment_destroy(0, nullptr); }},
      {"block_create", [] { return memprof_block_create(0, nullptr, 1, 1, nullptr); }},
      {"block_destroy", [] { return memprof_block_destroy(0, nullptr); }},
      {"held by nothing", [] { return memprof_held(0, At(8), 1, 1, nullptr); }},
      {"nothing held", [] { return memprof_held(0, nullptr, 1, 1, "a"); }},
      {"kind too low", [] { return memprof_held(0, At(8), 1, 0, "a"); }},
      {"kind too high", [] { return memprof_held(0, At(8), 1, 5, "a"); }},
      {"nothing present", [] { return memprof_present(0, 17, nullptr, 1, 1, nullptr, 0, "a"); }},
      {"a tensor present", [] { return memprof_present(0, 18, At(8), 1, 1, nullptr, 0, "a"); }},
      {"present on the host", [] { return memprof_present(-1, 17, At(8), 1, 1, nullptr, 0, "a"); }},
      {"pool without name", [] { return memprof_pool_usage(0, nullptr, 1, 2, 1, 0, 0); }},
      {"more blocks in use than there are",
       [] { return memprof_pool_usage(0, "KV cache", 1, 2, 3, 0, 0); }},
      {"stats", [] { return memprof_get_stats(nullptr); }},
      {"use of nothing", [] { return memprof_stream_use(0, nullptr, At(9)); }},
      {"pool of the host", [] { return memprof_pool_begin(-1, 1, 0); }},
      {"pool zero", [] { return memprof_pool_begin(0, 0, 0); }},
  };
  for (const NamedCall& call : calls) EXPECT_EQ(call.call(), MEMPROF_INVALID_ARGUMENT) << call.name;
  EXPECT_THAT(Finish().events, ::testing::IsEmpty());
}

TEST_F(CApi, ATensorKeepsWhatWasSaidOfIt) {
  ASSERT_EQ(memprof_start(), MEMPROF_OK);
  ASSERT_EQ(
      memprof_tensor_create(2, At(0x7000), 60, "weights", "bfloat16", MEMPROF_MAX_RANK, kShape),
      MEMPROF_OK);
  const testing::Event event = TheEvent();
  EXPECT_EQ(event.op, log::OP_ALLOC);
  EXPECT_EQ(event.layer, log::LAYER_TENSOR);
  EXPECT_EQ(event.device, 2);
  EXPECT_EQ(event.address, 0x7000u);
  EXPECT_EQ(event.bytes, 60u);
  EXPECT_EQ(event.stack != 0, kTestStacks);
  const log::Tensor& tensor = log_.tensors.at(event.label);
  EXPECT_EQ(log_.Text(tensor.name()), "weights");
  EXPECT_EQ(log_.Text(tensor.dtype()), "bfloat16");
  ASSERT_EQ(tensor.shape_size(), MEMPROF_MAX_RANK);
  for (int i = 0; i < MEMPROF_MAX_RANK; ++i) EXPECT_EQ(tensor.shape(i), kShape[i]);
}

TEST_F(CApi, ABlockKeepsItsRequestAndItsStream) {
  ASSERT_EQ(memprof_start(), MEMPROF_OK);
  ASSERT_EQ(memprof_block_create(1, At(0x7000), 512, 500, At(0x99)), MEMPROF_OK);
  const testing::Event event = TheEvent();
  EXPECT_EQ(event.layer, log::LAYER_BLOCK);
  EXPECT_EQ(event.device, 1);
  EXPECT_EQ(event.bytes, 512u);
  EXPECT_EQ(event.aux0, 500u);
  EXPECT_EQ(event.stream, 0x99u);
}

TEST_F(CApi, AFrameworksOutOfMemorySaysWhatItHeld) {
  ASSERT_EQ(memprof_start(), MEMPROF_OK);
  ASSERT_EQ(memprof_framework_oom(3, 10, 20, 30), MEMPROF_OK);
  const testing::Event event = TheEvent();
  EXPECT_EQ(event.op, log::OP_FRAMEWORK_OOM);
  EXPECT_EQ(event.device, 3);
  EXPECT_EQ(event.address, 0u);
  EXPECT_EQ(event.bytes, 10u);
  EXPECT_EQ(event.aux0, 20u);
  EXPECT_EQ(event.aux1, 30u);
}

TEST_F(CApi, APoolIsAnEventAndItsChoiceIsNone) {
  EXPECT_EQ(memprof_pool_begin(0, 7, 0), MEMPROF_NOT_RECORDING);
  EXPECT_EQ(memprof_pool_end(0, 7), MEMPROF_NOT_RECORDING);
  ASSERT_EQ(memprof_start(), MEMPROF_OK);
  EXPECT_EQ(memprof_pool_begin(0, 7, 1), MEMPROF_OK);
  EXPECT_EQ(memprof_pool_end(0, 7), MEMPROF_OK);
  ASSERT_EQ(memprof_pool_create(7, 1ull << 55), MEMPROF_OK);
  const testing::Event event = TheEvent();
  EXPECT_EQ(event.op, log::OP_FRAMEWORK_POOL);
  EXPECT_EQ(event.layer, log::LAYER_SEGMENT);
  EXPECT_EQ(event.address, 7u);
  EXPECT_EQ(event.aux0, 1ull << 55);
  EXPECT_EQ(event.stack != 0, kTestStacks);
}

TEST_F(CApi, AHolderKeepsItsWordsAndALookItsFigures) {
  ASSERT_EQ(memprof_start(), MEMPROF_OK);
  ASSERT_EQ(memprof_held(1, At(0x7000), 512, 2, "`a`\nglobal `a`"), MEMPROF_OK);
  ASSERT_EQ(memprof_holders(10, 20, 30), MEMPROF_OK);
  const testing::Log log = Finish();
  ASSERT_EQ(log.events.size(), 2u);
  const testing::Event& held = log.events[0];
  EXPECT_EQ(held.op, log::OP_HELD);
  EXPECT_EQ(held.device, 1);
  EXPECT_EQ(held.address, 0x7000u);
  EXPECT_EQ(held.bytes, 512u);
  EXPECT_EQ(held.aux0, log::HOLDER_AUTOGRAD);
  EXPECT_EQ(log.Text(held.label), "`a`\nglobal `a`");
  EXPECT_EQ(log.events[1].op, log::OP_HOLDERS);
  EXPECT_EQ(log.events[1].bytes, 10u);
  EXPECT_EQ(log.events[1].aux0, 20u);
  EXPECT_EQ(log.events[1].aux1, 30u);
}

TEST_F(CApi, APoolsUsageKeepsItsFigures) {
  ASSERT_EQ(memprof_start(), MEMPROF_OK);
  ASSERT_EQ(memprof_pool_usage(1, "KV cache\nx=0.5", 4096, 0xfffffffe, 7, 16, 100), MEMPROF_OK);
  const testing::Event event = TheEvent();
  EXPECT_EQ(event.op, log::OP_POOL_USAGE);
  EXPECT_EQ(event.layer, log::LAYER_UNSPECIFIED);
  EXPECT_EQ(event.device, 1);
  EXPECT_EQ(event.bytes, 4096u);
  EXPECT_EQ(event.aux0, 0xfffffffe00000007u);
  EXPECT_EQ(event.aux1, std::uint64_t{16} << 32 | 100);
  EXPECT_EQ(log_.Text(event.label), "KV cache\nx=0.5");
}

TEST_F(CApi, AUseByAnotherStreamAndWhatWaitsForIt) {
  ASSERT_EQ(memprof_start(), MEMPROF_OK);
  ASSERT_EQ(memprof_stream_use(1, At(0x7000), At(0x9000)), MEMPROF_OK);
  ASSERT_EQ(memprof_waiting(1, 10, 20, 30), MEMPROF_OK);
  const testing::Log log = Finish();
  ASSERT_EQ(log.events.size(), 2u);
  const testing::Event& use = log.events[0];
  EXPECT_EQ(use.op, log::OP_STREAM_USE);
  EXPECT_EQ(use.layer, log::LAYER_BLOCK);
  EXPECT_EQ(use.device, 1);
  EXPECT_EQ(use.address, 0x7000u);
  EXPECT_EQ(use.stream, 0x9000u);
  EXPECT_EQ(use.stack != 0, kTestStacks);
  const testing::Event& waiting = log.events[1];
  EXPECT_EQ(waiting.op, log::OP_WAITING);
  EXPECT_EQ(waiting.device, 1);
  EXPECT_EQ(waiting.bytes, 10u);
  EXPECT_EQ(waiting.aux0, 20u);
  EXPECT_EQ(waiting.aux1, 30u);
}

TEST_F(CApi, WhatIsPresentHasItsStackAsText) {
  ASSERT_EQ(memprof_start(), MEMPROF_OK);
  ASSERT_EQ(memprof_present(1, 16, At(0x7000), 4096, 4000, At(5), 7, "f (a.py:3)\ng (b.py:4)"),
            MEMPROF_OK);
  const testing::Event event = TheEvent();
  EXPECT_EQ(event.op, log::OP_PRESENT);
  EXPECT_EQ(event.layer, log::LAYER_SEGMENT);
  EXPECT_EQ(event.device, 1);
  EXPECT_EQ(event.address, 0x7000u);
  EXPECT_EQ(event.bytes, 4096u);
  EXPECT_EQ(event.aux0, 4000u);
  EXPECT_EQ(event.aux1, 7u);
  EXPECT_EQ(event.stream, 5u);
  EXPECT_EQ(log_.Text(event.label), "f (a.py:3)\ng (b.py:4)");
}

TEST_F(CApi, EveryNegativeDeviceIsTheHost) {
  ASSERT_EQ(memprof_start(), MEMPROF_OK);
  for (const int device : {-1, -2, std::numeric_limits<int>::min()})
    memprof_segment_create(device, At(0x7000), 1, nullptr);
  for (const testing::Event& event : Finish().events) EXPECT_EQ(event.device, -1);
}

TEST_F(CApi, StepsMayBeAnyNumberAndRangesNameThemselves) {
  ASSERT_EQ(memprof_start(), MEMPROF_OK);
  for (const std::uint64_t step : {std::uint64_t{0}, std::uint64_t{7}, ~std::uint64_t{0}})
    memprof_step(step);
  memprof_range_push("");
  memprof_range_push("forward");
  const testing::Log log = Finish();
  std::vector<std::uint64_t> steps;
  for (const testing::Event& event : log.WithOp(log::OP_STEP)) steps.push_back(event.aux0);
  EXPECT_THAT(steps, ::testing::ElementsAre(0, 7, ~std::uint64_t{0}));
  const std::vector<testing::Event> pushed = log.WithOp(log::OP_RANGE_PUSH);
  EXPECT_EQ(log.Text(pushed[0].label), "");
  EXPECT_NE(pushed[0].label, 0u) << "an empty name is a name";
  EXPECT_EQ(log.Text(pushed[1].label), "forward");
}

TEST_F(CApi, StatsShowWhetherItRecordsAndKeepTheirCountsWhilePaused) {
  struct memprof_stats stats {};
  stats.size = sizeof stats;
  EXPECT_EQ(memprof_get_stats(&stats), MEMPROF_NOT_RECORDING);
  EXPECT_EQ(stats.recording, 0u);
  EXPECT_EQ(stats.events, 0u);
  ASSERT_EQ(memprof_start(), MEMPROF_OK);
  memprof_step(1);
  memprof_stop();
  EXPECT_EQ(memprof_get_stats(&stats), MEMPROF_OK);
  EXPECT_EQ(stats.recording, 0u);
  EXPECT_EQ(stats.events, 2u);
  memprof_start();
  EXPECT_EQ(memprof_get_stats(&stats), MEMPROF_OK);
  EXPECT_EQ(stats.recording, 1u);
}

TEST_F(CApi, StatsOfANewerHeaderAreFilledAsFarAsTheyAreKnown) {
  ASSERT_EQ(memprof_start(), MEMPROF_OK);
  struct {
    struct memprof_stats known;
    std::uint64_t future;
  } stats{};
  stats.future = 77;
  stats.known.size = sizeof stats;
  EXPECT_EQ(memprof_get_stats(&stats.known), MEMPROF_OK);
  EXPECT_EQ(stats.known.size, sizeof stats.known) << "as much as exists";
  EXPECT_EQ(stats.future, 77u);
  for (const std::size_t size : {std::size_t{0}, sizeof(std::size_t), sizeof(std::size_t) + 7}) {
    stats.known.size = size;
    EXPECT_EQ(memprof_get_stats(&stats.known), MEMPROF_INVALID_ARGUMENT) << size;
  }
}

TEST_F(CApi, DisabledIsForGood) {
  setenv("MEMPROF_DISABLE", "1", 1);
  EXPECT_EQ(memprof_start(), MEMPROF_UNAVAILABLE);
  unsetenv("MEMPROF_DISABLE");
  EXPECT_EQ(memprof_start(), MEMPROF_UNAVAILABLE);
  EXPECT_EQ(memprof_flush(), MEMPROF_UNAVAILABLE);
  for (const NamedCall& call : ValidCalls())
    EXPECT_EQ(call.call(), MEMPROF_NOT_RECORDING) << call.name;
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(CApi, ALogThatCannotBeCreatedIsSaidOnce) {
  setenv("MEMPROF_OUTPUT", (directory_ + "/missing/t.mprof").c_str(), 1);
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(memprof_start(), MEMPROF_IO_ERROR);
  EXPECT_EQ(memprof_start(), MEMPROF_UNAVAILABLE);
  EXPECT_EQ(memprof_step(1), MEMPROF_NOT_RECORDING);
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
  EXPECT_THAT(said, ::testing::HasSubstr("missing/t.mprof: No such file or directory"));
  EXPECT_TRUE(std::filesystem::is_empty(directory_)) << "no ring is left either";
}

}  // namespace
}  // namespace memprof::recorder
