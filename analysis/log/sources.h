// The texts of the program's source files that `memprof run --sources` keeps at the end of a log,
// which may come from elsewhere: names and texts are not trusted. Thread-safe.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace memprof::analysis {

// The bytes of files, by the names that the frames of the log have for them.
using KeptSources = std::map<std::string, std::string, std::less<>>;

inline constexpr std::size_t kMostKeptFileBytes = 1u << 20;
inline constexpr std::size_t kMostKeptBytes = 32u << 20;  // of the texts of a log
inline constexpr std::size_t kMostKeptFiles = 10'000;

// Adds the files of a chunk; of equal names the first counts. False if it is malformed, or has more
// than the limits allow; what was added before stays.
bool DecodeSources(std::string_view bytes, KeptSources* sources);

// The files that a log keeps; none if it has none, or cannot be read.
KeptSources ReadKeptSources(const std::string& log_path);

// Appends the files to a log that ended cleanly, and a new index and trailer: old readers skip the
// files, and if this process is killed meanwhile, the log is what it was and a cut end. The log
// must belong to the calling user. Errors, one line without the path: kFailedPrecondition (it did
// not end cleanly, its process runs, it is of another host, or it has its sources), kUnavailable
// (it cannot be read or written: it is left as it was), kInvalidArgument (beyond the limits).
absl::Status AppendSources(const std::string& log_path, const KeptSources& sources);

}  // namespace memprof::analysis
