// The answer to "what happened to the memory?" in one sentence, and the figures below it: parts of
// text, of which some lead to where their figure comes from.
#pragma once

#include <QString>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "viewer/models/document.h"

namespace memprof::viewer {

// What a click on a part selects.
enum class VerdictView { kCurrent, kTimeline, kCategories, kLeaks, kFailures };
struct VerdictTarget {
  VerdictView view = VerdictView::kCurrent;
  std::optional<int> device;
  std::optional<analysis::TimeNs> instant;
  analysis::StackId site;
};

struct VerdictPart {
  QString text;  // with the spaces around it
  std::optional<VerdictTarget> target;
  QString help;       // of a target: a sentence
  bool name = false;  // may be shortened
  int group = 0;      // without space, the highest group is left out first; 0 never
};

enum class VerdictTone { kPlain, kGood, kWarning, kBad };

struct RunVerdict {
  VerdictTone tone = VerdictTone::kPlain;
  std::vector<VerdictPart> parts;  // the first names the case
  QString detail;                  // the same in full, as `memprof oom` and `memprof leaks` say it
  std::size_t failures = 0;        // requests that failed

  QString Text() const;
};

// What is known of a document; null or empty where it is not known yet.
struct VerdictInput {
  std::shared_ptr<const analysis::Session> session;
  std::shared_ptr<analysis::Symbols> symbols;
  std::shared_ptr<const std::vector<TimelineBands>> timelines;
  std::shared_ptr<const ReportData> report;
  std::shared_ptr<const analysis::Categories> categories;

  const TimelineBands* Bands(int device) const;  // null for none
};

// What is lost, if that is too much for any figure (MakeFigures then has none). Else the worst
// first: a failed request, a leak, a request that failed only temporarily, memory that rises; else
// what the peak consists of. Needs the report. O(events) with failures, else O(live at the peak).
// Thread-safe.
RunVerdict MakeVerdict(const VerdictInput& input);

// "Peak 106 MiB of 2.00 GiB", "in use 93.7 MiB / reserved 106 MiB", … of one device, or of the host
// (analysis::kNoDevice). Needs timelines and the report; empty without figures. O(1).
std::vector<VerdictPart> MakeFigures(const VerdictInput& input, int device);

// Where memory was highest on a device or the host: the driver's, or in use if a log has only that.
struct VerdictPeak {
  int device = analysis::kNoDevice;
  std::uint64_t bytes = 0;  // 0 = none
  bool blocks_only = false;
  analysis::TimeNs time = 0;
  std::int64_t step = -1;
  const analysis::Peak* peak = nullptr;  // of a device
};
VerdictPeak FindVerdictPeak(const VerdictInput& input, int device);

// "step 39", or "2.57 s" after the start.
QString VerdictInstant(const analysis::Session& session, std::int64_t step, analysis::TimeNs time);

}  // namespace memprof::viewer
