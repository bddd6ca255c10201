// Peaks without groups of memory: groups and figures against plain loops on random logs.
#include "analysis/peak/without.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <set>
#include <tuple>

#include "analysis/store/allocation_set.h"
#include "tests/support/random_log.h"

namespace memprof::analysis {
namespace {

using testing::LoadLog;
using testing::LogBuilder;
using testing::RandomLog;

bool Alive(const AllocationRecord& a, std::uint32_t event) {
  return a.birth.value <= event && (!a.death.valid() || event < a.death.value);
}

// The maximum of (device, of) without the allocations for which `gone` is true, and when it first
// occurs.
NewPeak PeakWithout(const Session& session, int device, PeakLayer of,
                    const std::function<bool(std::uint32_t)>& gone) {
  NewPeak peak;
  const auto records = session.records();
  for (std::uint32_t e = 0; e < session.events().size(); ++e) {
    std::uint64_t sum = 0;
    for (std::uint32_t i = 0; i < records.size(); ++i)
      if (records[i].device == device && PeakLayerOf(records[i].layer) == of && !gone(i) &&
          Alive(records[i], e))
        sum += records[i].bytes;
    if (sum > peak.bytes) peak = {sum, EventId(e)};
  }
  return peak;
}

struct Loaded {
  std::shared_ptr<const Session> session;
  std::unique_ptr<Symbols> symbols;
  std::unique_ptr<Categories> categories;

  explicit Loaded(const LogBuilder& log)
      : session(LoadLog(log)),
        symbols(std::make_unique<Symbols>(session)),
        categories(std::make_unique<Categories>(*session, symbols.get())) {}

  WithoutRanking Rank(const WithoutOptions& options) const {
    return RankWithout(*session, *symbols, categories.get(), options);
  }
};

class RandomWithout : public ::testing::TestWithParam<std::uint32_t> {
 protected:
  RandomWithout() : loaded_(RandomLog({.seed = GetParam(), .operations = 150}).builder()) {}

  // Checks every row against loops. `key` returns the group of an allocation, `row_key` that of a
  // row.
  template <typename Key>
  void ExpectRows(const WithoutOptions& options, const WithoutRanking& got, const Key& key,
                  const std::function<decltype(key(0))(const WithoutRow&)>& row_key) {
    const Session& session = *loaded_.session;
    const auto records = session.records();
    std::map<decltype(key(0)), std::set<std::uint32_t>> groups;
    for (std::uint32_t i = 0; i < records.size(); ++i) {
      if (records[i].device != options.device || PeakLayerOf(records[i].layer) != got.of) continue;
      if (options.passing == nullptr || options.passing->Has(AllocationId(i)))
        groups[key(i)].insert(i);
    }
    ASSERT_EQ(got.rows.size(), groups.size());
    const NewPeak before =
        PeakWithout(session, options.device, got.of, [](std::uint32_t) { return false; });
    EXPECT_EQ(got.peak.bytes, before.bytes);
    std::set<std::uint32_t> all;
    for (const WithoutRow& row : got.rows) {
      ASSERT_TRUE(groups.contains(row_key(row)));
      const std::set<std::uint32_t>& members = groups[row_key(row)];
      all.insert(members.begin(), members.end());
      const NewPeak want = PeakWithout(session, options.device, got.of,
                                       [&](std::uint32_t i) { return members.contains(i); });
      EXPECT_EQ(row.saving.without.bytes, want.bytes);
      EXPECT_EQ(row.saving.without.event, want.event);
      EXPECT_EQ(row.saving.saves_bytes, before.bytes - want.bytes);
      EXPECT_EQ(row.allocations, members.size());
      std::uint64_t at_peak = 0;
      for (const std::uint32_t i : members)
        if (Alive(records[i], before.event.value)) at_peak += records[i].bytes;
      EXPECT_EQ(row.at_peak, at_peak);
    }
    const NewPeak none = PeakWithout(session, options.device, got.of,
                                     [&](std::uint32_t i) { return all.contains(i); });
    EXPECT_EQ(got.all.without.bytes, none.bytes);
    EXPECT_TRUE(std::is_sorted(got.rows.begin(), got.rows.end(), [](const auto& a, const auto& b) {
      return a.saving.saves_bytes > b.saving.saves_bytes;
    }));
  }

  using Place = std::tuple<std::string, std::string, int>;
  Place PlaceOf(std::uint32_t i) const {
    const StackId stack = loaded_.session->records()[i].stack;
    if (!stack.valid()) return {};
    const SourceFrame site = loaded_.symbols->Site(stack);
    return {site.function, site.file, site.line};
  }
  static Place PlaceOfRow(const WithoutRow& row) {
    return {row.site.function, row.site.file, row.site.line};
  }

