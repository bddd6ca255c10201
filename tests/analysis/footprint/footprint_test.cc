// Predictions against programs whose memory with any input is known, and the parts: fits against
// the laws that made the numbers, alignment against a search of everything.
#include "analysis/footprint/footprint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "analysis/footprint/internal/align.h"
#include "analysis/symbols/symbols.h"
#include "tests/support/random_log.h"
#include "tests/support/toy_program.h"

namespace memprof::analysis {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::LoadLog;
using testing::LogBuilder;
using testing::RunToy;
using testing::ToyPeaks;
using testing::ToyProgram;

std::string Message(const absl::Status& status) {
  return {status.message().data(), status.message().size()};
}

FootprintInput Record(const ToyProgram& program, std::uint64_t batch) {
  LogBuilder log;
  RunToy(program, batch, &log);
  return {LoadLog(log), batch};
}

std::vector<Footprint> Build(const ToyProgram& program, const std::vector<std::uint64_t>& sizes) {
  std::vector<FootprintInput> inputs;
  for (const std::uint64_t size : sizes) inputs.push_back(Record(program, size));
  auto footprints = BuildFootprints(inputs);
  EXPECT_TRUE(footprints.ok()) << Message(footprints.status());
  return footprints.ok() ? *std::move(footprints) : std::vector<Footprint>();
}

TEST(FitSizeTest, FindsTheLawThatMadeTheNumbers) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 200; ++round) {
    const std::uint64_t fixed = random() % 1'000'000, unit = 1 + random() % 100'000,
                        square = 300 + random() % 1000;
    const auto at = [&](std::uint64_t b, bool line, bool parabola) {
      return fixed + (line ? unit * b : 0) + (parabola ? square * b * b : 0);
    };
    std::vector<std::uint64_t> sizes = {2, 4, 7, 16};
    std::shuffle(sizes.begin(), sizes.end(), random);
    for (const auto& [line, parabola, growth] :
         {std::tuple{false, false, Growth::kConstant}, std::tuple{true, false, Growth::kLinear},
          std::tuple{true, true, Growth::kQuadratic},
          std::tuple{false, true, Growth::kQuadratic}}) {
      std::vector<SizeObservation> seen;
      for (const std::uint64_t b : sizes) seen.push_back({b, at(b, line, parabola)});
      const SizeModel model = FitSize(seen);
      ASSERT_EQ(model.growth, growth);
      EXPECT_NEAR(static_cast<double>(model.At(100)), static_cast<double>(at(100, line, parabola)),
                  1);
      EXPECT_NEAR(static_cast<double>(model.At(1)), static_cast<double>(at(1, line, parabola)), 1);
    }
  }
}

TEST(FitSizeTest, TwoSizesMakeALineOfWholeBytesFromNothing) {
  EXPECT_EQ(FitSize({{4, 1000}, {8, 1400}}).growth, Growth::kLinear);
  EXPECT_EQ(FitSize({{4, 1000}, {8, 1400}}).At(16), 2200u);
  EXPECT_EQ(FitSize({{4, 400}, {8, 800}}).growth, Growth::kLinear);       // 0 with nothing
  EXPECT_EQ(FitSize({{4, 1000}, {8, 1401}}).growth, Growth::kIrregular);  // a quarter of a byte
  EXPECT_EQ(FitSize({{4, 399}, {8, 800}}).growth, Growth::kIrregular);    // less than nothing
  EXPECT_EQ(FitSize({{8, 1400}, {4, 1000}}).At(6), 1200u);
  EXPECT_EQ(FitSize({{4, 1000}}).growth, Growth::kUnknown);
  EXPECT_EQ(FitSize({{4, 1000}, {4, 2000}}).growth, Growth::kUnknown);
  EXPECT_EQ(FitSize({{4, 1000}, {4, 2000}}).At(77), 1500u);
}

