// import: from other tools' files to logs that every verb reads, and back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/cli/cli_test_support.h"
#include "tests/support/paths.h"
#include "tests/support/read_file.h"

namespace memprof::cli::testing {
namespace {

using analysis::testing::TempDirectory;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const std::string kData = paths::kTestData;
const std::string kTraining = kData + "/torch_snapshot_train.pickle";
const std::string kOom = kData + "/torch_snapshot_oom.pickle";

std::size_t LineCount(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

TEST(ImportTest, EveryVerbReadsASnapshot) {
  const TempDirectory directory;
  const std::string log = directory.File("train.mprof");
  const Result imported = Memprof({"import", "-o", log, kTraining});
  EXPECT_EQ(imported.status, 0);
  EXPECT_EQ(imported.out, "");
  EXPECT_THAT(imported.err,
              HasSubstr("note: " + kTraining +
                        ": the trace begins when 6 segments and 13 blocks were there already"));
  const Result verified = Memprof({"verify", log});
  EXPECT_EQ(verified.status, 0) << verified.out;
  EXPECT_THAT(verified.out, HasSubstr("sound"));
  const std::pair<std::string, std::string> verbs[] = {
      {"report", "allocator on"},
      {"peak", "<module> (cu2.py:8)"},
      {"fragmentation", "device 0 small"},
      {"leaks", "too short to tell what grows"},
      {"dump", "name=start of the imported trace"}};
  for (const auto& [verb, words] : verbs) {
    const Result result = Memprof({verb, log});
    EXPECT_EQ(result.status, 0) << verb << result.err;
    EXPECT_THAT(result.out, HasSubstr(words)) << verb;
    EXPECT_EQ(result.err, "");
  }
  EXPECT_THAT(Memprof({"report", log}).out, HasSubstr("trace_truncated"));
}

TEST(ImportTest, ReportOfASnapshot) {
  const TempDirectory directory;
  const std::string log = directory.File("oom.mprof");
  const Result imported = Memprof({"import", "-o", log, kOom});
  EXPECT_EQ(imported.status, 0);
  EXPECT_EQ(imported.err, "");  // complete: no note
  ExpectGolden("import_dump.txt", Memprof({"dump", log}).out);
}

TEST(ImportTest, ThereAndBack) {
  const TempDirectory directory;
  for (const std::string& pickle : {kTraining, kOom}) {
    const std::string first = directory.File("1.mprof"), back = directory.File("back.pickle"),
                      second = directory.File("2.mprof");
    EXPECT_EQ(Memprof({"import", "--force", "-o", first, pickle}).status, 0);
    const Result exported = Memprof({"export", "--format=pytorch", "--force", "-o", back, first});
    EXPECT_EQ(exported.status, 0) << exported.err;
    EXPECT_EQ(Memprof({"import", "--force", "-o", second, back}).status, 0);
    EXPECT_EQ(Memprof({"dump", "--json", first}).out, Memprof({"dump", "--json", second}).out);
  }
}

TEST(ImportTest, RmmLogs) {
  const TempDirectory directory;
  const std::string csv = directory.Write("log.dev1.csv",
                                          "Thread,Time,Action,Pointer,Size,Stream\n"
                                          "7,14:21:19.998533,allocate,0x30a000000,4096,0x2\n"
                                          "7,14:21:19.998543,free,0x30a000000,4096,0x2\n");
  const std::string log = directory.File("rmm.mprof");
  const Result imported = Memprof({"import", "-o", log, csv});
  EXPECT_EQ(imported.status, 0) << imported.err;
  EXPECT_THAT(Memprof({"peak", log}).out, HasSubstr("stream-ordered"));
  EXPECT_THAT(Memprof({"report", log}).out, HasSubstr("Peak 4.00 KiB on device 1"));
}

// Each refusal names its cause in one line.
TEST(ImportTest, RefusalsAreOneLineAndLeaveNothingBehind) {
  const TempDirectory directory;
  const std::string log = directory.File("out.mprof");
  const std::pair<std::string, std::string> cases[] = {
      {std::string("\x80\x04\x8c\x02os\x94\x8c\x06system\x94\x93.", 18),
       ": at offset 16: opcode 0x93 (STACK_GLOBAL) is refused: plain data does not need it\n"},
      {"", " is empty\n"},
      {"hello", " is neither a PyTorch memory snapshot (a pickle) nor an RMM log (CSV)\n"},
      {"Thread,Time,Action,Pointer,Size,Stream\n7,x,free,0,0,0\n",
       ": line 2: the time is neither HH:MM:SS.ffffff nor seconds\n"},
      {std::string("\x80\x04]", 3), ": at offset 3: the pickle ends before its STOP\n"}};
  for (const auto& [bytes, message] : cases) {
    const std::string input = directory.Write("input", bytes);
    const Result result = Memprof({"import", "-o", log, input});
    EXPECT_EQ(result.status, 1);
    EXPECT_EQ(result.err, "memprof: " + input + message);
    EXPECT_FALSE(std::filesystem::exists(log));
  }
}

TEST(ImportTest, FilesAreNotOverwrittenUnlessAsked) {
  const TempDirectory directory;
  const std::string log = directory.Write("log.mprof", "precious");
  Result result = Memprof({"import", "-o", log, kOom});
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.err, HasSubstr("exists already; --force overwrites it"));
  EXPECT_EQ(memprof::testing::ReadFile(log), "precious");
  const std::string bad = directory.Write("bad", "nothing");
  EXPECT_EQ(Memprof({"import", "--force", "-o", log, bad}).status, 1);
  EXPECT_EQ(memprof::testing::ReadFile(log), "precious");  // a failed import deletes nothing
  EXPECT_EQ(Memprof({"import", "--force", "-o", log, kOom}).status, 0);
  EXPECT_THAT(memprof::testing::ReadFile(log), StartsWith("MEMPROF\n"));
  const std::string own = directory.Write("own.pickle", memprof::testing::ReadFile(kOom));
  result = Memprof({"import", "--force", "-o", own, own});
  EXPECT_EQ(result.status, 1);
  EXPECT_EQ(memprof::testing::ReadFile(own), memprof::testing::ReadFile(kOom));
}

TEST(ImportTest, Usage) {
  const TempDirectory directory;
  EXPECT_EQ(Memprof({"import"}).status, 2);
  EXPECT_THAT(Memprof({"import", kOom}).err, HasSubstr("no output file: name it with -o LOG"));
  EXPECT_THAT(Memprof({"import", "-o", "x", kOom, kOom}).err,
              HasSubstr("more than one input file"));
  const Result missing =
      Memprof({"import", "-o", directory.File("x"), directory.File("none.pickle")});
  EXPECT_EQ(missing.status, 1);
  EXPECT_THAT(missing.err, HasSubstr("none.pickle: No such file or directory"));
  EXPECT_EQ(LineCount(missing.err), 1u);
  const Result folder = Memprof({"import", "-o", directory.File("x"), directory.File("")});
  EXPECT_EQ(folder.status, 1);
  EXPECT_EQ(LineCount(folder.err), 1u);
  const Result help = Memprof({"import", "--help"});
  EXPECT_EQ(help.status, 0);
  EXPECT_THAT(help.out, HasSubstr("memprof import -o train.mprof snapshot.pickle"));
}

TEST(ImportTest, AFullDiskIsSaidAndNothingIsLeft) {
  const TempDirectory directory;
  const std::string log = directory.File("x.mprof");
  Streams streams;
  streams.file_limit = 512;
  const Result result = MemprofOn(streams, {"import", "-o", log, kOom});
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.err, HasSubstr("x.mprof"));
  EXPECT_FALSE(std::filesystem::exists(log));
}

TEST(ExportPytorchTest, TheTrainingLogOfTests) {
  const Logs logs;
  const Result exported =
      Memprof({"export", "--to", "pytorch", "-o", "out.pickle", "train.mprof"}, logs.path());
  EXPECT_EQ(exported.status, 0) << exported.err;
  EXPECT_THAT(memprof::testing::ReadFile(logs.directory().File("out.pickle")),
              StartsWith("\x80\x04}("));
  const Result imported = Memprof({"import", "-o", "again.mprof", "out.pickle"}, logs.path());
  EXPECT_EQ(imported.status, 0);
  EXPECT_EQ(imported.err, "");
  // The same leak at the same site, recognised by names of steps and stacks alone.
  EXPECT_THAT(Memprof({"leaks", "again.mprof"}, logs.path()).out,
              HasSubstr("HistoryLeak (history.cc:42)"));
  const Result shared =
      Memprof({"export", "--to", "pytorch", "-o", "shared.pickle", "shared.mprof"}, logs.path());
  EXPECT_EQ(shared.status, 0) << shared.err;
}

}  // namespace
}  // namespace memprof::cli::testing
