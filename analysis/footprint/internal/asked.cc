#include "analysis/footprint/internal/asked.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"

namespace memprof::analysis {

std::vector<AskedBytes> NarrowBySteps(std::vector<AskedBytes> asked, const RequestKeys& keys) {
  absl::flat_hash_map<std::pair<std::uint64_t, std::uint32_t>, AskedBytes> common;
  for (std::size_t i = 0; i < asked.size(); ++i) {
    if (keys[i].step < 0) continue;
    AskedBytes& all =
        common.try_emplace({keys[i].site, keys[i].occurrence}, asked[i]).first->second;
    all.least = std::max(all.least, asked[i].least);
    all.most = std::min(all.most, asked[i].most);
  }
  for (std::size_t i = 0; i < asked.size(); ++i) {
    if (keys[i].step < 0) continue;
    const AskedBytes& all = common.find({keys[i].site, keys[i].occurrence})->second;
    if (all.least <= all.most) asked[i] = all;
  }
  return asked;
}

}  // namespace memprof::analysis
