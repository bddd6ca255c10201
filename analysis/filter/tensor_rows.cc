// Finds and sorts rows of the table of tensors.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "analysis/base/text.h"
#include "analysis/filter/tensor_table.h"

namespace memprof::analysis {
namespace {

// Records between two checks of the stop token.
constexpr std::size_t kStopStride = 1 << 16;

// Answers of one condition, by whatever it depends on.
class RowMatcher {
 public:
  RowMatcher(const TensorTable& table, const Categories* categories, const SiteNames* sites,
             const TensorCondition& condition)
      : table_(table), categories_(categories), sites_(sites), condition_(condition) {
    const bool anywhere = condition.kind == TensorCondition::Kind::kAnywhere;
    if (anywhere || condition.kind == TensorCondition::Kind::kText) {
      if (anywhere || condition.field <= TensorField::kShape) FillTensors(anywhere);
      if (anywhere || condition.field == TensorField::kSite) FillSites();
      for (std::size_t i = 0; i < kCategoryCount; ++i)
        by_category_[i] = Text(CategoryName(static_cast<Category>(i)));
      for (std::size_t i = 0; i < static_cast<std::size_t>(kLayerCount); ++i)
        by_layer_[i] = Text(LayerName(static_cast<Layer>(i)));
    }
  }

  bool Matches(AllocationId id) const { return Holds(id) != condition_.negated; }

 private:
  bool Text(std::string_view text) const {
    const std::string lower = Lower(text);
    return std::any_of(
        condition_.texts.begin(), condition_.texts.end(), [&](const std::string& wanted) {
          return condition_.exact ? lower == wanted : lower.find(wanted) != std::string::npos;
        });
  }
  void FillTensors(bool anywhere) {
    by_tensor_.resize(table_.tensor_count());
    for (std::uint32_t i = 0; i < by_tensor_.size(); ++i) {
      const TensorInfo& tensor = *table_.session().tensor(TensorId(i));
      if (anywhere || condition_.field == TensorField::kName)
        by_tensor_[i] = Text(tensor.name);
      else
        by_tensor_[i] =
            Text(condition_.field == TensorField::kDtype ? tensor.dtype : ShapeText(tensor));
    }
  }
  void FillSites() {
    if (sites_ == nullptr) return;
    by_site_.resize(sites_->names.size());
    for (std::size_t i = 0; i < by_site_.size(); ++i) by_site_[i] = Text(sites_->names[i]);
  }
  bool TensorHolds(AllocationId id) const {
    const TensorId tensor = table_.TensorOf(id);
    return tensor.value < by_tensor_.size() && by_tensor_[tensor.value];
  }
  bool SiteHolds(AllocationId id) const {
    if (sites_ == nullptr) return false;
    const std::uint32_t site = sites_->Rank(table_.session().record(id).stack);
    return site < by_site_.size() && by_site_[site];
  }
  bool Holds(AllocationId id) const {
    switch (condition_.kind) {
      case TensorCondition::Kind::kAlive:
        return table_.session().record(id).alive();
      case TensorCondition::Kind::kAnywhere:
        return TensorHolds(id) || SiteHolds(id);
      case TensorCondition::Kind::kNumber: {
        const std::optional<std::uint64_t> number = table_.Number(condition_.field, id);
        return number && std::any_of(condition_.ranges.begin(), condition_.ranges.end(),
                                     [&](const NumberRange& range) {
                                       return *number >= range.low && *number <= range.high;
                                     });
      }
      case TensorCondition::Kind::kText:
        break;
    }
    if (condition_.field == TensorField::kSite) return SiteHolds(id);
    if (condition_.field == TensorField::kLayer)
      return by_layer_[static_cast<std::size_t>(table_.session().record(id).layer)];
    if (condition_.field == TensorField::kCategory)
      return categories_ != nullptr &&
             by_category_[static_cast<std::size_t>(categories_->Of(id).category)];
    return TensorHolds(id);
  }

