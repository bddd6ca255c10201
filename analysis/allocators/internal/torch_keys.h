// The keys of PyTorch's allocator settings.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace memprof::analysis::allocators {

enum class KeyScope : std::uint8_t {
  kBackend,
  kNative,  // of the caching allocator of device memory
  kPinned,  // of the allocator of page-locked memory, which every backend uses
};
enum class KeyValue : std::uint8_t {
  kAny,
  kBool,
  kMebibytes,
  kSplit,  // at least the size of a large segment
  kShare,  // between 0 and 1
  kDivisions,
  kThreads,
  kBackend,
};

struct TorchKey {
  std::string_view name;
  int since;  // TorchReleaseNumber of the first release; 0 = every one that we know
  KeyScope scope;
  KeyValue value;
};

// Null if no release has it.
const TorchKey* FindTorchKey(std::string_view name);

// The known key that a misspelt one is nearest to; "" if none is near.
std::string_view SimilarTorchKey(std::string_view name);

// The number that a text begins with; false if it begins with none. PyTorch ignores what follows.
bool LeadingNumber(std::string_view text, std::uint64_t* number);

// Why PyTorch refuses the value, a sentence; "" if it does not. `release` 0 = unknown;
// `large_segment` in MiB.
std::string RefusedValue(const TorchKey& key, std::string_view value, int release,
                         std::uint64_t large_segment);

}  // namespace memprof::analysis::allocators
