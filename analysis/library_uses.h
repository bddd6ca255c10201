// Which libraries asked for the memory of a session, and how much of it each held.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "analysis/libraries.h"
#include "analysis/peak.h"
#include "analysis/session.h"
#include "analysis/symbols.h"

namespace memprof::analysis {

// Answers are remembered; thread-safe. Construction is O(allocations).
class LibraryFinder {
 public:
  LibraryFinder(const Session& session, Symbols& symbols);
  ~LibraryFinder();
  LibraryFinder(const LibraryFinder&) = delete;
  LibraryFinder& operator=(const LibraryFinder&) = delete;

  // The library of what was allocated with this stack.
  Library Of(StackId stack);

 private:
  // Reads every frame, and remembers which speak of a library.
  Library Read(const std::vector<FrameId>& frames, bool in_pool);
  void Append(FrameId id, std::vector<LibraryFrame>* frames) const;

  struct Memory;
  const Session& session_;
  Symbols& symbols_;
  std::unique_ptr<Memory> memory_;
};

// What libraries held at an instant.
struct LibraryUse {
  Library library;
  std::uint64_t bytes = 0, blocks = 0;
};
struct LibraryUses {
  // Of what was asked of the driver, and of the blocks of frameworks' allocators; largest first.
  std::vector<LibraryUse> driver, blocks;
  // Whether there is anything to tell: several that hold driver memory, or one that is named among
  // the blocks.
  bool worth_telling() const;
};
LibraryUses UsesAt(const Session& session, Symbols& symbols, const Peak& peak);

}  // namespace memprof::analysis
