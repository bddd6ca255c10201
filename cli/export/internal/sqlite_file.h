// A new SQLite database that is written once: one transaction, no journal, the first error is kept.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace memprof::cli {

// After the first error all functions do nothing, and error() returns it. Not thread-safe.
class SqliteFile {
 public:
  // `path` must be a new or an empty file. One transaction begins.
  explicit SqliteFile(const std::string& path);
  ~SqliteFile();
  SqliteFile(const SqliteFile&) = delete;
  SqliteFile& operator=(const SqliteFile&) = delete;

  // One or more statements without results.
  void Run(const std::string& sql);
  // Ends the transaction and closes the file. False after any error.
  bool Finish();
  const std::string& error() const { return error_; }

  // For SqliteRows. Prepare: null after an error; to be finalised. Check: keeps the first error.
  sqlite3_stmt* Prepare(std::string_view sql);
  void Check(int code);

 private:
  sqlite3* database_ = nullptr;
  std::string error_;
};

// Writes the rows of one table: Add() for each column, then End().
class SqliteRows {
 public:
  SqliteRows(SqliteFile& file, std::string_view table, int columns);
  ~SqliteRows();
  SqliteRows(const SqliteRows&) = delete;
  SqliteRows& operator=(const SqliteRows&) = delete;

  SqliteRows& Add(std::int64_t value);
  // Addresses, handles and streams: the same 64 bits, which are negative from 2^63 on.
  SqliteRows& AddBits(std::uint64_t value) { return Add(static_cast<std::int64_t>(value)); }
  // Bytes and times: at most 2^63 - 1, so that sums of hostile values do not become negative.
  SqliteRows& AddSize(std::uint64_t value);
  SqliteRows& Add(double value);
  // The text must not change until End().
  SqliteRows& Add(std::string_view text);
  // Null if empty.
  SqliteRows& AddName(std::string_view text) { return text.empty() ? Null() : Add(text); }
  SqliteRows& Null();
  void End();

 private:
  SqliteFile& file_;
  sqlite3_stmt* insert_ = nullptr;
  int column_ = 0;
};

}  // namespace memprof::cli
