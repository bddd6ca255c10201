// What the bands of a stack are in a state, and how an allocation changes the state.
#include "analysis/filter/internal/stack_data.h"

#include <algorithm>

namespace memprof::analysis {

void StackData::EvaluateAll(const State& state, Outputs& outputs) const {
  std::size_t n = 0;
  std::uint64_t tensors = 0, sum = 0;
  if (groups.tensors_within > 0) {
    for (std::size_t g = 0; g < groups.tensors_within; ++g) tensors += state[kFirstGroup + g];
    tensors = std::min(tensors, state[kTensors]);
    outputs[n++] = tensors;
  }
  for (std::size_t g = 0; g < groups.bands.size(); ++g) {
    sum += state[kFirstGroup + g];
    outputs[n++] = std::max(tensors, sum);
  }
  std::uint64_t top = sum;
  if (groups.framework) {
    outputs[n++] = top = std::max(top, state[kSegments]);
    outputs[n++] = top = std::max(top, state[kDriver]);
  }
  if (groups.pools) outputs[n++] = top = std::max(top, state[kDriver] + state[kBeyond]);
  if (groups.rest != nullptr) {
    // A value that is held from the last sample never makes the device larger than it is.
    const std::uint64_t limit = std::max(top, groups.rest->capacity);
    const auto add = [&](std::uint64_t bytes) {
      outputs[n++] = top += std::min(bytes, limit - top);
    };
    add(state[kCode] - std::min(state[kCode], state[kElsewhere]));
    add(state[kUntracked]);
    add(state[kOthers]);
    add(state[kSampled] != 0 ? limit : 0);
    add(limit);
  }
  outputs[n++] = sum;
  outputs[n] = state[kDriver];
}

void StackData::Hide(Outputs& outputs) const {
  std::uint64_t below = 0, cut = 0;
  for (std::size_t b = 0; b < all_bands.size(); ++b) {
    const std::uint64_t own = outputs[b] - std::min(below, outputs[b]);
    below = outputs[b];
    if ((hidden >> b & 1) != 0) cut += own;
    outputs[b] -= cut;
  }
}

std::uint8_t StackData::GroupOf(AllocationId id, const AllocationRecord& a) const {
  if (!groups.of_allocation.empty()) return groups.of_allocation[id.value];
  return groups.of_layer[std::min<std::size_t>(static_cast<std::size_t>(a.layer), kLayerCount - 1)];
}

bool StackData::Apply(AllocationId id, bool birth, State& state) const {
  const AllocationRecord& a = session->record(id);
  if (a.device != device || a.bytes == 0) return false;
  if (groups.process && session->ProcessOf(a.birth) != *groups.process) return false;
  const std::uint64_t change = birth ? a.bytes : 0 - a.bytes;
  if (const std::uint8_t group = GroupOf(id, a); group != StackGroups::kNone)
    state[kFirstGroup + group] += change;
  if (a.layer == Layer::kTensor) {
    if (groups.passing == nullptr || groups.passing->Has(id)) state[kTensors] += change;
  } else if (a.layer == Layer::kSegment) {
    state[kSegments] += change;
  } else if (device == kNoDevice ? OccupiesHost(a.layer) : OccupiesDevice(a.layer)) {
    state[kDriver] += change;
  }
  if (groups.rest != nullptr && a.layer == Layer::kModule) state[kCode] += change;
  return true;
}

bool StackData::Apply(const RestChange* change, State& state) {
  if (change == nullptr) return false;
  state[kUntracked] = change->untracked;
  state[kElsewhere] = change->elsewhere;
  state[kOthers] = change->others;
  state[kSampled] = 1;
  return true;
}

std::uint32_t StackData::FirstEventFrom(TimeNs time) const {
  const auto block = std::lower_bound(block_time.begin(), block_time.end(), time);
  const auto after = static_cast<std::uint32_t>(block - block_time.begin()) * kBlock;
  std::uint32_t first = after == 0 ? 0 : after - kBlock + 1, last = std::min(after, events());
  const EventTable& table = session->events();
  while (first < last) {
    const std::uint32_t middle = first + (last - first) / 2;
    if (table.time(middle) < time) {
      first = middle + 1;
    } else {
      last = middle;
    }
  }
  return first;
}

}  // namespace memprof::analysis
