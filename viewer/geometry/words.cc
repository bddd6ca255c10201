// Sentences of the analysis for the window.
#include "viewer/geometry/words.h"

#include <QRegularExpression>

#include "viewer/geometry/units.h"

namespace memprof::viewer {
namespace {

// A name between backticks, or a command between quotes.
QString WithCode(QString text, const QString& code) {
  static const QRegularExpression kMarked(QStringLiteral("`([^`]*)`|'(memprof [^']*)'"));
  return text.replace(kMarked, code);
}

QString ForWindow(std::string_view text) {
  static const QRegularExpression kMicroseconds(QStringLiteral("(\\d) us\\b"));
  QString words = ToQString(text);
  words.replace(QLatin1String("('memprof leaks')"), QLatin1String("(see Leaks)"));
  words.replace(QLatin1String("'memprof leaks' finds"), QLatin1String("Leaks has"));
  return words.replace(kMicroseconds, QStringLiteral("\\1 µs"));
}

}  // namespace

QString Capitalised(QString words) {
  if (!words.isEmpty()) words[0] = words[0].toUpper();
  return words;
}

QString Words(std::string_view text) { return WithCode(ForWindow(text), QStringLiteral("\\1\\2")); }

QString WordsHtml(std::string_view text) {
  // Backticks and single quotes are not escaped.
  return WithCode(ForWindow(text).toHtmlEscaped(), QStringLiteral("<code>\\1\\2</code>"));
}

QString WithUnits(QString text) {
  static const QRegularExpression kUnit(
      QStringLiteral("(\\d) (?=(%|[KMGTPE]iB|B|[nµm]?s|min|h)(?!\\w))"));
  return text.replace(kUnit, QStringLiteral("\\1\u00a0"));
}

}  // namespace memprof::viewer
