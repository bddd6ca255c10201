// Parts of reports that are no query of their own, and the sections on leaks.
#include "cli/sections.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <utility>

#include "analysis/base/units.h"
#include "analysis/leaks/forecast.h"
#include "cli/names.h"
#include "cli/sections_steps.h"
#include "cli/table.h"
#include "cli/terminal.h"
#include "cli/text.h"

namespace memprof::cli {
namespace {

using analysis::FormatBytes;
using analysis::FormatCount;
using analysis::FormatNumberOf;
using analysis::Leak;
using analysis::Session;

// "label  text…" with the text in a column of its own.
std::string Paragraph(std::string_view label, std::string_view text) {
  constexpr std::size_t kColumn = 13;
  std::string first = Cat("      ", label);
  first.resize(kColumn, ' ');
  const std::string wrapped = Wrap(Cat(std::string(kColumn, '.'), text), kWidth, kColumn);
  return Cat(first, wrapped.substr(kColumn), "\n");
}

std::string DeviceLabel(int device) {
  return device == analysis::kNoDevice ? std::string("host") : Cat("device ", device);
}

std::string TierLabel(const Leak& leak) {
  switch (leak.tier) {
    case analysis::LeakTier::kDefinite:
      return Styled(Style::kRed, "definite leak");
    case analysis::LeakTier::kSuspected:
      return Styled(Style::kRed, "suspected leak");
    case analysis::LeakTier::kGrowing:
      return Styled(Style::kYellow, leak.in_use ? "growing, in use" : "growing");
    case analysis::LeakTier::kLiveAtExit:
      break;
  }
  return "not sure to leak";
}

// When memory was born: "set-up", "step 3", "set-up to step 48".
std::string BornLabel(std::int64_t first, std::int64_t last) {
  const auto label = [](std::int64_t step) {
    return step < 0 ? std::string("set-up") : Cat("step ", step);
  };
  if (first == last) return label(first);
  return first < 0 ? Cat(label(first), " to ", label(last)) : Cat(label(first), " to ", last);
}

std::string BornLabel(const Leak& leak) {
  if (leak.survivors.empty()) return "";
  return BornLabel(leak.survivors.front().step, leak.survivors.back().step);
}

// What is alive of one layer at one place, whatever the way there.
struct AliveRow {
  std::string site;
  analysis::Layer layer;
  std::uint64_t bytes = 0, blocks = 0;
  std::int64_t first_step = -1, last_step = -1;
};

struct AliveTable {
  std::string text;
  std::uint64_t bytes = 0, blocks = 0;
  std::size_t sites = 0;
};

// The rows of what the process owns, or of what it imported.
AliveTable AliveRows(analysis::Symbols& symbols, const std::vector<Leak>& alive, std::size_t top,
                     bool has_steps, bool imported) {
  AliveTable result;
  std::vector<AliveRow> rows;
  std::map<std::pair<std::string, analysis::Layer>, std::size_t> index;
  for (const Leak& leak : alive) {
    if (leak.imported() != imported) continue;
    const auto [it, fresh] =
        index.try_emplace({SiteKey(symbols, leak.stack), leak.layer}, rows.size());
    if (fresh)
      rows.push_back(
          {SiteLabel(symbols, leak.stack), leak.layer, 0, 0, leak.first_step, leak.first_step});
    AliveRow& row = rows[it->second];
    row.bytes += leak.bytes;
    row.blocks += leak.blocks;
    row.first_step = std::min(row.first_step, leak.first_step);
    row.last_step = std::max(row.last_step, leak.survivors.back().step);
    result.bytes += leak.bytes;
    result.blocks += leak.blocks;
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const AliveRow& a, const AliveRow& b) { return a.bytes > b.bytes; });
  Table table({Align::kRight, Align::kRight, Align::kLeft, Align::kLeft, Align::kLeft});
  table.Header({"bytes", "blocks", "layer", has_steps ? "born in" : "", "site"});
  const std::size_t shown = top == 0 ? rows.size() : std::min(top, rows.size());
  for (std::size_t i = 0; i < shown; ++i) {
    const AliveRow& row = rows[i];
    // Of what another process owns, the size is often known to that process alone.
    table.Row({imported && row.bytes == 0 ? "-" : FormatBytes(row.bytes), FormatCount(row.blocks),
               std::string(analysis::LayerName(row.layer)),
               has_steps ? BornLabel(row.first_step, row.last_step) : "", row.site});
  }
  result.sites = rows.size();
  result.text = table.Text(kWidth) + MoreLine(shown, rows.size());
  return result;
}

}  // namespace

