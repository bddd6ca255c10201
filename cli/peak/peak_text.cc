// The section on peaks.
#include <algorithm>
#include <map>

#include "analysis/base/units.h"
#include "cli/console/lines.h"
#include "cli/console/table.h"
#include "cli/console/text.h"
#include "cli/peak/peak.h"
#include "cli/shared/names.h"
#include "cli/shared/peak_groups.h"
#include "cli/shared/places.h"

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

std::size_t Shown(std::size_t total, std::size_t top) {
  return top == 0 ? total : std::min(top, total);
}

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

std::string BornLabel(std::int64_t first, std::int64_t last) {
  const auto label = [](std::int64_t step) {
    return step < 0 ? std::string("set-up") : std::to_string(step);
  };
  return first == last ? label(first) : Cat(label(first), "…", label(last));
}

std::string TensorTable(const Session& session, SiteLabels& labels, const PeakSavings* savings,
                        const analysis::Peak& peak, std::uint64_t whole, std::size_t top) {
  std::vector<TensorGroup> groups = GroupTensors(session, labels, peak.tensors);
  const std::size_t total = groups.size();
  groups.resize(Shown(total, top));
  std::vector<analysis::PeakSaving> without;
  if (savings != nullptr)
    without = WithoutTensorGroups(session, labels, *savings, peak.device, groups);
  std::vector<Align> columns(savings == nullptr ? 3 : 4, Align::kRight);
  columns.resize(columns.size() + 4, Align::kLeft);
  Table table(std::move(columns));
  std::vector<std::string> header = {"bytes",  "share", "count", "saves",
                                     "tensor", "shape", "step",  "site"};
  if (savings == nullptr) header.erase(header.begin() + 3);
  table.Header(std::move(header));
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const TensorGroup& group = groups[i];
    std::vector<std::string> row = {
        FormatBytes(group.bytes),
        Percent(static_cast<double>(group.bytes), static_cast<double>(whole)),
        FormatCount(group.count),
        CutFront(group.name, 32),
        CutEnd(group.shape, 22),
        BornLabel(group.first_step, group.last_step),
        group.site};
    if (savings != nullptr) row.insert(row.begin() + 3, FormatBytes(without[i].saves_bytes));
    table.Row(std::move(row));
  }
  return table.Text(kWidth) + MoreLine(groups.size(), total);
}

std::string PlaceTable(const Session& session, SiteLabels& labels, analysis::Symbols& symbols,
                       const PeakSavings* savings, int device, PeakLayer of,
                       const std::vector<analysis::Site>& sites, std::uint64_t whole,
                       std::size_t top) {
  std::vector<Place> places = JoinByPlace(symbols, sites, session);
  if (savings != nullptr) {
    const auto without = WithoutPlaces(session, labels, *savings, device, of, places);
    std::vector<PeakRow> rows;
    for (std::size_t i = 0; i < places.size(); ++i)
      rows.push_back({places[i].site, places[i].bytes, places[i].blocks, without[i]});
    return SavingsTable(session, rows, whole, top, "site");
  }
  Table table({Align::kRight, Align::kRight, Align::kRight, Align::kLeft});
  table.Header({"bytes", "share", "blocks", "site"});
  for (std::size_t i = 0; i < Shown(places.size(), top); ++i) {
    table.Row({FormatBytes(places[i].bytes),
               Percent(static_cast<double>(places[i].bytes), static_cast<double>(whole)),
               FormatCount(places[i].blocks), places[i].site});
  }
  return table.Text(kWidth) + MoreLine(Shown(places.size(), top), places.size());
}

// By layer, if there are several to choose from.
std::string LayerTable(const Session& session, const PeakSavings& savings,
                       const analysis::Peak& peak) {
  const auto without = WithoutLayers(savings, peak.device);
  std::vector<PeakRow> rows;
  for (std::size_t i = 0; i < peak.by_layer.size(); ++i) {
    const auto layer = static_cast<Layer>(i);
    if (peak.by_layer[i] == 0 || !analysis::OccupiesDevice(layer)) continue;
    rows.push_back({std::string(analysis::LayerName(layer)), peak.by_layer[i], 0, without[i]});
  }
  if (rows.size() < 2) return "";
  std::stable_sort(rows.begin(), rows.end(),
                   [](const PeakRow& a, const PeakRow& b) { return a.bytes > b.bytes; });
  return Cat("\n  By layer:\n", SavingsTable(session, rows, peak.bytes, 0, "layer"));
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
  SiteLabels labels(symbols);
  Append(text, "\n  By call site, what the program asked of the driver:\n",
         PlaceTable(session, labels, symbols, savings, peak.device, PeakLayer::kDriver, peak.sites,
                    peak.bytes, top));
  if (!peak.blocks.empty()) {
    Append(text, "\n  By call site, blocks of the allocator",
           savings == nullptr ? "" : " (saves: of the peak of blocks)", ":\n",
           PlaceTable(session, labels, symbols, savings, peak.device, PeakLayer::kBlocks,
                      BlockSites(session, peak.blocks), layer(Layer::kBlock), top));
  }
  if (!peak.tensors.empty()) {
    Append(text, "\n  Tensors, those of one name, shape and site together",
           savings == nullptr || peak.blocks.empty() ? "" : " (saves: of the peak of blocks)",
           ":\n", TensorTable(session, labels, savings, peak, layer(Layer::kTensor), top));
  }
  return text;
}

}  // namespace memprof::cli
