// Writes stacks and their frames.
#include "cli/export/internal/sqlite_stacks.h"

#include <algorithm>

#include "cli/shared/names.h"

namespace memprof::cli {

using analysis::StackId;

SqliteStacks::SqliteStacks(const analysis::Session& session, analysis::Symbols& symbols,
                           std::int64_t most_rows)
    : session_(session), symbols_(symbols), most_rows_(most_rows), used_(session.stack_count()) {
  for (const analysis::AllocationRecord& record : session.records()) Use(record.stack);
  const analysis::EventTable& events = session.events();
  for (std::size_t e = 0; e < events.size(); ++e) Use(events.stack(e));
}

void SqliteStacks::Use(StackId stack) {
  if (stack.valid() && stack.value < used_.size()) used_[stack.value] = true;
}

// Each inlined function has a row of its own; `first_` has the rows of a frame.
void SqliteStacks::WriteFrames(SqliteFile& file) {
  SqliteRows rows(file, "frames", 6);
  std::int64_t next = 0;
  for (std::uint32_t i = 0; i < session_.frame_count(); ++i) {
    first_.push_back(next);
    for (const analysis::SourceFrame& frame : symbols_.Resolve(analysis::FrameId(i))) {
      rows.Add(next++).Add(frame.function).AddName(frame.file).Add(std::int64_t{frame.line});
      rows.AddName(frame.module).Add(std::int64_t{frame.inlined}).End();
    }
  }
  first_.push_back(next);
}

void SqliteStacks::Write(SqliteFile& file) {
  WriteFrames(file);
  const std::int64_t stacks_in_all = std::count(used_.begin(), used_.end(), true);
  const std::int64_t most = std::max(kMin, most_rows_ / std::max(stacks_in_all, std::int64_t{1}));
  SqliteRows stacks(file, "stacks", 3), frames(file, "stack_frames", 3);
  for (std::uint32_t i = 0; i < used_.size(); ++i) {
    if (!used_[i]) continue;
    std::int64_t depth = 0;
    for (const analysis::FrameId frame : session_.StackFrames(StackId(i))) {
      if (frame.value + 1 >= first_.size()) continue;
      for (std::int64_t f = first_[frame.value]; f < first_[frame.value + 1]; ++f) {
        if (depth < most) frames.Add(std::int64_t{i}).Add(depth).Add(f).End();
        ++depth;
      }
    }
    const std::string site = SiteLabel(symbols_, StackId(i));
    stacks.Add(std::int64_t{i}).Add(site).Add(depth).End();
  }
}

}  // namespace memprof::cli
