// Finds and sorts rows by small numbers made once of every distinct text.
#include "analysis/filter/tensor_table.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_join.h"
#include "analysis/base/text.h"

namespace memprof::analysis {
namespace {

constexpr std::uint32_t kNone = EventId::kNone;
// Records between two looks at the stop token.
constexpr std::size_t kStride = 1 << 16;

// The rank of each item: equal ones share theirs, ranks are dense.
template <typename Less>
std::vector<std::uint32_t> RanksOf(std::size_t count, Less less) {
  std::vector<std::uint32_t> order(count), ranks(count);
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(), less);
  std::uint32_t rank = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0 && less(order[i - 1], order[i])) ++rank;
    ranks[order[i]] = rank;
  }
  return ranks;
}

}  // namespace

std::uint32_t LayersOf(RowKind kind) {
  if (kind == RowKind::kTensors) return LayerBit(Layer::kTensor);
  if (kind == RowKind::kBlocks) return LayerBit(Layer::kBlock);
  return ~(LayerBit(Layer::kTensor) | LayerBit(Layer::kBlock) | LayerBit(Layer::kSegment));
}

std::uint32_t SiteNames::Rank(StackId stack) const {
  return stack.value < of_stack.size() ? of_stack[stack.value] : kNone;
}

const std::string& SiteNames::Of(StackId stack) const {
  static const std::string kEmpty;
  const std::uint32_t rank = Rank(stack);
  return rank < names.size() ? names[rank] : kEmpty;
}

SiteNames NameSites(const Session& session, Symbols& symbols, const SiteNaming& naming,
                    const std::stop_token& stop) {
  SiteNames sites;
  sites.of_stack.assign(session.stack_count(), kNone);
  std::vector<std::uint32_t> stacks;
  for (const AllocationRecord& record : session.records()) {
    if (record.stack.value >= sites.of_stack.size()) continue;
    std::uint32_t& known = sites.of_stack[record.stack.value];
    if (known != kNone) continue;
    known = static_cast<std::uint32_t>(stacks.size());
    stacks.push_back(record.stack.value);
  }
  absl::flat_hash_map<std::string, std::uint32_t> ids;
  std::vector<std::uint32_t> id_of(stacks.size());
  for (std::size_t i = 0; i < stacks.size(); ++i) {
    const std::string name =
        stop.stop_requested() ? std::string() : naming(symbols.Site(StackId(stacks[i])));
    const auto [at, added] = ids.try_emplace(name, static_cast<std::uint32_t>(sites.names.size()));
    if (added) sites.names.push_back(name);
    id_of[i] = at->second;
  }
  const std::vector<std::string>& names = sites.names;
  const std::vector<std::uint32_t> ranks =
      RanksOf(names.size(), [&](std::uint32_t a, std::uint32_t b) { return names[a] < names[b]; });
  std::vector<std::string> sorted(names.size());
  for (std::size_t i = 0; i < names.size(); ++i) sorted[ranks[i]] = std::move(sites.names[i]);
  sites.names = std::move(sorted);
  for (std::uint32_t& site : sites.of_stack)
    if (site != kNone) site = ranks[id_of[site]];
  return sites;
}

std::string ShapeText(const TensorInfo& tensor) { return absl::StrJoin(tensor.shape, "x"); }

TensorTable::TensorTable(std::shared_ptr<const Session> session) : session_(std::move(session)) {
  const EventTable& events = session_->events();
  start_ = session_->run().start_time;
  end_ = std::max(session_->run().end_time, events.last_time());
  if (!events.empty()) start_ = std::min(start_, events.first_time());
  for (const AllocationRecord& record : session_->records()) {
    for (std::size_t kind = 0; kind < kRowKindCount; ++kind) {
      if ((LayersOf(static_cast<RowKind>(kind)) & LayerBit(record.layer)) == 0) continue;
      ++counts_[kind];
      bytes_[kind] += record.bytes;
    }
  }
  std::uint32_t tensors = 0;
  while (session_->tensor(TensorId(tensors)) != nullptr) ++tensors;
  const auto of = [this](std::uint32_t i) -> const TensorInfo& {
    return *session_->tensor(TensorId(i));
  };
  ranks_[0] = RanksOf(tensors, [&](auto a, auto b) { return of(a).name < of(b).name; });
  ranks_[1] = RanksOf(tensors, [&](auto a, auto b) { return of(a).dtype < of(b).dtype; });
  ranks_[2] = RanksOf(tensors, [&](auto a, auto b) { return of(a).shape < of(b).shape; });
}

