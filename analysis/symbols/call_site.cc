// Frames and call sites in words.
#include "analysis/symbols/call_site.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "analysis/base/text.h"

namespace memprof::analysis {
namespace {

void AppendKey(const SourceFrame& frame, std::string* key) {
  absl::StrAppend(key, frame.function, "\n", frame.file, "\n", frame.line, "\n", frame.module,
                  "\n");
}

}  // namespace

std::string KeyOf(const CallSite& site) {
  std::string key;
  AppendKey(site.user, &key);
  AppendKey(site.library, &key);
  return key;
}

std::string PlaceText(const SourceFrame& frame) {
  if (frame.file.empty()) return frame.module;
  std::string place =
      frame.shown_file.empty() ? std::string(BaseName(frame.file)) : frame.shown_file;
  if (frame.line > 0) absl::StrAppend(&place, ":", frame.line);
  return place;
}

std::string FrameText(const SourceFrame& frame, NameStyle style) {
  std::string text = FunctionText(frame.function, style);
  if (frame.file == "??") return text;
  if (frame.file.empty()) {
    // "libfoo+0x10 (libfoo)" would repeat the name.
    if (frame.module.empty() || Contains(frame.function, frame.module)) return text;
    if (style == NameStyle::kWhole && (!frame.symbolised || frame.python)) return text;
  }
  const bool square = frame.file.empty() && style == NameStyle::kShort;
  absl::StrAppend(&text, square ? " [" : " (", PlaceText(frame), square ? "]" : ")");
  return text;
}

std::string CallSiteText(const CallSite& site, NameStyle style) {
  const std::string user = FrameText(site.user, style);
  return site.in_library() ? absl::StrCat(user, ", in ", FrameText(site.library, style)) : user;
}

std::string WithLibrary(const Library& library, std::string place) {
  if (!AllocatesForUser(library.role)) return place;
  return absl::StrCat(std::string(library.name), " for ", place);
}

}  // namespace memprof::analysis
