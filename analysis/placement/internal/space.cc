// The buffers placed so far, and where the next one fits.
#include "analysis/placement/internal/space.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

namespace memprof::analysis {
namespace {

constexpr int kRowBits = 24;  // at most 16 million buffers overlap

int LevelOf(const SpaceBuffer& buffer) { return std::bit_width(buffer.begin ^ buffer.last); }

}  // namespace

PlacementSpace::PlacementSpace(const std::vector<SpaceBuffer>& buffers, std::uint32_t times)
    : buffers_(buffers),
      levels_(static_cast<std::size_t>(std::bit_width(times)) + 1),
      address_(buffers.size()),
      slot_(buffers.size()) {
  for (std::size_t level = 0; level < levels_.size(); ++level) {
    const std::size_t nodes = (std::size_t{times} >> level) + 1;
    levels_[level].nodes.resize(nodes);
    levels_[level].used.resize(nodes / 64 + 1);
  }
}

template <typename Visit>
void PlacementSpace::ForOverlapping(std::uint32_t begin, std::uint32_t last,
                                    const Visit& visit) const {
  for (std::size_t l = 0; l < levels_.size(); ++l) {
    const Level& level = levels_[l];
    const std::size_t first_node = begin >> l, last_node = last >> l;
    for (std::size_t word = first_node / 64; word <= last_node / 64; ++word) {
      std::uint64_t bits = level.used[word];
      if (word == first_node / 64) bits &= ~std::uint64_t{0} << (first_node % 64);
      if (word == last_node / 64) bits &= ~std::uint64_t{0} >> (63 - last_node % 64);
      for (; bits != 0; bits &= bits - 1) {
        const std::size_t node = word * 64 + static_cast<std::size_t>(std::countr_zero(bits));
        if (node != first_node && node != last_node) {
          for (const Entry& entry : level.nodes[node]) visit(entry);
          continue;
        }
        for (const Entry& entry : level.nodes[node]) {
          if (entry.begin <= last && begin <= entry.last) visit(entry);
        }
      }
    }
  }
}

void PlacementSpace::Overlapping(std::uint32_t begin, std::uint32_t last,
                                 std::vector<std::uint32_t>* found) const {
  ForOverlapping(begin, last, [found](const Entry& entry) { found->push_back(entry.buffer); });
}

void PlacementSpace::Place(std::uint32_t buffer, PlacementRule rule) {
  const SpaceBuffer& b = buffers_[buffer];
  taken_.clear();
  ends_.clear();
  ForOverlapping(b.begin, b.last, [this](const Entry& entry) {
    taken_.push_back(entry.address << kRowBits | ends_.size());
    ends_.push_back(entry.end);
  });
  SortTaken();
  PlaceAt(buffer, Gap(b.units, rule));
}

// By address. Most of the time of placing is spent here, so larger lists are sorted by radix.
void PlacementSpace::SortTaken() {
  constexpr std::size_t kFew = 96, kDigit = 11, kDigits = std::size_t{1} << kDigit;
  if (taken_.size() < kFew) {
    std::sort(taken_.begin(), taken_.end());
    return;
  }
  std::uint64_t all = 0;
  for (const std::uint64_t key : taken_) all |= key;
  sorted_.resize(taken_.size());
  const auto bits = static_cast<std::size_t>(std::bit_width(all));
  for (std::size_t shift = kRowBits; shift < bits; shift += kDigit) {
    std::array<std::uint32_t, kDigits> place = {};
    for (const std::uint64_t key : taken_) ++place[key >> shift & (kDigits - 1)];
    std::uint32_t sum = 0;
    for (std::uint32_t& count : place) sum += std::exchange(count, sum);
    for (const std::uint64_t key : taken_) sorted_[place[key >> shift & (kDigits - 1)]++] = key;
    taken_.swap(sorted_);
  }
}

// The address of a gap between the ranges in taken_.
std::uint64_t PlacementSpace::Gap(std::uint64_t units, PlacementRule rule) const {
  std::uint64_t top = 0, best = 0, best_gap = ~std::uint64_t{0};
  for (const std::uint64_t range : taken_) {
    const std::uint64_t address = range >> kRowBits;
    const std::uint64_t end = ends_[range & ((std::uint64_t{1} << kRowBits) - 1)];
    if (address > top && address - top >= units && address - top < best_gap) {
      best = top;
      best_gap = address - top;
      if (rule == PlacementRule::kLowest) return best;
    }
    top = std::max(top, end);
  }
  return best_gap == ~std::uint64_t{0} ? top : best;
}

void PlacementSpace::PlaceAt(std::uint32_t buffer, std::uint64_t address) {
  const SpaceBuffer& b = buffers_[buffer];
  const auto l = static_cast<std::size_t>(LevelOf(b));
  const std::size_t node = b.begin >> l;
  std::vector<Entry>& entries = levels_[l].nodes[node];
  levels_[l].used[node / 64] |= std::uint64_t{1} << (node % 64);
  address_[buffer] = address;
  slot_[buffer] = static_cast<std::uint32_t>(entries.size());
  entries.push_back({b.begin, b.last, address, address + b.units, buffer});
}

void PlacementSpace::Remove(std::uint32_t buffer) {
  const SpaceBuffer& b = buffers_[buffer];
  const auto l = static_cast<std::size_t>(LevelOf(b));
  const std::size_t node = b.begin >> l;
  std::vector<Entry>& entries = levels_[l].nodes[node];
  const std::uint32_t slot = slot_[buffer];
  entries[slot] = entries.back();
  slot_[entries[slot].buffer] = slot;
  entries.pop_back();
  if (entries.empty()) levels_[l].used[node / 64] &= ~(std::uint64_t{1} << (node % 64));
}

void PlacementSpace::Clear() {
  for (Level& level : levels_) {
    for (std::size_t word = 0; word < level.used.size(); ++word) {
      for (std::uint64_t bits = level.used[word]; bits != 0; bits &= bits - 1) {
        level.nodes[word * 64 + static_cast<std::size_t>(std::countr_zero(bits))].clear();
      }
      level.used[word] = 0;
    }
  }
}

}  // namespace memprof::analysis
