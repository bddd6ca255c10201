// Bytes, times, counts and addresses as people read them.
#include "viewer/geometry/units.h"

#include <array>
#include <cmath>

#include "analysis/base/units.h"

namespace memprof::viewer {
QString FormatBytes(std::uint64_t bytes) { return ToQString(analysis::FormatBytes(bytes)); }

QString FormatByteTick(double value, double step) {
  static constexpr std::array kUnits = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (value <= 0) return QStringLiteral("0");
  std::size_t unit = 0;
  while (unit + 1 < kUnits.size() && value >= 1024) {
    value /= 1024;
    step /= 1024;
    ++unit;
  }
  int decimals = 0;
  for (double part = step; part < 1 && part != std::floor(part) && decimals < 4; part *= 2)
    ++decimals;
  QString text = QString::number(value, 'f', decimals);
  if (decimals > 0) {
    while (text.endsWith(QLatin1Char('0'))) text.chop(1);
    if (text.endsWith(QLatin1Char('.'))) text.chop(1);
  }
  return text + QLatin1Char(' ') + QString::fromUtf8(kUnits[unit]);
}

QString FormatSignedBytes(double bytes) {
  if (std::abs(bytes) < 0.5) return QStringLiteral("0 B");
  return QLatin1Char(bytes < 0 ? '-' : '+') + ToQString(analysis::FormatBytes(std::abs(bytes)));
}

QString FormatDuration(analysis::TimeNs ns) { return ToQString(analysis::FormatDuration(ns)); }

QString FormatInstant(analysis::TimeNs since_start, analysis::TimeNs step) {
  struct Unit {
    double ns;
    const char* name;
  };
  static constexpr std::array<Unit, 4> kUnits = {{{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}, {1, "ns"}}};
  if (since_start == 0) return QStringLiteral("0 s");
  // The largest unit in which the value is at least one.
  const double value = static_cast<double>(since_start);
  for (const Unit& unit : kUnits) {
    if (value < unit.ns && unit.ns > 1) continue;
    int decimals = 0;
    for (double s = static_cast<double>(step); s < unit.ns && decimals < 6; s *= 10) ++decimals;
    if (unit.ns == 1) decimals = 0;
    return QString::number(value / unit.ns, 'f', decimals) + QLatin1Char(' ') +
           QString::fromUtf8(unit.name);
  }
  return {};
}

QString FormatCount(std::uint64_t count) { return ToQString(analysis::FormatCount(count)); }

QString FormatAddress(std::uint64_t address) {
  return QStringLiteral("0x") + QString::number(address, 16);
}

QString FormatPercent(double share) {
  const double percent = share * 100;
  if (percent == 0) return QStringLiteral("0 %");
  if (percent < 0.1) return QStringLiteral("<0.1 %");
  return QString::number(percent, 'f', percent < 9.95 ? 1 : 0) + QStringLiteral(" %");
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
