// The growing array against a std::vector, and without memory.
#include "libmemprof/src/base/mapped_array.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "tests/libmemprof/base/in_account.h"

namespace memprof::recorder {
namespace {

// A size that does not divide the page size.
struct Item {
  std::uint64_t a;
  std::uint32_t b[7];
  bool operator==(const Item& other) const { return a == other.a && b[0] == other.b[0]; }
};
Item Make(unsigned value) { return {value, {value ^ 0x55u}}; }

// The items are equal, and the search finds the same one.
void CheckSame(MappedArray<Item>* array, const std::vector<Item>& reference, unsigned value) {
  ASSERT_TRUE(std::equal(array->begin(), array->end(), reference.begin(), reference.end()));
  const auto wanted = [value](const Item& item) { return item.a % 16 == value % 16; };
  const auto expected = std::find_if(reference.begin(), reference.end(), wanted);
  ASSERT_EQ(array->Find(wanted),
            expected == reference.end()
                ? nullptr
                : &(*array)[static_cast<std::size_t>(expected - reference.begin())]);
}

TEST(MappedArray, AgreesWithAVectorOnRandomEdits) {
  SetMemoryLimit(256 * kMib, 0);
  for (unsigned seed = 0; seed < 4; ++seed) {
    std::mt19937 random(seed);
    MappedArray<Item> array;
    std::vector<Item> reference;
    for (int i = 0; i < 10000; ++i) {
      const unsigned value = static_cast<unsigned>(random());
      const std::size_t at = random() % (reference.size() + 1);
      const std::vector<Item> some(value % 5, Make(value));
      switch (random() % 8) {
        case 0:
          ASSERT_TRUE(array.Insert(at, Make(value)));
          reference.insert(reference.begin() + static_cast<std::ptrdiff_t>(at), Make(value));
          break;
        case 1:
          if (at == reference.size()) break;
          if (value % 4 == 0) {
            array.EraseUnordered(&array[at]);
            reference[at] = reference.back();
            reference.pop_back();
            break;
          }
          array.Erase(&array[at]);
          reference.erase(reference.begin() + static_cast<std::ptrdiff_t>(at));
          break;
        case 2:
          if (i % 64 != 2) break;
          array.Truncate(at);
          reference.resize(at);
          break;
        case 3: {
          const auto unwanted = [value](const Item& item) { return item.a % 64 == value % 64; };
          array.EraseIf(unwanted);
          std::erase_if(reference, unwanted);
          break;
        }
        case 4:
          ASSERT_TRUE(array.Append(some.data(), some.size()));
          reference.insert(reference.end(), some.begin(), some.end());
          break;
        case 5:
          ASSERT_TRUE(array.AppendZeros(some.size()));
          reference.resize(reference.size() + some.size());
          break;
        default:
          ASSERT_TRUE(array.Append(Make(value)));
          reference.push_back(Make(value));
          break;
      }
      ASSERT_EQ(array.size(), reference.size());
      ASSERT_EQ(array.empty(), reference.empty());
      if (i % 20 == 0) {
        ASSERT_NO_FATAL_FAILURE(CheckSame(&array, reference, value)) << seed;
      }
    }
    EXPECT_FALSE(array.failed());
  }
}

TEST(MappedArray, AnItemOfItsOwnMayBeAppendedWhileItMoves) {
  MappedArray<Item> array;
  array.Append(Make(7));
  for (int i = 0; i < 5000; ++i) ASSERT_TRUE(array.Append(array[0]));
  for (const Item& item : array) ASSERT_EQ(item, Make(7));
}

TEST(MappedArray, WithoutMemoryItKeepsWhatItHasAndSaysSo) {
  SetMemoryLimit(256 * kMib, 0);
  const std::uint64_t charged = ChargedMemory();
  {
    MappedArray<Item> array;
    ASSERT_TRUE(array.Append(Make(1)));
    SetMemoryLimit(16 * kMib, 16 * kMib);  // no memory is left
    const std::uint64_t refused = RefusedRequests();
    std::size_t count = 1;
    while (array.TryReserve(1) && array.Append(Make(1))) ++count;
    EXPECT_EQ(array.size(), count);
    EXPECT_FALSE(array.failed()) << "an attempt is not a failure";
    EXPECT_FALSE(array.Insert(0, Make(2)));
    EXPECT_FALSE(array.failed());
    EXPECT_FALSE(array.Append(Make(2)));
    EXPECT_TRUE(array.failed());
    EXPECT_GT(RefusedRequests(), refused);
    EXPECT_EQ(array.size(), count);
    EXPECT_EQ(array[0], Make(1));
    EXPECT_EQ(array[count - 1], Make(1));
    array.Clear();
    EXPECT_FALSE(array.failed());
    EXPECT_TRUE(array.Append(Make(3))) << "existing items are kept";
    SetMemoryLimit(256 * kMib, 0);
    EXPECT_FALSE(array.Reserve(~std::size_t{0})) << "more than any memory";
    EXPECT_FALSE(array.Reserve(~std::size_t{0} / sizeof(Item)));
  }
  EXPECT_EQ(ChargedMemory(), charged);
}

}  // namespace
}  // namespace memprof::recorder
