// The content of the advice view: findings with resolved names, computed once for a session.
#pragma once

#include <QString>
#include <QStringList>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <unordered_map>
#include <vector>

#include "analysis/advice/advice.h"
#include "analysis/filter/allocation_filter.h"
#include "analysis/store/allocation_set.h"
#include "analysis/symbols/symbols.h"
#include "viewer/models/fact_table.h"

namespace memprof::viewer {

// Stacks whose sites have the same name are one call site, as in every table. Not thread-safe.
class SiteNumbers {
 public:
  explicit SiteNumbers(analysis::Symbols& symbols) : symbols_(symbols) {}
  std::uint32_t Of(analysis::StackId stack);
  const QString& Name(analysis::StackId stack) { return names_[Of(stack)]; }

 private:
  analysis::Symbols& symbols_;
  std::unordered_map<std::uint32_t, std::uint32_t> by_stack_;
  std::unordered_map<std::string, std::uint32_t> by_name_;
  std::vector<QString> names_;
};

struct AdviceEntry {
  analysis::Finding finding;
  QString site;
  std::vector<analysis::SourceFrame> stack;  // innermost first
  analysis::SourceFrame frame;               // of the site
  double held = 0;                           // bytes no longer held, averaged over the run
  // "Off the peak": before and after; 0 if peaks do not matter.
  std::uint64_t peak_before = 0;
  std::int64_t peak_step = -1;                // of the new peak
  std::optional<analysis::TimeNs> peak_time;  // of the new peak
};

struct AdvicePicture {
  std::vector<AdviceEntry> entries;  // best first, also those below the noise
  std::uint64_t hidden = 0, noise_bytes = 0;
  QStringList notes;  // what the log lacks, a sentence each
};

// Null after a request to stop. `progress` may be empty.
std::shared_ptr<const AdvicePicture> MakeAdvicePicture(const analysis::Session& session,
                                                       analysis::Symbols& symbols,
                                                       const std::function<void(double)>& progress,
                                                       const std::stop_token& stop);

// By entry: whether the filter passes it.
std::vector<bool> PassingEntries(const analysis::Session& session, analysis::Symbols& symbols,
                                 const AdvicePicture& picture,
                                 const analysis::AllocationSet& passing);

// The allocations and events of a finding, largest first.
std::vector<FactColumn> AffectedColumns();
std::vector<FactRow> AffectedRows(const analysis::Session& session, const AdviceEntry& entry);

// The saving as text: "34.0 MiB off the peak; 15.6 MiB less held on average".
QString GainText(const AdviceEntry& entry);

}  // namespace memprof::viewer
