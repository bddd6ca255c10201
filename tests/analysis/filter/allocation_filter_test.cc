// Filters against a separate check of each condition, and their text forms.
#include "analysis/filter/allocation_filter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "analysis/store/allocation_set.h"
#include "tests/support/random_log.h"

namespace memprof::analysis {
namespace {

using ::testing::ElementsAre;
using testing::LoadLog;
using testing::LogBuilder;
using testing::RandomLog;

bool HasText(const Session& session, Symbols& symbols, const Allocation& a, AllocationId id,
             const std::string& text) {
  for (const SourceFrame& frame : symbols.ResolveStack(a.stack)) {
    if ((frame.function + "\n" + frame.file + "\n" + frame.module).find(text) != std::string::npos)
      return true;
  }
  const auto named = [&](const Allocation& tensor) {
    const TensorInfo* info = session.tensor(tensor.tensor);
    return info != nullptr && std::string(info->name).find(text) != std::string::npos;
  };
  if (named(a)) return true;
  for (const AllocationId child : session.Children(id)) {
    if (named(session.allocation(child))) return true;
  }
  return false;
}

bool Passes(const Session& session, Symbols& symbols, const Categories& categories,
            const AllocationFilter& filter, AllocationId id) {
  const Allocation a = session.allocation(id);
  const TimeNs end = std::max(session.run().end_time, session.events().last_time());
  const TimeNs lifetime = (a.death.valid() ? a.death_time : end) - a.birth_time;
  return (filter.layers & LayerBit(a.layer)) != 0 && (!filter.site || *filter.site == a.stack) &&
         (!filter.category || categories.Of(id).category == *filter.category) &&
         (!filter.stream || *filter.stream == a.stream) && a.bytes >= filter.least_bytes &&
         a.bytes <= filter.most_bytes && lifetime >= filter.least_lifetime &&
         lifetime <= filter.most_lifetime && (!filter.alive_at_end || !a.death.valid()) &&
         (filter.text.empty() || HasText(session, symbols, a, id, filter.text));
}

TEST(AllocationFilterTest, EqualsTheConditionsOneByOne) {
  RandomLog log({.seed = 5, .operations = 600});
  const auto session = LoadLog(log.builder());
  ASSERT_NE(session, nullptr);
  Symbols symbols(session);
  const Categories categories(*session, &symbols);
  std::mt19937 random(3);
  const auto some = [&] {
    return session->allocation(AllocationId(random() % session->records().size()));
  };
  int partly = 0;
  for (int i = 0; i < 300; ++i) {
    AllocationFilter filter;
    const auto perhaps = [&] { return random() % 5 == 0; };
    const Allocation a = some();
    if (perhaps()) filter.layers = static_cast<std::uint32_t>(random());
    if (perhaps()) filter.site = a.stack;
    if (perhaps()) filter.category = static_cast<Category>(random() % kCategoryCount);
    if (perhaps()) filter.stream = a.stream;
    if (perhaps()) filter.least_bytes = a.bytes;
    if (perhaps()) filter.most_bytes = a.bytes;
    if (perhaps())
      filter.least_lifetime = a.death_time == kForever ? 0 : a.death_time - a.birth_time;
    if (perhaps()) filter.most_lifetime = random() % 100'000;
    if (perhaps()) filter.alive_at_end = true;
    if (perhaps() && a.stack.valid()) {
      const auto frames = symbols.ResolveStack(a.stack);
      filter.text = frames[random() % frames.size()].function;
    }
    const AllocationSet set = Matching(*session, symbols, &categories, filter);
    std::size_t passed = 0;
    for (std::uint32_t id = 0; id < session->records().size(); ++id) {
      const bool want = Passes(*session, symbols, categories, filter, AllocationId(id));
      ASSERT_EQ(set.Has(AllocationId(id)), want) << "filter " << i << ", allocation " << id;
      passed += want;
    }
    partly += passed > 0 && passed < session->records().size();
  }
  EXPECT_GT(partly, 60) << "most filters let some allocations pass, but not all";
}

TEST(AllocationFilterTest, TextIsOfEitherCaseAndInTensorsToo) {
  LogBuilder log;
  const int stack = log.Stack({"main (train.py:1)", "Forward (model.py:7)"});
  log.Alloc(Layer::kLinear, 0x1000, 64, {.stack = stack});
  log.Alloc(Layer::kLinear, 0x2000, 64);
  log.TensorCreate(0x2000, 64, log.Tensor("layers.0.Weight", "fp32", {4, 4}));
  const auto session = LoadLog(log);
  ASSERT_NE(session, nullptr);
  Symbols symbols(session);
  const auto passes = [&](const std::string& text) {
    std::string ids;
    AllocationFilter filter;
    filter.text = text;
    const AllocationSet set = Matching(*session, symbols, nullptr, filter);
    for (std::uint32_t i = 0; i < set.size(); ++i) ids += set.Has(AllocationId(i)) ? '1' : '0';
    return ids;
  };
  EXPECT_EQ(passes("FORWARD"), "100");
  EXPECT_EQ(passes("model.PY"), "100");
  EXPECT_EQ(passes("weight"), "011") << "the tensor, and the memory that holds it";
  EXPECT_EQ(passes("nobody"), "000");
  EXPECT_FALSE(Matching(*session, symbols, nullptr, {}).Has(AllocationId(99)));
}

TEST(AllocationFilterTest, CategoriesThatAreNotKnownLetNothingPass) {
  LogBuilder log;
  log.Alloc(Layer::kLinear, 0x1000, 64);
  const auto session = LoadLog(log);
  ASSERT_NE(session, nullptr);
  Symbols symbols(session);
  AllocationFilter filter;
  filter.category = Category::kUnknown;
  EXPECT_FALSE(Matching(*session, symbols, nullptr, filter).Has(AllocationId(0)));
}

TEST(AllocationFilterTest, SaysEachConditionInWords) {
  LogBuilder log;
  const int stack = log.Stack({"main (train.py:1)", "Forward (model.py:7)"});
  log.Alloc(Layer::kLinear, 0x1000, 64, {.stack = stack});
  const auto session = LoadLog(log);
  ASSERT_NE(session, nullptr);
  Symbols symbols(session);
  EXPECT_TRUE(AllocationFilter().everything());
  EXPECT_THAT(DescribeFilter(*session, symbols, {}), ElementsAre());
  AllocationFilter filter;
  filter.text = "attn";
  filter.site = session->record(AllocationId(0)).stack;
  filter.category = Category::kGradients;
  filter.layers = LayerBit(Layer::kLinear) | LayerBit(Layer::kBlock);
  filter.stream = 7;
  filter.process = 0;
  filter.least_bytes = 1 << 20;
  filter.most_bytes = 1 << 30;
  filter.least_lifetime = 1'000'000;
  filter.most_lifetime = 2'000'000'000;
  filter.alive_at_end = true;
  EXPECT_FALSE(filter.everything());
  EXPECT_THAT(DescribeFilter(*session, symbols, filter),
              ElementsAre("\"attn\"", "Forward (model.py:7)", "gradients", "linear, block",
                          "stream 7", "process 1", "at least 1.00 MiB", "at most 1.00 GiB",
                          "lives at least 1.00 ms", "lives at most 2.00 s", "alive at the end"));
  filter.layers = 0;
  EXPECT_EQ(DescribeFilter(*session, symbols, filter)[3], "no layer");
}

}  // namespace
}  // namespace memprof::analysis
