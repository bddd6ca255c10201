#include "cli/console/output_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include "tests/support/temp_file.h"

namespace memprof::cli {
namespace {

class OutputFileTest : public ::testing::Test {
 protected:
  bool Open(const std::string& path, bool force, const std::vector<std::string>& inputs = {}) {
    ::testing::internal::CaptureStderr();
    const bool opened = file_.emplace().Open(path, force, inputs);
    error_ = ::testing::internal::GetCapturedStderr();
    EXPECT_EQ(error_.empty(), opened) << error_;
    return opened;
  }
  static std::string Read(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }
  std::size_t Files() const {
    const std::filesystem::directory_iterator files(
        std::filesystem::path(directory_.File("x")).parent_path());
    return static_cast<std::size_t>(std::distance(begin(files), end(files)));
  }

  analysis::testing::TempDirectory directory_;
  std::optional<OutputFile> file_;
  std::string error_;
};

TEST_F(OutputFileTest, IsThereOnceItIsWhole) {
  const std::string path = directory_.File("new");
  ASSERT_TRUE(Open(path, false));
  EXPECT_EQ(file_->path(), path);
  EXPECT_TRUE(file_->Write("one ") && file_->Write("two"));
  EXPECT_TRUE(file_->Finish());
  file_.reset();
  EXPECT_EQ(Read(path), "one two");
}

TEST_F(OutputFileTest, IsTakenBackWithoutFinish) {
  ASSERT_TRUE(Open(directory_.File("new"), false));
  EXPECT_TRUE(file_->Write("half"));
  file_.reset();
  EXPECT_EQ(Files(), 0u);
}

TEST_F(OutputFileTest, AnExistingFileStaysUntilTheNewOneIsWhole) {
  const std::string path = directory_.Write("old", "old");
  ASSERT_EQ(chmod(path.c_str(), 0640), 0);
  EXPECT_FALSE(Open(path, false));
  EXPECT_NE(error_.find("exists already; --force overwrites it"), std::string::npos);
  ASSERT_TRUE(Open(path, true));
  EXPECT_TRUE(file_->Write("new"));
  EXPECT_EQ(Read(path), "old");
  EXPECT_EQ(Read(file_->writing()), "new");
  file_.reset();
  EXPECT_EQ(Read(path), "old");
  EXPECT_EQ(Files(), 1u);
  ASSERT_TRUE(Open(path, true));
  EXPECT_TRUE(file_->Write("new") && file_->Finish());
  file_.reset();
  EXPECT_EQ(Read(path), "new");
  EXPECT_EQ(Files(), 1u);
  struct stat after {};
  ASSERT_EQ(stat(path.c_str(), &after), 0);
  EXPECT_EQ(after.st_mode & 07777u, 0640u);
}

TEST_F(OutputFileTest, LinksAreFollowed) {
  const std::string path = directory_.Write("old", "old"), link = directory_.File("link");
  ASSERT_EQ(symlink(path.c_str(), link.c_str()), 0);
  ASSERT_TRUE(Open(link, true));
  EXPECT_TRUE(file_->Write("new") && file_->Finish());
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_EQ(Read(path), "new");
}

TEST_F(OutputFileTest, WhatItIsMadeFromIsNeverOverwritten) {
  const std::string log = directory_.Write("log", "log"), link = directory_.File("link");
  ASSERT_EQ(symlink(log.c_str(), link.c_str()), 0);
  EXPECT_FALSE(Open(link, true, {log}));
  EXPECT_NE(error_.find("is the log itself"), std::string::npos);
  EXPECT_EQ(Read(log), "log");
}

TEST_F(OutputFileTest, OnlyRegularFilesAreReplaced) {
  EXPECT_FALSE(Open("/dev/null", true));
  EXPECT_NE(error_.find("not a regular file"), std::string::npos);
  EXPECT_FALSE(Open(directory_.File("no/such/folder"), true));
  EXPECT_NE(error_.find("No such file or directory"), std::string::npos);
}

}  // namespace
}  // namespace memprof::cli
