// Interleaves the cases' lives into one log, and asks for its leaks.
#include "tests/leakbench/run.h"

#include <algorithm>
#include <map>
#include <memory>

#include "absl/strings/str_cat.h"
#include "analysis/leaks.h"
#include "analysis/symbols.h"
#include "tests/queries/random_log.h"

namespace memprof::leakbench {
namespace {

using analysis::Layer;
using analysis::testing::LogBuilder;

class LoggedSite : public Site {
 public:
  LoggedSite(LogBuilder* log, Layer layer, int stack, std::uint64_t first_address, bool accesses)
      : log_(*log), layer_(layer), stack_(stack), next_(first_address), accesses_(accesses) {}

  void AtStep(int step) { step_ = step; }
  std::vector<BlockLife> TakeBlocks() { return std::move(blocks_); }

  std::uint64_t Alloc(std::uint64_t bytes) override {
    const std::uint64_t address = next_;
    next_ += (bytes + 511) / 512 * 512;
    log_.AdvanceTime(1000);
    log_.Alloc(layer_, address, bytes, {.device = Device(), .stack = stack_});
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
  void Touch(std::uint64_t address) override {
    if (!accesses_ || layer_ == Layer::kPinned) return;
    log_.Event(analysis::Op::kTouch, Layer::kUnspecified, address, 0, 0, {.device = Device()});
  }

 private:
  int Device() const { return layer_ == Layer::kPinned ? analysis::kNoDevice : 0; }

  LogBuilder& log_;
  const Layer layer_;
  const int stack_;
  std::uint64_t next_;
  const bool accesses_;
  int step_ = -1;
  std::map<std::uint64_t, std::size_t> live_;
  std::vector<BlockLife> blocks_;
};

// The way to the case's function, and from there through what all allocations share.
std::vector<std::string> Frames(const std::string& name, Draw& draw) {
  std::vector<std::string> frames = {"main (train.cc:10)", "Train (train.cc:44)"};
  if (draw.Chance(0.5)) frames.push_back("Model::Forward (model.cc:70)");
  frames.push_back(absl::StrCat(name, " (", name, ".cc:", draw.Between(1, 400), ")"));
  if (draw.Chance(0.5)) frames.push_back("Tensor::Make (tensor.cc:57)");
  frames.push_back("Allocator::Allocate (allocator.cc:120)");
  return frames;
}

struct Running {
  Sample sample;
  Life life;
  std::unique_ptr<LoggedSite> site;
};

std::vector<Running> Begin(LogBuilder* log, std::uint32_t seed, int steps, bool accesses) {
  std::vector<Running> all;
  std::uint64_t address = std::uint64_t{1} << 40;
  for (const Case& one : Cases()) {
    Draw draw{.random = std::mt19937_64(seed * 1000 + all.size()), .steps = steps};
    draw.bytes = 512ull << draw.Between(0, 13);  // 512 B to 4 MiB
    const LifeAndSlope made = one.make(draw);
    Running running;
    running.sample = {.of = &one, .steps = steps, .true_bytes_per_step = made.bytes_per_step};
    running.life = made.life;
    running.site = std::make_unique<LoggedSite>(log, one.layer, log->Stack(Frames(one.name, draw)),
                                                address, accesses);
    address += std::uint64_t{1} << 40;
    all.push_back(std::move(running));
  }
  return all;
}

void Judge(const std::shared_ptr<const analysis::Session>& session, std::vector<Running>* all) {
  std::map<std::string, Sample*> by_name;
  for (Running& running : *all) by_name[running.sample.of->name] = &running.sample;
  analysis::Symbols symbols(session);
  for (const analysis::Leak& leak : analysis::FindLeaks(*session).leaks) {
    for (const analysis::SourceFrame& frame : symbols.ResolveStack(leak.stack)) {
      const auto found = by_name.find(frame.function);
      if (found == by_name.end()) continue;
      found->second->said =
          leak.tier == analysis::LeakTier::kGrowing ? Said::kGrowing : Said::kSuspected;
      found->second->site_right = symbols.Site(leak.stack).function == frame.function;
      found->second->bytes_per_step = leak.bytes_per_step;
    }
  }
}

}  // namespace

std::vector<Sample> Run(std::uint32_t seed, int steps, bool accesses, int until) {
  LogBuilder log;
  log.Device(0, std::uint64_t{1} << 50);
  std::vector<Running> all = Begin(&log, seed, steps, accesses);
  const int last = until > 0 ? std::min(until, steps) : steps;
  for (int step = -1; step < last; ++step) {
    if (step >= 0) log.Step(static_cast<std::uint64_t>(step));
    for (Running& running : all) {
      running.site->AtStep(step);
      running.life(*running.site, step);
    }
  }
  log.Step(static_cast<std::uint64_t>(last));  // the program's way out
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

}  // namespace memprof::leakbench
