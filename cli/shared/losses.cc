// Says what is lost, and no more.
#include "cli/shared/losses.h"

#include "analysis/store/losses.h"
#include "cli/console/command_line.h"
#include "cli/console/terminal.h"
#include "cli/console/text.h"
#include "cli/shared/names.h"
#include "cli/shared/open_log.h"

namespace memprof::cli {
namespace {

using analysis::Session;

// What to do about it, of the reason that explains most.
std::string Advice(const Session& session) {
  using log::Anomaly;
  for (const Anomaly reason :
       {Anomaly::kWriteErrors, Anomaly::kChunksCorrupt, Anomaly::kEventsLost})
    for (const analysis::AnomalyCount& anomaly : session.anomalies())
      if (anomaly.anomaly == reason) return Cat(" ", DescribeAnomaly(reason).advice);
  return "";
}

// The session if it is whole enough; else prints that it is not.
std::shared_ptr<const Session> IfWhole(std::shared_ptr<const Session> session,
                                       const std::string& verb) {
  if (!session) return nullptr;
  const analysis::Losses losses = analysis::LossesOf(*session);
  if (!losses.much()) return session;
  PrintError(Cat(session->path(), ": ", analysis::LossWords(losses), ": '", verb,
                 "' needs them, and tells nothing ('memprof dump' prints those that are there).",
                 Advice(*session)));
  return nullptr;
}

}  // namespace

std::shared_ptr<const Session> OpenWholeLogs(const Options& options, const std::string& verb,
                                             int* status) {
  const auto session = OpenLogs(options, verb, status);
  auto whole = IfWhole(session, verb);
  if (session && !whole) *status = kExitFailed;
  return whole;
}

std::shared_ptr<const Session> OpenWholeLog(const std::string& path, const std::string& verb) {
  return IfWhole(OpenLog(path), verb);
}

}  // namespace memprof::cli
