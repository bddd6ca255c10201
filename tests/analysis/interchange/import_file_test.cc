// Files of other tools as logs: what is taken for one, and errors that name the file.
#include "analysis/interchange/import_file.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "analysis/base/status_text.h"
#include "tests/support/paths.h"
#include "tests/support/read_file.h"

namespace memprof::analysis {
namespace {

std::string DataFile(const std::string& name) { return std::string(paths::kTestData) + "/" + name; }

std::string HeadOf(const std::string& path) {
  return memprof::testing::ReadFile(path).substr(0, 4096);
}

TEST(ImportFile, OnlySnapshotsAmongPicklesLookLikeRecordings) {
  EXPECT_TRUE(LooksLikeRecording(HeadOf(DataFile("torch_snapshot_train.pickle"))));
  EXPECT_TRUE(LooksLikeRecording(HeadOf(DataFile("torch_snapshot_oom.pickle"))));
  EXPECT_TRUE(LooksLikeRecording("Thread,Time,Action,Pointer,Size,Stream\n"));
  EXPECT_FALSE(LooksLikeRecording("\x80\x04}\x94."));
  EXPECT_FALSE(LooksLikeRecording(HeadOf(DataFile("demo_0.1.0.mprof"))));
  EXPECT_FALSE(LooksLikeRecording("segments"));
  EXPECT_FALSE(LooksLikeRecording(""));
}

TEST(ImportFile, WritesAWholeLog) {
  std::string log;
  const auto summary =
      ImportFile(DataFile("torch_snapshot_train.pickle"), "1.2.3", [&log](std::string_view piece) {
        log.append(piece);
        return true;
      });
  ASSERT_TRUE(summary.ok()) << summary.status();
  EXPECT_EQ(summary->format, ImportFormat::kTorchSnapshot);
  EXPECT_TRUE(log.starts_with("MEMPROF\n"));
  EXPECT_NE(log.find("1.2.3"), std::string::npos);
}

TEST(ImportFile, ErrorsNameTheFile) {
  const auto ignore = [](std::string_view) { return true; };
  const std::string missing = DataFile("none.pickle");
  const absl::Status none = ImportFile(missing, "1", ignore).status();
  EXPECT_TRUE(absl::IsNotFound(none));
  EXPECT_EQ(StatusText(none), missing + ": No such file or directory");
  const std::string log = DataFile("demo_0.1.0.mprof");
  EXPECT_EQ(StatusText(ImportFile(log, "1", ignore).status()), log + " is a memprof log already");
  EXPECT_TRUE(absl::IsUnavailable(
      ImportFile(DataFile("torch_snapshot_train.pickle"), "1", [](std::string_view) {
        return false;
      }).status()));
  EXPECT_FALSE(ImportFile(DataFile(""), "1", ignore).ok()) << "a folder";
}

}  // namespace
}  // namespace memprof::analysis
