// The message of a status, for those who print it.
#pragma once

#include <string>

#include "absl/status/status.h"

namespace memprof::analysis {

// Abseil may have been built with a string view of its own, which the standard library does not
// know.
inline std::string StatusText(const absl::Status& status) {
  return {status.message().data(), status.message().size()};
}

}  // namespace memprof::analysis
