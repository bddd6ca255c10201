// The sections of `memprof oom`.

#include <algorithm>

#include "analysis/base/units.h"
#include "analysis/oom/words.h"
#include "cli/console/lines.h"
#include "cli/console/table.h"
#include "cli/console/terminal.h"
#include "cli/console/text.h"
#include "cli/oom/internal/failures.h"
#include "cli/shared/holder_table.h"
#include "cli/shared/names.h"

namespace memprof::cli {
namespace {

using analysis::DeviceSpace;
using analysis::FailedRequest;
using analysis::FailureReport;
using analysis::FormatBytes;
using analysis::FormatCount;
using analysis::Remedy;
using analysis::Session;

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
  const std::uint64_t whole = analysis::SpaceWhole(space);
  table.Header({"bytes", "share",
                Cat("of the ", FormatBytes(whole), space.total > 0 ? "" : " that the log shows",
                    " of device ", report.request.device)});
  for (const analysis::SpacePart& part : analysis::SpaceParts(report))
    table.Row({FormatBytes(part.bytes),
               Percent(static_cast<double>(part.bytes), static_cast<double>(whole)), part.words});
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
               FormatCount(use.count), SiteLabel(symbols, sites, use.site)});
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
               FormatBytes(change.after), SiteLabel(symbols, sites, change.site)});
  }
  return table.Text(kWidth) + MoreLine(Shown(report.changes.size(), top), report.changes.size());
}

std::string RequestSite(const FailureReport& report) {
  return report.request.stack.valid() ? FrameLabel(report.site) : "(no call stack)";
}

// The request: its bytes, its site, and the allocator or driver that failed.
std::string RequestLines(const Session& session, const FailureReport& report) {
  const FailedRequest& request = report.request;
  std::string text =
      Cat("  Requested by ", Styled(Style::kCyan, CutSite(RequestSite(report), kWidth - 15)), "\n");
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

std::string FailureTable(const Session& session, const analysis::FailureExplainer& explainer,
                         const std::vector<FailedRequest>& failures, std::size_t top) {
  Table table(
      {Align::kRight, Align::kRight, Align::kRight, Align::kRight, Align::kLeft, Align::kLeft});
  table.Header({"event", "after", "step", "requested", "", "site"});
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
  Append(text, Styled(Style::kBold, Indented(analysis::FailureVerdict(report), 2)), "\n",
         request.recovered ? "  A later attempt of the same thread succeeded.\n" : "",
         RequestLines(session, report));
  if (report.space.total > 0 || report.space.known() > 0)
    Append(text, "\n  Where every byte was:\n", SpaceTable(report));
  if (!report.remedies.empty()) {
    const analysis::SiteNamer name = {
        [&](analysis::StackId stack) { return SiteLabel(symbols, stack); },
        [&](std::uint32_t group) { return SiteLabel(symbols, sites, group); }};
    text += "\n  Would it have fitted?\n";
    for (const Remedy& remedy : report.remedies)
      Append(
          text, "    ", remedy.fits ? Styled(Style::kGreen, "yes") : Styled(Style::kDim, "no "),
          "  ",
          Indented(Cat(analysis::RemedyWords(session, report, remedy, name),
                       remedy.short_by > 0 && remedy.kind != analysis::RemedyKind::kSmallerRequest
                           ? Cat("; ", FormatBytes(remedy.short_by), " short")
                           : ""),
                   9)
              .substr(9),
          "\n");
  }
  if (!report.sites.empty())
    Append(text, "\n  Live then, by call site:\n", SiteTable(symbols, sites, report, top));
  if (!report.holders.empty() || report.without_holder)
    Append(text, "\n  Held by, when looked at last:\n",
           HolderTable(report.holders, report.without_holder, report.space.total, top));
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
  if (table.empty()) return "  The log does not show how much memory its devices have.\n";
  return table.Text(kWidth);
}

}  // namespace memprof::cli
