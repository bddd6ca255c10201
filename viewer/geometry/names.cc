// Function names of C++ and Python, short enough for a table or a box.
#include "viewer/geometry/names.h"

#include <QCoreApplication>
#include <map>
#include <set>
#include <utility>

#include "viewer/geometry/units.h"

namespace memprof::viewer {

using analysis::NameStyle;

QString ShortFunction(const QString& function) {
  return ToQString(analysis::FunctionText(function.toStdString(), NameStyle::kBrief));
}

QString ShortSite(const analysis::SourceFrame& frame) {
  return ToQString(analysis::FrameText(frame, NameStyle::kBrief));
}

QString ShortSite(const analysis::CallSite& site) {
  return ToQString(analysis::CallSiteText(site, NameStyle::kBrief));
}

QString ShortPlace(const analysis::SourceFrame& frame) {
  return ToQString(analysis::PlaceText(frame));
}

namespace {

QString WithLibrary(analysis::Symbols& symbols, analysis::StackId stack, const std::string& place) {
  return ToQString(analysis::WithLibrary(symbols.LibraryOf(stack), place));
}

}  // namespace

QString SiteName(analysis::Symbols& symbols, analysis::StackId stack) {
  if (!stack.valid()) return QCoreApplication::translate("names", "(no call stack)");
  return WithLibrary(symbols, stack, analysis::FrameText(symbols.Site(stack), NameStyle::kBrief));
}

std::vector<NamedSite> NameSites(analysis::Symbols& symbols,
                                 std::span<const analysis::StackId> stacks) {
  std::vector<NamedSite> sites;
  std::map<QString, std::set<QString>> keys;  // by name
  for (const analysis::StackId stack : stacks) {
    const QString name = SiteName(symbols, stack);
    const QString key =
        stack.valid() ? WithLibrary(symbols, stack, analysis::KeyOf({.user = symbols.Site(stack)}))
                      : name;
    sites.push_back({key, name});
    keys[name].insert(key);
  }
  for (std::size_t i = 0; i < sites.size(); ++i)
    if (stacks[i].valid() && keys[sites[i].name].size() > 1)
      sites[i].name = WithLibrary(symbols, stacks[i],
                                  analysis::FrameText(symbols.Site(stacks[i]), NameStyle::kWhole));
  return sites;
}

}  // namespace memprof::viewer
