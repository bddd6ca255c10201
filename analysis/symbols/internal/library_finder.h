// Finds the library that allocated with a stack.
#pragma once

#include <memory>
#include <vector>

#include "analysis/store/session.h"
#include "analysis/symbols/libraries.h"
#include "analysis/symbols/symbols.h"

namespace memprof::analysis {

// Has a cache; thread-safe. Construction is O(allocations).
class LibraryFinder {
 public:
  LibraryFinder(const Session& session, Symbols& symbols);
  ~LibraryFinder();
  LibraryFinder(const LibraryFinder&) = delete;
  LibraryFinder& operator=(const LibraryFinder&) = delete;

  // The library of allocations with this stack.
  Library Of(StackId stack);

 private:
  // Reads every frame, and caches which ones indicate a library.
  Library Read(const std::vector<FrameId>& frames, bool in_pool);
  void Append(FrameId id, std::vector<LibraryFrame>* frames) const;

  struct Memory;
  const Session& session_;
  Symbols& symbols_;
  std::unique_ptr<Memory> memory_;
};

}  // namespace memprof::analysis
