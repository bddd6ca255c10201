// Building footprints: reads the requests of all runs, aligns them, and fits their sizes.
#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "analysis/allocators/allocator_replay.h"
#include "analysis/footprint/footprint.h"
#include "analysis/footprint/internal/align.h"
#include "analysis/footprint/internal/asked.h"
#include "analysis/footprint/internal/simulate.h"
#include "analysis/peak/peak.h"
#include "analysis/timeline/ledger.h"
#include "analysis/timeline/timeline.h"

namespace memprof::analysis {
namespace {

using allocators::RecordedRun;
using allocators::RequestSource;
using allocators::TraceOp;

constexpr std::size_t kNoPart = ~std::size_t{0};

// A run of one device, while the footprint is built.
struct FootprintPart {
  const Session* session = nullptr;
  std::uint64_t batch = 0;
  allocators::RecordedRun* run = nullptr;
  std::uint64_t driver = 0, overhead = 0;         // bytes: the driver's at its peak, and beside it
  std::vector<EventId> requests;                  // of the trace's blocks
  std::vector<std::vector<std::uint32_t>> match;  // by part, then by block; empty for itself
  std::vector<AskedBytes> asked;                  // by block
};

// By device: the driver's bytes at the peak.
std::map<int, std::uint64_t> DriverPeaks(const Session& session) {
  std::map<int, std::uint64_t> bytes;
  const auto peaks = PeaksOf(session);
  for (const Peak& peak : *peaks) bytes[peak.device] = peak.bytes;
  return bytes;
}

// By device: the bytes in use at the last sample that are in none of the program's allocations.
std::map<int, std::uint64_t> Overheads(const Session& session) {
  std::map<int, std::uint64_t> bytes;
  const auto samples = SamplesOf(session);
  const auto timelines = TimelinesOf(session);
  for (const DeviceTimeline& timeline : *timelines) {
    const DeviceLedger ledger = BuildLedger(session, samples->Of(timeline.device), timeline, {});
    if (!ledger.last) continue;
    bytes[timeline.device] = ledger.last->untracked_bytes +
                             ledger.last->by_layer[static_cast<std::size_t>(Layer::kModule)];
  }
  return bytes;
}

// The allocator of each device, as `memprof replay` understands it.
std::map<int, allocators::AllocatorSpec> SpecsOf(const Session& session) {
  ReplayOptions options;
  options.placement_seconds = 0;
  options.others = {allocators::AllocatorSpec()};
  std::map<int, allocators::AllocatorSpec> specs;
  for (const DeviceReplay& replay : ReplayAllocators(session, options))
    specs[replay.device] = replay.replayed.spec;
  return specs;
}

class FootprintBuilder {
 public:
  FootprintBuilder(std::vector<FootprintPart> parts, int device,
                   const allocators::AllocatorSpec& spec)
      : parts_(std::move(parts)) {
    data_.device = device;
    data_.spec = spec;
    data_.source = parts_.back().run->source;
    data_.capacity = parts_.back().run->capacity;
    if (data_.source != RequestSource::kBlocks) return;
    for (const DeviceInfo& info : parts_.back().session->devices())
      if (info.id == device)
        data_.multiprocessors = {info.multiprocessors, info.threads_per_multiprocessor};
  }

  Footprint Build() {
    Match();
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      data_.bases.push_back(BaseOf(i, kNoPart));
      data_.runs.push_back(RunOf(i));
    }
    Check();
    FindSites();
    return Footprint(std::move(data_));
  }

 private:
  void Match() {
    std::vector<RequestKeys> keys;
    for (FootprintPart& part : parts_) {
      keys.emplace_back(*part.session, part.requests);
      part.asked = NarrowBySteps(RequestedBytes(*part.run, data_.spec), keys.back());
    }
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      for (std::size_t j = 0; j < parts_.size(); ++j) {
        parts_[i].match.push_back(i == j ? std::vector<std::uint32_t>()
                                         : MatchRequests(keys[i], keys[j]));
      }
    }
  }

