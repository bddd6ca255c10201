// `memprof leaks`: what grows, as text and as JSON.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "analysis/leaks/leaks.h"
#include "analysis/store/session.h"
#include "analysis/symbols/symbols.h"
#include "cli/console/json.h"

namespace memprof::cli {

int LeaksVerb(int argc, char** argv);

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

// All of them; their stacks are cut where there are so many that together they would be gigabytes.
Json LeaksJson(const analysis::Session& session, analysis::Symbols& symbols,
               std::span<const analysis::Leak> leaks);

}  // namespace memprof::cli
