// memprof fleet: its rows against the schema and against `memprof report --json`; the start of
// Python.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>

#include "tests/cli/cli_test_support.h"
#include "tests/cli/status_fixture.h"
#include "tests/support/paths.h"

namespace memprof::cli::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using Ordered = nlohmann::ordered_json;

struct LogRows {
  Ordered head, end, run;
  std::map<std::string, std::vector<Ordered>> tables;
};

LogRows RowsOf(const Result& result) {
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(result.err, "");
  LogRows rows;
  std::istringstream lines(result.out);
  std::uint64_t count = 0;
  for (std::string line; std::getline(lines, line);) {
    Ordered json = Ordered::parse(line);
    EXPECT_TRUE(rows.end.is_null()) << "after the end: " << line;
    if (rows.head.is_null()) {
      rows.head = json;
    } else if (json.contains("end")) {
      rows.end = json;
    } else {
      rows.tables[json["table"]].push_back(json["row"]);
      ++count;
    }
  }
  EXPECT_EQ(rows.end, Ordered({{"end", true}, {"rows", count}}));
  EXPECT_EQ(rows.tables["runs"].size(), 1u);
  if (!rows.tables["runs"].empty()) rows.run = rows.tables["runs"][0];
  return rows;
}

// The types of the columns, by table, in order.
std::map<std::string, std::vector<std::pair<std::string, std::string>>> Schema() {
  std::ifstream file(std::string(paths::kSources) + "/python/memprof/_fleet/schema.py");
  const std::regex table("    \"(\\w+)\": \\(.*"), column("        \\(\"(\\w+)\", \"(\\w+)\".*");
  std::map<std::string, std::vector<std::pair<std::string, std::string>>> tables;
  std::string at;
  std::smatch found;
  for (std::string line; std::getline(file, line);) {
    if (std::regex_match(line, found, table)) at = found[1];
    if (std::regex_match(line, found, column)) tables[at].emplace_back(found[1], found[2]);
  }
  return tables;
}

bool Has(const Ordered& value, const std::string& type) {
  if (value.is_null()) return true;
  if (type == "text") return value.is_string();
  if (type == "bool") return value.is_boolean();
  if (type == "f64") return value.is_number();
  return value.is_number_integer();
}

void ExpectFollowsSchema(const LogRows& rows) {
  const auto schema = Schema();
  ASSERT_EQ(schema.size(), 10u);
  for (const auto& [table, list] : rows.tables) {
    ASSERT_TRUE(schema.contains(table)) << table;
    const auto& columns = schema.at(table);
    for (const Ordered& row : list) {
      ASSERT_EQ(row.size(), columns.size()) << table;
      auto value = row.begin();
      for (const auto& [name, type] : columns) {
        EXPECT_EQ(value.key(), name) << table;
        EXPECT_TRUE(Has(value.value(), type)) << table << "." << name << ": " << value.value();
        ++value;
      }
    }
  }
}

// Every site that a table names has a row.
void ExpectSitesAreNamed(const LogRows& rows) {
  std::set<std::string> named = {""}, known;
  for (const auto& [table, list] : rows.tables)
    for (const Ordered& row : list)
      for (const char* column : {"site", "growth_site"})
        if (row.contains(column) && row[column].is_string())
          (table == "sites" ? known : named).insert(row[column]);
  named.erase("");
  EXPECT_EQ(named, known);
}

std::uint64_t Sum(const std::vector<Ordered>& rows, const char* column, const Ordered& device,
                  const std::string& moment = "") {
  std::uint64_t sum = 0;
  for (const Ordered& row : rows)
    if (row["device"] == device && (moment.empty() || row["moment"] == moment))
      sum += row[column].get<std::uint64_t>();
  return sum;
}

