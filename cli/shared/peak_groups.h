// What was live at a peak, in the groups that people think in, each with the peak without it. A
// further way to group needs one call of PeakSavings::Without and one of SavingsTable.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analysis/peak/peak.h"
#include "analysis/peak/savings.h"
#include "analysis/store/session.h"
#include "analysis/symbols/symbols.h"
#include "cli/console/json.h"
#include "cli/shared/places.h"

namespace memprof::cli {

// SiteLabel() and SiteKey() of stacks, remembered.
class SiteLabels {
 public:
  explicit SiteLabels(analysis::Symbols& symbols) : symbols_(symbols) {}
  const std::string& Of(analysis::StackId stack);
  const std::string& KeyOf(analysis::StackId stack);
  // Where a tensor was made. One that the agent of `memprof run --torch` named, which is later, was
  // made where the memory below it was.
  const std::string& OfTensor(const analysis::Session& session,
                              const analysis::AllocationRecord& tensor);

 private:
  bool NamedByAgent(analysis::StackId stack);

  analysis::Symbols& symbols_;
  std::unordered_map<std::uint32_t, bool> by_agent_;
  std::unordered_map<std::uint32_t, std::string> labels_, keys_;
};

// Tensors that a person would call the same.
struct TensorGroup {
  std::string name, shape, site;
  std::uint64_t bytes = 0, count = 0;
  std::int64_t first_step = 0, last_step = 0;  // of births
};
// Of these tensors; largest first.
std::vector<TensorGroup> GroupTensors(const analysis::Session& session, SiteLabels& labels,
                                      const std::vector<analysis::AllocationId>& tensors);

// Blocks by stack; in no particular order.
std::vector<analysis::Site> BlockSites(const analysis::Session& session,
                                       const std::vector<analysis::AllocationId>& blocks);

// The peak of (device, of) without each place, stack, layer or group of tensors: without all that
// it allocated in the run.
std::vector<analysis::PeakSaving> WithoutPlaces(const analysis::Session& session,
                                                SiteLabels& labels,
                                                const analysis::PeakSavings& savings, int device,
                                                analysis::PeakLayer of,
                                                const std::vector<Place>& places);
std::vector<analysis::PeakSaving> WithoutSites(const analysis::PeakSavings& savings, int device,
                                               analysis::PeakLayer of,
                                               const std::vector<analysis::Site>& sites);
// Index = Layer.
std::vector<analysis::PeakSaving> WithoutLayers(const analysis::PeakSavings& savings, int device);
std::vector<analysis::PeakSaving> WithoutTensorGroups(const analysis::Session& session,
                                                      SiteLabels& labels,
                                                      const analysis::PeakSavings& savings,
                                                      int device,
                                                      const std::vector<TensorGroup>& groups);

// One row of a table of groups.
struct PeakRow {
  std::string label;
  std::uint64_t bytes = 0, blocks = 0;  // live at the peak; 0 blocks are not shown
  analysis::PeakSaving saving;
};
// The first `top` of `rows` (0 = all) with their share of `whole`; `what` names the last column. A
// column that no row has anything in is left out.
std::string SavingsTable(const analysis::Session& session, const std::vector<PeakRow>& rows,
                         std::uint64_t whole, std::size_t top, std::string_view what);

// Sets `time_ns` and `step` of a peak.
void AddInstant(const analysis::Session& session, const analysis::NewPeak& peak, Json* json);
// {"peak_bytes", "saves_bytes", "time_ns", "step"}.
Json SavingJson(const analysis::Session& session, const analysis::PeakSaving& saving);
// "step 12", "set-up", "1.20 s" where there are no steps, "-" for no instant.
std::string InstantLabel(const analysis::Session& session, analysis::EventId event);

}  // namespace memprof::cli
