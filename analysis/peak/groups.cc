// Groups of the memory live at a peak.
#include "analysis/peak/groups.h"

#include <algorithm>

#include "analysis/symbols/site_choice.h"

namespace memprof::analysis {
namespace {

// The row of `keys` that an allocation's key has.
PeakSavings::GroupOf RowOf(std::span<const PeakGroup> groups, const GroupKey& key) {
  std::unordered_map<std::uint32_t, std::uint32_t> rows;
  for (std::uint32_t i = 0; i < groups.size(); ++i) rows.try_emplace(groups[i].key, i);
  return [rows = std::move(rows), &key](AllocationId id, const AllocationRecord& a) {
    const auto row = rows.find(key(id, a));
    return row == rows.end() ? kNoGroup : row->second;
  };
}

void Set(const std::vector<PeakSaving>& savings, std::vector<PeakGroup>* groups) {
  for (std::size_t i = 0; i < groups->size(); ++i) (*groups)[i].saving = savings[i];
}

}  // namespace

GroupKey ByStack() {
  return [](AllocationId, const AllocationRecord& a) { return a.stack.value; };
}

GroupKey ByLayer() {
  return
      [](AllocationId, const AllocationRecord& a) { return static_cast<std::uint32_t>(a.layer); };
}

GroupKey ByCategory(const Categories& categories) {
  return [&categories](AllocationId id, const AllocationRecord&) {
    return static_cast<std::uint32_t>(categories.Of(id).category);
  };
}

std::vector<PeakGroup> GroupBy(const Session& session, std::span<const AllocationId> ids,
                               const GroupKey& key) {
  std::vector<PeakGroup> groups;
  std::unordered_map<std::uint32_t, std::size_t> index;  // by key
  for (const AllocationId id : ids) {
    const AllocationRecord& a = session.record(id);
    const std::uint32_t its = key(id, a);
    if (its == kNoGroup) continue;
    const std::int64_t step = session.StepOf(a.birth);
    const auto [at, fresh] = index.try_emplace(its, groups.size());
    if (fresh) groups.push_back({.key = its, .first_step = step, .last_step = step});
    PeakGroup& group = groups[at->second];
    group.bytes += a.bytes;
    ++group.count;
    group.first_step = std::min(group.first_step, step);
    group.last_step = std::max(group.last_step, step);
  }
  std::stable_sort(groups.begin(), groups.end(),
                   [](const PeakGroup& a, const PeakGroup& b) { return a.bytes > b.bytes; });
  return groups;
}

void AddSavings(const PeakSavings& savings, int device, PeakLayer of, const GroupKey& key,
                std::vector<PeakGroup>* groups) {
  Set(savings.Without(device, of, groups->size(), RowOf(*groups, key)), groups);
}

void AddTensorSavings(const PeakSavings& savings, int device, const GroupKey& key,
                      std::vector<PeakGroup>* groups) {
  Set(savings.WithoutTensors(device, groups->size(), RowOf(*groups, key)), groups);
}

std::vector<PeakSaving> WithoutSites(const PeakSavings& savings, int device, PeakLayer of,
                                     std::span<const Site> sites) {
  std::vector<PeakGroup> groups;
  for (const Site& site : sites) groups.push_back({.key = site.stack.value});
  const GroupKey by_stack = ByStack();
  return savings.Without(device, of, groups.size(), RowOf(groups, by_stack));
}

std::vector<PeakSaving> WithoutCategories(const PeakSavings& savings, const Categories& categories,
                                          int device) {
  return savings.Without(device, savings.TensorPeakLayer(device), kCategoryCount,
                         ByCategory(categories));
}

LiveMemory LiveMemoryAt(const Session& session, const Peak& peak) {
  LiveMemory live{PeakLayer::kBlocks, peak.blocks};
  if (!live.ids.empty()) return live;
  live.of = PeakLayer::kDriver;
  for (const AllocationId id : session.LiveAfter(peak.event)) {
    const AllocationRecord& a = session.record(id);
    if (a.device == peak.device && OccupiesDevice(a.layer)) live.ids.push_back(id);
  }
  return live;
}

bool TensorOrigins::NamedByAgent(StackId stack) {
  constexpr std::size_t kItsFrames = 24;  // the number of inner frames that can be the agent's
  const auto [known, fresh] = by_agent_.try_emplace(stack.value, false);
  if (!fresh || !stack.valid()) return known->second;
  const std::vector<SourceFrame> frames = symbols_.ResolveStack(stack);
  for (std::size_t i = 0; i < std::min(frames.size(), kItsFrames); ++i)
    known->second |= frames[i].python && IsAgentFile(frames[i].file);
  return known->second;
}

StackId TensorOrigins::Of(const AllocationRecord& tensor) {
  const bool below = tensor.parent.valid() && NamedByAgent(tensor.stack);
  return below ? session_.record(tensor.parent).stack : tensor.stack;
}

}  // namespace memprof::analysis