void ExpectDeviceAgrees(LogRows& rows, const Ordered& device) {
  const Ordered& ledger = device["ledger"];
  const auto used = [&](const char* entry, const char* moment) {
    std::uint64_t sum = 0;
    for (const Ordered& row : rows.tables["ledger"])
      if (row["device"] == device["id"] && row["moment"] == moment && row["kind"] != "elsewhere")
        sum += row["size"].get<std::uint64_t>();
    const std::uint64_t elsewhere = ledger[entry]["elsewhere_bytes"];
    EXPECT_EQ(sum, ledger[entry]["total_bytes"].get<std::uint64_t>() + elsewhere);
  };
  if (ledger.contains("highest")) used("highest", "peak");
  if (ledger.contains("last")) used("last", "end");
  if (rows.run["device"] != device["id"]) return;
  EXPECT_EQ(rows.run["device_name"], device["name"]);
  EXPECT_EQ(rows.run["peak"], device["peak_bytes"]);
  EXPECT_EQ(rows.run["device_peak"], device["device_peak_bytes"]);
  if (!device.contains("framework")) return;
  EXPECT_EQ(rows.run["allocated_peak"], device["framework"]["peak_bytes"]);
  EXPECT_EQ(rows.run["reserved_peak"], device["framework"]["peak_reserved_bytes"]);
}

void ExpectPeakAgrees(LogRows& rows, const Ordered& peak) {
  if (rows.run["device"] == peak["device"] && peak["step"] >= 0) {
    EXPECT_EQ(rows.run["peak_step"], peak["step"]);
  }
  std::uint64_t by_category = 0;
  for (const Ordered& category : peak["by_category"])
    by_category += category["bytes"].get<std::uint64_t>();
  EXPECT_EQ(Sum(rows.tables["categories"], "size", peak["device"]), by_category);
}

void ExpectLeaksAgree(LogRows& rows, const Ordered& leaks) {
  const std::vector<Ordered>& found = rows.tables["leaks"];
  ASSERT_EQ(found.size(), leaks.size());
  for (std::size_t i = 0; i < leaks.size(); ++i) {
    EXPECT_EQ(found[i]["tier"], leaks[i]["tier"]);
    EXPECT_EQ(found[i]["size"], leaks[i]["bytes"]);
    EXPECT_EQ(found[i]["blocks"], leaks[i]["blocks"]);
    EXPECT_EQ(found[i]["slope"], leaks[i]["bytes_per_step"]);
    EXPECT_EQ(found[i]["score"], leaks[i]["score"]);
    for (const Ordered& site : rows.tables["sites"]) {
      if (site["site"] != found[i]["site"]) continue;
      EXPECT_EQ(site["name"], leaks[i]["site"]);
    }
  }
}

// The figures are those of `memprof report --json`.
void ExpectAgrees(LogRows rows, const Ordered& report) {
  ExpectFollowsSchema(rows);
  ExpectSitesAreNamed(rows);
  EXPECT_EQ(rows.run["events"], report["events"]["total"]);
  EXPECT_EQ(rows.run["events_lost"], report["events"]["lost"]);
  EXPECT_EQ(rows.run["verdict"], report["leak_verdict"]);
  EXPECT_EQ(rows.run["pid"], report["run"]["pid"]);
  EXPECT_EQ(rows.run["start_unix"], report["run"]["start_unix_ns"]);
  const std::uint64_t steps = report["steps"];
  EXPECT_EQ(rows.run["steps"], steps - std::min<std::uint64_t>(steps, 1));  // the last has no end
  for (const Ordered& device : report["devices"]) ExpectDeviceAgrees(rows, device);
  for (const Ordered& peak : report["peaks"]) ExpectPeakAgrees(rows, peak);
  ExpectLeaksAgree(rows, report["leaks"]);
  std::map<int, std::uint64_t> reserved;
  for (const Ordered& pool : report["fragmentation"]["pools"])
    reserved[pool["device"]] += pool["reserved_bytes"].get<std::uint64_t>();
  for (const Ordered& row : rows.tables["fragmentation"])
    EXPECT_EQ(row["reserved"], reserved[row["device"]]);
  // The highest step has the peak.
  std::uint64_t highest = 0;
  for (const Ordered& row : rows.tables["rank_step"])
    if (row["device"] == rows.run["device"])
      highest = std::max(highest, row["peak"].get<std::uint64_t>());
  if (!rows.run["peak_step"].is_null()) {
    EXPECT_EQ(highest, rows.run["peak"]);
  }
}

void ExpectAgreesWithReport(const std::string& directory, const std::string& log) {
  SCOPED_TRACE(log);
  const Result report = Memprof({"report", "--json", log}, directory);
  ASSERT_EQ(report.status, 0) << report.err;
  ExpectAgrees(RowsOf(Memprof({"fleet", "rows", log}, directory)), Ordered::parse(report.out));
}

