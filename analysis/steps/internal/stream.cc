// The allocations of a step layer as tokens, in order.
#include "analysis/steps/internal/stream.h"

#include <span>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "analysis/store/lifetime_walk.h"

namespace memprof::analysis {
namespace {

// Allocations with the same key are one token.
struct TokenKey {
  std::uint64_t bytes = 0;
  std::uint32_t stack = 0;
  std::int32_t device = 0;
  bool operator==(const TokenKey&) const = default;
  template <typename H>
  friend H AbslHashValue(H h, const TokenKey& k) {
    return H::combine(std::move(h), k.bytes, k.stack, k.device);
  }
};

// Levels are of requested bytes: the rounding of a block depends on the allocator, and differs from
// step to step.
class StreamVisitor {
 public:
  // `live`: bytes of the layer before the first event.
  StreamVisitor(const Session& session, StepLayer layer, bool by_size, std::uint64_t live,
                StepStream* stream)
      : records_(session.records()),
        layer_(layer),
        by_size_(by_size),
        stream_(stream),
        live_(live) {}
  void Birth(EventId event, AllocationId id) {
    const AllocationRecord& a = records_[id.value];
    if (!IsOfStepLayer(layer_, a.layer)) return;
    const TokenKey key{by_size_ ? a.requested() : 0, a.stack.value, a.device};
    const auto token = static_cast<std::uint32_t>(ids_.size());
    stream_->tokens.Add(ids_.try_emplace(key, token).first->second, live_);
    stream_->births.push_back(event);
    live_ += a.requested();
  }
  void Death(EventId, AllocationId id) {
    const AllocationRecord& a = records_[id.value];
    if (IsOfStepLayer(layer_, a.layer)) live_ -= a.requested();
  }
  void After(EventId) {}

 private:
  std::span<const AllocationRecord> records_;
  StepLayer layer_;
  bool by_size_;
  StepStream* stream_;
  std::uint64_t live_;
  absl::flat_hash_map<TokenKey, std::uint32_t> ids_;
};

}  // namespace

StepStream StreamOf(const Session& session, StepLayer layer, bool by_size, EventId begin,
                    EventId end) {
  StepStream stream;
  std::uint64_t live = 0;
  for (const AllocationRecord& a : session.records()) {
    if (a.birth >= begin) break;
    if (IsOfStepLayer(layer, a.layer) && (!a.death.valid() || a.death >= begin))
      live += a.requested();
  }
  StreamVisitor visitor(session, layer, by_size, live, &stream);
  WalkLifetimes(session, begin, end, visitor);
  return stream;
}

StepStream StreamOf(const Session& session, StepLayer layer, bool by_size) {
  return StreamOf(session, layer, by_size, EventId(0),
                  EventId(static_cast<std::uint32_t>(session.events().size())));
}

}  // namespace memprof::analysis
