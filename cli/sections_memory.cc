// The sections on peaks and on fragmentation.
#include <algorithm>
#include <map>
#include <tuple>

#include "analysis/units.h"
#include "cli/names.h"
#include "cli/sections.h"
#include "cli/table.h"
#include "cli/terminal.h"
#include "cli/text.h"

namespace memprof::cli {
namespace {

using analysis::Allocation;
using analysis::AllocationId;
using analysis::FormatBytes;
using analysis::FormatCount;
using analysis::Layer;
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

// Tensors that a person would call the same: one row of the table.
struct TensorGroup {
  std::string name, shape, site;
  std::uint64_t bytes = 0, count = 0;
  std::int64_t first_step = 0, last_step = 0;
};

std::vector<TensorGroup> GroupTensors(const Session& session, analysis::Symbols& symbols,
                                      const std::vector<AllocationId>& tensors) {
  std::vector<TensorGroup> groups;
  std::map<std::tuple<std::string, std::string, std::string>, std::size_t> index;
  std::map<std::uint32_t, std::string> labels;  // by stack
  for (const AllocationId id : tensors) {
    const Allocation& a = session.allocation(id);
    const analysis::TensorInfo* tensor = session.tensor(a.tensor);
    std::string name = TensorName(tensor), shape = TensorShape(tensor);
    const auto label = labels.find(a.stack.value) != labels.end()
                           ? labels.find(a.stack.value)
                           : labels.emplace(a.stack.value, SiteLabel(symbols, a.stack)).first;
    const auto [it, fresh] = index.try_emplace({name, shape, label->second}, groups.size());
    if (fresh) {
      groups.push_back(
          {std::move(name), std::move(shape), label->second, 0, 0, a.birth_step, a.birth_step});
    }
    TensorGroup& group = groups[it->second];
    group.bytes += a.bytes;
    ++group.count;
    group.first_step = std::min(group.first_step, a.birth_step);
    group.last_step = std::max(group.last_step, a.birth_step);
  }
  std::stable_sort(groups.begin(), groups.end(),
                   [](const TensorGroup& a, const TensorGroup& b) { return a.bytes > b.bytes; });
  return groups;
}

std::string BornLabel(std::int64_t first, std::int64_t last) {
  const auto label = [](std::int64_t step) {
    return step < 0 ? std::string("set-up") : std::to_string(step);
  };
  return first == last ? label(first) : Cat(label(first), "…", label(last));
}

std::string TensorTable(const Session& session, analysis::Symbols& symbols,
                        const std::vector<AllocationId>& tensors, std::uint64_t whole,
                        std::size_t top) {
  const std::vector<TensorGroup> groups = GroupTensors(session, symbols, tensors);
  Table table({Align::kRight, Align::kRight, Align::kRight, Align::kLeft, Align::kLeft,
               Align::kLeft, Align::kLeft});
  table.Header({"bytes", "share", "count", "tensor", "shape", "step", "site"});
  for (std::size_t i = 0; i < Shown(groups.size(), top); ++i) {
    const TensorGroup& group = groups[i];
    table.Row({FormatBytes(group.bytes),
               Percent(static_cast<double>(group.bytes), static_cast<double>(whole)),
               FormatCount(group.count), CutEnd(group.name, 24), CutEnd(group.shape, 22),
               BornLabel(group.first_step, group.last_step), group.site});
  }
  return table.Text(kWidth) + MoreLine(Shown(groups.size(), top), groups.size());
}

std::vector<analysis::Site> BlockSites(const Session& session,
                                       const std::vector<AllocationId>& blocks) {
  std::map<std::uint32_t, analysis::Site> by_stack;
  for (const AllocationId id : blocks) {
    const Allocation& a = session.allocation(id);
    analysis::Site& site =
        by_stack.try_emplace(a.stack.value, analysis::Site{a.stack, 0, 0, id}).first->second;
    site.bytes += a.bytes;
    ++site.blocks;
  }
  std::vector<analysis::Site> sites;
  for (const auto& [stack, site] : by_stack) sites.push_back(site);
  return sites;
}

std::string PlaceTable(const Session& session, analysis::Symbols& symbols,
                       const std::vector<analysis::Site>& sites, std::uint64_t whole,
                       std::size_t top) {
  const std::vector<Place> places = JoinByPlace(symbols, sites, session);
  Table table({Align::kRight, Align::kRight, Align::kRight, Align::kLeft});
  table.Header({"bytes", "share", "blocks", "site"});
  for (std::size_t i = 0; i < Shown(places.size(), top); ++i) {
    table.Row({FormatBytes(places[i].bytes),
               Percent(static_cast<double>(places[i].bytes), static_cast<double>(whole)),
               FormatCount(places[i].blocks), places[i].site});
  }
  return table.Text(kWidth) + MoreLine(Shown(places.size(), top), places.size());
}

}  // namespace

std::vector<Place> JoinByPlace(analysis::Symbols& symbols, const std::vector<analysis::Site>& sites,
                               const Session& session) {
  std::vector<Place> places;
  std::map<std::pair<std::string, Layer>, std::size_t> index;
  for (const analysis::Site& site : sites) {
    std::string label = SiteLabel(symbols, site.stack);
    const Allocation& largest = session.allocation(site.largest);
    const auto [it, fresh] = index.try_emplace({label, largest.layer}, places.size());
    if (fresh) places.push_back({std::move(label), 0, 0, site.largest});
    Place& place = places[it->second];
    place.bytes += site.bytes;
    place.blocks += site.blocks;
    if (largest.bytes > session.allocation(place.largest).bytes) place.largest = site.largest;
  }
  std::stable_sort(places.begin(), places.end(),
                   [](const Place& a, const Place& b) { return a.bytes > b.bytes; });
  return places;
}

std::string PeakText(const Session& session, analysis::Symbols& symbols, const analysis::Peak& peak,
                     std::size_t top) {
  const std::string driver =
      Cat(std::string(17, '.'), FormatBytes(peak.bytes), " (", FormatCount(peak.bytes),
          " bytes): ", LayerList(peak, analysis::OccupiesDevice));
  std::string text = Cat("  Driver memory  ", Wrap(driver, kWidth, 17).substr(17), "\n");
  const auto layer = [&peak](Layer l) { return peak.by_layer[static_cast<std::size_t>(l)]; };
  const std::uint64_t blocks = layer(Layer::kBlock), tensors = layer(Layer::kTensor);
  if (layer(Layer::kSegment) > 0 || blocks > 0) {
    Append(text, "  Allocator      segments ", FormatBytes(layer(Layer::kSegment)),
           ", of which blocks ", FormatBytes(blocks), " (",
           Percent(static_cast<double>(blocks), static_cast<double>(layer(Layer::kSegment))), ")",
           tensors > 0 ? Cat(", of which tensors ", FormatBytes(tensors)) : "", "\n");
  }
  Append(text, "\n  By call site, what the program asked of the driver:\n");
  Append(text, PlaceTable(session, symbols, peak.sites, peak.bytes, top));
  if (!peak.blocks.empty()) {
    Append(text, "\n  By call site, blocks of the allocator:\n",
           PlaceTable(session, symbols, BlockSites(session, peak.blocks), blocks, top));
  }
  if (!peak.tensors.empty()) {
    Append(text, "\n  Tensors, those of one name, shape and site together:\n",
           TensorTable(session, symbols, peak.tensors, tensors, top));
  }
  return text;
}

std::string FragmentationText(const Session& session, analysis::Symbols& symbols,
                              const analysis::FragmentationReport& report, std::size_t top) {
  if (report.pools.empty()) {
    return "  No framework allocator was seen in this log: nothing to fragment.\n";
  }
  std::string text =
      Cat("  Peak use is ", Percent(report.utilisation, 1), " of peak reserve; ",
          Percent(report.at_peak, 1), " of what was reserved at ", Since(session, report.time),
          report.step >= 0 ? Cat(" (step ", report.step, ")") : "", " was free.\n");
  Table table({Align::kLeft, Align::kRight, Align::kRight, Align::kRight, Align::kRight,
               Align::kRight, Align::kRight, Align::kRight});
  table.Header({"pool", "segments", "reserved", "free", "largest hole", "unusable", "releasable",
                "external"});
  for (const analysis::PoolFragmentation& pool : report.pools) {
    table.Row(
        {Cat("device ", pool.device, pool.stream == 0 ? "" : Cat(" stream ", Hex(pool.stream)),
             pool.small_blocks ? " small" : " large"),
         FormatCount(pool.segments), FormatBytes(pool.reserved_bytes), FormatBytes(pool.free_bytes),
         FormatBytes(pool.largest_hole),
         Percent(static_cast<double>(pool.unusable_bytes),
                 static_cast<double>(pool.reserved_bytes)),
         FormatBytes(pool.releasable_bytes), Percent(pool.external, 1)});
  }
  Append(text, table.Text(kWidth));
  Table pins({Align::kRight, Align::kRight, Align::kLeft, Align::kLeft, Align::kLeft});
  pins.Header({"pins", "with", "born", "unused since", "site"});
  std::vector<analysis::Pin> worst;
  for (const analysis::PoolFragmentation& pool : report.pools) {
    worst.insert(worst.end(), pool.pins.begin(), pool.pins.end());
  }
  std::stable_sort(worst.begin(), worst.end(), [](const analysis::Pin& a, const analysis::Pin& b) {
    return a.frees_bytes > b.frees_bytes;
  });
  for (std::size_t i = 0; i < Shown(worst.size(), top); ++i) {
    const Allocation& block = session.allocation(worst[i].block);
    const analysis::TensorInfo* tensor = session.tensor(worst[i].tensor);
    const std::int64_t since = session.StepAt(worst[i].unused_since);
    pins.Row({FormatBytes(worst[i].frees_bytes), FormatBytes(worst[i].bytes),
              block.birth_step < 0 ? std::string("set-up") : Cat("step ", block.birth_step),
              since < 0 ? Since(session, worst[i].unused_since) : Cat("step ", since),
              Cat(SiteLabel(symbols, block.stack),
                  tensor == nullptr || tensor->name.empty()
                      ? ""
                      : Cat(", ", CutEnd(Printable(tensor->name), 30)),
                  worst[i].empties_segment ? ", alone in its segment" : "")});
  }
  if (!pins.empty()) {
    Append(text, "\n  Blocks that keep free memory apart (freeing one joins that much):\n",
           pins.Text(kWidth), MoreLine(Shown(worst.size(), top), worst.size()));
  }
  return text;
}

}  // namespace memprof::cli
