// The state of the allocator at the end, and its settings.
#include <algorithm>
#include <map>
#include <string>

#include "absl/strings/numbers.h"
#include "analysis/base/sizes.h"
#include "analysis/interchange/internal/torch_exporter.h"

namespace memprof::analysis::torch {
namespace {

constexpr std::string_view kConfiguration = "PYTORCH_CUDA_ALLOC_CONF=";

}  // namespace

void Exporter::WriteSegments(int device) {
  const std::span<const AllocationRecord> records = session_.records();
  std::vector<Id> segments;
  std::map<Id, std::vector<Id>> blocks;  // by segment
  for (std::uint32_t i = 0; i < records.size(); ++i) {
    const AllocationRecord& a = records[i];
    if (!a.alive() || a.device != device) continue;
    if (roles_[i] == Role::kSegment || roles_[i] == Role::kWhole) segments.emplace_back(i);
    if (roles_[i] == Role::kWhole) blocks[Id(i)].emplace_back(i);
    if (roles_[i] == Role::kBlock) blocks[a.parent].emplace_back(i);
  }
  std::stable_sort(segments.begin(), segments.end(), [&](Id a, Id b) {
    return session_.record(a).address < session_.record(b).address;
  });
  for (std::size_t begin = 0; begin < segments.size();) {
    std::size_t end = begin + 1;
    const auto joins = [&](const AllocationRecord& a, const AllocationRecord& b, std::size_t at) {
      return Mapped(a) && Mapped(b) && EndAddress(a.address, a.bytes) == b.address &&
             a.pool() == b.pool() && StreamOf(segments[at - 1]) == StreamOf(segments[at]);
    };
    while (end < segments.size() &&
           joins(session_.record(segments[end - 1]), session_.record(segments[end]), end))
      ++end;
    std::vector<Id> inside;
    for (std::size_t i = begin; i < end; ++i)
      inside.insert(inside.end(), blocks[segments[i]].begin(), blocks[segments[i]].end());
    WriteSegment(device, std::span(segments).subspan(begin, end - begin), std::move(inside));
    begin = end;
  }
}

void Exporter::WriteSegment(int device, std::span<const Id> pieces, std::vector<Id> blocks) {
  std::sort(blocks.begin(), blocks.end(),
            [&](Id a, Id b) { return session_.record(a).address < session_.record(b).address; });
  const AllocationRecord& first = session_.record(pieces.front());
  const AllocationRecord& last = session_.record(pieces.back());
  const std::uint64_t end = EndAddress(last.address, last.bytes);
  std::uint64_t allocated = 0, active = 0, requested = 0;
  for (const Id id : blocks) {
    const AllocationRecord& a = session_.record(id);
    active += a.bytes;
    if (pending_.contains(id.value)) continue;
    allocated += a.bytes;
    requested += a.requested();
  }
  out_.Item();
  out_.BeginDict();
  Field("device", static_cast<std::uint64_t>(device));
  Field("address", first.address);
  Field("total_size", end - first.address);
  Field("allocated_size", allocated);
  Field("active_size", active);
  Field("requested_size", requested);
  Field("stream", StreamOf(pieces.front()));
  out_.Key("segment_type");
  out_.Text(first.bytes <= kSmallSegmentBytes ? "small" : "large");
  const std::uint64_t pool = first.layer == Layer::kSegment ? first.pool() : 0;
  out_.Key("segment_pool_id");
  out_.Pair(pool >> 32, pool & UINT32_MAX);
  out_.Key("is_expandable");
  out_.Bool(Mapped(first));
  out_.Key("frames");
  WriteStack(first.stack);
  out_.Key("blocks");
  out_.BeginList();
  std::uint64_t cursor = first.address;
  // The viewer places them one after the other: they must fill the segment.
  for (const Id id : blocks) {
    const AllocationRecord& a = session_.record(id);
    const std::uint64_t begin = std::max(a.address, cursor);
    const std::uint64_t block_end = std::min(EndAddress(a.address, a.bytes), end);
    if (block_end <= begin) continue;
    if (begin > cursor) WriteBlock(cursor, begin - cursor, Id());
    WriteBlock(begin, block_end - begin, id);
    cursor = block_end;
  }
  if (cursor < end) WriteBlock(cursor, end - cursor, Id());
  out_.EndList();
  out_.EndDict();
}

// A block in use, or, without one, a hole.
void Exporter::WriteBlock(std::uint64_t address, std::uint64_t bytes, Id block) {
  out_.Item();
  out_.BeginDict();
  Field("address", address);
  Field("size", bytes);
  Field("requested_size", block.valid() ? session_.record(block).requested() : 0);
  out_.Key("state");
  out_.Text(!block.valid()                   ? "inactive"
            : pending_.contains(block.value) ? "active_pending_free"
                                             : "active_allocated");
  out_.Key("frames");
  WriteStack(block.valid() ? session_.record(block).stack : StackId());
  out_.EndDict();
}

void Exporter::WriteSettings() {
  std::string_view configuration;
  for (const std::string& variable : session_.run().environment)
    if (variable.starts_with(kConfiguration))
      configuration = std::string_view(variable).substr(kConfiguration.size());
  constexpr std::string_view kMaxSplit = "max_split_size_mb:";
  std::int64_t max_split = -1;
  if (const std::size_t at = configuration.find(kMaxSplit); at != std::string_view::npos) {
    const std::string_view rest = configuration.substr(at + kMaxSplit.size());
    std::int64_t mib = 0;
    const std::string_view number = rest.substr(0, rest.find(','));
    if (absl::SimpleAtoi(absl::string_view(number.data(), number.size()), &mib) && mib > 0 &&
        mib < 1 << 24)
      max_split = mib << 20;
  }
  out_.BeginDict();
  out_.Key("PYTORCH_CUDA_ALLOC_CONF");
  out_.Text(configuration);
  out_.Key("max_split_size");
  out_.Negative(max_split);
  out_.Key("garbage_collection_threshold");
  out_.Float(0);
  out_.Key("expandable_segments");
  out_.Bool(configuration.find("expandable_segments:True") != std::string_view::npos);
  out_.EndDict();
}

}  // namespace memprof::analysis::torch
