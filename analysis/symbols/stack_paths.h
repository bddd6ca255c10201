// Stacks of one or more runs as paths in tries, so that two paths are the same where their last
// nodes are: in time and memory of the nodes that stacks share, not of stacks times their depth.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "analysis/store/session.h"
#include "analysis/symbols/symbols.h"

namespace memprof::analysis {

// Paths of numbers. A node is its path; kRoot is the empty one.
class PathTrie {
 public:
  static constexpr std::uint32_t kRoot = 0;

  // `parent`, and then `name`.
  std::uint32_t Child(std::uint32_t parent, std::uint32_t name);
  // By node: its place among all in lexicographic order. O(nodes log nodes).
  std::vector<std::uint32_t> Order() const;

 private:
  absl::flat_hash_map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> children_;
};

// Numbers for names.
class NameTable {
 public:
  std::uint32_t NumberOf(const std::string& name);

 private:
  absl::flat_hash_map<std::string, std::uint32_t> numbers_;
};

// One run's stacks in tries that other runs may share, from the outermost function on.
class StackPaths {
 public:
  struct Path {
    std::uint32_t functions = PathTrie::kRoot, lines = PathTrie::kRoot;
    bool operator==(const Path&) const = default;
    template <typename H>
    friend H AbslHashValue(H h, const Path& path) {
      return H::combine(std::move(h), path.functions, path.lines);
    }
  };
  // What is only an address or an offset in a binary means nothing in another run, unless the
  // binary is the same; the offset then agrees.
  static std::string NameOf(const SourceFrame& frame);

  StackPaths(const Session& session, Symbols& symbols, NameTable& names, PathTrie& functions,
             PathTrie& lines);

  Path Of(StackId stack);
  // The functions of `stack` that `kept`, by number, has. `folded` is always the same one.
  std::uint32_t FoldedOf(StackId stack, const std::vector<bool>& kept, PathTrie& folded);
  // By number: the functions that some stack asked for has.
  const std::vector<bool>& functions() const { return passed_; }

 private:
  struct Step {  // one function of a frame, outermost first
    std::uint32_t function = 0, line = 0;
  };
  const std::vector<Step>& StepsOf(FrameId frame);
  // From the nearest ancestor in `known`, whose values are of `go(value, step)` on.
  template <typename Value, typename Go>
  Value Walk(StackId stack, absl::flat_hash_map<std::uint32_t, Value>& known, Go go);

  const Session& session_;
  Symbols& symbols_;
  NameTable& names_;
  PathTrie& functions_;
  PathTrie& lines_;
  std::vector<std::vector<Step>> steps_;                      // by frame
  absl::flat_hash_map<std::uint32_t, Path> paths_;            // by stack
  absl::flat_hash_map<std::uint32_t, std::uint32_t> folded_;  // by stack
  std::vector<bool> passed_;
};

}  // namespace memprof::analysis
