// Events of a trace and their rows in the log, against plain lists.
#include "analysis/allocators/trace_events.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace memprof::analysis::allocators {
namespace {

TEST(TraceEventsTest, AgainstAPlainList) {
  std::mt19937 random(1);
  TraceEvents events;
  std::vector<TraceEvent> plain;
  EXPECT_TRUE(events.empty());
  // Numbers around the limits of the packed form, and the largest possible ones.
  const std::vector<std::uint32_t> edges = {0,        1,          (1u << 28) - 2, (1u << 28) - 1,
                                            1u << 28, 0xfffffffe, 0xffffffff};
  for (int i = 0; i < 2000; ++i) {
    const auto op = static_cast<TraceOp>(random() % 9);
    const std::uint32_t number = random() % 3 == 0 ? edges[random() % edges.size()] : random();
    events.push_back({op, number});
    plain.push_back({op, number});
    EXPECT_EQ(events.back(), plain.back());
  }
  ASSERT_EQ(events.size(), plain.size());
  for (std::size_t i = 0; i < plain.size(); ++i) EXPECT_EQ(events[i], plain[i]) << i;
  std::vector<TraceEvent> walked;
  for (const TraceEvent& event : events) walked.push_back(event);
  EXPECT_EQ(walked, plain);
}

TEST(TraceEventsTest, RowsAgainstAPlainList) {
  std::mt19937 random(2);
  TraceRows rows;
  std::vector<std::uint32_t> plain;
  EXPECT_TRUE(rows.empty());
  std::uint32_t row = 300;  // the first row may be far from the beginning
  for (int i = 0; i < 500; ++i) {
    const std::size_t more = random() % 4;
    plain.insert(plain.end(), more, row);
    rows.FillUpTo(plain.size(), row);
    for (const std::uint32_t step : {0u, 1u, 253u, 254u, 255u, 256u, 1u << 20})
      if (random() % 7 == 0) row += step;
  }
  ASSERT_EQ(rows.size(), plain.size());
  TraceRows::Cursor every(rows), some(rows);
  for (std::size_t i = 0; i < plain.size(); ++i) {
    EXPECT_EQ(every.At(i), plain[i]) << i;
    EXPECT_EQ(every.At(i), plain[i]) << "a second query";
    if (i % 13 == 0) {
      EXPECT_EQ(some.At(i), plain[i]) << i;
    }
  }
}

}  // namespace
}  // namespace memprof::analysis::allocators
