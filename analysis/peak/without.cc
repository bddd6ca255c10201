// Groups of memory, ranked by how much lower the peak would be without them.
#include "analysis/peak/without.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

namespace memprof::analysis {
namespace {

constexpr std::uint32_t kUnseen = kNoGroup - 1;

// Which group an allocation belongs to; groups are made as they are met.
class Grouping {
 public:
  Grouping(const Session& session, Symbols& symbols, const Categories* categories,
           const WithoutOptions& options)
      : session_(session), symbols_(symbols), categories_(categories), options_(options) {
    stacks_.assign(session.stack_count() + 1, kUnseen);
  }

  // kNoGroup for what may not be gone, or once someone asked to stop.
  std::uint32_t Of(AllocationId id, const AllocationRecord& a) {
    if (++asked_ % 4096 == 0) stopped_ = options_.stop.stop_requested();
    if (stopped_ || !Passes(id, a)) return kNoGroup;
    switch (options_.by) {
      case WithoutBy::kSite:
        return OfStack(a.stack);
      case WithoutBy::kCategory:
        return OfCategory(id);
      case WithoutBy::kLayer:
        return OfLayer(a.layer);
      case WithoutBy::kTensor:
        return OfTensor(a);
    }
    return kNoGroup;
  }

  std::vector<WithoutRow>& rows() { return rows_; }
  const std::vector<std::uint32_t>& stacks() const { return stacks_; }
  // Where the largest part of a row's bytes at the peak comes from is its stack.
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
  // Of a tensor: what it lies in is what would be gone.
  bool Passes(AllocationId id, const AllocationRecord& a) const {
    if (options_.passing == nullptr || options_.passing->Has(id)) return true;
    return a.layer == Layer::kTensor && a.parent.valid() && options_.passing->Has(a.parent);
  }

  std::uint32_t Add(WithoutRow row) {
    rows_.push_back(std::move(row));
    return static_cast<std::uint32_t>(rows_.size() - 1);
  }

  std::uint32_t OfStack(StackId stack) {
    std::uint32_t& known = stacks_[std::min<std::size_t>(stack.value, stacks_.size() - 1)];
    if (known != kUnseen) return known;
    WithoutRow row;
    if (stack.valid()) row.site = symbols_.Site(stack);
    row.stack = stack;
    const auto key = std::make_tuple(row.site.function, row.site.file, row.site.line);
    const auto [at, fresh] = sites_.try_emplace(key, 0);
    if (fresh) at->second = Add(std::move(row));
    return known = at->second;
  }

  std::uint32_t OfCategory(AllocationId id) {
    WithoutRow row;
    if (categories_ != nullptr) row.category = categories_->Of(id).category;
    const auto [at, fresh] = values_.try_emplace(static_cast<std::uint64_t>(row.category), 0);
    if (fresh) at->second = Add(std::move(row));
    return at->second;
  }

  std::uint32_t OfLayer(Layer layer) {
    const auto [at, fresh] = values_.try_emplace(static_cast<std::uint64_t>(layer), 0);
    if (fresh) {
      WithoutRow row;
      row.layer = layer;
      at->second = Add(std::move(row));
    }
    return at->second;
  }

  std::uint32_t OfTensor(const AllocationRecord& a) {
    const auto [at, fresh] = values_.try_emplace(a.second, 0);
    if (!fresh) return at->second;
    const TensorInfo* tensor = session_.tensor(TensorId(static_cast<std::uint32_t>(a.second)));
    WithoutRow row;
    row.tensor = "unnamed tensors";
    if (tensor != nullptr) {
      if (!tensor->name.empty()) row.tensor = tensor->name;
      std::string shape;
      for (const std::uint64_t extent : tensor->shape)
        shape += (shape.empty() ? "" : "×") + std::to_string(extent);
      if (!tensor->dtype.empty() || !shape.empty())
        row.tensor += "  " + tensor->dtype + "[" + shape + "]";
    }
    row.stack = a.stack;
    const auto [group, new_name] = names_.try_emplace(row.tensor, 0);
    if (new_name) group->second = Add(std::move(row));
    return at->second = group->second;
  }

  const Session& session_;
  Symbols& symbols_;
  const Categories* categories_;
  const WithoutOptions& options_;
  std::uint64_t asked_ = 0;
  bool stopped_ = false;
  std::vector<WithoutRow> rows_;
  std::vector<std::uint32_t> stacks_;  // rows, by stack; the last for none
  std::map<std::tuple<std::string, std::string, int>, std::uint32_t> sites_;
  std::unordered_map<std::uint64_t, std::uint32_t> values_;  // categories, layers or tensors
  std::map<std::string, std::uint32_t> names_;
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

  // What counts: allocations of the level, or tensors.
  const auto counts = [&](const AllocationRecord& a) {
    if (a.device != device) return false;
    return tensors ? a.layer == Layer::kTensor : PeakLayerOf(a.layer) == ranking.of;
  };
  Grouping grouping(session, symbols, categories, options);
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
  if (options.by == WithoutBy::kSite) ranking.row_of = grouping.stacks();
  Sort(&ranking);
  return ranking;
}

}  // namespace memprof::analysis
