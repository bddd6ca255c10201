// Every device's memory over time by kind, in one pass.
#include <array>
#include <map>
#include <memory>
#include <utility>

#include "analysis/filter/internal/timeline_stack.h"
#include "analysis/filter/stack_replay.h"
#include "analysis/store/lifetime_walk.h"
#include "analysis/timeline/reserved.h"

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

class KindStacks {
 public:
  explicit KindStacks(std::shared_ptr<const Session> session)
      : session_(std::move(session)), beyond_(*session_) {
    std::map<int, bool> framework;
    for (const int device : DeviceOrdinals(*session_)) framework[device] = false;
    bool host = false;
    for (const AllocationRecord& a : session_->records()) {
      // Snapshots may tell of blocks alone: those too are memory in use.
      const bool carved = a.layer == Layer::kSegment || a.layer == Layer::kBlock;
      if (carved && a.bytes > 0) framework[a.device] = true;
      host |= a.device == kNoDevice;
    }
    framework.erase(kNoDevice);
    for (const auto& [device, seen] : framework) Add(device, seen);
    if (host) Add(kNoDevice, false);
    ReplayLifetimes(*session_, *this);
  }

  std::vector<std::shared_ptr<const TimelineStack>> Finish() {
    std::vector<std::shared_ptr<const TimelineStack>> stacks;
    for (Part& part : parts_) {
      part.builder.Finish();
      if (part.pools->size() > 0) part.stack->pools_ = std::move(part.pools);
      stacks.push_back(std::move(part.stack));
    }
    return stacks;
  }

  void Birth(EventId, AllocationId id) {
    ++births_;
    const AllocationRecord& a = session_->record(id);
    if (ConcernsPools(a.layer)) {
      beyond_.Birth(id);
      pools_changed_ = true;
    }
    if (Part* part = Of(a.device)) part->builder.Birth(id);
  }
  void Death(EventId, AllocationId id) {
    const AllocationRecord& a = session_->record(id);
    if (ConcernsPools(a.layer)) {
      beyond_.Death(id);
      pools_changed_ = true;
    }
    if (Part* part = Of(a.device)) part->builder.Death(id);
  }
  void After(EventId event) {
    const Op op = session_->events().op(event.value);
    if (op == Op::kPoolSample || op == Op::kPoolDestroy || op == Op::kMap || op == Op::kUnmap) {
      beyond_.After(event);
      pools_changed_ = true;
    }
    for (Part& part : parts_) {
      if (pools_changed_ && part.stack->device() != kNoDevice) {
        const std::uint64_t bytes = beyond_.Of(part.stack->device());
        if (bytes != part.beyond) {
          part.beyond = bytes;
          part.pools->Add(event.value, bytes);
          part.builder.SetBeyond(bytes);
        }
      }
      part.builder.After(event.value, births_);
    }
    pools_changed_ = false;
  }

 private:
  struct Part {
    std::shared_ptr<TimelineStack> stack;
    StackBuilder builder;
    std::shared_ptr<PoolChanges> pools;
    std::uint64_t beyond = 0;
  };

  static bool ConcernsPools(Layer layer) {
    return layer == Layer::kStreamOrdered || layer == Layer::kGraph || layer == Layer::kVmmPhysical;
  }
  void Add(int device, bool framework) {
    std::shared_ptr<TimelineStack> stack(
        new TimelineStack(session_, device, framework, KindGroups(device, framework)));
    parts_.push_back({stack, StackBuilder(stack.get()), std::make_shared<PoolChanges>()});
  }
  Part* Of(int device) {
    for (Part& part : parts_)
      if (part.stack->device() == device) return &part;
    return nullptr;
  }

  const std::shared_ptr<const Session> session_;
  ReservedBeyond beyond_;
  std::vector<Part> parts_;
  std::uint32_t births_ = 0;
  bool pools_changed_ = false;
};

std::vector<std::shared_ptr<const TimelineStack>> BuildKindStacks(
    std::shared_ptr<const Session> session) {
  return KindStacks(std::move(session)).Finish();
}

}  // namespace memprof::analysis
