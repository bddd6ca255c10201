// Leaks of one line are told together in the summary of a report.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <sstream>
#include <string>

#include "tests/cli/cli_test_support.h"

namespace memprof::cli::testing {
namespace {

using analysis::Layer;
using analysis::testing::LogBuilder;
using ::testing::HasSubstr;

// A line that keeps the results of two operators in each step.
std::string WriteTwoOperators(const analysis::testing::TempDirectory& directory) {
  LogBuilder log;
  log.Device(0, 1024 * kMiB);
  const auto stack = [&log](const std::string& name) {
    return log.Stack({"main (train.py:9)", "Rot.forward (rot.py:5)",
                      "at::_ops::" + name + "::call (/x/torch/ATen/ops.cpp:7)"});
  };
  const int cos = stack("cos"), sin = stack("sin");
  for (std::uint64_t step = 0; step < 40; ++step) {
    log.Step(step);
    log.Alloc(Layer::kBlock, 0x10000000 + 2 * step * kMiB, kMiB, {.stack = cos});
    log.Alloc(Layer::kBlock, 0x10000000 + (2 * step + 1) * kMiB, kMiB, {.stack = sin});
  }
  return directory.Write("x.mprof", log.Bytes());
}

TEST(LeakLinesTest, NoTwoOfThemAreAlike) {
  const analysis::testing::TempDirectory directory;
  const std::string path = WriteTwoOperators(directory);
  const std::string report = Memprof({"report", path}).out;
  EXPECT_THAT(report, HasSubstr("Suspected leak (2): 2.00 MiB per step at Rot.forward (rot.py:5)"));
  std::istringstream lines(report.substr(0, report.find("Devices")));
  std::set<std::string> seen;
  for (std::string line; std::getline(lines, line);) {
    EXPECT_TRUE(line.empty() || seen.insert(line).second) << line;
  }
}

TEST(LeaksVerbTest, WhoOpenedWhatStaysIsTold) {
  const analysis::testing::TempDirectory directory;
  LogBuilder log;
  log.Alloc(Layer::kLinear, 0x10000000, kMiB,
            {.stack = log.Stack({"main (a.py:1)", "share (a.py:7)"})});
  log.Event(analysis::Op::kExported, Layer::kUnspecified, 0x10000000, kMiB, 0, {.aux0 = 5});
  const std::string path = directory.Write("x.mprof", log.Bytes());
  for (const char* verb : {"leaks", "report"})
    EXPECT_THAT(
        Memprof({verb, path}).out,
        HasSubstr("1.00 MiB of share (a.py:7): It lies in memory that was exported by IPC."));
}

// 600 MiB that a pool of the driver keeps after all was freed.
TEST(LeaksVerbTest, WhatPoolsKeepIsNoLeakAndIsTold) {
  const analysis::testing::TempDirectory directory;
  LogBuilder log;
  log.Device(0, 1024 * kMiB);
  log.Alloc(Layer::kStreamOrdered, 0x10000000, 600 * kMiB);
  log.Free(Layer::kStreamOrdered, 0x10000000);
  log.AdvanceTime(1'000'000'000);
  log.Event(analysis::Op::kPoolSample, Layer::kStreamOrdered, 0, 600 * kMiB, 0, {});
  log.Event(analysis::Op::kMemoryInfo, Layer::kUnspecified, 0, 324 * kMiB, 0,
            {.aux0 = 1024 * kMiB});
  const std::string path = directory.Write("x.mprof", log.Bytes());
  EXPECT_THAT(Memprof({"leaks", path}).out,
              HasSubstr("The driver's pools of device 0 keep 600 MiB that nothing used"));
  const Json json = Json::parse(Memprof({"leaks", "--json", path}).out);
  EXPECT_EQ(json["kept_by_pools"], Json::parse(R"([{"device": 0, "bytes": 629145600}])"));
}

}  // namespace
}  // namespace memprof::cli::testing
