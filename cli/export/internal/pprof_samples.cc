#include "cli/export/internal/pprof_samples.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "absl/container/flat_hash_map.h"
#include "analysis/peak/peak.h"

namespace memprof::cli {
namespace {

using analysis::AllocationRecord;
using analysis::Layer;
using analysis::Session;

bool Counts(const AllocationRecord& a, std::string_view memory) {
  if (memory == "driver") return analysis::OccupiesDevice(a.layer);
  if (memory == "tensors") return a.layer == Layer::kTensor;
  if (memory == "host") return analysis::OccupiesHost(a.layer);
  // The program's memory: blocks, and driver memory that no framework's allocator manages.
  return a.layer == Layer::kBlock || analysis::OccupiesDevice(a.layer);
}

// Segments of an allocator: their blocks are counted instead.
bool IsSegment(const Session& session, std::uint32_t row) {
  const auto children = session.Children(analysis::AllocationId(row));
  return std::any_of(children.begin(), children.end(), [&session](analysis::AllocationId child) {
    return session.record(child).layer == Layer::kSegment;
  });
}

// The name of a tensor; for a block, that of its first tensor.
std::string_view TensorOf(const Session& session, std::uint32_t row) {
  const AllocationRecord* a = &session.records()[row];
  if (a->layer == Layer::kBlock) {
    const auto children = session.Children(analysis::AllocationId(row));
    if (children.empty()) return {};
    a = &session.record(children.front());
  }
  if (a->layer != Layer::kTensor) return {};
  const auto* tensor = session.tensor(a->tensor());
  return tensor == nullptr ? std::string_view() : std::string_view(tensor->name);
}

}  // namespace

std::vector<PprofSample> AddUpSamples(const Session& session, std::string_view memory) {
  std::map<int, analysis::EventId> peaks;
  for (const analysis::Peak& peak : analysis::FindPeaks(session)) peaks[peak.device] = peak.event;
  std::vector<PprofSample> samples;
  absl::flat_hash_map<std::tuple<std::uint32_t, Layer, int, std::string_view>, std::size_t> index;
  const auto records = session.records();
  for (std::uint32_t row = 0; row < records.size(); ++row) {
    const AllocationRecord& a = records[row];
    if (!Counts(a, memory)) continue;
    if (memory == "used" && a.layer != Layer::kBlock && IsSegment(session, row)) continue;
    const std::string_view tensor = TensorOf(session, row);
    const auto [it, fresh] =
        index.try_emplace({a.stack.value, a.layer, a.device, tensor}, samples.size());
    if (fresh) samples.push_back({a.stack, a.layer, a.device, tensor});
    const auto peak = peaks.find(a.device);
    const bool at_peak =
        peak != peaks.end() && a.birth <= peak->second && (a.alive() || a.death > peak->second);
    const bool counted[] = {true, a.alive(), at_peak};
    PprofValues& values = samples[it->second].values;
    for (std::size_t i = 0; i < 3; ++i) {
      if (!counted[i]) continue;
      ++values[2 * i];
      values[2 * i + 1] += a.bytes;
    }
  }
  return samples;
}

}  // namespace memprof::cli
