#include <gtest/gtest.h>

#include <random>

#include "analysis/store/session.h"
#include "analysis/testing/log_builder.h"
#include "tests/support/load_log.h"

namespace memprof::analysis {
namespace {

using testing::CountOf;
using testing::LoadLog;
using testing::LogBuilder;

// ---------------------------------------------------------------------------------------------
// The reference: the rules again, with lists and loops only.

struct ReferenceLifetime {
  Layer layer;
  int device;
  std::uint64_t address, bytes;
  std::uint32_t context, birth;
  std::uint32_t death = EventId::kNone;
  EndReason reason = EndReason::kAlive;
  int parent = -1;
  bool ended_below = false;
};

struct ReferenceEvent {
  Op op;
  Layer layer;
  int device;
  std::uint64_t address, bytes;
  std::uint32_t context, thread;
};

class Reference {
 public:
  explicit Reference(std::vector<ReferenceEvent> events) : events_(std::move(events)) {}

  void Run() {
    for (std::uint32_t i = 0; i < events_.size(); ++i) {
      const ReferenceEvent& event = events_[i];
      if (event.op == Op::kAlloc) Alloc(i, event);
      if (event.op == Op::kFree && !FailsLater(i)) Free(i, event);
      if (event.op == Op::kContextDestroy)
        for (std::size_t k = 0; k < lifetimes.size(); ++k)
          if (Alive(k) && lifetimes[k].context == event.context && ContextOwns(lifetimes[k].layer))
            End(k, i, EndReason::kContextDestroyed);
      if (event.op == Op::kDeviceReset)  // in these traces all contexts are primary
        for (std::size_t k = 0; k < lifetimes.size(); ++k)
          if (Alive(k) && Group(lifetimes[k].layer) == 'd' && lifetimes[k].device == event.device)
            End(k, i, EndReason::kDeviceReset);
    }
  }

  std::vector<ReferenceLifetime> lifetimes;
  std::uint64_t unmatched = 0;

 private:
  static char Group(Layer layer) {
    if (layer == Layer::kSegment) return 's';
    if (layer == Layer::kBlock) return 'b';
    if (layer == Layer::kTensor) return 't';
    return 'd';
  }
  static bool ContextOwns(Layer layer) {
    return layer == Layer::kLinear || layer == Layer::kManaged;
  }
  bool Alive(std::size_t k) const { return lifetimes[k].reason == EndReason::kAlive; }

  bool FailsLater(std::uint32_t i) const {
    for (std::uint32_t k = i + 1; k < events_.size(); ++k) {
      if (events_[k].thread != events_[i].thread) continue;
      if (events_[k].op == Op::kFree) return false;
      if (events_[k].op == Op::kFreeFailed) return events_[k].address == events_[i].address;
    }
    return false;
  }

  void End(std::size_t k, std::uint32_t event, EndReason reason) {
    lifetimes[k].death = event;
    lifetimes[k].reason = reason;
    for (std::size_t child = 0; child < lifetimes.size(); ++child)
      if (lifetimes[child].parent == static_cast<int>(k) && Alive(child)) {
        End(child, event, EndReason::kSegmentFreed);
        lifetimes[child].ended_below = true;
      }
  }

  int Container(const ReferenceLifetime& inner, char group) const {
    for (std::size_t k = 0; k < lifetimes.size(); ++k) {
      const ReferenceLifetime& outer = lifetimes[k];
      if (Alive(k) && Group(outer.layer) == group && outer.device == inner.device &&
          outer.address <= inner.address &&
          inner.address + inner.bytes <= outer.address + outer.bytes)
        return static_cast<int>(k);
    }
    return -1;
  }

  void Alloc(std::uint32_t i, const ReferenceEvent& event) {
    ReferenceLifetime fresh{event.layer, event.device,  event.address,
                            event.bytes, event.context, i};
    for (std::size_t k = 0; k < lifetimes.size(); ++k) {
      ReferenceLifetime& old = lifetimes[k];
      if (Group(old.layer) != Group(fresh.layer) || old.device != fresh.device ||
          old.address != fresh.address)
        continue;
      if (Alive(k)) End(k, i, EndReason::kAddressReused);
      old.ended_below = false;
    }
    const std::string levels = "dsbt";
    const std::size_t own = levels.find(Group(fresh.layer));
    for (std::size_t level = own; level-- > 0 && fresh.parent < 0;)
      fresh.parent = Container(fresh, levels[level]);
    lifetimes.push_back(fresh);
  }

