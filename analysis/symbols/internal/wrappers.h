// Finds functions of a program that only pass on what they allocate, such as a checked_malloc():
// the place of an allocation is then the line that called them.
//
// They are found by the stacks only. A wrapper allocates by one line, directly or through another
// wrapper, and is called from several places. A function with two such lines, or with one caller,
// is a place itself. Only native code is judged: Python lines are the user's.
#pragma once

#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "analysis/store/session.h"
#include "analysis/symbols/symbols.h"

namespace memprof::analysis {

// Immutable after construction, hence thread-safe. Construction is O(stacks × depth), with a depth
// of at most 64.
class Wrappers {
 public:
  Wrappers(const Session& session, Symbols& symbols);

  // How many of `frames`, a resolved stack, innermost first, are wrappers and what they call: the
  // index of the first frame that is none. 0 without wrappers. `layer`: that of the allocation.
  std::size_t PassedBy(const std::vector<SourceFrame>& frames, Layer layer) const;

 private:
  enum class Kind : std::uint8_t { kPlumbing, kNative, kImported, kOther };
  struct Facts {
    Kind kind = Kind::kPlumbing;
    bool python = false;
    std::uint32_t function = kUnknown, place = kUnknown;
  };
  struct Candidate {
    std::uint32_t function = kUnknown, place = kUnknown;
    std::uint16_t frame = 0;
    bool native = false;
  };
  using Candidates = std::vector<Candidate>;  // innermost first
  static constexpr std::uint32_t kUnknown = 0xffffffff;
  static constexpr std::size_t kDepth = 64;

  template <typename IdOf>
  static Facts Look(const SourceFrame& frame, IdOf id_of);
  static Candidates Choose(const std::vector<Facts>& frames);
  bool ByOneLine(const Candidate& candidate, Layer layer) const;
  void CountLines(const Candidates& stack, Layer layer);
  void CountCallers(const Candidates& stack, Layer layer);

  absl::flat_hash_map<std::string, std::uint32_t> ids_;  // of functions and of places
  using OfLayer = std::pair<std::uint32_t, Layer>;
  absl::flat_hash_map<OfLayer, std::uint32_t> by_function_, by_place_;  // stacks that pass
  // Paths outward from an allocation, as a trie: (path, next place) → path. Of all layers: a
  // function that many call for blocks is no place of the one pinned buffer that it allocates too.
  absl::flat_hash_map<std::uint32_t, std::uint32_t> roots_;  // by innermost place
  absl::flat_hash_map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> ways_;
  std::vector<std::uint32_t> callers_;  // by path: the places from which it was called
};

}  // namespace memprof::analysis
