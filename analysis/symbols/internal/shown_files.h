// Paths short enough for a table, but long enough to distinguish the files of a log.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "analysis/symbols/symbols.h"

namespace memprof::analysis {

// "util.cc"; "one/util.cc" where the same function and line is in "two/util.cc" as well; of a
// package "transformers/…/modeling_gpt2.py". Const members are thread-safe.
class ShownFiles {
 public:
  void Add(const SourceFrame& frame);
  // The path of a frame that was added, or of any other.
  std::string Of(const SourceFrame& frame) const;

 private:
  static std::string NameOf(const SourceFrame& frame, std::string_view path);

  absl::flat_hash_map<std::string, std::vector<std::string>> paths_;  // by the displayed path
};

}  // namespace memprof::analysis
