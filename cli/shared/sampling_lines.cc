// Samples in words and as JSON.
#include "cli/shared/sampling_lines.h"

#include <algorithm>
#include <cmath>

#include "analysis/base/units.h"
#include "analysis/timeline/timeline.h"
#include "cli/console/lines.h"
#include "cli/console/terminal.h"
#include "cli/console/text.h"

namespace memprof::cli {
namespace {

using analysis::FormatBytes;
using analysis::FormatCount;
using analysis::Layer;
using analysis::Sampling;
using analysis::Session;

std::uint64_t Round(double value) {
  return static_cast<std::uint64_t>(std::llround(std::clamp(value, 0.0, 9e18)));
}

Json EstimateJson(const analysis::SampledSum& estimate) {
  return {{"value", Round(estimate.value)}, {"plus_minus", Round(estimate.plus_minus())}};
}

Json ToJson(const Session& session, const Sampling& sampling, Drawn drawn) {
  const analysis::Traffic traffic = analysis::SampledTraffic(session);
  Json counted = Json::array();
  for (const analysis::CountedLevel& level : sampling.highest)
    counted.push_back(
        {{"device", level.device},
         {"layer",
          level.layer == Layer::kUnspecified ? "driver" : analysis::LayerName(level.layer)},
         {"highest_bytes", level.highest},
         {"allocations", level.allocations},
         {"allocated_bytes", level.bytes}});
  return {{"budget_bytes", sampling.recording.budget_bytes},
          {"period_ns", sampling.recording.period_ns},
          {"segment", sampling.recording.segment},
          {"steps", sampling.all_steps},
          {"whole_steps", sampling.whole_steps},
          {"stretches", sampling.stretches.size()},
          {"thinned_ns", sampling.thinned_time()},
          {"events_left_out", sampling.events_left_out},
          {"allocations_left_out", sampling.allocations_left_out},
          {"drawn", sampling.drawn.size()},
          {"estimated_allocations", EstimateJson(traffic.count)},
          {"estimated_bytes", EstimateJson(traffic.bytes)},
          {"counted", std::move(counted)},
          {"figures", drawn == Drawn::kEstimated ? "estimated" : "left_out"}};
}

// The most that the log has exactly.
std::uint64_t HighestBlocks(const Session& session, int device) {
  const auto timelines = analysis::TimelinesOf(session);
  for (const analysis::DeviceTimeline& timeline : *timelines)
    if (timeline.device == device) return timeline.framework_allocated.max();
  return 0;
}

std::string PlusMinus(std::string value, std::string error, const analysis::SampledSum& estimate) {
  return estimate.variance > 0 ? Cat(value, " ± ", error) : value;
}

}  // namespace

std::string SamplingLines(const Session& session, Drawn drawn) {
  const std::string words = SamplingWords(session, drawn);
  return words.empty() ? "" : Cat(Wrap(words, kWidth, 0), "\n");
}

void NoteSampling(const Session& session) {
  if (const std::string words = SamplingWords(session, Drawn::kLeftOut); !words.empty())
    PrintNote(Cat(session.path(), ": ", words));
}

Json WithSampling(const Session& session, Json json, Drawn drawn) {
  const auto sampling = SamplingOf(session);
  if (sampling->always_on) json["sampling"] = ToJson(session, *sampling, drawn);
  return json;
}

std::string CountedLines(const Session& session, const analysis::Peak& peak) {
  std::string text;
  const auto add = [&](Layer layer, std::string_view what, std::uint64_t shown) {
    const std::uint64_t counted = HighestKnown(session, peak.device, layer, shown);
    if (counted > shown)
      text += Paragraph(Cat(what, " ", FormatBytes(counted),
                            " (counted, in a step that was not kept); its make-up is shown at ",
                            FormatBytes(shown), "."));
  };
  add(Layer::kUnspecified, "Peak", peak.bytes);
  add(Layer::kBlock, "Peak of blocks", HighestBlocks(session, peak.device));
  return text;
}

std::string EstimatedCount(const analysis::SampledSum& estimate) {
  return PlusMinus(FormatCount(Round(estimate.value)), FormatCount(Round(estimate.plus_minus())),
                   estimate);
}

std::string EstimatedBytes(const analysis::SampledSum& estimate) {
  return PlusMinus(FormatBytes(Round(estimate.value)), FormatBytes(Round(estimate.plus_minus())),
                   estimate);
}

}  // namespace memprof::cli
