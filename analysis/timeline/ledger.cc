// Finds samples of used memory, and compares them with the known memory.
#include "analysis/timeline/ledger.h"

#include <algorithm>
#include <numeric>

#include "analysis/timeline/contexts.h"

namespace memprof::analysis {
namespace {

// A device whose ordinal is larger is of a damaged log (readers limit ordinals likewise).
constexpr int kMaxDevices = 1024;

// The sample in event `i`; none if it has none.
std::optional<MemorySample> SampleOf(const EventTable& events, std::uint32_t i) {
  MemorySample sample{.time = events.time(i), .event = EventId(i)};
  if (events.op(i) == Op::kMemoryInfo) {
    sample.free_bytes = events.bytes(i);
    sample.total_bytes = events.aux0(i);
    if (events.aux1(i) != 0) sample.others_bytes = events.aux1(i) - 1;
    if (events.address(i) != 0) sample.file_cache_bytes = events.address(i) - 1;
  } else if (events.op(i) == Op::kAllocFailed && !IsFrameworkLayer(events.layer(i))) {
    sample.free_bytes = events.aux0(i);
    sample.total_bytes = events.aux1(i);
    sample.failed_call = true;
  }
  if (sample.total_bytes == 0 || sample.free_bytes > sample.total_bytes) return std::nullopt;
  return sample;
}

LedgerEntry Explain(const Session& session, const MemorySample& sample,
                    const DeviceTimeline& timeline) {
  LedgerEntry entry{.sample = sample, .step = session.StepOf(sample.event)};
  if (sample.others_bytes) {
    const std::uint64_t known = KnownOfOthers(session, sample, timeline.device);
    entry.sample.others_bytes = *sample.others_bytes - std::min(*sample.others_bytes, known);
  }
  for (std::size_t i = 0; i < entry.by_layer.size(); ++i) {
    const auto layer = static_cast<Layer>(i);
    if (OccupiesDevice(layer) || layer == Layer::kModule)
      entry.by_layer[i] = timeline.layer[i].At(sample.time);
  }
  entry.pools_bytes = timeline.reserved.At(sample.time) - timeline.total.At(sample.time);
  const std::uint64_t used = sample.used_bytes(), known = entry.known_bytes();
  entry.untracked_bytes = used > known ? used - known : 0;
  entry.elsewhere_bytes = known > used ? known - used : 0;
  if (sample.file_cache_bytes)
    entry.file_cache_bytes = std::min(*sample.file_cache_bytes, entry.untracked_bytes);
  return entry;
}

// A failed allocation has no figure of other processes; the recorder queries them at most once a
// second, so a sample that is no older than that, or no later, applies to it too.
void FillOthers(std::vector<MemorySample>& samples) {
  constexpr TimeNs kSecond = 1'000'000'000;
  std::vector<std::uint32_t> known;
  for (std::uint32_t i = 0; i < samples.size(); ++i)
    if (samples[i].others_bytes) known.push_back(i);
  std::size_t next = 0;  // the first sample after it
  for (std::uint32_t i = 0; i < samples.size(); ++i) {
    while (next < known.size() && known[next] <= i) ++next;
    if (samples[i].others_bytes || !samples[i].failed_call) continue;
    const MemorySample* before = next > 0 ? &samples[known[next - 1]] : nullptr;
    const MemorySample* after = next < known.size() ? &samples[known[next]] : nullptr;
    if (before && samples[i].time - before->time <= kSecond)
      samples[i].others_bytes = before->others_bytes;
    else if (after && after->time - samples[i].time <= kSecond)
      samples[i].others_bytes = after->others_bytes;
  }
}

}  // namespace

std::uint64_t KnownOfOthers(const Session& session, const MemorySample& sample, int device) {
  if (session.processes().size() < 2) return 0;
  const std::uint32_t own = session.ProcessOf(sample.event);
  std::uint64_t bytes = sample.contexts_of_others;
  for (const AllocationId id :
       session.LiveAt(sample.time, kDeviceLayers | LayerBit(Layer::kModule))) {
    const AllocationRecord& record = session.record(id);
    if (record.device == device && session.ProcessOf(record.birth) != own) bytes += record.bytes;
  }
  return bytes;
}

std::uint64_t LedgerEntry::known_bytes() const {
  return std::accumulate(by_layer.begin(), by_layer.end(), pools_bytes) +
         sample.others_bytes.value_or(0);
}

MemorySamples::MemorySamples(const Session& session) {
  const EventTable& events = session.events();
  for (std::uint32_t i = 0; i < events.size(); ++i) {
    const int device = events.device(i);
    if (device < 0 || device >= kMaxDevices) continue;
    const std::optional<MemorySample> sample = SampleOf(events, i);
    if (!sample) continue;
    const auto row = static_cast<std::size_t>(device);
    if (row >= by_device_.size()) by_device_.resize(row + 1);
    by_device_[row].push_back(*sample);
  }
  for (std::vector<MemorySample>& samples : by_device_) FillOthers(samples);
  FindContextsOfOthers(session, &by_device_);
}

const std::vector<MemorySample>& MemorySamples::Of(int device) const {
  static const std::vector<MemorySample> kNone;
  const auto row = static_cast<std::size_t>(device);
  return device >= 0 && row < by_device_.size() ? by_device_[row] : kNone;
}

std::shared_ptr<const MemorySamples> SamplesOf(const Session& session) {
  return session.facts().Get<MemorySamples>([&] { return MemorySamples(session); });
}

DeviceLedger BuildLedger(const Session& session, const std::vector<MemorySample>& samples,
                         const DeviceTimeline& timeline, const HighestUse& highest) {
  DeviceLedger ledger{.samples = samples.size()};
  if (samples.empty()) return ledger;
  ledger.last = Explain(session, samples.back(), timeline);
  if (!highest.known) return ledger;
  MemorySample computed = *highest.sample;
  ledger.highest_sample_time = computed.time;
  if (computed.time != highest.time) {
    computed.time = highest.time;
    computed.event = session.EventAt(highest.time);
  }
  computed.free_bytes = computed.total_bytes - std::min(computed.total_bytes, highest.bytes);
  ledger.highest = Explain(session, computed, timeline);
  return ledger;
}

std::optional<LedgerEntry> LedgerAt(const Session& session,
                                    const std::vector<MemorySample>& samples,
                                    const DeviceTimeline& timeline, TimeNs time) {
  if (samples.empty()) return std::nullopt;
  const auto after =
      std::upper_bound(samples.begin(), samples.end(), time,
                       [](TimeNs t, const MemorySample& sample) { return t < sample.time; });
  const MemorySample& base = after == samples.begin() ? *after : *std::prev(after);
  const LedgerEntry then = Explain(session, base, timeline);
  if (base.time == time) return then;
  MemorySample computed = base;
  computed.time = time;
  computed.event = session.EventAt(time);
  const std::uint64_t known = Explain(session, computed, timeline).known_bytes();
  const std::uint64_t used = known + then.untracked_bytes - std::min(known, then.elsewhere_bytes);
  computed.free_bytes = computed.total_bytes - std::min(computed.total_bytes, used);
  return Explain(session, computed, timeline);
}

std::vector<std::pair<int, LedgerEntry>> PoolsThatKeep(const Session& session) {
  constexpr double kShare = 0.1;
  std::vector<std::pair<int, LedgerEntry>> found;
  if (!session.events().Has(Op::kPoolSample)) return found;
  const auto samples = SamplesOf(session);
  for (const DeviceTimeline& timeline : *TimelinesOf(session)) {
    const std::vector<MemorySample>& of_device = samples->Of(timeline.device);
    if (of_device.empty()) continue;
    const auto entry = LedgerAt(session, of_device, timeline, of_device.back().time);
    if (entry && entry->pools_bytes > 0 &&
        static_cast<double>(entry->pools_bytes) >=
            kShare * static_cast<double>(entry->sample.used_bytes()))
      found.emplace_back(timeline.device, *entry);
  }
  return found;
}

}  // namespace memprof::analysis
