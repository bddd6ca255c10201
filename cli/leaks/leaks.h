// `memprof leaks`: growing memory, as text and as JSON.
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

// "1.00 MiB per step"; for a leak that does not grow with steps, its bytes.
std::string LeakSize(const analysis::Leak& leak);

// One leak: tier, figures, place, reasons, and at most `frames` frames of its stack.
std::string LeakText(analysis::Symbols& symbols, const analysis::Leak& leak, std::size_t number,
                     std::size_t frames);

// Borderline sites with their scores, under a heading; "" for none.
std::string RisingText(analysis::Symbols& symbols, const std::vector<analysis::Leak>& rising);

// Of the table below: that nothing of it grows is said only if all of it was judged.
std::string AliveHeading(const analysis::LeakReport& report);

// A table of memory that is alive at the end and no leak, with who holds it if that is known, at
// most `top` rows (0 = all), with the steps of birth if the log has steps.
std::string AliveText(const analysis::Session& session, analysis::Symbols& symbols,
                      const std::vector<analysis::Leak>& alive, std::size_t top, bool has_steps);

// All leaks; if there are so many that their stacks would be gigabytes, the stacks are cut.
Json LeaksJson(const analysis::Session& session, analysis::Symbols& symbols,
               std::span<const analysis::Leak> leaks);

}  // namespace memprof::cli
