// Stacks with the same site as one place, and the peak without each place, against plain loops on
// random logs.
#include "analysis/peak/places.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "analysis/peak/peak.h"
#include "analysis/symbols/site_key.h"
#include "tests/support/random_log.h"

namespace memprof::analysis {
namespace {

using testing::LoadLog;
using testing::RandomLog;

class RandomPlaces : public ::testing::TestWithParam<std::uint32_t> {
 protected:
  RandomPlaces()
      : session_(LoadLog(RandomLog({.seed = GetParam(), .operations = 200}).builder())),
        symbols_(session_) {}

  Layer LayerOf(const Place& place) const { return session_->record(place.largest).layer; }

  std::shared_ptr<const Session> session_;
  Symbols symbols_;
};

TEST_P(RandomPlaces, StacksOfOneSiteAreOneAndLayersStayApart) {
  for (const Peak& peak : FindPeaks(*session_)) {
    std::map<std::pair<std::string, Layer>, std::uint64_t> bytes, blocks;
    for (const Site& site : peak.sites) {
      const auto key =
          std::pair(SiteKey(symbols_, site.stack), session_->record(site.largest).layer);
      bytes[key] += site.bytes;
      blocks[key] += site.blocks;
    }
    const std::vector<Place> places = JoinByPlace(symbols_, peak.sites, *session_);
    ASSERT_EQ(places.size(), bytes.size());
    for (const Place& place : places) {
      EXPECT_EQ(place.key, SiteKey(symbols_, place.stack));
      EXPECT_EQ(place.bytes, (bytes[{place.key, LayerOf(place)}]));
      EXPECT_EQ(place.blocks, (blocks[{place.key, LayerOf(place)}]));
    }
  }
}

TEST_P(RandomPlaces, ALayerWithoutARowCountsWithTheFirstOfItsSite) {
  const PeakSavings savings(*session_);
  const auto records = session_->records();
  for (const Peak& peak : FindPeaks(*session_)) {
    const std::vector<Place> places = JoinByPlace(symbols_, peak.sites, *session_);
    std::map<std::size_t, std::set<std::uint32_t>> gone;
    for (std::uint32_t i = 0; i < records.size(); ++i) {
      const std::string key = SiteKey(symbols_, records[i].stack);
      std::size_t row = places.size();
      for (std::size_t p = places.size(); p-- > 0;)
        if (places[p].key == key) row = p;
      for (std::size_t p = places.size(); p-- > 0;)
        if (places[p].key == key && LayerOf(places[p]) == records[i].layer) row = p;
      gone[row].insert(i);
    }
    const auto without =
        WithoutPlaces(*session_, symbols_, savings, peak.device, PeakLayer::kDriver, places);
    ASSERT_EQ(without.size(), places.size());
    for (std::size_t p = 0; p < places.size(); ++p) {
      std::uint64_t most = 0;
      for (std::uint32_t e = 0; e < session_->events().size(); ++e) {
        std::uint64_t sum = 0;
        for (std::uint32_t i = 0; i < records.size(); ++i) {
          const AllocationRecord& a = records[i];
          const bool live = a.birth.value <= e && (!a.death.valid() || e < a.death.value);
          if (live && a.device == peak.device && PeakLayerOf(a.layer) == PeakLayer::kDriver &&
              !gone[p].contains(i))
            sum += a.bytes;
        }
        most = std::max(most, sum);
      }
      EXPECT_EQ(without[p].without.bytes, most);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomPlaces, ::testing::Range(50u, 54u));

}  // namespace
}  // namespace memprof::analysis
