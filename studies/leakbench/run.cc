// Interleaves the cases' lives in one log, and finds its leaks.
#include "studies/leakbench/run.h"

#include <algorithm>
#include <map>
#include <memory>

#include "absl/strings/str_cat.h"
#include "analysis/leaks/leaks.h"
#include "analysis/steps/found.h"
#include "analysis/symbols/symbols.h"
#include "tests/support/random_log.h"

namespace memprof::leakbench {
namespace {

using analysis::Layer;
using analysis::testing::LogBuilder;

// The file of the functions through which a case allocates; they are separate places.
constexpr char kHelpers[] = "lib.cc";

class LoggedSite : public Site {
 public:
  // `frames` lead to the case's function, `below` from there to the allocation.
  LoggedSite(LogBuilder* log, Layer layer, std::vector<std::string> frames,
             std::vector<std::string> below, std::uint64_t first_address, bool accesses)
      : log_(*log),
        layer_(layer),
        frames_(std::move(frames)),
        below_(std::move(below)),
        next_(first_address),
        accesses_(accesses) {}

  void AtStep(int step) { step_ = step; }
  std::vector<BlockLife> TakeBlocks() { return std::move(blocks_); }

  std::uint64_t Alloc(std::uint64_t bytes) override { return AllocVia("", 0, bytes); }
  std::uint64_t AllocVia(const std::string& helper, int depth, std::uint64_t bytes) override {
    int& stack = stacks_[{helper, depth}];
    if (stack == 0) stack = log_.Stack(Way(helper, depth));
    const std::uint64_t address = next_;
    next_ += (bytes + 511) / 512 * 512;
    log_.AdvanceTime(1000);
    log_.Alloc(layer_, address, bytes, {.device = Device(), .stack = stack});
    live_[address] = blocks_.size();
    blocks_.push_back({.birth = step_, .bytes = bytes});
    return address;
  }
  void Free(std::uint64_t address) override {
    log_.AdvanceTime(1000);
    log_.Free(layer_, address, {.device = Device()});
    blocks_[live_.at(address)].death = step_;
    live_.erase(address);
  }
  // At the program's end; not part of the site's behaviour in steps.
  void FreeOnTheWayOut() {
    for (const auto& [address, block] : live_) log_.Free(layer_, address, {.device = Device()});
  }
  void Touch(std::uint64_t address) override {
    if (!accesses_ || layer_ == Layer::kPinned) return;
    log_.Event(analysis::Op::kTouch, Layer::kUnspecified, address, 0, 0, {.device = Device()});
  }

 private:
  int Device() const { return layer_ == Layer::kPinned ? analysis::kNoDevice : 0; }

  std::vector<std::string> Way(const std::string& helper, int depth) const {
    std::vector<std::string> way = frames_;
    for (int i = 0; i < depth; ++i) way.push_back(absl::StrCat(helper, " (", kHelpers, ":7)"));
    way.insert(way.end(), below_.begin(), below_.end());
    return way;
  }

