// Symbols behind this library, and the loader's own dlsym.
#include "libmemprof/src/loader/next_symbol.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include "libmemprof/src/loader/real_dlsym.h"

namespace memprof::recorder {
namespace {

TEST(NextSymbol, FindsWhatComesBehindInTheOrderOfLoading) {
  void* libc = dlsym(RTLD_DEFAULT, "gnu_get_libc_version");
  ASSERT_NE(libc, nullptr);
  EXPECT_EQ(NextDefinition("gnu_get_libc_version"), libc);
  EXPECT_EQ(NextDefinition("gnu_get_libc_version", libc), nullptr)
      << "no library after libc has it";
  EXPECT_EQ(FirstDefinition("gnu_get_libc_version"), libc);
  EXPECT_EQ(FirstDefinition("main"), nullptr) << "only this program has it";
  EXPECT_EQ(NextDefinition("memprof_no_such_function"), nullptr);
  EXPECT_EQ(NextDefinition(""), nullptr);
  EXPECT_NE(NextDefinition("dlsym"), nullptr);
}

TEST(NextSymbol, FindsWhichOfTwoLibrariesComesFirst) {
  const void* here = reinterpret_cast<void*>(&RealDlsym);
  const void* libc = dlsym(RTLD_DEFAULT, "gnu_get_libc_version");
  EXPECT_TRUE(Precedes(here, libc));
  EXPECT_FALSE(Precedes(libc, here));
  EXPECT_FALSE(Precedes(here, here));
  EXPECT_FALSE(Precedes(nullptr, libc)) << "below every library";
}

TEST(RealDlsym, IsTheLoadersOwn) {
  void* libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
  ASSERT_NE(libc, nullptr);
  EXPECT_EQ(RealDlsym(libc, "gnu_get_libc_version"), dlsym(libc, "gnu_get_libc_version"));
  EXPECT_EQ(RealDlsym(libc, "memprof_no_such_function"), nullptr);
  EXPECT_NE(dlerror(), nullptr);
}

}  // namespace
}  // namespace memprof::recorder
