// Sources that are kept in a log: appended to a whole one, never in its way, and not trusted.
#include "analysis/log/sources.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "analysis/load/verify.h"
#include "tests/analysis/log/hostile_file_fixture.h"
#include "tests/support/read_file.h"

namespace memprof::analysis::testing {
namespace {

class KeptSourcesTest : public HostileFileTest {
 protected:
  KeptSourcesTest() {
    char name[256] = {};
    gethostname(name, sizeof name - 1);
    log_.header().set_hostname(name);
  }
  std::string Content(const std::string& path) { return memprof::testing::ReadFile(path); }
  std::string WriteSound(const std::string& name = "a.mprof") {
    return directory_.Write(name, log_.Bytes(small_chunks_));
  }
  std::string WhyNot(const std::string& path) {
    const std::string before = Content(path);
    const absl::Status status = AppendSources(path, sources_);
    EXPECT_EQ(Content(path), before);
    return std::string(status.message());
  }

  const KeptSources sources_ = {{"/src/train.py", "import model\nmodel.f()\n"},
                                {"model.cc", std::string("int \0x;\xff\n", 9)},
                                {"/src/empty.py", ""}};
};

TEST_F(KeptSourcesTest, TheLogHasThemAndIsAsGoodAsBefore) {
  const std::string path = WriteSound();
  EXPECT_EQ(ReadKeptSources(path), KeptSources());
  ASSERT_TRUE(AppendSources(path, sources_).ok());
  EXPECT_EQ(ReadKeptSources(path), sources_);
  const auto reader = LogReader::Open(path, LogReader::Mode::kUseIndex);
  ASSERT_TRUE(reader.ok());
  EXPECT_TRUE((*reader)->used_index());
  const auto verified = VerifyLog(path);
  ASSERT_TRUE(verified.ok());
  EXPECT_TRUE(verified->complete);
  EXPECT_THAT(verified->problems, ::testing::IsEmpty());
  EXPECT_EQ(verified->kinds.back().name, "sources");
  const auto session = LoadLogs({path});
  ASSERT_TRUE(session.ok());
  EXPECT_EQ((*session)->events().size(), 101u);
  EXPECT_TRUE((*session)->run().complete);
  EXPECT_THAT((*session)->anomalies(), ::testing::IsEmpty());
}

// A kill while they are appended.
TEST_F(KeptSourcesTest, CutAnywhereTheLogIsStillWhole) {
  const std::string path = WriteSound();
  const std::uint64_t before = std::filesystem::file_size(path);
  ASSERT_TRUE(AppendSources(path, sources_).ok());
  const std::string whole = Content(path);
  for (std::uint64_t size = before; size < whole.size(); ++size) {
    const auto session = Load(whole.substr(0, size));
    ASSERT_NE(session, nullptr) << size;
    EXPECT_EQ(session->events().size(), 101u) << size;
    EXPECT_TRUE(session->run().complete) << size;
    EXPECT_EQ(CountOf(*session, log::Anomaly::kChunksCorrupt), 0u) << size;
  }
}

TEST_F(KeptSourcesTest, TextThatCompressesTooWellIsStoredAsItIs) {
  KeptSources blanks;
  for (int i = 0; i < 20; ++i)
    blanks[std::to_string(i) + ".py"] = std::string(kMostKeptFileBytes, ' ');
  const std::string path = WriteSound();
  ASSERT_TRUE(AppendSources(path, blanks).ok());
  EXPECT_EQ(ReadKeptSources(path), blanks);
  blanks["0.py"] += " ";
  EXPECT_EQ(AppendSources(WriteSound(), blanks).message(), "the sources are too large");
}

TEST_F(KeptSourcesTest, OtherLogsAreLeftAlone) {
  const std::string twice = WriteSound();
  ASSERT_TRUE(AppendSources(twice, sources_).ok());
  EXPECT_EQ(WhyNot(twice), "it has its sources already");
  const std::string sound = log_.Bytes(small_chunks_);
  EXPECT_EQ(WhyNot(directory_.Write("cut", sound.substr(0, sound.size() - 1))),
            "it did not end cleanly");
  EXPECT_EQ(WhyNot(directory_.Write("open", log_.Bytes({.trailer = false}))),
            "it did not end cleanly");
  EXPECT_EQ(WhyNot(directory_.Write("none", "nothing")), "it cannot be read");
  std::filesystem::create_symlink(WriteSound("sound"), directory_.File("link"));
  EXPECT_THAT(WhyNot(directory_.File("link")), ::testing::StartsWith("it cannot be written"));
  log_.header().set_pid(static_cast<std::uint32_t>(getpid()));
  EXPECT_EQ(WhyNot(WriteSound()), "its process still runs");
  log_.header().set_hostname("elsewhere");
  EXPECT_EQ(WhyNot(WriteSound()), "it was recorded on another host");
}

std::string Field(char number, const std::string& bytes) {
  std::string field(1, static_cast<char>(number << 3 | 2));
  for (std::size_t size = bytes.size();; size >>= 7) {
    field += static_cast<char>((size & 0x7f) | (size >= 0x80 ? 0x80 : 0));
    if (size < 0x80) return field + bytes;
  }
}

TEST_F(KeptSourcesTest, HostileChunksHaveNoEffectOnEvents) {
  const std::string file = Field(1, "a.py") + Field(2, "x");
  const std::string large = Field(2, std::string(kMostKeptFileBytes + 1, 'x'));
  for (const std::string& payload :
       {std::string("\xff\xff\xff"), std::string("\x0a\x7f\x01"), Field(1, "\x12\x7f"),
        Field(1, large), Field(1, file).substr(0, 5)}) {
    const std::string path = directory_.Write(
        "hostile.mprof", log_.Bytes(small_chunks_) + Chunk(log::ChunkKind::kSources, payload));
    EXPECT_EQ(ReadKeptSources(path).size(), 0u);
    const auto session = LoadLogs({path});
    ASSERT_TRUE(session.ok());
    EXPECT_EQ((*session)->events().size(), 101u);
    EXPECT_TRUE(VerifyLog(path).ok());
  }
  KeptSources sources;
  EXPECT_TRUE(DecodeSources(Field(1, Field(1, std::string("a\0/b.py", 7)) + Field(2, "x")) +
                                Field(1, file) + Field(1, Field(1, "a.py") + Field(2, "later")),
                            &sources));
  EXPECT_EQ(sources, (KeptSources{{"a\xef\xbf\xbd/b.py", "x"}, {"a.py", "x"}}));
  std::string full;
  for (int i = 0; i < 33; ++i)
    full += Field(1, Field(1, std::to_string(i)) + Field(2, std::string(kMostKeptFileBytes, 'x')));
  sources.clear();
  EXPECT_FALSE(DecodeSources(full, &sources));
  EXPECT_EQ(sources.size(), 32u);
  std::string many;
  for (std::size_t i = 0; i <= kMostKeptFiles; ++i) many += Field(1, Field(1, std::to_string(i)));
  sources.clear();
  EXPECT_FALSE(DecodeSources(many, &sources));
  EXPECT_EQ(sources.size(), kMostKeptFiles);
  // A frame that claims more than the file or a payload may have.
  std::string huge = Chunk(log::ChunkKind::kSources, file);
  huge[8] = huge[9] = huge[10] = '\x7f';
  EXPECT_EQ(Load(log_.Bytes(small_chunks_) + huge)->events().size(), 101u);
}

}  // namespace
}  // namespace memprof::analysis::testing
