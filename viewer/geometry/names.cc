// Function names of C++ and Python, short enough for a table or a box.
#include "viewer/geometry/names.h"

#include <QCoreApplication>
#include <QStringList>
#include <map>
#include <set>
#include <utility>

#include "analysis/symbols/cxx_names.h"
#include "viewer/geometry/units.h"

namespace memprof::viewer {
namespace {

// The text without everything between balanced pairs of `open` and `close`, and without them. An
// unbalanced text comes back as it is.
QString StripPairs(const QString& text, QChar open, QChar close) {
  QString out;
  int depth = 0;
  for (qsizetype i = 0; i < text.size(); ++i) {
    // The arrow of a trailing return type and of operator-> closes nothing.
    const bool arrow = text[i] == QLatin1Char('>') && i > 0 && text[i - 1] == QLatin1Char('-');
    if (text[i] == open) {
      ++depth;
    } else if (text[i] == close && !arrow) {
      if (--depth < 0) return text;
    } else if (depth == 0) {
      out += text[i];
    }
  }
  return depth == 0 ? out : text;
}

}  // namespace

QString ShortFunction(const QString& function) {
  const std::string text = function.toStdString();
  const auto pass = static_cast<qsizetype>(analysis::PassWords(text).size());
  if (pass > 0) return function.left(pass) + ShortFunction(function.mid(pass));
  // Operators have brackets in their names; they are rare enough to be shown whole.
  if (function.contains(QLatin1String("operator")) || function.startsWith(QLatin1String("0x"))) {
    return function;
  }
  QString name = function;
  name.replace(QLatin1String("(anonymous namespace)::"), QString());
  name.replace(QLatin1String("[abi:cxx11]"), QString());
  name = StripPairs(name, QLatin1Char('{'), QLatin1Char('}'));
  name = StripPairs(name, QLatin1Char('<'), QLatin1Char('>'));
  const qsizetype arguments = name.indexOf(QLatin1Char('('));
  // Python's own brackets, "<module>" and "<lambda>", are all there is.
  if (name.trimmed().isEmpty() || arguments == 0) return function;
  if (arguments > 0) name = name.left(arguments);
  name = name.trimmed();
  const qsizetype space = name.lastIndexOf(QLatin1Char(' '));
  if (arguments > 0 && space >= 0) name = name.mid(space + 1);
  QStringList scopes = name.split(QStringLiteral("::"), Qt::SkipEmptyParts);
  while (scopes.size() > 2) scopes.removeFirst();
  // Free functions of a namespace need no scope; methods of a class keep it.
  if (scopes.size() == 2 && !scopes[0].isEmpty() && scopes[0][0].isLower()) scopes.removeFirst();
  return scopes.isEmpty() ? function : scopes.join(QStringLiteral("::"));
}

QString ShortSite(const analysis::SourceFrame& frame, int folders) {
  const QString function = ShortFunction(ToQString(frame.function));
  const QString file = ToQString(frame.file);
  QString place = frame.file.empty() ? ToQString(frame.module) : BaseName(file);
  while (folders-- > 0 && !file.isEmpty() && place.size() < file.size())
    place = file.mid(file.lastIndexOf(QLatin1Char('/'), -2 - place.size()) + 1);
  if (!frame.file.empty() && frame.line > 0) place += QStringLiteral(":%1").arg(frame.line);
  // "libfoo+0x10 (libfoo)" says the same twice.
  return place.isEmpty() || function.startsWith(place)
             ? function
             : QStringLiteral("%1 (%2)").arg(function, place);
}

QString ShortSite(const analysis::UserSite& site) {
  const QString user = ShortSite(site.user);
  return site.in_library() ? QStringLiteral("%1, in %2").arg(user, ShortSite(site.library)) : user;
}

namespace {

QString Asked(analysis::Symbols& symbols, analysis::StackId stack, const QString& place) {
  const analysis::Library library = symbols.LibraryOf(stack);
  return analysis::AsksForOthers(library.role)
             ? QCoreApplication::translate("names", "%1 for %2").arg(ToQString(library.name), place)
             : place;
}

}  // namespace

QString SiteName(analysis::Symbols& symbols, analysis::StackId stack) {
  if (!stack.valid()) return QCoreApplication::translate("names", "(no call stack)");
  return Asked(symbols, stack, ShortSite(symbols.Site(stack)));
}

std::vector<NamedSite> NameSites(analysis::Symbols& symbols,
                                 std::span<const analysis::StackId> stacks) {
  constexpr int kMostFolders = 8;
  std::vector<NamedSite> sites;
  std::vector<analysis::SourceFrame> frames;
  std::map<QString, std::set<QString>> keys;  // by name
  for (const analysis::StackId stack : stacks) {
    frames.push_back(stack.valid() ? symbols.Site(stack) : analysis::SourceFrame());
    const analysis::SourceFrame& frame = frames.back();
    const QString name = SiteName(symbols, stack);
    const QString whole = QStringLiteral("%1\n%2\n%3\n%4")
                              .arg(ToQString(frame.function), ToQString(frame.file))
                              .arg(frame.line)
                              .arg(ToQString(frame.module));
    sites.push_back({stack.valid() ? Asked(symbols, stack, whole) : name, name});
    keys[name].insert(sites.back().key);
  }
  // Ever more of the path, for those that still read like another site; at last all that is known.
  for (int folders = 1; folders <= kMostFolders + 1; ++folders) {
    std::map<QString, std::set<QString>> longer;
    bool changed = false;
    for (std::size_t i = 0; i < sites.size(); ++i) {
      NamedSite& site = sites[i];
      if (keys[site.name].size() > 1) {
        const analysis::SourceFrame& frame = frames[i];
        QString place = ShortSite(frame, folders);
        if (folders > kMostFolders) place = ToQString(analysis::Symbols::Describe(frame));
        site.name = Asked(symbols, stacks[i], place);
        changed = true;
      }
      longer[site.name].insert(site.key);
    }
    if (!changed) break;
    keys = std::move(longer);
  }
  return sites;
}

}  // namespace memprof::viewer
