// Follows ranges of modules.
#include "analysis/symbols/module_paths.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "analysis/base/units.h"

namespace memprof::analysis {
namespace {

constexpr std::size_t kSearched = 4096;  // allocations
constexpr std::size_t kNamed = 3;        // modules

}  // namespace

std::optional<ModuleRangeName> ParseModuleRange(std::string_view name) {
  static constexpr std::pair<std::string_view, ModulePass> kEndings[] = {
      {" (forward)", ModulePass::kForward},
      {" (backward)", ModulePass::kBackward},
      {" (recomputed)", ModulePass::kRecomputed},
      {" (optimizer)", ModulePass::kOptimizer}};
  for (const auto& [ending, pass] : kEndings)
    if (name.size() > ending.size() && name.ends_with(ending))
      return ModuleRangeName{name.substr(0, name.size() - ending.size()), pass};
  return std::nullopt;
}

bool IsModuleRange(std::string_view name) { return ParseModuleRange(name).has_value(); }

RangesOfThreads::RangesOfThreads(const Session& session, bool (*wanted)(std::string_view name))
    : session_(session) {
  std::map<std::uint32_t, bool> is_wanted;  // by name
  const auto ranges = session.ranges();
  for (std::uint32_t row = 0; row < ranges.size(); ++row) {
    const RangeInfo& range = ranges[row];
    const auto [name, fresh] = is_wanted.try_emplace(range.name.value, false);
    if (fresh) name->second = wanted(session.string(range.name));
    if (!name->second) continue;
    empty_ = false;
    if (range.thread >= threads_.size()) threads_.resize(range.thread + std::size_t{1});
    std::vector<Range>& of_thread = threads_[range.thread];
    // Ranges nest, and come in the order in which they begin.
    std::int32_t around = static_cast<std::int32_t>(of_thread.size()) - 1;
    while (around >= 0 && of_thread[static_cast<std::size_t>(around)].end <= range.begin)
      around = of_thread[static_cast<std::size_t>(around)].around;
    of_thread.push_back({range.begin, range.end, row, around});
  }
}

std::optional<std::size_t> RangesOfThreads::At(EventId event) const {
  const std::uint32_t thread = session_.events().thread(event.value);
  if (thread >= threads_.size()) return std::nullopt;
  const std::vector<Range>& ranges = threads_[thread];
  const TimeNs time = session_.events().time(event.value);
  const auto after =
      std::upper_bound(ranges.begin(), ranges.end(), time,
                       [](TimeNs at, const Range& range) { return at < range.begin; });
  auto at = static_cast<std::int32_t>(after - ranges.begin()) - 1;
  while (at >= 0 && ranges[static_cast<std::size_t>(at)].end < time)
    at = ranges[static_cast<std::size_t>(at)].around;
  if (at < 0) return std::nullopt;
  return ranges[static_cast<std::size_t>(at)].row;
}

std::string ModulesOf(const Session& session, const std::vector<AllocationId>& ids) {
  const RangesOfThreads modules(session, IsModuleRange);
  if (modules.empty()) return "";
  std::map<std::uint32_t, std::uint64_t> times;  // by name
  for (std::size_t i = 0; i < std::min(ids.size(), kSearched); ++i)
    if (const auto row = modules.At(session.record(ids[i]).birth))
      ++times[session.ranges()[*row].name.value];
  std::vector<std::pair<std::uint64_t, std::string_view>> names;
  for (const auto& [name, count] : times) names.emplace_back(count, session.string(StringId(name)));
  std::sort(names.begin(), names.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  });
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kNamed); ++i) {
    absl::StrAppend(&text, text.empty() ? "" : ", ", std::string(names[i].second));
    if (names[i].first > 1) absl::StrAppend(&text, ", ", names[i].first, " times");
  }
  if (names.size() > kNamed)
    absl::StrAppend(&text, " and ", FormatCount(names.size() - kNamed), " more");
  return text;
}

}  // namespace memprof::analysis
