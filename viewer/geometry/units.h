// Bytes, times, counts and addresses as text. Pure; thread-safe.
#pragma once

#include <QString>
#include <cstdint>
#include <string_view>

#include "analysis/base/types.h"

namespace memprof::viewer {

// "0 B", "512 B", "1.50 KiB", "23.4 GiB": three significant digits, binary units.
QString FormatBytes(std::uint64_t bytes);

// The exact text of a multiple of `step`, a power of two: "0", "1.125 GiB", "8 MiB". For axes.
QString FormatByteTick(double value, double step);

// Signed, for slopes: "+1.25 MiB", "-3.00 KiB", "0 B".
QString FormatSignedBytes(double bytes);

// "850 ns", "1.20 µs", "1.20 ms", "3.45 s", "2 min 05 s", "3 h 07 min".
QString FormatDuration(analysis::TimeNs ns);

// A time since the start of the log, with the digits that a resolution of `step` ns needs.
QString FormatInstant(analysis::TimeNs since_start, analysis::TimeNs step);

// "12,345".
QString FormatCount(std::uint64_t count);

// "0x7f0012000000".
QString FormatAddress(std::uint64_t address);

// Share in [0, 1] as "42 %", "0.3 %", "<0.1 %".
QString FormatPercent(double share);

// "1 block", "2 blocks".
QString FormatPlural(std::uint64_t count, const QString& singular);

// UTF-8 from the analysis library as a QString.
QString ToQString(std::string_view text);

// The last component of a path, for places in sources.
QString BaseName(const QString& path);

}  // namespace memprof::viewer
