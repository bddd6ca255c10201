// Advice about lifetimes on random programs, against a literal implementation of the rules in
// docs/advise.md: loops over all events for each allocation, and peaks of the rebuilt trace.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "tests/analysis/advice/scenario.h"

namespace memprof::analysis {
namespace {

using testing::Scenario;

// Random allocations, frees, launches, copies and memsets on raw driver memory.
void RandomProgram(Scenario& s, std::uint32_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::pair<std::uint64_t, std::uint64_t>> live;  // address, bytes
  const auto any = [&] { return live[random() % live.size()]; };
  for (int i = 0; i < 260; ++i) {
    const std::uint64_t what = random() % 10;
    if (live.size() < 3 || what < 2) {
      const std::uint64_t bytes = 1000 * (1 + random() % 4);
      live.emplace_back(s.Alloc("Site" + std::to_string(random() % 5), bytes), bytes);
    } else if (what < 4) {
      const auto at = live.begin() + static_cast<std::ptrdiff_t>(random() % live.size());
      s.Free(at->first);
      live.erase(at);
    } else if (what < 9) {
      s.Launch({any().first, any().first + 5});
    } else {
      s.Upload(any().first, 0x5000, 1 + random() % 900);
    }
  }
}

struct Life {
  std::uint32_t begin = 0, end = 0;
  std::uint64_t bytes = 0;
};

std::uint64_t PeakOfLives(const std::vector<Life>& lives, std::uint32_t events) {
  std::uint64_t peak = 0;
  for (std::uint32_t e = 0; e < events; ++e) {
    std::uint64_t sum = 0;
    for (const Life& life : lives)
      if (life.begin <= e && e < life.end) sum += life.bytes;
    peak = std::max(peak, sum);
  }
  return peak;
}

struct Expected {
  std::uint64_t count = 0, saves = 0;
  bool operator==(const Expected&) const = default;
};
using Answer = std::map<std::pair<Pattern, std::string>, Expected>;

class Reference {
 public:
  explicit Reference(const Scenario& s) : s_(s), session_(s.session()), events_(session_.events()) {
    count_ = static_cast<std::uint32_t>(events_.size());
    std::uint32_t launch = 0;
    uses_.resize(session_.records().size());
    for (std::uint32_t e = 0; e < count_; ++e) {
      if (events_.op(e) == Op::kLaunch) launch = e;
      if (events_.op(e) == Op::kTouch) Use(events_.address(e), e, launch);
      if (events_.op(e) == Op::kMemcpy) Use(events_.address(e), e, e);
    }
  }

  Answer Gaps() {
    for (std::uint32_t i = 0; i < uses_.size(); ++i) {
      const Life life = LifeOf(i);
      const auto& uses = uses_[i];
      if (uses.empty()) {
        Note(Pattern::kUnused, i, {life.begin, life.end, life.bytes});
        continue;
      }
      if (Count(Op::kLaunch, life.begin, uses.front()) > 0 &&
          Count(Op::kFree, life.begin, uses.front()) > 0)
        Note(Pattern::kEarlyAllocation, i, {life.begin, uses.front(), life.bytes});
      if (Count(Op::kLaunch, uses.back(), life.end) > 0 &&
          Count(Op::kAlloc, uses.back(), life.end) > 0)
        Note(Pattern::kLateRelease, i, {uses.back() + 1, life.end, life.bytes});
      for (std::size_t u = 0; u + 1 < uses.size(); ++u) {
        if (Count(Op::kLaunch, uses[u], uses[u + 1]) >= 10 &&
            Count(Op::kAlloc, uses[u], uses[u + 1]) > 0)
          Note(Pattern::kIdle, i, {uses[u] + 1, uses[u + 1], life.bytes});
      }
    }
    return Answers();
  }

