// The message of a status, for printing.
#pragma once

#include <string>

#include "absl/status/status.h"

namespace memprof::analysis {

// Abseil may have been built with its own string_view, which the standard library does not accept.
inline std::string StatusText(const absl::Status& status) {
  return {status.message().data(), status.message().size()};
}

}  // namespace memprof::analysis
