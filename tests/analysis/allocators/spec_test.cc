// Names and options of simulated allocators as users write them.
#include "analysis/allocators/spec.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace memprof::analysis::allocators {
namespace {

using ::testing::HasSubstr;

std::string ErrorOf(const absl::Status& status) {
  return {status.message().data(), status.message().size()};
}

TEST(SpecTest, NamesAreReadAsTheyAreWritten) {
  for (const char* name :
       {"caching", "caching:expandable", "caching:expandable,max_split=64MiB", "caching:roundup=8",
        "caching:max_split=1GiB,gc=0.8,limit=12GiB", "caching:max_non_split_rounding=40MiB", "bfc",
        "bfc:preallocate=3GiB", "pool", "pool:keep", "pool:release_threshold=513B", "rmm_pool",
        "rmm_pool:initial=1GiB,first_fit", "rmm_arena", "rmm_binning", "cuda"}) {
    const auto spec = ParseSpec(name);
    ASSERT_TRUE(spec.ok()) << spec.status();
    const auto again = ParseSpec(SpecName(*spec));
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(*again, *spec);
    if (std::string_view(name).find("513B") == std::string_view::npos) {
      EXPECT_EQ(SpecName(*spec), name);
    }
    Device device(kUnlimited);
    EXPECT_NE(MakeAllocator(*spec, &device), nullptr);
  }
  EXPECT_FALSE(ParseSpec("caching:expandable=false")->caching.expandable);
}

TEST(SpecTest, MistakesAreNamed) {
  const auto error = [](const char* text) { return ErrorOf(ParseSpec(text).status()); };
  EXPECT_EQ(error("jemalloc"),
            "there is no allocator 'jemalloc'; there are caching, bfc, pool, rmm_pool, rmm_arena, "
            "rmm_binning, cuda");
  EXPECT_THAT(error(""), HasSubstr("no allocator ''"));
  EXPECT_THAT(error("caching:colour=red"), HasSubstr("no option 'colour'; there are expandable"));
  EXPECT_THAT(error("caching:"), HasSubstr("no option ''"));
  EXPECT_EQ(error("cuda:fast"), "allocator 'cuda' has no options");
  EXPECT_THAT(error("caching:max_split=much"), HasSubstr("caching: max_split: 'much' is no size"));
  EXPECT_THAT(error("caching:max_split"), HasSubstr("'true' is no size"));
  EXPECT_THAT(error("caching:expandable=maybe"), HasSubstr("neither true nor false"));
  EXPECT_THAT(error("caching:roundup=3"), HasSubstr("not a power of two"));
  EXPECT_THAT(error("caching:roundup=-4"), HasSubstr("not a power of two"));
  EXPECT_THAT(error("caching:gc=1"), HasSubstr("not between 0 and 1"));
  EXPECT_THAT(error("caching:gc=nan"), HasSubstr("not between 0 and 1"));
}

TEST(SpecTest, HelpNamesEverything) {
  const std::string help = SpecHelp();
  for (const char* name :
       {"caching", "expandable", "release_threshold=SIZE", "rmm_arena", "cuda"}) {
    EXPECT_THAT(help, HasSubstr(name));
  }
}

TEST(TorchConfigurationTest, ReadsWhatPyTorchReads) {
  const auto spec = ParseTorchConfiguration(
      "max_split_size_mb:128, garbage_collection_threshold:0.75,expandable_segments:True,"
      "max_non_split_rounding_mb:64,pinned_num_register_threads:8");
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(spec->caching.max_split, std::uint64_t{128} << 20);
  EXPECT_EQ(spec->caching.max_non_split_rounding, std::uint64_t{64} << 20);
  EXPECT_EQ(spec->caching.gc_threshold, 0.75);
  EXPECT_TRUE(spec->caching.expandable);
  EXPECT_EQ(ParseTorchConfiguration("")->caching, CachingOptions());
  EXPECT_EQ(ParseTorchConfiguration("backend:cudaMallocAsync,max_split_size_mb:64")->kind,
            AllocatorKind::kPool);
  EXPECT_EQ(ParseTorchConfiguration("backend:native")->kind, AllocatorKind::kCaching);
}

TEST(TorchConfigurationTest, ReadsRoundup) {
  const auto rows = [](const char* text) {
    return ParseTorchConfiguration(std::string("roundup_power2_divisions:") + text)
        ->caching.roundup_power2;
  };
  std::array<std::uint32_t, 16> all;
  all.fill(4);
  EXPECT_EQ(rows("4"), all);
  // 256 MiB is row 8.
  EXPECT_EQ(rows("[256:1,512:2,1024:4,>:8]"),
            (std::array<std::uint32_t, 16>{1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 4, 8, 8, 8, 8, 8}));
  EXPECT_EQ(rows("[4:2,64:8]"),
            (std::array<std::uint32_t, 16>{2, 2, 2, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
}

TEST(TorchConfigurationTest, RefusesNonsense) {
  for (const char* text :
       {"max_split_size_mb:lots", "max_split_size_mb:99999999999999", "expandable_segments:perhaps",
        "garbage_collection_threshold:2", "roundup_power2_divisions:[a:1]",
        "roundup_power2_divisions:[0:1]", "roundup_power2_divisions:[256]",
        "roundup_power2_divisions:x", "max_split_size_mb"}) {
    EXPECT_FALSE(ParseTorchConfiguration(text).ok()) << text;
  }
}

}  // namespace
}  // namespace memprof::analysis::allocators