  void Free(std::uint32_t i, const ReferenceEvent& event) {
    int other_device = -1;
    for (std::size_t k = 0; k < lifetimes.size(); ++k) {
      const ReferenceLifetime& old = lifetimes[k];
      if (!Alive(k) || Group(old.layer) != Group(event.layer) || old.address != event.address)
        continue;
      if (old.device == event.device) return End(k, i, EndReason::kFreed);
      other_device = static_cast<int>(k);
    }
    if (other_device >= 0 && Group(event.layer) == 'd')
      return End(static_cast<std::size_t>(other_device), i, EndReason::kFreed);
    for (ReferenceLifetime& old : lifetimes)
      if (old.ended_below && Group(old.layer) == Group(event.layer) && old.device == event.device &&
          old.address == event.address) {
        old.ended_below = false;
        old.death = i;
        old.reason = EndReason::kFreed;
        return;
      }
    ++unmatched;
  }

  const std::vector<ReferenceEvent> events_;
};

std::vector<ReferenceEvent> RandomTrace(std::mt19937& random, int length) {
  const auto draw = [&](int n) { return static_cast<int>(random() % n); };
  std::vector<ReferenceEvent> events;
  for (int i = 0; i < length; ++i) {
    ReferenceEvent event{};
    event.thread = 1 + draw(3);
    event.device = draw(4) == 0 ? 1 : 0;
    const int choice = draw(100);
    event.op = choice < 50   ? Op::kAlloc
               : choice < 92 ? Op::kFree
               : choice < 97 ? Op::kFreeFailed
               : choice < 99 ? Op::kContextDestroy
                             : Op::kDeviceReset;
    constexpr Layer kLayers[] = {Layer::kLinear,  Layer::kManaged, Layer::kStreamOrdered,
                                 Layer::kSegment, Layer::kBlock,   Layer::kBlock,
                                 Layer::kTensor,  Layer::kTensor};
    event.layer = kLayers[draw(8)];
    event.context = 1 + event.device;  // every context is its device's primary one
    event.address = 0x10000u * (1 + draw(3));
    event.bytes = 0x10000;
    if (event.layer == Layer::kSegment && draw(3) == 0) event.bytes = 0x8000;
    if (event.layer == Layer::kBlock || event.layer == Layer::kTensor) {
      event.address += 0x1000u * draw(4);
      event.bytes = 0x1000;
    }
    if (event.layer == Layer::kTensor) {
      event.address += 0x100u * draw(2);
      event.bytes = 0x100u * (1 + draw(16));
    }
    if (event.op == Op::kFreeFailed && !events.empty()) {
      event.thread = events.back().thread;
      event.address = events.back().address;
    }
    if (event.op != Op::kAlloc) event.bytes = 0;
    events.push_back(event);
  }
  return events;
}

TEST(LifetimesTest, EqualsItsBruteForceTwin) {
  std::mt19937 random(20260101);
  std::array<int, 6> reasons{};
  for (int round = 0; round < 300; ++round) {
    const std::vector<ReferenceEvent> trace = RandomTrace(random, 150);
    LogBuilder log;
    log.Context(1, 0);
    log.Context(2, 1);
    for (const ReferenceEvent& event : trace)
      log.Event(event.op, event.layer, event.address, event.bytes, 0,
                {.device = event.device, .thread = event.thread, .context = event.context});
    Reference reference(trace);
    reference.Run();
    const auto session = LoadLog(log, {.events_per_chunk = 40});
    ASSERT_NE(session, nullptr);
    ASSERT_EQ(session->allocations().size(), reference.lifetimes.size());
    EXPECT_EQ(CountOf(*session, log::Anomaly::kUnmatchedFrees), reference.unmatched);
    for (std::uint32_t i = 0; i < reference.lifetimes.size(); ++i) {
      const ReferenceLifetime& expected = reference.lifetimes[i];
      const Allocation& actual = session->allocations()[i];
      ASSERT_EQ(actual.end_reason, expected.reason) << "round " << round << " allocation " << i;
      ASSERT_EQ(actual.death.value, expected.death) << "round " << round << " allocation " << i;
      ASSERT_EQ(static_cast<int>(actual.parent.value), expected.parent)
          << "round " << round << " allocation " << i;
      ++reasons[static_cast<int>(actual.end_reason)];
    }
  }
  for (const int seen : reasons) EXPECT_GT(seen, 0);  // the traces cover every reason
}

}  // namespace
}  // namespace memprof::analysis
