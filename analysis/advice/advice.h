// Inefficiencies that events, copies and launch arguments show: what to change, where, and what
// that would save. docs/advise.md has the exact rule of each pattern.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/base/progress.h"
#include "analysis/peak/change.h"
#include "analysis/store/session.h"
#include "analysis/timeline/accesses.h"

namespace memprof::analysis {

enum class Pattern : std::uint8_t {
  kLeak,
  kUnused,
  kEarlyAllocation,
  kLateRelease,
  kReusable,
  kIdle,
  kRounding,
  kOverReservation,
  kDeadWrite,
  kDuplicateTransfer,
  kRoundTrip,
  kRepeatedUpload,
  kPageableCopy,
  kPinnedUnused,
  kPinnedHuge,
  kManagedFaults,
  kChurn,
  kCacheChurn,
  kRetriedFailure,
};
inline constexpr int kPatternCount = 19;

// "early-allocation": for JSON. "early allocation": for people.
std::string_view PatternId(Pattern pattern);
std::string_view PatternName(Pattern pattern);

// Costs time for memory, or is a bound rather than a change: listed after what costs nothing.
bool IsTradeOff(Pattern pattern);

enum class Confidence : std::uint8_t {
  kCertain,   // the events alone say so
  kLikely,    // unless pointers in device memory, or other streams, say otherwise
  kPossible,  // under an assumption that the log cannot check; Finding::assumption says which
};
std::string_view ConfidenceName(Confidence confidence);  // "certain", "likely", "possible"

struct AdviceExample {
  EventId event;            // where to look: a birth, copy, free, failure
  AllocationId allocation;  // none where it is not about one
  AllocationId other;       // the second one, if it is about two
  std::string what;         // in words; may be empty
};

// One pattern at one call site.
struct Finding {
  Pattern pattern = Pattern::kLeak;
  Confidence confidence = Confidence::kCertain;
  int device = kNoDevice;
  Layer layer = Layer::kUnspecified;
  StackId stack;            // of the first allocation that it is about
  std::uint64_t count = 0;  // allocations, copies, pairs, failures: `why` says which
  std::uint64_t bytes = 0;  // of these, summed
  std::int64_t first_step = -1, last_step = -1;

  // The exact new peak of this sum if all of it were changed at once; none where peaks are not at
  // stake. `upper_bound`: it is what could be saved at most.
  std::optional<PeakLayer> peak_of;
  NewPeak new_peak;
  std::uint64_t saves_bytes = 0;
  bool upper_bound = false;
  double byte_seconds = 0;        // that would no longer be held
  std::uint64_t moved_bytes = 0;  // of copies, memsets, allocations that would no longer be made

  std::vector<AdviceExample> examples;  // largest first, as many as the options say
  bool below_noise = false;             // see AdviceOptions::keep_noise
  std::string why, fix, assumption;     // sentences; the last may be empty
};

// What was looked for.
struct PatternSummary {
  bool looked_for = false;
  std::string missing;  // evidence that is not in the log, if not looked for
  std::uint64_t findings = 0, hidden = 0;
};

struct AdviceReport {
  std::vector<Finding> findings;         // best first
  std::vector<PatternSummary> patterns;  // index = Pattern
  std::uint64_t hidden = 0;              // findings below the noise
  std::uint64_t noise_bytes = 0;         // of the largest device: findings below this are hidden
  AccessEvidence evidence;
  std::vector<std::string> notes;  // what is not in the log, and how to record it
};

struct AdviceOptions {
  // Stacks of one number are one call site; empty: each stack is one.
  std::function<std::uint32_t(StackId)> site_of;
  double noise = 0.001;  // of a device's peak; 0: nothing is hidden
  // What is below the noise is a finding all the same, and says so; it still counts as hidden.
  bool keep_noise = false;
  std::size_t max_examples = 3;  // of each finding
  // Called from time to time with the share done in [0, 1]; returning false gives up, and the
  // report is then empty.
  ProgressFunction progress;
};

// Thread-safe. O(n log n) in the number of events and uses.
AdviceReport FindAdvice(const Session& session, const AdviceOptions& options = {});

}  // namespace memprof::analysis
