// Collects the blocks of stacks.
#include "analysis/filter/internal/stack_builder.h"

#include <algorithm>
#include <utility>

#include "analysis/store/lifetime_walk.h"

namespace memprof::analysis {

namespace {

bool SameBand(StackBand a, const StackBand& b) {
  a.members = b.members;  // how many sites are in it depends on the filter
  return a == b;
}

}  // namespace

StackBuilder::StackBuilder(const std::shared_ptr<const Session>& session, int device,
                           bool framework, StackGroups groups)
    : stack_(std::make_unique<StackData>(StackData{.session = session,
                                                   .device = device,
                                                   .framework = framework,
                                                   .groups = std::move(groups),
                                                   .pools = PoolsOf(*session)})),
      events_(stack_->events()),
      pools_(stack_->changes()),
      rest_(stack_->rest()) {
  ListBands();
  const std::size_t tracks = StackData::kFirstGroup + stack_->groups.bands.size();
  const std::size_t blocks = events_ / StackData::kBlock + 2;
  stack_->block_state.resize(tracks);
  for (auto& states : stack_->block_state) states.reserve(blocks);
  stack_->curves.resize(stack_->all_bands.size() + 2);
  for (auto& curve : stack_->curves) {
    curve.least.reserve(blocks);
    curve.most.reserve(blocks);
  }
  stack_->block_time.reserve(blocks);
  stack_->block_birth.reserve(blocks);
  BeginBlock(0, 0);
}

void StackBuilder::ListBands() {
  const auto add = [this](StackBandKind kind) { stack_->all_bands.push_back({.kind = kind}); };
  if (stack_->groups.tensors_within > 0) add(StackBandKind::kTensors);
  stack_->all_bands.insert(stack_->all_bands.end(), stack_->groups.bands.begin(),
                           stack_->groups.bands.end());
  if (stack_->groups.framework) {
    add(StackBandKind::kCached);
    add(StackBandKind::kOtherDriver);
  }
  if (stack_->groups.pools) add(StackBandKind::kPools);
  AddRestBands();
  for (std::size_t b = 0; b < stack_->all_bands.size(); ++b) {
    const auto& hidden = stack_->groups.hidden;
    const auto same = [&](const StackBand& band) { return SameBand(band, stack_->all_bands[b]); };
    if (std::any_of(hidden.begin(), hidden.end(), same)) stack_->hidden |= std::uint32_t{1} << b;
  }
}

void StackBuilder::AddRestBands() {
  if (stack_->groups.rest == nullptr) return;
  const auto samples = static_cast<std::uint32_t>(stack_->groups.rest->changes.size());
  for (const StackBandKind kind :
       {StackBandKind::kCode, StackBandKind::kUntracked, StackBandKind::kOtherProcesses,
        StackBandKind::kFree, StackBandKind::kUnsampled})
    stack_->all_bands.push_back({.kind = kind, .members = samples});
}

void StackBuilder::BeginBlock(std::uint32_t event, std::uint32_t births) {
  if (event < events_) stack_->block_time.push_back(stack_->session->events().time(event));
  stack_->block_birth.push_back(births);
  for (std::size_t t = 0; t < stack_->block_state.size(); ++t)
    stack_->block_state[t].push_back(state_[t]);
  least_.fill(~std::uint64_t{0});
  most_.fill(0);
  open_ = false;
}

void StackBuilder::EndBlock() {
  for (std::size_t o = 0; o < stack_->curves.size(); ++o) {
    stack_->curves[o].least.push_back(least_[o]);
    stack_->curves[o].most.push_back(most_[o]);
  }
}

void StackBuilder::After(std::uint32_t event, std::uint32_t births) {
  const std::uint64_t beyond = pools_.After(EventId(event));
  changed_ |= state_[StackData::kBeyond] != beyond;
  state_[StackData::kBeyond] = beyond;
  changed_ |= StackData::Apply(rest_.At(event), state_);
  if (changed_ || !open_) {
    if (changed_) {
      stack_->EvaluateAll(state_, now_);
      std::uint64_t below = 0;
      for (std::size_t b = 0; b < stack_->all_bands.size(); ++b) {
        seen_[b] = seen_[b] || now_[b] > below;
        below = now_[b];
      }
      if (stack_->hidden != 0) stack_->Hide(now_);
      for (std::size_t t = 0; t < stack_->block_state.size(); ++t) ever_[t] |= state_[t];
    }
    for (std::size_t o = 0; o < stack_->curves.size(); ++o) {
      least_[o] = std::min(least_[o], now_[o]);
      most_[o] = std::max(most_[o], now_[o]);
    }
    changed_ = false;
    open_ = true;
  }
  if ((event + 1) % StackData::kBlock != 0) return;
  EndBlock();
  BeginBlock(event + 1, births);
}

std::unique_ptr<const StackData> StackBuilder::Finish() {
  const std::uint32_t births = static_cast<std::uint32_t>(stack_->session->records().size());
  if (events_ % StackData::kBlock != 0) {
    EndBlock();
    BeginBlock(events_, births);  // the state at the end
  }
  const std::size_t bands = stack_->all_bands.size();
  for (std::size_t b = 0; b < bands; ++b) {
    if (!seen_[b]) continue;
    stack_->kept.push_back(static_cast<std::uint8_t>(b));
    stack_->bands.push_back(stack_->all_bands[b]);
  }
  // In use is always an edge unless bands are hidden, and so is the memory requested from the
  // driver if no allocator divides it.
  const bool hidden = stack_->hidden != 0;
  if (hidden) stack_->kept.push_back(static_cast<std::uint8_t>(bands));
  if (hidden || stack_->groups.framework)
    stack_->kept.push_back(static_cast<std::uint8_t>(bands + 1));
  std::vector<StackData::Curve> kept;
  for (const std::uint8_t output : stack_->kept) kept.push_back(std::move(stack_->curves[output]));
  stack_->curves = std::move(kept);
  for (StackData::Curve& curve : stack_->curves)
    curve.pyramid = MinMaxPyramid(curve.least, curve.most);
  std::vector<std::vector<std::uint64_t>> states;
  for (std::size_t t = 0; t < stack_->block_state.size(); ++t) {
    if (ever_[t] == 0) continue;
    stack_->tracks.push_back(static_cast<std::uint8_t>(t));
    states.push_back(std::move(stack_->block_state[t]));
  }
  stack_->block_state = std::move(states);
  return std::move(stack_);
}

std::unique_ptr<const StackData> BuildStack(const StackData& like, StackGroups groups) {
  struct Visitor {
    StackBuilder builder;
    std::uint32_t births = 0;

    void Birth(EventId, AllocationId id) {
      ++births;
      builder.Birth(id);
    }
    void Death(EventId, AllocationId id) { builder.Death(id); }
    void After(EventId event) { builder.After(event.value, births); }
  } visitor{StackBuilder(like.session, like.device, like.framework, std::move(groups))};
  WalkLifetimes(*like.session, visitor);
  return visitor.builder.Finish();
}

}  // namespace memprof::analysis
