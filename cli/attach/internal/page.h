// The page of the recorder in a running program that tells how far attaching is (AttachPage of
// libmemprof/src/lifecycle/attach.h), read and written from outside.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "cli/attach/internal/target.h"

namespace memprof::cli {

// In the order of AttachState.
enum class AttachPhase : std::uint32_t { kNever, kStarting, kRecording, kEnding, kEnded, kFailed };

struct AttachReport {
  AttachPhase phase = AttachPhase::kNever;
  std::string log, error;
};

// kNever without a recorder in the program.
absl::StatusOr<AttachReport> ReadPage(const Target& target);
// Asks the recorder for the end: from kRecording to kEnding.
absl::Status WantEnd(const Target& target);

}  // namespace memprof::cli