std::string Heading(std::string_view title) { return Cat("\n", Styled(Style::kBold, title), "\n"); }

std::string MoreLine(std::size_t shown, std::size_t total) {
  if (shown >= total) return "";
  return Styled(Style::kDim,
                Cat("  … and ", FormatCount(total - shown), " more (--top=0 for all)")) +
         "\n";
}

std::string Percent(double part, double whole) {
  if (whole <= 0) return "-";
  char text[32];
  const double percent = 100 * part / whole;
  std::snprintf(text, sizeof text, percent >= 9.95 || percent == 0 ? "%.0f %%" : "%.1f %%",
                percent);
  return text;
}

namespace {

std::uint32_t RunCount(const Session& session) {
  std::uint32_t last = 0;
  for (const analysis::ProcessInfo& process : session.processes())
    last = std::max(last, process.run_number);
  return last + 1;
}

// Where logs do not overlap in time: nothing of one log answers for another.
std::string RunsLine(const Session& session) {
  const std::uint32_t runs = RunCount(session);
  if (runs == 1) return "";
  const std::string text =
      runs == 2 ? "These logs do not overlap in time: two runs; compare them with memprof diff."
                : Cat("Not all of these logs overlap in time: ", runs,
                      " runs, one after the other; compare two of them with memprof diff.");
  return Cat(Styled(Style::kYellow, Wrap(text, kWidth, 0)), "\n");
}

// One line for each log of a session of several.
std::string ProcessLines(const Session& session) {
  Table table({Align::kRight, Align::kLeft, Align::kRight, Align::kLeft, Align::kLeft});
  table.Header({"rank", "host", "pid", "clock", "log"});
  for (const analysis::ProcessInfo& process : session.processes()) {
    table.Row({process.rank < 0 ? "-" : Cat(process.rank), Printable(process.run.hostname),
               Cat(process.run.pid),
               process.clock_shift_ns == 0 ? "as is" : "aligned by wall clock",
               CutFront(Printable(process.path), 48)});
  }
  return Cat(table.Text(kWidth), RunsLine(session));
}

}  // namespace

std::string RunLines(const Session& session) {
  const analysis::RunInfo& run = session.run();
  std::string command;
  for (const std::string& argument : run.arguments) {
    Append(command, command.empty() ? "" : " ", Printable(argument));
  }
  if (command.empty()) command = Printable(run.executable);
  if (command.empty()) command = "(unknown program)";
  const analysis::TimeNs start = StartTime(session);
  const analysis::TimeNs end = std::max(start, run.end_time);
  std::string text = Cat(Styled(Style::kBold, CutEnd(command, kWidth)), "\n");
  const std::uint32_t runs = RunCount(session);
  std::string facts =
      Cat(runs == 1 ? "" : Cat(runs, " runs one after the other, "),
          analysis::FormatDuration(end - start), runs == 1 ? ", " : " from first to last, ",
          FormatNumberOf(session.steps().size(), "step"), runs == 1 ? "" : " in all");
  if (const std::string found = StepOriginText(session.step_origin());
      !found.empty() && !session.steps().empty())
    Append(facts, " (", found, ")");
  const bool several = session.processes().size() > 1;
  if (several) Append(facts, ", ", session.processes().size(), " processes");
  if (!several && run.pid != 0) Append(facts, ", pid ", run.pid);
  if (!several && !run.hostname.empty()) Append(facts, " on ", Printable(run.hostname));
  if (run.complete) {
    Append(facts, ", ended cleanly");
    if (!run.end_reason.empty() && run.end_reason != "exit") {
      Append(facts, " (", Printable(run.end_reason), ")");
    }
  } else if (run.growing) {
    Append(facts, ", still running: these are the figures so far");
  } else {
    Append(facts, ", ended without closing its log (killed or crashed)");
  }
  Append(text, Wrap(facts, kWidth, 0), "\n");
  if (several) text += ProcessLines(session);
  if (Simulated(session)) {
    Append(text,
           Styled(Style::kYellow, Wrap("Recorded on the stand-in GPU: sizes, lifetimes and "
                                       "call stacks are real; timings are not a GPU's.",
                                       kWidth, 0)),
           "\n");
  }
  return text;
}

