// The section on peaks.
#include <algorithm>

#include "analysis/base/units.h"
#include "analysis/leaks/holders.h"
#include "analysis/peak/groups.h"
#include "analysis/peak/places.h"
#include "cli/console/lines.h"
#include "cli/console/table.h"
#include "cli/console/text.h"
#include "cli/peak/peak.h"
#include "cli/shared/names.h"
#include "cli/shared/savings_text.h"

namespace memprof::cli {
namespace {

using analysis::Allocation;
using analysis::AllocationId;
using analysis::FormatBytes;
using analysis::FormatCount;
using analysis::Layer;
using analysis::PeakLayer;
using analysis::PeakSavings;
using analysis::Session;

// "linear 1.20 GiB, stream-ordered 32.0 MiB" of the layers that `accept` accepts.
template <typename Accept>
std::string LayerList(const analysis::Peak& peak, Accept accept) {
  std::string text;
  for (std::size_t i = 0; i < peak.by_layer.size(); ++i) {
    const auto layer = static_cast<Layer>(i);
    if (peak.by_layer[i] == 0 || !accept(layer)) continue;
    Append(text, text.empty() ? "" : ", ", analysis::LayerName(layer), " ",
           FormatBytes(peak.by_layer[i]));
  }
  return text;
}

std::string StepRange(std::int64_t first, std::int64_t last) {
  const auto label = [](std::int64_t step) {
    return step < 0 ? std::string("set-up") : std::to_string(step);
  };
  return first == last ? label(first) : Cat(label(first), "…", label(last));
}

std::string TensorTable(const Session& session, analysis::Symbols& symbols,
                        const PeakSavings* savings, const analysis::Peak& peak, std::uint64_t whole,
                        std::size_t top) {
  TensorNames names(session, symbols);
  const analysis::GroupKey key = names.Key();
  std::vector<analysis::PeakGroup> groups = analysis::GroupBy(session, peak.tensors, key);
  const std::size_t total = groups.size();
  groups.resize(Shown(total, top));
  if (savings != nullptr) analysis::AddTensorSavings(*savings, peak.device, key, &groups);
  std::vector<Align> columns(savings == nullptr ? 3 : 4, Align::kRight);
  columns.resize(columns.size() + 4, Align::kLeft);
  Table table(std::move(columns));
  std::vector<std::string> header = {"bytes",  "share", "count", "saves",
                                     "tensor", "shape", "step",  "site"};
  if (savings == nullptr) header.erase(header.begin() + 3);
  table.Header(std::move(header));
  for (const analysis::PeakGroup& group : groups) {
    const auto& [name, shape, site] = names[group.key];
    std::vector<std::string> row = {
        FormatBytes(group.bytes),
        Percent(static_cast<double>(group.bytes), static_cast<double>(whole)),
        FormatCount(group.count),
        CutFront(name, 32),
        CutEnd(shape, 22),
        StepRange(group.first_step, group.last_step),
        site};
    if (savings != nullptr) row.insert(row.begin() + 3, FormatBytes(group.saving.saves_bytes));
    table.Row(std::move(row));
  }
  return table.Text(kWidth) + MoreLine(groups.size(), total);
}

std::string PlaceTable(const Session& session, analysis::Symbols& symbols,
                       const PeakSavings* savings, int device, PeakLayer of,
                       const std::vector<analysis::Site>& sites, std::uint64_t whole,
                       std::size_t top) {
  const std::vector<analysis::Place> places = analysis::JoinByPlace(symbols, sites, session);
  std::vector<analysis::PeakSaving> without(places.size());
  if (savings != nullptr)
    without = analysis::WithoutPlaces(session, symbols, *savings, device, of, places);
  std::vector<PeakRow> rows;
  for (std::size_t i = 0; i < places.size(); ++i)
    rows.push_back(
        {SiteLabel(symbols, places[i].stack), places[i].bytes, places[i].blocks, without[i]});
  return PeakTable(session, rows, savings != nullptr, whole, top, "site");
}

// By layer, if there are several to choose from.
std::string LayerTable(const Session& session, const PeakSavings& savings,
                       const analysis::Peak& peak) {
  const auto without =
      savings.Without(peak.device, PeakLayer::kDriver, analysis::kLayerCount, analysis::ByLayer());
  std::vector<PeakRow> rows;
  for (std::size_t i = 0; i < peak.by_layer.size(); ++i) {
    const auto layer = static_cast<Layer>(i);
    if (peak.by_layer[i] == 0 || !analysis::OccupiesDevice(layer)) continue;
    rows.push_back({std::string(analysis::LayerName(layer)), peak.by_layer[i], 0, without[i]});
  }
  if (rows.size() < 2) return "";
  std::stable_sort(rows.begin(), rows.end(),
                   [](const PeakRow& a, const PeakRow& b) { return a.bytes > b.bytes; });
  return Cat("\n  By layer:\n", PeakTable(session, rows, true, peak.bytes, 0, "layer"));
}

std::string AllocatorLines(const Session& session, const PeakSavings* savings,
                           const analysis::Peak& peak) {
  const auto layer = [&peak](Layer l) { return peak.by_layer[static_cast<std::size_t>(l)]; };
  const std::uint64_t blocks = layer(Layer::kBlock), tensors = layer(Layer::kTensor);
  if (layer(Layer::kSegment) == 0 && blocks == 0) return "";
  const std::uint64_t segments = layer(Layer::kSegment);
  std::string text =
      segments == 0
          ? Cat("  Allocator      blocks ", FormatBytes(blocks), ", in segments not in this log")
          : Cat("  Allocator      segments ", FormatBytes(segments), ", of which blocks ",
                FormatBytes(blocks), " (",
                Percent(static_cast<double>(blocks), static_cast<double>(segments)), ")");
  Append(text, tensors > 0 ? Cat(", of which tensors ", FormatBytes(tensors)) : "", "\n");
  const std::uint64_t garbage =
      analysis::HoldersOf(session)->GarbageAt(peak.blocks, peak.event).value_or(0);
  if (garbage > 0)
    Append(text, "                 garbage that waited for the collector, at least ",
           FormatBytes(garbage), "\n");
  if (savings == nullptr) return text;
  const analysis::NewPeak own = savings->PeakAsItWas(peak.device, PeakLayer::kBlocks);
  if (!own.event.valid()) return text;
  Append(text, "                 peak of blocks ", FormatBytes(own.bytes),
         StepLabel(session, session.StepOf(own.event)), ", after ",
         Since(session, session.events().time(own.event.value)), "\n");
  return text;
}

}  // namespace

std::string PeakText(const Session& session, analysis::Symbols& symbols, const analysis::Peak& peak,
                     std::size_t top, const PeakSavings* savings) {
  const std::string driver =
      Cat(std::string(17, '.'), FormatBytes(peak.bytes), " (", FormatCount(peak.bytes),
          " bytes): ", LayerList(peak, analysis::OccupiesDevice));
  std::string text = Cat("  Driver memory  ", Wrap(driver, kWidth, 17).substr(17), "\n",
                         AllocatorLines(session, savings, peak));
  if (savings != nullptr) {
    Append(
        text,
        "\n  saves: how much lower the peak of the whole run would be had nothing been allocated "
        "there.\n");
    Append(text, LayerTable(session, *savings, peak));
  }
  const auto layer = [&peak](Layer l) { return peak.by_layer[static_cast<std::size_t>(l)]; };
  Append(text, "\n  By call site, what the program requested from the driver:\n",
         PlaceTable(session, symbols, savings, peak.device, PeakLayer::kDriver, peak.sites,
                    peak.bytes, top));
  if (!peak.blocks.empty()) {
    Append(text, "\n  By call site, blocks of the allocator",
           savings == nullptr ? "" : " (saves: of the peak of blocks)", ":\n",
           PlaceTable(session, symbols, savings, peak.device, PeakLayer::kBlocks,
                      analysis::GroupBySite(session, peak.blocks), layer(Layer::kBlock), top));
  }
  if (!peak.tensors.empty()) {
    Append(text, "\n  Tensors, those of one name, shape and site together",
           savings == nullptr || peak.blocks.empty() ? "" : " (saves: of the peak of blocks)",
           ":\n", TensorTable(session, symbols, savings, peak, layer(Layer::kTensor), top));
  }
  return text;
}

}  // namespace memprof::cli
