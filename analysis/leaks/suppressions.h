// Suppressions of leaks: files in the syntax of LeakSanitizer.
//
//   # a comment
//   leak:^Warmup$          any frame's function, source file or module
//   leak:vendor_*          `*` is anything; without ^ and $ anywhere in the name
//
// Thread-safe once read.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "analysis/symbols/symbols.h"

namespace memprof::analysis {

class Suppressions {
 public:
  // Errors: kNotFound, kPermissionDenied; kInvalidArgument, with file and line, for text that is no
  // suppression of a leak. Messages are one line.
  static absl::StatusOr<Suppressions> Read(const std::string& path);
  // `name` is for messages.
  static absl::StatusOr<Suppressions> Parse(std::string_view text, std::string_view name);

  bool empty() const { return patterns_.empty(); }
  std::span<const std::string> patterns() const { return patterns_; }
  // The first pattern that matches a frame of the stack; -1 if none does.
  int Match(std::span<const SourceFrame> stack) const;

 private:
  std::vector<std::string> patterns_;
};

// Matches as LeakSanitizer does. Takes time proportional to the length of `text` times that of
// `pattern`.
bool MatchesTemplate(std::string_view pattern, std::string_view text);

}  // namespace memprof::analysis
