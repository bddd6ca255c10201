// Categories: keywords, hills, sums, and whole training runs with known categories.
#include "analysis/categories/categories.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/categories/units.h"
#include "tests/support/random_log.h"

namespace memprof::analysis {
namespace {

using testing::LoadLog;
using testing::LogBuilder;

// The last step ends before its activations are freed; this must not make them workspaces.
TEST(CategoriesTest, WhatADyingStepTookIsNotKept) {
  for (const int steps : {2, 6}) {
    LogBuilder log;
    const int forward = log.Stack({"main (a.py:1)", "forward (a.py:9)"});
    for (int step = 0; step < steps; ++step) {
      log.Step(static_cast<std::uint64_t>(step));
      log.Alloc(Layer::kBlock, 0x10000, 4096, {.stack = forward});
      log.Alloc(Layer::kBlock, 0x20000, 8192, {.stack = forward});
      if (step + 1 == steps) break;
      log.Free(Layer::kBlock, 0x20000);
      log.Free(Layer::kBlock, 0x10000);
    }
    const auto session = LoadLog(log);
    const Categories categories(*session);
    const auto last = static_cast<std::uint32_t>(session->records().size() - 1);
    Symbols symbols(session);
    const Categories with_stacks(*session, &symbols);
    EXPECT_EQ(with_stacks.Of(AllocationId(last)).category,
              steps == 6 ? Category::kActivations : Category::kWorkspaces);
  }
}

// Stacks show which allocations are parameters: a data set is not one, a copy of a parameter is
// one, and zeros of a parameter's shape are optimizer state. Gradients are allocations of a
// backward pass with the sizes of parameters, also in the last step.
TEST(CategoriesTest, WhatIsThereBeforeTheFirstStep) {
  constexpr std::uint64_t kWeight = 40'000, kData = 900'000;
  LogBuilder log;
  const int weight = log.Stack({"main (a.cc:1)", "Parameter::Parameter (p.cc:9)"});
  const int data = log.Stack({"main (a.cc:2)", "Load (d.cc:3)"});
  const int clone = log.Stack({"main (a.cc:3)", "Average (e.cc:4)"});
  const int zeros = log.Stack({"main (a.cc:4)", "Moments (e.cc:5)", "at::zeros_like (z.cc:1)"});
  const int forward = log.Stack({"main (a.cc:5)", "Model::Forward (m.cc:6)"});
  const int backward = log.Stack({"main (a.cc:6)", "Model::Backward (m.cc:7)"});
  std::vector<Category> wanted;
  std::uint64_t address = 0x1000000;
  const auto make = [&](std::uint64_t bytes, int stack, Category category) {
    address += 0x1000000;
    log.Alloc(Layer::kBlock, address, bytes, {.stack = stack});
    wanted.push_back(category);
    return address;
  };
  make(kData, data, Category::kInputs);
  make(kWeight, weight, Category::kParameters);
  make(kWeight, clone, Category::kParameters);
  make(kWeight, zeros, Category::kOptimizerState);
  for (int step = 0; step < 6; ++step) {
    log.Step(static_cast<std::uint64_t>(step));
    const std::uint64_t kept = make(70'000, forward, Category::kActivations);
    const std::uint64_t passing = make(60'000, backward, Category::kTemporaries);
    const std::uint64_t gradient = make(kWeight, backward, Category::kGradients);
    log.Free(Layer::kBlock, passing);
    log.Free(Layer::kBlock, kept);
    if (step < 5) log.Free(Layer::kBlock, gradient);
  }
  const auto session = LoadLog(log);
  Symbols symbols(session);
  const Categories categories(*session, &symbols);
  for (std::uint32_t i = 0; i < wanted.size(); ++i)
    EXPECT_EQ(categories.Of(AllocationId(i)).category, wanted[i]) << i;
}

// Parameters with names that suggest nothing, or something else.
TEST(NamedStateTest, ParametersAreWhatTheProgramCallsSo) {
  LogBuilder log;
  std::uint64_t address = 0x1000;
  const auto block = [&](const char* name, bool named_as_parameter) {
    log.Alloc(Layer::kBlock, address, 512);
    if (named_as_parameter) log.RangePush("memprof: parameters");
    if (*name != '\0') log.TensorCreate(address, 512, log.Tensor(name, "float32", {128}));
    if (named_as_parameter) log.RangePop();
    address += 512;
  };
  block("places", true);
  block("momentum_encoder.input", true);
  block("", false);  // live from set-up on, but not a parameter
  log.Step(0);
  block("places.grad", false);
  block("places.row_var", false);
  block("momentum_encoder.input.exp_avg", false);
  block("other.grad", false);
  log.Step(1);
  log.Step(2);
  const auto session = LoadLog(log);
  ASSERT_NE(session, nullptr);
  const Categories categories(*session);
  std::vector<Category> found;
  for (std::uint32_t i = 0; i < session->records().size(); ++i)
    if (session->record(AllocationId(i)).layer == Layer::kBlock)
      found.push_back(categories.Of(AllocationId(i)).category);
  EXPECT_THAT(found, ::testing::ElementsAre(Category::kParameters, Category::kParameters,
                                            Category::kUnknown, Category::kGradients,
                                            Category::kOptimizerState, Category::kOptimizerState,
                                            Category::kTemporaries));
}

TEST(CategoriesTest, SumsCloseToTheBytesOfTheDevice) {
  for (std::uint32_t seed = 1; seed <= 8; ++seed) {
    testing::RandomLog log({.seed = seed});
    const auto session = LoadLog(log.builder());
    const Categories categories(*session);
    const auto events = static_cast<std::uint32_t>(session->events().size());
    for (std::uint32_t e = 0; e < events; e += 37) {
      for (int device = 0; device < 2; ++device) {
        std::uint64_t on_device = 0;
        for (const AllocationId id : session->LiveAfter(EventId(e))) {
          const AllocationRecord& a = session->record(id);
          if (a.device == device && OccupiesDevice(a.layer)) on_device += a.bytes;
        }
        const CategoryTotals totals = categories.At(device, EventId(e));
        EXPECT_EQ(totals.total(), on_device) << "seed " << seed << " event " << e;
        std::uint64_t of_sites = 0;
        for (const CategorySite& site : totals.sites) of_sites += site.bytes;
        EXPECT_EQ(of_sites + totals.bytes[static_cast<std::size_t>(Category::kSlack)], on_device);
        for (const double confidence : totals.confidence) {
          EXPECT_GE(confidence, 0);
          EXPECT_LE(confidence, 1);
        }
      }
    }
  }
}

TEST(CategoriesTest, SlackIsWhatNoBlockHas) {
  LogBuilder log;
  log.Device(0, 1 << 30);
  log.Alloc(Layer::kLinear, 0x100000, 1 << 20);
  log.Alloc(Layer::kSegment, 0x100000, 1 << 20);
  log.Alloc(Layer::kBlock, 0x100000, 4096);
  log.Alloc(Layer::kPinned, 0x9000000, 777, {.device = kNoDevice});
  const auto session = LoadLog(log);
  const Categories categories(*session);
  const CategoryTotals totals = categories.At(0, EventId(3));
  EXPECT_EQ(totals.bytes[static_cast<std::size_t>(Category::kSlack)], (1u << 20) - 4096u);
  EXPECT_EQ(totals.total(), 1u << 20);
  EXPECT_EQ(categories.Of(AllocationId(0)).category, Category::kSlack);
  EXPECT_EQ(categories.Of(AllocationId(3)).category, Category::kUnknown);
  EXPECT_EQ(categories.At(1, EventId(3)).total(), 0u);
  EXPECT_EQ(categories.At(0, EventId()).total(), 0u);
}

TEST(CategoriesTest, TensorsOfOneDriverAllocationAreJudgedOneByOne) {
  LogBuilder log;
  log.Device(0, 1 << 30);
  log.Alloc(Layer::kLinear, 0x100000, 1 << 20);
  log.TensorCreate(0x100000, 1000, log.Tensor("a.weight", "float32", {250}));
  log.TensorCreate(0x101000, 2000, log.Tensor("a.weight.grad", "float32", {500}));
  const auto session = LoadLog(log);
  const CategoryTotals totals = Categories(*session).At(0, EventId(2));
  EXPECT_EQ(totals.bytes[static_cast<std::size_t>(Category::kParameters)], 1000u);
  EXPECT_EQ(totals.bytes[static_cast<std::size_t>(Category::kGradients)], 2000u);
  EXPECT_EQ(totals.total(), 1u << 20);
}

TEST(CategoriesTest, EmptyLog) {
  const auto session = LoadLog(LogBuilder());
  EXPECT_EQ(Categories(*session).At(0, EventId(0)).total(), 0u);
}

}  // namespace
}  // namespace memprof::analysis
