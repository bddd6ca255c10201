// Colour, errors and progress.
#include "cli/console/terminal.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "cli/console/text.h"

namespace memprof::cli {
namespace {

bool SetAndNotEmpty(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0';
}

const char* Code(Style style) {
  switch (style) {
    case Style::kBold:
      return "\033[1m";
    case Style::kDim:
      return "\033[2m";
    case Style::kRed:
      return "\033[1;31m";
    case Style::kYellow:
      return "\033[33m";
    case Style::kGreen:
      return "\033[32m";
    case Style::kCyan:
      return "\033[36m";
    case Style::kPlain:
      break;
  }
  return "";
}

}  // namespace

bool ColourWanted() {
  static const bool wanted = [] {
    if (SetAndNotEmpty("NO_COLOR")) return false;
    if (SetAndNotEmpty("FORCE_COLOR")) return true;
    const char* term = std::getenv("TERM");
    return isatty(STDOUT_FILENO) == 1 && term != nullptr && std::string_view(term) != "dumb";
  }();
  return wanted;
}

std::string Styled(Style style, std::string_view text) {
  if (style == Style::kPlain || !ColourWanted()) return std::string(text);
  return Cat(Code(style), text, "\033[0m");
}

void PrintError(std::string_view message) {
  ClearProgress();
  std::fprintf(stderr, "memprof: %s\n", Printable(message).c_str());
}

void PrintNote(std::string_view message) { PrintError(Cat("note: ", message)); }

analysis::ProgressFunction ProgressOnTerminal(const std::string& what) {
  if (isatty(STDERR_FILENO) != 1) return nullptr;
  return [what, last = -1](double share) mutable {
    const int percent = static_cast<int>(share * 100);
    if (percent != last) {
      std::fprintf(stderr, "\r\033[K%s %d %%", Printable(what).c_str(), percent);
      std::fflush(stderr);
      last = percent;
    }
    return true;
  };
}

void ClearProgress() {
  if (isatty(STDERR_FILENO) == 1) std::fputs("\r\033[K", stderr);
}

bool WriteOut(std::string_view text) {
  return std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
}

}  // namespace memprof::cli