  const TensorTable& table_;
  const Categories* categories_;
  const SiteNames* sites_;
  const TensorCondition& condition_;
  std::vector<bool> by_tensor_, by_site_;
  std::array<bool, kCategoryCount> by_category_{};
  std::array<bool, kLayerCount> by_layer_{};
};

bool InScope(const Session& session, const RowsQuery& query, const AllocationRecord& record) {
  if (query.scope == RowScope::kAll) return true;
  const TimeNs birth = session.events().time(record.birth.value);
  const TimeNs death = record.death.valid() ? session.events().time(record.death.value) : kForever;
  if (query.scope == RowScope::kAliveAtInstant)
    return birth <= query.instant && query.instant < death;
  // The window's end is the last instant of the log where nothing is zoomed: it counts.
  if (birth > query.window.end) return false;
  return query.scope == RowScope::kBornInWindow ? birth >= query.window.begin
                                                : death > query.window.begin;
}

// A number to sort by; the largest for no value.
std::uint64_t SortKey(const TensorTable& table, const Categories* categories,
                      const SiteNames* sites, TensorField field, AllocationId id) {
  constexpr std::uint64_t kLast = std::numeric_limits<std::uint64_t>::max();
  const auto widen = [](std::uint32_t rank) { return rank == EventId::kNone ? kLast : rank; };
  const AllocationRecord& record = table.session().record(id);
  switch (field) {
    case TensorField::kName:
    case TensorField::kDtype:
    case TensorField::kShape:
      return widen(table.Rank(field, table.TensorOf(id)));
    case TensorField::kCategory:
      return categories == nullptr ? kLast
                                   : static_cast<std::uint64_t>(categories->Of(id).category);
    case TensorField::kLayer:
      return static_cast<std::uint64_t>(record.layer);
    case TensorField::kSite:
      return sites == nullptr ? kLast : widen(sites->Rank(record.stack));
    default:
      return table.Number(field, id).value_or(kLast);
  }
}

void Sort(const TensorTable& table, const Categories* categories, const SiteNames* sites,
          const RowsQuery& query, std::vector<std::uint32_t>* rows) {
  // Rows are in order of birth.
  if (query.sort == TensorField::kBorn) {
    if (query.descending) std::reverse(rows->begin(), rows->end());
    return;
  }
  constexpr std::uint64_t kLast = std::numeric_limits<std::uint64_t>::max();
  std::vector<std::pair<std::uint64_t, std::uint32_t>> keys;
  keys.reserve(rows->size());
  for (const std::uint32_t row : *rows) {
    const std::uint64_t key = SortKey(table, categories, sites, query.sort, AllocationId(row));
    keys.emplace_back(query.descending && key != kLast ? kLast - 1 - key : key, row);
  }
  std::sort(keys.begin(), keys.end());
  std::transform(keys.begin(), keys.end(), rows->begin(),
                 [](const auto& key) { return key.second; });
}

}  // namespace

TensorRows FindRows(const TensorTable& table, const Categories* categories, const SiteNames* sites,
                    const AllocationSet* passing, const RowsQuery& query,
                    const std::stop_token& stop) {
  TensorRows found;
  found.kind = query.kind;
  std::vector<RowMatcher> matchers;
  for (const TensorCondition& condition : query.query.conditions)
    matchers.emplace_back(table, categories, sites, condition);
  const std::uint32_t layers = LayersOf(query.kind);
  const std::span<const AllocationRecord> records = table.session().records();
  for (std::uint32_t i = 0; i < records.size(); ++i) {
    if (i % kStopStride == 0 && stop.stop_requested()) return found;
    const AllocationRecord& record = records[i];
    const AllocationId id(i);
    if ((LayerBit(record.layer) & layers) == 0) continue;
    if (passing != nullptr && !passing->Has(id)) continue;
    if (!InScope(table.session(), query, record)) continue;
    if (!std::all_of(matchers.begin(), matchers.end(),
                     [id](const RowMatcher& matcher) { return matcher.Matches(id); }))
      continue;
    found.rows.push_back(i);
    found.bytes += record.bytes;
    found.largest = std::max(found.largest, record.bytes);
  }
  if (!stop.stop_requested()) Sort(table, categories, sites, query, &found.rows);
  return found;
}

}  // namespace memprof::analysis
