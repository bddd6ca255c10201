// Memory by line of the program's source: live at an instant, live at the peak, and leaked.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "analysis/store/allocation_set.h"
#include "analysis/store/session.h"
#include "analysis/symbols/symbols.h"

namespace memprof::analysis {

struct LineBytes {
  std::uint64_t live = 0;    // at the instant
  std::uint64_t peak = 0;    // at the peak
  std::uint64_t leaked = 0;  // survivors of definite, suspected and growing leaks

  LineBytes& operator+=(const LineBytes& other) {
    live += other.live;
    peak += other.peak;
    leaked += other.leaked;
    return *this;
  }
  bool operator==(const LineBytes&) const = default;
  // Lines, files and stacks are ordered by this.
  std::uint64_t most() const { return std::max({live, peak, leaked}); }
};

struct LineQuery {
  int device = 0;          // kNoDevice: pinned and registered memory of the host
  TimeNs at = kForever;    // the instant; kForever = end of the log
  TimeNs peak = kForever;  // of the device
  std::shared_ptr<const AllocationSet> passing = nullptr;  // only these; null = all
};

struct StackBytes {
  StackId stack;
  LineBytes bytes;
};
// Memory by call stack, largest first; no stack is left out but that of no frames. Memory that an
// allocator divides is counted as its blocks. The first call for a session judges its leaks.
std::vector<StackBytes> BytesByStack(const Session& session, const LineQuery& query);

struct FileBytes {
  std::string file;  // as the log names it
  LineBytes self;    // of all its sites
};
// The files of the sites of `stacks`, largest first.
std::vector<FileBytes> FilesOfSites(Symbols& symbols, std::span<const StackBytes> stacks);

// The files of any frames that are `name` or end in it: "train.py" for "/src/train.py". Sorted.
std::vector<std::string> FilesNamed(const Session& session, Symbols& symbols,
                                    const std::string& name);

inline constexpr std::size_t kMostStacks = 100;  // of a line that are listed

struct SourceLine {
  int line = 0;
  LineBytes self;       // of the stacks whose site is this line
  LineBytes inclusive;  // of the stacks that have this line anywhere; each once, also in recursion
  std::uint64_t stacks = 0;  // of `inclusive`
  // At most kMostStacks each.
  std::vector<StackId> sites;    // the stacks of `self`, largest first
  std::vector<StackId> through;  // those of `inclusive`
};
// The lines of `file` with any bytes, by number. O(frames of all stacks).
std::vector<SourceLine> LinesOfFile(const Session& session, Symbols& symbols,
                                    std::span<const StackBytes> stacks, const std::string& file);

}  // namespace memprof::analysis
