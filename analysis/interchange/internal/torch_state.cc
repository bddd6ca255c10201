// Backwards to the beginning of a trace, and forwards again.
#include "analysis/interchange/internal/torch_state.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <utility>

#include "analysis/store/lifetime_walk.h"

namespace memprof::analysis::torch {
namespace {

// PyTorch's constants (c10/core/AllocatorConfig.h and CUDACachingAllocator.cpp).
constexpr std::uint64_t kMinBlock = 512;
constexpr std::uint64_t kSmallSize = 1 << 20;  // up to here a block comes from the small pool
constexpr int kFirstDivision = 20;             // log2 of 1 MiB

using Blocks = std::map<std::uint64_t, Block>;

// Only some steps between two powers of two, if the user configured that.
std::uint64_t RoundToDivision(std::uint64_t bytes, std::uint64_t divisions) {
  if (std::has_single_bit(bytes)) return bytes;
  const std::uint64_t floor = std::bit_floor(bytes);
  const std::uint64_t step = floor >> (std::bit_width(divisions) - 1);
  if (step == 0) return floor << 1;
  return (bytes + step - 1) & ~(step - 1);
}

}  // namespace

std::uint64_t RoundedSize(std::uint64_t bytes, const Settings& settings) {
  if (bytes < kMinBlock) return kMinBlock;
  if (bytes >> 62 != 0) return bytes;  // no such block: only in damaged files
  const int power = static_cast<int>(std::bit_width(bytes)) - 1;
  const std::size_t row = static_cast<std::size_t>(std::clamp(
      power - kFirstDivision, 0, static_cast<int>(settings.roundup_divisions.size()) - 1));
  const std::uint64_t divisions = settings.roundup_divisions[row];
  if (divisions > 1 && divisions <= kSmallSize && bytes > kMinBlock * divisions)
    return RoundToDivision(bytes, divisions);
  return (bytes + kMinBlock - 1) / kMinBlock * kMinBlock;
}

bool Splits(std::uint64_t rounded, std::uint64_t hole, bool expandable, const Settings& settings) {
  const std::uint64_t rest = hole - rounded;
  if (expandable || rounded <= kSmallSize) return rest >= kMinBlock;
  return rounded < settings.max_split_bytes && rest > kSmallSize;
}

void Reserved::Add(const Segment& segment) {
  if (segment.bytes == 0) return;
  Remove(segment.address, segment.bytes);  // removes what overlaps
  ranges_[segment.address] = segment;
  bytes_ += segment.bytes;
}

bool Reserved::Remove(std::uint64_t address, std::uint64_t bytes) {
  const std::uint64_t end = EndAddress(address, bytes);
  std::uint64_t removed = 0;
  auto at = ranges_.upper_bound(address);
  if (at != ranges_.begin()) --at;
  while (at != ranges_.end() && at->first < end) {
    const Segment old = at->second;
    const std::uint64_t old_end = EndAddress(old.address, old.bytes);
    if (old_end <= address) {
      ++at;
      continue;
    }
    at = ranges_.erase(at);
    if (old.address < address) {
      Segment left = old;
      left.bytes = address - old.address;
      ranges_[left.address] = left;
    }
    if (old_end > end) {
      Segment right = old;
      right.address = end;
      right.bytes = old_end - end;
      ranges_[right.address] = right;
    }
    removed += std::min(old_end, end) - std::max(old.address, address);
  }
  bytes_ -= removed;
  return removed == bytes;
}

const Segment* Reserved::At(std::uint64_t address) const {
  const auto after = ranges_.upper_bound(address);
  if (after == ranges_.begin()) return nullptr;
  const Segment& segment = std::prev(after)->second;
  return address - segment.address < segment.bytes ? &segment : nullptr;
}

std::uint64_t Reserved::EndOfRun(std::uint64_t address) const {
  const Segment* segment = At(address);
  if (segment == nullptr) return address;
  std::uint64_t end = EndAddress(segment->address, segment->bytes);
  if (!segment->expandable) return end;
  for (auto next = ranges_.find(end);
       next != ranges_.end() && next->second.expandable && next->second.stream == segment->stream;
       next = ranges_.find(end)) {
    const std::uint64_t further = EndAddress(next->first, next->second.bytes);
    if (further == end) break;  // at the end of all addresses
    end = further;
  }
  return end;
}

namespace {

class Pass {
 public:
  Pass(const Device& device, const Settings& settings) : device_(device), settings_(settings) {
    result_.block_bytes.resize(device.trace.size());
    for (const Segment& segment : device.segments) reserved_.Add(segment);
    for (const Block& block : device.blocks) blocks_[block.address] = block;
  }

  Reconstruction Run() {
    const Reserved reserved_at_end = reserved_;
    const Blocks blocks_at_end = blocks_;
    for (std::size_t i = device_.trace.size(); i-- > 0;) Back(i);
    for (auto& [address, block] : blocks_)
      if (block.bytes == 0) block.bytes = SizeOfUnseen(block);
    for (const auto& [address, segment] : reserved_.ranges()) result_.segments.push_back(segment);
    for (const auto& [address, block] : blocks_) {
      result_.blocks.push_back(block);
      allocated_ += block.bytes;
    }
    for (std::size_t i = 0; i < device_.trace.size(); ++i) Forth(i);
    Compare(reserved_at_end, blocks_at_end);
    return std::move(result_);
  }

