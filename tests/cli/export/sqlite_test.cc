// export --to=sqlite: the database says what the log says, in tables and in views.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <filesystem>
#include <map>

#include "analysis/leaks/leaks.h"
#include "analysis/peak/peak.h"
#include "cli/export/internal/sqlite_schema.h"
#include "cli/export/internal/sqlite_stacks.h"
#include "tests/cli/cli_test_support.h"
#include "tests/support/random_log.h"

namespace memprof::cli::testing {
namespace {

using analysis::Allocation;
using analysis::Layer;
using analysis::Session;
using analysis::testing::LogBuilder;
using analysis::testing::RandomLog;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Rows = std::vector<std::vector<std::string>>;

// Answers queries to a database file.
class Database {
 public:
  explicit Database(const std::string& path) {
    EXPECT_EQ(sqlite3_open_v2(path.c_str(), &database_, SQLITE_OPEN_READONLY, nullptr), SQLITE_OK);
  }
  ~Database() { sqlite3_close(database_); }
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  Rows Ask(const std::string& sql) const {
    Rows rows;
    char* error = nullptr;
    sqlite3_exec(
        database_, sql.c_str(),
        [](void* out, int columns, char** values, char**) {
          auto& row = static_cast<Rows*>(out)->emplace_back();
          for (int i = 0; i < columns; ++i) row.emplace_back(values[i] == nullptr ? "" : values[i]);
          return 0;
        },
        &rows, &error);
    EXPECT_EQ(error, nullptr) << sql << ": " << error;
    sqlite3_free(error);
    return rows;
  }
  std::string One(const std::string& sql) const {
    const Rows rows = Ask(sql);
    return rows.size() == 1 && rows[0].size() == 1 ? rows[0][0] : "(not one value)";
  }
  std::uint64_t Number(const std::string& sql) const { return std::stoull(One(sql)); }

