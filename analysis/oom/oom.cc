// Finds failed requests and puts their explanation together.
#include "analysis/oom/oom.h"

#include <algorithm>
#include <unordered_map>

#include "analysis/categories/categories.h"
#include "analysis/oom/internal/scene_parts.h"
#include "analysis/peak/change.h"

namespace memprof::analysis {
namespace {

FailedRequest RequestOf(const Session& session, std::uint32_t e) {
  const EventTable& events = session.events();
  FailedRequest request;
  request.event = EventId(e);
  request.time = events.time(e);
  request.step = session.StepOf(EventId(e));
  request.device = events.device(e);
  request.layer = events.layer(e);
  request.stack = events.stack(e);
  request.bytes = request.driver_bytes = events.bytes(e);
  request.framework = events.op(e) == Op::kFrameworkOom || IsFrameworkLayer(request.layer);
  if (!request.framework) {
    request.driver = EventId(e);
    request.api = events.api(e);
    request.result = events.result(e);
  }
  return request;
}

// Follows the threads of a log: which refusals of the driver are still unanswered in each.
class FailureFinder {
 public:
  explicit FailureFinder(const Session& session) : session_(session), events_(session.events()) {}

  std::vector<FailedRequest> Find() {
    for (std::uint32_t e = 0; e < events_.size(); ++e) {
      const Op op = events_.op(e);
      if (op == Op::kAlloc) {
        if (!open_.empty()) Succeed(e);
      } else if (op == Op::kFrameworkOom || op == Op::kAllocFailed) {
        Fail(e);
      }
    }
    std::erase_if(found_, [](const FailedRequest& request) { return !request.event.valid(); });
    return std::move(found_);
  }

 private:
  void Succeed(std::uint32_t e) {
    const auto open = open_.find(events_.thread(e));
    if (open == open_.end()) return;
    const Layer layer = events_.layer(e);
    if (layer == Layer::kTensor) return;
    if (layer == Layer::kBlock) {
      open_.erase(open);
      return;
    }
    for (const std::size_t i : open->second) {
      FailedRequest& request = found_[i];
      if (request.layer == layer && request.device == events_.device(e) &&
          events_.bytes(e) >= request.bytes)
        request.recovered = true;
    }
  }

  void Fail(std::uint32_t e) {
    FailedRequest request = RequestOf(session_, e);
    std::vector<std::size_t>& open = open_[events_.thread(e)];
    if (request.framework) {
      for (const std::size_t i : open) Absorb(i, request);
      open_.erase(events_.thread(e));
      found_.push_back(request);
      return;
    }
    for (const std::size_t i : open) {
      FailedRequest& before = found_[i];
      if (!SameCall(before, request) || before.recovered) continue;
      before.event = EventId();  // this is the same request again
      request.attempts += before.attempts;
    }
    std::erase_if(open, [this](std::size_t i) { return !found_[i].event.valid(); });
    open.push_back(found_.size());
    found_.push_back(request);
  }

  // The allocator retried after it had released what it could: one failure, described as of the
  // last attempt.
  static bool SameCall(const FailedRequest& a, const FailedRequest& b) {
    return a.event.valid() && a.layer == b.layer && a.device == b.device && a.bytes == b.bytes &&
           a.stack == b.stack && a.step == b.step && a.api == b.api;
  }

  void Absorb(std::size_t i, FailedRequest& request) {
    FailedRequest& driver = found_[i];
    if (driver.device != request.device || driver.recovered || driver.step != request.step ||
        !OccupiesDevice(driver.layer) || driver.driver_bytes < request.bytes)
      return;
    if (!request.driver.valid()) request.attempts = 0;
    request.attempts += driver.attempts;
    request.driver = driver.driver;
    request.driver_bytes = driver.driver_bytes;
    request.api = driver.api;
    request.result = driver.result;
    driver.event = EventId();
  }

  const Session& session_;
  const EventTable& events_;
  std::vector<FailedRequest> found_;
  std::unordered_map<std::uint32_t, std::vector<std::size_t>> open_;  // by thread
};

}  // namespace

std::string_view FailureCauseName(FailureCause cause) {
  static constexpr std::string_view kNames[] = {
      "capacity",     "fragmentation", "other_pool",  "allocator_rule", "segment_size", "reserve",
      "despite_free", "too_large",     "host_memory", "refused",        "unknown"};
  return kNames[static_cast<std::size_t>(cause)];
}

std::string_view RemedyKindName(RemedyKind kind) {
  static constexpr std::string_view kNames[] = {
      "release_cache",   "trim_pools",   "small_segments", "one_pool", "expandable_segments",
      "packed",          "free_blocks",  "sites",          "training", "other_processes",
      "smaller_request", "larger_device"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::uint64_t DeviceSpace::known() const {
  std::uint64_t sum = blocks + rounding + own_pool.bytes + other_pools.bytes + private_pools.bytes +
                      foreign.bytes + cached.bytes + modules + pools + others.value_or(0);
  for (const std::uint64_t bytes : direct) sum += bytes;
  return sum;
}

std::vector<FailedRequest> FindFailures(const Session& session) {
  return FailureFinder(session).Find();
}

std::shared_ptr<const std::vector<FailedRequest>> FailuresOf(const Session& session) {
  return session.facts().Get<std::vector<FailedRequest>>([&] { return FindFailures(session); });
}

FailureExplainer::FailureExplainer(const Session& session, Symbols& symbols, SiteGroups& sites)
    : session_(session),
      symbols_(symbols),
      sites_(sites),
      holders_(HoldersOf(session)),
      samples_(SamplesOf(session)),
      timelines_(TimelinesOf(session)) {}

const PeakRemedies& FailureExplainer::Training() {
  if (!training_)
    training_ = FindPeakRemedies(session_, &symbols_, Categories(session_, &symbols_),
                                 PeakLevels(session_));
  return *training_;
}

SourceFrame FailureExplainer::SiteOf(const FailedRequest& request) const {
  return symbols_.Site(request.stack);
}

FailureReport FailureExplainer::Explain(const FailedRequest& request) {
  FailureReport report;
  report.request = request;
  if (request.stack.valid()) report.site = SiteOf(request);
  const DeviceTimeline* timeline = nullptr;
  for (const DeviceTimeline& one : *timelines_)
    if (one.device == request.device) timeline = &one;
  const oom::Scene scene = oom::LayOut(session_, request, samples_->Of(request.device), timeline);
  report.space = scene.space;
  report.small_pool = scene.small_pool;
  report.stream = scene.stream;
  report.private_pool = scene.private_pool;
  report.cause = oom::CauseOf(scene);
  report.missing = scene.need() > scene.space.free ? scene.need() - scene.space.free : 0;
  report.sites = oom::UsesOf(scene, sites_);
  const std::vector<AllocationId> live = oom::LiveIn(scene);
  report.holders = holders_->Of(live);
  report.held_by = TreeOf(*holders_, live);
  report.without_holder = holders_->RestOf(live);
  oom::CompareWithStepBefore(scene, sites_, report);
  switch (report.cause) {
    case FailureCause::kHostMemory:
    case FailureCause::kRefused:
    case FailureCause::kUnknown:
      break;
    default:
      report.remedies = oom::FindRemedies(scene, sites_, report);
      oom::FindGrowth(scene, symbols_, sites_, LeaksOf(session_)->leaks, &report);
      if (request.framework) oom::AddTraining(Training(), &report);
  }
  return report;
}

}  // namespace memprof::analysis
