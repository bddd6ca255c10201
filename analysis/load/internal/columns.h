// Events as they were read: decoded from chunks on several threads, then put in order of time.
// From here LifetimeFinder makes the EventTable.
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

// All events in the order of the file, with rows of the session's tables for the log's ids.
struct RawEvents {
  static constexpr std::uint32_t kNone = EventId::kNone;
  struct Row {
    TimeNs time = 0;
    std::uint64_t address = 0, bytes = 0;
    std::uint32_t kind = 0;
    StackId stack;
    std::uint32_t detail = kNone;
  };
  // Of events that have any of these.
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
  // Gives the memory of the rows before `end` back, but for what shares a page with others. They
  // must not be looked at any more.
  void ForgetBefore(std::size_t end);

 private:
  std::uintptr_t forgotten_ = 0;  // up to this address
};

// Something that decodes to `count` events: a chunk of the log, or a message recovered from
// shared memory.
struct EventSource {
  const Chunk* chunk = nullptr;
  std::string message;  // when there is no chunk
  std::uint32_t count = 0;
};

struct DecodeResult {
  std::vector<std::size_t> failed;  // indices of sources that could not be decoded; left out
  std::uint64_t unknown = 0;        // events of unknown kind
};

// Decodes all sources, in order, into `events`. `progress` gets the share done.
// Error: kCancelled.
absl::Status DecodeColumns(const LogReader& reader, const std::vector<EventSource>& sources,
                           SessionTables* tables, const ProgressFunction& progress,
                           RawEvents* events, DecodeResult* result);

// Rows in order of time; rows of one thread keep their order, and where several threads did
// something at the same time, frees come first (memory is logged free before it can be handed out
// again). A thread's time that runs backwards is held at its latest value; `clock_steps` says how
// often.
std::vector<std::uint32_t> OrderByTime(RawEvents* events, std::uint64_t* clock_steps);

}  // namespace memprof::analysis
