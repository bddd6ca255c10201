// Counts and shares in words.
#include "analysis/store/sampling_words.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "analysis/base/units.h"

namespace memprof::analysis {
namespace {

std::string Percent(double share) {
  const double percent = std::min(100 * share, 1e6);
  return percent >= 10 ? absl::StrFormat("%.0f %%", percent) : absl::StrFormat("%.2g %%", percent);
}

// "1 of 2.5", "1 of 230".
std::string OneOf(double all) {
  return absl::StrCat("1 of ", all < 10
                                   ? absl::StrFormat("%.2g", all)
                                   : FormatCount(static_cast<std::uint64_t>(std::min(all, 9e18))));
}

// "412 of 86,400 steps are whole; in the others", or likewise for a log without steps.
std::string WholeWords(const Session& session, const Sampling& sampling) {
  if (sampling.all_steps > 0)
    return absl::StrCat(FormatCount(sampling.whole_steps), " of ", FormatCount(sampling.all_steps),
                        " steps are whole; in the others");
  double all = 0;
  for (const ProcessInfo& process : session.processes())
    all += static_cast<double>(process.run.end_time - process.run.start_time);
  const double thinned = static_cast<double>(sampling.thinned_time());
  const double share = all > 0 ? std::clamp(1 - thinned / all, 0.0, 1.0) : 0;
  return absl::StrCat(Percent(share), " of the time is whole; in the rest");
}

std::string EstimateWords(const Session& session, const Sampling& sampling) {
  if (sampling.drawn.empty())
    return sampling.allocations_left_out == 0
               ? ", nothing short-lived was allocated"
               : absl::StrCat(", ", FormatCount(sampling.allocations_left_out),
                              " short-lived allocations are left out");
  const Traffic traffic = SampledTraffic(session);
  const auto drawn = static_cast<double>(sampling.drawn.size());
  const double all = sampling.allocations_left_out == 0
                         ? traffic.count.value
                         : drawn + static_cast<double>(sampling.allocations_left_out);
  const double error =
      traffic.bytes.value > 0 ? traffic.bytes.plus_minus() / traffic.bytes.value : 0;
  return absl::StrCat(", short-lived memory is estimated from ", OneOf(std::max(1.0, all / drawn)),
                      " allocations (± ", Percent(error), ")");
}

}  // namespace

std::string SamplingWords(const Session& session, Drawn drawn) {
  const auto found = SamplingOf(session);
  const Sampling& sampling = *found;
  if (!sampling.always_on) return "";
  std::string text = "Always on";
  const auto segments = std::count_if(
      session.processes().begin(), session.processes().end(),
      [](const ProcessInfo& process) { return process.next_segment != EventId::kNone; });
  if (segments > 0)
    absl::StrAppend(&text, ", several segments of a process");
  else if (sampling.recording.segment > 0)
    absl::StrAppend(&text, ", segment ", sampling.recording.segment);
  if (sampling.stretches.empty()) return absl::StrCat(text, ": all of it is whole.");
  absl::StrAppend(&text, ": ", WholeWords(session, sampling));
  return absl::StrCat(text,
                      drawn == Drawn::kEstimated ? EstimateWords(session, sampling)
                                                 : ", only what lives on is shown",
                      ".");
}

}  // namespace memprof::analysis
