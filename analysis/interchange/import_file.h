// Imports a file of another tool into a log; what `memprof import` and the viewer share.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "analysis/interchange/import.h"

namespace memprof::analysis {

// Whether a file that begins with these bytes (4 KiB suffice) is a recording that Import reads.
// Stricter than DetectFormat: a pickle of something else is none. For files that nobody named.
bool LooksLikeRecording(std::string_view head);

// As Import, of a file of at most 16 GiB, and finishes the log. `version` of the recorder goes into
// its header. Errors: as Import, and kNotFound, kPermissionDenied, kUnavailable (the sink failed);
// one line that names the file.
absl::StatusOr<ImportSummary> ImportFile(const std::string& path, std::string_view version,
                                         const LogWriter::Sink& sink);

}  // namespace memprof::analysis
