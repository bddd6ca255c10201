// The figures of a device, each with the instant at which it was measured.
#include <QObject>
#include <algorithm>

#include "analysis/store/losses.h"
#include "viewer/geometry/units.h"
#include "viewer/models/verdict.h"

namespace memprof::viewer {
namespace {

VerdictPart FigurePart(const QString& text, analysis::TimeNs instant, const QString& help,
                       int group) {
  VerdictTarget target;
  target.instant = instant;
  return {text, target, help, false, group};
}

analysis::TimeNs EndOfLog(const analysis::Session& session) {
  const analysis::TimeNs last =
      session.events().size() > 0 ? session.events().last_time() : session.run().end_time;
  return std::max(last, session.run().end_time);
}

QString GoToHelp(const VerdictInput& input, std::int64_t step, analysis::TimeNs time,
                 const QString& what) {
  return QObject::tr("%1, at %2: go there").arg(what, VerdictInstant(*input.session, step, time));
}

}  // namespace

QString VerdictInstant(const analysis::Session& session, std::int64_t step, analysis::TimeNs time) {
  if (step >= 0) return QObject::tr("step %1").arg(step);
  const analysis::TimeNs start = session.run().start_time;
  return FormatDuration(time > start ? time - start : 0);
}

std::vector<VerdictPart> MakeFigures(const VerdictInput& input, int device) {
  const analysis::Session& session = *input.session;
  const VerdictPeak peak = FindVerdictPeak(input, device);
  if (peak.bytes == 0 || analysis::LossesOf(session).much()) return {};
  std::vector<VerdictPart> parts;
  parts.push_back({peak.blocks_only ? QObject::tr("Peak in use ") : QObject::tr("Peak "), {}, {}});
  parts.push_back(FigurePart(FormatBytes(peak.bytes), peak.time,
                             GoToHelp(input, peak.step, peak.time, QObject::tr("The peak")), 0));
  std::uint64_t end = 0;
  const analysis::DeviceFigures* figures = nullptr;
  for (const analysis::DeviceFigures& one : input.report->report.devices)
    if (one.info.id == device) figures = &one;
  if (device == analysis::kNoDevice) {
    const analysis::HostFigures& host = input.report->report.host;
    end = host.pinned_live_bytes + host.registered_live_bytes;
  } else if (figures != nullptr) {
    if (figures->info.capacity_bytes > 0)
      parts.push_back(
          {QObject::tr(" of %1").arg(FormatBytes(figures->info.capacity_bytes)), {}, {}});
    end = peak.blocks_only ? figures->framework.live_bytes : figures->live_bytes;
    const analysis::FrameworkFigures& framework = figures->framework;
    const TimelineBands* bands = input.Bands(device);
    const auto reserved = input.report->reserved_most.find(device);
    if (framework.seen && !peak.blocks_only && bands != nullptr &&
        reserved != input.report->reserved_most.end()) {
      const analysis::TimeNs used = bands->in_use.time_of_max();
      parts.push_back({QObject::tr("   ·   in use "), {}, {}, false, 1});
      parts.push_back(FigurePart(FormatBytes(framework.peak_bytes), used,
                                 GoToHelp(input, session.StepAt(used), used,
                                          QObject::tr("Most in use of the framework's allocator")),
                                 1));
      parts.push_back({QObject::tr(" / reserved "), {}, {}, false, 1});
      parts.push_back(
          FigurePart(FormatBytes(framework.peak_reserved_bytes), reserved->second,
                     GoToHelp(input, session.StepAt(reserved->second), reserved->second,
                              QObject::tr("Most reserved by the framework's allocator")),
                     1));
    }
  }
  parts.push_back({QObject::tr("   ·   at the end "), {}, {}, false, 2});
  parts.push_back(
      FigurePart(FormatBytes(end), EndOfLog(session), QObject::tr("Go to the end of the log"), 2));
  return parts;
}

}  // namespace memprof::viewer
