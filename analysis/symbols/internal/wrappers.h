// Functions of a program that only hand on what they allocate, such as a checked_malloc(): the
// place of an allocation is the line that called them.
//
// Nothing but the stacks tells them from others. A wrapper allocates by one line, directly or
// through another wrapper, and is called from several places. What has two such lines, or one
// caller, is a place of its own. Only native code is judged: lines of Python are what people know.
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

// Immutable after construction, hence thread-safe. Construction is O(stacks × depth), the depth
// taken as 64 at most.
class Wrappers {
 public:
  Wrappers(const Session& session, Symbols& symbols);

  // How many of `frames`, a resolved stack, innermost first, are wrappers and what they call: the
  // first that is none has this index. 0 where there is no wrapper. `layer`: of what was allocated.
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
  // Ways outward from an allocation, as a trie: (way, next place) → way. Of all layers: what many
  // call for blocks is no place of the one pinned buffer that it allocates as well.
  absl::flat_hash_map<std::uint32_t, std::uint32_t> roots_;  // by innermost place
  absl::flat_hash_map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> ways_;
  std::vector<std::uint32_t> callers_;  // by way: places that it was called from
};

}  // namespace memprof::analysis
