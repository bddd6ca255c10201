// The messages of proto/memprof.proto in the readers' form, decoded from untrusted bytes without
// building protobuf objects.
//
// Every function returns false for malformed bytes; what was decoded before stays. Texts are made
// valid UTF-8. Thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/base/run_info.h"
#include "analysis/log/event_columns.h"

namespace memprof::analysis {

struct HeaderRecord {
  RunInfo run;
  std::string ring_path;
};

struct TrailerRecord {
  std::uint64_t end_time_ns = 0, events = 0, index_offset = 0;
  std::string reason;
};

struct IndexRecord {
  std::uint64_t offset = 0, first_time_ns = 0, last_time_ns = 0;
  std::uint32_t kind = 0, events = 0;
};

struct CountersRecord {
  std::vector<std::pair<std::string, std::uint64_t>> counters;
  SelfAccounting self;
};

bool DecodeHeader(std::string_view bytes, HeaderRecord* header);
bool DecodeTrailer(std::string_view bytes, TrailerRecord* trailer);
bool DecodeIndex(std::string_view bytes, std::vector<IndexRecord>* entries);
bool DecodeCounters(std::string_view bytes, CountersRecord* counters);

// Decodes the `count` events of one chunk into the columns, which are cleared first. Ids stay those
// of the log, in the columns' own types (none = 0). Unknown ops and layers become kUnspecified and
// are counted in `unknown`.
bool DecodeEvents(std::string_view bytes, std::uint32_t count, EventColumns* columns,
                  std::uint64_t* unknown);

}  // namespace memprof::analysis
