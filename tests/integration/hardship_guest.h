// Runs guests that are hard to record.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/integration/harness.h"

namespace memprof::testing {

inline GuestResult Hardship(const TempDirectory& directory, std::vector<std::string> arguments,
                            std::map<std::string, std::string> environment = {}) {
  GuestOptions options{.directory = directory.path()};
  options.arguments = std::move(arguments);
  options.environment = std::move(environment);
  return RunGuest("guest_hardship", options);
}

// The log ended cleanly and contains exactly the calls that the guest printed.
inline Log ExpectNothingLost(const TempDirectory& directory, const GuestResult& guest) {
  EXPECT_EQ(guest.status, 0) << guest.out << guest.err;
  EXPECT_EQ(guest.err, "");
  Log log = ReadLog(directory.File("g.mprof"));
  EXPECT_EQ(log.error, "");
  EXPECT_TRUE(log.has_trailer);
  EXPECT_EQ(log.trailer.events(), log.events.size());
  EXPECT_EQ(log.counters.count("events_lost"), 0u);
  EXPECT_THAT(RecordedCalls(log.ByTime()), ::testing::ElementsAreArray(PrintedCalls(guest)));
  return log;
}

}  // namespace memprof::testing
