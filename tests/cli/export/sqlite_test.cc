// export --to=sqlite: tables and views of the database have the contents of the log.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "analysis/leaks/leaks.h"
#include "analysis/peak/peak.h"
#include "tests/cli/cli_test_support.h"
#include "tests/cli/export/sqlite_fixture.h"
#include "tests/support/random_log.h"

namespace memprof::cli::testing {
namespace {

using analysis::Allocation;
using analysis::Layer;
using analysis::testing::LogBuilder;
using analysis::testing::RandomLog;
using ::testing::ElementsAre;

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

// Every allocation of random logs with all its fields, and all events.
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

TEST(ExportSqliteTest, HasLeaksFailuresTensorsAndStacks) {
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
  // None of these files is ever overwritten.
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

}  // namespace
}  // namespace memprof::cli::testing
