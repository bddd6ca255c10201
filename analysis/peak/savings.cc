// Peaks without groups of allocations.
#include "analysis/peak/savings.h"

#include <algorithm>

namespace memprof::analysis {
namespace {

PeakSaving Saving(const NewPeak& before, const NewPeak& without) {
  return {without, before.bytes - std::min(before.bytes, without.bytes)};
}

}  // namespace

NewPeak PeakSavings::PeakAsItWas(int device, PeakLayer of) const {
  const Level* level = levels_.Find(device, of);
  return level == nullptr ? NewPeak() : level->peak();
}

std::vector<PeakSaving> PeakSavings::Without(int device, PeakLayer of, std::size_t groups,
                                             const GroupOf& group_of) const {
  const NewPeak before = PeakAsItWas(device, of);
  std::vector<PeakSaving> savings;
  savings.reserve(groups);
  for (const NewPeak& without : PeaksWithout(session_, levels_, device, of, groups, group_of))
    savings.push_back(Saving(before, without));
  return savings;
}

PeakLayer PeakSavings::TensorPeakLayer(int device) const {
  return levels_.Find(device, PeakLayer::kBlocks) != nullptr ? PeakLayer::kBlocks
                                                             : PeakLayer::kDriver;
}

AllocationId PeakSavings::OwnerOf(AllocationId id) const {
  // A parent's id is smaller than its child's or greater, but there are few layers.
  for (int depth = 0; depth < kLayerCount && id.valid(); ++depth) {
    const AllocationRecord& a = session_.record(id);
    if (PeakLayerOf(a.layer)) return id;
    id = a.parent;
  }
  return {};
}

std::vector<PeakSaving> PeakSavings::WithoutTensors(int device, std::size_t groups,
                                                    const GroupOf& group_of) const {
  const auto records = session_.records();
  constexpr std::uint32_t kSeveral = kNoGroup - 1;
  std::vector<std::uint32_t> group_of_owner(records.size(), kNoGroup);
  for (std::uint32_t i = 0; i < records.size(); ++i) {
    if (records[i].layer != Layer::kTensor || records[i].device != device) continue;
    const AllocationId owner = OwnerOf(AllocationId(i));
    if (!owner.valid()) continue;
    const std::uint32_t group =
        std::min<std::uint32_t>(group_of(AllocationId(i), records[i]), kSeveral);
    std::uint32_t& known = group_of_owner[owner.value];
    known = known == kNoGroup || known == group ? group : kSeveral;
  }
  return Without(
      device, TensorPeakLayer(device), groups,
      [&](AllocationId id, const AllocationRecord&) { return group_of_owner[id.value]; });
}

PeakSaving PeakSavings::WithSizes(int device, PeakLayer of, const BytesOf& bytes_of) const {
  const Level* level = levels_.Find(device, of);
  if (level == nullptr) return {};
  std::vector<LevelChange> changes;
  const auto records = session_.records();
  for (std::uint32_t i = 0; i < records.size(); ++i) {
    const AllocationRecord& a = records[i];
    if (a.device != device || PeakLayerOf(a.layer) != of) continue;
    const std::uint64_t bytes = bytes_of(AllocationId(i), a);
    if (bytes != a.bytes) changes.push_back(Resized(a, bytes));
  }
  return Saving(level->peak(), level->With(changes));
}

PeakSaving PeakSavings::WithoutOne(AllocationId id) const {
  const AllocationId owner = OwnerOf(id);
  if (!owner.valid()) return {};
  const AllocationRecord& a = session_.record(owner);
  const Level* level = levels_.Of(a);
  if (level == nullptr) return {};
  const LevelChange removed = Removed(a);
  return Saving(level->peak(), level->With(std::span(&removed, 1)));
}

}  // namespace memprof::analysis