  // A request of run `i`, in all runs that have it but `left_out`.
  std::vector<SizeObservation> SeenOf(std::size_t i, std::size_t left_out,
                                      std::uint32_t block) const {
    const auto seen = [](const FootprintPart& part, std::uint32_t number) {
      return SizeObservation{part.batch, part.asked[number].most, part.asked[number].least};
    };
    std::vector<SizeObservation> all = {seen(parts_[i], block)};
    for (std::size_t j = 0; j < parts_.size(); ++j) {
      if (j == i || j == left_out || parts_[i].match[j][block] == kNoRequest) continue;
      all.push_back(seen(parts_[j], parts_[i].match[j][block]));
    }
    return all;
  }

  // The requests of run `i`, with their sizes fitted to all runs but `left_out`.
  FootprintData::Base BaseOf(std::size_t i, std::size_t left_out) const {
    const FootprintPart& part = parts_[i];
    const allocators::Trace& trace = part.run->trace;
    FootprintData::Base base;
    base.batch = part.batch;
    base.trace = trace;
    SizeLaws laws;
    for (std::uint32_t block = 0; block < trace.blocks.size(); ++block)
      laws.Add(SeenOf(i, left_out, block));
    for (std::uint32_t block = 0; block < trace.blocks.size(); ++block)
      base.sizes.push_back(laws.Fit(SeenOf(i, left_out, block)));
    base.sums = FindColumnSums(trace, base.sizes, part.asked, part.batch, data_.multiprocessors);
    std::vector<SizeObservation> seen;
    // The program's driver requests outside of its allocator: matched by order, if all runs have
    // the same ones.
    for (std::size_t k = 0; k < trace.outside.size(); ++k) {
      seen.assign(1, {part.batch, trace.outside[k]});
      for (std::size_t j = 0; j < parts_.size(); ++j) {
        const std::vector<std::uint64_t>& other = parts_[j].run->trace.outside;
        if (j == i || j == left_out || other.size() != trace.outside.size()) continue;
        seen.push_back({parts_[j].batch, other[k]});
      }
      base.outside.push_back(FitSize(seen));
    }
    return base;
  }

  FootprintRun RunOf(std::size_t i) const {
    const FootprintPart& part = parts_[i];
    FootprintRun run;
    run.batch = part.batch;
    run.requests = part.run->trace.blocks.size();
    run.recorded.reserved = part.run->figures.peak_reserved;
    run.recorded.requested = part.run->figures.peak_requested;
    run.recorded.driver = part.driver;
    run.replayed = SimulateFootprint(part.run->trace, data_.spec, data_.source, true);
    run.overhead = part.overhead;
    for (std::size_t block = 0; block < run.requests; ++block) {
      for (const std::vector<std::uint32_t>& match : part.match) {
        if (match.empty() || match[block] == kNoRequest) continue;
        ++run.matched;
        break;
      }
    }
    return run;
  }

