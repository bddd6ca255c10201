// Output: colour on terminals, plain text in pipes, progress on a terminal only.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "analysis/base/progress.h"

namespace memprof::cli {

enum class Style { kPlain, kBold, kDim, kRed, kYellow, kGreen, kCyan };

// Whether standard output gets colour: it is a terminal, NO_COLOR is unset or empty, and TERM is
// not "dumb". A non-empty FORCE_COLOR counts as a terminal.
bool ColourWanted();

// `text` in `style` if colour is wanted, else as it is.
std::string Styled(Style style, std::string_view text);

// Prints one line on standard error: "memprof: <message>". Replaces control characters.
void PrintError(std::string_view message);
// The same for a note: "memprof: note: <message>".
void PrintNote(std::string_view message);

// A progress function that redraws one line on standard error, and clears it at the end; empty if
// standard error is no terminal.
analysis::ProgressFunction ProgressOnTerminal(const std::string& what);
void ClearProgress();

// Long output is written in pieces of so many bytes.
inline constexpr std::size_t kFlushBytes = 1 << 18;
// Writes all of `text` to standard output; false if nobody reads it any more (a closed pipe).
bool WriteOut(std::string_view text);

}  // namespace memprof::cli
