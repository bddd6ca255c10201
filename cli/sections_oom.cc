// The sections of `memprof oom`.
#include "cli/sections_oom.h"

#include <algorithm>
#include <set>

#include "analysis/units.h"
#include "cli/names.h"
#include "cli/sections.h"
#include "cli/table.h"
#include "cli/terminal.h"
#include "cli/text.h"

namespace memprof::cli {
namespace {

using analysis::DeviceSpace;
using analysis::FailedRequest;
using analysis::FailureCause;
using analysis::FailureReport;
using analysis::FormatBytes;
using analysis::FormatCount;
using analysis::FormatNumberOf;
using analysis::Remedy;
using analysis::RemedyKind;
using analysis::Session;

std::size_t Shown(std::size_t total, std::size_t top) {
  return top == 0 ? total : std::min(top, total);
}

std::string Indented(std::string_view words, std::size_t indent) {
  return Wrap(Cat(std::string(indent, '.'), words), kWidth, indent).replace(0, indent, indent, ' ');
}

std::string SignedBytes(std::uint64_t before, std::uint64_t after) {
  return after >= before ? Cat("+", FormatBytes(after - before))
                         : Cat("-", FormatBytes(before - after));
}

std::string SpaceTable(const FailureReport& report) {
  const DeviceSpace& space = report.space;
  Table table({Align::kRight, Align::kRight, Align::kLeft});
  const bool known_total = space.total > 0;
  const std::uint64_t whole = known_total ? space.total : space.known();
  table.Header({"bytes", "share",
                Cat("of the ", FormatBytes(whole), known_total ? "" : " that the log knows of",
                    " of device ", report.request.device)});
  const auto row = [&](std::uint64_t bytes, std::string what, bool always = false) {
    if (bytes == 0 && !always) return;
    table.Row({FormatBytes(bytes), Percent(static_cast<double>(bytes), static_cast<double>(whole)),
               std::move(what)});
  };
  const auto pieces = [](const analysis::FreePieces& free) {
    return Cat(" (", FormatNumberOf(free.count, "piece"), ", the largest ",
               FormatBytes(free.largest), ")");
  };
  row(space.blocks, "live blocks of allocators, as asked for");
  row(space.rounding, "rounding of these blocks");
  if (report.request.framework) {
    row(space.own_pool.bytes, Cat("free in segments in use, usable", pieces(space.own_pool)));
    row(space.other_pools.bytes,
        Cat("free in segments in use of other pools", pieces(space.other_pools)));
  } else {
    row(space.other_pools.bytes,
        Cat("free in an allocator's segments in use", pieces(space.other_pools)));
  }
  row(space.foreign.bytes, Cat("free in segments of the other processes", pieces(space.foreign)));
  row(space.cached.bytes, Cat("whole segments without a block", pieces(space.cached)));
  for (std::size_t i = 0; i < space.direct.size(); ++i)
    row(space.direct[i], Cat(analysis::LayerName(static_cast<analysis::Layer>(i)),
                             " memory that no allocator carves"));
  row(space.pools, "held in reserve by driver pools and mappings");
  row(space.modules, "code (modules)");
  if (space.others) row(*space.others, "other processes", true);
  row(space.untracked, "untracked: contexts, libraries' own memory, lazily loaded code");
  row(space.free, space.sampled ? "free, as the driver said" : "free, if nothing else was used",
      known_total);
  std::string text = table.Text(kWidth);
  if (space.elsewhere > 0)
    Append(text, "  ", FormatBytes(space.elsewhere),
           " of this was not on the device (managed memory, or a checkpoint).\n");
  return text;
}

std::string SiteTable(analysis::Symbols& symbols, const analysis::SiteGroups& sites,
                      const FailureReport& report, std::size_t top) {
  Table table({Align::kRight, Align::kRight, Align::kRight, Align::kLeft});
  table.Header({"bytes", "share", "blocks", "site"});
  for (std::size_t i = 0; i < Shown(report.sites.size(), top); ++i) {
    const analysis::SiteUse& use = report.sites[i];
    table.Row({FormatBytes(use.bytes),
               Percent(static_cast<double>(use.bytes), static_cast<double>(report.space.total)),
               FormatCount(use.count), SiteLabel(symbols, sites.Example(use.site))});
  }
  return table.Text(kWidth) + MoreLine(Shown(report.sites.size(), top), report.sites.size());
}

std::string ChangeTable(analysis::Symbols& symbols, const analysis::SiteGroups& sites,
                        const FailureReport& report, std::size_t top) {
  Table table({Align::kRight, Align::kRight, Align::kRight, Align::kLeft});
  table.Header({"change", "before", "now", "site"});
  for (std::size_t i = 0; i < Shown(report.changes.size(), top); ++i) {
    const analysis::SiteChange& change = report.changes[i];
    table.Row({SignedBytes(change.before, change.after), FormatBytes(change.before),
               FormatBytes(change.after), SiteLabel(symbols, sites.Example(change.site))});
  }
  return table.Text(kWidth) + MoreLine(Shown(report.changes.size(), top), report.changes.size());
}

std::string RequestSite(const FailureReport& report) {
  return report.request.stack.valid() ? FrameLabel(report.site) : "(no call stack)";
}

// Who asked whom for what.
std::string RequestLines(const Session& session, const FailureReport& report) {
  const FailedRequest& request = report.request;
  std::string text =
      Cat("  Asked for by ", Styled(Style::kCyan, CutEnd(RequestSite(report), kWidth - 15)), "\n");
  const std::string_view api = session.string(request.api);
  if (request.driver.valid() && request.framework)
    Append(text, "  The allocator asked the driver for a segment of ",
           FormatBytes(request.driver_bytes),
           request.attempts > 1 ? Cat(", ", request.attempts, " times") : "",
           api.empty() ? "" : Cat(" (", Printable(api), ")"), ".\n");
  else if (!api.empty())
    Append(text, "  Call: ", Printable(api), ", CUresult ", request.result, ", layer ",
           analysis::LayerName(request.layer), ".\n");
  return text;
}

}  // namespace

std::string FailureVerdict(const FailureReport& report) {
  const DeviceSpace& space = report.space;
  const FailedRequest& request = report.request;
  const std::string asked = FormatBytes(request.bytes), free = FormatBytes(space.free);
  const std::uint64_t holes = space.own_pool.bytes + space.other_pools.bytes + space.cached.bytes;
  switch (report.cause) {
    case FailureCause::kCapacity:
      return Cat("Capacity: ", FormatBytes(report.missing), " too little. The driver had ", free,
                 " free",
                 holes > 0 ? Cat(", and the allocator ", FormatBytes(holes), " unused") : "",
                 ": together less than the ", asked, " asked for.");
    case FailureCause::kFragmentation:
      return Cat("Fragmentation: ", FormatBytes(space.free + holes + space.pools),
                 " were unused, but not in one piece of ", asked, ". The largest that could serve ",
                 "the request had ", FormatBytes(std::max(space.largest_own, space.free)), ".");
    case FailureCause::kOtherPool:
      return Cat("Stranded memory: a free piece of ", FormatBytes(space.largest_other),
                 " was there, but in a pool for another stream or for blocks of another size; the "
                 "request's own pool had at most ",
                 FormatBytes(space.largest_own), " in one piece, and the driver ", free, ".");
    case FailureCause::kAllocatorRule:
      return Cat("The allocator's own rules: a free piece of ", FormatBytes(space.largest_own),
                 " was in the right pool, and was not used (a limit on splitting, or a private "
                 "pool that the log does not name).");
    case FailureCause::kSegmentSize:
      return Cat("Segment size: the driver had ", free, " free, enough for ", asked,
                 ", but the allocator takes no less than ", FormatBytes(request.driver_bytes),
                 " from it for such requests.");
    case FailureCause::kReserve:
      return Cat("Reserve: the driver had only ", free, " free, while ",
                 FormatBytes(space.cached.bytes + space.pools),
                 " lay unused in whole segments and pools that could have been given back.");
    case FailureCause::kDespiteFree:
      return Cat("The driver refused ", FormatBytes(request.driver_bytes),
                 " although it said that ", free,
                 " were free: rounding to its page size, a limit on a pool, or memory taken "
                 "in between by someone else.");
    case FailureCause::kTooLarge:
      return Cat("Too large: ", asked, " is more than the device has (", FormatBytes(space.total),
                 ").");
    case FailureCause::kHostMemory:
      return "Host memory: the request was for page-locked memory of the host, which the device's "
             "memory says nothing about.";
    case FailureCause::kRefused:
      return Cat("No want of memory: the driver refused the call with CUresult ", request.result,
                 ".");
    case FailureCause::kUnknown:
      break;
  }
  if (request.bytes == 0)
    return "The call names no size (a context, a module, a graph): what it needed is not in the "
           "log.";
  return "What was free at that instant is not in the log, nor how much the device has.";
}

std::string RemedyWords(const Session& session, analysis::Symbols& symbols,
                        const analysis::SiteGroups& sites, const FailureReport& report,
                        const Remedy& remedy) {
  const std::string bytes = FormatBytes(remedy.bytes);
  switch (remedy.kind) {
    case RemedyKind::kReleaseCache:
      return Cat("giving unused segments back to the driver: ", bytes);
    case RemedyKind::kTrimPools:
      return Cat("trimming driver pools: ", bytes);
    case RemedyKind::kSmallSegments:
      return Cat("taking no larger segment from the driver than the request needs");
    case RemedyKind::kOnePool:
      return Cat("one pool for all streams and sizes: its largest piece has ", bytes);
    case RemedyKind::kExpandable:
      return Cat("expandable segments: ", bytes, " of whole 2 MiB pages of segments are unused");
    case RemedyKind::kPacked:
      return Cat("no fragmentation at all: ", bytes, " of holes in one piece with what is free");
    case RemedyKind::kFreeBlocks: {
      const analysis::StackId stack = session.record(remedy.blocks[0]).stack;
      std::set<std::uint32_t> stacks;
      for (const analysis::AllocationId id : remedy.blocks)
        stacks.insert(session.record(id).stack.value);
      return Cat("freeing ", FormatNumberOf(remedy.blocks.size(), "neighbouring block"), ", ",
                 bytes, ", of ", SiteLabel(symbols, stack), stacks.size() > 1 ? " and others" : "");
    }
    case RemedyKind::kSites: {
      std::string names;
      for (std::size_t i = 0; i < std::min<std::size_t>(remedy.sites.size(), 3); ++i)
        Append(names, i == 0 ? "" : ", ", SiteLabel(symbols, sites.Example(remedy.sites[i].site)),
               " (", FormatBytes(remedy.sites[i].bytes), ")");
      if (remedy.sites.size() > 3) Append(names, " and ", remedy.sites.size() - 3, " more");
      if (remedy.sites.empty()) return Cat("all call sites without their memory: ", bytes);
      return Cat(
          remedy.sites.size() == 1 ? "without the memory of " : "without the memory of all of ",
          names);
    }
    case RemedyKind::kOtherProcesses:
      return Cat("without other processes on the device: ", bytes);
    case RemedyKind::kSmallerRequest:
      return remedy.bytes == 0
                 ? std::string("a smaller request: none of its kind would have fitted")
                 : Cat("a request of at most ", bytes, " (", FormatCount(remedy.bytes), " bytes)");
    case RemedyKind::kLargerDevice:
      return Cat("a device with ", bytes,
                 " more: ", FormatBytes(report.space.total + remedy.bytes));
  }
  return "";
}

std::string FailureTable(const Session& session, const analysis::FailureExplainer& explainer,
                         const std::vector<FailedRequest>& failures, std::size_t top) {
  Table table(
      {Align::kRight, Align::kRight, Align::kRight, Align::kRight, Align::kLeft, Align::kLeft});
  table.Header({"event", "after", "step", "asked for", "", "site"});
  const std::size_t shown = Shown(failures.size(), top);
  for (std::size_t i = failures.size() - shown; i < failures.size(); ++i) {
    const FailedRequest& request = failures[i];
    table.Row({Cat(request.event.value), Since(session, request.time),
               request.step < 0 ? std::string("-") : Cat(request.step), FormatBytes(request.bytes),
               request.recovered ? "then succeeded" : "",
               request.stack.valid() ? FrameLabel(explainer.SiteOf(request)) : "(no call stack)"});
  }
  return table.Text(kWidth) + MoreLine(shown, failures.size());
}

std::string FailureText(const Session& session, analysis::Symbols& symbols,
                        const analysis::SiteGroups& sites, const FailureReport& report,
                        std::size_t top) {
  const FailedRequest& request = report.request;
  const std::string where =
      request.device == analysis::kNoDevice ? "" : Cat(" on device ", request.device);
  std::string text =
      Heading(Cat("Event ", request.event.value, ": ", FormatBytes(request.bytes), where,
                  StepLabel(session, request.step), ", after ", Since(session, request.time)));
  Append(text, Styled(Style::kBold, Indented(FailureVerdict(report), 2)), "\n",
         request.recovered ? "  The same thread then got the memory after all.\n" : "",
         RequestLines(session, report));
  if (report.space.total > 0 || report.space.known() > 0)
    Append(text, "\n  Where every byte was:\n", SpaceTable(report));
  if (!report.remedies.empty()) {
    text += "\n  Would it have fitted?\n";
    for (const Remedy& remedy : report.remedies)
      Append(text, "    ", remedy.fits ? Styled(Style::kGreen, "yes") : Styled(Style::kDim, "no "),
             "  ",
             Indented(Cat(RemedyWords(session, symbols, sites, report, remedy),
                          remedy.short_by > 0 && remedy.kind != RemedyKind::kSmallerRequest
                              ? Cat("; ", FormatBytes(remedy.short_by), " short")
                              : ""),
                      9)
                 .substr(9),
             "\n");
  }
  if (!report.sites.empty())
    Append(text, "\n  Live then, by call site:\n", SiteTable(symbols, sites, report, top));
  if (report.compared_step >= 0) {
    Append(text, "\n  Since ", report.same_call ? "the same call in step " : "the end of step ",
           report.compared_step, ": ", SignedBytes(report.live_before, report.live_after),
           report.changes.empty() ? ", at no site\n" : "\n");
    if (!report.changes.empty()) text += ChangeTable(symbols, sites, report, top);
  }
  return text;
}

std::string HeadroomText(const Session& session, const std::vector<analysis::Headroom>& rooms) {
  Table table(
      {Align::kLeft, Align::kRight, Align::kRight, Align::kRight, Align::kRight, Align::kLeft});
  table.Header({"device", "capacity", "least left", "reusable then", "lowest sample", "when"});
  for (const analysis::Headroom& room : rooms) {
    if (room.total == 0) continue;
    table.Row({Cat(room.device), FormatBytes(room.total),
               Cat(FormatBytes(room.lowest), " ",
                   Percent(static_cast<double>(room.lowest), static_cast<double>(room.total))),
               FormatBytes(room.reusable),
               room.samples == 0 ? std::string("-") : FormatBytes(room.lowest_free),
               Cat(Since(session, room.time), StepLabel(session, room.step))});
  }
  if (table.empty()) return "  The log does not say how much memory its devices have.\n";
  return table.Text(kWidth);
}

}  // namespace memprof::cli
