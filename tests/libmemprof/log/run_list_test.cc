// The list of a run: what is added, and to which files nothing is.
#include "libmemprof/src/log/run_list.h"

#include <gtest/gtest.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "proto/run_list.h"
#include "tests/support/read_file.h"

namespace memprof::recorder {
namespace {

class RunList : public ::testing::Test {
 protected:
  RunList() { EXPECT_NE(mkdtemp(folder_), nullptr); }
  ~RunList() override { std::filesystem::remove_all(folder_); }
  std::string File(const std::string& name) const { return std::string(folder_) + "/" + name; }
  std::string Write(const std::string& name, const std::string& text) const {
    std::ofstream(File(name), std::ios::binary) << text;
    return File(name);
  }

  const std::string magic_{log::kRunListMagic, sizeof log::kRunListMagic};
  char folder_[32] = "/tmp/run_list_XXXXXX";
};

TEST_F(RunList, TakesLogsOneAfterTheOther) {
  using std::string_literals::operator""s;
  const std::string list = Write("list", magic_ + "\0/cut off"s);
  AddToRunList(list.c_str(), "/a/0.mprof");
  AddToRunList(list.c_str(), "/a b/1\n.mprof");
  EXPECT_EQ(testing::ReadFile(list), magic_ + "\0/cut off\0/a/0.mprof\0\0/a b/1\n.mprof\0"s);
  const std::string longest(PATH_MAX, 'x');
  AddToRunList(list.c_str(), longest.c_str());
  EXPECT_TRUE(testing::ReadFile(list).ends_with("\0"s + longest + "\0"s));
}

TEST_F(RunList, LeavesOtherFilesAsTheyAre) {
  const std::string list = Write("list", magic_);
  const std::string link = File("link"), missing = File("missing");
  std::filesystem::create_symlink(list, link);
  for (const std::string& text :
       {std::string("somebody's notes"), std::string(), magic_.substr(0, 7),
        magic_ + std::string(log::kFullRunList, 'x')}) {
    AddToRunList(Write("other", text).c_str(), "/a/0.mprof");
    EXPECT_EQ(testing::ReadFile(File("other")), text);
  }
  AddToRunList(link.c_str(), "/a/0.mprof");
  AddToRunList(missing.c_str(), "/a/0.mprof");
  AddToRunList(folder_, "/a/0.mprof");
  AddToRunList(list.c_str(), std::string(PATH_MAX + 1, 'x').c_str());
  AddToRunList("", "/a/0.mprof");
  std::filesystem::current_path(folder_);
  AddToRunList("list", "/a/0.mprof");
  std::filesystem::current_path("/");
  EXPECT_EQ(testing::ReadFile(list), magic_);
  EXPECT_FALSE(std::filesystem::exists(missing));
}

TEST_F(RunList, LeavesThatOfAnotherUser) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can be several users";
  const std::string list = Write("list", magic_);
  ASSERT_EQ(chown(list.c_str(), 65534, 65534), 0);
  AddToRunList(list.c_str(), "/a/0.mprof");
  EXPECT_EQ(testing::ReadFile(list), magic_);
}

}  // namespace
}  // namespace memprof::recorder
