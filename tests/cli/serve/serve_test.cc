// memprof serve: what it writes after a lost connection.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/remote/mirror.h"
#include "tests/cli/cli_test_support.h"

namespace memprof::cli::testing {
namespace {

TEST(ServeTest, GoesOnWhereTheViewerIs) {
  const analysis::testing::TempDirectory directory;
  analysis::testing::LogBuilder log;
  for (std::uint64_t i = 0; i < 20'000; ++i)
    log.Alloc(analysis::Layer::kLinear, 0x1000 * (i * 7919 % 20'011 + 1), 512 + i * 31 % 4096);
  const std::string path = directory.Write("x.mprof", log.Bytes());
  const Result whole = Memprof({"serve", "--stdio", path});
  ASSERT_EQ(whole.status, 0) << whole.err;
  ASSERT_GT(whole.out.size(), 10'000u);
  analysis::LogMirror mirror(directory.File("copy"), std::make_shared<analysis::NamesElsewhere>(),
                             [] { return std::uint64_t{1} << 30; });
  mirror.Begin();
  ASSERT_TRUE(mirror.Take(whole.out).ok());
  const Result rest =
      Memprof({"serve", "--stdio", "--from=" + analysis::PositionText(mirror.Position()), path});
  ASSERT_EQ(rest.status, 0) << rest.err;
  EXPECT_LT(rest.out.size(), whole.out.size() / 10) << "nothing is sent twice";
}

}  // namespace
}  // namespace memprof::cli::testing
