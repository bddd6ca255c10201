// The page of the recorder in a running program that tells how far attaching is
// (proto/attach_page.h), read and written from outside.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "cli/attach/internal/target.h"
#include "proto/attach_page.h"

namespace memprof::cli {

using AttachPhase = log::AttachState;

struct AttachReport {
  AttachPhase phase = AttachPhase::kNever;
  std::string log, error;
};

// kNever without a recorder in the program.
absl::StatusOr<AttachReport> ReadPage(const Target& target);
// Asks the recorder for the end.
absl::Status WantEnd(const Target& target);

}  // namespace memprof::cli