  Loaded loaded_;
};

TEST_P(RandomWithout, Sites) {
  for (const PeakLayer of : {PeakLayer::kBlocks, PeakLayer::kDriver}) {
    const WithoutOptions options{.device = 1, .of = of};
    const WithoutRanking got = loaded_.Rank(options);
    EXPECT_TRUE(got.has_blocks && got.has_driver);
    EXPECT_EQ(got.of, of);
    ExpectRows(
        options, got, [this](std::uint32_t i) { return PlaceOf(i); }, PlaceOfRow);
    for (std::uint32_t i = 0; i < loaded_.session->records().size(); ++i) {
      const AllocationRecord& a = loaded_.session->records()[i];
      if (a.device != 1 || PeakLayerOf(a.layer) != of || !a.stack.valid()) continue;
      ASSERT_LT(got.row_of[a.stack.value], got.rows.size());
      EXPECT_EQ(PlaceOfRow(got.rows[got.row_of[a.stack.value]]), PlaceOf(i));
    }
  }
}

TEST_P(RandomWithout, OnlyWhatPasses) {
  std::vector<bool> chosen(loaded_.session->records().size());
  for (std::size_t i = 0; i < chosen.size(); ++i) chosen[i] = i % 3 == 0;
  const AllocationSet passing(chosen);
  const WithoutOptions options{.device = 0, .of = PeakLayer::kBlocks, .passing = &passing};
  ExpectRows(
      options, loaded_.Rank(options), [this](std::uint32_t i) { return PlaceOf(i); }, PlaceOfRow);
}

TEST_P(RandomWithout, Categories) {
  const WithoutOptions options{.device = 0, .of = PeakLayer::kBlocks, .by = WithoutBy::kCategory};
  ExpectRows(
      options, loaded_.Rank(options),
      [this](std::uint32_t i) { return loaded_.categories->Of(AllocationId(i)).category; },
      [](const WithoutRow& row) { return row.category; });
}

TEST_P(RandomWithout, LayersAreOfDriverMemory) {
  const WithoutOptions options{.device = 1, .of = PeakLayer::kBlocks, .by = WithoutBy::kLayer};
  const WithoutRanking got = loaded_.Rank(options);
  EXPECT_EQ(got.of, PeakLayer::kDriver);
  ExpectRows(
      options, got, [this](std::uint32_t i) { return loaded_.session->records()[i].layer; },
      [](const WithoutRow& row) { return row.layer; });
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomWithout, ::testing::Range(1u, 6u));

TEST(WithoutTest, TensorsOfOneNameGoWithTheirBlocks) {
  LogBuilder log;
  log.Device(0, 1 << 30);
  log.Alloc(Layer::kSegment, 0x1000000, 1 << 20);
  const auto block = [&log](std::uint64_t address, std::uint64_t bytes, const std::string& name) {
    log.Alloc(Layer::kBlock, address, bytes);
    log.TensorCreate(address, bytes, log.Tensor(name, "fp32", {4, 8}));
  };
  block(0x1000000, 4096, "weight");
  block(0x1002000, 8192, "weight");
  block(0x1008000, 2048, "");
  const Loaded loaded(log);
  const WithoutRanking got = loaded.Rank({.device = 0, .by = WithoutBy::kTensor});
  EXPECT_EQ(got.of, PeakLayer::kBlocks);
  EXPECT_EQ(got.peak.bytes, 4096u + 8192 + 2048);
  ASSERT_EQ(got.rows.size(), 2u);
  EXPECT_EQ(got.rows[0].tensor, "weight  fp32[4×8]");
  EXPECT_EQ(got.rows[0].allocations, 2u);
  EXPECT_EQ(got.rows[0].saving.saves_bytes, 4096u + 8192);
  EXPECT_EQ(got.rows[0].saving.without.bytes, 2048u);
  EXPECT_EQ(got.rows[1].tensor, "unnamed tensors  fp32[4×8]");
  EXPECT_EQ(got.rows[1].saving.saves_bytes, 2048u);
  EXPECT_EQ(got.all.without.bytes, 0u);
}

TEST(WithoutTest, NothingOnThatDevice) {
  LogBuilder log;
  log.Device(0, 1 << 30);
  log.Alloc(Layer::kLinear, 0x1000, 4096);
  const Loaded loaded(log);
  for (const WithoutBy by :
       {WithoutBy::kSite, WithoutBy::kCategory, WithoutBy::kLayer, WithoutBy::kTensor}) {
    const WithoutRanking got = loaded.Rank({.device = 7, .by = by});
    EXPECT_TRUE(got.rows.empty());
    EXPECT_EQ(got.peak.bytes, 0u);
    EXPECT_FALSE(got.has_blocks || got.has_driver);
  }
  EXPECT_FALSE(loaded.Rank({.device = 0}).has_blocks);
  EXPECT_EQ(loaded.Rank({.device = 0, .of = PeakLayer::kDriver}).rows.size(), 1u);
}

TEST(WithoutTest, WithoutCategoriesEverythingIsUnknown) {
  const Loaded loaded(RandomLog({.seed = 2, .operations = 60}).builder());
  const WithoutRanking got = RankWithout(*loaded.session, *loaded.symbols, nullptr,
                                         {.device = 0, .by = WithoutBy::kCategory});
  ASSERT_EQ(got.rows.size(), 1u);
  EXPECT_EQ(got.rows[0].category, Category::kUnknown);
  EXPECT_EQ(got.rows[0].saving.saves_bytes, got.peak.bytes);
}

TEST(WithoutTest, ReportsNothingAfterAStopRequest) {
  const Loaded loaded(RandomLog({.seed = 2, .operations = 60}).builder());
  std::stop_source stop;
  stop.request_stop();
  EXPECT_TRUE(loaded.Rank({.device = 0, .stop = stop.get_token()}).rows.empty());
}

}  // namespace
}  // namespace memprof::analysis
