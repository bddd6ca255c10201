// The lines of a file that is there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/cli_test_support.h"

namespace memprof::cli::testing {
namespace {

TEST(SourceTest, EachLineHasItsTextTheLastOneToo) {
  const analysis::testing::TempDirectory directory;
  const std::string file = directory.Write("a.py", "first = make()\nlast = make()\n");
  analysis::testing::LogBuilder log;
  log.Device(0, 16 * kMiB);
  for (const std::string line : {"1", "2"})
    log.Alloc(analysis::Layer::kLinear, 0x1000000 * std::stoull(line), kMiB,
              {.stack = log.Stack({"<module> (" + file + ":" + line + ")"})});
  const Result result = Memprof({"source", "--file=a.py", "--source-map=" + directory.File(""),
                                 directory.Write("x.mprof", log.Bytes())});
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, ::testing::HasSubstr("first = make()"));
  EXPECT_THAT(result.out, ::testing::HasSubstr("last = make()"));
}

}  // namespace
}  // namespace memprof::cli::testing
