// The row of a run: how it ended, what is missing, and on which device it was.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "analysis/load/load.h"
#include "tests/analysis/fleet/rolled_up.h"

namespace memprof::analysis {
namespace {

using testing::Fleet;
using ::testing::IsEmpty;
using testing::LogBuilder;

TEST(FleetRun, OfALogWithoutMemory) {
  LogBuilder log;
  log.Step(1);
  const Fleet fleet(log);
  EXPECT_EQ(fleet.rows.run.device, kNoDevice);
  EXPECT_FALSE(fleet.rows.run.peak.has_value());
  EXPECT_FALSE(fleet.rows.run.expandable.has_value());
  EXPECT_THAT(fleet.rows.rank_step, IsEmpty());
  EXPECT_THAT(fleet.rows.rank_site_step, IsEmpty());
}

TEST(FleetRun, SaysHowItEndedAndWhatIsMissing) {
  const auto run = [](void (*change)(LogBuilder&), bool trailer = true) {
    LogBuilder log;
    log.Alloc(Layer::kLinear, 0x1000, 64);
    change(log);
    return Fleet(testing::LoadLog(log, {.trailer = trailer})).rows.run;
  };
  const auto nothing = [](LogBuilder&) {};
  EXPECT_EQ(run(nothing).ended, "clean");
  EXPECT_EQ(run(nothing, false).ended, "killed");
  EXPECT_EQ(run(nothing).losses, "");
  EXPECT_FALSE(run(nothing).recorder_cost.has_value());
  const RunRow lossy = run([](LogBuilder& log) {
    log.Count("events_lost", 3);
    log.Count("definitions_lost", 2);
    log.Count("unmatched_frees", 9);  // no loss
    log.self().set_events(10);
    log.self().set_hook_time_ns(70);
  });
  EXPECT_EQ(lossy.events_lost, 3u);
  EXPECT_EQ(lossy.losses, "events_lost 3, definitions_lost 2");
  EXPECT_EQ(lossy.recorder_cost, 70u);
}

TEST(FleetRun, OfACutLogIsCut) {
  LogBuilder log;
  for (std::uint64_t i = 0; i < 500; ++i) log.Alloc(Layer::kLinear, 0x1000 * (i + 1), 64 + i * i);
  const std::string whole = log.Bytes({.events_per_chunk = 50, .trailer = false, .index = false});
  const testing::TempDirectory directory;
  for (const bool damaged : {false, true}) {
    std::string bytes = whole.substr(0, whole.size() - (damaged ? 0 : 10));
    if (damaged) bytes[bytes.size() / 2] ^= 1;
    const auto session = LoadLogs({directory.Write("cut.mprof", bytes)});
    ASSERT_TRUE(session.ok()) << session.status();
    const RunRow run = Fleet(*session).rows.run;
    EXPECT_EQ(run.ended, "cut");
    EXPECT_EQ(run.losses, damaged ? "chunks_corrupt 1" : "");
  }
}

TEST(FleetRun, NamesDeviceAndFramework) {
  LogBuilder log;
  log.Device(0, 1 << 20, "small");
  log.Device(1, 1 << 30, "large");
  log.definitions().mutable_device(1)->set_uuid(std::string("\x01\x23\x45\x67\x89\xab\xcd\xef") +
                                                "01234567");
  log.SourceState("torch", 1);
  log.header().add_argument("train.py   ");
  log.Alloc(Layer::kLinear, 0x1000, 4096);
  log.Alloc(Layer::kLinear, 0x9000, 8192, {.device = 1});
  const RunRow run = Fleet(log).rows.run;
  EXPECT_EQ(run.device, 1);  // it held most there
  EXPECT_EQ(run.device_name, "large");
  EXPECT_EQ(run.device_uuid, "GPU-01234567-89ab-cdef-3031-323334353637");
  EXPECT_EQ(run.device_bytes, 1u << 30);
  EXPECT_EQ(run.peak, 8192u);
  EXPECT_EQ(run.framework, "PyTorch");
  EXPECT_THAT(run.program, ::testing::EndsWith("train.py"));
}

TEST(FleetRun, TellsWhetherSegmentsGrow) {
  for (const bool grows : {false, true}) {
    LogBuilder log;
    log.Device(0, 1 << 30);
    log.header().add_environment("PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True");
    if (grows) {
      log.Alloc(Layer::kVmmPhysical, 0x77, 0x200000);
      log.Event(Op::kMap, Layer::kVmmPhysical, 0x400000, 0x200000, 0, {.aux0 = 0x77});
    } else {
      log.Alloc(Layer::kLinear, 0x400000, 0x200000);
    }
    log.Alloc(Layer::kSegment, 0x400000, 0x200000);
    log.Alloc(Layer::kBlock, 0x400000, 0x1000);
    const Fleet fleet(log);
    EXPECT_EQ(fleet.rows.run.expandable, grows);
    EXPECT_EQ(fleet.rows.run.allocator_settings, "expandable_segments:True");
  }
}

TEST(FleetRun, HasTheSettingsThatPyTorchRead) {
  LogBuilder log;
  log.header().add_environment("PYTORCH_ALLOC_CONF=max_split_size_mb:32");
  log.header().add_environment("PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:64");
  EXPECT_EQ(Fleet(log).rows.run.allocator_settings, "max_split_size_mb:64");
}

TEST(FleetRun, OfALivingProcessIsGrowing) {
  const testing::TempDirectory directory;
  LogBuilder log;
  char host[256] = {};
  ASSERT_EQ(gethostname(host, sizeof host - 1), 0);
  log.header().set_hostname(host);
  log.header().set_pid(static_cast<std::uint32_t>(getpid()));
  log.header().set_ring_path(directory.Write("ring", "x"));
  log.Alloc(Layer::kLinear, 0x1000, 64);
  const Fleet fleet(testing::LoadLog(log, {.trailer = false}));
  EXPECT_EQ(fleet.rows.run.ended, "growing");
  // Its number does not depend on how far it is.
  log.Alloc(Layer::kLinear, 0x2000, 64);
  EXPECT_EQ(Fleet(testing::LoadLog(log)).rows.run_id, fleet.rows.run_id);
}

}  // namespace
}  // namespace memprof::analysis