TEST(FleetRows, AgreeWithTheReport) {
  const Logs logs;
  for (const char* log : {"train.mprof", "raw.mprof", "shared.mprof"})
    ExpectAgreesWithReport(logs.path(), log);
  const LogRows train = RowsOf(Memprof({"fleet", "rows", "train.mprof"}, logs.path()));
  for (const char* table : {"rank_step", "rank_site_step", "sites", "ledger", "categories", "leaks",
                            "ooms", "fragmentation", "advice"})
    EXPECT_TRUE(train.tables.contains(table)) << table;
}

TEST(FleetRows, OfFailuresAgreeWithOom) {
  const Logs logs;
  LogRows rows = RowsOf(Memprof({"fleet", "rows", "train.mprof"}, logs.path()));
  const Ordered oom = Ordered::parse(Memprof({"oom", "--json", "train.mprof"}, logs.path()).out);
  const std::vector<Ordered>& found = rows.tables["ooms"];
  ASSERT_EQ(found.size(), oom["failures"].size());
  ASSERT_FALSE(found.empty());
  for (std::size_t i = 0; i < found.size(); ++i) {
    const Ordered& failure = oom["failures"][i];
    EXPECT_EQ(found[i]["asked"], failure["bytes"]);
    EXPECT_EQ(found[i]["cause"], failure["cause"]);
    EXPECT_EQ(found[i]["recovered"], failure["recovered"]);
    Ordered least;
    for (const Ordered& remedy : failure["remedies"])
      if (least.is_null() && remedy["fits"]) least = remedy["kind"];
    EXPECT_EQ(found[i]["remedy"], least);
  }
}

TEST(FleetRows, OfTheDemoAgreeWithTheReport) {
  if (!std::filesystem::exists(paths::kDemoTrainer)) GTEST_SKIP() << "no demo trainer here";
  const analysis::testing::TempDirectory directory;
  const Result run = Memprof(
      {"run",       "--sim",    "-o",      "demo.mprof", "--",     paths::kDemoTrainer, "--steps",
       "30",        "--layers", "1",       "--dim",      "16",     "--heads",           "2",
       "--context", "8",        "--batch", "4",          "--leak", "history",           "--quiet"},
      directory.File(""), {"SLURM_JOB_ID=4711", "RANK=3", "PP_RANK=1"});
  ASSERT_EQ(run.status, 0) << run.err;
  ExpectAgreesWithReport(directory.File(""), "demo.mprof");
  const LogRows rows = RowsOf(Memprof({"fleet", "rows", "demo.mprof"}, directory.File("")));
  EXPECT_EQ(rows.run["job"], "4711");
  EXPECT_EQ(rows.run["rank"], 3);
  EXPECT_EQ(rows.run["pipeline_rank"], 1);
  EXPECT_EQ(rows.run["ended"], "clean");
  EXPECT_EQ(rows.run["simulated"], true);
}

TEST(FleetRows, NameTheLogAsTheyWereTold) {
  const Logs logs;
  const Result plain = Memprof({"fleet", "rows", "train.mprof"}, logs.path());
  const LogRows rows = RowsOf(plain);
  EXPECT_EQ(rows.head["schema"], 1);
  EXPECT_EQ(rows.head["run"].get<std::string>().size(), 32u);
  EXPECT_EQ(rows.run["log"], "train.mprof");
  EXPECT_EQ(rows.run["job"], std::filesystem::path(logs.path()).filename().string());
  EXPECT_EQ(Memprof({"fleet", "rows", "train.mprof"}, logs.path()).out, plain.out);
  const LogRows named =
      RowsOf(Memprof({"fleet", "rows", "--as=s3://logs/job7/0.mprof", "train.mprof"}, logs.path()));
  EXPECT_EQ(named.run["log"], "s3://logs/job7/0.mprof");
  EXPECT_EQ(named.run["job"], "job7");
  EXPECT_EQ(named.head, rows.head);
}

TEST(FleetRows, OfNoLogAreNone) {
  const Logs logs;
  logs.directory().Write("foreign.mprof", "no log at all");
  logs.directory().Write("empty.mprof", "");
  for (const char* log : {"none.mprof", "foreign.mprof", "empty.mprof", "."})
    ExpectError(Memprof({"fleet", "rows", log}, logs.path()), 1);
}

