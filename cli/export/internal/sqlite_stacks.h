// Call stacks as tables of a database: frames, stacks, and the frames of each stack.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/store/session.h"
#include "analysis/symbols/symbols.h"
#include "cli/export/internal/sqlite_file.h"

namespace memprof::cli {

// Every stack of an event or allocation. Stacks of a deep recursion share their frames in a log,
// but not in a table. So a stack gets only its innermost frames if it has more than an equal share
// of `most_rows`, and more than kMin. The column `depth` of `stacks` has the true number.
class SqliteStacks {
 public:
  static constexpr std::int64_t kMaxRows = 10'000'000;  // ten seconds
  static constexpr std::int64_t kMin = 16;              // frames that show the place

  // Both must outlive this.
  SqliteStacks(const analysis::Session& session, analysis::Symbols& symbols,
               std::int64_t most_rows = kMaxRows);
  void Write(SqliteFile& file);

 private:
  void Use(analysis::StackId stack);
  void WriteFrames(SqliteFile& file);

  const analysis::Session& session_;
  analysis::Symbols& symbols_;
  const std::int64_t most_rows_;
  std::vector<bool> used_;           // by stack
  std::vector<std::int64_t> first_;  // by frame: its first row; one more at the end
};

}  // namespace memprof::cli
