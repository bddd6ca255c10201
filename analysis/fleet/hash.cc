// FNV-1a.
#include "analysis/fleet/hash.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace memprof::analysis {

std::string StableHash(std::string_view text) {
  __extension__ using Wide = unsigned __int128;
  // Offset basis and prime (2^88 + 2^8 + 0x3b) for 128 bits, by "The FNV Non-Cryptographic Hash
  // Algorithm" (IETF draft-eastlake-fnv, section 5; RFC 9923).
  Wide hash = Wide{0x6c62272e07bb0142} << 64 | 0x62b821756295c58d;
  constexpr Wide kPrime = Wide{1} << 88 | 0x13b;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * kPrime;
  return absl::StrFormat("%016x%016x", static_cast<std::uint64_t>(hash >> 64),
                         static_cast<std::uint64_t>(hash));
}

std::string RunIdOf(const RunInfo& run) {
  std::string text =
      absl::StrCat(run.hostname, "\n", run.pid, "\n", run.start_unix_ns, "\n", run.start_time);
  if (run.pid == 0) absl::StrAppend(&text, "\n", run.executable, "\n", run.end_time);
  return StableHash(text);
}

}  // namespace memprof::analysis
