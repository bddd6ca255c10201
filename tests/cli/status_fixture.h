// The verbs, and one-line errors.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/cli/cli_test_support.h"

namespace memprof::cli::testing {

inline const char* const kReadingVerbs[] = {
    "report", "leaks",  "steps", "categories", "peak",   "advise", "fragmentation",
    "oom",    "replay", "dump",  "export",     "verify", "budget", "top"};

// One line on standard error, and nothing on standard output.
inline void ExpectError(const Result& result, int status) {
  EXPECT_EQ(result.status, status);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, ::testing::StartsWith("memprof: "));
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
}

}  // namespace memprof::cli::testing
