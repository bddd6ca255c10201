// The injected library exports the interposed names and the C API, and needs nothing but libc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include "libmemprof/src/driver/api.h"
#include "tests/support/paths.h"
#include "tests/support/read_file.h"

namespace memprof::recorder {
namespace {

std::string Output(const std::string& command) {
  std::string text;
  std::array<char, 4096> bytes;
  FILE* pipe = popen(command.c_str(), "r");
  EXPECT_NE(pipe, nullptr);
  while (std::size_t count = fread(bytes.data(), 1, bytes.size(), pipe))
    text.append(bytes.data(), count);
  EXPECT_EQ(pclose(pipe), 0) << command;
  return text;
}

std::set<std::string> Exported() {
  std::set<std::string> names;
  std::istringstream lines(
      Output(std::string("nm -D --defined-only --without-symbol-versions ") + paths::kLibrary));
  std::string address, kind, name;
  while (lines >> address >> kind >> name) names.insert(name);
  return names;
}

// Every function that the public header declares.
std::set<std::string> PublicApi() {
  const std::string text = testing::ReadFile(paths::kHeader);
  std::set<std::string> names;
  const std::regex declaration(R"(\nint (memprof_\w+)\()");
  for (std::sregex_iterator at(text.begin(), text.end(), declaration), end; at != end; ++at)
    names.insert((*at)[1]);
  return names;
}

TEST(Exports, AreExactlyTheInterposedNamesAndTheApi) {
  std::set<std::string> expected = PublicApi();
  EXPECT_EQ(expected.size(), 27u);
  for (int i = 0; i < kFunctionCount; ++i)
    expected.insert(FunctionName(static_cast<FunctionId>(i)));
  expected.insert({"dlsym", "dlvsym", "InitializeInjection", "InitializeInjectionNvtx2",
                   "InitializeInjectionNvtxExtension"});
  expected.insert("memprof_attach_page");  // read from outside (lifecycle/attach.h)
  // c10::reportMemoryUsageToProfiler and c10::reportOutOfMemoryToProfiler of all versions.
  expected.insert({"_ZN3c1027reportMemoryUsageToProfilerEPvlNS_6DeviceE",
                   "_ZN3c1027reportMemoryUsageToProfilerEPvlllNS_6DeviceE",
                   "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE",
                   "_ZN3c1027reportOutOfMemoryToProfilerElllNS_6DeviceE",
                   "_ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE"});
  EXPECT_THAT(Exported(), ::testing::ContainerEq(expected));
}

TEST(Exports, TheLibraryNeedsNothingButLibc) {
  if (MEMPROF_IS_SANITIZED) GTEST_SKIP() << "sanitizers bring their own libraries";
  const std::string dynamic = Output(std::string("readelf -d ") + paths::kLibrary);
  const std::regex needed(R"(\(NEEDED\)[^\[]*\[([^\]]+)\])");
  for (std::sregex_iterator at(dynamic.begin(), dynamic.end(), needed), end; at != end; ++at)
    // Before glibc 2.34, libdl and libpthread were separate.
    EXPECT_THAT((*at)[1].str(),
                ::testing::MatchesRegex("libc\\.so\\.6|ld-linux-(x86-64|aarch64)\\.so\\.[12]|"
                                        "libdl\\.so\\.2|libpthread\\.so\\.0"));
}

TEST(Exports, NoTextRelocationsAndNoLazyBinding) {
  const std::string dynamic = Output(std::string("readelf -d ") + paths::kLibrary);
  EXPECT_THAT(dynamic, ::testing::Not(::testing::HasSubstr("TEXTREL")));
  EXPECT_THAT(dynamic, ::testing::HasSubstr("NODELETE"));
}

TEST(Exports, ThreadLocalStorageIsSmall) {
  // The loader has little space for it when the library is loaded late.
  if (MEMPROF_IS_SANITIZED) GTEST_SKIP();
  std::istringstream lines(Output(std::string("readelf -lW ") + paths::kLibrary));
  std::string line;
  bool seen = false;
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    std::string kind, offset, address, physical, file_size, size;
    if (!(words >> kind >> offset >> address >> physical >> file_size >> size) || kind != "TLS")
      continue;
    seen = true;
    EXPECT_LE(std::stoul(size, nullptr, 16), 64u);
  }
  EXPECT_TRUE(seen);
}

}  // namespace
}  // namespace memprof::recorder
