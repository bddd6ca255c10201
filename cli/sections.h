// Parts of reports, as text: what `memprof report` shows in full and the other verbs one by one.
// Lines are at most 100 columns wide and end with a newline.
#pragma once

#include <string>
#include <vector>

#include "analysis/fragmentation/fragmentation.h"
#include "analysis/leaks/leaks.h"
#include "analysis/peak/peak.h"
#include "analysis/peak/savings.h"
#include "analysis/report/report.h"
#include "analysis/store/session.h"
#include "analysis/symbols/symbols.h"

namespace memprof::cli {

inline constexpr std::size_t kWidth = 100;

// "TITLE" on a line of its own, after an empty one.
std::string Heading(std::string_view title);

// What ran, when, and how the log ended.
std::string RunLines(const analysis::Session& session);

// "1.00 MiB per step"; of a leak that does not grow with steps, what it holds.
std::string LeakSize(const analysis::Leak& leak);

// One leak: tier, figures, place, reasons, and its stack down to `frames` frames.
std::string LeakText(analysis::Symbols& symbols, const analysis::Leak& leak, std::size_t number,
                     std::size_t frames);

// Borderline sites with their scores, under a heading; "" for none.
std::string RisingText(analysis::Symbols& symbols, const std::vector<analysis::Leak>& rising);

// A table of what is alive at the end and no leak, at most `top` rows (0 = all), with the steps of
// birth where the log has steps.
std::string AliveText(analysis::Symbols& symbols, const std::vector<analysis::Leak>& alive,
                      std::size_t top, bool has_steps);

// What was live at a peak: by layer, by site and by tensor (tensors of one
// name, shape and site are one row), at most `top` rows each (0 = all).
// With `savings`, each row also says what the peak would be without it.
std::string PeakText(const analysis::Session& session, analysis::Symbols& symbols,
                     const analysis::Peak& peak, std::size_t top,
                     const analysis::PeakSavings* savings = nullptr);

// Pools and the worst `top` pins of each (0 = all).
std::string FragmentationText(const analysis::Session& session, analysis::Symbols& symbols,
                              const analysis::FragmentationReport& report, std::size_t top);

// For each device what was used of it at its last sample and near its highest use, by layer, with
// what the log cannot explain.
std::string LedgerText(const analysis::Session& session,
                       const std::vector<analysis::DeviceFigures>& devices);

// Sources, events, what was dropped, and what recording cost.
std::string RecorderText(const analysis::Session& session, const analysis::EventTotals& events);

// "… and 12 more (--top=0 for all)" when `shown` of `total` rows were printed; else "".
std::string MoreLine(std::size_t shown, std::size_t total);

// Stacks with one site, whatever the way there, as one: what the tables of the text show.
struct Place {
  std::string site;  // SiteLabel()
  std::string key;   // SiteKey()
  std::uint64_t bytes = 0, blocks = 0;
  analysis::AllocationId largest;
};
// Largest first. Sites of different layers stay apart.
std::vector<Place> JoinByPlace(analysis::Symbols& symbols, const std::vector<analysis::Site>& sites,
                               const analysis::Session& session);

// "37 %".
std::string Percent(double part, double whole);

}  // namespace memprof::cli
