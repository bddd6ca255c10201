// Samples in words and as JSON.
#include "cli/shared/sampling_lines.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_format.h"
#include "analysis/base/units.h"
#include "cli/console/lines.h"
#include "cli/console/terminal.h"
#include "cli/console/text.h"

namespace memprof::cli {
namespace {

using analysis::FormatBytes;
using analysis::FormatCount;
using analysis::Sampling;
using analysis::Session;

std::uint64_t Whole(double value) {
  return static_cast<std::uint64_t>(std::llround(std::clamp(value, 0.0, 9e18)));
}

analysis::TimeNs ThinnedTime(const Sampling& sampling) {
  analysis::TimeNs time = 0;
  for (const analysis::Stretch& stretch : sampling.stretches) time += stretch.end - stretch.begin;
  return time;
}

// "412 of 86,400 steps are whole; in the others", or likewise for a log without steps.
std::string WholeWords(const Session& session, const Sampling& sampling) {
  if (sampling.all_steps > 0)
    return Cat(FormatCount(sampling.whole_steps), " of ", FormatCount(sampling.all_steps),
               " steps are whole; in the others");
  const double all = static_cast<double>(session.run().end_time - session.run().start_time) *
                     static_cast<double>(session.processes().size());
  const double thinned = static_cast<double>(ThinnedTime(sampling));
  const double share = all > 0 ? std::clamp(1 - thinned / all, 0.0, 1.0) : 0;
  return Cat(Percent(share, 1.0), " of the time is whole; in the rest");
}

std::string EstimateWords(const Session& session, const Sampling& sampling) {
  if (sampling.drawn.empty())
    return sampling.allocations_left_out == 0
               ? ", nothing short-lived was allocated"
               : Cat(", ", FormatCount(sampling.allocations_left_out),
                     " short-lived allocations are left out");
  const analysis::Traffic traffic = analysis::SampledTraffic(session);
  const auto drawn = static_cast<double>(sampling.drawn.size());
  const double all = sampling.allocations_left_out == 0
                         ? traffic.count.value
                         : drawn + static_cast<double>(sampling.allocations_left_out);
  const double error =
      traffic.bytes.value > 0 ? traffic.bytes.plus_minus() / traffic.bytes.value : 0;
  return Cat(", short-lived memory is estimated from 1 of ",
             absl::StrFormat("%.3g", std::max(1.0, all / drawn)), " allocations (± ",
             Percent(error, 1.0), ")");
}

std::string Words(const Session& session, const Sampling& sampling, Drawn drawn) {
  std::string text = "Always on";
  if (sampling.recording.segment > 0) Append(text, ", segment ", sampling.recording.segment);
  if (sampling.stretches.empty()) return Cat(text, ": all of it is whole.");
  Append(text, ": ", WholeWords(session, sampling));
  return Cat(text, drawn == Drawn::kEstimated ? EstimateWords(session, sampling)
                                              : ", only what lives on is shown",
             ".");
}

Json EstimateJson(const analysis::Estimate& estimate) {
  return {{"value", Whole(estimate.value)}, {"plus_minus", Whole(estimate.plus_minus())}};
}

Json ToJson(const Session& session, const Sampling& sampling, Drawn drawn) {
  const analysis::Traffic traffic = analysis::SampledTraffic(session);
  Json counted = Json::array();
  for (const analysis::CountedLevel& level : sampling.highest)
    counted.push_back({{"device", level.device},
                       {"layer", level.layer == analysis::Layer::kUnspecified
                                     ? "driver"
                                     : analysis::LayerName(level.layer)},
                       {"highest_bytes", level.highest},
                       {"allocations", level.allocations},
                       {"allocated_bytes", level.bytes}});
  return {{"budget_bytes", sampling.recording.budget_bytes},
          {"period_ns", sampling.recording.period_ns},
          {"segment", sampling.recording.segment},
          {"steps", sampling.all_steps},
          {"whole_steps", sampling.whole_steps},
          {"stretches", sampling.stretches.size()},
          {"thinned_ns", ThinnedTime(sampling)},
          {"events_left_out", sampling.events_left_out},
          {"allocations_left_out", sampling.allocations_left_out},
          {"drawn", sampling.drawn.size()},
          {"estimated_allocations", EstimateJson(traffic.count)},
          {"estimated_bytes", EstimateJson(traffic.bytes)},
          {"counted", std::move(counted)},
          {"figures", drawn == Drawn::kEstimated ? "estimated" : "left_out"}};
}

std::string PlusMinus(std::string value, std::string error, const analysis::Estimate& estimate) {
  return estimate.variance > 0 ? Cat(value, " ± ", error) : value;
}

}  // namespace

std::string SamplingLines(const Session& session, Drawn drawn) {
  const auto sampling = SamplingOf(session);
  if (!sampling->always_on) return "";
  return Cat(Wrap(Words(session, *sampling, drawn), kWidth, 0), "\n");
}

void NoteSampling(const Session& session) {
  const auto sampling = SamplingOf(session);
  if (sampling->always_on)
    PrintNote(Cat(session.path(), ": ", Words(session, *sampling, Drawn::kLeftOut)));
}

Json WithSampling(const Session& session, Json json, Drawn drawn) {
  const auto sampling = SamplingOf(session);
  if (sampling->always_on) json["sampling"] = ToJson(session, *sampling, drawn);
  return json;
}

std::string CountedLine(const Session& session, int device, analysis::Layer layer,
                        std::string_view what, std::uint64_t bytes) {
  const analysis::CountedLevel* counted = SamplingOf(session)->Highest(device, layer);
  if (counted == nullptr || counted->highest <= bytes) return "";
  return Cat(what, " ", FormatBytes(counted->highest),
             " (counted, in a step that was not kept); its make-up is shown at ",
             FormatBytes(bytes));
}

std::string EstimatedCount(const analysis::Estimate& estimate) {
  return PlusMinus(FormatCount(Whole(estimate.value)), FormatCount(Whole(estimate.plus_minus())),
                   estimate);
}

std::string EstimatedBytes(const analysis::Estimate& estimate) {
  return PlusMinus(FormatBytes(Whole(estimate.value)), FormatBytes(Whole(estimate.plus_minus())),
                   estimate);
}

}  // namespace memprof::cli
