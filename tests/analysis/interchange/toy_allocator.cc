// The toy allocator, and its snapshots.
#include "tests/analysis/interchange/toy_allocator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "analysis/interchange/internal/pickle_writer.h"
#include "analysis/load/load.h"
#include "tests/support/paths.h"
#include "tests/support/temp_file.h"

namespace memprof::analysis::testing {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;
constexpr std::uint64_t kSmall = kMiB;

std::uint64_t Up(std::uint64_t bytes, std::uint64_t grain) {
  return (bytes + grain - 1) / grain * grain;
}

// The first address of an expandable segment's pages.
std::uint64_t Base(std::uint64_t stream, bool small) {
  return 0x100000000000 + (stream * 2 + (small ? 1 : 0)) * 0x10000000000;
}

void WriteFrames(PickleWriter& out, int place) {
  out.Key("frames");
  out.BeginList();
  for (const std::string name : {"allocate", "layer"}) {
    if (place == 0) break;
    out.Item();
    out.BeginDict();
    out.Key("name");
    out.Text(name);
    out.Key("filename");
    out.Text("model.py");
    out.Key("line");
    out.Integer(static_cast<std::uint64_t>(place));
    out.EndDict();
  }
  out.EndList();
}

void Field(PickleWriter& out, const std::string& key, std::uint64_t value) {
  out.Key(key);
  out.Integer(value);
}

void WriteBlock(PickleWriter& out, std::uint64_t address, std::uint64_t bytes,
                const ToyBlock* block) {
  out.Item();
  out.BeginDict();
  Field(out, "address", address);
  Field(out, "size", bytes);
  Field(out, "requested_size", block == nullptr ? 77 : block->requested);  // old value in holes
  out.Key("state");
  out.Text(block == nullptr ? "inactive"
           : block->pending ? "active_pending_free"
                            : "active_allocated");
  WriteFrames(out, block == nullptr ? 0 : block->place);
  out.EndDict();
}

void WriteSegment(PickleWriter& out, const ToyState& state, std::uint64_t begin, std::uint64_t end,
                  const ToyRange& range, const ToyOptions& options) {
  out.Item();
  out.BeginDict();
  Field(out, "device", static_cast<std::uint64_t>(options.device));
  Field(out, "address", begin);
  Field(out, "total_size", end - begin);
  Field(out, "stream", range.stream);
  out.Key("segment_pool_id");
  out.Pair(0, 0);
  out.Key("is_expandable");
  out.Bool(options.expandable);
  WriteFrames(out, 0);
  out.Key("blocks");
  out.BeginList();
  std::uint64_t cursor = begin;
  for (auto block = state.blocks.lower_bound(begin);
       block != state.blocks.end() && block->first < end; ++block) {
    if (block->first > cursor) WriteBlock(out, cursor, block->first - cursor, nullptr);
    WriteBlock(out, block->first, block->second.bytes, &block->second);
    cursor = block->first + block->second.bytes;
  }
  if (cursor < end) WriteBlock(out, cursor, end - cursor, nullptr);
  out.EndList();
  out.EndDict();
}

void WriteAction(PickleWriter& out, const ToyAction& action) {
  out.Item();
  out.BeginDict();
  out.Key("action");
  out.Text(action.action);
  Field(out, "addr", action.address);
  Field(out, "size", action.bytes);
  Field(out, "stream", action.stream);
  Field(out, "time_us", action.time_us);
  WriteFrames(out, action.place);
  out.EndDict();
}

}  // namespace

std::uint64_t ToyState::reserved() const {
  std::uint64_t bytes = 0;
  for (const auto& [address, range] : ranges) bytes += range.bytes;
  return bytes;
}

std::uint64_t ToyState::allocated() const {
  std::uint64_t bytes = 0;
  for (const auto& [address, block] : blocks) bytes += block.bytes;
  return bytes;
}

ToyAllocator::ToyAllocator(const ToyOptions& options) : options_(options), random_(options.seed) {
  Done();
  for (int i = 0; i < options.operations; ++i) {
    const std::uint64_t choice = Random(100);
    if (choice < 52) {
      Allocate();
    } else if (choice < 96) {
      Free();
    } else if (choice < 98) {
      for (bool again = true; again;) {  // pending frees complete
        again = false;
        for (const auto& [address, block] : state_.blocks) {
          if (!block.pending) continue;
          Complete(address);
          again = true;
          break;
        }
      }
    } else {
      EmptyCache();
    }
  }
}

void ToyAllocator::Record(const std::string& action, std::uint64_t address, std::uint64_t bytes,
                          std::uint64_t stream) {
  now_us_ += Random(3);
  actions_.push_back({action, address, bytes, stream, now_us_, static_cast<int>(Random(5))});
}

