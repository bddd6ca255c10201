// Finds and reads the source files that a log names. Names in a log and the files behind them are
// not trusted. Thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "analysis/log/sources.h"

namespace memprof::analysis {

// Files whose path begins with `from` are below `to`. An empty `from`: `to` is a checkout, in which
// the file with the longest common end of its path is found.
struct SourceMap {
  std::string from, to;
  bool operator==(const SourceMap&) const = default;
};
// "FROM=TO", or "TO" for a checkout. Errors: kInvalidArgument, one line.
absl::StatusOr<SourceMap> ParseSourceMap(std::string_view text);
std::string SourceMapText(const SourceMap& map);
// The map by which `file` of a log is `path` here: the two without their common end. Errors:
// kInvalidArgument, one line, if not even their names are equal.
absl::StatusOr<SourceMap> LearnSourceMap(std::string_view file, std::string_view path);

struct SourcePlaces {
  // Of the recorded program, for relative paths: those of binaries are relative to the folder of
  // their build, which is often the program's or above it.
  std::string working_directory, executable;
  std::vector<SourceMap> maps;
  std::uint64_t run_unix_ns = 0;  // when the run began; 0 = unknown
  // Texts that the log has; they come first. Null: none.
  std::shared_ptr<const KeptSources> kept = nullptr;
};

// Whether the name ends as that of a source file. Others are never opened.
bool IsSourceName(std::string_view file);

// Where a file may be, the likeliest first: as recorded, then by the maps. ReadSource() looks into
// the other folders of checkouts too.
std::vector<std::string> PlacesOfSource(const std::string& file, const SourcePlaces& places);

struct SourceText {
  std::string path;                // of the file that was read; of a kept one, its name
  std::vector<std::string> lines;  // valid UTF-8 without control characters; long ones are cut
  std::string
      doubt;  // a sentence why these may not be the lines that ran; "" if there is no reason
  bool kept = false;  // in the log
};
// The text of `file`, in which the log names lines up to `last_line`. Reads regular files of at
// most 4 MiB and 200,000 lines. Errors, one sentence: kNotFound, or kInvalidArgument for what is no
// text.
absl::StatusOr<SourceText> ReadSource(const std::string& file, const SourcePlaces& places,
                                      int last_line);

}  // namespace memprof::analysis
