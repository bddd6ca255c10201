// The text of sections that have little content.
#include "cli/report/ledger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/testing/log_builder.h"
#include "tests/support/load_log.h"

namespace memprof::cli {
namespace {

using analysis::Layer;
using analysis::Op;
using analysis::testing::LoadLog;
using analysis::testing::LogBuilder;
using ::testing::HasSubstr;
using ::testing::Not;

std::string Ledger(const LogBuilder& log) {
  const auto session = LoadLog(log);
  if (session == nullptr) return "no log";
  return LedgerText(*session, analysis::BuildReport(*session).devices);
}

std::string Recorder(const LogBuilder& log) {
  const auto session = LoadLog(log);
  if (session == nullptr) return "no log";
  return RecorderText(*session, analysis::BuildReport(*session).events);
}

TEST(LedgerTest, ALogWithoutDevicesHasNoLedger) {
  EXPECT_EQ(Ledger(LogBuilder()), "  No device was seen in this log.\n");
}

TEST(LedgerTest, WhatIsNothingAtBothInstantsIsLeftOut) {
  LogBuilder log;
  log.Device(0, 1000);
  log.Alloc(Layer::kLinear, 0x1000, 100);
  log.Event(Op::kMemoryInfo, Layer::kUnspecified, 0, 900, 0, {.aux0 = 1000});
  const std::string text = Ledger(log);
  EXPECT_THAT(text, HasSubstr("linear"));
  EXPECT_THAT(text, HasSubstr("untracked"));  // shown even if it is 0
  for (const char* absent : {"managed", "held by pools", "other processes", "not on the device"})
    EXPECT_THAT(text, Not(HasSubstr(absent)));
}

// While code was loaded, another process took most of what free memory fell by.
TEST(LedgerTest, WhatDoesNotCountAsCodeIsToldOfItsDevice) {
  constexpr std::uint64_t kMiB = 1 << 20, kSecond = 1'000'000'000;
  LogBuilder log;
  for (const int device : {0, 1}) {
    log.Device(device, 100'000 * kMiB);
    const std::uint64_t taken = device == 0 ? 1000 : 40;
    const auto sample = [&](std::uint64_t time, std::uint64_t others) {
      log.SetTime((time + 10 * static_cast<std::uint64_t>(device)) * kSecond);
      log.Event(Op::kMemoryInfo, Layer::kUnspecified, 0, 50'000 * kMiB, 0,
                {.device = device, .aux0 = 100'000 * kMiB, .aux1 = others * kMiB + 1});
    };
    sample(1, 300);
    log.SetTime((4 + 10 * static_cast<std::uint64_t>(device)) * kSecond);
    log.Event(Op::kModuleLoad, Layer::kModule, 0x77 + static_cast<std::uint64_t>(device), 5 * kMiB,
              0, {.device = device, .aux0 = (200 + taken) * kMiB});
    sample(6, 300 + taken);
  }
  const std::string text = Ledger(log);
  EXPECT_THAT(text, HasSubstr("by 1000 MiB while code was loaded"));
  EXPECT_THAT(text, HasSubstr("by 40.0 MiB while code was loaded"));
}

TEST(EstimatesTextTest, NamesThemAndSaysWhetherItFits) {
  analysis::Report report;
  report.devices.resize(1);
  report.devices[0].info.name = "NVIDIA GeForce RTX 3060";
  analysis::DeviceEstimates device{.peak_bytes = 900 << 20,
                                   .peak_error_bytes = 30 << 20,
                                   .capacity_bytes = std::uint64_t{12} << 30,
                                   .framework = true};
  device.parts = {{analysis::EstimateKind::kContext, 68 << 20, 3 << 20},
                  {analysis::EstimateKind::kCudnnWorkspaces, 312 << 20, {}}};
  EXPECT_EQ(EstimatesText(report, {}), "");
  EXPECT_EQ(EstimatesText(report, {device}),
            "  device 0  NVIDIA GeForce RTX 3060  estimate\n"
            "  context                            68.0 MiB  ± 3.00 MiB\n"
            "  cuDNN workspaces                    312 MiB  at most at once\n"
            "  It fits: 900 MiB of 12.0 GiB, ± 30.0 MiB (nine of ten trainings that were compared "
            "with an "
            "RTX\n"
            "  3060 and an RTX 4060). The rest, PyTorch and the program requested themselves.\n");
  device.framework = false;
  EXPECT_THAT(EstimatesText(report, {device}),
              HasSubstr("± 30.0 MiB. The rest, the program requested itself."));
  device.fit = analysis::Fit::kClose;
  EXPECT_THAT(EstimatesText(report, {device}), HasSubstr("Too close to say whether it fits: 900"));
  device.fit = analysis::Fit::kDoesNotFit;
  EXPECT_THAT(EstimatesText(report, {device}), HasSubstr("It does not fit: memory ran out at 900"));
}

TEST(LedgerTest, AQueryThatFoundNoOtherProcessIsAnAnswer) {
  LogBuilder log;
  log.Device(0, 1000);
  log.Event(Op::kMemoryInfo, Layer::kUnspecified, 0, 900, 0, {.aux0 = 1000, .aux1 = 1});
  EXPECT_THAT(Ledger(log), HasSubstr("other processes"));
}

TEST(LedgerTest, AGpuThatUsesTheSystemsMemoryIsNamed) {
  const auto ledger = [](bool system) {
    LogBuilder log;
    log.Device(0, 1000);
    log.definitions().mutable_device(0)->set_uses_system_memory(system);
    log.Event(Op::kMemoryInfo, Layer::kUnspecified, 0, 900, 0, {.aux0 = 1000});
    return Ledger(log);
  };
  EXPECT_THAT(ledger(true), HasSubstr("page cache"));
  EXPECT_THAT(ledger(false), Not(HasSubstr("page cache")));
}

TEST(LedgerTest, TheFileCacheIsAPartOfWhatIsUntracked) {
  const auto ledger = [](std::uint64_t address) {
    LogBuilder log;
    log.Device(0, 64 << 10);
    log.definitions().mutable_device(0)->set_uses_system_memory(true);
    log.Event(Op::kMemoryInfo, Layer::kUnspecified, address, 1 << 10, 0, {.aux0 = 64 << 10});
    return Ledger(log);
  };
  EXPECT_THAT(ledger(1 + (21 << 10)), AllOf(HasSubstr("of it, file cache     21.0 KiB"),
                                            HasSubstr("gives up when memory is asked for")));
  EXPECT_THAT(ledger(~std::uint64_t{0}), HasSubstr("of it, file cache     63.0 KiB"));
  EXPECT_THAT(ledger(1), HasSubstr("of it, file cache          0 B"));
  EXPECT_THAT(ledger(0), Not(HasSubstr("file cache")));
}

TEST(LedgerTest, WhereTheSampleLiesIsSaid) {
  const auto ledger = [](std::uint64_t sampled) {
    LogBuilder log;
    log.Device(0, 1000);
    log.SetTime(50'000);
    log.Event(Op::kSync, Layer::kUnspecified, 0, 0, 0, {});
    if (sampled < 100'000) {
      log.SetTime(sampled);
      log.Event(Op::kMemoryInfo, Layer::kUnspecified, 0, 900, 0, {.aux0 = 1000});
    }
    log.SetTime(100'000);
    log.Alloc(Layer::kLinear, 0x1000, 100);
    if (sampled >= 100'000) {
      log.SetTime(sampled);
      log.Event(Op::kMemoryInfo, Layer::kUnspecified, 0, 900, 0, {.aux0 = 1000});
    }
    return Ledger(log);
  };
  EXPECT_THAT(ledger(98'000), HasSubstr("the sample 2.00 us\n  earlier showed beyond that"));
  EXPECT_THAT(ledger(103'000), HasSubstr("the sample 3.00 us\n  later showed beyond that"));
  EXPECT_THAT(ledger(100'000), HasSubstr("Highest use was at the sample after 50.0 us"));
}

TEST(LedgerTest, TheRecorderReportsWhatItCostAndDropped) {
  LogBuilder log;
  log.Alloc(Layer::kLinear, 0x1000, 100);
  log.Count("events_lost", 1);
  log.Count("definitions_lost", 1234);
  EXPECT_THAT(Recorder(log), HasSubstr("Dropped: 1 event, 1,234 names or stacks"));
  EXPECT_THAT(Recorder(log), HasSubstr("Cost:    unknown"));
  log.self().set_writer_cpu_ns(5000);
  EXPECT_THAT(Recorder(log), HasSubstr("too few events to time the hooks, 5.00 us of CPU"));
  log.self().set_events(10);
  log.self().set_hook_time_ns(2000);
  EXPECT_THAT(Recorder(log), HasSubstr("2.00 us in the program's threads (200 ns per event,"));
  EXPECT_THAT(Recorder(log), HasSubstr("Sources: none named"));
}

}  // namespace
}  // namespace memprof::cli
