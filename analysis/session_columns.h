// Event columns: decoded from chunks on several threads, then put in order of time.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "analysis/log_reader.h"
#include "analysis/session.h"
#include "analysis/session_tables.h"

namespace memprof::analysis {

// Calls `visit` with every column but `allocation`, which only the replay can fill.
template <typename Visit>
void ForEachLoggedColumn(EventColumns* columns, Visit visit) {
  visit(columns->op);
  visit(columns->layer);
  visit(columns->time);
  visit(columns->thread);
  visit(columns->device);
  visit(columns->address);
  visit(columns->bytes);
  visit(columns->stack);
  visit(columns->stream);
  visit(columns->context);
  visit(columns->label);
  visit(columns->api);
  visit(columns->result);
  visit(columns->aux0);
  visit(columns->aux1);
}

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

// Decodes all sources, in order, into `columns`. `progress` gets the share done.
// Error: kCancelled.
absl::Status DecodeColumns(const LogReader& reader, const std::vector<EventSource>& sources,
                           SessionTables* tables, const ProgressFunction& progress,
                           EventColumns* columns, DecodeResult* result);

// Orders rows by time; rows of one thread keep their order, and where several threads did
// something at the same time, frees come first (memory is logged free before it can be handed out
// again). A thread's time that runs backwards is held at its latest value; returns how often.
std::uint64_t OrderByTime(EventColumns* columns);

}  // namespace memprof::analysis
