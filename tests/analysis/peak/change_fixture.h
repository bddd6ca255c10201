// Shared by tests of changed peaks.
#pragma once

#include <gtest/gtest.h>

#include "analysis/peak/change.h"

namespace memprof::analysis::testing {

inline void ExpectSame(const NewPeak& got, const NewPeak& want) {
  EXPECT_EQ(got.bytes, want.bytes);
  EXPECT_EQ(got.event.value, want.event.value);
}

}  // namespace memprof::analysis::testing
