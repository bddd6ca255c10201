// What the recorder has mapped itself.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "libmemprof/src/base/sys.h"

namespace memprof::recorder {
namespace {

TEST(OwnRanges, AreWholePagesAndEndWithTheirMemory) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* const memory = MapAddressSpace(page + 1);
  ASSERT_NE(memory, nullptr);
  const auto find = [begin = reinterpret_cast<std::uintptr_t>(memory)] {
    std::vector<OwnRange> ranges(kMaxOwnRanges);
    std::size_t count = 0;
    EXPECT_TRUE(CopyOwnRanges(ranges.data(), &count));
    const auto found =
        std::find_if(ranges.begin(), ranges.begin() + count,
                     [begin](const OwnRange& range) { return range.begin == begin; });
    return found == ranges.begin() + count ? 0 : found->end - begin;
  };
  EXPECT_EQ(find(), 2 * page);
  ForgetOwn(memory);
  EXPECT_EQ(find(), 0u);
}

}  // namespace
}  // namespace memprof::recorder
