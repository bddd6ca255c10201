// Joins names of the same pool; the smallest one represents them.
#include "analysis/store/private_pools.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace memprof::analysis {

std::string PrivatePoolName(std::uint64_t pool) {
  if (pool == 0) return "";
  constexpr std::uint64_t kFirst = 0x7fffff;  // above are the process of a session of several logs,
                                              // and the mark of a capture that has not ended
  return absl::StrCat("private pool (", pool >> 32 & kFirst, ", ", pool & UINT32_MAX, ")");
}

std::uint64_t PrivatePoolOf(const Session& session, AllocationId id) {
  for (; id.valid(); id = session.record(id).parent)
    if (session.record(id).layer == Layer::kSegment) return session.record(id).pool();
  return 0;
}

std::uint64_t PrivatePools::Least(std::uint64_t name) {
  std::uint64_t least = name;
  for (auto at = less_.find(least); at != less_.end(); at = less_.find(least)) least = at->second;
  // Shortens the path for the next search.
  for (auto at = less_.find(name); at != less_.end() && at->second != least;
       at = less_.find(name)) {
    name = at->second;
    at->second = least;
  }
  return least;
}

void PrivatePools::Join(std::uint64_t first, std::uint64_t second) {
  if (first == second || first == 0 || second == 0) return;
  const std::uint64_t a = Least(first), b = Least(second);
  if (a != b) less_[std::max(a, b)] = std::min(a, b);
}

void PrivatePools::AssignNumbers(std::vector<AllocationRecord>* records) {
  if (less_.empty()) return;
  for (AllocationRecord& record : *records)
    if (record.layer == Layer::kSegment && record.pool() != 0) record.extra = Least(record.pool());
}

}  // namespace memprof::analysis
