// The log on disk: names, frames, and behaviour after a failed write.
#include "libmemprof/src/log/log_file.h"

#include <errno.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <set>

#include "libmemprof/src/log/proto_writer.h"
#include "tests/libmemprof/log/log_reader.h"

namespace memprof::recorder {
namespace {

class LogFileTest : public ::testing::Test {
 protected:
  LogFileTest() {
    std::string pattern = ::testing::TempDir() + "memprof-log-XXXXXX";
    directory_ = mkdtemp(pattern.data());
  }
  ~LogFileTest() override { std::filesystem::remove_all(directory_); }
  std::string File(const std::string& name) const { return directory_ + "/" + name; }
  std::string directory_;
};

void AddText(LogFile* log, const std::string& reason) {
  ByteBuffer payload;
  ProtoWriter trailer(payload);
  trailer.AddText(3, reason.c_str());
  log->AddChunk(log::ChunkKind::kTrailer, payload);
}

// Wherever the limit falls between two batches, there is space to record why the log ends.
TEST_F(LogFileTest, ThereIsRoomForTheEndWhereFilesAreLimited) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  for (rlim_t bytes = 256 << 10; bytes < (256 << 10) + 20'000; bytes += 997) {
    const rlimit limit{bytes, before.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
    LogFile log;
    const std::string path = File(std::to_string(bytes));
    ASSERT_EQ(log.Create(path.c_str()), 0);
    std::mt19937 random(static_cast<unsigned>(bytes));
    int error = 0;
    for (int i = 0; i < 100 && error == 0; ++i) {
      ByteBuffer noise;  // incompressible
      for (int word = 0; word < 2500; ++word) {
        const auto value = static_cast<std::uint32_t>(random());
        noise.Append(&value, sizeof value);
      }
      log.AddChunk(log::ChunkKind::kDefinitions, noise);
      error = log.WriteBatch();
    }
    const int ended = error == EFBIG ? log.Finish(7, 8, "no room") : -1;
    setrlimit(RLIMIT_FSIZE, &before);
    ASSERT_EQ(error, EFBIG) << bytes;
    ASSERT_EQ(ended, 0) << bytes;
    EXPECT_LE(std::filesystem::file_size(path), bytes);
    EXPECT_GT(std::filesystem::file_size(path), bytes - 20'000);
  }
}

TEST_F(LogFileTest, TheLongestLogsDoWithoutAnIndex) {
  LogFile log;
  ASSERT_EQ(log.Create(File("a.mprof").c_str()), 0);
  // The memory account cannot hold an index of more chunks.
  constexpr int kChunks = 300000;
  for (int i = 0; i < kChunks; ++i) {
    ByteBuffer nothing;
    log.AddChunk(log::ChunkKind::kCounters, nothing);
    if (i % 10000 == 0) {
      ASSERT_EQ(log.WriteBatch(), 0);
    }
  }
  for (int round = 1; round <= 2; ++round) {  // ended, added to, and ended again
    AddText(&log, "more");
    ASSERT_EQ(log.Finish(7, 8, "end"), 0);
    const testing::Log read = testing::ReadLog(File("a.mprof"));
    EXPECT_EQ(read.error, "");
    ASSERT_TRUE(read.has_trailer);
    EXPECT_EQ(read.trailer.reason(), "end");
    EXPECT_EQ(read.trailer.index_offset(), 0u);
    EXPECT_EQ(read.chunks.size(), static_cast<std::size_t>(kChunks + round + 1));
  }
}

TEST_F(LogFileTest, IsReadableByItsOwnerOnly) {
  LogFile log;
  ASSERT_EQ(log.Create(File("a.mprof").c_str()), 0);
  struct stat status;
  ASSERT_EQ(stat(log.path(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0600u);
}

TEST_F(LogFileTest, NeverTakesAnExistingFileAndNeverFollowsALink) {
  const std::string pid = std::to_string(getpid());
  std::ofstream(File("a.mprof")) << "text";
  std::filesystem::create_symlink("/etc/hostname", File("link.mprof"));
  std::filesystem::create_directory(File("folder.mprof"));
  ASSERT_EQ(mkfifo(File("fifo.mprof").c_str(), 0600), 0);
  for (const char* name : {"a", "link", "folder", "fifo"}) {
    LogFile log;
    ASSERT_EQ(log.Create(File(std::string(name) + ".mprof").c_str()), 0) << name;
    EXPECT_EQ(log.path(), File(std::string(name) + "." + pid + ".mprof"));
    ASSERT_EQ(log.WriteBatch(), 0);
  }
  LogFile third;
  ASSERT_EQ(third.Create(File("a.mprof").c_str()), 0);
  EXPECT_EQ(third.path(), File("a." + pid + ".2.mprof"));
}

TEST_F(LogFileTest, AnEmptyFileOfOursIsTaken) {
  std::ofstream(File("empty.mprof"));
  LogFile log, second;
  ASSERT_EQ(log.Create(File("empty.mprof").c_str()), 0);
  EXPECT_EQ(log.path(), File("empty.mprof"));
  // The file is still empty, but in use.
  ASSERT_EQ(second.Create(File("empty.mprof").c_str()), 0);
  EXPECT_NE(second.path(), File("empty.mprof"));
}

TEST_F(LogFileTest, ANameWithoutExtensionGetsTheProcessIdAtItsEnd) {
  std::ofstream(File("log")) << "text";
  LogFile log;
  ASSERT_EQ(log.Create(File("log").c_str()), 0);
  EXPECT_EQ(log.path(), File("log." + std::to_string(getpid())));
}

TEST_F(LogFileTest, LargeChunksAreCompressedSmallOnesNot) {
  LogFile log;
  ASSERT_EQ(log.Create(File("a.mprof").c_str()), 0);
  AddText(&log, "short");
  AddText(&log, std::string(100000, 'x'));
  ASSERT_EQ(log.WriteBatch(), 0);
  EXPECT_EQ(log.size(), std::filesystem::file_size(log.path()));
  EXPECT_LT(log.size(), 1000u);
  const testing::Log read = testing::ReadLog(log.path());
  EXPECT_EQ(read.error, "");
  EXPECT_EQ(read.chunks.size(), 2u);
  EXPECT_EQ(read.trailer.reason().size(), 100000u);
}

TEST_F(LogFileTest, FinishingTwiceLeavesOneEnd) {
  LogFile log;
  ASSERT_EQ(log.Create(File("a.mprof").c_str()), 0);
  ByteBuffer payload;
  log.AddChunk(log::ChunkKind::kDefinitions, payload);
  ASSERT_EQ(log.Finish(1, 0, "first"), 0);
  log.AddChunk(log::ChunkKind::kDefinitions, payload);
  ASSERT_EQ(log.Finish(2, 0, "second"), 0);
  const testing::Log read = testing::ReadLog(log.path());
  EXPECT_EQ(read.error, "");
  ASSERT_EQ(read.chunks.size(), 4u);  // the two added above, index, trailer
  EXPECT_EQ(read.index.chunk_size(), 2);
  EXPECT_EQ(read.trailer.reason(), "second");
  EXPECT_EQ(read.trailer.index_offset(), read.chunks[2].offset);
}

TEST_F(LogFileTest, AMissingFolderIsAnError) {
  LogFile log;
  EXPECT_EQ(log.Create(File("no/a.mprof").c_str()), ENOENT);
}

TEST_F(LogFileTest, AVanishedFileIsAnErrorAndNothingElseIsWrittenTo) {
  LogFile log;
  ASSERT_EQ(log.Create(File("a.mprof").c_str()), 0);
  ASSERT_EQ(log.WriteBatch(), 0);
  // The program closes all descriptors and opens its own file, which gets the log's descriptor
  // number.
  for (int fd = 3; fd < 2000; ++fd) {
    char name[64];
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    char target[512];
    const ssize_t length = readlink(name, target, sizeof target);
    if (length > 0 && std::string(target, static_cast<std::size_t>(length)) == File("a.mprof")) {
      close(fd);
      std::ofstream(File("victim"));
      const int victim = open(File("victim").c_str(), O_RDWR);
      ASSERT_GE(dup2(victim, fd), 0);
      close(victim);
    }
  }
  std::filesystem::remove(File("a.mprof"));
  AddText(&log, "lost");
  EXPECT_EQ(log.WriteBatch(), ENOENT);
  EXPECT_EQ(std::filesystem::file_size(File("victim")), 0u);
}

TEST_F(LogFileTest, SegmentsOfAnEarlierRecordingCountAmongThoseThatStay) {
  const auto keep_three = [this](int segments) {
    LogFile log;
    ASSERT_EQ(log.Create(File("a.mprof").c_str()), 0);
    for (int i = 0; i < segments; ++i) {
      ASSERT_EQ(log.Finish(1, 0, "exit"), 0);
      ASSERT_EQ(log.BeginNext(ByteBuffer(), 3), 0);
    }
  };
  keep_three(3);
  std::filesystem::remove(File("a.mprof"));
  for (const char* other : {"a.segment-0.mprof", "a.segment-02.mprof", "a.segment-2.mprof.txt",
                            "b.segment-2.mprof", "a.segment-9.mprof"})
    std::ofstream(File(other)) << "not ours";
  keep_three(2);
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(directory_))
    names.insert(entry.path().filename().string());
  EXPECT_THAT(names, ::testing::ElementsAre("a.mprof", "a.segment-0.mprof", "a.segment-02.mprof",
                                            "a.segment-10.mprof", "a.segment-11.mprof",
                                            "a.segment-2.mprof.txt", "a.segment-3.mprof",
                                            "a.segment-9.mprof", "b.segment-2.mprof"));
}

TEST_F(LogFileTest, AnEndThatTakesLessRoomLeavesNothingOfTheOldOne) {
  LogFile log;
  ASSERT_EQ(log.Create(File("a.mprof").c_str()), 0);
  std::string reason;
  for (int i = 0; i < 2000; ++i) reason += std::to_string(i * i);
  ASSERT_EQ(log.Finish(1, 0, reason.c_str()), 0);
  const auto long_size = std::filesystem::file_size(log.path());
  ASSERT_EQ(log.Finish(2, 0, "exit"), 0);
  EXPECT_LT(std::filesystem::file_size(log.path()), long_size);
  EXPECT_EQ(std::filesystem::file_size(log.path()), log.size());
  const testing::Log read = testing::ReadLog(log.path());
  EXPECT_EQ(read.error, "");
  EXPECT_EQ(read.trailer.reason(), "exit");
}

}  // namespace
}  // namespace memprof::recorder
