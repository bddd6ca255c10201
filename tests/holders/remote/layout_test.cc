// The table of versions, and damaged offsets.
#include "holders/remote/layout.h"

#include <gtest/gtest.h>

#include <cstring>

#include "libmemprof/src/python_layout/layout.h"
#include "tests/holders/remote/fake_python.h"

namespace memprof::holders::test {
namespace {

TEST(Layout, IsKnownOfSomeVersions) {
  ObjectLayout layout;
  char offsets[recorder::kDebugOffsetsBytes];
  std::memset(offsets, 0xff, sizeof offsets);
  for (const int minor : {9, 10, 11, 12}) EXPECT_TRUE(FindObjectLayout(minor, offsets, &layout));
  for (const int minor : {-1, 0, 8, 15}) EXPECT_FALSE(FindObjectLayout(minor, offsets, &layout));
  for (const int minor : {13, 14}) EXPECT_FALSE(FindObjectLayout(minor, offsets, &layout));
}

// Each offset that is read can make the whole wrong; other bytes cannot.
TEST(Layout, EachDescribedOffsetIsChecked) {
  for (const int minor : {13, 14}) {
    int read = 0;
    for (std::size_t place = 0; place < recorder::kDebugOffsetsBytes / 8; ++place) {
      std::uint64_t offsets[recorder::kDebugOffsetsBytes / 8] = {};
      ObjectLayout layout;
      offsets[place] = std::uint64_t{1} << 20;
      const bool sound = FindObjectLayout(minor, offsets, &layout);
      offsets[place] = 777;
      ASSERT_TRUE(FindObjectLayout(minor, offsets, &layout));
      const bool used = layout.runtime_interpreters == 777 || layout.interpreter_next == 777 ||
                        layout.interpreter_threads == 777 || layout.interpreter_modules == 777;
      EXPECT_EQ(sound, !used) << place;
      read += used ? 1 : 0;
    }
    EXPECT_EQ(read, 4);
  }
}

// What lies beside each other in one object must not be the same place.
TEST(Layout, PlacesOfOneObjectDiffer) {
  for (const int minor : kMinors) {
    const ObjectLayout layout = LayoutOf(minor);
    const std::uint64_t of_function[] = {layout.function_code,     layout.function_qualname,
                                         layout.function_defaults, layout.function_kwdefaults,
                                         layout.function_closure,  layout.function_dict};
    const std::uint64_t of_code[] = {layout.code_arguments, layout.code_names,
                                     layout.code_attributes};
    for (const std::uint64_t& place : of_function) {
      EXPECT_GE(place, 16u);
      for (const std::uint64_t& other : of_function) EXPECT_EQ(place == other, &place == &other);
    }
    for (const std::uint64_t& place : of_code)
      for (const std::uint64_t& other : of_code) EXPECT_EQ(place == other, &place == &other);
    EXPECT_EQ(layout.code_cells != 0, minor <= 10);
    EXPECT_EQ(layout.frame_locals != 0, minor >= 11);
  }
}

}  // namespace
}  // namespace memprof::holders::test
