#include "cli/holders/internal/held.h"

#include <algorithm>
#include <limits>

namespace memprof::cli {
namespace {

// An answer may have any numbers.
void AddUpTo(std::uint64_t more, std::uint64_t* sum) {
  if (__builtin_add_overflow(*sum, more, sum)) *sum = std::numeric_limits<std::uint64_t>::max();
}

}  // namespace

void HeldJoiner::Add(int device, std::uint64_t address, std::uint64_t bytes, HeldRow holder) {
  std::uint64_t& size = storages_[{device, address}];
  size = std::max(size, bytes);
  HeldRow& row = rows_[{holder.path, holder.root, holder.kind}];
  if (row.blocks == 0) row = std::move(holder);
  AddUpTo(bytes, &row.bytes);
  ++row.blocks;
}

void HeldJoiner::Finish(Held* held) {
  for (const auto& [place, bytes] : storages_) AddUpTo(bytes, &held->devices[place.first]);
  for (auto& [key, row] : rows_) held->rows.push_back(std::move(row));
  std::stable_sort(held->rows.begin(), held->rows.end(),
                   [](const HeldRow& a, const HeldRow& b) { return a.bytes > b.bytes; });
}

}  // namespace memprof::cli
