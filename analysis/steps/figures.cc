// Sums what happened within steps.
#include "analysis/steps/figures.h"

#include <algorithm>
#include <array>

#include "analysis/steps/internal/stream.h"
#include "analysis/store/lifetime_walk.h"

namespace memprof::analysis {
namespace {

class FiguresVisitor {
 public:
  FiguresVisitor(const Session& session, StepLayer layer, std::span<const StepInfo> steps)
      : records_(session.records()), layer_(layer), steps_(steps), figures_(steps.size()) {}

  void Birth(EventId event, AllocationId id) {
    Enter(event);
    const AllocationRecord& a = records_[id.value];
    if (!IsOfStepLayer(layer_, a.layer)) return;
    live_ += a.bytes;
    if (step_ < 0) return;
    StepFigures& figures = figures_[static_cast<std::size_t>(step_)];
    ++figures.allocations;
    figures.allocated_bytes += a.bytes;
    figures.peak_bytes = std::max(figures.peak_bytes, live_);
  }
  void Death(EventId event, AllocationId id) {
    Enter(event);
    const AllocationRecord& a = records_[id.value];
    if (!IsOfStepLayer(layer_, a.layer)) return;
    live_ -= a.bytes;
    if (step_ < 0) return;
    StepFigures& figures = figures_[static_cast<std::size_t>(step_)];
    ++figures.frees;
    figures.freed_bytes += a.bytes;
  }
  void After(EventId) {}

  std::vector<StepFigures> Finish(std::uint32_t events) {
    Enter(EventId(events));
    if (step_ >= 0) figures_[static_cast<std::size_t>(step_)].after_bytes = live_;
    return std::move(figures_);
  }

 private:
  // Ends the steps that are over before `event`.
  void Enter(EventId event) {
    while (static_cast<std::size_t>(step_ + 1) < steps_.size() &&
           steps_[static_cast<std::size_t>(step_ + 1)].event <= event) {
      if (step_ >= 0) figures_[static_cast<std::size_t>(step_)].after_bytes = live_;
      figures_[static_cast<std::size_t>(++step_)].peak_bytes = live_;
    }
  }

  std::span<const AllocationRecord> records_;
  StepLayer layer_;
  std::span<const StepInfo> steps_;
  std::vector<StepFigures> figures_;
  std::int64_t step_ = -1;
  std::uint64_t live_ = 0;
};

}  // namespace

bool IsOfStepLayer(StepLayer wanted, Layer layer) {
  switch (wanted) {
    case StepLayer::kBlocks:
      return layer == Layer::kBlock;
    case StepLayer::kTensors:
      return layer == Layer::kTensor;
    case StepLayer::kDriver:
      return OccupiesDevice(layer);
  }
  return false;
}

StepLayer ChooseStepLayer(const Session& session) {
  std::uint64_t blocks = 0, tensors = 0, driver = 0;
  for (const AllocationRecord& a : session.records()) {
    blocks += a.layer == Layer::kBlock ? 1 : 0;
    tensors += a.layer == Layer::kTensor ? 1 : 0;
    driver += OccupiesDevice(a.layer) ? 1 : 0;
  }
  const std::uint64_t most = std::max({blocks, tensors, driver});
  // Tensors last: they come and go without memory, as views do.
  if (blocks * 4 >= most && blocks > 0) return StepLayer::kBlocks;
  return driver * 4 >= most ? StepLayer::kDriver : StepLayer::kTensors;
}

std::int64_t WarmUpSteps(std::span<const double> likeness) {
  const auto first = std::find_if(likeness.begin(), likeness.end(),
                                  [](double value) { return value >= kStepAlike; });
  return first == likeness.end() ? 0 : first - likeness.begin();
}

std::vector<StepFigures> DescribeSteps(const Session& session, std::span<const StepInfo> steps) {
  if (steps.empty()) return {};
  const StepLayer layer = ChooseStepLayer(session);
  FiguresVisitor visitor(session, layer, steps);
  WalkLifetimes(session, visitor);
  std::vector<StepFigures> figures =
      visitor.Finish(static_cast<std::uint32_t>(session.events().size()));
  const StepStream stream = StreamOf(session, layer, true);
  std::vector<std::uint32_t> begins;
  for (const StepInfo& step : steps)
    begins.push_back(static_cast<std::uint32_t>(
        std::lower_bound(stream.births.begin(), stream.births.end(), step.event) -
        stream.births.begin()));
  const WindowLikeness likeness = CompareWindows(stream.tokens, begins, stream.tokens.size());
  for (std::size_t i = 0; i < figures.size(); ++i) figures[i].likeness = likeness.likeness[i];
  return figures;
}

}  // namespace memprof::analysis