 private:
  Life LifeOf(std::uint32_t i) const {
    const AllocationRecord& a = session_.records()[i];
    return {a.birth.value, a.death.valid() ? a.death.value : count_, a.bytes};
  }
  void Use(std::uint64_t address, std::uint32_t e, std::uint32_t at) {
    for (std::uint32_t i = 0; i < uses_.size(); ++i) {
      const AllocationRecord& a = session_.records()[i];
      const Life life = LifeOf(i);
      if (life.begin < e && e < life.end && a.address <= address && address < a.address + a.bytes)
        uses_[i].push_back(at);
    }
  }
  std::uint64_t Count(Op op, std::uint32_t after, std::uint32_t before) const {
    std::uint64_t count = 0;
    for (std::uint32_t e = after + 1; e < before; ++e) count += events_.op(e) == op;
    return count;
  }
  void Note(Pattern pattern, std::uint32_t i, Life away) {
    away_[{pattern, s_.SiteOf(session_.records()[i].stack)}].push_back(away);
  }
  // The peak of all lifetimes without the time spans in `away_`. A lifetime may be split into
  // several parts.
  Answer Answers() const {
    std::vector<Life> lives;
    for (std::uint32_t i = 0; i < uses_.size(); ++i) lives.push_back(LifeOf(i));
    const std::uint64_t before = PeakOfLives(lives, count_);
    Answer answer;
    for (const auto& [key, gone] : away_) {
      std::uint64_t peak = 0;
      for (std::uint32_t e = 0; e < count_; ++e) {
        std::uint64_t sum = 0, less = 0;
        for (const Life& life : lives)
          if (life.begin <= e && e < life.end) sum += life.bytes;
        for (const Life& life : gone)
          if (life.begin <= e && e < life.end) less += life.bytes;
        peak = std::max(peak, sum - less);
      }
      answer[key] = {gone.size(), before - peak};
    }
    return answer;
  }

  const Scenario& s_;
  const Session& session_;
  const EventTable& events_;
  std::uint32_t count_ = 0;
  std::vector<std::vector<std::uint32_t>> uses_;
  std::map<std::pair<Pattern, std::string>, std::vector<Life>> away_;
};

class AdviceTwin : public ::testing::TestWithParam<std::uint32_t> {};

TEST_P(AdviceTwin, FindsWhatTheRulesSay) {
  Scenario s;
  RandomProgram(s, GetParam());
  const AdviceReport report = s.Advice();
  const std::set<Pattern> judged = {Pattern::kUnused, Pattern::kEarlyAllocation,
                                    Pattern::kLateRelease, Pattern::kIdle};
  Answer got;
  for (const Finding& finding : report.findings) {
    if (!judged.contains(finding.pattern)) continue;
    got[{finding.pattern, s.SiteOf(finding.stack)}] = {finding.count, finding.saves_bytes};
  }
  const Answer want = Reference(s).Gaps();
  EXPECT_EQ(got.size(), want.size());
  std::uint64_t saved = 0;
  for (const auto& [key, expected] : want) {
    ASSERT_TRUE(got.contains(key)) << PatternName(key.first) << " at " << key.second;
    EXPECT_EQ(got[key].count, expected.count) << PatternName(key.first) << " at " << key.second;
    EXPECT_EQ(got[key].saves, expected.saves) << PatternName(key.first) << " at " << key.second;
    saved += expected.saves;
  }
  EXPECT_GT(saved, 0u);
}

// The reported saving of a finding never exceeds the peak.
TEST_P(AdviceTwin, NeverSavesMoreThanThereIs) {
  Scenario s;
  RandomProgram(s, GetParam() + 1000);
  const AdviceReport report = s.Advice();
  const PeakLevels levels(s.session());
  const std::uint64_t peak = levels.Find(0, PeakLayer::kDriver)->peak().bytes;
  int with_peak = 0;
  for (const Finding& finding : report.findings) {
    if (!finding.peak_of) continue;
    ++with_peak;
    EXPECT_LE(finding.saves_bytes, peak);
    EXPECT_EQ(finding.saves_bytes, peak - std::min(peak, finding.new_peak.bytes));
    EXPECT_LE(finding.new_peak.bytes, peak) << PatternName(finding.pattern);
  }
  EXPECT_GT(with_peak, 0);
}

INSTANTIATE_TEST_SUITE_P(Seeds, AdviceTwin, ::testing::Range(1u, 11u));

}  // namespace
}  // namespace memprof::analysis
