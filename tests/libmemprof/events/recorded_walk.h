// Memory events of a log, converted to the form that a DriverWalk uses.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "tests/libmemprof/events/driver_walk.h"
#include "tests/libmemprof/log/log_reader.h"

namespace memprof::testing {

inline std::ostream& operator<<(std::ostream& out, const WalkEvent& event) {
  return out << event.op << " " << event.layer << " 0x" << std::hex << event.address << std::dec
             << " " << event.bytes << " result " << event.result;
}

inline std::string LowerWord(const std::string& name, std::size_t prefix) {
  std::string word = name.substr(prefix);
  std::transform(word.begin(), word.end(), word.begin(), ::tolower);
  return word;
}

inline WalkEvent ToWalk(const Event& event) {
  return {LowerWord(log::Op_Name(event.op), 3), LowerWord(log::Layer_Name(event.layer), 6),
          event.address, event.bytes, event.result};
}

inline std::string WalkWords(const Event& event) {
  std::ostringstream words;
  words << ToWalk(event);
  return words.str();
}

inline std::vector<WalkEvent> RecordedWalk(const std::vector<Event>& events) {
  std::vector<WalkEvent> walk;
  for (const Event& event : events)
    if (event.op >= log::OP_ALLOC && event.op <= log::OP_FREE_FAILED) walk.push_back(ToWalk(event));
  return walk;
}

}  // namespace memprof::testing
