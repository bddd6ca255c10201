// The verdicts on all units, corrected by what only all of them together show; sums of them.
#include "analysis/categories/categories.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

#include "absl/container/flat_hash_map.h"
#include "analysis/categories/internal/judge.h"
#include "analysis/leaks/leaks.h"

namespace memprof::analysis {

std::string_view CategoryName(Category category) {
  static constexpr std::string_view kNames[kCategoryCount] = {
      "unknown",    "parameters",    "gradients",   "optimizer state", "activations",    "inputs",
      "workspaces", "communication", "temporaries", "leaks",           "allocator slack"};
  const auto i = static_cast<std::size_t>(category);
  return i < kCategoryCount ? kNames[i] : kNames[0];
}

std::string_view CategoryKey(Category category) {
  if (category == Category::kOptimizerState) return "optimizer_state";
  return category == Category::kSlack ? "slack" : CategoryName(category);
}

std::string_view CategoryReasonText(CategoryReason reason) {
  switch (reason) {
    case CategoryReason::kNothing:
      return "no evidence";
    case CategoryReason::kName:
      return "the tensor's name";
    case CategoryReason::kStack:
      return "the call stack";
    case CategoryReason::kRange:
      return "a named range";
    case CategoryReason::kLifetime:
      return "its lifetime";
    case CategoryReason::kSizes:
      return "the size of a parameter";
    case CategoryReason::kLeaks:
      return "memprof leaks";
  }
  return "no evidence";
}

std::string_view CategoryReasonKey(CategoryReason reason) {
  static constexpr std::string_view kKeys[] = {"none",     "name",  "stack", "range",
                                               "lifetime", "sizes", "leaks"};
  const auto i = static_cast<std::size_t>(reason);
  return i < std::size(kKeys) ? kKeys[i] : kKeys[0];
}

std::uint64_t CategoryTotals::total() const {
  return std::accumulate(bytes.begin(), bytes.end(), std::uint64_t{0});
}

namespace {

// Gives each verdict a row.
class Rows {
 public:
  explicit Rows(std::vector<CategoryVerdict>* verdicts) : verdicts_(*verdicts) {}

  std::uint16_t Of(const CategoryVerdict& verdict) {
    if (last_row_ != 0 && verdict == last_) return last_row_;
    const auto key =
        std::tuple(verdict.category, verdict.reason, std::lround(verdict.confidence * 100));
    const auto [it, fresh] = rows_.try_emplace(key, static_cast<std::uint16_t>(verdicts_.size()));
    if (fresh) verdicts_.push_back(verdict);
    last_ = verdict;
    return last_row_ = it->second;
  }

