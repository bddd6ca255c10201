// What a log has got since it was read as a whole: how much memory is in use, and the steps. That
// is cheap; what the memory is and whether it leaks is known only of a whole log.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "analysis/log/event_columns.h"
#include "analysis/store/session.h"
#include "cli/live/process.h"

namespace memprof::cli {

// Memory that contexts and resets free, or that threads free late, is counted until the next
// reading of the whole.
class LogTail {
 public:
  // `session` has at least the first `end` bytes of the log, where a chunk ends.
  LogTail(const analysis::Session& session, std::uint64_t end);

  // Reads what was appended, and brings `figures` up to date. False if the whole log has to be
  // read: it has ended, or is another one.
  bool Read(const std::string& path, LiveProcess* figures);

 private:
  struct Live {
    int device = 0;
    std::uint64_t bytes = 0;
  };
  struct Device {
    std::uint64_t driver = 0, blocks = 0;
  };
  struct Change {
    analysis::TimeNs time = 0;
    analysis::Op op = analysis::Op::kUnspecified;
    analysis::Layer layer = analysis::Layer::kUnspecified;
    int device = 0;
    std::uint64_t address = 0, bytes = 0;  // of a step: its number
  };

  void Collect(const analysis::EventColumns& events);
  void Apply(LiveProcess* figures);
  void ApplyMemory(const Change& change, LiveProcess* figures);
  void ApplyStep(const Change& change, LiveProcess* figures);

  std::uint64_t end_;
  analysis::TimeNs start_, known_;  // `known_`: the last event of the session
  bool marks_;
  std::vector<analysis::TimeNs> steps_;                            // when the last ones began
  absl::flat_hash_map<std::pair<int, std::uint64_t>, Live> live_;  // by space and address
  std::map<int, Device> devices_;
  std::vector<Change> changes_;
};

}  // namespace memprof::cli
