// Sites and their survivors by birth step: the input of the leak rule.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analysis/leaks/clock.h"
#include "analysis/leaks/rule.h"
#include "analysis/store/session.h"

namespace memprof::analysis {

// One process, stack, layer and device; without a stack, also one size.
struct LeakSite {
  std::uint32_t process = 0;
  int device = kNoDevice;
  Layer layer = Layer::kUnspecified;
  StackId stack;
  std::vector<AllocationId> judged_alive;  // when the last completed step ended, in order of birth
  std::vector<AllocationId> alive_at_end;  // of the log
  std::vector<AllocationId> members;       // every allocation of the site
  std::int64_t longest_lifetime = 0;
  // Bytes that it held when it was judged, beyond those after the warm-up; modulo 2^64.
  std::uint64_t rise = 0;
};

// Which allocations are judged: blocks on devices with a framework's allocator, and driver memory
// that no allocator divides; page-locked host memory; imported memory, which is only reported as
// open. Index = AllocationId.
std::vector<bool> SelectJudged(const Session& session);

// By process; `clocks` are those of the processes.
std::vector<std::vector<LeakSite>> GroupLeakSites(const Session& session,
                                                  std::span<const StepClock> clocks);

// The least bytes that `site` holds in each completed step. `bridged`: a buffer that is freed just
// before a larger one takes its place counts as held meanwhile; the site has members.
std::vector<std::uint64_t> LowsOf(const Session& session, const StepClock& clock,
                                  const LeakSite& site, bool bridged = false);
// The rule's input for `site`: its surviving blocks, by birth.
SiteHistory HistoryOf(const Session& session, const StepClock& clock, const LeakSite& site);
// The same for the bytes that the site holds, whichever blocks hold them: a buffer that is replaced
// by a larger one is memory that stays.
SiteHistory HeldHistoryOf(const SiteHistory& blocks);

}  // namespace memprof::analysis
