// Which source files are kept, and that the kept text is shown first.
#include "analysis/source/kept_sources.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>
#include <utime.h>

#include <filesystem>

#include "analysis/load/load.h"
#include "analysis/source/source_text.h"
#include "analysis/symbols/kept_sources.h"
#include "analysis/testing/log_builder.h"
#include "tests/support/temp_file.h"

namespace memprof::analysis {
namespace {

constexpr std::int64_t kStartNs = std::int64_t{1000} * 1'000'000'000;

class SourcesToKeepTest : public ::testing::Test {
 protected:
  std::string Write(const std::string& name, const std::string& text, std::int64_t time = 1000) {
    const std::filesystem::path path = folder_.File(name);
    std::filesystem::create_directories(path.parent_path());
    folder_.Write(name, text);
    const utimbuf times{time, time};
    utime(path.c_str(), &times);
    return path;
  }
  std::string Folder(const std::string& name) {
    std::filesystem::create_directories(folder_.File(name));
    return folder_.File(name);
  }
  std::string Link(const std::string& name, const std::string& to) {
    std::filesystem::create_symlink(to, folder_.File(name));
    return folder_.File(name);
  }
  // A log with an allocation in each of these files.
  std::string LogOf(const std::vector<std::string>& files) {
    testing::LogBuilder log;
    char host[256] = {};
    gethostname(host, sizeof host - 1);
    log.header().set_hostname(host);
    log.header().set_working_directory(folder_.File("work"));
    std::uint64_t address = 0x1000;
    for (const std::string& file : files)
      log.Alloc(Layer::kLinear, address += 0x1000, 64,
                {.stack = log.Stack({"f (" + file + ":2)"})});
    return folder_.Write("a.mprof", log.Bytes({}));
  }
  std::shared_ptr<const Session> Load(const std::string& path) {
    auto session = LoadLogs({path});
    EXPECT_TRUE(session.ok()) << session.status();
    return *session;
  }

  testing::TempDirectory folder_;
};

TEST_F(SourcesToKeepTest, AreTheUsersUnchangedRegularFiles) {
  Write("work/train.py", "a\nb\n");
  const std::string outside = Write("outside/model.py", "m");
  const auto session = Load(
      LogOf({"train.py", outside, Write("venv/site-packages/nn.py", "t"),
             Write("lib/python3.11/os.py", "o"), Write("work/changed.py", "c", 1001),
             Write("work/large.py", std::string(1 << 20 | 1, 'x')),
             Write("work/full.py", std::string(1 << 20, 'x')), Write("work/secret.txt", "s"),
             Folder("work/folder.py"), Link("work/link.py", Write("venv/site-packages/a.py", "a")),
             folder_.File("work/missing.py")}));
  Symbols symbols(session);
  const KeptSources kept = SourcesToKeep(*session, symbols, kStartNs);
  EXPECT_EQ(kept, (KeptSources{{"train.py", "a\nb\n"},
                               {outside, "m"},
                               {folder_.File("work/full.py"), std::string(1 << 20, 'x')}}));
}

TEST_F(SourcesToKeepTest, AreShownBeforeFilesOfThisMachine) {
  const std::string train = Write("work/train.py", "a\nb\n");
  const std::string path = LogOf({train});
  {
    const auto session = Load(path);
    Symbols symbols(session);
    ASSERT_TRUE(AppendSources(path, SourcesToKeep(*session, symbols, kStartNs)).ok());
  }
  Write("work/train.py", "another\n", 2000);
  const auto session = Load(path);
  const SourcePlaces places{"", "", {}, 0, KeptSourcesOf(*session)};
  const auto text = ReadSource(train, places, 2);
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_EQ(text->lines, (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(text->kept);
  EXPECT_EQ(text->doubt, "");
  EXPECT_THAT(ReadSource(train, places, 3)->doubt, ::testing::StartsWith("This is not the text"));
  EXPECT_FALSE(ReadSource(train, {}, 1)->kept);
}

}  // namespace
}  // namespace memprof::analysis
