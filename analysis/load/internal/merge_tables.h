// Merges the tables of several logs into those of one session, and aligns their clocks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "analysis/store/session.h"

namespace memprof::analysis {

// One log, and the rows of its entries in the merged tables.
struct MergePart {
  const Session* session = nullptr;
  std::uint64_t tag = 0;                                 // of its addresses and handles
  std::uint64_t shift = 0;                               // of its clock
  std::uint32_t threads = 0, contexts = 0, tensors = 0;  // rows before its own
  absl::flat_hash_map<int, int> devices;
  std::vector<std::uint32_t> strings, modules, frames, stacks, events, records;

  std::int16_t DeviceOf(int device) const {
    const auto at = devices.find(device);
    return static_cast<std::int16_t>(at == devices.end() ? device : at->second);
  }
  std::uint64_t Tagged(std::uint64_t address) const { return address == 0 ? 0 : address | tag; }
  // The driver's names of default streams (legacy and per-thread) are the same in all processes.
  std::uint64_t TaggedStream(std::uint64_t stream) const {
    return stream <= 2 ? stream : stream | tag;
  }
};

// The new row; none (EventId::kNone) for none.
inline std::uint32_t RowIn(const std::vector<std::uint32_t>& rows, std::uint32_t row) {
  return row < rows.size() ? rows[row] : EventId::kNone;
}

// Fills the clocks and the rows of `parts`, whose sessions and tags are set, and everything of `to`
// that is not made from events. O(rows of all tables).
void MergeTables(std::vector<MergePart>* parts, SessionData* to);

}  // namespace memprof::analysis