TEST(Fleet, WrongUsage) {
  for (const std::vector<std::string>& wrong :
       std::vector<std::vector<std::string>>{{},
                                             {"--json"},
                                             {"rows"},
                                             {"rows", "a", "b"},
                                             {"rows", "--json", "a"},
                                             {"map", "a"},
                                             {"map", "-o", "t"},
                                             {"map", "-o", "t", "--jobs=0", "a"},
                                             {"map", "-o", "t", "--engine=duckdb", "a"},
                                             {"ask"},
                                             {"ask", "outliers"},
                                             {"ask", "outliers", "t", "--engine=local"},
                                             {"report"},
                                             {"report", "--list", "t"},
                                             {"compact"},
                                             {"compact", "--top=1", "t"},
                                             {"report", "--top=-1", "t"},
                                             {"report", "--threads=0", "t"},
                                             {"grid", "t"},
                                             {"grid", "-o", "g"},
                                             {"grid", "-o", "g", "t", "u"},
                                             {"grid", "-o", "g", "--attempt=-1", "t"},
                                             {"grid", "-o", "g", "--json", "t"}}) {
    std::vector<std::string> arguments = {"fleet"};
    arguments.insert(arguments.end(), wrong.begin(), wrong.end());
    SCOPED_TRACE(::testing::PrintToString(arguments));
    ExpectError(Memprof(arguments), 2);
  }
  EXPECT_THAT(Memprof({"fleet", "row", "a"}).err, HasSubstr("did you mean 'rows'?"));
  EXPECT_THAT(Memprof({"fleet", "map", "a"}).err, HasSubstr("see 'memprof fleet map --help'"));
}

TEST(Fleet, EveryFormHasAHelp) {
  for (const std::string form : {"rows", "map", "compact", "ask", "report", "grid"}) {
    const Result help = Memprof({"fleet", form, "--help"});
    EXPECT_EQ(help.status, 0);
    EXPECT_THAT(help.out, StartsWith("Usage: memprof fleet " + form));
    EXPECT_THAT(help.out, HasSubstr("Examples:"));
    ExpectGolden("help_fleet_" + form + ".txt", help.out);
  }
}

// A Python that prints what it gets, a line each.
Result FleetWithPython(const std::vector<std::string>& arguments,
                       const std::vector<std::string>& environment = {}) {
  const analysis::testing::TempDirectory directory;
  const std::string python =
      directory.Write("python",
                      "#!/bin/sh\necho \"$PYTHONPATH\"\necho \"$MEMPROF_COMMAND\"\nfor a; do echo "
                      "\"$a\"; done\nexit 7\n");
  std::filesystem::permissions(python, std::filesystem::perms::owner_all);
  std::vector<std::string> variables = environment;
  variables.push_back("MEMPROF_PYTHON=" + python);
  return Memprof(arguments, directory.File(""), variables);
}

std::vector<std::string> LinesOf(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

TEST(Fleet, StartsPythonWithTheSameWords) {
  const Result map = FleetWithPython({"fleet", "map", "-o", "t $HOME", "--jobs=2", "a b", "c;d"},
                                     {"PYTHONPATH=/mine"});
  EXPECT_EQ(map.status, 7);  // Python's own
  std::vector<std::string> lines = LinesOf(map.out);
  ASSERT_GE(lines.size(), 2u);
  EXPECT_THAT(lines[0], ::testing::MatchesRegex("/.*lib(64)?/memprof/python:/mine"));
  EXPECT_THAT(lines[1], ::testing::EndsWith("/bin/memprof"));
  lines.erase(lines.begin(), lines.begin() + 2);
  EXPECT_THAT(
      lines, ElementsAre("-m", "memprof._fleet", "map", "-o", "t $HOME", "--jobs=2", "a b", "c;d"));
  EXPECT_THAT(LinesOf(FleetWithPython({"fleet", "ask", "--list"}).out),
              ::testing::Contains("--list"));
  EXPECT_EQ(FleetWithPython({"fleet", "report", "t"}).status, 7);
  EXPECT_EQ(LinesOf(FleetWithPython({"fleet", "compact", "t"}).out).back(), "t");
}

TEST(Fleet, SaysWhatToInstall) {
  const Result none = Memprof({"fleet", "report", "t"}, ".", {"MEMPROF_PYTHON=/no/such/python"});
  ExpectError(none, 1);
  EXPECT_THAT(none.err, HasSubstr("/no/such/python"));
  EXPECT_THAT(none.err, HasSubstr("memprof-gpu[fleet]"));
}

}  // namespace
}  // namespace memprof::cli::testing
