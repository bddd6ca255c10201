// Finds inefficient use of memory in events, copies and launch arguments: what to change, where,
// and what that would save. docs/advise.md has the exact rule of each pattern.
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
#include "analysis/symbols/symbols.h"
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
  kSetting,
  kPinnedRounding,
  kWaiting,
  kHeldOver,
  // Remedies of the peak, in the order of RemedyOfPeak.
  kFusedStep,
  kFreedGradients,
  kChunkedLoss,
  kBucketViews,
  kCheckpointing,
  kSmallBatches,
  kSmallState,
  kNoState,
};
inline constexpr int kPatternCount = 31;

// PatternId: "early-allocation", for JSON. PatternName: "early allocation", for people.
std::string_view PatternId(Pattern pattern);
std::string_view PatternName(Pattern pattern);

// Whether its gain is predicted (analysis/remedies/remedies.h); of others it is exact.
inline bool IsRemedyOfPeak(Pattern pattern) { return pattern >= Pattern::kFusedStep; }

// Whether the change costs time to save memory, or is a bound and no change: listed after changes
// that cost nothing.
bool IsTradeOff(Pattern pattern);

enum class Confidence : std::uint8_t {
  kCertain,   // the events alone say so
  kLikely,    // unless pointers in device memory, or other streams, say otherwise
  kPossible,  // under an assumption that the log cannot check; Finding::assumption says which
};
std::string_view ConfidenceName(Confidence confidence);  // "certain", "likely", "possible"

struct AdviceExample {
  EventId event;            // what to look at: a birth, copy, free, failure
  AllocationId allocation;  // none if no allocation is concerned
  AllocationId other;       // the second one, if two are concerned
  std::string what;         // in words; may be empty
};

// One pattern at one call site.
struct Finding {
  Pattern pattern = Pattern::kLeak;
  Confidence confidence = Confidence::kCertain;
  int device = kNoDevice;
  Layer layer = Layer::kUnspecified;
  StackId stack;            // of its first allocation
  std::uint64_t count = 0;  // allocations, copies, pairs, failures: `why` says which
  std::uint64_t bytes = 0;  // of these, summed
  std::int64_t first_step = -1, last_step = -1;

  // The exact new peak of this layer if all of it were changed at once; none where peaks do not
  // matter. `upper_bound`: the saving is at most that much.
  std::optional<PeakLayer> peak_of;
  NewPeak new_peak;
  std::uint64_t saves_bytes = 0;
  bool upper_bound = false;
  // Peaks of the allocator's reserved bytes by a replay: as they were, and changed. 0 = no replay.
  std::uint64_t reserved = 0, new_reserved = 0;
  double byte_seconds = 0;        // of memory that would be freed earlier or allocated later
  std::uint64_t moved_bytes = 0;  // of copies, memsets and allocations that would not be needed

  std::vector<AdviceExample> examples;  // largest first, as many as the options say
  bool below_noise = false;             // see AdviceOptions::keep_noise
  std::string module;                   // of kCheckpointing: the class
  std::string why, fix, assumption;     // sentences; the last may be empty
};

// One pattern, and whether the log has the evidence for it.
struct PatternSummary {
  bool looked_for = false;
  std::string missing;  // the missing evidence, if the pattern could not be searched for
  std::uint64_t findings = 0, hidden = 0;
};

// Several remedies of the peak together; of a block that two concern, the first one's change
// counts.
struct AdviceCombination {
  std::vector<Pattern> patterns;
  int device = kNoDevice;
  std::uint64_t saves_bytes = 0;
  NewPeak new_peak;                // of blocks
  std::uint64_t new_reserved = 0;  // 0 = no replay
};

struct AdviceReport {
  std::vector<Finding> findings;                // best first
  std::vector<AdviceCombination> combinations;  // of each device, of two and of three
  std::vector<PatternSummary> patterns;         // index = Pattern
  std::uint64_t hidden = 0;                     // findings below the noise
  std::uint64_t noise_bytes = 0;  // of the largest device: findings below this are hidden
  AccessEvidence evidence;
  std::vector<std::string> notes;  // evidence that is not in the log, and how to record it
};

struct AdviceOptions {
  // Stacks with the same number are one call site; if empty, each stack is one.
  std::function<std::uint32_t(StackId)> site_of;
  // For remedies of the peak, which need names; null: these are not searched.
  Symbols* symbols = nullptr;
  double noise = 0.001;  // of a device's peak; 0: nothing is hidden
  // Findings below the noise are returned too, marked as such, and still counted as hidden.
  bool keep_noise = false;
  std::size_t max_examples = 3;  // of each finding
  // Called from time to time with the share done in [0, 1]; if it returns false, the search stops
  // and the report is empty.
  ProgressFunction progress;
};

// Thread-safe. O(n log n) in the number of events and uses.
AdviceReport FindAdvice(const Session& session, const AdviceOptions& options = {});

}  // namespace memprof::analysis
