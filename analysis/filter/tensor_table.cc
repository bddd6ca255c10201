// Small numbers for every distinct text, by which rows are compared.
#include "analysis/filter/tensor_table.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_join.h"

namespace memprof::analysis {
namespace {

constexpr std::uint32_t kUnranked = EventId::kNone;

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
  return stack.value < of_stack.size() ? of_stack[stack.value] : kUnranked;
}

const std::string& SiteNames::Of(StackId stack) const {
  static const std::string kEmpty;
  const std::uint32_t rank = Rank(stack);
  return rank < names.size() ? names[rank] : kEmpty;
}

SiteNames NameSites(const Session& session, Symbols& symbols, const SiteNaming& naming,
                    const std::stop_token& stop) {
  SiteNames sites;
  sites.of_stack.assign(session.stack_count(), kUnranked);
  std::vector<std::uint32_t> stacks;
  for (const AllocationRecord& record : session.records()) {
    if (record.stack.value >= sites.of_stack.size()) continue;
    std::uint32_t& known = sites.of_stack[record.stack.value];
    if (known != kUnranked) continue;
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
    if (site != kUnranked) site = ranks[id_of[site]];
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
  if (record.layer == Layer::kTensor) return record.tensor();
  for (const AllocationId child : session_->Children(id)) {
    const AllocationRecord& inside = session_->record(child);
    if (inside.layer == Layer::kTensor) return inside.tensor();
  }
  return {};
}

std::uint64_t TensorTable::RequestedOf(AllocationId id) const {
  const AllocationRecord* record = &session_->record(id);
  if (record->layer == Layer::kTensor && record->parent.valid() &&
      session_->record(record->parent).layer == Layer::kBlock)
    record = &session_->record(record->parent);
  return record->requested_or_image();
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
  if (table >= ranks_.size() || id.value >= ranks_[table].size()) return kUnranked;
  return ranks_[table][id.value];
}

}  // namespace memprof::analysis
