// Every device's memory over time by kind, in one pass.
#include <map>
#include <memory>
#include <utility>

#include "analysis/filter/internal/kind_groups.h"
#include "analysis/filter/internal/stack_builder.h"
#include "analysis/filter/timeline_stack.h"
#include "analysis/store/lifetime_walk.h"

namespace memprof::analysis {

StackGroups KindGroups(int device, bool framework) {
  StackGroups groups;
  groups.of_layer.fill(StackGroups::kNone);
  const auto add = [&groups](StackBandKind kind, Layer layer) {
    groups.of_layer[static_cast<std::size_t>(layer)] =
        static_cast<std::uint8_t>(groups.bands.size());
    groups.bands.push_back({.kind = kind, .layer = layer});
  };
  if (device == kNoDevice) {
    add(StackBandKind::kLayer, Layer::kPinned);
    add(StackBandKind::kLayer, Layer::kRegistered);
    groups.pools = false;
    return groups;
  }
  groups.framework = framework;
  if (framework) {
    add(StackBandKind::kBlocks, Layer::kBlock);
  } else {
    for (const Layer layer : {Layer::kLinear, Layer::kPitched, Layer::kArray, Layer::kManaged,
                              Layer::kStreamOrdered, Layer::kVmmPhysical, Layer::kGraph})
      add(StackBandKind::kLayer, layer);
  }
  groups.tensors_within = static_cast<std::uint8_t>(groups.bands.size());
  return groups;
}

namespace {

class KindStacks {
 public:
  explicit KindStacks(std::shared_ptr<const Session> session) : session_(std::move(session)) {
    std::map<int, bool> framework;
    for (const int device : DeviceOrdinals(*session_)) framework[device] = false;
    bool host = false;
    for (const AllocationRecord& a : session_->records()) {
      // Snapshots may have only blocks, without segments: these are memory in use too.
      const bool suballocated = a.layer == Layer::kSegment || a.layer == Layer::kBlock;
      if (suballocated && a.bytes > 0) framework[a.device] = true;
      host |= a.device == kNoDevice;
    }
    framework.erase(kNoDevice);
    for (const auto& [device, seen] : framework) Add(device, seen);
    if (host) Add(kNoDevice, false);
    WalkLifetimes(*session_, *this);
  }

  std::vector<std::shared_ptr<const TimelineStack>> Finish() {
    std::vector<std::shared_ptr<const TimelineStack>> stacks;
    for (StackBuilder& builder : builders_)
      stacks.push_back(std::make_shared<const TimelineStack>(builder.Finish()));
    return stacks;
  }

  void Birth(EventId, AllocationId id) {
    ++births_;
    if (StackBuilder* builder = Of(session_->record(id).device)) builder->Birth(id);
  }
  void Death(EventId, AllocationId id) {
    if (StackBuilder* builder = Of(session_->record(id).device)) builder->Death(id);
  }
  void After(EventId event) {
    for (StackBuilder& builder : builders_) builder.After(event.value, births_);
  }

 private:
  void Add(int device, bool framework) {
    builders_.emplace_back(session_, device, framework, KindGroups(device, framework));
  }
  StackBuilder* Of(int device) {
    for (StackBuilder& builder : builders_)
      if (builder.device() == device) return &builder;
    return nullptr;
  }

  const std::shared_ptr<const Session> session_;
  std::vector<StackBuilder> builders_;
  std::uint32_t births_ = 0;
};

}  // namespace

std::vector<std::shared_ptr<const TimelineStack>> BuildKindStacks(
    std::shared_ptr<const Session> session) {
  return KindStacks(std::move(session)).Finish();
}

}  // namespace memprof::analysis