std::vector<ToyAllocator::Hole> ToyAllocator::Holes(std::uint64_t stream, bool small) const {
  std::vector<Hole> holes;
  std::uint64_t end = 0;  // of the previous range
  for (const auto& [address, range] : state_.ranges) {
    if (range.stream != stream || range.small != small) continue;
    std::uint64_t cursor = address;
    const bool joined = options_.expandable && end == address;
    bool first = true;
    const auto hole = [&](std::uint64_t to) {
      if (to > cursor) {
        if (joined && first && !holes.empty() &&
            holes.back().address + holes.back().bytes == cursor)
          holes.back().bytes += to - cursor;
        else
          holes.push_back({cursor, to - cursor});
      }
      first = false;
    };
    end = address + range.bytes;
    auto block = state_.blocks.lower_bound(address);
    if (block != state_.blocks.begin()) {
      const auto before = std::prev(block);
      cursor = std::max(cursor, std::min(end, before->first + before->second.bytes));
    }
    for (; block != state_.blocks.end() && block->first < end; ++block) {
      hole(block->first);
      cursor = std::min(end, block->first + block->second.bytes);
    }
    hole(end);
  }
  return holes;
}

bool ToyAllocator::Place(std::uint64_t requested, std::uint64_t rounded, std::uint64_t stream,
                         bool grown) {
  const bool small = rounded <= kSmall;
  Hole best;
  for (const Hole& hole : Holes(stream, small)) {
    const bool reserved_for_larger = !grown && !small && !options_.expandable &&
                                     rounded < options_.max_split &&
                                     hole.bytes >= options_.max_split;
    if (hole.bytes < rounded || reserved_for_larger) continue;
    if (best.bytes == 0 || hole.bytes < best.bytes) best = hole;
  }
  if (best.bytes == 0) return false;
  const std::uint64_t rest = best.bytes - rounded;
  const bool split =
      small || options_.expandable ? rest >= 512 : rounded < options_.max_split && rest > kSmall;
  Record("alloc", best.address, requested, stream);
  state_.blocks[best.address] = {split ? rounded : best.bytes, requested, stream, false,
                                 actions_.back().place};
  Done();
  return true;
}

void ToyAllocator::Grow(std::uint64_t rounded, std::uint64_t stream) {
  const bool small = rounded <= kSmall;
  if (!options_.expandable) {
    const std::uint64_t bytes = small                 ? 2 * kMiB
                                : rounded < 10 * kMiB ? 20 * kMiB
                                                      : Up(rounded, 2 * kMiB);
    Record("segment_alloc", next_address_, bytes, stream);
    state_.ranges[next_address_] = {bytes, stream, small};
    next_address_ += bytes + (Random(2) == 0 ? 0 : 2 * kMiB);  // sometimes adjacent
    return Done();
  }
  std::uint64_t end = Base(stream, small);
  for (const auto& [address, range] : state_.ranges)
    if (range.stream == stream && range.small == small) end = std::max(end, address + range.bytes);
  const std::vector<Hole> holes = Holes(stream, small);
  const std::uint64_t tail =
      !holes.empty() && holes.back().address + holes.back().bytes == end ? holes.back().bytes : 0;
  const std::uint64_t bytes = Up(rounded - std::min(tail, rounded - 1), (small ? 2 : 20) * kMiB);
  Record("segment_map", end, bytes, stream);
  state_.ranges[end] = {bytes, stream, small};
  Done();
}

void ToyAllocator::Allocate() {
  static constexpr std::uint64_t kSizes[] = {1,    500,      4096,     70'000,
                                             kMiB, 3 * kMiB, 9 * kMiB, 12 * kMiB};
  const std::uint64_t most = kSizes[Random(std::size(kSizes))];
  const std::uint64_t requested = 1 + Random(most);
  const std::uint64_t stream = Random(static_cast<std::uint64_t>(options_.streams)) * 0x1010;
  const std::uint64_t rounded = Up(requested, 512);
  if (Place(requested, rounded, stream, false)) return;
  Grow(rounded, stream);
  EXPECT_TRUE(Place(requested, rounded, stream, true));
}

void ToyAllocator::Free() {
  if (state_.blocks.empty()) return;
  auto at = state_.blocks.begin();
  std::advance(at, static_cast<std::ptrdiff_t>(Random(state_.blocks.size())));
  if (at->second.pending) return;
  Record("free_requested", at->first, at->second.requested, at->second.stream);
  at->second.pending = true;
  Done();
  if (Random(6) == 0) return;
  const std::uint64_t now = now_us_;
  Complete(at->first);
  if (Random(8) != 0) actions_.back().time_us = now_us_ = now;  // almost always the same instant
}

