// Damaged, foreign and empty files in every verb: one clear line and status 1, or the readable
// part.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/cli/cli_test_support.h"
#include "tests/cli/hostile_fixture.h"

namespace memprof::cli::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string Good() {
  analysis::testing::LogBuilder log;
  WriteTraining(log);
  return log.Bytes();
}

TEST(HostileTest, FilesThatAreNoLogs) {
  const analysis::testing::TempDirectory directory;
  std::string future = Good();
  future[8] = future[12] = 99;  // format version, and the version a reader must know
  const std::string garbage(5000, 'x');
  struct File {
    const char* name;
    std::string bytes;
    const char* reason;
  };
  const File files[] = {{"empty", "", "is empty"},
                        {"future", future, "has log format 99, which needs a newer memprof"},
                        {"garbage", garbage, "is not a memprof log"},
                        {"header_only", Good().substr(0, 16), "is cut off before its first chunk"},
                        {"short", "MEMPR", "is cut off in its first bytes"}};
  for (const File& file : files) directory.Write(std::string(file.name) + ".mprof", file.bytes);
  const auto line = [&directory](const File& file) {
    return "memprof: " + directory.File(std::string(file.name) + ".mprof") + ": " + file.reason;
  };
  for (const std::string& verb : kVerbs) {
    for (const File& file : files) {
      SCOPED_TRACE(verb + " " + file.name);
      const Result result =
          Memprof(Arguments(verb, directory.File(std::string(file.name) + ".mprof")));
      EXPECT_EQ(result.status, 1);
      EXPECT_THAT(result.err, StartsWith(line(file)));
      EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
      EXPECT_EQ(result.out, "");
    }
    SCOPED_TRACE(verb + " of the folder");
    const Result result = Memprof(Arguments(verb, directory.File("")));
    EXPECT_EQ(result.status, 1);
    EXPECT_EQ(result.out, "");
    // Where a folder is accepted, each unreadable log in it is reported with its reason.
    const auto lines = std::count(result.err.begin(), result.err.end(), '\n');
    if (lines == 1) {
      EXPECT_THAT(result.err, StartsWith("memprof: " + directory.File("")));
      EXPECT_THAT(verb, ::testing::AnyOf("diff", "verify", "fleet rows"));
      continue;
    }
    EXPECT_EQ(lines, std::ssize(files)) << result.err;
    for (const File& file : files)
      EXPECT_THAT(result.err,
                  ::testing::HasSubstr(std::string(file.name) + ".mprof: " + file.reason));
  }
}

// Options that change what a verb does must not make it accept damaged logs.
TEST(HostileTest, NoOptionChangesTheAnswer) {
  const analysis::testing::TempDirectory directory;
  std::string damaged = Good();
  // a valid beginning, then only invalid chunks
  std::fill(damaged.begin() + 16, damaged.end(), '\x5a');
  const std::string all_bad = directory.Write("damaged.mprof", damaged);
  const std::string empty = directory.Write("empty.mprof", "");
  const std::vector<std::string> commands[] = {{"report", "--json"},
                                               {"leaks", "--json"},
                                               {"leaks", "--fail-on=growing"},
                                               {"peak", "--json", "--step=1"},
                                               {"fragmentation", "--json"},
                                               {"fragmentation", "--at-end"},
                                               {"dump", "--json"},
                                               {"export", "--table=events", "-o", "-"},
                                               {"verify", "--json"}};
  for (std::vector<std::string> arguments : commands) {
    arguments.emplace_back();
    for (const std::string& path : {all_bad, empty, directory.File("missing.mprof")}) {
      SCOPED_TRACE(arguments[0] + " " + path);
      arguments.back() = path;
      const Result result = Memprof(arguments);
      EXPECT_EQ(result.status, 1);
      EXPECT_EQ(result.out, "");
      EXPECT_THAT(result.err, StartsWith("memprof: " + path + ": "));
      EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    }
  }
}

TEST(HostileTest, OneBadChecksumIsNamedAndTheRestIsRead) {
  const analysis::testing::TempDirectory directory;
  analysis::testing::LogBuilder log;
  WriteTraining(log);
  std::string bad = log.Bytes({.events_per_chunk = 2});
  bad[bad.size() / 2] ^= 1;  // damages one chunk of two events
  const std::string path = directory.Write("bad.mprof", bad);
  for (const std::string& verb : kVerbs) {
    const Result result = Memprof(Arguments(verb, path));
    if (verb == "verify") {
      EXPECT_EQ(result.status, 1);
      EXPECT_THAT(result.err, HasSubstr("bad checksum"));
      EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1);
    } else {
      EXPECT_EQ(result.status, 0) << verb << result.err;
      EXPECT_NE(result.out, "");
    }
    if (verb == "report") {
      EXPECT_THAT(result.out, HasSubstr("chunks_corrupt 1 (error)"));
    }
  }
}

