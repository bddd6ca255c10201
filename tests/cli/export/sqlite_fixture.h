// Exported databases, and their rows.
#pragma once

#include <gtest/gtest.h>
#include <sqlite3.h>

#include "cli/export/internal/sqlite_stacks.h"
#include "tests/cli/cli_test_support.h"
#include "tests/support/random_log.h"

namespace memprof::cli::testing {

using Rows = std::vector<std::vector<std::string>>;

// Runs queries on a database file.
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
  explicit Exported(const analysis::testing::LogBuilder& log) {
    session = analysis::testing::LoadLog(log);
    const Result result = Memprof({"export", "--to=sqlite", "-o", directory.File("out.db"),
                                   directory.Write("in.mprof", log.Bytes())});
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_EQ(result.out + result.err, "");
    database = std::make_unique<Database>(directory.File("out.db"));
  }
  analysis::testing::TempDirectory directory;
  std::shared_ptr<const analysis::Session> session;
  std::unique_ptr<Database> database;
};

}  // namespace memprof::cli::testing
