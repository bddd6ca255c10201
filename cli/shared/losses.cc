// Says what is lost, and no more.
#include "cli/shared/losses.h"

#include "analysis/base/units.h"
#include "analysis/store/losses.h"
#include "cli/console/command_line.h"
#include "cli/console/terminal.h"
#include "cli/console/text.h"
#include "cli/shared/names.h"
#include "cli/shared/open_log.h"

namespace memprof::cli {
namespace {

using analysis::Losses;
using analysis::Session;

// What to do about it, of the first reason.
std::string Advice(const Session& session) {
  for (const analysis::AnomalyCount& anomaly : session.anomalies())
    if (anomaly.anomaly == log::Anomaly::kEventsLost ||
        anomaly.anomaly == log::Anomaly::kChunksCorrupt)
      return Cat(" ", DescribeAnomaly(anomaly.anomaly).advice);
  return "";
}

}  // namespace

std::shared_ptr<const Session> OpenWholeLogs(const Options& options, const std::string& verb,
                                             int* status) {
  auto session = OpenLogs(options, verb, status);
  if (!session || !analysis::LossesOf(*session).much()) return session;
  PrintError(Cat(session->path(), ": ", LossWords(*session), ": '", verb,
                 "' needs them, and tells nothing ('memprof dump' prints those that are there).",
                 Advice(*session)));
  *status = kExitFailed;
  return nullptr;
}

std::string LossWords(const Session& session) {
  const Losses losses = analysis::LossesOf(session);
  if (losses.events == 0) return "";
  return Cat(analysis::FormatCount(losses.events), " of its ", analysis::FormatCount(losses.all),
             " events are lost");
}

}  // namespace memprof::cli