 private:
  std::vector<CategoryVerdict>& verdicts_;
  absl::flat_hash_map<std::tuple<Category, CategoryReason, long>, std::uint16_t> rows_;
  CategoryVerdict last_;  // mostly the next one, too
  std::uint16_t last_row_ = 0;
};

// Whether what a leak's site left behind is no longer what it was made for. Parameters and
// optimizer state that are known may grow on purpose, and the newest gradients may still be those
// of the parameters.
bool IsLeak(const Session& session, const Leak& leak, AllocationId id,
            const CategoryVerdict& verdict) {
  const bool certain =
      verdict.reason == CategoryReason::kName || verdict.reason == CategoryReason::kStack;
  const bool state =
      verdict.category == Category::kParameters || verdict.category == Category::kOptimizerState;
  if (state && certain) return false;
  const auto steps = session.StepsOf(leak.process);
  if (verdict.category != Category::kGradients || steps.empty()) return true;
  const std::int64_t guard = std::max<std::int64_t>(leak.guard_steps, 1);
  return session.StepOf(session.record(id).birth) <= steps.back().number - guard;
}

}  // namespace

Categories::Categories(const Session& session, Symbols* symbols, const CategoryOptions& options)
    : session_(session), verdicts_(2), of_(session.records().size(), 0) {
  verdicts_[1] = {Category::kSlack, CategoryReason::kNothing, 1};
  Judge judge(session, symbols, options);
  Rows rows(&verdicts_);
  const auto records = session.records();
  for (std::uint32_t i = 0; i < records.size(); ++i)
    if (OccupiesDevice(records[i].layer) || records[i].layer == Layer::kSegment) of_[i] = 1;
  const std::vector<CategoryUnit>& units = judge.units();
  for (std::size_t u = 0; u < units.size(); ++u) of_[units[u].id.value] = rows.Of(judge.Of(u));
  for (const Leak& leak : LeaksOf(session)->leaks)
    for (const AllocationId id : leak.memory)
      if (of_[id.value] != 1 && IsLeak(session, leak, id, Of(id)))
        of_[id.value] = rows.Of(
            {Category::kLeaks, CategoryReason::kLeaks, static_cast<float>(leak.score / 100)});
  const auto of_category = [&](Category category, auto may_count) {
    std::vector<bool> are(units.size());
    for (std::size_t u = 0; u < units.size(); ++u) {
      const CategoryVerdict& verdict = Of(units[u].id);
      are[u] = verdict.category == category && may_count(verdict.reason);
    }
    return are;
  };
  const std::vector<bool> surplus = judge.Surplus(
      of_category(Category::kParameters, [](CategoryReason) { return true; }),
      of_category(Category::kGradients,
                  [](CategoryReason reason) { return reason == CategoryReason::kSizes; }));
  for (std::size_t u = 0; u < units.size(); ++u)
    if (surplus[u]) of_[units[u].id.value] = rows.Of(judge.NoGradient(u));
  // Tensors are what the memory below them is. Parents come before their children.
  for (std::uint32_t i = 0; i < records.size(); ++i) {
    if (records[i].layer != Layer::kTensor || of_[i] != 0 || !records[i].parent.valid()) continue;
    const std::uint16_t below = of_[records[i].parent.value];
    of_[i] = below == 1 ? 0 : below;
  }
}

CategoryTotals Categories::At(int device, EventId event) const {
  CategoryTotals totals;
  absl::flat_hash_map<std::pair<std::uint32_t, std::uint16_t>, std::size_t> rows;
  std::uint64_t on_device = 0, known = 0;
  const auto is_judged = [this](AllocationId id) { return of_[id.value] != 1; };
  for (const AllocationId id : session_.LiveAfter(event)) {
    const AllocationRecord& a = session_.record(id);
    if (a.device != device) continue;
    const bool occupies = OccupiesDevice(a.layer);
    if (occupies) on_device += a.bytes;
    // A tensor counts where the memory below it is not judged itself.
    const bool tensor = a.layer == Layer::kTensor && a.parent.valid() &&
                        OccupiesDevice(session_.record(a.parent).layer) && !is_judged(a.parent);
    if (!tensor && (!is_judged(id) || (!occupies && a.layer != Layer::kBlock))) continue;
    const CategoryVerdict& verdict = Of(id);
    const auto c = static_cast<std::size_t>(verdict.category);
    totals.bytes[c] += a.bytes;
    ++totals.blocks[c];
    totals.confidence[c] += static_cast<double>(verdict.confidence) * static_cast<double>(a.bytes);
    known += a.bytes;
    const auto [it, fresh] =
        rows.try_emplace(std::pair(a.stack.value, of_[id.value]), totals.sites.size());
    if (fresh) totals.sites.push_back({a.stack, verdict, 0, 0});
    totals.sites[it->second].bytes += a.bytes;
    ++totals.sites[it->second].blocks;
  }
  constexpr auto kSlackRow = static_cast<std::size_t>(Category::kSlack);
  totals.bytes[kSlackRow] = on_device > known ? on_device - known : 0;
  for (std::size_t c = 0; c < kCategoryCount; ++c)
    if (totals.bytes[c] > 0) totals.confidence[c] /= static_cast<double>(totals.bytes[c]);
  totals.confidence[kSlackRow] = totals.bytes[kSlackRow] > 0 ? 1 : 0;
  std::stable_sort(totals.sites.begin(), totals.sites.end(),
                   [](const CategorySite& a, const CategorySite& b) { return a.bytes > b.bytes; });
  return totals;
}

}  // namespace memprof::analysis