 private:
  void Back(std::size_t i);
  void Forth(std::size_t i);
  void Allocate(std::size_t i, const Entry& entry);
  std::uint64_t SizeOf(const Entry& entry) const;
  std::uint64_t SizeOfUnseen(const Block& block) const;
  void Compare(const Reserved& reserved_at_end, const Blocks& blocks_at_end);
  static Segment SegmentOf(const Entry& entry) {
    Segment segment;
    segment.address = entry.address;
    segment.bytes = entry.bytes;
    segment.stream = entry.stream;
    segment.expandable =
        entry.action == Action::kSegmentMap || entry.action == Action::kSegmentUnmap;
    return segment;
  }

  const Device& device_;
  const Settings& settings_;
  Reconstruction result_;
  Reserved reserved_;
  Blocks blocks_;
  std::uint64_t allocated_ = 0;
};

void Pass::Back(std::size_t i) {
  const Entry& entry = device_.trace[i];
  const auto block = blocks_.find(entry.address);
  switch (entry.action) {
    case Action::kAlloc:
      if (block == blocks_.end()) return;  // its free was not seen
      result_.block_bytes[i] = block->second.bytes;
      blocks_.erase(block);
      return;
    case Action::kFreeRequested:
      if (block != blocks_.end()) block->second.pending_free = false;
      return;
    case Action::kFreeCompleted: {
      Block freed;
      freed.address = entry.address;
      freed.requested = entry.bytes;
      freed.pending_free = true;
      blocks_[entry.address] = freed;
      return;
    }
    case Action::kSegmentAlloc:
    case Action::kSegmentMap:
      reserved_.Remove(entry.address, entry.bytes);
      return;
    case Action::kSegmentFree:
    case Action::kSegmentUnmap:
      reserved_.Add(SegmentOf(entry));
      return;
    default:
      return;
  }
}

// The size of a block that existed before the trace and was freed in it: its request, rounded, if
// there is space.
std::uint64_t Pass::SizeOfUnseen(const Block& block) const {
  const std::uint64_t rounded = RoundedSize(block.requested, settings_);
  const auto next = blocks_.upper_bound(block.address);
  std::uint64_t end = std::max(reserved_.EndOfRun(block.address), block.address);
  if (next != blocks_.end()) end = std::min(end, next->first);
  return end == block.address ? rounded : std::min(rounded, end - block.address);
}

// The size of a block that is cut from the hole at its address.
std::uint64_t Pass::SizeOf(const Entry& entry) const {
  const std::uint64_t rounded = RoundedSize(entry.bytes, settings_);
  const Segment* segment = reserved_.At(entry.address);
  if (segment == nullptr) return rounded;
  std::uint64_t end = reserved_.EndOfRun(entry.address);
  const auto next = blocks_.lower_bound(entry.address);
  if (next != blocks_.end()) end = std::min(end, next->first);
  const std::uint64_t hole = end - entry.address;
  if (hole <= rounded) return rounded;
  const bool expandable = segment->expandable || settings_.expandable_segments;
  return Splits(rounded, hole, expandable, settings_) ? rounded : hole;
}

void Pass::Allocate(std::size_t i, const Entry& entry) {
  if (const auto older = blocks_.find(entry.address); older != blocks_.end()) {
    ++result_.contradictions;  // allocated while in use: its free is missing
    allocated_ -= older->second.bytes;
    blocks_.erase(older);
  }
  // A block is a part of a segment, which the trace or the state must have named.
  if (reserved_.At(entry.address) == nullptr) ++result_.contradictions;
  std::uint64_t& bytes = result_.block_bytes[i];
  if (bytes == 0) bytes = SizeOf(entry);
  Block block;
  block.address = entry.address;
  block.bytes = bytes;
  block.requested = entry.bytes;
  block.frames = entry.frames;
  blocks_[entry.address] = block;
  allocated_ += bytes;
}

void Pass::Forth(std::size_t i) {
  const Entry& entry = device_.trace[i];
  switch (entry.action) {
    case Action::kAlloc:
      return Allocate(i, entry);
    case Action::kFreeCompleted: {
      const auto block = blocks_.find(entry.address);
      if (block == blocks_.end()) {
        ++result_.contradictions;
        return;
      }
      allocated_ -= block->second.bytes;
      blocks_.erase(block);
      return;
    }
    case Action::kSegmentAlloc:
    case Action::kSegmentMap:
      reserved_.Add(SegmentOf(entry));
      return;
    case Action::kSegmentFree:
    case Action::kSegmentUnmap:
      if (!reserved_.Remove(entry.address, entry.bytes)) ++result_.contradictions;
      return;
    case Action::kOom:
      result_.allocated.push_back(allocated_);
      result_.reserved.push_back(reserved_.bytes());
      return;
    default:
      return;
  }
}

// The state at the end of the trace must be that of the snapshot.
void Pass::Compare(const Reserved& reserved_at_end, const Blocks& blocks_at_end) {
  for (const auto& [address, block] : blocks_)
    if (!blocks_at_end.contains(address)) result_.gone_blocks.push_back(block);
  for (const auto& [address, block] : blocks_at_end)
    if (!blocks_.contains(address)) result_.late_blocks.push_back(block);
  Reserved gone = reserved_, late = reserved_at_end;
  for (const auto& [address, segment] : reserved_at_end.ranges())
    gone.Remove(address, segment.bytes);
  for (const auto& [address, segment] : reserved_.ranges()) late.Remove(address, segment.bytes);
  for (const auto& [address, segment] : gone.ranges()) result_.gone_segments.push_back(segment);
  for (const auto& [address, segment] : late.ranges()) result_.late_segments.push_back(segment);
  result_.contradictions += result_.gone_blocks.size() + result_.late_blocks.size() +
                            result_.gone_segments.size() + result_.late_segments.size();
}

}  // namespace

Reconstruction Reconstruct(const Device& device, const Settings& settings) {
  return Pass(device, settings).Run();
}

}  // namespace memprof::analysis::torch
