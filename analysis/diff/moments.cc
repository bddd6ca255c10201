// Compares moments of one run by the allocations live at them.
#include "analysis/diff/moments.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "analysis/store/lifetime_walk.h"
#include "analysis/timeline/address_map.h"
#include "analysis/timeline/pool_changes.h"

namespace memprof::analysis {
namespace {

constexpr std::uint32_t kLayers = kLeafLayers | LayerBit(Layer::kSegment);

}  // namespace

MomentDiff::MomentDiff(const Session& session, Symbols& symbols, const std::stop_token& stop,
                       const std::function<void(double)>& progress)
    : session_(session) {
  const auto on = [&](double share) {
    if (progress) progress(share);
    return !stop.stop_requested();
  };
  alignment_ =
      std::make_shared<const StackAlignment>(AlignStacks(session, symbols, session, symbols));
  leaf_.emplace(session);
  for (const int device : DeviceOrdinals(session))
    if (device != kNoDevice) devices_.emplace_back().ordinal = device;
  for (const AllocationRecord& a : session.records()) {
    blocks_ |= a.layer == Layer::kBlock;
    if (a.layer != Layer::kSegment || a.bytes == 0) continue;
    if (const std::size_t row = RowOf(a.device); row < devices_.size())
      devices_[row].framework = true;
  }
  if (!on(0.3)) return;
  profile_ = ProfileRun(session, alignment_->after, alignment_->places.size());
  for (Device& device : devices_) {
    device.variation = VariationOf(
        profile_, [&device](const StepProfile& step) { return PeakIn(step, device.ordinal); });
  }
  const bool reads = std::any_of(devices_.begin(), devices_.end(),
                                 [](const Device& device) { return !device.framework; });
  if (on(0.7) && reads) pools_ = PoolsOf(session);
}

std::size_t MomentDiff::RowOf(int device) const {
  const auto at =
      std::lower_bound(devices_.begin(), devices_.end(), device,
                       [](const Device& d, int ordinal) { return d.ordinal < ordinal; });
  if (at == devices_.end() || at->ordinal != device) return devices_.size();
  return static_cast<std::size_t>(at - devices_.begin());
}

std::shared_ptr<const MomentDiff::State> MomentDiff::MakeState(EventId event,
                                                               const AllocationSet* passing) const {
  auto state = std::make_shared<State>(State{
      .places = LiveByPlace(alignment_->places.size()),
      .devices = std::vector<DeviceTotals>(devices_.size() + 1),  // the last of unknown devices
      .free_share = 0});
  int device = kNoDevice;
  std::size_t row = devices_.size();
  AllocationId base;                                // that the block before lies in
  absl::flat_hash_set<std::uint32_t> suballocated;  // driver memory that blocks lie in
  for (const AllocationId id : session_.LiveAfter(event, kLayers)) {
    const AllocationRecord& a = session_.record(id);
    if (a.device != device) row = RowOf(device = a.device);
    DeviceTotals& totals = state->devices[row];
    if (a.layer == Layer::kSegment) {
      totals.segments += a.bytes;
      totals.suballocated += a.bytes;
      continue;
    }
    if (a.layer == Layer::kBlock) {
      // Neighbours often lie in one.
      if (!base.valid() || a.parent != base) base = BaseOf(session_, id);
      const AllocationRecord& below = session_.record(base);
      if (base != id) {
        DeviceTotals& there = state->devices[RowOf(below.device)];
        there.used += a.bytes;
        if (below.layer != Layer::kSegment && suballocated.insert(base.value).second)
          there.suballocated += below.bytes;
      }
    } else {
      totals.live += a.bytes;
    }
    if (!leaf_->Counts(id) || (passing != nullptr && !passing->Has(id))) continue;
    const std::uint32_t place = StackAlignment::Of(alignment_->after, a.stack);
    if (place != StackAlignment::kNone) state->places.Add(place, a.bytes);
  }
  state->devices.pop_back();
  std::uint64_t suballocated_bytes = 0, free = 0;
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    DeviceTotals& totals = state->devices[i];
    totals.reserved = totals.segments;
    if (!devices_[i].framework) {
      totals.reserved = totals.live;
      if (pools_ != nullptr) totals.reserved += pools_->Of(devices_[i].ordinal).After(event);
    }
    suballocated_bytes += totals.suballocated;
    free += totals.suballocated - std::min(totals.suballocated, totals.used);
  }
  if (suballocated_bytes > 0)
    state->free_share = 100.0 * static_cast<double>(free) / static_cast<double>(suballocated_bytes);
  return state;
}

std::shared_ptr<const MomentDiff::State> MomentDiff::StateAfter(
    EventId event, const std::shared_ptr<const AllocationSet>& passing) const {
  {
    const std::lock_guard lock(mutex_);
    for (const Known& known : known_)
      if (known.state != nullptr && known.event == event && known.passing == passing)
        return known.state;
  }
  return MakeState(event, passing.get());
}

DiffReport MomentDiff::Compare(EventId from, EventId to,
                               std::shared_ptr<const AllocationSet> passing) const {
  const std::shared_ptr<const State> before = StateAfter(from, passing);
  const std::shared_ptr<const State> after = StateAfter(to, passing);
  DiffReport report;
  report.alignment = *alignment_;
  const auto time = [this](EventId event) {
    return event.valid() ? session_.events().time(event.value) : session_.run().start_time;
  };
  report.before_time = time(from);
  report.after_time = time(to);
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    const DeviceTotals &a = before->devices[i], &b = after->devices[i];
    const auto add = [&](DiffFigureKind kind, std::uint64_t was, std::uint64_t is) {
      report.figures.push_back({kind, devices_[i].ordinal, static_cast<double>(was),
                                static_cast<double>(is), devices_[i].variation});
    };
    add(DiffFigureKind::kLive, a.live, b.live);
    add(DiffFigureKind::kReserved, a.reserved, b.reserved);
  }
  report.figures.push_back(
      {DiffFigureKind::kFragmentation, kNoDevice, before->free_share, after->free_share, 0});
  report.sites = CompareSites(profile_, before->places, profile_, after->places);
  for (DiffSite& site : report.sites) {
    site.fresh = site.before == 0 && site.after > 0;
    site.gone = site.after == 0 && site.before > 0;
  }
  SortSites(report.sites, passing != nullptr);
  const std::lock_guard lock(mutex_);
  known_[0] = {from, passing, before};
  known_[1] = {to, std::move(passing), after};
  return report;
}

DiffReport DiffMoments(const Session& session, Symbols& symbols, EventId from, EventId to,
                       const DiffOptions& options) {
  const MomentDiff moments(session, symbols, options.stop, options.progress);
  if (options.stop.stop_requested()) return {};
  // Not owned: it lives as long as this call.
  return moments.Compare(from, to, {std::shared_ptr<const void>(), options.after});
}

}  // namespace memprof::analysis
