// Reads a whole file, imports it, and names it in errors.
#include "analysis/interchange/import_file.h"

#include <cerrno>
#include <cstring>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "analysis/base/run_info.h"
#include "analysis/base/status_text.h"
#include "analysis/base/text.h"

namespace memprof::analysis {
namespace {

// Larger files are refused as a mistake: their content would not fit into memory.
constexpr std::size_t kMaxInput = std::size_t{16} << 30;

absl::StatusOr<std::string> ReadInput(const std::string& path) {
  const auto fail = [&path](int error, int otherwise) {
    error = error != 0 ? error : otherwise;
    const absl::StatusCode code = error == ENOENT   ? absl::StatusCode::kNotFound
                                  : error == EACCES ? absl::StatusCode::kPermissionDenied
                                                    : absl::StatusCode::kUnavailable;
    return absl::Status(code, absl::StrCat(path, ": ", std::strerror(error)));
  };
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) return fail(errno, ENOENT);
  std::string bytes, piece(std::size_t{1} << 20, '\0');
  do {
    errno = 0;
    file.read(piece.data(), static_cast<std::streamsize>(piece.size()));
    bytes.append(piece.data(), static_cast<std::size_t>(file.gcount()));
    if (bytes.size() > kMaxInput)
      return absl::InvalidArgumentError(absl::StrCat(path, ": larger than 16 GiB"));
  } while (file);
  if (file.bad()) return fail(errno, EIO);
  return bytes;
}

}  // namespace

bool LooksLikeRecording(std::string_view head) {
  switch (DetectFormat(head)) {
    case ImportFormat::kTorchSnapshot:
      // A key of a snapshot's dictionary, which is its first text.
      return head.substr(0, 4096).find("segments") != std::string_view::npos ||
             head.substr(0, 4096).find("device_traces") != std::string_view::npos;
    case ImportFormat::kRmmCsv:
      return true;
    case ImportFormat::kUnknown:
      break;
  }
  return false;
}

absl::StatusOr<ImportSummary> ImportFile(const std::string& path, std::string_view version,
                                         const LogWriter::Sink& sink) {
  const absl::StatusOr<std::string> bytes = ReadInput(path);
  if (!bytes.ok()) return bytes.status();
  LogWriter log(sink);
  log.header().set_recorder_version(std::string(version));
  absl::StatusOr<ImportSummary> summary = Import(*bytes, std::string(BaseName(path)), &log);
  if (!summary.ok()) {
    const std::string message = StatusText(summary.status());
    const bool place = message.starts_with("at ") || message.starts_with("line ");
    return absl::Status(summary.status().code(), absl::StrCat(path, place ? ": " : " ", message));
  }
  if (!log.Finish(summary->end_time_ns, kImportReason))
    return absl::UnavailableError(absl::StrCat(path, ": its log could not be written"));
  return summary;
}

}  // namespace memprof::analysis
