// Peaks after other sizes for call sites and tensors, selected by name.
#include "analysis/peak/resizing.h"

#include <gtest/gtest.h>

#include "tests/support/random_log.h"

namespace memprof::analysis {
namespace {

using testing::LoadLog;
using testing::LogBuilder;

TEST(ResizingTest, TheFirstRuleThatFitsAndNothingThatIsSuballocated) {
  LogBuilder log;
  log.Device(0, 1 << 30);
  const int model = log.Stack({"Model (m.cc:1)"}), other = log.Stack({"Other (m.cc:2)"});
  log.Alloc(Layer::kLinear, 0x100000, 0x10000, {.stack = model});
  log.Alloc(Layer::kSegment, 0x100000, 0x10000, {.stack = model});
  log.Alloc(Layer::kBlock, 0x100000, 1000, {.stack = model});
  log.Alloc(Layer::kBlock, 0x101000, 2001, {.stack = other});
  log.TensorCreate(0x101000, 2001, log.Tensor("exp_avg", "float32", {500}), {.stack = other});
  const auto session = LoadLog(log);
  const auto name_of = [=](StackId stack) -> std::string {
    return stack.value == session->record(AllocationId(0)).stack.value ? "Model" : "Other";
  };
  const PeakSavings savings(*session);
  const Resizing resizing(*session, name_of, {{"exp_avg", 0.5}, {"Other", 9}, {"Model", 2}});
  EXPECT_EQ(resizing.Matches(0), 1u);
  EXPECT_EQ(resizing.Matches(1), 0u);
  EXPECT_EQ(resizing.Matches(2), 1u);  // without the driver memory of the segment
  EXPECT_TRUE(resizing.Changes(0, PeakLayer::kBlocks));
  EXPECT_FALSE(resizing.Changes(0, PeakLayer::kDriver));
  EXPECT_FALSE(resizing.Changes(1, PeakLayer::kBlocks));
  EXPECT_EQ(resizing.NewPeak(savings, 0, PeakLayer::kBlocks).without.bytes, 2000u + 1001);
  EXPECT_EQ(resizing.NewPeak(savings, 0, PeakLayer::kDriver).without.bytes, 0x10000u);
}

}  // namespace
}  // namespace memprof::analysis
