// Stacks of one or more runs as paths in tries: two paths are equal if their last nodes are. Time
// and memory are proportional to the nodes, which stacks share, not to stacks times depth.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "analysis/store/session.h"
#include "analysis/symbols/symbols.h"

namespace memprof::analysis {

// Paths of numbers. A node is its path; kRoot is the empty path.
class PathTrie {
 public:
  static constexpr std::uint32_t kRoot = 0;

  // The path of `parent` followed by `name`.
  std::uint32_t Child(std::uint32_t parent, std::uint32_t name);
  // By node: its rank in lexicographic order. O(nodes log nodes).
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

// The stacks of one run in tries that other runs may share, beginning with the outermost function.
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
  // The name of a frame. An address or an offset in a binary is only comparable with another run if
  // the binary is the same; the offset is then equal.
  static std::string NameOf(const SourceFrame& frame);

  StackPaths(const Session& session, Symbols& symbols, NameTable& names, PathTrie& functions,
             PathTrie& lines);

  Path Of(StackId stack);
  // The functions of `stack` that `kept` contains, by number. `folded` must always be the same
  // trie.
  std::uint32_t FoldedOf(StackId stack, const std::vector<bool>& kept, PathTrie& folded);
  // By number: the functions of the stacks queried so far.
  const std::vector<bool>& functions() const { return passed_; }

 private:
  struct Step {  // one function of a frame, outermost first
    std::uint32_t function = 0, line = 0;
  };
  const std::vector<Step>& StepsOf(FrameId frame);
  // Computes the value of a stack from its nearest ancestor in `known`, by `go(value, step)`.
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
