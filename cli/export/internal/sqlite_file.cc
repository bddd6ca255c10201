// A thin layer over libsqlite3.
#include "cli/export/internal/sqlite_file.h"

#include <sqlite3.h>

#include <algorithm>
#include <limits>

namespace memprof::cli {

SqliteFile::SqliteFile(const std::string& path) {
  // Cannot be taken for a URI, an option or a special name such as ":memory:".
  const std::string name = path.starts_with('/') ? path : "./" + path;
  Check(sqlite3_open_v2(name.c_str(), &database_, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX,
                        nullptr));
  // An incomplete file is removed, so no journal is needed.
  Run("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE;"
      "PRAGMA cache_size = -65536; BEGIN;");
}

SqliteFile::~SqliteFile() { sqlite3_close(database_); }

void SqliteFile::Check(int code) {
  if (code == SQLITE_OK || code == SQLITE_DONE || !error_.empty()) return;
  error_ = database_ == nullptr ? sqlite3_errstr(code) : sqlite3_errmsg(database_);
}

void SqliteFile::Run(const std::string& sql) {
  if (error_.empty()) Check(sqlite3_exec(database_, sql.c_str(), nullptr, nullptr, nullptr));
}

sqlite3_stmt* SqliteFile::Prepare(std::string_view sql) {
  sqlite3_stmt* statement = nullptr;
  if (error_.empty())
    Check(sqlite3_prepare_v2(database_, sql.data(), static_cast<int>(sql.size()), &statement,
                             nullptr));
  return statement;
}

bool SqliteFile::Finish() {
  Run("COMMIT");
  Check(sqlite3_close(database_));
  database_ = nullptr;
  return error_.empty();
}

SqliteRows::SqliteRows(SqliteFile& file, std::string_view table, int columns) : file_(file) {
  std::string sql = "INSERT INTO " + std::string(table) + " VALUES (";
  for (int i = 0; i < columns; ++i) sql += i == 0 ? "?" : ",?";
  sql += ")";
  insert_ = file_.Prepare(sql);
}

SqliteRows::~SqliteRows() { sqlite3_finalize(insert_); }

SqliteRows& SqliteRows::Add(std::int64_t value) {
  ++column_;
  if (insert_ != nullptr) file_.Check(sqlite3_bind_int64(insert_, column_, value));
  return *this;
}

SqliteRows& SqliteRows::AddSize(std::uint64_t value) {
  constexpr std::uint64_t kMax = std::numeric_limits<std::int64_t>::max();
  return Add(static_cast<std::int64_t>(std::min(value, kMax)));
}

SqliteRows& SqliteRows::Add(double value) {
  ++column_;
  if (insert_ != nullptr) file_.Check(sqlite3_bind_double(insert_, column_, value));
  return *this;
}

SqliteRows& SqliteRows::Add(std::string_view text) {
  ++column_;
  if (insert_ != nullptr) {
    file_.Check(sqlite3_bind_text64(insert_, column_, text.empty() ? "" : text.data(), text.size(),
                                    SQLITE_STATIC, SQLITE_UTF8));
  }
  return *this;
}

SqliteRows& SqliteRows::Null() {
  ++column_;
  if (insert_ != nullptr) file_.Check(sqlite3_bind_null(insert_, column_));
  return *this;
}

void SqliteRows::End() {
  column_ = 0;
  if (insert_ == nullptr || !file_.error().empty()) return;
  file_.Check(sqlite3_step(insert_));
  file_.Check(sqlite3_reset(insert_));
}

}  // namespace memprof::cli
