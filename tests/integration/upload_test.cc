// `memprof run --upload`: the copy of the logs, and that the program's end does not wait for it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "tests/integration/run_command.h"

namespace memprof::testing {
namespace {

using ::testing::HasSubstr;

class Upload : public ::testing::Test {
 protected:
  GuestResult Run(std::vector<std::string> options) {
    std::vector<std::string> words = {"run", "-o", "logs/%r.mprof", "--sim"};
    words.insert(words.end(), options.begin(), options.end());
    for (const std::string& word : {std::string("--"), GuestPath("guest_runtime_life"),
                                    std::string("exit"), std::string("return")})
      words.push_back(word);
    std::filesystem::create_directory(directory_.File("logs"));
    GuestOptions run{
        .preload = false, .standin = false, .output = "", .directory = directory_.path()};
    run.arguments = words;
    run.environment = environment_;
    return RunProgram(BuildPath("bin/test_memprof_run"), run);
  }
  // In place of Python.
  void UseScript(const std::string& text) {
    std::ofstream(directory_.File("python")) << "#!/bin/sh\n" << text;
    chmod(directory_.File("python").c_str(), 0755);
    environment_["MEMPROF_PYTHON"] = directory_.File("python");
  }

  TempDirectory directory_;
  std::map<std::string, std::string> environment_;
};

TEST_F(Upload, CopiesTheLogsUnderTheirNames) {
  const GuestResult run = Run({"--upload", "store/deep"});
  EXPECT_EQ(run.status, 7);
  EXPECT_THAT(run.err, HasSubstr("memprof: uploaded 1 log to store/deep\n"));
  EXPECT_EQ(ReadLog(directory_.File("store/deep/rank.mprof")).events.size(),
            ReadLog(directory_.File("logs/rank.mprof")).events.size());
}

TEST_F(Upload, WhatFailsIsSaidAndTheStatusIsTheProgramsOwn) {
  std::ofstream(directory_.File("store")) << "a file";
  const GuestResult run = Run({"--upload", "store"});
  EXPECT_EQ(run.status, 7);
  EXPECT_THAT(run.err, HasSubstr("store/rank.mprof: "));
  EXPECT_THAT(run.err, HasSubstr("memprof: the upload to store failed; the logs are kept\n"));
  EXPECT_TRUE(std::filesystem::exists(directory_.File("logs/rank.mprof")));
}

TEST_F(Upload, ASlowOneGoesOnInTheBackground) {
  UseScript("sleep 2\necho \"$@\" >" + directory_.File("asked.part") + " && mv " +
            directory_.File("asked.part") + " " + directory_.File("asked") + "\n");
  const GuestResult run = Run({"--upload=s3://store", "--upload-limit=0"});
  EXPECT_EQ(run.status, 7);
  EXPECT_THAT(run.err, HasSubstr("the upload to s3://store goes on in the background (process "));
  EXPECT_FALSE(std::filesystem::exists(directory_.File("asked")));
  for (int i = 0; i < 600 && !std::filesystem::exists(directory_.File("asked")); ++i) usleep(20000);
  std::string asked;
  std::getline(std::ifstream(directory_.File("asked")), asked);
  EXPECT_THAT(asked, HasSubstr("-m memprof._fleet.upload --below " + directory_.File("logs") +
                               " --to s3://store -- " + directory_.File("logs/rank.mprof")));
}

TEST_F(Upload, IsNoPartOfTheRecordedProgram) {
  UseScript("env >" + directory_.File("environment") + "\n");
  Run({"--upload", "store"});
  const std::string environment = ReadText(directory_.File("environment"));
  EXPECT_THAT(environment, HasSubstr("MEMPROF_DISABLE=1"));
  EXPECT_THAT(environment, ::testing::Not(HasSubstr("LD_PRELOAD=")));
}

TEST_F(Upload, WithoutALogThereIsNothingToDo) {
  const GuestResult run = MemprofRun(directory_, {"run", "--upload", "store", "--", "/bin/true"});
  EXPECT_EQ(run.status, 0);
  EXPECT_THAT(run.err, ::testing::Not(HasSubstr("upload")));
}

}  // namespace
}  // namespace memprof::testing
