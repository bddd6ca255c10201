// Whether windows are steps.
#include "analysis/steps/internal/closed.h"

#include <gtest/gtest.h>

#include <vector>

namespace memprof::analysis {
namespace {

TEST(ClosedTest, NineOfTenWindowsTrain) {
  for (const std::uint32_t training : {8u, 9u, 10u}) {
    TokenStream stream;
    stream.trains = {false, true};
    std::vector<std::uint32_t> begins;
    for (std::uint32_t window = 0; window < 10; ++window) {
      begins.push_back(static_cast<std::uint32_t>(stream.token.size()));
      for (const bool backward : {false, window < training, false})
        stream.token.push_back(backward ? 1 : 0);
    }
    begins.push_back(static_cast<std::uint32_t>(stream.token.size()));
    EXPECT_EQ(Trains(stream, begins), training >= 9) << training;
  }
  EXPECT_FALSE(Trains({}, std::vector<std::uint32_t>{0}));
}

}  // namespace
}  // namespace memprof::analysis
