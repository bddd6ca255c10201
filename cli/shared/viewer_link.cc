// Writes links to places of a log.
#include "cli/shared/viewer_link.h"

#include <algorithm>

#include "analysis/base/text.h"
#include "analysis/symbols/site_key.h"
#include "cli/console/text.h"

namespace memprof::cli {
namespace {

// A place that a person can read and a link can have as it is; "" if the frame has none. Without a
// place, the hash of the stack finds the site.
std::string PlainPlace(const analysis::SourceFrame& frame) {
  constexpr std::size_t kLongest = 50;
  const std::string_view file = analysis::BaseName(frame.file);
  const bool plain = std::all_of(file.begin(), file.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
  });
  if (file.empty() || file.size() > kLongest || !plain || frame.line <= 0) return "";
  return Cat(file, ':', frame.line);
}

}  // namespace

std::string LinkToLeak(analysis::Symbols& symbols, analysis::StackId stack) {
  std::string link = "view=leaks";
  if (!stack.valid()) return link;
  const std::string place = PlainPlace(symbols.Site(stack));
  if (!place.empty()) Append(link, "&site=", place);
  Append(link, "&stack=", analysis::StackHashText(symbols, stack));
  return link;
}

std::string LinkToFailure(int device, analysis::EventId event) {
  const std::string where = device == analysis::kNoDevice ? "host" : Cat(device);
  return Cat("view=fragmentation&device=", where, "&at=event", event.value);
}

std::string ViewerCommand(const std::vector<std::string>& logs, std::string_view link) {
  std::string command = "memprof-viewer";
  for (std::size_t i = 0; i < logs.size(); ++i) {
    // A name that begins with '-' would be an option.
    Append(command, " '", logs[i].starts_with('-') ? "./" : "");
    for (const char c : logs[i]) command += c == '\'' ? std::string("'\\''") : std::string(1, c);
    if (i + 1 == logs.size()) Append(command, '#', link);
    command += '\'';
  }
  return command;
}

std::string ShowItLine(const std::vector<std::string>& logs, std::string_view link) {
  return Cat("\nShow it: ", Printable(ViewerCommand(logs, link)), "\n");
}

}  // namespace memprof::cli
