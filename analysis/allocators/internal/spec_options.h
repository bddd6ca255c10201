// What the two parsers of allocators' options share.
#pragma once

#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "analysis/allocators/spec.h"

namespace memprof::analysis::allocators {

inline absl::string_view View(std::string_view text) { return {text.data(), text.size()}; }
inline std::string_view StdView(absl::string_view text) { return {text.data(), text.size()}; }

// Sets the share of memory in use from which PyTorch's allocator releases old cached segments.
absl::Status SetGarbageThreshold(std::string_view value, AllocatorSpec* spec);

}  // namespace memprof::analysis::allocators
