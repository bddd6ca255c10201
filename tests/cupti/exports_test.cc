// What the libraries export: the source one name, the stand-in names of the real libcupti, with its
// symbol version.
#include <gtest/gtest.h>

#include <cstdio>
#include <set>
#include <sstream>
#include <string>

#include "tests/support/paths.h"

namespace memprof::cupti_test {
namespace {

std::string Output(const std::string& command) {
  std::string output;
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return output;
  char buffer[4096];
  for (std::size_t n; (n = fread(buffer, 1, sizeof buffer, pipe)) > 0;) output.append(buffer, n);
  EXPECT_EQ(pclose(pipe), 0) << command;
  return output;
}

// Defined dynamic symbols as "name@@VERSION", without the version nodes themselves.
std::set<std::string> Exports(const std::string& library) {
  std::istringstream lines(Output(std::string(NM) + " -D --defined-only '" + library + "'"));
  std::set<std::string> names;
  std::string address, type, name;
  while (lines >> address >> type >> name) {
    if (type != "A") names.insert(name);
  }
  return names;
}

TEST(Exports, TheSourceHasOneName) {
  EXPECT_EQ(Exports(paths::kSourceLibrary),
            std::set<std::string>{"memprof_source_open@@MEMPROF_CUPTI"});
}

// The source must not load CUDA or a C++ library into the program's process.
TEST(Exports, TheSourceNeedsOnlyTheCLibrary) {
  const std::string dynamic = Output(std::string("readelf -d '") + paths::kSourceLibrary + "'");
  EXPECT_NE(dynamic.find("NODELETE"), std::string::npos) << dynamic;
  if (dynamic.find("san.so") != std::string::npos ||
      dynamic.find("libclang_rt.") != std::string::npos)
    GTEST_SKIP() << "built with sanitizers";
  std::istringstream lines(dynamic);
  for (std::string line; std::getline(lines, line);) {
    if (line.find("(NEEDED)") == std::string::npos) continue;
    // Before glibc 2.34, the last two were separate.
    bool expected = false;
    for (const char* part : {"[libc.so", "[ld-linux", "[libdl.so.2", "[libpthread.so.0"})
      expected |= line.find(part) != std::string::npos;
    EXPECT_TRUE(expected) << line;
  }
}

// A newer toolkit may export more names, but never fewer.
TEST(Exports, TheStandInsNamesAreThoseOfTheToolkitsLibrary) {
  const std::string library = CUPTI_LIBRARY;
  if (library.find(".so.13") == std::string::npos) GTEST_SKIP() << "no libcupti.so.13: " << library;
  const std::set<std::string> found = Exports(paths::kStandInCupti), real = Exports(library);
  EXPECT_GT(found.size(), 190u);
  for (const std::string& name : found) EXPECT_TRUE(real.contains(name)) << name;
}

TEST(Exports, TheStandInHasTheRealSoname) {
  const std::string dynamic = Output(std::string("readelf -d '") + paths::kStandInCupti + "'");
  EXPECT_NE(dynamic.find("Library soname: [libcupti.so.13]"), std::string::npos) << dynamic;
}

}  // namespace
}  // namespace memprof::cupti_test