TEST(HostileTest, CutLogsAreReadAsFarAsTheyGo) {
  const analysis::testing::TempDirectory directory;
  const std::string good = Good();
  const std::string path = directory.Write("cut.mprof", good.substr(0, good.size() * 4 / 5));
  for (const std::string& verb : kVerbs) {
    const Result result = Memprof(Arguments(verb, path));
    EXPECT_TRUE(result.status == 0 || (verb == "verify" && result.status == 1))
        << verb << result.err;
  }
}

TEST(HostileTest, FlippedBytesNeverCrash) {
  const analysis::testing::TempDirectory directory;
  const std::string good = Good();
  std::mt19937_64 random(17);
  for (int round = 0; round < 12; ++round) {
    std::string bad = good;
    for (int i = 0; i < 8; ++i) bad[random() % bad.size()] ^= static_cast<char>(1 + random() % 255);
    const std::string path = directory.Write("bad.mprof", bad);
    for (const std::string& verb : kVerbs) {
      const Result result = Memprof(Arguments(verb, path));
      EXPECT_TRUE(result.status == 0 || result.status == 1) << verb << ": " << result.status;
      if (result.status == 0) continue;
      EXPECT_THAT(result.err, StartsWith("memprof: "));
    }
  }
}

TEST(HostileTest, NamesCannotSpeakToTheTerminal) {
  const analysis::testing::TempDirectory directory;
  analysis::testing::LogBuilder log;
  const int site = log.Stack({"evil\033[2J\007 (a\033]0;x.cc:1)"});
  log.header().set_executable("/bin/\033[31mred");
  log.header().clear_argument();
  log.Device(0, 1 << 30, "GPU\033[5m\n\r");
  log.SourceState("driver\033", 1, "detail\033");
  log.Alloc(analysis::Layer::kLinear, 0x1000, 10, {.stack = site, .api = "cu\033"});
  log.TensorCreate(0x1000, 10, log.Tensor("t\033[1m", "f\b32", {3}), {.stack = site});
  const std::string path = directory.Write("evil.mprof", log.Bytes());
  for (const std::string& verb : kVerbs) {
    if (verb.starts_with("export ")) continue;  // exports contain data as recorded
    std::vector<std::string> arguments = Arguments(verb, path);
    if (verb == "dump") arguments.push_back("--symbols");
    const Result result = Memprof(arguments);
    EXPECT_EQ(result.status, 0) << result.err;
    for (const char c : result.out) {
      ASSERT_TRUE(static_cast<unsigned char>(c) >= 0x20 || c == '\n' || c == '\t') << verb;
    }
  }
  const Result missing = Memprof({"report", "/no/\033[31msuch"});
  EXPECT_EQ(missing.err.find('\033'), std::string::npos);
}

TEST(HostileTest, OneBrokenLogAmongManyIsLeftOut) {
  const analysis::testing::TempDirectory directory;
  const std::string good = directory.Write("b.mprof", Good());
  const std::string garbage = directory.Write("a.mprof", "garbage");
  const std::string empty = directory.Write("c.mprof", "");
  const Result alone = Memprof({"leaks", good});
  for (const std::string& verb : kVerbs) {
    // These need several logs, or take one.
    if (verb == "diff" || verb == "verify" || verb == "fleet rows") continue;
    for (const bool folder : {false, true}) {
      std::vector<std::string> arguments = Arguments(verb, folder ? directory.File("") : garbage);
      if (!folder) arguments.insert(arguments.end(), {good, empty});
      const Result result = Memprof(arguments);
      EXPECT_EQ(result.status, 0) << verb << result.err;
      EXPECT_THAT(result.err, HasSubstr("a.mprof: "));
      EXPECT_THAT(result.err, HasSubstr("c.mprof: "));
      EXPECT_THAT(result.err, HasSubstr("; left out\n"));
      EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 2) << result.err;
      if (verb == "leaks") {
        // But for the command that shows it, which names what was given.
        const auto report = [](const std::string& out) {
          return out.substr(0, out.find("Show it"));
        };
        EXPECT_EQ(report(result.out), report(alone.out));
      }
    }
    std::vector<std::string> arguments = Arguments(verb, garbage);
    arguments.push_back(empty);
    const Result none = Memprof(arguments);
    EXPECT_EQ(none.status, 1) << verb;
    EXPECT_EQ(none.out, "");
    EXPECT_EQ(none.err.find("left out"), std::string::npos);
  }
}

}  // namespace
}  // namespace memprof::cli::testing