RowKind TensorTable::Usual() const {
  for (const RowKind kind : {RowKind::kTensors, RowKind::kBlocks})
    if (count(kind) > 0) return kind;
  return RowKind::kDriver;
}

TensorId TensorTable::TensorOf(AllocationId id) const {
  const AllocationRecord& record = session_->record(id);
  if (record.layer == Layer::kTensor) return TensorId(static_cast<std::uint32_t>(record.second));
  for (const AllocationId child : session_->Children(id)) {
    const AllocationRecord& inside = session_->record(child);
    if (inside.layer == Layer::kTensor) return TensorId(static_cast<std::uint32_t>(inside.second));
  }
  return {};
}

std::uint64_t TensorTable::RequestedOf(AllocationId id) const {
  const AllocationRecord* record = &session_->record(id);
  if (record->layer == Layer::kTensor && record->parent.valid() &&
      session_->record(record->parent).layer == Layer::kBlock)
    record = &session_->record(record->parent);
  const bool said = record->layer == Layer::kBlock && record->second != 0;
  return said || record->layer == Layer::kModule ? record->second : record->bytes;
}

std::optional<std::uint64_t> TensorTable::Number(TensorField field, AllocationId id) const {
  const AllocationRecord& record = session_->record(id);
  const EventTable& events = session_->events();
  const auto step = [this](EventId event) -> std::optional<std::uint64_t> {
    const std::int64_t number = session_->StepOf(event);
    if (number < 0) return std::nullopt;
    return static_cast<std::uint64_t>(number);
  };
  switch (field) {
    case TensorField::kBytes:
      return record.bytes;
    case TensorField::kRequested:
      return RequestedOf(id);
    case TensorField::kBornStep:
      return step(record.birth);
    case TensorField::kBorn:
      return events.time(record.birth.value) - start_;
    case TensorField::kFreedStep:
      return record.death.valid() ? step(record.death) : std::nullopt;
    case TensorField::kFreed:
      if (!record.death.valid()) return std::nullopt;
      return events.time(record.death.value) - start_;
    case TensorField::kLifetime:
      return (record.death.valid() ? events.time(record.death.value) : end_) -
             events.time(record.birth.value);
    case TensorField::kStream:
      return events.stream(record.birth.value);
    case TensorField::kDevice:
      if (record.device < 0) return std::nullopt;
      return static_cast<std::uint64_t>(record.device);
    case TensorField::kProcess: {
      const std::uint32_t row = session_->ProcessOf(record.birth);
      if (row >= session_->processes().size()) return std::nullopt;
      const int rank = session_->processes()[row].rank;
      return rank >= 0 ? static_cast<std::uint64_t>(rank) : row + 1;
    }
    default:
      return std::nullopt;
  }
}

std::uint32_t TensorTable::Rank(TensorField field, TensorId id) const {
  const auto table = static_cast<std::size_t>(field);
  if (table >= ranks_.size() || id.value >= ranks_[table].size()) return kNone;
  return ranks_[table][id.value];
}

namespace {

// Answers of one condition, by whatever it depends on.
class Matcher {
 public:
  Matcher(const TensorTable& table, const Categories* categories, const SiteNames* sites,
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
  const auto widen = [](std::uint32_t rank) { return rank == kNone ? kLast : rank; };
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
  std::vector<Matcher> matchers;
  for (const TensorCondition& condition : query.query.conditions)
    matchers.emplace_back(table, categories, sites, condition);
  const std::uint32_t layers = LayersOf(query.kind);
  const std::span<const AllocationRecord> records = table.session().records();
  for (std::uint32_t i = 0; i < records.size(); ++i) {
    if (i % kStride == 0 && stop.stop_requested()) return found;
    const AllocationRecord& record = records[i];
    const AllocationId id(i);
    if ((LayerBit(record.layer) & layers) == 0) continue;
    if (passing != nullptr && !passing->Has(id)) continue;
    if (!InScope(table.session(), query, record)) continue;
    if (!std::all_of(matchers.begin(), matchers.end(),
                     [id](const Matcher& matcher) { return matcher.Matches(id); }))
      continue;
    found.rows.push_back(i);
    found.bytes += record.bytes;
    found.largest = std::max(found.largest, record.bytes);
  }
  if (!stop.stop_requested()) Sort(table, categories, sites, query, &found.rows);
  return found;
}

}  // namespace memprof::analysis
