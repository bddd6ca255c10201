// How much memory loaded code takes. The log has by how much free memory fell during the load, and
// that includes what other processes allocated meanwhile.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "analysis/load/internal/columns.h"

namespace memprof::analysis {

class CodeBytes {
 public:
  // `order` as in FindLifetimes. O(events) if there are loads and samples.
  void Find(const RawEvents& raw, const std::vector<std::uint32_t>& order);
  // Of the load with this index in `order`, if it is less than what the log has; else null.
  const std::uint64_t* LessThanLogged(std::uint32_t load) const {
    const auto at = less_.find(load);
    return at == less_.end() ? nullptr : &at->second;
  }

 private:
  absl::flat_hash_map<std::uint32_t, std::uint64_t> less_;
};

}  // namespace memprof::analysis
