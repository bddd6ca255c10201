// Reads each log, and puts several together.
#include "analysis/load/load.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "analysis/load/internal/builder.h"
#include "analysis/load/internal/merge.h"
#include "analysis/log/reader.h"
#include "analysis/steps/found.h"

namespace memprof::analysis {
namespace {

absl::StatusOr<std::shared_ptr<const Session>> LoadOne(const std::string& path,
                                                       const LoadOptions& options) {
  for (const LogReader::Mode mode : {LogReader::Mode::kUseIndex, LogReader::Mode::kScan}) {
    absl::StatusOr<std::unique_ptr<LogReader>> reader = LogReader::Open(path, mode);
    if (!reader.ok()) return reader.status();
    const bool by_index = (*reader)->used_index();
    absl::StatusOr<std::shared_ptr<const Session>> session =
        SessionBuilder(std::move(*reader), options).Build();
    // An index has the positions of chunks, not their soundness; a scan finds those that are left.
    if (!by_index || session.ok() || !absl::IsDataLoss(session.status())) return session;
  }
  return absl::InternalError(absl::StrCat(path, ": cannot be read"));
}

bool AreOneRun(const RunInfo& a, const RunInfo& b) {
  return a.pid == b.pid && a.start_time == b.start_time && a.hostname == b.hostname && a.pid != 0;
}

// The logs that can be read; an error if none is left.
absl::StatusOr<std::vector<std::shared_ptr<const Session>>> LoadEach(
    const std::vector<std::string>& paths, const LoadOptions& options) {
  std::vector<std::shared_ptr<const Session>> parts;
  absl::Status unreadable;
  for (std::size_t done = 0; done < paths.size(); ++done) {
    LoadOptions own = options;
    own.find_steps = false;  // they are found with the times that all have together
    if (options.progress)
      own.progress = [&](double share) {
        return options.progress((static_cast<double>(done) + share) /
                                static_cast<double>(paths.size()));
      };
    absl::StatusOr<std::shared_ptr<const Session>> part = LoadOne(paths[done], own);
    if (!part.ok() && (!options.skipped || absl::IsCancelled(part.status()))) return part.status();
    if (!part.ok()) {
      options.skipped(part.status());
      unreadable = part.status();
      continue;
    }
    for (const auto& other : parts)
      if (AreOneRun(other->run(), (*part)->run()))
        return absl::InvalidArgumentError(
            absl::StrCat(paths[done], ": is the same run as ", other->path()));
    parts.push_back(*std::move(part));
  }
  if (parts.empty()) return unreadable;
  return parts;
}

}  // namespace

absl::StatusOr<std::shared_ptr<const Session>> LoadLogs(const std::vector<std::string>& paths,
                                                        const LoadOptions& options) {
  if (paths.empty()) return absl::InvalidArgumentError("no log is named");
  if (paths.size() == 1) return LoadOne(paths.front(), options);
  if (paths.size() > kMaxProcesses)
    return absl::InvalidArgumentError(
        absl::StrCat(paths.size(), " logs are more than a session can hold (", kMaxProcesses, ")"));
  const auto parts = LoadEach(paths, options);
  if (!parts.ok()) return parts.status();
  std::uint64_t events = 0;
  for (const auto& part : *parts) events += part->events().size();
  if (events > EventTable::kMax)
    return absl::InvalidArgumentError(
        absl::StrCat("the logs have ", events, " events together, more than a session can hold"));
  return MergeSessions(*parts, options.find_steps ? FindStepsToUse : StepFinder());
}

}  // namespace memprof::analysis
