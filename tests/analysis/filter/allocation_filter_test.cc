// Filters against a separate check of each condition, and their text forms.
#include "analysis/filter/allocation_filter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "analysis/filter/filter_text.h"
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

// Only for texts whose terms are each in quotes.
bool PassesText(const Session& session, Symbols& symbols, const Allocation& a, AllocationId id,
                const std::string& text) {
  for (std::size_t at = 0; (at = text.find('"', at)) != std::string::npos;) {
    const std::size_t end = text.find('"', at + 1);
    const bool excluded = at > 0 && text[at - 1] == '-';
    if (HasText(session, symbols, a, id, text.substr(at + 1, end - at - 1)) == excluded)
      return false;
    at = end + 1;
  }
  return true;
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
         PassesText(session, symbols, a, id, filter.text);
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
    while (random() % 4 == 0) {
      const auto frames = symbols.ResolveStack(some().stack);
      if (frames.empty()) continue;
      filter.text += random() % 2 == 0 ? " -\"" : " \"";
      filter.text += frames[random() % frames.size()].function + '"';
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
  EXPECT_EQ(passes("main model.py"), "100");
  EXPECT_EQ(passes("main weight"), "000");
  EXPECT_EQ(passes("-weight"), "100");
  EXPECT_EQ(passes("-forward -weight"), "000");
  EXPECT_EQ(passes("-"), "111") << "while it is typed";
  EXPECT_FALSE(Matching(*session, symbols, nullptr, {}).Has(AllocationId(99)));
}

TEST(FilterTextTest, IsCutIntoTerms) {
  using Terms = std::vector<FilterTerm>;
  EXPECT_EQ(FilterTerms("conv -weight \"two words\""),
            (Terms{{"conv", false}, {"weight", true}, {"two words", false}}));
  EXPECT_EQ(FilterTerms("  -\"a b\"\t\"-c\" d-e  "),
            (Terms{{"a b", true}, {"-c", false}, {"d-e", false}}));
  EXPECT_EQ(FilterTerms("x \"not closed "), (Terms{{"x", false}, {"not closed ", false}}));
  for (const char* none : {"", "  ", "-", "- -", "\"\"", "-\"\"", "\""})
    EXPECT_TRUE(FilterTerms(none).empty()) << none;
  for (const std::string text : {"a", "-a", "two words", "operator new(unsigned long)"}) {
    for (const bool excluded : {false, true})
      EXPECT_EQ(FilterTerms(QuoteFilterTerm(text, excluded)), (Terms{{text, excluded}})) << text;
  }
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
  filter.text = "attn -mask";
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
  EXPECT_THAT(
      DescribeFilter(*session, symbols, filter),
      ElementsAre("\"attn\"", "not \"mask\"", "Forward (model.py:7)", "gradients", "linear, block",
                  "stream 7", "process 1", "at least 1.00 MiB", "at most 1.00 GiB",
                  "lives at least 1.00 ms", "lives at most 2.00 s", "alive at the end"));
  filter.layers = 0;
  EXPECT_EQ(DescribeFilter(*session, symbols, filter)[4], "no layer");
}

}  // namespace
}  // namespace memprof::analysis