  // Each run from the others.
  void Check() {
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      std::size_t nearest = kNoPart;
      bool two_sizes = false;
      const auto distance = [this, i](std::size_t j) {
        const auto a = static_cast<double>(parts_[i].batch),
                   b = static_cast<double>(parts_[j].batch);
        return std::max(a / b, b / a);
      };
      for (std::size_t j = 0; j < parts_.size(); ++j) {
        if (j == i) continue;
        if (nearest != kNoPart && parts_[j].batch != parts_[nearest].batch) two_sizes = true;
        if (nearest == kNoPart || distance(j) < distance(nearest)) nearest = j;
      }
      if (!two_sizes) continue;
      FootprintRun& run = data_.runs[i];
      run.checked = true;
      run.check = PredictFrom(data_, BaseOf(nearest, i), run.batch, allocators::kUnlimited);
    }
  }

  // Blocks of the largest run that are live when the most is requested.
  std::vector<std::uint32_t> LiveAtPeak() const {
    const allocators::Trace& trace = parts_.back().run->trace;
    std::uint64_t live = 0, most = 0;
    std::size_t peak = 0;
    for (std::size_t e = 0; e < trace.events.size(); ++e) {
      const allocators::TraceEvent& event = trace.events[e];
      if (event.op == TraceOp::kAllocate) live += trace.blocks[event.number].bytes;
      if (event.op == TraceOp::kFree) live -= trace.blocks[event.number].bytes;
      if (live > most) {
        most = live;
        peak = e + 1;
      }
    }
    std::vector<bool> alive(trace.blocks.size());
    for (std::size_t e = 0; e < peak; ++e) {
      const allocators::TraceEvent& event = trace.events[e];
      if (event.op == TraceOp::kAllocate) alive[event.number] = true;
      if (event.op == TraceOp::kFree) alive[event.number] = false;
    }
    std::vector<std::uint32_t> blocks;
    for (std::uint32_t i = 0; i < alive.size(); ++i) {
      if (alive[i]) blocks.push_back(i);
    }
    return blocks;
  }

  void FindSites() {
    const FootprintData::Base& base = data_.bases.back();
    for (const SizeModel& size : base.sizes) {
      FootprintGrowth& growth = data_.growth;
      switch (size.growth) {
        case Growth::kConstant:
          ++growth.constant;
          break;
        case Growth::kLinear:
          ++growth.linear;
          break;
        case Growth::kQuadratic:
          ++growth.quadratic;
          break;
        case Growth::kIrregular:
          ++growth.irregular;
          break;
        case Growth::kUnknown:
          ++growth.unknown;
          break;
      }
    }
    std::map<StackId, FootprintSite> sites;
    for (const std::uint32_t block : LiveAtPeak()) {
      const StackId stack =
          parts_.back().session->events().stack(parts_.back().requests[block].value);
      FootprintSite& site = sites[stack];
      const SizeModel& size = base.sizes[block];
      site.stack = stack;
      site.bytes += base.trace.blocks[block].bytes;
      ++site.requests;
      site.growth = std::max(site.growth, size.growth);
      if (size.growth == Growth::kIrregular) continue;
      site.fixed += size.fixed;
      site.per_unit += size.per_unit;
      site.per_square += size.per_square;
    }
    for (const auto& [stack, site] : sites) data_.sites.push_back(site);
    std::stable_sort(
        data_.sites.begin(), data_.sites.end(),
        [](const FootprintSite& a, const FootprintSite& b) { return a.bytes > b.bytes; });
  }

  std::vector<FootprintPart> parts_;  // by size
  FootprintData data_;
};

}  // namespace

absl::StatusOr<std::vector<Footprint>> BuildFootprints(
    const std::vector<FootprintInput>& inputs, const allocators::AllocatorSpec* recorded_as) {
  std::map<std::uint64_t, int> sizes;
  for (const FootprintInput& input : inputs) ++sizes[input.batch];
  if (sizes.contains(0)) return absl::InvalidArgumentError("the size of an input cannot be 0");
  if (sizes.size() < 2) {
    return absl::InvalidArgumentError(
        "runs with inputs of at least two different sizes are needed");
  }
  std::vector<FootprintInput> sorted = inputs;
  std::stable_sort(
      sorted.begin(), sorted.end(),
      [](const FootprintInput& a, const FootprintInput& b) { return a.batch < b.batch; });
  std::vector<std::vector<RecordedRun>> recorded;
  std::vector<std::map<int, std::uint64_t>> driver, overhead;  // by input
  for (const FootprintInput& input : sorted) {
    recorded.push_back(allocators::RecordedRuns(*input.session));
    driver.push_back(DriverPeaks(*input.session));
    overhead.push_back(Overheads(*input.session));
  }
  std::map<int, allocators::AllocatorSpec> specs;  // of the largest run
  if (recorded_as == nullptr) specs = SpecsOf(*sorted.back().session);
  std::vector<Footprint> footprints;
  for (const RecordedRun& of_first : recorded.front()) {
    std::vector<FootprintPart> parts;
    for (std::size_t i = 0; i < sorted.size(); ++i) {
      for (RecordedRun& run : recorded[i]) {
        if (run.device != of_first.device) continue;
        if (run.source != of_first.source) {
          return absl::InvalidArgumentError(
              absl::StrCat(sorted[i].session->path(), ": device ", run.device,
                           " has another kind of allocator than in ", sorted[0].session->path()));
        }
        parts.push_back({sorted[i].session.get(),
                         sorted[i].batch,
                         &run,
                         driver[i][run.device],
                         overhead[i][run.device],
                         run.requests,
                         {},
                         {}});
      }
    }
    if (parts.size() == sorted.size()) {
      footprints.push_back(
          FootprintBuilder(std::move(parts), of_first.device,
                           recorded_as != nullptr ? *recorded_as : specs[of_first.device])
              .Build());
    }
  }
  if (footprints.empty()) {
    return absl::InvalidArgumentError("the runs have no device in common on which they allocate");
  }
  return footprints;
}

}  // namespace memprof::analysis
