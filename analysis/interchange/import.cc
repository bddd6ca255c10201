// Detects formats.
#include "analysis/interchange/import.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "proto/framing.h"

namespace memprof::analysis {
namespace {

constexpr char kPickleProto = '\x80';

std::string_view FirstLine(std::string_view bytes) {
  std::string_view line = bytes.substr(0, std::min(bytes.find('\n'), std::size_t{4096}));
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  return line;
}

// The header of RMM's files, or a row of one without a header: six fields, the third an action.
bool LooksLikeRmm(std::string_view line) {
  if (std::count(line.begin(), line.end(), ',') != 5) return false;
  if (line.substr(0, 12) == "Thread,Time,") return true;
  for (const std::string_view action : {",allocate,", ",allocate failure,", ",free,"})
    if (line.find(action) != std::string_view::npos) return true;
  return false;
}

absl::Status Foreign(std::string_view bytes) {
  std::string_view is;
  if (bytes.empty()) {
    is = "is empty";
  } else if (bytes.substr(0, sizeof log::kMagic) ==
             std::string_view(log::kMagic, sizeof log::kMagic)) {
    is = "is a memprof log already";
  } else if (bytes.substr(0, 2) == "PK") {
    is = "is a zip archive; a snapshot is written by torch.cuda.memory._dump_snapshot(), not by "
         "torch.save()";
  } else if (bytes.substr(0, 2) == "\x1f\x8b" || bytes.substr(0, 4) == "\x28\xb5\x2f\xfd") {
    is = "is compressed; unpack it first";
  } else {
    is = "is neither a PyTorch memory snapshot (a pickle) nor an RMM log (CSV)";
  }
  return absl::InvalidArgumentError(absl::string_view(is.data(), is.size()));
}

}  // namespace

ImportFormat DetectFormat(std::string_view bytes) {
  if (bytes.size() >= 2 && bytes[0] == kPickleProto) return ImportFormat::kTorchSnapshot;
  if (LooksLikeRmm(FirstLine(bytes))) return ImportFormat::kRmmCsv;
  return ImportFormat::kUnknown;
}

std::string_view FormatName(ImportFormat format) {
  switch (format) {
    case ImportFormat::kTorchSnapshot:
      return "PyTorch memory snapshot";
    case ImportFormat::kRmmCsv:
      return "RMM log";
    case ImportFormat::kUnknown:
      break;
  }
  return "unknown";
}

absl::StatusOr<ImportSummary> Import(std::string_view bytes, std::string_view name,
                                     LogWriter* log) {
  switch (DetectFormat(bytes)) {
    case ImportFormat::kTorchSnapshot:
      return ImportTorchSnapshot(bytes, name, log);
    case ImportFormat::kRmmCsv:
      return ImportRmmCsv(bytes, name, log);
    case ImportFormat::kUnknown:
      break;
  }
  return Foreign(bytes);
}

}  // namespace memprof::analysis
