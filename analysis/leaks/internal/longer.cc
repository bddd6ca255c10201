// Compares how the blocks of sites become larger over a run.
#include "analysis/leaks/internal/longer.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace memprof::analysis {
namespace {

constexpr std::int64_t kParts = 5;
// One other site may become larger by chance, or because it reads what grows.
constexpr int kFewLayers = 3;

// The bytes and the number of a site's blocks born in each fifth of the judged steps.
struct Sizes {
  std::array<double, kParts> bytes{}, blocks{};

  bool known() const {
    return std::all_of(bytes.begin(), bytes.end(), [](double part) { return part > 0; });
  }
  // By what factor a block of this part is larger than one of the first.
  double Grown(std::size_t part) const { return bytes[part] / blocks[part] * blocks[0] / bytes[0]; }
};

Sizes SizesOf(const Session& session, const StepClock& clock, const LeakSite& site) {
  const std::int64_t begin = WarmupSteps(clock.completed());
  const std::int64_t steps = clock.completed() - begin;
  Sizes sizes;
  for (const AllocationId id : site.members) {
    const AllocationRecord& a = session.record(id);
    const std::int64_t step = clock.IndexAt(a.birth) - begin;
    if (step < 0 || step >= steps) continue;
    const auto part = static_cast<std::size_t>(step * kParts / steps);
    sizes.bytes[part] += static_cast<double>(a.bytes);
    ++sizes.blocks[part];
  }
  return sizes;
}

// Whether both become larger in the same proportion all the time.
bool GrowAlike(const Sizes& a, const Sizes& b) {
  for (std::size_t part = 1; part < kParts; ++part)
    if (std::abs(a.Grown(part) - b.Grown(part)) > 0.1 * std::abs(a.Grown(part) - 1) + 0.01)
      return false;
  return true;
}

// Whether several other sites allocate and free, or replace, at least as much that becomes larger
// alike.
bool StepsGetLonger(const Session& session, const StepClock& clock,
                    const std::vector<LeakSite>& sites, const LeakCandidate& candidate) {
  const Sizes own = SizesOf(session, clock, candidate.site);
  if (!own.known() || own.Grown(kParts - 1) <= 1) return false;
  double alike = 0;
  int layers = 0;
  for (const LeakSite& site : sites) {
    if (site.device != candidate.site.device || site.judged_alive.size() > 1 ||
        site.stack == candidate.site.stack)
      continue;
    const Sizes sizes = SizesOf(session, clock, site);
    if (!sizes.known() || !GrowAlike(own, sizes)) continue;
    alike += sizes.bytes.back();
    ++layers;
  }
  return layers >= kFewLayers && alike >= own.bytes.back();
}

}  // namespace

void LeaveOutLongerInputs(const Session& session, const StepClock& clock,
                          const std::vector<LeakSite>& sites, JudgedSites* judged) {
  const std::size_t longer = std::erase_if(judged->leaks, [&](const LeakCandidate& candidate) {
    return candidate.evidence.by == LeakEvidence::By::kHeld &&
           StepsGetLonger(session, clock, sites, candidate);
  });
  judged->inputs_get_longer = longer > 0;
}

}  // namespace memprof::analysis
