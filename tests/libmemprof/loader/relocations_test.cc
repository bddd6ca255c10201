// Slots of libraries that the loader fills in at the first call, at once, and without a procedure
// table.
#include "libmemprof/src/loader/relocations.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>

#include "tests/support/paths.h"

namespace memprof::recorder {
namespace {

constexpr int kOurs = 77;
extern "C" int OursOfGetppid() { return kOurs; }

// "rw-p" of the mapping that has the address.
std::string RightsOf(const void* address) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    unsigned long begin = 0, end = 0;
    char rights[8] = "";
    if (std::sscanf(line.c_str(), "%lx-%lx %7s", &begin, &end, rights) != 3) continue;
    const auto at = reinterpret_cast<unsigned long>(address);
    if (at >= begin && at < end) return rights;
  }
  return "";
}

class RelocationsTest : public ::testing::TestWithParam<const char*> {};

TEST_P(RelocationsTest, CallsReachUsAndThenTheRealFunctionAgain) {
  void* library = dlopen(GetParam(), RTLD_LAZY | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  const auto calls = reinterpret_cast<int (*)()>(dlsym(library, "CallsGetppid"));
  ASSERT_NE(calls, nullptr);
  const int real = getppid();
  CallSlot slots[64];
  std::size_t count = 0;
  void* const ours = reinterpret_cast<void*>(&OursOfGetppid);
  for (int round = 0; round < 2; ++round) {
    RedirectCalls("getppid", ours, slots, 64, &count);
    ASSERT_GE(count, 1u);
    EXPECT_EQ(calls(), kOurs);
    EXPECT_EQ(getppid(), real) << "calls of this program stay as they are";
    const std::string rights = RightsOf(slots[0].place);
    const std::size_t all = count;
    RedirectCalls("getppid", ours, slots, 64, &count);
    EXPECT_EQ(count, all) << "a second time there is nothing to change";
    RestoreCalls(ours, slots, &count);
    EXPECT_EQ(count, 0u);
    EXPECT_EQ(calls(), real);
    EXPECT_EQ(RightsOf(slots[0].place), rights);
  }
  dlclose(library);
}

TEST_P(RelocationsTest, WithoutRoomNothingIsChanged) {
  void* library = dlopen(GetParam(), RTLD_LAZY | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  const auto calls = reinterpret_cast<int (*)()>(dlsym(library, "CallsGetppid"));
  CallSlot slot;
  std::size_t count = 0;
  RedirectCalls("getppid", reinterpret_cast<void*>(&OursOfGetppid), &slot, 0, &count);
  EXPECT_EQ(count, 0u);
  EXPECT_EQ(calls(), getppid());
  dlclose(library);
}

TEST_P(RelocationsTest, ALibraryThatIsGoneIsLeftAlone) {
  void* library = dlopen(GetParam(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  CallSlot slots[64];
  std::size_t count = 0;
  void* const ours = reinterpret_cast<void*>(&OursOfGetppid);
  RedirectCalls("getppid", ours, slots, 64, &count);
  dlclose(library);
  RestoreCalls(ours, slots, &count);
  EXPECT_EQ(count, 0u);
}

TEST(Relro, EndsWhereThePageOfItsLastByteBegins) {
  constexpr std::uintptr_t kRelro = 0x7f00'0000'fd80, kBytes = 0x1'0280;  // until 0x7f0000020000
  EXPECT_TRUE(IsProtected(kRelro, kBytes, kRelro, 4096));
  EXPECT_TRUE(IsProtected(kRelro, kBytes, kRelro + kBytes - 8, 4096));
  EXPECT_FALSE(IsProtected(kRelro, kBytes, kRelro + kBytes, 4096));
  EXPECT_TRUE(IsProtected(kRelro, kBytes, kRelro, 65536));
  EXPECT_TRUE(IsProtected(kRelro, kBytes, kRelro + kBytes - 8, 65536));
  // The linker aligned the end to 4 KiB: with 64 KiB, the last page is that of .data too.
  EXPECT_TRUE(IsProtected(kRelro, kBytes - 0x1000, kRelro + kBytes - 0x1008, 4096));
  EXPECT_FALSE(IsProtected(kRelro, kBytes - 0x1000, kRelro + kBytes - 0x1008, 65536));
  EXPECT_TRUE(IsProtected(kRelro, kBytes - 0x1000, kRelro + 0x100, 65536));
}

INSTANTIATE_TEST_SUITE_P(All, RelocationsTest,
                         ::testing::Values(paths::kCallsLazy, paths::kCallsNow, paths::kCallsC10));

}  // namespace
}  // namespace memprof::recorder
