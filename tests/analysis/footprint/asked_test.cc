// Requests that are the same in several steps.
#include "analysis/footprint/internal/asked.h"

#include <gtest/gtest.h>

#include "tests/support/random_log.h"

namespace memprof::analysis {
namespace {

// Steps 0 and 1 agree on the first request of the site; the second ones contradict each other.
TEST(NarrowByStepsTest, StepsThatAgreeNarrowEachOther) {
  testing::LogBuilder log;
  std::vector<AskedBytes> asked;
  const auto request = [&](AskedBytes bytes) {
    log.Alloc(Layer::kLinear, 0x10000 + 0x1000 * asked.size(), 64,
              {.stack = log.Stack({"main (a.cc:1)", "F (f.cc:2)"})});
    asked.push_back(bytes);
  };
  request({1, 50});
  log.Step(0);
  request({10, 100});
  request({10, 20});
  log.Step(1);
  request({40, 200});
  request({30, 40});
  const auto session = testing::LoadLog(log);
  std::vector<EventId> births;
  for (const AllocationRecord& record : session->records()) births.push_back(record.birth);
  std::vector<std::uint64_t> all;
  for (const AskedBytes& one : NarrowBySteps(asked, RequestKeys(*session, births))) {
    all.push_back(one.least);
    all.push_back(one.most);
  }
  EXPECT_EQ(all, (std::vector<std::uint64_t>{1, 50, 40, 100, 10, 20, 40, 100, 30, 40}));
}

}  // namespace
}  // namespace memprof::analysis
