// The evidence of a leak, and of memory that is merely alive at exit, as text.
#pragma once

#include <string>

#include "analysis/leaks/leaks.h"
#include "analysis/leaks/sites.h"

namespace memprof::analysis {

// Facts that the sentences need beyond the Leak itself.
struct LeakEvidence {
  // What stays: blocks; bytes, whichever blocks hold them; blocks of several sites together.
  enum class By { kBlocks, kHeld, kTogether };
  By by = By::kBlocks;
  std::size_t sites = 1;        // that were judged together
  bool level = false;           // judged not to be growth of the run
  bool one_pass = false;        // GrowsWithinOnePass
  bool only_allocates = false;  // nothing was freed (StepClock::births_only)
  SiteJudgement judgement;
  std::int64_t longest_lifetime = 0;
  std::uint64_t allocations = 0, frees = 0;  // of the whole site; without frees on exit
  bool thinned = false;        // others that lived shortly can be left out of the log,
  double short_lived = 0;      // an estimate of their number
  bool freed_on_exit = false;  // the survivors were freed only after the last completed step
  bool access_known = false;
  bool in_use = false;       // survivors were used in the last steps
  std::string tensors;       // names of tensors in the survivors; may be empty
  std::string modules;       // which modules made them; may be empty
  std::size_t siblings = 0;  // other leaks whose survivors were born in the same steps
};

std::string LeakWhy(const StepClock& clock, const Leak& leak, const SiteHistory& history,
                    const LeakEvidence& evidence);
std::string LeakDisproof(const Leak& leak, const LeakEvidence& evidence);

// Memory of a site's survivors to which no pointer is left.
struct Unreachable {
  std::uint64_t blocks = 0, bytes = 0;
  EventId scan;  // the last scan that found it
};
// The proof, as a sentence; `scanned_bytes` of host memory were searched.
std::string UnreachableWhy(const Leak& leak, const Unreachable& lost, std::uint64_t scanned_bytes);
std::string UnreachableDisproof();

// Why imported memory that was never closed is reported.
std::string ImportWhy(const Session& session, const LeakSite& site);
// Why memory alive at exit is not called a leak, from when it was born.
std::string AliveWhy(const Session& session, const StepClock& clock, const LeakSite& site);

// "history (float32 1024 x 256), 12 times, bias (float32 8)" from the tensors that lie in `ids`; ""
// if there are none.
std::string TensorNames(const Session& session, const std::vector<AllocationId>& ids);

}  // namespace memprof::analysis
