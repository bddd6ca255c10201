// What is named as an estimate, and whether a run fits.
#include "analysis/report/estimates.h"

#include <gtest/gtest.h>

#include "analysis/report/internal/most_at_once.h"
#include "analysis/testing/column.h"
#include "tests/support/random_log.h"

namespace memprof::analysis {
namespace {

using testing::LoadLog;
using testing::LogBuilder;
using testing::RandomLog;
using testing::Times;

constexpr std::uint64_t kMiB = 1 << 20;

std::vector<DeviceEstimates> Estimates(const LogBuilder& log) {
  const auto session = LoadLog(log);
  if (session == nullptr) return {};
  Symbols symbols(session);
  return EstimatesOf(*session, symbols, BuildReport(*session));
}

// A device of 1000 MiB with a context of 100, code of 20 and `segment` of PyTorch.
void Simulate(LogBuilder& log, std::uint64_t segment, const std::string& name = "NVIDIA H200") {
  log.Device(0, 1000 * kMiB, name);
  log.definitions().mutable_device(0)->set_simulated(true);
  log.Event(Op::kModuleLoad, Layer::kModule, 0x10, 1, 0, {.aux0 = 20 * kMiB});
  log.Alloc(Layer::kLinear, 0x200000, segment * kMiB);
  log.Alloc(Layer::kSegment, 0x200000, segment * kMiB);
  log.Event(Op::kMemoryInfo, Layer::kUnspecified, 0, (880 - segment) * kMiB, 0,
            {.aux0 = 1000 * kMiB, .aux1 = 1});
}
std::vector<DeviceEstimates> Simulated(std::uint64_t segment) {
  LogBuilder log;
  Simulate(log, segment);
  return Estimates(log);
}

TEST(EstimatesTest, ContextAndCodeAreNamedWithTheirErrors) {
  const auto all = Simulated(500);
  ASSERT_EQ(all.size(), 1u);
  ASSERT_EQ(all[0].parts.size(), 2u);
  EXPECT_EQ(all[0].parts[0].kind, EstimateKind::kContext);
  EXPECT_EQ(all[0].parts[0].bytes, 100 * kMiB);
  EXPECT_EQ(all[0].parts[0].error_bytes, 5 * kMiB);
  EXPECT_EQ(all[0].parts[1].kind, EstimateKind::kKernelCode);
  EXPECT_EQ(all[0].parts[1].bytes, 20 * kMiB);
  EXPECT_EQ(all[0].parts[1].error_bytes, 12 * kMiB);
  EXPECT_EQ(all[0].peak_bytes, 620 * kMiB);
  EXPECT_EQ(all[0].peak_error_bytes, (5 + 12 + 20) * kMiB);  // and 4 % of the segment
}

TEST(EstimatesTest, ARunFitsIfItDoesWithItsError) {
  EXPECT_EQ(Simulated(500).at(0).fit, Fit::kFits);
  EXPECT_EQ(Simulated(850).at(0).fit, Fit::kClose);
  LogBuilder failed;
  Simulate(failed, 500);
  failed.Event(Op::kFrameworkOom, Layer::kUnspecified, 0, 400 * kMiB, 0);
  EXPECT_EQ(Estimates(failed).at(0).fit, Fit::kDoesNotFit);
}

TEST(EstimatesTest, NothingIsSaidOfOtherDevices) {
  LogBuilder unnamed, real;
  Simulate(unnamed, 500, "memprof stand-in GPU");
  EXPECT_TRUE(Estimates(unnamed).empty());
  Simulate(real, 500);
  real.definitions().mutable_device(0)->set_simulated(false);
  EXPECT_TRUE(Estimates(real).empty());
}

TEST(EstimatesTest, TheMostAtOnceIsThatOfAPlainLoop) {
  for (const std::uint32_t seed : {71u, 72u}) {
    RandomLog log({.seed = seed});
    const auto session = LoadLog(log.builder());
    ASSERT_NE(session, nullptr);
    const auto most =
        MostAtOnce(*session, [](const AllocationRecord& a) { return a.layer == Layer::kBlock; });
    std::map<int, std::uint64_t> plain;
    for (const TimeNs time : Times(session->events())) {
      std::map<int, std::uint64_t> now;
      for (const Allocation& a : session->allocations())
        if (a.AliveAt(time) && a.layer == Layer::kBlock) now[a.device] += a.bytes;
      for (const auto& [device, bytes] : now) plain[device] = std::max(plain[device], bytes);
    }
    EXPECT_EQ(most, plain);
  }
}

}  // namespace
}  // namespace memprof::analysis
