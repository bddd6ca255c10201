// Events as decoded from chunks by several threads, and their order by time. LifetimeFinder makes
// the EventTable from them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "analysis/base/progress.h"
#include "analysis/load/internal/tables.h"
#include "analysis/log/reader.h"
#include "analysis/store/event_table.h"
#include "analysis/store/session.h"

namespace memprof::analysis {

// All events in the order of the file; the log's ids are replaced by rows of the session's tables.
struct RawEvents {
  static constexpr std::uint32_t kNone = EventId::kNone;
  struct Row {
    TimeNs time = 0;
    std::uint64_t address = 0, bytes = 0;
    std::uint32_t kind = 0;
    StackId stack;
    std::uint32_t detail = kNone;
  };
  // For events in which any of these is set.
  struct Detail {
    std::uint64_t aux0 = 0, aux1 = 0;
    std::uint32_t label = kNone, result = 0;
  };

  std::vector<Row> rows;
  std::vector<Detail> details;
  std::vector<EventKind> kinds;
  std::vector<std::uint64_t> rows_of_kind;

  const EventKind& KindOf(std::size_t row) const { return kinds[rows[row].kind]; }
  Event At(std::size_t row) const;
  // Frees the memory of the rows before `end`, except where they share a page with others. These
  // rows must not be read any more.
  void ForgetBefore(std::size_t end);

 private:
  std::uintptr_t forgotten_ = 0;  // up to this address
};

// A source of `count` events: a chunk of the log, or a message recovered from shared memory.
struct EventSource {
  const Chunk* chunk = nullptr;
  std::string message;  // if there is no chunk
  std::uint32_t count = 0;
};

struct DecodeResult {
  // indices of sources that could not be decoded, and are left out
  std::vector<std::size_t> failed;
  std::uint64_t unknown = 0;      // events of unknown kind
  std::uint64_t odd_weights = 0;  // that cannot be, and are ignored
};

// Decodes all sources in order into `events`. `progress` gets the share done. Error: kCancelled.
absl::Status DecodeColumns(const LogReader& reader, const std::vector<EventSource>& sources,
                           SessionTables* tables, const ProgressFunction& progress,
                           RawEvents* events, DecodeResult* result);

// Rows in order of time. Rows of one thread keep their order; of events at the same time on several
// threads, frees come first (a free is logged before its memory can be allocated again). If a
// thread's time goes backwards, it is held at its latest value, and `clock_steps` counts that;
// unless `hold_clocks` is false: a log that is always on has events that were decided late.
std::vector<std::uint32_t> OrderByTime(RawEvents* events, bool hold_clocks,
                                       std::uint64_t* clock_steps);

}  // namespace memprof::analysis
