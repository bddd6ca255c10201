#include "cli/console/json.h"

#include <gtest/gtest.h>

namespace memprof::cli {
namespace {

TEST(JsonTextTest, PrintedJsonIsValidWhateverSymbolTablesSay) {
  ::testing::internal::CaptureStdout();
  EXPECT_EQ(PrintJson({{"function", "bad\xff"}, {"big", ~std::uint64_t{0}}}), 0);
  EXPECT_EQ(::testing::internal::GetCapturedStdout(),
            "{\n  \"function\": \"bad\xef\xbf\xbd\",\n  \"big\": 18446744073709551615\n}\n");
}

TEST(JsonTextTest, NumbersAreWholeWhereTheyAre) {
  EXPECT_TRUE(Number(4096.0).is_number_integer());
  EXPECT_TRUE(Number(0.5).is_number_float());
  EXPECT_TRUE(Number(-1).is_number_integer());
  EXPECT_TRUE(Number(1e18).is_number_float());
}

}  // namespace
}  // namespace memprof::cli
