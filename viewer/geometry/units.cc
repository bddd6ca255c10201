// The functions of analysis/base/units.h with Qt's texts.
#include "viewer/geometry/units.h"

#include "analysis/base/units.h"

namespace memprof::viewer {
namespace {

// The analysis writes "us", for terminals without UTF-8.
QString WithMicro(std::string_view time) {
  QString text = ToQString(time);
  if (text.endsWith(QLatin1String(" us"))) text.replace(text.size() - 2, 1, QChar(0xb5));
  return text;
}

}  // namespace

QString FormatBytes(std::uint64_t bytes) { return ToQString(analysis::FormatBytes(bytes)); }

QString FormatByteTick(double value, double step) {
  return ToQString(analysis::FormatByteTick(value, step));
}

QString FormatSignedBytes(double bytes) { return ToQString(analysis::FormatSignedBytes(bytes)); }

QString FormatDuration(analysis::TimeNs ns) { return WithMicro(analysis::FormatDuration(ns)); }

QString FormatInstant(analysis::TimeNs since_start, analysis::TimeNs step) {
  return WithMicro(analysis::FormatInstant(since_start, step));
}

QString FormatPercent(double share) { return ToQString(analysis::FormatPercent(share)); }

QString FormatCount(std::uint64_t count) { return ToQString(analysis::FormatCount(count)); }

QString FormatAddress(std::uint64_t address) {
  return QStringLiteral("0x") + QString::number(address, 16);
}

QString FormatPlural(std::uint64_t count, const QString& singular) {
  return FormatCount(count) + QLatin1Char(' ') + singular +
         (count == 1 ? QString() : QStringLiteral("s"));
}

QString ToQString(std::string_view text) {
  return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size()));
}

QString BaseName(const QString& path) { return path.mid(path.lastIndexOf(QLatin1Char('/')) + 1); }

}  // namespace memprof::viewer