TEST(FitSizeTest, RoundedSizesAreStillLines) {
  std::vector<SizeObservation> seen;
  for (const std::uint64_t b : {3u, 5u, 9u, 20u})
    seen.push_back({b, (b * 12'345 + 511) / 512 * 512});
  EXPECT_EQ(FitSize(seen).growth, Growth::kLinear);
  EXPECT_NEAR(static_cast<double>(FitSize(seen).At(40)), 40 * 12'345.0, 1024);
}

TEST(FitSizeTest, WithoutALawItGoesFromPointToPoint) {
  const SizeModel model = FitSize({{10, 5000}, {20, 20'000}, {30, 10'000}, {40, 12'000}});
  EXPECT_EQ(model.growth, Growth::kIrregular);
  EXPECT_EQ(model.At(10), 5000u);
  EXPECT_EQ(model.At(15), 12'500u);
  EXPECT_EQ(model.At(25), 15'000u);
  EXPECT_EQ(model.At(50), 14'000u);
  EXPECT_EQ(model.At(1), 1u);  // the line would be below nothing
  // Growing ever slower is no law either, though a parabola would go through three points.
  EXPECT_EQ(FitSize({{10, 100'000}, {20, 150'000}, {40, 180'000}}).growth, Growth::kIrregular);
}

// The same code at other addresses has the same keys; other code has others.
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

// By brute force: the n-th request of a site and step with the n-th of the same.
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
        EXPECT_EQ(match[i], kNoRequest);
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

TEST(MatchRequestsTest, StepsThatTheOtherDidNotComeToAreLikeItsLast) {
  const RequestKeys base = KeysOf({{-1, 1}, {0, 1}, {1, 1}, {2, 1}, {2, 1}, {2, 9}});
  const RequestKeys other = KeysOf({{-1, 1}, {0, 1}, {1, 1}});
  EXPECT_THAT(MatchRequests(base, other), ElementsAre(0, 1, 2, 2, kNoRequest, kNoRequest));
}

// With the largest of three left out, two are left, through which a line goes that is too low.
TEST(FootprintTest, AChecksRunIsLeftOut) {
  ToyProgram program;
  program.requests = {{.site = 1, .per_square = 100'000, .lives = 5}};
  const auto footprints = Build(program, {4, 8, 12});
  ASSERT_EQ(footprints.size(), 1u);
  const FootprintRun& run = footprints[0].runs()[2];
  EXPECT_EQ(footprints[0].Predict(12).peaks.requested, run.recorded.requested);
  EXPECT_EQ(run.recorded.requested, 14'400'000u);
  EXPECT_EQ(run.check.peaks.requested, 11'200'000u);
}

// The heart: any program of such a kind, any allocator, any size, to the byte.
TEST(FootprintTest, PredictsWhatAProgramTakes) {
  for (std::uint32_t seed = 1; seed <= 12; ++seed) {
    ToyProgram program = ToyProgram::Random(seed);
    program.caching = seed % 3 != 0;
    program.empties = seed % 4 == 1;
    if (program.caching && seed % 2 == 0) {
      program.outside_fixed = 3'000'000;
      program.outside_per_unit = 10'000;
    }
    const auto footprints = Build(program, {4, 8});
    ASSERT_EQ(footprints.size(), 1u);
    EXPECT_FALSE(footprints[0].uncertain());
    EXPECT_EQ(footprints[0].HasAllocator(), program.caching);
    for (const std::uint64_t size : {1u, 5u, 8u, 16u, 40u}) {
      const FootprintPrediction prediction = footprints[0].Predict(size);
      const ToyPeaks truth = RunToy(program, size, nullptr);
      EXPECT_EQ(prediction.peaks.driver, truth.driver) << seed << " " << size;
      EXPECT_EQ(prediction.peaks.requested, truth.requested) << seed << " " << size;
      EXPECT_TRUE(!program.caching || prediction.peaks.reserved == truth.reserved) << seed;
      EXPECT_TRUE(prediction.fits);
      EXPECT_EQ(prediction.base, size < 6 ? 4u : 8u);
    }
  }
}

TEST(FootprintTest, ThreeSizesShowSquares) {
  for (const std::uint32_t seed : {21u, 22u, 23u}) {
    const ToyProgram program = ToyProgram::Random(seed, true);
    const auto footprints = Build(program, {4, 8, 12});
    ASSERT_EQ(footprints.size(), 1u);
    EXPECT_GT(footprints[0].growth().quadratic, 0u);
    EXPECT_EQ(footprints[0].growth().irregular, 0u);
    for (const std::uint64_t size : {2u, 20u}) {
      EXPECT_EQ(footprints[0].Predict(size).peaks.reserved, RunToy(program, size, nullptr).reserved)
          << seed << " " << size;
    }
  }
}

TEST(FootprintTest, RunsTellWhatWasRecordedAndHowWellItIsUnderstood) {
  const ToyProgram program = ToyProgram::Random(31);
  const auto footprints = Build(program, {12, 4, 8});
  ASSERT_EQ(footprints.size(), 1u);
  const auto& runs = footprints[0].runs();
  ASSERT_EQ(runs.size(), 3u);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    EXPECT_EQ(runs[i].batch, 4 * (i + 1));  // by size
    const ToyPeaks truth = RunToy(program, runs[i].batch, nullptr);
    EXPECT_EQ(runs[i].recorded.reserved, truth.reserved);
    EXPECT_EQ(runs[i].recorded.driver, truth.driver);
    EXPECT_EQ(runs[i].recorded.requested, truth.requested);
    EXPECT_EQ(runs[i].replayed.reserved, truth.reserved);
    EXPECT_EQ(runs[i].matched, runs[i].requests);
    EXPECT_TRUE(runs[i].checked);
    EXPECT_EQ(runs[i].check.peaks.reserved, truth.reserved);
    EXPECT_NE(runs[i].check.base, runs[i].batch);
  }
  // Of two sizes, leaving one out leaves too few.
  const std::vector<Footprint> two = Build(program, {4, 8});
  for (const FootprintRun& run : two[0].runs()) EXPECT_FALSE(run.checked);
}

TEST(FootprintTest, SitesAddUpToWhatIsLiveAtTheHighestPoint) {
  ToyProgram program;
  program.steps = 2;
  program.requests = {{.site = 1, .fixed = 5000, .lives = 9},
                      {.site = 2, .per_unit = 1000, .fixed = 24, .lives = 9},
                      {.site = 2, .per_unit = 1000, .fixed = 24, .lives = 9},
                      {.site = 3, .per_unit = 1, .lives = 1},
                      {.site = 4, .per_unit = 10, .lives = 1}};
  const auto footprints = Build(program, {10, 20});
  ASSERT_EQ(footprints.size(), 1u);
  const auto& sites = footprints[0].sites();
  ASSERT_EQ(sites.size(), 3u);  // of the last two only the larger is live with the others
  EXPECT_EQ(sites[0].bytes, 2 * (20'000u + 24));
  EXPECT_EQ(sites[0].requests, 2u);
  EXPECT_EQ(sites[0].growth, Growth::kLinear);
  EXPECT_NEAR(sites[0].per_unit, 2000, 1e-6);
  EXPECT_NEAR(sites[0].fixed, 48, 1e-6);
  EXPECT_EQ(sites[1].bytes, 5000u);
  EXPECT_EQ(sites[1].growth, Growth::kConstant);
  EXPECT_EQ(sites[2].bytes, 200u);
  EXPECT_EQ(footprints[0].growth().constant, 2u);
  EXPECT_EQ(footprints[0].growth().linear, 8u);
}

TEST(FootprintTest, RequestsOfOneRunOnlyAreCountedAsTheyAre) {
  ToyProgram program;
  program.requests = {{.site = 1, .per_unit = 10'000, .lives = 5},
                      {.site = 2, .fixed = 7000, .lives = 5, .only_above = true}};
  const auto footprints = Build(program, {8, 16});
  ASSERT_EQ(footprints.size(), 1u);
  EXPECT_EQ(footprints[0].growth().unknown, 3u);
  EXPECT_EQ(footprints[0].runs()[0].matched, 3u);
  EXPECT_EQ(footprints[0].runs()[1].matched, 3u);
  EXPECT_EQ(footprints[0].runs()[1].requests, 6u);
  EXPECT_EQ(footprints[0].Predict(32).peaks.requested, 32 * 10'000u + 7000);
  EXPECT_EQ(footprints[0].Predict(4).peaks.requested, 4 * 10'000u);  // as with 8
}

// A request that was refused is one like the others: its size is fitted by its pair, and those
// after it keep theirs.
TEST(FootprintTest, RefusedRequestsHaveTheirPlace) {
  std::vector<std::shared_ptr<const Session>> sessions;
  for (const std::uint64_t batch : {4u, 8u}) {
    LogBuilder log;
    log.Device(0, 64 << 20);
    log.Step(0);
    log.Alloc(Layer::kLinear, 0x1000000, batch << 20, {.stack = log.Stack({"First (a.cc:1)"})});
    const int second = log.Stack({"Second (a.cc:2)"});
    if (batch == 4)
      log.Alloc(Layer::kLinear, 0x4000000, batch * 1000, {.stack = second});
    else
      log.AllocFailed(Layer::kLinear, batch * 1000, {.stack = second, .result = 2});
    log.Alloc(Layer::kLinear, 0x5000000, batch << 10, {.stack = log.Stack({"Third (a.cc:3)"})});
    sessions.push_back(LoadLog(log));
  }
  const auto footprints = BuildFootprints({{sessions[0], 4}, {sessions[1], 8}}, nullptr);
  ASSERT_TRUE(footprints.ok());
  ASSERT_EQ(footprints->size(), 1u);
  const Footprint& footprint = footprints->front();
  EXPECT_EQ(footprint.runs()[1].matched, 3u);
  EXPECT_EQ(footprint.growth().linear, 3u);
  ASSERT_EQ(footprint.sites().size(), 2u);
  Symbols symbols(sessions[1]);
  EXPECT_EQ(symbols.Site(footprint.sites()[1].stack).function, "Third");
  EXPECT_EQ(footprint.sites()[1].bytes, 8u << 10);
}

// Against trying one size after the other.
TEST(FootprintTest, TheLargestThatFitsIsFound) {
  for (const std::uint32_t seed : {41u, 42u, 43u, 44u}) {
    const ToyProgram program = ToyProgram::Random(seed);
    const auto footprints = Build(program, {4, 8});
    ASSERT_EQ(footprints.size(), 1u);
    const std::uint64_t capacity = RunToy(program, 8, nullptr).reserved * 3;
    std::uint64_t fails = 1;
    while (!RunToy(program, fails, nullptr, capacity).failed) ++fails;
    const FootprintLimit limit = footprints[0].Largest(capacity);
    EXPECT_TRUE(limit.any);
    EXPECT_FALSE(limit.unbounded);
    // Allocators are not quite monotonic: another border may be found, but it is one.
    EXPECT_FALSE(RunToy(program, limit.batch, nullptr, capacity).failed) << seed;
    EXPECT_TRUE(RunToy(program, limit.batch + 1, nullptr, capacity).failed) << seed;
    EXPECT_GE(limit.batch + 1, fails);
    EXPECT_EQ(limit.at.batch, limit.batch);
    EXPECT_TRUE(limit.at.fits);
    EXPECT_GT(limit.at.held, capacity / 2) << seed;
    EXPECT_LE(limit.at.held, capacity) << "what fits is not above what there is";
    EXPECT_LE(limit.at.held, limit.at.peaks.driver);
    EXPECT_EQ(limit.beyond.held, 0u);
    EXPECT_EQ(limit.beyond.batch, limit.batch + 1);
    EXPECT_FALSE(limit.beyond.fits);
    EXPECT_GT(limit.beyond.failed_bytes, 0u);
    const FootprintLimit even = footprints[0].Largest(capacity, 2);
    EXPECT_EQ(even.batch % 2, 0u);
    EXPECT_LE(even.batch, limit.batch + 1);
    EXPECT_FALSE(footprints[0].Predict(even.batch + 2, capacity).fits);
  }
}

TEST(FootprintTest, LimitsThatAreNone) {
  ToyProgram constant;
  constant.requests = {{.site = 1, .fixed = 7000}};
  auto footprints = Build(constant, {4, 8});
  ASSERT_EQ(footprints.size(), 1u);
  EXPECT_TRUE(footprints[0].Largest(1 << 30).unbounded);
  const FootprintLimit none = footprints[0].Largest(1 << 20);  // less than one segment
  EXPECT_FALSE(none.any);
  EXPECT_EQ(none.batch, 0u);
  EXPECT_EQ(none.beyond.failed_bytes, 7000u);
  // What lies beside the allocator counts too.
  constant.outside_per_unit = 1 << 20;
  footprints = Build(constant, {4, 8});
  const FootprintLimit beside = footprints[0].Largest(std::uint64_t{100} << 20);
  EXPECT_EQ(beside.batch, 98u);
}

TEST(FootprintTest, SaysWhatIsMissing) {
  const ToyProgram program = ToyProgram::Random(51);
  const FootprintInput four = Record(program, 4), eight = Record(program, 8);
  const auto error = [](const std::vector<FootprintInput>& inputs) {
    const auto footprints = BuildFootprints(inputs);
    return footprints.ok() ? std::string("fine") : Message(footprints.status());
  };
  EXPECT_EQ(error({four, eight}), "fine");
  EXPECT_THAT(error({four}), HasSubstr("at least two different sizes"));
  EXPECT_THAT(error({four, four}), HasSubstr("at least two different sizes"));
  EXPECT_THAT(error({four, {eight.session, 0}}), HasSubstr("cannot be 0"));
  ToyProgram direct = program;
  direct.caching = false;
  EXPECT_THAT(error({four, Record(direct, 8)}), HasSubstr("another kind of allocator"));
  LogBuilder empty;
  EXPECT_THAT(error({four, {LoadLog(empty), 8}}), HasSubstr("no device in common"));
}

TEST(FootprintTest, AnAllocatorThatIsToldIsBelieved) {
  const ToyProgram program = ToyProgram::Random(52);
  const std::vector<FootprintInput> inputs = {Record(program, 4), Record(program, 8)};
  allocators::AllocatorSpec spec;
  spec.kind = allocators::AllocatorKind::kBfc;
  const auto footprints = BuildFootprints(inputs, &spec);
  ASSERT_TRUE(footprints.ok());
  EXPECT_EQ(footprints->at(0).spec(), spec);
  // It is not the one that was recorded, and that shows.
  EXPECT_TRUE(footprints->at(0).uncertain());
}

}  // namespace
}  // namespace memprof::analysis
