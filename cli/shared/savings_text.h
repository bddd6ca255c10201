// Groups of the memory live at a peak, and the peak without each, as text and as JSON.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analysis/base/numbering.h"
#include "analysis/peak/groups.h"
#include "analysis/peak/savings.h"
#include "analysis/store/session.h"
#include "analysis/symbols/symbols.h"
#include "cli/console/json.h"

namespace memprof::cli {

// SiteLabel() of stacks, cached.
class SiteLabels {
 public:
  explicit SiteLabels(analysis::Symbols& symbols) : symbols_(symbols) {}
  const std::string& Of(analysis::StackId stack);

 private:
  analysis::Symbols& symbols_;
  std::unordered_map<std::uint32_t, std::string> labels_;
};

// Groups tensors with the same name, shape and site.
class TensorNames {
 public:
  TensorNames(const analysis::Session& session, analysis::Symbols& symbols)
      : session_(session), labels_(symbols), origins_(session, symbols) {}

  // Name, shape and site.
  using Name = std::tuple<std::string, std::string, std::string>;
  const Name& operator[](std::uint32_t key) const { return names_[key]; }
  analysis::GroupKey Key();

 private:
  const analysis::Session& session_;
  SiteLabels labels_;
  analysis::TensorOrigins origins_;
  analysis::Numbering<Name> names_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> known_;  // by tensor and stack
};

// One row of a table of groups.
struct PeakRow {
  std::string label;
  std::uint64_t bytes = 0, blocks = 0;  // live at the peak; 0 blocks are not printed
  analysis::PeakSaving saving = {};
};
// The first `top` of `rows` (0 = all) with their share of `whole` and, if `savings`, the peak
// without each; `what` is the heading of the last column. Blocks are left out if no row has any.
std::string PeakTable(const analysis::Session& session, const std::vector<PeakRow>& rows,
                      bool savings, std::uint64_t whole, std::size_t top, std::string_view what);

// Sets `time_ns` and `step` of a peak.
void AddInstant(const analysis::Session& session, const analysis::NewPeak& peak, Json* json);
// {"peak_bytes", "saves_bytes", "time_ns", "step"}.
Json SavingJson(const analysis::Session& session, const analysis::PeakSaving& saving);
// "step 12", "set-up"; "1.20 s" without steps; "-" for no instant.
std::string InstantLabel(const analysis::Session& session, analysis::EventId event);

}  // namespace memprof::cli
