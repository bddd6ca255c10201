#include "cli/run/sources.h"

#include <iostream>
#include <set>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "analysis/base/status_text.h"
#include "analysis/load/load.h"
#include "analysis/source/generated_code.h"
#include "analysis/source/kept_sources.h"
#include "analysis/symbols/symbols.h"

namespace memprof::cli {
namespace {

absl::StatusOr<std::shared_ptr<const analysis::Session>> LoadFrames(const std::string& log) {
  // Frames are in the tables; of the events, the first chunk is enough.
  analysis::LoadOptions options;
  options.find_steps = false;
  options.recover_ring = false;
  options.max_events = 1;
  const auto session = analysis::LoadLogs({log}, options);
  if (!session.ok()) return absl::UnavailableError("it cannot be read");
  if (!(*session)->run().complete) return absl::FailedPreconditionError("it did not end cleanly");
  return *session;
}

// Adds the names of the kept files to `kept`.
absl::Status KeepIn(const std::string& log, std::int64_t since_unix_ns,
                    std::set<std::string>* kept) {
  const auto session = LoadFrames(log);
  if (!session.ok()) return session.status();
  analysis::Symbols symbols(*session);
  analysis::KeptSources sources = analysis::SourcesToKeep(**session, symbols, since_unix_ns);
  sources.merge(analysis::LinesOfGeneratedCode(**session));
  if (sources.empty()) return absl::OkStatus();
  const absl::Status status = analysis::AppendSources(log, sources);
  if (status.ok())
    for (const auto& [name, text] : sources) kept->insert(name);
  return status;
}

}  // namespace

void KeepGeneratedLines(const std::vector<std::string>& logs) {
  for (const std::string& log : logs) {
    const auto session = LoadFrames(log);
    if (!session.ok()) continue;
    const analysis::KeptSources lines = analysis::LinesOfGeneratedCode(**session);
    if (!lines.empty()) analysis::AppendSources(log, lines).IgnoreError();
  }
}

void KeepSources(const std::vector<std::string>& logs, std::int64_t since_unix_ns) {
  std::set<std::string> kept;
  for (const std::string& log : logs) {
    const absl::Status status = KeepIn(log, since_unix_ns, &kept);
    if (!status.ok())
      std::cerr << "memprof: no sources are kept in " << log << ": " << analysis::StatusText(status)
                << "\n";
  }
  if (!logs.empty())
    std::cerr << "memprof: kept the text of " << kept.size()
              << (kept.size() == 1 ? " source file\n" : " source files\n");
}

}  // namespace memprof::cli
