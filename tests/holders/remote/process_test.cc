// What /proc and ELF files say of a process.
#include "holders/remote/process.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>

#include "tests/holders/remote/fake_python.h"

namespace memprof::holders::test {
namespace {

TEST(Process, HasAStateAndMappings) {
  EXPECT_EQ(ProcessState(getpid()).value(), 'R');
  EXPECT_EQ(ProcessState(1 << 22).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(ReadMappings(1 << 22).status().code(), absl::StatusCode::kNotFound);
  static const int constant = 3;
  bool found = false;
  std::uint64_t last = 0;
  for (const Mapping& mapping : Mine()) {
    EXPECT_LE(last, mapping.begin);
    last = mapping.end;
    if (mapping.begin <= Address(&constant) && Address(&constant) < mapping.end)
      found = mapping.readable && mapping.path.ends_with("_test");
  }
  EXPECT_TRUE(found);
}

TEST(Process, FindsSymbolsWhereTheyAreLoaded) {
  Dl_info info;
  ASSERT_NE(dladdr(dlsym(RTLD_DEFAULT, "getpid"), &info), 0);
  char* const path = realpath(info.dli_fname, nullptr);
  const auto found = FindSymbols(getpid(), Mine(), path, {"getpid", "no_such_symbol"});
  free(path);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found.at("getpid"), Address(dlsym(RTLD_DEFAULT, "getpid")));
  EXPECT_TRUE(FindSymbols(getpid(), Mine(), "/etc/passwd", {"getpid"}).empty());
  EXPECT_TRUE(FindSymbols(getpid(), Mine(), "/no/such/file", {"getpid"}).empty());
}

// As ReadMappings gives them, with holes between them.
TEST(Process, AnAddressIsInOneMapping) {
  const std::vector<Mapping> mappings = {{10, 20}, {20, 25}, {40, 50}};
  for (std::uint64_t address = 0; address < 60; ++address) {
    const Mapping* expected = nullptr;
    for (const Mapping& mapping : mappings)
      if (mapping.begin <= address && address < mapping.end) expected = &mapping;
    EXPECT_EQ(Containing(mappings, address), expected) << address;
  }
  EXPECT_EQ(Containing({}, 1), nullptr);
}

// The file of a program may be replaced while it runs: then what is mapped is looked for in vain.
TEST(Process, SymbolsOfWhatIsMappedElsewhere) {
  const auto self = FindSymbols(getpid(), Mine(), "/proc/self/exe", {"main"});
  EXPECT_TRUE(self.empty());  // no mapping has this name
  char* const path = realpath("/proc/self/exe", nullptr);
  std::vector<Mapping> moved = Mine();
  for (Mapping& mapping : moved) mapping.begin += 0x10000;
  const auto there = FindSymbols(getpid(), moved, path, {"main"});
  const auto here = FindSymbols(getpid(), Mine(), path, {"main"});
  free(path);
  ASSERT_EQ(here.size(), 1u);
  ASSERT_EQ(there.size(), 1u);
  EXPECT_EQ(there.at("main"), here.at("main") + 0x10000);
}

}  // namespace
}  // namespace memprof::holders::test
