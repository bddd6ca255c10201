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

// The step that contains `time`; steps.size() = none.
std::size_t StepAt(std::span<const StepInfo> steps, TimeNs time) {
  const auto after = std::ranges::upper_bound(steps, time, {}, &StepInfo::begin);
  return after == steps.begin() ? steps.size()
                                : static_cast<std::size_t>(after - steps.begin()) - 1;
}

void AddSamples(const Session& session, StepLayer layer, std::span<const StepInfo> steps,
                std::vector<StepFigures>* figures) {
  const auto sampling = SamplingOf(session);
  for (std::size_t i = 0; i < steps.size(); ++i) (*figures)[i].whole = sampling->IsWhole(steps[i]);
  for (const EventId id : sampling->drawn) {
    const DrawnBlock block = DrawnAt(session, id);
    const std::size_t step = StepAt(steps, block.begin);
    if (!IsOfStepLayer(layer, block.layer) || step == steps.size()) continue;
    (*figures)[step].drawn_count.AddDrawn(block.weight, 1);
    (*figures)[step].drawn_bytes.AddDrawn(block.weight, static_cast<double>(block.bytes));
  }
  const Layer counted = layer == StepLayer::kBlocks ? Layer::kBlock : Layer::kUnspecified;
  for (const Stretch& stretch : sampling->stretches) {
    std::uint64_t highest = 0;
    for (const CountedLevel& level : stretch.levels)
      if (level.layer == counted) highest += level.highest;
    for (std::size_t i = StepAt(steps, stretch.begin); i < steps.size(); ++i) {
      if (steps[i].begin >= stretch.end) break;
      std::uint64_t& peak = (*figures)[i].counted_peak;
      peak = std::max(peak, highest);
    }
  }
}

// Compares whole steps.
void AddLikeness(const Session& session, StepLayer layer, std::span<const StepInfo> steps,
                 std::vector<StepFigures>* figures) {
  const StepStream stream = StreamOf(session, layer, true);
  TokenStream tokens{.token = {}, .distinct = stream.tokens.distinct};
  std::vector<std::uint32_t> begins;
  const auto position = [&](EventId event) {
    return std::lower_bound(stream.births.begin(), stream.births.end(), event) -
           stream.births.begin();
  };
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (!(*figures)[i].whole) continue;
    begins.push_back(static_cast<std::uint32_t>(tokens.token.size()));
    const auto begin = stream.tokens.token.begin();
    tokens.token.insert(
        tokens.token.end(), begin + position(steps[i].event),
        i + 1 < steps.size() ? begin + position(steps[i + 1].event) : stream.tokens.token.end());
  }
  const WindowLikeness likeness = CompareWindows(tokens, begins, tokens.size());
  auto next = likeness.likeness.begin();
  for (StepFigures& f : *figures)
    if (f.whole) f.likeness = *next++;
}

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
  for (const EventId id : SamplingOf(session)->drawn) {
    blocks += session.events().layer(id.value) == Layer::kBlock ? 1 : 0;
    driver += OccupiesDevice(session.events().layer(id.value)) ? 1 : 0;
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
  AddSamples(session, layer, steps, &figures);
  AddLikeness(session, layer, steps, &figures);
  return figures;
}

}  // namespace memprof::analysis
