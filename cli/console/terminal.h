// Where output goes: colour for people, plain text for pipes, progress on a terminal only.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "analysis/base/progress.h"

namespace memprof::cli {

enum class Style { kPlain, kBold, kDim, kRed, kYellow, kGreen, kCyan };

// Whether standard output takes colour: it is a terminal, NO_COLOR is unset or empty, and TERM is
// not "dumb". FORCE_COLOR, when set and not empty, says yes in place of the terminal.
bool ColourWanted();

// `text` in `style` if colour is wanted, else as it is.
std::string Styled(Style style, std::string_view text);

// One line on standard error: "memprof: <message>". Control characters are made harmless.
void PrintError(std::string_view message);
// The same without failing: "memprof: note: <message>".
void PrintNote(std::string_view message);

// A progress function that redraws one line on standard error while it is a terminal, and clears
// it at the end; empty when it is not.
analysis::ProgressFunction ProgressOnTerminal(const std::string& what);
void ClearProgress();

// Writes all of `text` to standard output; false when nobody reads it any more (a closed pipe).
bool WriteOut(std::string_view text);

}  // namespace memprof::cli
