// Which requests of two runs correspond.
#include "analysis/footprint/internal/align.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "tests/support/random_log.h"

namespace memprof::analysis {
namespace {

using ::testing::ElementsAre;
using testing::LoadLog;
using testing::LogBuilder;

// The same code at other addresses has the same keys; different code has different keys.
TEST(StackKeysTest, AreThoseOfTheCode) {
  const auto keys = [](std::uint64_t bias, std::uint64_t offset, const std::string& build_id) {
    LogBuilder log;
    log::Definitions& definitions = log.definitions();
    log::Module* module = definitions.add_module();
    module->set_id(1);
    module->set_path("/opt/train");
    module->set_build_id(build_id);
    module->set_load_bias(bias);
    module->set_first_address(bias);
    module->set_end_address(bias + 0x100000);
    const int python = log.Stack({"main (a.py:1)", "f (a.py:2)"});
    log::StackTrie* trie = definitions.mutable_trie();
    const auto native = static_cast<int>(trie->first_id()) + trie->parent_size();
    trie->add_parent(static_cast<std::uint32_t>(python));
    trie->add_address_delta(static_cast<std::int64_t>(bias + offset));
    trie->add_module(1);
    trie->add_kind(log::FRAME_NATIVE);
    log.Alloc(Layer::kLinear, 0x1000, 64, {.stack = native});
    log.Alloc(Layer::kLinear, 0x2000, 64, {.stack = python});
    const auto session = LoadLog(log);
    const std::vector<std::uint64_t> all = StackKeys(*session);
    return std::pair(all[session->records()[0].stack.value],
                     all[session->records()[1].stack.value]);
  };
  const auto one = keys(0x400000, 0x1234, "id");
  EXPECT_EQ(one, keys(0x7f0000400000, 0x1234, "id"));
  EXPECT_NE(one.first, keys(0x400000, 0x1235, "id").first);
  EXPECT_NE(one.first, keys(0x400000, 0x1234, "other").first);
  EXPECT_EQ(one.second, keys(0x400000, 0x1235, "other").second);
  EXPECT_NE(one.first, one.second);
}

// Requests of a run as (step, site) pairs.
using Requests = std::vector<std::pair<int, int>>;

RequestKeys KeysOf(const Requests& requests) {
  LogBuilder log;
  int step = -1;
  std::uint64_t address = 0x10000;
  for (const auto& [at, site] : requests) {
    for (; step < at; ++step) log.Step(static_cast<std::uint64_t>(step + 1));
    log.Alloc(Layer::kLinear, address += 0x1000, 64,
              {.stack = log.Stack({"main (a.cc:1)", "F" + std::to_string(site) + " (f.cc:2)"})});
  }
  const auto session = LoadLog(log);
  std::vector<EventId> births;
  for (const AllocationRecord& record : session->records()) births.push_back(record.birth);
  return RequestKeys(*session, births);
}

// Brute force: the n-th request of a site and step corresponds to the n-th one of the same site and
// step.
TEST(MatchRequestsTest, PairsTheNthOfASiteInAStep) {
  std::mt19937_64 random(11);
  for (int round = 0; round < 20; ++round) {
    const auto draw = [&random] {
      Requests requests;
      for (int step = -1; step < 4; ++step) {
        const std::uint64_t count = 5 + random() % 10;
        for (std::uint64_t i = 0; i < count; ++i)
          requests.emplace_back(step, static_cast<int>(random() % 4));
      }
      return requests;
    };
    const Requests base = draw(), other = draw();
    const std::vector<std::uint32_t> match = MatchRequests(KeysOf(base), KeysOf(other));
    ASSERT_EQ(match.size(), base.size());
    const auto nth = [](const Requests& requests, std::size_t i) {
      std::size_t n = 0;
      for (std::size_t j = 0; j < i; ++j) n += requests[j] == requests[i];
      return n;
    };
    std::set<std::uint32_t> used;
    std::map<int, std::size_t> base_left, other_left;  // by step
    std::vector<std::uint32_t> expected(base.size(), kNoRequest);
    for (std::size_t i = 0; i < base.size(); ++i) {
      for (std::uint32_t j = 0; j < other.size(); ++j) {
        if (other[j] == base[i] && nth(other, j) == nth(base, i)) expected[i] = j;
      }
      if (expected[i] == kNoRequest) ++base_left[base[i].first];
      used.insert(expected[i]);
    }
    for (std::uint32_t j = 0; j < other.size(); ++j)
      if (!used.contains(j)) ++other_left[other[j].first];
    for (std::size_t i = 0; i < base.size(); ++i) {
      if (expected[i] != kNoRequest) {
        EXPECT_EQ(match[i], expected[i]);
      } else if (base_left[base[i].first] != other_left[base[i].first]) {
        const auto in = [&](int step) {
          const auto [at, site] = base[i];
          const std::pair<int, int> key = {at + step, site};
          std::size_t n = nth(base, i);
          for (std::uint32_t j = 0; j < other.size(); ++j)
            if (other[j] == key && n-- == 0) return j;
          return kNoRequest;
        };
        const bool absent = std::count(other.begin(), other.end(), base[i]) == 0;
        EXPECT_EQ(match[i], !absent ? kNoRequest : in(1) != kNoRequest ? in(1) : in(-1));
      } else {
        ASSERT_NE(match[i], kNoRequest);
        EXPECT_EQ(other[match[i]].first, base[i].first);
        EXPECT_FALSE(used.contains(match[i]));
      }
    }
  }
}

TEST(MatchRequestsTest, LeftOversOfAStepArePairedInOrder) {
  const RequestKeys base = KeysOf({{0, 1}, {0, 5}, {0, 2}, {0, 6}});
  const RequestKeys other = KeysOf({{0, 7}, {0, 1}, {0, 8}, {0, 2}});
  EXPECT_THAT(MatchRequests(base, other), ElementsAre(1, 0, 3, 2));
}

// The first run's steps begin before the loading of a batch (site 1), the second's after it.
TEST(MatchRequestsTest, StepsMayBeginElsewhere) {
  const RequestKeys base = KeysOf({{-1, 9}, {-1, 1}, {0, 2}, {0, 1}, {1, 2}});
  const RequestKeys other = KeysOf({{-1, 9}, {0, 1}, {0, 2}, {1, 1}, {1, 2}});
  EXPECT_THAT(MatchRequests(base, other), ElementsAre(0, 1, 2, 1, 4));
}

TEST(MatchRequestsTest, StepsThatTheOtherDidNotComeToAreLikeItsLast) {
  const RequestKeys base = KeysOf({{-1, 1}, {0, 1}, {1, 1}, {2, 1}, {2, 1}, {2, 9}});
  const RequestKeys other = KeysOf({{-1, 1}, {0, 1}, {1, 1}});
  EXPECT_THAT(MatchRequests(base, other), ElementsAre(0, 1, 2, 2, kNoRequest, kNoRequest));
}

}  // namespace
}  // namespace memprof::analysis
