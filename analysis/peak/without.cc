// Groups of memory, ranked by how much lower the peak would be without them.
#include "analysis/peak/without.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

#include "analysis/base/numbering.h"
#include "analysis/peak/groups.h"
#include "analysis/symbols/site_groups.h"

namespace memprof::analysis {
namespace {

// "h.3.attn.q  fp32[8×64]".
std::string TensorText(const TensorInfo* tensor) {
  if (tensor == nullptr) return "unnamed tensors";
  std::string text = tensor->name.empty() ? "unnamed tensors" : tensor->name, shape;
  for (const std::uint64_t extent : tensor->shape)
    shape += (shape.empty() ? "" : "×") + std::to_string(extent);
  if (!tensor->dtype.empty() || !shape.empty()) text += "  " + tensor->dtype + "[" + shape + "]";
  return text;
}

// The group of every allocation as a row, which is added when the group first occurs.
class WithoutRows {
 public:
  WithoutRows(const Session& session, Symbols& symbols, const Categories* categories,
              const WithoutOptions& options)
      : session_(session), options_(options), sites_(session, symbols) {
    switch (options.by) {
      case WithoutBy::kSite:
        row_of_.assign(session.stack_count() + 1, kNoGroup);
        key_ = [this](AllocationId, const AllocationRecord& a) { return OfStack(a.stack); };
        break;
      case WithoutBy::kCategory:
        if (categories != nullptr) key_ = ByCategory(*categories);
        break;
      case WithoutBy::kLayer:
        key_ = ByLayer();
        break;
      case WithoutBy::kTensor:
        key_ = [this](AllocationId, const AllocationRecord& a) { return OfTensor(a.tensor()); };
        break;
    }
    if (!key_) key_ = [](AllocationId, const AllocationRecord&) { return 0u; };
  }

  // kNoGroup for allocations that may not be removed, or after a request to stop.
  std::uint32_t Of(AllocationId id, const AllocationRecord& a) {
    if (++queries_ % 4096 == 0) stopped_ = options_.stop.stop_requested();
    if (stopped_ || !Passes(id, a)) return kNoGroup;
    const std::uint32_t key = key_(id, a);
    if (key >= by_key_.size()) by_key_.resize(key + 1, kNoGroup);
    if (by_key_[key] == kNoGroup) by_key_[key] = Add(key, a.stack);
    return by_key_[key];
  }

  std::vector<WithoutRow>& rows() { return rows_; }
  // By stack, of sites.
  std::vector<std::uint32_t> row_of() const {
    std::vector<std::uint32_t> rows = row_of_;
    for (std::uint32_t& row : rows) row = row < by_key_.size() ? by_key_[row] : kNoGroup;
    return rows;
  }
  // The stack of a row is the one with the most of its bytes at the peak.
  void CountAtPeak(std::uint32_t row, const AllocationRecord& a) {
    rows_[row].at_peak += a.bytes;
    std::uint64_t& bytes = by_stack_[{row, a.stack.value}];
    bytes += a.bytes;
    largest_.resize(rows_.size());
    if (bytes <= largest_[row]) return;
    largest_[row] = bytes;
    rows_[row].stack = a.stack;
  }

 private:
  // For a tensor, its block decides, because that would be removed.
  bool Passes(AllocationId id, const AllocationRecord& a) const {
    if (options_.passing == nullptr || options_.passing->Has(id)) return true;
    return a.layer == Layer::kTensor && a.parent.valid() && options_.passing->Has(a.parent);
  }

  std::uint32_t OfStack(StackId stack) {
    return row_of_[std::min<std::size_t>(stack.value, row_of_.size() - 1)] = sites_.Of(stack);
  }

  std::uint32_t OfTensor(TensorId tensor) {
    const auto [known, fresh] = tensors_.try_emplace(tensor.value, 0);
    if (fresh) known->second = names_.Of(TensorText(session_.tensor(tensor)));
    return known->second;
  }

  std::uint32_t Add(std::uint32_t key, StackId stack) {
    WithoutRow row;
    if (options_.by == WithoutBy::kSite) row.site = sites_.Site(key).user;
    if (options_.by == WithoutBy::kCategory) row.category = static_cast<Category>(key);
    if (options_.by == WithoutBy::kLayer) row.layer = static_cast<Layer>(key);
    if (options_.by == WithoutBy::kTensor) row.tensor = names_[key];
    if (options_.by == WithoutBy::kSite || options_.by == WithoutBy::kTensor) row.stack = stack;
    rows_.push_back(std::move(row));
    return static_cast<std::uint32_t>(rows_.size() - 1);
  }

