// From words in this process to labels.
#include "libmemprof/src/recording/internal/holder_search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/libmemprof/recording/sanitized.h"

namespace memprof::recorder {
namespace {

using ::testing::IsEmpty;
using ::testing::StartsWith;

constexpr std::uint64_t kLast = ~std::uint64_t{0};

struct ListNode {
  ListNode* next;
  std::uint64_t device;
};
ListNode* volatile g_search_list;
volatile std::uint64_t g_search_word;
std::uint64_t* volatile g_search_array;

class HolderSearchTest : public ::testing::Test {
 protected:
  static constexpr std::size_t kCount = 3;
  // No memory is mapped there; computed at run time, so that nothing else has such words.
  static std::uint64_t Address(std::size_t target) {
    const volatile std::uint64_t high = 0x5aa6;
    return (high << 32) + target * 0x100000;
  }
  // The labels of each target.
  std::vector<std::vector<std::string>> Search() {
    std::vector<std::vector<std::string>> labels(kCount);
    const OwnArray<ScanTarget> targets(kCount);
    for (std::size_t i = 0; i < kCount; ++i) targets.get()[i] = {Address(i), 0x1000, 0, 1, 1, 0, 0};
    const OwnArray<HolderSearch> room(1);
    auto* search = new (room.get()) HolderSearch(targets.get(), kCount, kLast);
    EXPECT_TRUE(CountReferences(targets.get(), kCount, kLast, search->notes()).complete);
    search->Follow(reinterpret_cast<std::uint64_t>(__builtin_frame_address(0)));
    search->ForEach([&](const HolderSearch::Holder& holder) {
      labels[holder.target].emplace_back(holder.label, holder.label_bytes);
      symbols_[holder.target] = holder.symbol;
    });
    EXPECT_EQ(search->shortfall(), nullptr) << search->shortfall();
    search->~HolderSearch();
    return labels;
  }
  std::map<std::uint32_t, std::uint64_t> symbols_;
};

TEST_F(HolderSearchTest, AVariableAListAndNothing) {
  if (kSanitized) GTEST_SKIP() << "sanitizers have a malloc of their own";
  g_search_word = Address(0) + 0x800;
  for (int i = 0; i < 12; ++i) g_search_list = new ListNode{g_search_list, i == 1 ? Address(1) : 0};
  const std::vector<std::vector<std::string>> labels = Search();
  ASSERT_EQ(labels[0].size(), 1u);
  EXPECT_THAT(labels[0][0], StartsWith("global of /"));
  EXPECT_NE(symbols_[0], 0u);
  EXPECT_THAT(labels[2], IsEmpty());
  // Its 11th node: too far from the variable.
  for (const std::string& label : labels[1]) EXPECT_THAT(label, ::testing::Not(StartsWith("heap")));
  for (ListNode* node = g_search_list; node != nullptr; node = node->next)
    node->device = Address(1);
  const std::vector<std::vector<std::string>> again = Search();
  ASSERT_GE(again[1].size(), 1u);
  EXPECT_THAT(again[1][0], StartsWith("heap blocks of 24 bytes, in global of /"));
  EXPECT_THAT(again[1][0], ::testing::EndsWith("\nheap blocks of 24 bytes"));
  while (g_search_list != nullptr) {
    const std::unique_ptr<ListNode> node(g_search_list);
    g_search_list = node->next;
    node->device = 0;
  }
  g_search_word = 0;
}

TEST_F(HolderSearchTest, SizesAreWrittenAsReadersDo) {
  if (kSanitized) GTEST_SKIP() << "sanitizers have a malloc of their own";
  const std::pair<std::size_t, const char*> sizes[] = {{100, "heap block of 104 bytes"},
                                                       {3000, "heap block of 2.9 KiB"},
                                                       {65536, "heap block of 64 KiB"}};
  for (const auto& [bytes, words] : sizes) {
    g_search_array = new std::uint64_t[bytes / 8 + 1]{};
    g_search_array[1] = Address(2);
    const std::vector<std::vector<std::string>> labels = Search();
    ASSERT_EQ(labels[2].size(), 1u);
    EXPECT_THAT(labels[2][0], StartsWith(std::string(words) + ", in global of /"));
    g_search_array[1] = 0;
    delete[] g_search_array;
    g_search_array = nullptr;
  }
}

// The allocator keeps the size of the next block in the last word of a block that a program can
// use: what points there holds what follows.
TEST_F(HolderSearchTest, APointerToWhatFollowsABlockDoesNotHoldIt) {
  if (kSanitized) GTEST_SKIP() << "sanitizers have a malloc of their own";
  constexpr std::size_t kWords = 13;
  for (const std::size_t at : {kWords - 2, kWords - 1}) {
    g_search_array = new std::uint64_t[kWords]{} + at;
    *(g_search_array - at) = Address(1);
    const std::vector<std::string> labels = Search()[1];
    const bool held = !labels.empty() && labels[0].find(", in global of /") != std::string::npos;
    EXPECT_EQ(held, at == kWords - 2) << (labels.empty() ? "none" : labels[0]);
    *(g_search_array - at) = 0;
    delete[](g_search_array - at);
    g_search_array = nullptr;
  }
}

// A word that is a multiple of 4 GiB, in blocks that a variable holds.
TEST_F(HolderSearchTest, HalfOfAnOldPointerHoldsNothing) {
  if (kSanitized) GTEST_SKIP() << "sanitizers have a malloc of their own";
  constexpr std::size_t kPadded = 40;
  g_search_array = new std::uint64_t[kPadded + 1]{};
  std::vector<std::unique_ptr<std::uint64_t[]>> padded;
  for (std::size_t i = 0; i < kPadded; ++i) {
    padded.push_back(std::make_unique<std::uint64_t[]>(100 + 2 * i));
    padded[i][i % 7] = Address(0);
    g_search_array[i] = reinterpret_cast<std::uint64_t>(padded[i].get());
  }
  EXPECT_THAT(Search()[0], IsEmpty());
  const auto array = std::make_unique<std::uint64_t[]>(500);  // behind them
  g_search_array[kPadded] = reinterpret_cast<std::uint64_t>(array.get());
  for (std::size_t i = 0; i < kCount; ++i) array[7 * i] = Address(i);
  const std::vector<std::vector<std::string>> in_array = Search();
  ASSERT_EQ(in_array[0].size(), 1u) << "as two others are in the same block";
  EXPECT_THAT(in_array[0][0], StartsWith("heap block of 3.9 KiB, in heap block of 328 bytes, in "));
  g_search_array[0] = reinterpret_cast<std::uint64_t>(array.get());
  array[0] = 0;
  g_search_word = Address(0);
  const std::vector<std::vector<std::string>> in_variable = Search();
  ASSERT_EQ(in_variable[0].size(), 1u);
  EXPECT_THAT(in_variable[0][0], StartsWith("global of /"));
  g_search_word = 0;
  for (std::unique_ptr<std::uint64_t[]>& block : padded)
    for (int i = 0; i < 7; ++i) block[i] = 0;
  for (std::size_t i = 0; i < kCount; ++i) array[7 * i] = 0;
  delete[] g_search_array;
  g_search_array = nullptr;
}

TEST(HolderSearchSelection, TheLargestAreFollowed) {
  constexpr std::size_t kMore = HolderSearch::kMostTargets + 500;
  std::vector<ScanTarget> targets(kMore);
  for (std::size_t i = 0; i < kMore; ++i)
    targets[i] = {0x1000 * (i + 1), 100 + i * 7919 % kMore, 0, 1, 1, 0, 0};
  const OwnArray<HolderSearch> room(1);
  auto* search = new (room.get()) HolderSearch(targets.data(), kMore, kLast);
  std::size_t unfollowed = 0;
  std::uint64_t most = 0, least = kLast;
  for (const ScanTarget& target : targets) {
    unfollowed += target.unfollowed;
    if (target.unfollowed != 0) most = std::max(most, target.bytes);
    if (target.unfollowed == 0) least = std::min(least, target.bytes);
  }
  EXPECT_EQ(unfollowed, 500u);
  EXPECT_LE(most, least);
  ASSERT_NE(search->shortfall(), nullptr);
  EXPECT_STREQ(search->shortfall(),
               "holders were looked for of the 20,000 largest allocations only");
  search->~HolderSearch();
}

}  // namespace
}  // namespace memprof::recorder
