// A log and its mirror: equal, also over a line that is cut again and again.
#include "analysis/remote/mirror.h"

#include <sys/stat.h>
#include <unistd.h>

#include "tests/analysis/load/ring_session_fixture.h"
#include "tests/analysis/remote/mirror_fixture.h"
#include "tests/analysis/symbols/symbols_fixture.h"
#include "tests/support/random_log.h"

namespace memprof::analysis {
namespace {

using testing::Content;
using testing::ExpectSameSession;
using testing::kNoCut;
using testing::Line;
using testing::LogBuilder;
using testing::RingSessionTest;
using testing::SymbolsTest;
using testing::TempDirectory;

std::shared_ptr<const Session> Local(const std::string& log) {
  const auto session = LoadLogs({log}, {.find_steps = false});
  EXPECT_TRUE(session.ok()) << session.status();
  return session.ok() ? *session : nullptr;
}

// Several pieces long, because it is not compressed.
std::string LongLog(std::uint32_t seed) {
  testing::RandomLog log({.seed = seed, .operations = 60000});
  return log.builder().Bytes({.events_per_chunk = 500, .compress = false});
}

class MirrorTest : public ::testing::Test {
 protected:
  const TempDirectory directory_;
  Line line_{directory_.File("copy")};
};

TEST_F(MirrorTest, ACompleteLogIsCopied) {
  const std::string log = directory_.Write("log.mprof", LongLog(1));
  line_.Connect(log);
  ASSERT_TRUE(line_.Update());
  EXPECT_TRUE(Content(line_.mirror.file()) == Content(log));
  EXPECT_FALSE(line_.mirror.growing());
  EXPECT_EQ(line_.mirror.generation(), 1u);
  EXPECT_EQ(line_.mirror.replaced(), 0u);
  ExpectSameSession(line_.Load(), Local(log));
  struct stat info {};
  ASSERT_EQ(stat(line_.mirror.file().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  const std::uint64_t passed = line_.passed;
  EXPECT_TRUE(line_.Update());
  EXPECT_EQ(line_.passed, passed) << "nothing is new";
}

TEST_F(MirrorTest, GoesOnAfterDropsAnywhere) {
  const std::string log = directory_.Write("log.mprof", LongLog(2));
  const std::uint64_t size = Content(log).size();
  ASSERT_GT(size, 500u << 10);
  line_.Connect(log);
  ASSERT_TRUE(line_.Update());
  const std::uint64_t whole = line_.passed;
  std::mt19937_64 random(11);
  for (int times = 0; times < 10; ++times) {
    Line line(directory_.File("copy" + std::to_string(times)));
    int drops = 0;
    bool done = false;
    while (!done) {
      line.Connect(log, drops < 20 ? random() % (size / 8) : kNoCut);
      done = line.Update();
      if (!done) ++drops;
      ASSERT_LE(drops, 21);
    }
    EXPECT_TRUE(Content(line.mirror.file()) == Content(log));
    EXPECT_EQ(line.mirror.replaced(), 0u);
    // A drop loses at most a piece, its frame, and the names and sources before it.
    EXPECT_LT(line.passed, whole + static_cast<std::uint64_t>(drops) * (70u << 10));
    if (times == 0) ExpectSameSession(line.Load(), Local(log));
  }
}

TEST_F(MirrorTest, ALogGrowsByPiecesAndIsCompleteAtItsEnd) {
  LogBuilder program;
  const std::string ring = directory_.Write("ring", "");
  char host[256] = {};
  ASSERT_EQ(gethostname(host, sizeof host - 1), 0);
  program.header().set_hostname(host);
  program.header().set_pid(static_cast<std::uint32_t>(getpid()));
  program.header().set_ring_path(ring);
  program.Device(0, 1 << 30);
  for (std::uint64_t i = 0; i < 2000; ++i)
    program.Alloc(
        Layer::kLinear, 0x1000 * (i + 1), 512,
        {.stack = program.Stack({"main (a.cc:1)", "F (a.cc:" + std::to_string(i) + ")"})});
  const std::string bytes = program.Bytes({.events_per_chunk = 100, .compress = false});
  const std::string log = directory_.Write("log.mprof", "");
  std::mt19937 random(3);
  std::uint64_t generation = 0;
  for (std::size_t size = 3000; size < bytes.size(); size += 1 + random() % 30'000) {
    directory_.Write("log.mprof", std::string_view(bytes).substr(0, size));
    if (line_.server == nullptr || random() % 3 == 0) line_.Connect(log);
    if (random() % 4 == 0) {
      line_.Connect(log, random() % 20'000);
      line_.Update();
      line_.Connect(log);
    }
    ASSERT_TRUE(line_.Update());
    ASSERT_TRUE(Content(line_.mirror.file()) == bytes.substr(0, size));
    EXPECT_TRUE(line_.mirror.growing());
    EXPECT_GT(line_.mirror.generation(), generation);
    generation = line_.mirror.generation();
    if (random() % 8 == 0) ExpectSameSession(line_.Load(), Local(log));
  }
  directory_.Write("log.mprof", bytes);
  ASSERT_TRUE(line_.Update());
  EXPECT_FALSE(line_.mirror.growing());
  EXPECT_EQ(line_.mirror.replaced(), 0u);
  ExpectSameSession(line_.Load(), Local(log));
}

TEST_F(MirrorTest, AnotherLogAtTheSamePlaceIsAnother) {
  const std::string log = directory_.Write("log.mprof", LongLog(4));
  line_.Connect(log);
  ASSERT_TRUE(line_.Update());
  const std::string first = line_.mirror.file();
  for (const bool connected : {true, false}) {
    const std::uint64_t replaced = line_.mirror.replaced();
    std::filesystem::remove(log);
    testing::RandomLog another({.seed = connected ? 5u : 6u, .operations = 300});
    another.builder().header().set_start_unix_ns(1'800'000'000'000'000'000 + connected);
    ASSERT_TRUE(another.builder().WriteTo(log).ok());
    if (!connected) line_.Connect(log);
    ASSERT_TRUE(line_.Update());
    EXPECT_EQ(line_.mirror.replaced(), replaced + 1);
    EXPECT_NE(line_.mirror.file(), first) << "who reads the old one is not disturbed";
    EXPECT_TRUE(Content(line_.mirror.file()) == Content(log));
    ExpectSameSession(line_.Load(), Local(log));
  }
}

TEST_F(MirrorTest, ALogThatIsHalfReplacedIsTriedAgain) {
  const std::string log = directory_.Write("log.mprof", LongLog(4));
  line_.Connect(log);
  ASSERT_TRUE(line_.Update());
  const std::string copy = line_.mirror.file(), whole = LongLog(5);
  directory_.Write("log.mprof", std::string_view(whole).substr(0, 5));
  EXPECT_TRUE(line_.Update());
  EXPECT_EQ(line_.mirror.file(), copy);
  directory_.Write("log.mprof", whole);
  ASSERT_TRUE(line_.Update());
  EXPECT_TRUE(Content(line_.mirror.file()) == whole);
}

// The same beginning is not enough: what was copied of the end may be replaced.
TEST_F(MirrorTest, AnotherEndIsNotTakenForMoreOfTheOld) {
  const auto log_of = [](std::uint64_t count, std::uint64_t bytes) {
    LogBuilder log;
    log.Device(0, 1 << 30);
    for (std::uint64_t i = 0; i < count; ++i)
      log.Alloc(Layer::kLinear, 0x1000 * (i + 1), i < 1000 ? 512 : bytes);
    return log.Bytes({.events_per_chunk = 500, .compress = false, .trailer = false});
  };
  for (const bool connected : {true, false}) {
    const std::string log = directory_.Write("log.mprof", log_of(2000, 256));
    line_.Connect(log);
    ASSERT_TRUE(line_.Update());
    const std::string first = Content(log);
    directory_.Write("log.mprof", log_of(3000, 768));
    ASSERT_TRUE(first.compare(0, kHeadBytes, Content(log), 0, kHeadBytes) == 0);
    if (!connected) line_.Connect(log);
    ASSERT_TRUE(line_.Update());
    EXPECT_TRUE(Content(line_.mirror.file()) == Content(log));
  }
}

TEST_F(MirrorTest, ALogThatIsCutIsCutInTheCopyToo) {
  const std::string whole = LongLog(8);
  const std::string log = directory_.Write("log.mprof", whole);
  line_.Connect(log);
  ASSERT_TRUE(line_.Update());
  directory_.Write("log.mprof", whole.substr(0, whole.size() / 2));
  ASSERT_TRUE(line_.Update());
  EXPECT_TRUE(Content(line_.mirror.file()) == Content(log));
  line_.Connect(log);
  ASSERT_TRUE(line_.Update());
  EXPECT_TRUE(Content(line_.mirror.file()) == Content(log));
}

TEST_F(MirrorTest, WhatIsNoLogIsAnErrorOfTheOtherSide) {
  line_.Connect(directory_.File("missing"));
  EXPECT_TRUE(absl::IsNotFound(line_.server->Update()));
  line_.Connect(directory_.Write("text", "not a log, but long enough to be taken for one"));
  EXPECT_TRUE(absl::IsInvalidArgument(line_.server->Update()));
}

// The user's files are sent once, not with every connection.
TEST_F(MirrorTest, TheUsersSourcesComeAlong) {
  const std::string file = directory_.Write("train.py", "import torch\n");
  LogBuilder program;
  program.Device(0, 1 << 30);
  program.header().set_start_unix_ns(0);
  program.Alloc(Layer::kLinear, 0x1000, 512, {.stack = program.Stack({"main (" + file + ":1)"})});
  const std::string log = directory_.File("log.mprof");
  ASSERT_TRUE(program.WriteTo(log).ok());
  line_.Connect(log);
  ASSERT_TRUE(line_.Update());
  ASSERT_EQ(line_.mirror.sources().size(), 1u);
  EXPECT_EQ(line_.mirror.sources().at(file), "import torch\n");
  const std::uint64_t passed = line_.passed;
  line_.Connect(log);
  ASSERT_TRUE(line_.Update());
  EXPECT_LT(line_.passed - passed, 120u);
}

using MirrorRingTest = RingSessionTest;

TEST_F(MirrorRingTest, TheRingOfAKilledProcessIsInTheCopy) {
  const std::size_t committed = EndOf(600);
  PutEvents(500, 1000, 600, 600);
  ring_.header()->committed = committed;
  ring_.header()->commit_at = committed;
  directory_.Write("dead.ring", ring_.bytes());
  const std::string log = directory_.Write("a.mprof", bytes_.substr(0, committed));
  Line line(directory_.File("copy"));
  line.Connect(log);
  ASSERT_TRUE(line.Update());
  EXPECT_FALSE(line.mirror.growing());
  ExpectWhole(*line.Load());
  EXPECT_EQ(Content(log).size(), committed) << "a log is not changed by who reads it";
  EXPECT_TRUE(std::filesystem::exists(ring_path_));
  // Also after a new connection, and once the ring is in the log itself.
  line.Connect(log);
  ASSERT_TRUE(line.Update());
  ExpectWhole(*line.Load());
  ASSERT_TRUE(FoldRing(log).ok());
  for (const bool connected : {true, false}) {
    if (!connected) line.Connect(log);
    ASSERT_TRUE(line.Update());
    EXPECT_TRUE(Content(line.mirror.file()) == Content(log));
    ExpectWhole(*line.Load());
  }
}

using MirrorSymbolsTest = SymbolsTest;

// The library is a copy, which is gone when the mirror is read.
TEST_F(MirrorSymbolsTest, NamesAreThoseOfTheOtherMachine) {
  testing::Loaded library = library_;
  library.path = directory_.File("libsymbols_guest.so");
  std::filesystem::copy_file(library_.path, library.path);
  LogBuilder program;
  Describe(library, program);
  program.header().set_start_unix_ns(0);
  // Paths of sources may be relative to the folder of the build.
  const auto program_file = std::filesystem::canonical("/proc/self/exe");
  program.header().set_working_directory(program_file.parent_path().parent_path().string());
  const std::string log = directory_.File("log.mprof");
  ASSERT_TRUE(program.WriteTo(log).ok());
  Line line(directory_.File("copy"));
  line.Connect(log);
  ASSERT_TRUE(line.Update());
  const auto session = line.Load();
  ExpectSameSession(session, Local(log));
  ASSERT_EQ(line.mirror.sources().size(), 1u);
  EXPECT_NE(line.mirror.sources().begin()->first.find("symbols_guest.cc"), std::string::npos);
  const std::uint64_t passed = line.passed;
  line.Connect(log);
  ASSERT_TRUE(line.Update());
  EXPECT_LT(line.passed - passed, 120u) << "neither names nor sources are sent again";
  std::filesystem::remove(library.path);
  Symbols symbols(session);
  const auto stack = symbols.ResolveStack(session->allocation(AllocationId(0)).stack);
  ASSERT_GE(stack.size(), 3u);
  EXPECT_NE(stack.front().function.find("Innermost"), std::string::npos) << stack.front().function;
}

}  // namespace
}  // namespace memprof::analysis