  LogBuilder& log_;
  const Layer layer_;
  const std::vector<std::string> frames_, below_;
  std::map<std::pair<std::string, int>, int> stacks_;
  std::uint64_t next_;
  const bool accesses_;
  int step_ = -1;
  std::map<std::uint64_t, std::size_t> live_;
  std::vector<BlockLife> blocks_;
};

struct Running {
  Sample sample;
  Life life;
  std::unique_ptr<LoggedSite> site;
};

// The case at `index` of its list, with parameters drawn from `seed`.
Running Begin(LogBuilder* log, const RunOptions& options, std::uint32_t seed, int steps,
              std::size_t index) {
  const Case& one = Cases(options.kinds)[index];
  Draw draw{.random = std::mt19937_64(seed * 1000 + index), .steps = steps};
  draw.bytes = 512ull << draw.Between(0, 13);  // 512 B to 4 MiB
  const LifeAndSlope made = one.make(draw);
  // The stack to the case's function, and from there the part that all allocations share.
  std::vector<std::string> frames = {"main (train.cc:10)", "Train (train.cc:44)"}, below;
  if (draw.Chance(0.5)) frames.push_back("Model::Forward (model.cc:70)");
  frames.push_back(absl::StrCat(one.name, " (", one.name, ".cc:", draw.Between(1, 400), ")"));
  if (draw.Chance(0.5)) below.push_back("Tensor::Make (tensor.cc:57)");
  below.push_back("Allocator::Allocate (allocator.cc:120)");
  Running running;
  running.sample = {.of = &one, .steps = steps, .true_bytes_per_step = made.bytes_per_step};
  running.life = made.life;
  running.site = std::make_unique<LoggedSite>(log, one.layer, frames, below,
                                              std::uint64_t{index + 1} << 40, options.accesses);
  return running;
}

void Judge(const std::shared_ptr<const analysis::Session>& session, std::vector<Running>* all) {
  std::map<std::string, Sample*> by_name;
  for (Running& running : *all) by_name[running.sample.of->name] = &running.sample;
  analysis::Symbols symbols(session);
  for (const analysis::Leak& leak : analysis::FindLeaks(*session).leaks) {
    const std::vector<analysis::SourceFrame> frames = symbols.ResolveStack(leak.stack);
    for (const analysis::SourceFrame& frame : frames) {
      const auto found = by_name.find(frame.function);
      if (found == by_name.end()) continue;
      Sample& sample = *found->second;
      sample.said =
          std::max(sample.said,
                   leak.tier == analysis::LeakTier::kGrowing ? Said::kGrowing : Said::kSuspected);
      const analysis::SourceFrame site = symbols.Site(leak.stack);
      sample.site_right = site.function == frame.function || site.file == kHelpers;
      sample.bytes_per_step += leak.bytes_per_step;
    }
  }
}

std::vector<Sample> RunSideBySide(std::uint32_t seed, int steps, const RunOptions& options) {
  LogBuilder log;
  log.Device(0, std::uint64_t{1} << 50);
  std::vector<Running> all;
  for (std::size_t i = 0; i < Cases(options.kinds).size(); ++i)
    if (!Cases(options.kinds)[i].alone) all.push_back(Begin(&log, options, seed, steps, i));
  const int last = options.until > 0 ? std::min(options.until, steps) : steps;
  for (int step = -1; step < last; ++step) {
    if (step >= 0) log.Step(static_cast<std::uint64_t>(step));
    for (Running& running : all) {
      running.site->AtStep(step);
      running.life(*running.site, step);
    }
  }
  log.Step(static_cast<std::uint64_t>(last));  // the end of the program
  const auto session = analysis::testing::LoadLog(log);
  if (session == nullptr) return {};
  Judge(session, &all);
  std::vector<Sample> samples;
  for (Running& running : all) {
    running.sample.blocks = running.site->TakeBlocks();
    samples.push_back(std::move(running.sample));
  }
  return samples;
}

// Other allocations of a program, around a single case.
class Surroundings {
 public:
  Surroundings(LogBuilder* log, std::uint32_t seed, bool pattern)
      : log_(*log), pattern_(pattern), draw_{.random = std::mt19937_64(seed)} {
    constexpr int kPlaces = 12;
    for (int i = 0; i < kPlaces; ++i) {
      std::vector<std::string> way = {"main (train.cc:10)", "Train (train.cc:44)",
                                      absl::StrCat("Layer", i, " (model.cc:", 100 + i, ")")};
      if (i % 2 == 0) way.push_back("Tensor::Make (tensor.cc:57)");
      way.push_back("Allocator::Allocate (allocator.cc:120)");
      places_.push_back(log_.Stack(way));
      sizes_.push_back(512ull << draw_.Between(0, 13));
    }
    for (const int place : places_) log_.Alloc(Layer::kBlock, Next(), 8192, {.stack = place});
    if (pattern_) places_.resize(static_cast<std::size_t>(draw_.Between(4, kPlaces)));
  }

  void BeginTurn() {
    const auto count = pattern_ ? static_cast<int>(places_.size()) : draw_.Between(1, 15);
    for (int i = 0; i < count; ++i) {
      const auto place = static_cast<std::size_t>(
          pattern_ ? i : draw_.Between(0, static_cast<int>(places_.size()) - 1));
      const std::uint64_t bytes =
          pattern_ ? sizes_[place] : 512ull * static_cast<std::uint64_t>(draw_.Between(1, 5000));
      passing_.push_back(Next());
      log_.Alloc(Layer::kBlock, passing_.back(), bytes, {.stack = places_[place]});
    }
  }
  void EndTurn() {
    for (; !passing_.empty(); passing_.pop_back()) log_.Free(passing_.back());
    log_.AdvanceTime(1000 * static_cast<std::uint64_t>(draw_.Between(1, 100)));
  }
  bool TidiesUp() { return draw_.Chance(0.5); }

 private:
  std::uint64_t Next() { return next_ += 1 << 26; }

  LogBuilder& log_;
  const bool pattern_;
  Draw draw_;
  std::uint64_t next_ = std::uint64_t{200} << 40;
  std::vector<int> places_;
  std::vector<std::uint64_t> sizes_, passing_;
};

// Alone with the surroundings only.
Sample RunAlone(std::uint32_t seed, int steps, const RunOptions& options, std::size_t index) {
  LogBuilder log;
  log.Device(0, std::uint64_t{1} << 50);
  const bool marked = options.marks == Steps::kMarked;
  Surroundings around(&log, seed, options.marks != Steps::kNoPattern);
  std::vector<Running> all;
  all.push_back(Begin(&log, options, seed, steps, index));
  Running& running = all.front();
  const int last = options.until > 0 ? std::min(options.until, steps) : steps;
  for (int step = -1; step < last; ++step) {
    if (step >= 0 && marked) log.Step(static_cast<std::uint64_t>(step));
    if (step >= 0) around.BeginTurn();
    running.site->AtStep(step);
    running.life(*running.site, step);
    if (step >= 0) around.EndTurn();
  }
  if (marked) log.Step(static_cast<std::uint64_t>(last));
  if (around.TidiesUp()) running.site->FreeOnTheWayOut();
  if (const auto session = analysis::testing::LoadLog(log, {}, {})) Judge(session, &all);
  running.sample.blocks = running.site->TakeBlocks();
  return std::move(running.sample);
}

}  // namespace

std::vector<Sample> Run(std::uint32_t seed, int steps, const RunOptions& options) {
  const bool together = options.marks == Steps::kMarked;
  std::vector<Sample> samples;
  if (together) samples = RunSideBySide(seed, steps, options);
  for (std::size_t i = 0; i < Cases(options.kinds).size(); ++i)
    if (!together || Cases(options.kinds)[i].alone)
      samples.push_back(RunAlone(seed, steps, options, i));
  return samples;
}

}  // namespace memprof::leakbench
