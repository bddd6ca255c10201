// The sections on leaks, and other parts of reports.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include "analysis/base/units.h"
#include "analysis/leaks/forecast.h"
#include "analysis/peak/operators.h"
#include "analysis/symbols/site_key.h"
#include "cli/console/lines.h"
#include "cli/console/table.h"
#include "cli/console/terminal.h"
#include "cli/console/text.h"
#include "cli/leaks/leaks.h"
#include "cli/shared/holder_table.h"
#include "cli/shared/names.h"

namespace memprof::cli {
namespace {

using analysis::FormatBytes;
using analysis::FormatCount;
using analysis::FormatNumberOf;
using analysis::Leak;
using analysis::Session;

// "label  text…" with the text in a column of its own.
std::string Labelled(std::string_view label, std::string_view text) {
  constexpr std::size_t kColumn = 13;
  std::string first = Cat("      ", label);
  first.resize(kColumn, ' ');
  const std::string wrapped = Wrap(Cat(std::string(kColumn, '.'), text), kWidth, kColumn);
  return Cat(first, wrapped.substr(kColumn), "\n");
}

std::string DeviceWords(int device) {
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

// The operator of PyTorch that allocated, which tells leaks of one line apart.
std::string MadeBy(analysis::Symbols& symbols, const Leak& leak) {
  if (!leak.stack.valid()) return "";
  const std::string name = analysis::OperatorOf(symbols.ResolveStack(leak.stack));
  return name.empty() ? "" : Cat(" made by ", Printable(name));
}

// The variables to change: one paragraph for each, the first ones.
std::string HolderText(const Leak& leak) {
  constexpr std::size_t kShown = 3;
  std::string text;
  const std::vector<analysis::Holder> holders = analysis::SumUp(leak.holders);
  const auto add = [&text](std::string_view holder, std::uint64_t blocks, std::uint64_t bytes) {
    Append(text, Labelled(text.empty() ? "holder" : "and",
                          Cat(Printable(holder), ", ", FormatNumberOf(blocks, "block"), ", ",
                              FormatBytes(bytes))));
  };
  for (std::size_t i = 0; i < std::min(kShown, holders.size()); ++i)
    add(holders[i].path, holders[i].blocks, holders[i].bytes);
  if (holders.size() > kShown)
    Append(text, "             … and ", holders.size() - kShown, " more\n");
  if (leak.without_holder && leak.without_holder->blocks > 0)
    add(kNoHolder, leak.without_holder->blocks, leak.without_holder->bytes);
  return text;
}

// Live memory of one layer at one place, by whatever path.
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

// Rows for memory of the process, or for memory that it imported.
AliveTable AliveRows(analysis::Symbols& symbols, const std::vector<Leak>& alive, std::size_t top,
                     bool has_steps, bool imported) {
  AliveTable result;
  std::vector<AliveRow> rows;
  std::map<std::pair<std::string, analysis::Layer>, std::size_t> index;
  for (const Leak& leak : alive) {
    if (leak.imported() != imported) continue;
    const auto [it, fresh] =
        index.try_emplace({analysis::SiteKey(symbols, leak.stack), leak.layer}, rows.size());
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
  const std::size_t shown = Shown(rows.size(), top);
  for (std::size_t i = 0; i < shown; ++i) {
    const AliveRow& row = rows[i];
    // Often only the owning process knows the size of imported memory.
    table.Row({imported && row.bytes == 0 ? "-" : FormatBytes(row.bytes), FormatCount(row.blocks),
               std::string(analysis::LayerName(row.layer)),
               has_steps ? BornLabel(row.first_step, row.last_step) : "", row.site});
  }
  result.sites = rows.size();
  result.text = table.Text(kWidth) + MoreLine(shown, rows.size());
  return result;
}

}  // namespace

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
  std::string figures = Cat(
      FormatBytes(leak.bytes), " in ", FormatNumberOf(leak.blocks, "block"), " (",
      analysis::LayerName(leak.layer), ", ", DeviceWords(leak.device), ")", MadeBy(symbols, leak),
      leak.basis == analysis::LeakBasis::kTime ? std::string("; judged by time")
                                               : Cat(", born in ", BornLabel(leak)),
      leak.steps_needed > 0
          ? std::string("; too short a run to judge")
          : Cat("; score ", static_cast<std::int64_t>(std::lround(leak.score)), " of 100"));
  if (leak.steps_to_oom >= 0)
    Append(figures, "; out of memory ", analysis::StepsAhead(leak.steps_to_oom));
  Append(text, Paragraph(figures, 6), HolderText(leak), Labelled("why", Printable(leak.why)),
         Labelled("doubt", Printable(leak.disproof)));
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

std::string AliveHeading(const analysis::LeakReport& report) {
  return report.horizon_too_short || !report.rising.empty() ? "Alive at the end"
                                                            : "Alive at the end, not growing";
}

std::string AliveText(const analysis::Session& session, analysis::Symbols& symbols,
                      const std::vector<Leak>& alive, std::size_t top, bool has_steps) {
  const AliveTable own = AliveRows(symbols, alive, top, has_steps, false);
  const AliveTable imported = AliveRows(symbols, alive, top, has_steps, true);
  std::string text;
  if (own.sites == 0) {
    text = "  Nothing else was alive at the end.\n";
  } else {
    text = Cat("  ", FormatBytes(own.bytes), " in ", FormatNumberOf(own.blocks, "block"), " of ",
               FormatNumberOf(own.sites, "site"), ":\n", own.text);
    std::vector<analysis::Holder> holders;
    std::optional<analysis::WithoutHolder> rest;
    for (const Leak& leak : alive) {
      if (leak.imported()) continue;
      holders.insert(holders.end(), leak.holders.begin(), leak.holders.end());
      if (!leak.without_holder) continue;
      if (!rest) rest.emplace();
      rest->bytes += leak.without_holder->bytes;
      rest->blocks += leak.without_holder->blocks;
    }
    if (!holders.empty() || rest)
      Append(text, "\n  Held by, when looked at last:\n",
             HolderTable(holders, rest, own.bytes, top));
    for (const Leak& leak : std::span(alive).first(Shown(alive.size(), top)))
      if (const std::string words = ExportedWords(session, leak.exported, leak.blocks);
          !words.empty())
        Append(text, "\n",
               Paragraph(Cat(FormatBytes(leak.bytes), " of ", SiteLabel(symbols, leak.stack), ": ",
                             Printable(words)),
                         2));
  }
  if (imported.sites > 0) {
    Append(text, "\n  Imported and never closed (owned elsewhere, in no total): ",
           FormatNumberOf(imported.blocks, "handle"), " of ",
           FormatNumberOf(imported.sites, "site"), ":\n", imported.text);
  }
  return text;
}

}  // namespace memprof::cli
