// Names and colours of the timeline's bands.
#include "viewer/geometry/timeline_bands.h"

#include <algorithm>
#include <utility>

#include "viewer/geometry/names.h"
#include "viewer/geometry/units.h"

namespace memprof::viewer {
namespace {

using analysis::Category;
using analysis::Layer;
using analysis::StackBand;
using analysis::StackBandKind;
using analysis::TimelineGrouping;

Band Make(BandRole role, const char* name, const char* help) {
  return {role, 0, QString::fromUtf8(name), QString::fromUtf8(help), {}};
}

Band OfLayer(Layer layer) {
  switch (layer) {
    case Layer::kLinear:
      return Make(BandRole::kLinear, "Driver allocations",
                  "Memory from cudaMalloc and cuMemAlloc.");
    case Layer::kPitched:
      return Make(BandRole::kPitched, "Pitched", "Memory from cudaMallocPitch and its kin.");
    case Layer::kArray:
      return Make(BandRole::kArray, "Arrays", "CUDA arrays and mipmapped arrays.");
    case Layer::kManaged:
      return Make(BandRole::kManaged, "Managed", "Unified memory from cudaMallocManaged.");
    case Layer::kStreamOrdered:
      return Make(BandRole::kStreamOrdered, "Stream-ordered", "Memory from cudaMallocAsync.");
    case Layer::kVmmPhysical:
      return Make(BandRole::kVmm, "VMM", "Physical memory from cuMemCreate.");
    case Layer::kGraph:
      return Make(BandRole::kGraph, "Graphs", "Memory of CUDA graph allocation nodes.");
    case Layer::kPinned:
      return Make(BandRole::kPinned, "Pinned", "Page-locked host memory.");
    case Layer::kRegistered:
      return Make(BandRole::kRegistered, "Registered", "Host memory registered with the driver.");
    default:
      return Make(BandRole::kOther, "Other", "Memory of another layer.");
  }
}

Band OfCategory(Category category) {
  if (category == Category::kUnknown) {
    return Make(BandRole::kOther, "Unknown purpose",
                "Neither names nor stacks nor lifetimes show what this memory is for.");
  }
  QString name = ToQString(analysis::CategoryName(category));
  const QString help =
      category == Category::kLeaks
          ? QStringLiteral("What the leaks view reports, whatever it was made for.")
          : QStringLiteral("Judged to be %1 from names, stacks, ranges, lifetimes and sizes.")
                .arg(name);
  name[0] = name[0].toUpper();
  return {BandRole::kGroup, ColorOf(category), name, help, {}};
}

Band OfSite(analysis::StackId site, int color, analysis::Symbols* symbols) {
  Band band{BandRole::kGroup, color, QStringLiteral("No call stack"),
            QStringLiteral("Allocated by calls whose stack was not recorded."), site};
  if (!site.valid()) return band;
  band.name = symbols == nullptr ? QStringLiteral("Call stack %1").arg(site.value)
                                 : SiteName(*symbols, site);
  band.help = QStringLiteral("Allocated at this call site, over any call path. Click: select it.");
  if (symbols != nullptr)
    band.help = ToQString(analysis::Symbols::Describe(symbols->Site(site))) + QLatin1String(". ") +
                band.help;
  return band;
}

Band OfStream(std::uint64_t stream, int color) {
  QString name = QStringLiteral("Stream %1").arg(FormatAddress(stream));
  if (stream == 0) name = QStringLiteral("Default stream");
  return {
      BandRole::kGroup, color, name, QStringLiteral("Memory made for work of this stream."), {}};
}

Band BandOfProcess(const analysis::Session& session, std::uint32_t row, int color) {
  Band band{BandRole::kGroup, color, QStringLiteral("Process %1").arg(row), {}, {}};
  if (row >= session.processes().size()) return band;
  const analysis::ProcessInfo& process = session.processes()[row];
  band.name = QStringLiteral("pid %1").arg(process.run.pid);
  if (process.rank >= 0)
    band.name = QStringLiteral("Rank %1 · %2").arg(process.rank).arg(band.name);
  band.help = QStringLiteral("What this process made: %1").arg(ToQString(process.path));
  return band;
}

Band OfOther(const analysis::TimelineStack& stack, const StackBand& band) {
  QString what = QStringLiteral("group");
  for (const StackBand& other : stack.bands()) {
    if (other.kind == StackBandKind::kSite) what = QStringLiteral("site");
    if (other.kind == StackBandKind::kStream) what = QStringLiteral("stream");
    if (other.kind == StackBandKind::kProcess) what = QStringLiteral("process");
  }
  if (band.members != 1)
    what += what == QLatin1String("process") ? QStringLiteral("es") : QStringLiteral("s");
  return {BandRole::kOther,
          0,
          QStringLiteral("%1 other %2").arg(FormatCount(band.members), what),
          QStringLiteral("All that held less when most was in use."),
          {}};
}

// What a device holds beyond the log's own memory, as far as samples tell.
Band OfRest(const StackBand& band) {
  const auto sampled = [&band](BandRole role, const char* name, const char* help) {
    Band rest = Make(role, name, help);
    rest.help +=
        QStringLiteral(" From %1 of the driver's figures: between two, the earlier value is held.")
            .arg(FormatPlural(band.members, QStringLiteral("sample")));
    return rest;
  };
  switch (band.kind) {
    case StackBandKind::kCode:
      return Make(BandRole::kCode, "Code", "Loaded modules, as measured while they were loaded.");
    case StackBandKind::kUntracked:
      return sampled(BandRole::kUntracked, "Untracked",
                     "In use of the device, but requested by no recorded call: contexts, lazily "
                     "loaded kernels, local memory, processes that the driver does not report.");
    case StackBandKind::kOtherProcesses:
      return sampled(BandRole::kOtherProcesses, "Other processes",
                     "Held by processes that are not in this log, as the driver reported.");
    case StackBandKind::kFree:
      return sampled(BandRole::kFree, "Free", "Not in use, up to the capacity of the device.");
    default:
      return Make(BandRole::kUnsampled, "Not known",
                  "Before the first sample of the driver's figures nothing is known of the rest of "
                  "the device.");
  }
}

Band BandFor(const analysis::TimelineStack& stack, const StackBand& band, int color,
             analysis::Symbols* symbols) {
  // Orange is driver memory if the bands are kinds, and one of the groups otherwise.
  const auto bands = stack.bands();
  const bool kinds = std::any_of(bands.begin(), bands.end(), [](const StackBand& other) {
    return other.kind == StackBandKind::kBlocks || other.kind == StackBandKind::kTensors;
  });
  switch (band.kind) {
    case StackBandKind::kTensors:
      return Make(BandRole::kTensors, "Tensors", "Live tensors, as the program named them.");
    case StackBandKind::kBlocks:
      return Make(BandRole::kBlocks, "Blocks without tensor",
                  "In use by the framework's allocator, but no tensor is known there: workspaces, "
                  "rounding.");
    case StackBandKind::kLayer:
      return OfLayer(band.layer);
    case StackBandKind::kCategory:
      return OfCategory(band.category);
    case StackBandKind::kSite:
      return OfSite(band.site, color, symbols);
    case StackBandKind::kStream:
      return OfStream(band.stream, color);
    case StackBandKind::kProcess:
      return BandOfProcess(*stack.session(), band.process, color);
    case StackBandKind::kOther:
      return OfOther(stack, band);
    case StackBandKind::kFilteredOut:
      return Make(BandRole::kFilteredOut, "Filtered out",
                  "In use, but the filter above does not let it pass.");
    case StackBandKind::kCached:
      return Make(BandRole::kCached, "Cached in segments",
                  "Held by the framework's allocator, free inside: it can be used again by this "
                  "framework only.");
    case StackBandKind::kOtherDriver:
      return Make(kinds ? BandRole::kLinear : BandRole::kOtherDriver, "Other driver memory",
                  "Requested from the driver by code other than the framework's allocator.");
    case StackBandKind::kPools:
      return Make(BandRole::kPool, "Held by driver pools",
                  "Kept by stream-ordered pools and VMM beyond what the program requested.");
    default:
      return OfRest(band);
  }
}

// Names that differ, and colours that other views have too.
void NameSiteBands(const analysis::TimelineStack& stack, analysis::Symbols& symbols,
                   const SiteColorsOf& colors, std::vector<Band>& bands) {
  std::vector<analysis::StackId> stacks;
  std::vector<std::size_t> which;
  for (std::size_t b = 0; b < bands.size(); ++b) {
    if (stack.bands()[b].kind != StackBandKind::kSite) continue;
    stacks.push_back(stack.bands()[b].site);
    which.push_back(b);
  }
  const std::vector<NamedSite> named = NameSites(symbols, stacks);
  QStringList keys;
  for (const NamedSite& site : named) keys << site.key;
  const std::vector<int> chosen = colors ? colors(keys) : std::vector<int>();
  for (std::size_t i = 0; i < which.size(); ++i) {
    if (stacks[i].valid()) bands[which[i]].name = named[i].name;
    bands[which[i]].key = named[i].key;
    if (i < chosen.size()) bands[which[i]].color = chosen[i];
  }
}

}  // namespace

int ColorOf(Category category) {
  switch (category) {
    case Category::kParameters:
      return 0;
    case Category::kGradients:
      return 1;
    case Category::kOptimizerState:
      return 2;
    case Category::kInputs:
      return 3;
    case Category::kActivations:
      return 4;
    case Category::kWorkspaces:
      return 5;
    case Category::kCommunication:
      return 6;
    case Category::kTemporaries:
      return 7;
    case Category::kLeaks:
      return 8;
    default:
      return -1;
  }
}

TimelineBands MakeBands(std::shared_ptr<const analysis::TimelineStack> stack,
                        analysis::Symbols* symbols, const SiteColorsOf& colors) {
  using Line = analysis::TimelineStack::Line;
  TimelineBands out;
  out.device = stack->device();
  out.framework = stack->framework();
  out.top = StackLine(stack, Line::kTop);
  out.allocated = StackLine(stack, Line::kAllocated);
  out.in_use = StackLine(stack, Line::kInUse);
  for (std::size_t b = 0; b < stack->bands().size(); ++b)
    out.bands.push_back(BandFor(*stack, stack->bands()[b], static_cast<int>(b), symbols));
  if (symbols != nullptr) NameSiteBands(*stack, *symbols, colors, out.bands);
  out.stack = std::move(stack);
  return out;
}

QString GroupingName(TimelineGrouping grouping) {
  switch (grouping) {
    case TimelineGrouping::kKind:
      return QStringLiteral("Memory kind");
    case TimelineGrouping::kLayer:
      return QStringLiteral("Layer");
    case TimelineGrouping::kCategory:
      return QStringLiteral("Category");
    case TimelineGrouping::kSite:
      return QStringLiteral("Call site");
    case TimelineGrouping::kStream:
      return QStringLiteral("Stream");
    case TimelineGrouping::kProcess:
      return QStringLiteral("Process");
  }
  return {};
}

QString GroupingHelp(TimelineGrouping grouping) {
  switch (grouping) {
    case TimelineGrouping::kKind:
      return QStringLiteral(
          "Tensors, other blocks, what is cached; without a framework, driver memory by layer.");
    case TimelineGrouping::kLayer:
      return QStringLiteral("What was requested from the driver, by the kind of call.");
    case TimelineGrouping::kCategory:
      return QStringLiteral("Parameters, gradients, optimizer state, activations, …");
    case TimelineGrouping::kSite:
      return QStringLiteral("The %1 call sites that held most when most was in use, and the rest.")
          .arg(analysis::kOwnBands);
    case TimelineGrouping::kStream:
      return QStringLiteral("The streams that memory was made for.");
    case TimelineGrouping::kProcess:
      return QStringLiteral("The processes, or ranks, of the job.");
  }
  return {};
}

}  // namespace memprof::viewer