 private:
  sqlite3* database_ = nullptr;
};

// A log and the database made of it.
struct Exported {
  explicit Exported(const LogBuilder& log) {
    session = analysis::testing::LoadLog(log);
    const Result result = Memprof({"export", "--to=sqlite", "-o", directory.File("out.db"),
                                   directory.Write("in.mprof", log.Bytes())});
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_EQ(result.out + result.err, "");
    database = std::make_unique<Database>(directory.File("out.db"));
  }
  analysis::testing::TempDirectory directory;
  std::shared_ptr<const Session> session;
  std::unique_ptr<Database> database;
};

TEST(ExportSqliteTest, IsSoundAndNamesItsVersion) {
  LogBuilder log;
  WriteTraining(log);
  const Exported out(log);
  EXPECT_EQ(out.database->One("PRAGMA integrity_check"), "ok");
  EXPECT_EQ(out.database->Number("PRAGMA application_id"), 0x6d70726fu);
  EXPECT_EQ(out.database->One("PRAGMA user_version"), "1");
  EXPECT_EQ(out.database->One("SELECT value FROM run WHERE key = 'executable'"),
            "/opt/train/train_gpt");
  EXPECT_EQ(out.database->One("SELECT value FROM run WHERE key = 'arguments'"),
            "train_gpt --steps=40");
  EXPECT_EQ(out.database->One("SELECT value FROM run WHERE key = 'complete'"), "1");
}

// Every allocation of random logs with all its fields, and every event's.
TEST(ExportSqliteTest, AllocationsAndEventsAreThoseOfTheLog) {
  for (const std::uint32_t seed : {71u, 72u}) {
    RandomLog log({.seed = seed});
    const Exported out(log.builder());
    const Rows lives = out.database->Ask(
        "SELECT layer, device, address, bytes, requested_bytes, birth_ns, birth_event, birth_step, "
        "death_ns, death_event, death_step, parent, tensor, stack, on_device "
        "FROM allocations ORDER BY allocation");
    ASSERT_EQ(lives.size(), out.session->allocations().size());
    const auto id = [](auto i) { return i.valid() ? std::to_string(i.value) : std::string(); };
    for (std::size_t i = 0; i < lives.size(); ++i) {
      const Allocation a = out.session->allocations()[i];
      const auto dead = [&a](auto value) { return a.alive() ? "" : std::to_string(value); };
      EXPECT_THAT(lives[i],
                  ElementsAre(analysis::LayerName(a.layer), std::to_string(a.device),
                              std::to_string(a.address), std::to_string(a.bytes),
                              std::to_string(a.requested), std::to_string(a.birth_time),
                              id(a.birth), std::to_string(a.birth_step), dead(a.death_time),
                              id(a.death), dead(a.death_step), id(a.parent), id(a.tensor),
                              id(a.stack), analysis::OccupiesDevice(a.layer) ? "1" : "0"));
    }
    const analysis::EventTable& events = out.session->events();
    const Rows rows = out.database->Ask(
        "SELECT time_ns, op, layer, device, address, bytes, allocation, step FROM events ORDER BY "
        "event");
    ASSERT_EQ(rows.size(), events.size());
    for (std::size_t e = 0; e < rows.size(); ++e) {
      EXPECT_THAT(rows[e],
                  ElementsAre(std::to_string(events.time(e)), analysis::OpName(events.op(e)),
                              analysis::LayerName(events.layer(e)),
                              std::to_string(events.device(e)), std::to_string(events.address(e)),
                              std::to_string(events.bytes(e)), id(events.allocation(e)),
                              std::to_string(out.session->StepOf(
                                  analysis::EventId(static_cast<std::uint32_t>(e))))));
    }
  }
}

TEST(ExportSqliteTest, MemoryOverTimeIsTheSumOfWhatLives) {
  RandomLog log({.seed = 73});
  const Exported out(log.builder());
  std::map<std::pair<int, std::uint32_t>, std::uint64_t> expected;
  const auto records = out.session->records();
  for (std::uint32_t e = 0; e < out.session->events().size(); ++e) {
    for (const auto& changed : records) {
      if (!analysis::OccupiesDevice(changed.layer)) continue;
      if (changed.birth.value != e && changed.death.value != e) continue;
      std::uint64_t& sum = expected[{changed.device, e}];
      sum = 0;
      for (const auto& a : records) {
        if (analysis::OccupiesDevice(a.layer) && a.device == changed.device && a.birth.value <= e &&
            (a.alive() || a.death.value > e)) {
          sum += a.bytes;
        }
      }
    }
  }
  const Rows rows =
      out.database->Ask("SELECT device, event, bytes FROM device_memory ORDER BY device, event");
  ASSERT_EQ(rows.size(), expected.size());
  auto it = expected.begin();
  for (const auto& row : rows) {
    EXPECT_THAT(row, ElementsAre(std::to_string(it->first.first), std::to_string(it->first.second),
                                 std::to_string(it->second)));
    ++it;
  }
}

TEST(ExportSqliteTest, ViewsOfThePeakAndTheEndAgreeWithTheAnalysis) {
  for (const std::uint32_t seed : {74u, 75u, 76u}) {
    RandomLog log({.seed = seed});
    const Exported out(log.builder());
    for (const analysis::Peak& peak : analysis::FindPeaks(*out.session)) {
      const std::string device = std::to_string(peak.device);
      EXPECT_EQ(out.database->Number("SELECT bytes FROM peaks WHERE device = " + device),
                peak.bytes);
      EXPECT_EQ(
          out.database->Number("SELECT max(bytes) FROM device_memory WHERE device = " + device),
          peak.bytes);
      for (int i = 0; i < analysis::kLayerCount; ++i) {
        const std::string layer(analysis::LayerName(static_cast<Layer>(i)));
        if (peak.by_layer[i] == 0) continue;
        EXPECT_EQ(out.database->Number("SELECT sum(bytes) FROM live_at_peak WHERE device = " +
                                       device + " AND layer = '" + layer + "'"),
                  peak.by_layer[i])
            << layer;
      }
    }
    std::uint64_t alive = 0, all = 0;
    for (const auto& record : out.session->records()) {
      all += record.bytes;
      if (record.alive()) alive += record.bytes;
    }
    EXPECT_EQ(out.database->Number("SELECT sum(bytes) FROM live_at_end"), alive);
    EXPECT_EQ(out.database->Number("SELECT sum(live_bytes) FROM site_totals"), alive);
    EXPECT_EQ(out.database->Number("SELECT sum(live_at_end_bytes) FROM step_totals"), alive);
    EXPECT_EQ(out.database->Number("SELECT sum(allocated_bytes) FROM site_totals"), all);
    EXPECT_EQ(out.database->Number("SELECT sum(allocated_bytes) FROM step_totals"), all);
  }
}

TEST(ExportSqliteTest, TellsLeaksFailuresTensorsAndStacks) {
  LogBuilder log;
  WriteTraining(log);
  const Exported out(log);
  const auto leaks = analysis::FindLeaks(*out.session).leaks;
  ASSERT_EQ(leaks.size(), 1u);
  EXPECT_EQ(
      out.database->Ask("SELECT tier, bytes, site, why, doubt FROM leak_sites"),
      Rows({{std::string(analysis::LeakTierName(leaks[0].tier)), std::to_string(leaks[0].bytes),
             "HistoryLeak (history.cc:42)", leaks[0].why, leaks[0].disproof}}));
  EXPECT_EQ(out.database->Ask("SELECT op, bytes, result FROM failures"),
            Rows({{"alloc_failed", std::to_string(512 << 20), "2"}}));
  EXPECT_EQ(out.database->One("SELECT shape FROM tensors WHERE name = 'loss_history' LIMIT 1"),
            "262144");
  EXPECT_EQ(out.database->Ask("SELECT function, file, line FROM stack_lines WHERE stack = (SELECT "
                              "stack FROM leaks)"),
            Rows({{"HistoryLeak", "history.cc", "42"},
                  {"TrainStep", "train.cc", "77"},
                  {"main", "train.cc", "100"}}));
  EXPECT_EQ(out.database->One("SELECT count(*) FROM lives WHERE tensor_name = 'activations' AND "
                              "site = 'Model::Forward (model.cc:40)' AND tid = 4711"),
            "40");
  EXPECT_EQ(out.database->One("SELECT sum(kept_bytes) FROM step_totals WHERE step = 7 AND layer = "
                              "'block'"),
            std::to_string(1 << 20));
}

TEST(ExportSqliteTest, SeveralLogsAreOneDatabase) {
  const Logs logs;
  EXPECT_EQ(
      Memprof({"export", "--to=sqlite", "-o", "out.db", "train.mprof", "raw.mprof"}, logs.path())
          .status,
      0);
  const Database database(logs.directory().File("out.db"));
  EXPECT_EQ(database.Ask("SELECT log, pid FROM processes ORDER BY process"),
            Rows({{"train.mprof", "4711"}, {"raw.mprof", "12"}}));
  EXPECT_EQ(database.One("SELECT count(*) FROM lives WHERE process = 1"), "2");
  // None of them is ever written over.
  const Result over =
      Memprof({"export", "--to=sqlite", "--force", "-o", "raw.mprof", "train.mprof", "raw.mprof"},
              logs.path());
  EXPECT_EQ(over.err, "memprof: raw.mprof: is the log itself\n");
}

TEST(ExportSqliteTest, RangesAndSnapshotsAreThere) {
  LogBuilder log;
  WriteRaw(log);
  const Exported out(log);
  EXPECT_EQ(out.database->Ask("SELECT name, depth FROM ranges"), Rows({{"fill \"it\"", "0"}}));
  EXPECT_EQ(out.database->One("SELECT label FROM snapshots"), "half way");
}

// Names are data, whatever they say, and sizes that no memory has do not turn sums negative.
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

// Three stacks of 1, 20 and 100 frames: what is beyond a stack's share of the rows is left out.
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
  // 16 frames are kept in any case.
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
  EXPECT_THAT(piped.err, HasSubstr("cannot go to standard output"));
  Streams streams;
  streams.file_limit = 4096;
  const Result full =
      MemprofOn(streams, {"export", "--to=sqlite", "-o", "out.db", "train.mprof"}, logs.path());
  EXPECT_EQ(full.status, 1);
  EXPECT_THAT(full.err, ::testing::StartsWith("memprof: out.db: "));
  EXPECT_FALSE(std::filesystem::exists(logs.directory().File("out.db")));
  // The old file stays until the new one is whole.
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