  const Session& session_;
  const WithoutOptions& options_;
  SiteGroups sites_;
  Numbering<std::string> names_;                              // of tensors
  std::unordered_map<std::uint32_t, std::uint32_t> tensors_;  // names, by tensor
  GroupKey key_;
  std::uint64_t queries_ = 0;
  bool stopped_ = false;
  std::vector<WithoutRow> rows_;
  std::vector<std::uint32_t> by_key_;  // rows
  std::vector<std::uint32_t> row_of_;  // keys, by stack; the last for none
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> by_stack_;
  std::vector<std::uint64_t> largest_;
};

// By saving; `row_of` follows.
void Sort(WithoutRanking* ranking) {
  std::vector<std::uint32_t> order(ranking->rows.size()), place(order.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  const auto key = [&](std::uint32_t i) {
    const WithoutRow& row = ranking->rows[i];
    return std::make_tuple(row.saving.saves_bytes, row.at_peak, row.allocations);
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return key(a) > key(b); });
  std::vector<WithoutRow> sorted;
  sorted.reserve(order.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) {
    sorted.push_back(std::move(ranking->rows[order[i]]));
    place[order[i]] = i;
  }
  ranking->rows = std::move(sorted);
  for (std::uint32_t& row : ranking->row_of) row = row < place.size() ? place[row] : kNoGroup;
}

}  // namespace

WithoutRanking RankWithout(const Session& session, Symbols& symbols, const Categories* categories,
                           const WithoutOptions& options) {
  WithoutRanking ranking;
  const PeakSavings savings(session);
  if (options.stop.stop_requested()) return ranking;
  const int device = options.device;
  ranking.has_blocks = savings.levels().Find(device, PeakLayer::kBlocks) != nullptr;
  ranking.has_driver = savings.levels().Find(device, PeakLayer::kDriver) != nullptr;
  const bool tensors = options.by == WithoutBy::kTensor;
  ranking.of = options.by == WithoutBy::kLayer ? PeakLayer::kDriver : options.of;
  if (tensors) ranking.of = savings.TensorPeakLayer(device);
  ranking.peak = savings.PeakAsItWas(device, ranking.of);

  // Only allocations of the level, or tensors, count.
  const auto counts = [&](const AllocationRecord& a) {
    if (a.device != device) return false;
    return tensors ? a.layer == Layer::kTensor : PeakLayerOf(a.layer) == ranking.of;
  };
  WithoutRows grouping(session, symbols, categories, options);
  const auto records = session.records();
  for (std::uint32_t i = 0; i < records.size(); ++i) {
    if (!counts(records[i])) continue;
    const std::uint32_t group = grouping.Of(AllocationId(i), records[i]);
    if (group != kNoGroup) ++grouping.rows()[group].allocations;
  }
  if (options.stop.stop_requested()) return ranking;
  if (ranking.peak.event.valid()) {
    for (const AllocationId id : session.LiveAfter(ranking.peak.event, ~0u)) {
      const AllocationRecord& a = session.record(id);
      if (!counts(a)) continue;
      const std::uint32_t group = grouping.Of(id, a);
      if (group != kNoGroup) grouping.CountAtPeak(group, a);
    }
  }
  const auto group_of = [&](AllocationId id, const AllocationRecord& a) {
    return grouping.Of(id, a);
  };
  const auto any = [&](AllocationId id, const AllocationRecord& a) {
    return grouping.Of(id, a) == kNoGroup ? kNoGroup : 0u;
  };
  const std::size_t groups = grouping.rows().size();
  const std::vector<PeakSaving> saved = tensors
                                            ? savings.WithoutTensors(device, groups, group_of)
                                            : savings.Without(device, ranking.of, groups, group_of);
  ranking.all = (tensors ? savings.WithoutTensors(device, 1, any)
                         : savings.Without(device, ranking.of, 1, any))
                    .front();
  ranking.rows = std::move(grouping.rows());
  for (std::size_t i = 0; i < groups; ++i) ranking.rows[i].saving = saved[i];
  if (options.by == WithoutBy::kSite) ranking.row_of = grouping.row_of();
  Sort(&ranking);
  return ranking;
}

}  // namespace memprof::analysis
