// Bytes, times, counts and addresses as people read them.
#include "viewer/geometry/units.h"

#include <QLocale>
#include <array>
#include <cmath>

namespace memprof::viewer {
namespace {

// Three significant digits of a value below 1024; whole bytes have no decimals.
QString ThreeDigits(double value) {
  const int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  return QString::number(value, 'f', decimals);
}

QString ScaledBytes(double bytes) {
  static constexpr std::array<const char*, 7> kUnits = {"B",   "KiB", "MiB", "GiB",
                                                        "TiB", "PiB", "EiB"};
  std::size_t unit = 0;
  // 1023.5 and above would round to "1024": say "1.00" of the next unit instead.
  while (bytes >= 1023.5 && unit + 1 < kUnits.size()) {
    bytes /= 1024;
    ++unit;
  }
  const QString number = unit == 0 ? QString::number(bytes, 'f', 0) : ThreeDigits(bytes);
  return number + QLatin1Char(' ') + QLatin1String(kUnits[unit]);
}

}  // namespace

QString FormatBytes(std::uint64_t bytes) { return ScaledBytes(static_cast<double>(bytes)); }

QString FormatSignedBytes(double bytes) {
  if (std::abs(bytes) < 0.5) return QStringLiteral("0 B");
  return QLatin1Char(bytes < 0 ? '-' : '+') + ScaledBytes(std::abs(bytes));
}

QString FormatDuration(analysis::TimeNs ns) {
  const double value = static_cast<double>(ns);
  if (ns < 1000) return QStringLiteral("%1 ns").arg(ns);
  if (value < 999.5e3) return ThreeDigits(value / 1e3) + QStringLiteral(" µs");
  if (value < 999.5e6) return ThreeDigits(value / 1e6) + QStringLiteral(" ms");
  if (value < 59.95e9) return ThreeDigits(value / 1e9) + QStringLiteral(" s");
  const std::uint64_t seconds = (ns + 500'000'000) / 1'000'000'000;
  const QLatin1Char zero('0');
  if (seconds < 3600) {
    return QStringLiteral("%1 min %2 s").arg(seconds / 60).arg(seconds % 60, 2, 10, zero);
  }
  return QStringLiteral("%1 h %2 min").arg(seconds / 3600).arg(seconds / 60 % 60, 2, 10, zero);
}

QString FormatInstant(analysis::TimeNs since_start, analysis::TimeNs step) {
  struct Unit {
    double ns;
    const char* name;
  };
  static constexpr std::array<Unit, 4> kUnits = {
      {{1e9, "s"}, {1e6, "ms"}, {1e3, "µs"}, {1, "ns"}}};
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

QString FormatCount(std::uint64_t count) {
  return QLocale(QLocale::English).toString(static_cast<qulonglong>(count));
}

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

QString BaseName(const QString& path) {
  return path.mid(path.lastIndexOf(QLatin1Char('/')) + 1);
}

}  // namespace memprof::viewer
