// Known changes of a PyTorch training that lower its peak of memory. Each is tried on the recorded
// run: the run's blocks with other lifetimes and sizes, and the peak of that. docs/advise.md has
// the rule of each change, and how near the predictions were.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/categories/categories.h"
#include "analysis/peak/change.h"
#include "analysis/peak/savings.h"
#include "analysis/store/session.h"
#include "analysis/symbols/symbols.h"

namespace memprof::analysis {

enum class RemedyOfPeak : std::uint8_t {
  kFusedStep,       // the optimizer's step without temporaries
  kFreedGradients,  // no gradients while there is none to use
  kChunkedLoss,     // logits in pieces
  kBucketViews,     // gradients that lie in the buckets of DistributedDataParallel
  kCheckpointing,   // activations computed again
  kSmallBatches,    // gradients accumulated over two halves of the batch
  kSmallState,      // optimizer state of 8 bits
  kNoState,         // optimizer state and step on the host
};
inline constexpr int kRemedyOfPeakCount = 8;

std::string_view RemedyOfPeakName(RemedyOfPeak kind);

// Memory that is held after each of the events [begin, end).
struct HeldPiece {
  EventId begin, end;
  std::uint64_t bytes = 0;
  AllocationId of;  // the block that it is a part of, or replaces; none
};

// How the run's blocks would be: without `gone`, with `added`.
struct BlockChanges {
  std::vector<AllocationId> gone;  // ascending
  std::vector<HeldPiece> added;
};

// One remedy on one device.
struct PeakRemedy {
  RemedyOfPeak kind = RemedyOfPeak::kFusedStep;
  int device = kNoDevice;
  PeakSaving saving;  // of the peak of blocks
  // Peaks of the allocator's reserved bytes by a replay of its requests: as they were, and changed.
  // 0 = not replayed.
  std::uint64_t reserved = 0, new_reserved = 0;
  // Requests failed in the run, and with this none would (by the same replay).
  bool ends_failures = false;
  // Whether memory is predicted that the run did not have; else only memory is left out.
  bool predicts = false;
  std::uint64_t count = 0, bytes = 0;    // of the blocks concerned, of those live at the peak
  StackId stack;                         // of those, the one with most bytes
  std::vector<AllocationId> examples;    // of those, largest first; at most 3
  std::string subject;                   // of kCheckpointing: the module's class
  std::string name;                      // "checkpointing of Block": in a sentence
  std::string seen, change, assumption;  // sentences; the last may be empty
  BlockChanges changes;
};

// Several remedies at once.
struct PeakCombination {
  std::vector<std::size_t> remedies;  // rows of PeakRemedies::remedies
  PeakSaving saving;
  std::uint64_t new_reserved = 0;  // 0 = not replayed
};

struct PeakRemedies {
  std::vector<PeakRemedy> remedies;  // by device, then by what they save
  // Of each device: the two and the three that save most together, if that is more than fewer do.
  std::vector<PeakCombination> combinations;
};

// Those for which the log has the evidence and that save anything; none for other programs than
// PyTorch's. `symbols` may be null, then there is no evidence. Thread-safe. O(n log n) of the
// events, for each remedy; `replay`: also computes reserved bytes.
PeakRemedies FindPeakRemedies(const Session& session, Symbols* symbols,
                              const Categories& categories, const PeakLevels& levels,
                              bool replay = true);

}  // namespace memprof::analysis
