// Databases of malicious, deep or empty logs, and files that cannot be written.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "cli/export/internal/sqlite_schema.h"
#include "cli/export/internal/sqlite_stacks.h"
#include "tests/cli/cli_test_support.h"
#include "tests/cli/export/sqlite_fixture.h"

namespace memprof::cli::testing {
namespace {

using analysis::Layer;
using analysis::testing::LogBuilder;
using ::testing::HasSubstr;

// Names are only data, whatever they contain, and impossible sizes do not make sums negative.
TEST(ExportSqliteTest, HostileLogsAreData) {
  const std::string name = "x'); DROP TABLE allocations; --";
  LogBuilder log;
  const int site = log.Stack({"it's (\"a\".cc:3)"});
  log.TensorCreate(0x1000, 64, log.Tensor(name, "", {2, 3}), {.stack = site});
  log.Alloc(Layer::kLinear, ~std::uint64_t{0} - 10, ~std::uint64_t{0}, {.api = name});
  const Exported out(log);
  EXPECT_EQ(out.database->One("SELECT tensor_name FROM lives WHERE layer = 'tensor'"), name);
  EXPECT_EQ(out.database->One("SELECT api FROM allocations WHERE layer = 'linear'"), name);
  EXPECT_EQ(out.database->One("SELECT bytes FROM allocations WHERE layer = 'linear'"),
            "9223372036854775807");
  EXPECT_EQ(out.database->One("SELECT address_text FROM lives WHERE layer = 'linear'"),
            "0xfffffffffffffff5");
}

// Three stacks of 1, 20 and 100 frames: frames beyond a stack's share of the rows are omitted.
TEST(ExportSqliteTest, DeepStacksKeepTheirInnermostFrames) {
  LogBuilder log;
  for (const int depth : {1, 20, 100}) {
    std::vector<std::string> way;
    for (int i = depth; i-- > 0;) way.push_back("F" + std::to_string(i) + " (f.cc:1)");
    log.Alloc(Layer::kLinear, 0x1000u * static_cast<unsigned>(depth), 512,
              {.stack = log.Stack(way)});
  }
  const auto session = analysis::testing::LoadLog(log);
  ASSERT_NE(session, nullptr);
  analysis::Symbols symbols(session);
  // At least 16 frames are kept.
  for (const auto& [most_rows, kept] : std::vector<std::pair<int, std::string>>{
           {3 * 100, "100"}, {3 * 40, "40"}, {3 * 20 - 1, "19"}, {3, "16"}}) {
    const analysis::testing::TempDirectory directory;
    SqliteFile file(directory.Write("out.db", ""));
    file.Run(kSqliteTables);
    SqliteStacks(*session, symbols, most_rows).Write(file);
    ASSERT_TRUE(file.Finish()) << file.error();
    const Database database(directory.File("out.db"));
    const std::string middle = std::to_string(std::min(20, std::stoi(kept)));
    EXPECT_EQ(
        database.Ask("SELECT count(*), min(f.depth), s.depth FROM stack_frames f JOIN stacks s "
                     "USING (stack) GROUP BY stack ORDER BY s.depth"),
        Rows({{"1", "0", "1"}, {middle, "0", "20"}, {kept, "0", "100"}}));
    EXPECT_EQ(database.One("SELECT function FROM stack_frames JOIN frames USING (frame) WHERE "
                           "depth = 15 AND stack = (SELECT max(stack) FROM stacks)"),
              "F15");
  }
}

TEST(ExportSqliteTest, EveryViewAnswersOnLogsWithNextToNothing) {
  LogBuilder empty, marks;
  marks.Step(1);
  for (const LogBuilder* log : {&empty, &marks}) {
    const Exported out(*log);
    const Rows views = out.database->Ask("SELECT name FROM sqlite_master WHERE type = 'view'");
    EXPECT_EQ(views.size(), 9u);
    for (const auto& view : views) {
      EXPECT_TRUE(out.database->Ask("SELECT * FROM " + view[0]).empty()) << view[0];
    }
  }
}

TEST(ExportSqliteTest, NeedsAFileAndLeavesNoneBehindThatIsNotWhole) {
  const Logs logs;
  const Result piped = Memprof({"export", "--to=sqlite", "-o", "-", "train.mprof"}, logs.path());
  EXPECT_EQ(piped.status, 2);
  EXPECT_THAT(piped.err, HasSubstr("cannot be written to standard output"));
  Streams streams;
  streams.file_limit = 4096;
  const Result full =
      MemprofOn(streams, {"export", "--to=sqlite", "-o", "out.db", "train.mprof"}, logs.path());
  EXPECT_EQ(full.status, 1);
  EXPECT_THAT(full.err, ::testing::StartsWith("memprof: out.db: "));
  EXPECT_FALSE(std::filesystem::exists(logs.directory().File("out.db")));
  // The old file stays until the new one is complete.
  logs.directory().Write("old.db", "precious");
  EXPECT_EQ(MemprofOn(streams, {"export", "--to=sqlite", "--force", "-o", "old.db", "train.mprof"},
                      logs.path())
                .status,
            1);
  EXPECT_EQ(std::filesystem::file_size(logs.directory().File("old.db")), 8u);
  EXPECT_EQ(
      Memprof({"export", "--to=sqlite", "--force", "-o", "old.db", "train.mprof"}, logs.path())
          .status,
      0);
  EXPECT_EQ(Database(logs.directory().File("old.db")).One("SELECT count(*) FROM leaks"), "1");
}

}  // namespace
}  // namespace memprof::cli::testing