void ToyAllocator::Complete(std::uint64_t address) {
  const ToyBlock& block = state_.blocks[address];
  Record("free_completed", address, block.requested, block.stream);
  state_.blocks.erase(address);
  Done();
}

void ToyAllocator::EmptyCache() {
  if (!options_.expandable) {
    for (auto range = state_.ranges.begin(); range != state_.ranges.end();) {
      const auto block = state_.blocks.lower_bound(range->first);
      if (block != state_.blocks.end() && block->first < range->first + range->second.bytes) {
        ++range;
        continue;
      }
      Record("segment_free", range->first, range->second.bytes, range->second.stream);
      range = state_.ranges.erase(range);
      Done();
    }
    return;
  }
  const std::uint64_t stream = Random(static_cast<std::uint64_t>(options_.streams)) * 0x1010;
  const bool small = Random(2) == 0;
  for (const Hole& hole : Holes(stream, small)) {
    const std::uint64_t begin = Up(hole.address, 2 * kMiB);
    const std::uint64_t end = (hole.address + hole.bytes) / (2 * kMiB) * (2 * kMiB);
    if (begin >= end) continue;
    Record("segment_unmap", begin, end - begin, stream);
    std::map<std::uint64_t, ToyRange> left;
    for (const auto& [address, range] : state_.ranges) {
      const std::uint64_t range_end = address + range.bytes;
      if (range_end <= begin || address >= end) {
        left[address] = range;
        continue;
      }
      if (address < begin) left[address] = {begin - address, range.stream, range.small};
      if (range_end > end) left[end] = {range_end - end, range.stream, range.small};
    }
    state_.ranges = std::move(left);
    Done();
  }
}

std::uint64_t ToyAllocator::TakenBy(std::size_t i) const {
  return states_[i + 1].blocks.at(actions_[i].address).bytes;
}

std::string ToyAllocator::Snapshot(std::size_t ring) const {
  std::string bytes;
  PickleWriter out([&bytes](std::string_view piece) {
    bytes += piece;
    return true;
  });
  const ToyState& end = states_.back();
  out.BeginDict();
  out.Key("segments");
  out.BeginList();
  for (auto range = end.ranges.begin(); range != end.ranges.end();) {
    const std::uint64_t begin = range->first;
    const ToyRange first = range->second;
    std::uint64_t to = begin + first.bytes;
    for (++range; options_.expandable && range != end.ranges.end() && range->first == to &&
                  range->second.stream == first.stream;
         ++range)
      to += range->second.bytes;
    WriteSegment(out, end, begin, to, first, options_);
  }
  out.EndList();
  out.Key("device_traces");
  out.BeginList();
  for (int device = 0; device < options_.device; ++device) {
    out.Item();
    out.BeginList();
    out.EndList();
  }
  out.Item();
  out.BeginList();
  for (std::size_t i = actions_.size() - std::min(ring, actions_.size()); i < actions_.size(); ++i)
    WriteAction(out, actions_[i]);
  out.EndList();
  out.EndList();
  out.Key("allocator_settings");
  out.BeginDict();
  out.Key("max_split_size");
  out.Negative(options_.max_split == ~0ull ? -1 : static_cast<std::int64_t>(options_.max_split));
  out.Key("expandable_segments");
  out.Bool(options_.expandable);
  out.EndDict();
  out.EndDict();
  EXPECT_TRUE(out.Finish());
  return bytes;
}

std::shared_ptr<const Session> ImportAndLoad(std::string_view bytes, ImportSummary* summary,
                                             const std::string& name) {
  std::string log_bytes;
  LogWriter log([&log_bytes](std::string_view piece) {
    log_bytes += piece;
    return true;
  });
  const auto imported = Import(bytes, name, &log);
  EXPECT_TRUE(imported.ok()) << imported.status();
  if (!imported.ok()) return nullptr;
  if (summary != nullptr) *summary = *imported;
  EXPECT_TRUE(log.Finish(imported->end_time_ns, kImportReason));
  const TempDirectory directory;
  auto session = LoadLogs({directory.Write("import.mprof", log_bytes)}, {.find_steps = false});
  EXPECT_TRUE(session.ok()) << session.status();
  return session.ok() ? *session : nullptr;
}

absl::Status ImportStatus(std::string_view bytes, const std::string& name) {
  LogWriter log([](std::string_view) { return true; });
  return Import(bytes, name, &log).status();
}

std::string ReadData(const std::string& name) {
  std::ifstream file(std::string(paths::kTestData) + "/" + name, std::ios::binary);
  EXPECT_TRUE(file) << name;
  std::stringstream bytes;
  bytes << file.rdbuf();
  return bytes.str();
}

}  // namespace memprof::analysis::testing
