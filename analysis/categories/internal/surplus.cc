// Follows the gradients of each size through the run.
#include "analysis/categories/internal/surplus.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <queue>
#include <utility>

namespace memprof::analysis {
namespace {

// A caching allocator uses a block whole if less than this would remain.
constexpr std::uint64_t kUnsplitRest = std::uint64_t{1} << 20;

// Whether blocks of these sizes may have been requested alike; a <= b.
bool Alike(std::uint64_t a, std::uint64_t b) {
  return a == b || (a > kUnsplitRest && b - a < std::min(kUnsplitRest, a / 4));
}

// The parameters of a place, in groups of sizes that cannot be told apart.
class Groups {
 public:
  struct Group {
    std::uint64_t least = 0, most = 0;  // sizes
    std::size_t parameters = 0;
    // Death, then the last born first: what is equal is kept in order of birth.
    using Live = std::pair<std::uint32_t, std::size_t>;
    std::priority_queue<Live, std::vector<Live>, std::greater<>> held, others;
  };

  void Add(std::uint64_t bytes) { ++sizes_[bytes]; }
  void Finish() {
    for (const auto& [bytes, count] : sizes_) {
      if (groups_.empty() || !Alike(groups_.back().most, bytes))
        groups_.push_back({.least = bytes});
      groups_.back().most = bytes;
      groups_.back().parameters += count;
    }
  }
  // Null if no parameter has such a size.
  Group* Of(std::uint64_t bytes) {
    for (const std::uint64_t wanted : {bytes, bytes / 2, bytes * 2})
      if (Group* const group = Find(wanted)) return group;
    return nullptr;
  }

 private:
  Group* Find(std::uint64_t bytes) {
    const auto above = [bytes](const Group& group) { return group.most < bytes; };
    const auto next = std::partition_point(groups_.begin(), groups_.end(), above);
    if (next != groups_.end() && (next->least <= bytes || Alike(bytes, next->least))) return &*next;
    if (next != groups_.begin() && Alike((next - 1)->most, bytes)) return &*(next - 1);
    return nullptr;
  }

  std::map<std::uint64_t, std::size_t> sizes_;
  std::vector<Group> groups_;  // by size
};

// Whether a gradient of an earlier step gives way to one of this step: until the new ones are
// complete, some programs keep the old ones.
class Handover {
 public:
  explicit Handover(const std::vector<CategoryUnit>& units) {
    for (const CategoryUnit& unit : units)
      begins_.try_emplace({unit.process, unit.step}, unit.birth.value);
  }
  bool Is(const CategoryUnit& old, const CategoryUnit& fresh) const {
    if (old.step >= fresh.step) return false;
    const auto next = begins_.upper_bound({fresh.process, fresh.step});
    return next == begins_.end() || next->first.first != fresh.process ||
           old.death.value < next->second;
  }

 private:
  // The first birth of each step of a process.
  std::map<std::pair<std::uint8_t, std::int32_t>, std::uint32_t> begins_;
};

}  // namespace

std::vector<bool> SurplusGradients(const std::vector<CategoryUnit>& units,
                                   const std::vector<bool>& parameters,
                                   const std::vector<bool>& gradients,
                                   const std::vector<bool>& held) {
  std::map<std::uint32_t, Groups> places;
  for (std::size_t u = 0; u < units.size(); ++u)
    if (parameters[u]) places[units[u].place()].Add(units[u].bytes);
  for (auto& [place, groups] : places) groups.Finish();
  const Handover handover(units);
  std::vector<bool> surplus(units.size(), false);
  for (std::size_t u = 0; u < units.size(); ++u) {
    const auto place = places.find(units[u].place());
    if (!gradients[u] || place == places.end()) continue;
    Groups::Group* const group = place->second.Of(units[u].bytes);
    if (group == nullptr) continue;
    for (auto* const live : {&group->held, &group->others})
      while (!live->empty() && live->top().first < units[u].birth.value) live->pop();
    (held[u] ? group->held : group->others).emplace(units[u].death.value, ~u);
    if (group->held.size() + group->others.size() <= group->parameters) continue;
    auto& from = group->others.empty() ? group->held : group->others;
    const std::size_t first_to_end = ~from.top().second;
    surplus[first_to_end] = !handover.Is(units[first_to_end], units[u]);
    from.pop();
  }
  return surplus;
}

}  // namespace memprof::analysis