std::string LeakSize(const Leak& leak) {
  return leak.bytes_per_step > 0 ? Cat(FormatBytes(leak.bytes_per_step), " per step")
                                 : FormatBytes(leak.bytes);
}

std::string LeakText(analysis::Symbols& symbols, const Leak& leak, std::size_t number,
                     std::size_t frames) {
  const std::string slope = LeakSize(leak);
  const std::size_t column = Columns(Cat("  ", number, ". suspected leak: ", slope, " at "));
  std::string text =
      Cat("  ", number, ". ", TierLabel(leak), ": ", Styled(Style::kBold, slope), " at ",
          Styled(Style::kCyan, SiteAndCaller(symbols, leak.stack, column, 6)), "\n");
  std::string figures =
      Cat(FormatBytes(leak.bytes), " in ", FormatNumberOf(leak.blocks, "block"), " (",
          analysis::LayerName(leak.layer), ", ", DeviceLabel(leak.device), ")",
          leak.basis == analysis::LeakBasis::kTime ? std::string("; judged by time")
                                                   : Cat(", born in ", BornLabel(leak)),
          leak.steps_needed > 0
              ? std::string("; too short a run to judge")
              : Cat("; score ", static_cast<std::int64_t>(std::lround(leak.score)), " of 100"));
  if (leak.steps_to_oom >= 0)
    Append(figures, "; out of memory ", analysis::StepsAhead(leak.steps_to_oom));
  Append(text, "      ", Wrap(Cat("......", figures), kWidth, 6).substr(6), "\n");
  Append(text, Paragraph("why", Printable(leak.why)));
  Append(text, Paragraph("doubt", Printable(leak.disproof)));
  const std::string stack = StackLines(symbols, leak.stack, 13, frames);
  if (!stack.empty()) Append(text, "      stack\n", stack);
  return text;
}

std::string RisingText(analysis::Symbols& symbols, const std::vector<Leak>& rising) {
  constexpr std::size_t kShown = 5;
  if (rising.empty()) return "";
  std::string text = Heading("Rising, not sure to leak");
  for (std::size_t i = 0; i < std::min(kShown, rising.size()); ++i)
    Append(text, i > 0 ? "\n" : "", LeakText(symbols, rising[i], i + 1, 3));
  if (rising.size() > kShown) Append(text, "  … and ", rising.size() - kShown, " more\n");
  return text;
}

std::string AliveText(analysis::Symbols& symbols, const std::vector<Leak>& alive, std::size_t top,
                      bool has_steps) {
  const AliveTable own = AliveRows(symbols, alive, top, has_steps, false);
  const AliveTable imported = AliveRows(symbols, alive, top, has_steps, true);
  std::string text;
  if (own.sites == 0) {
    text = "  Nothing else was alive at the end.\n";
  } else {
    text = Cat("  ", FormatBytes(own.bytes), " in ", FormatNumberOf(own.blocks, "block"), " of ",
               FormatNumberOf(own.sites, "site"), ":\n", own.text);
  }
  if (imported.sites > 0) {
    Append(text, "\n  Imported and never closed (owned elsewhere, in no total): ",
           FormatNumberOf(imported.blocks, "handle"), " of ",
           FormatNumberOf(imported.sites, "site"), ":\n", imported.text);
  }
  return text;
}

}  // namespace memprof::cli
