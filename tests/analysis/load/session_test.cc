// A session has the contents of its log: tables, events, lifetimes, steps, ranges.
#include "analysis/store/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/testing/log_builder.h"
#include "tests/support/load_log.h"

namespace memprof::analysis {
namespace {

using testing::CountOf;
using ::testing::ElementsAre;
using testing::LoadLog;
using testing::LogBuilder;

TEST(SessionTest, EmptyRun) {
  const auto session = LoadLog(LogBuilder());
  ASSERT_NE(session, nullptr);
  EXPECT_EQ(session->events().size(), 0u);
  EXPECT_TRUE(session->allocations().empty());
  EXPECT_TRUE(session->run().complete);
  EXPECT_EQ(session->run().end_reason, "exit");
  EXPECT_TRUE(session->anomalies().empty());
  EXPECT_FALSE(session->EventAt(kForever).valid());
  EXPECT_TRUE(session->LiveAt(kForever).empty());
  EXPECT_EQ(session->StepAt(5), -1);
}

TEST(SessionTest, RunAndTables) {
  LogBuilder log;
  log.header().add_argument("--batch");
  log.header().add_environment("RANK=3");
  log.Device(1, 80ull << 30, "big GPU");
  log.Thread(7, 4711, "loader");
  log.Context(2, 1);
  log.SourceState("driver", 1, "13.0");
  log.SourceState("cupti", 2, "in use");
  log.SourceState("cupti", 1, "now free");
  log.Alloc(Layer::kLinear, 0x1000, 64,
            {.device = 1, .thread = 7, .context = 2, .api = "cuMemAlloc_v2"});
  const auto session = LoadLog(log);
  ASSERT_NE(session, nullptr);
  EXPECT_THAT(session->run().arguments, ElementsAre("train", "--batch"));
  EXPECT_THAT(session->run().environment, ElementsAre("RANK=3"));
  EXPECT_EQ(session->run().hostname, "test-host");
  EXPECT_FALSE(session->run().growing);
  ASSERT_EQ(session->devices().size(), 1u);
  EXPECT_EQ(session->devices()[0].name, "big GPU");
  EXPECT_TRUE(session->devices()[0].simulated) << "made logs do not pass for those of a real GPU";
  EXPECT_EQ(session->devices()[0].capacity_bytes, 80ull << 30);
  ASSERT_EQ(session->sources().size(), 2u);
  EXPECT_EQ(session->sources()[1].state, 1);
  EXPECT_EQ(session->sources()[1].detail, "now free");
  const EventTable& events = session->events();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(session->threads()[events.thread(0)].name, "loader");
  EXPECT_EQ(session->contexts()[events.context(0)].device, 1);
  EXPECT_EQ(session->string(events.api(0)), "cuMemAlloc_v2");
  EXPECT_EQ(session->self().events, 1u);
}

// Every field of every table is loaded. Each value is unique, so that mixed-up fields are detected.
TEST(SessionTest, TablesSayWhatTheLogSays) {
  LogBuilder log;
  log::Module* module = log.definitions().add_module();
  module->set_id(3);
  module->set_path("/lib/libm.so");
  module->set_build_id(std::string("\0\xff id", 5));
  module->set_load_bias(0x100);
  module->set_first_address(0x200);
  module->set_end_address(0x300);
  log::Pool* pool = log.definitions().add_pool();
  pool->set_handle(0x77);
  pool->set_device(2);
  pool->set_is_default(true);
  log::Device* device = log.definitions().add_device();
  device->set_ordinal(4);
  device->set_name("GPU");
  device->set_capacity_bytes(1000);
  device->set_uuid("0123456789abcdef");
  device->set_simulated(true);
  device->set_driver_version(13000);
  device->set_free_at_start_bytes(900);
  device->set_uses_system_memory(true);
  device->set_multiprocessors(108);
  device->set_threads_per_multiprocessor(1536);
  log::Context* context = log.definitions().add_context();
  context->set_id(9);
  context->set_handle(0x99);
  context->set_device(4);
  context->set_primary(true);
  log.SourceState("cupti", 3, "went away");
  const auto session = LoadLog(log);
  ASSERT_NE(session, nullptr);
  ASSERT_EQ(session->modules().size(), 1u);
  const ModuleInfo& m = session->modules()[0];
  EXPECT_EQ(m.path, "/lib/libm.so");
  EXPECT_EQ(m.build_id, std::string("\0\xff id", 5));  // bytes, not text
  EXPECT_EQ(m.load_bias, 0x100u);
  EXPECT_EQ(m.first_address, 0x200u);
  EXPECT_EQ(m.end_address, 0x300u);
  ASSERT_EQ(session->pools().size(), 1u);
  EXPECT_EQ(session->pools()[0].handle, 0x77u);
  EXPECT_EQ(session->pools()[0].device, 2);
  EXPECT_TRUE(session->pools()[0].is_default);
  ASSERT_EQ(session->devices().size(), 1u);
  const DeviceInfo& d = session->devices()[0];
  EXPECT_EQ(d.id, 4);
  EXPECT_EQ(d.name, "GPU");
  EXPECT_EQ(d.capacity_bytes, 1000u);
  EXPECT_TRUE(d.simulated);
  EXPECT_EQ(d.driver_version, 13000u);
  EXPECT_EQ(d.free_at_start_bytes, 900u);
  EXPECT_TRUE(d.uses_system_memory);
  EXPECT_EQ(d.multiprocessors, 108u);
  EXPECT_EQ(d.threads_per_multiprocessor, 1536u);
  ASSERT_EQ(session->contexts().size(), 1u);
  EXPECT_EQ(session->contexts()[0].handle, 0x99u);
  EXPECT_EQ(session->contexts()[0].device, 4);
  EXPECT_TRUE(session->contexts()[0].primary);
  ASSERT_EQ(session->sources().size(), 1u);
  EXPECT_EQ(session->sources()[0].name, "cupti");
  EXPECT_EQ(session->sources()[0].state, 3);
  EXPECT_EQ(session->sources()[0].detail, "went away");
  EXPECT_GT(session->sources()[0].time, 0u);
}

TEST(SessionTest, StacksShareTheirFrames) {
  LogBuilder log;
  const int outer = log.Stack({"main (a.py:1)", "train (a.py:9)"});
  const int inner = log.Stack({"main (a.py:1)", "train (a.py:9)", "step (b.py:3)"});
  log.Alloc(Layer::kLinear, 0x1000, 64, {.stack = inner});
  log.Alloc(Layer::kLinear, 0x2000, 64, {.stack = outer});
  log.Alloc(Layer::kLinear, 0x3000, 64);
  const auto session = LoadLog(log);
  ASSERT_NE(session, nullptr);
  const StackId stack = session->allocations()[0].stack;
  const auto frames = session->StackFrames(stack);
  ASSERT_EQ(frames.size(), 3u);
  const Frame& innermost = session->frame(frames[0]);
  EXPECT_TRUE(innermost.python);
  EXPECT_EQ(session->string(innermost.function), "step");
  EXPECT_EQ(session->string(innermost.file), "b.py");
  EXPECT_EQ(innermost.line, 3u);
  EXPECT_EQ(session->StackParent(stack), session->allocations()[1].stack);
  EXPECT_EQ(session->string(session->frame(frames[2]).function), "main");
  EXPECT_FALSE(session->allocations()[2].stack.valid());
  EXPECT_TRUE(session->StackFrames(session->allocations()[2].stack).empty());
}

TEST(SessionTest, StepsRangesSnapshots) {
  LogBuilder log;
  log.Alloc(Layer::kLinear, 0x1000, 64);  // before the first step
  log.Step(10);
  log.Step(10);  // another thread marks the same step
  log.RangePush("forward");
  log.RangePush("attention");
  log.Alloc(Layer::kLinear, 0x2000, 64);
  log.RangePop();
  log.RangePop();
  log.RangePop();
  log.Snapshot("middle");
  log.Step(11);
  log.Free(0x1000);
  log.RangePush("open");
  const auto session = LoadLog(log);
  ASSERT_NE(session, nullptr);
  ASSERT_EQ(session->steps().size(), 2u);
  const StepInfo& first = session->steps()[0];
  EXPECT_EQ(first.number, 10);
  EXPECT_EQ(first.end, session->steps()[1].begin);
  EXPECT_EQ(session->steps()[1].end, session->run().end_time);
  EXPECT_EQ(session->StepAt(first.begin - 1), -1);
  EXPECT_EQ(session->StepAt(first.begin), 10);
  EXPECT_EQ(session->StepAt(first.end), 11);
  EXPECT_EQ(session->allocations()[0].birth_step, -1);
  EXPECT_EQ(session->allocations()[0].death_step, 11);
  EXPECT_EQ(session->allocations()[1].birth_step, 10);
  EXPECT_EQ(session->allocations()[1].death_step, -1);
  ASSERT_EQ(session->ranges().size(), 3u);
  EXPECT_EQ(session->string(session->ranges()[1].name), "attention");
  EXPECT_EQ(session->ranges()[1].depth, 1);
  EXPECT_LT(session->ranges()[1].end, session->ranges()[0].end);
  EXPECT_EQ(session->ranges()[2].end, session->run().end_time);
  EXPECT_EQ(CountOf(*session, log::Anomaly::kRangesUnbalanced), 2u);  // one pop, one push
  ASSERT_EQ(session->snapshots().size(), 1u);
  EXPECT_EQ(session->snapshots()[0].label, "middle");
}

TEST(SessionTest, CountersOfTheLogAreMerged) {
  LogBuilder log;
  log.Count("events_lost", 12);
  log.Count("unmatched_frees", 1);
  log.Count("of_a_newer_version", 5);
  log.Free(0x1000);
  log.Free(0x2000);
  const auto session = LoadLog(log);
  ASSERT_NE(session, nullptr);
  EXPECT_EQ(session->anomalies().size(), 2u);
  EXPECT_EQ(CountOf(*session, log::Anomaly::kEventsLost), 12u);
  EXPECT_EQ(CountOf(*session, log::Anomaly::kUnmatchedFrees), 2u);
}

TEST(SessionTest, IsSuballocatedWhereASegmentOrABlockLies) {
  LogBuilder log;
  log.Alloc(Layer::kLinear, 0x100000, 1 << 20);  // of a framework's allocator
  log.Alloc(Layer::kSegment, 0x100000, 1 << 20);
  log.Alloc(Layer::kBlock, 0x100000, 512);
  log.Alloc(Layer::kLinear, 0x900000, 4096);  // of the program
  log.TensorCreate(0x900000, 4096, log.Tensor("w", "float32", {1024}));
  const auto session = LoadLog(log);
  ASSERT_NE(session, nullptr);
  std::vector<bool> divided;
  for (std::uint32_t i = 0; i < session->records().size(); ++i)
    divided.push_back(session->IsSuballocated(AllocationId(i)));
  EXPECT_EQ(divided, (std::vector<bool>{true, true, false, false, false}));
}

}  // namespace
}  // namespace memprof::analysis
