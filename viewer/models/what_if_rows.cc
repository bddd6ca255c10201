// What other allocators would have reserved, as rows.
#include "viewer/models/what_if_rows.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "viewer/geometry/units.h"
#include "viewer/geometry/words.h"
#include "viewer/models/process_model.h"

namespace memprof::viewer {
namespace {

using analysis::DeviceReplay;
using analysis::SpecOrigin;
using analysis::WhatIf;
using analysis::allocators::kUnlimited;
using analysis::allocators::RequestSource;

QString SourceText(RequestSource source) {
  switch (source) {
    case RequestSource::kBlocks:
      return Tr("framework blocks");
    case RequestSource::kStreamOrdered:
      return Tr("stream-ordered allocations");
    case RequestSource::kDriver:
      break;
  }
  return Tr("driver allocations");
}

QString Magnitude(std::int64_t bytes) {
  return FormatBytes(static_cast<std::uint64_t>(std::abs(bytes)));
}

QString Doubt(const DeviceReplay& replay) {
  if (!replay.replayed.done) return {};
  if (replay.unchecked) return Tr("unchecked");
  return replay.residual == 0 ? Tr("exact") : QStringLiteral("± ") + Magnitude(replay.residual);
}

QString Verdict(const DeviceReplay& replay) {
  if (!replay.replayed.done) return Tr("Replaying the recorded allocator …");
  QString who =
      Tr("Replayed as %1").arg(ToQString(analysis::allocators::SpecName(replay.replayed.spec)));
  if (replay.origin == SpecOrigin::kEnvironment) who += Tr(", from the recorded environment");
  if (replay.unchecked) {
    return Tr("%1. The log does not show the driver's rounding, and has too few samples of free "
              "memory: these savings are not checked.")
        .arg(who);
  }
  if (replay.samples > 0) {
    const QString samples = FormatPlural(replay.samples, Tr("sample"));
    if (replay.residual == 0) return Tr("%1: %2 of free memory agree exactly.").arg(who, samples);
    return Tr("%1: at the worst of %2 of free memory it is off by %3, and savings are uncertain by "
              "as much.")
        .arg(who, samples, Magnitude(replay.residual));
  }
  if (replay.residual == 0)
    return Tr("%1: the recorded peak exactly, so that these savings are exact for these requests.")
        .arg(who);
  const QString off =
      Tr("%1: %2 %3 than the recorded peak")
          .arg(who, Magnitude(replay.residual), replay.residual > 0 ? Tr("more") : Tr("less"));
  return replay.uncertain
             ? Tr("%1; the recorded allocator differs from this one: savings are uncertain.")
                   .arg(off)
             : Tr("%1; savings are uncertain by as much.").arg(off);
}

WhatIfRow RowOf(WhatIfRow::Kind kind, const QString& name,
                const analysis::allocators::Figures& figures, std::uint64_t calls) {
  WhatIfRow row;
  row.kind = kind;
  row.name = name;
  row.done = true;
  row.reserved = figures.peak_reserved;
  row.used = figures.allocated_at_peak;
  row.segments = figures.peak_segments;
  row.calls = calls;
  row.failed_bytes = figures.failed_bytes;
  return row;
}

WhatIfRow RowOf(WhatIfRow::Kind kind, const WhatIf& what, std::uint64_t capacity) {
  const QString name = ToQString(analysis::allocators::SpecName(what.spec));
  if (!what.done) {
    WhatIfRow row;
    row.kind = kind;
    row.name = name;
    return row;
  }
  WhatIfRow row = RowOf(kind, name, what.figures, what.driver_calls);
  row.saving = what.saving;
  row.over_time = what.reserved;
  if (!what.fits) {
    row.fits = WhatIfRow::Fits::kNo;
  } else if (capacity != kUnlimited) {
    row.fits = WhatIfRow::Fits::kYes;
  }
  return row;
}

WhatIfRow Limit(WhatIfRow::Kind kind, const QString& name, std::uint64_t reserved,
                std::uint64_t used, std::uint64_t recorded) {
  WhatIfRow row;
  row.kind = kind;
  row.name = name;
  row.done = true;
  row.reserved = reserved;
  row.used = used;
  row.saving = static_cast<std::int64_t>(recorded - reserved);
  return row;
}

}  // namespace

WhatIfDevice DescribeReplay(const analysis::Session& session, const DeviceReplay& replay,
                            bool complete) {
  WhatIfDevice device;
  device.device = replay.device;
  device.process = replay.process;
  device.title = Tr("Device %1").arg(replay.device);
  if (session.processes().size() > 1)
    device.title += Tr(", %1").arg(ProcessName(session, replay.process));
  device.source = Tr("%1 (%2) on %3")
                      .arg(FormatPlural(replay.requests, Tr("request")), SourceText(replay.source),
                           FormatPlural(replay.streams, Tr("stream")));
  device.verdict = Verdict(replay);
  device.doubt = Doubt(replay);
  device.uncertain = replay.uncertain;
  device.capacity = replay.capacity;
  device.capacity_given = replay.capacity_given;
  const std::uint64_t recorded = replay.recorded.peak_reserved;
  device.rows.push_back(RowOf(WhatIfRow::Kind::kRecorded, Tr("as recorded"), replay.recorded,
                              replay.recorded_driver_calls));
  device.rows.back().over_time = replay.recorded_reserved;
  WhatIfRow replayed = RowOf(WhatIfRow::Kind::kReplayed, replay.replayed, kUnlimited);
  replayed.name = replayed.done ? Tr("%1, replayed as recorded").arg(replayed.name)
                                : Tr("the recorded allocator, replayed");
  replayed.saving = static_cast<std::int64_t>(recorded) -
                    static_cast<std::int64_t>(replay.replayed.figures.peak_reserved);
  device.rows.push_back(std::move(replayed));
  for (const WhatIf& what : replay.others)
    device.rows.push_back(RowOf(WhatIfRow::Kind::kOther, what, replay.capacity));
  if (complete && replay.placement.height > 0)
    device.rows.push_back(Limit(WhatIfRow::Kind::kOptimum, Tr("offline optimum"),
                                replay.placement.height, replay.max_live, recorded));
  if (complete || replay.max_live > 0)
    device.rows.push_back(Limit(WhatIfRow::Kind::kBound, Tr("bound: most alive"), replay.max_live,
                                replay.max_live, recorded));
  return device;
}

void AddOwn(const DeviceReplay& replay, WhatIfDevice* device) {
  if (device->rows.empty()) return;
  const auto recorded = static_cast<std::int64_t>(device->rows.front().reserved);
  for (const WhatIf& what : replay.others) {
    WhatIfRow row = RowOf(WhatIfRow::Kind::kOther, what, replay.capacity);
    row.own = true;
    row.saving = recorded - static_cast<std::int64_t>(row.reserved);
    const auto same =
        std::find_if(device->rows.begin(), device->rows.end(),
                     [&](const WhatIfRow& r) { return r.kind == row.kind && r.name == row.name; });
    if (same != device->rows.end()) {
      *same = std::move(row);
      continue;
    }
    const auto limits = std::find_if(device->rows.begin(), device->rows.end(), [](const auto& r) {
      return r.kind == WhatIfRow::Kind::kOptimum || r.kind == WhatIfRow::Kind::kBound;
    });
    device->rows.insert(limits, std::move(row));
  }
}

WhatIfScale ScaleOf(const WhatIfDevice& device) {
  // A capacity of more than this multiple of the longest bar is not drawn, because the bars would
  // become too short.
  constexpr double kFar = 2.5;
  WhatIfScale scale;
  for (const WhatIfRow& row : device.rows) {
    if (row.done) scale.most = std::max(scale.most, row.reserved);
    if (row.kind == WhatIfRow::Kind::kRecorded) scale.recorded = row.reserved;
  }
  if (device.capacity == kUnlimited) return scale;
  scale.beyond = static_cast<double>(device.capacity) / static_cast<double>(scale.most);
  if (scale.beyond > kFar) return scale;
  scale.capacity_shown = true;
  scale.most = std::max(scale.most, device.capacity);
  return scale;
}

QString SignedShare(std::int64_t bytes, std::uint64_t whole) {
  if (bytes == 0) return QStringLiteral("0");
  const QString sign = bytes > 0 ? QStringLiteral("+") : QStringLiteral("-");
  if (whole == 0) return sign + Magnitude(bytes);
  return QStringLiteral("%1%2 (%3)")
      .arg(sign, Magnitude(bytes),
           FormatPercent(std::abs(static_cast<double>(bytes)) / static_cast<double>(whole)));
}

}  // namespace memprof::viewer
