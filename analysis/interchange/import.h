// Converts other tools' recordings to memprof logs: memory snapshots of PyTorch (pickles) and the
// CSV files of RMM's logging resource adaptor. docs/interchange.md describes the conversion.
//
// Input is treated as hostile: nothing in it is executed, and memory is bounded by its size.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "analysis/log/writer.h"

namespace memprof::analysis {

enum class ImportFormat { kUnknown, kTorchSnapshot, kRmmCsv };

// By the content of the file, not its name.
ImportFormat DetectFormat(std::string_view bytes);
std::string_view FormatName(ImportFormat format);  // "PyTorch memory snapshot", …, for people

// What an import found, to judge whether it is complete.
struct ImportSummary {
  ImportFormat format = ImportFormat::kUnknown;
  std::uint64_t actions = 0;  // of the file
  std::uint64_t devices = 0;
  std::uint64_t segments_before = 0, blocks_before = 0;  // existing when the trace began
  bool overflowed = false;  // the file reports that its ring was too small
  std::uint64_t contradictions = 0;
  std::uint64_t unknown_actions = 0;  // left out
  std::uint64_t end_time_ns = 0;
};

// Writes the content of `bytes` to `log`, without finishing it. `name`: the file's, for the log's
// header. Errors (kInvalidArgument) are one line that does not name the file.
absl::StatusOr<ImportSummary> Import(std::string_view bytes, std::string_view name, LogWriter* log);

// The two formats; as Import.
absl::StatusOr<ImportSummary> ImportTorchSnapshot(std::string_view bytes, std::string_view name,
                                                  LogWriter* log);
absl::StatusOr<ImportSummary> ImportRmmCsv(std::string_view bytes, std::string_view name,
                                           LogWriter* log);

// The label of the snapshot mark that separates the state before an imported trace from the trace.
inline constexpr std::string_view kTraceBegins = "start of the imported trace";

}  // namespace memprof::analysis
