#include "cli/run/sources.h"

#include <iostream>
#include <set>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "analysis/base/status_text.h"
#include "analysis/load/load.h"
#include "analysis/source/kept_sources.h"
#include "analysis/symbols/symbols.h"

namespace memprof::cli {
namespace {

// Adds the names of the kept files to `kept`.
absl::Status KeepIn(const std::string& log, std::int64_t since_unix_ns,
                    std::set<std::string>* kept) {
  // Frames are in the tables; of the events, the first chunk is enough.
  analysis::LoadOptions options;
  options.find_steps = false;
  options.recover_ring = false;
  options.max_events = 1;
  const auto session = analysis::LoadLogs({log}, options);
  if (!session.ok()) return absl::UnavailableError("it cannot be read");
  if (!(*session)->run().complete) return absl::FailedPreconditionError("it did not end cleanly");
  analysis::Symbols symbols(*session);
  const analysis::KeptSources sources = analysis::SourcesToKeep(**session, symbols, since_unix_ns);
  if (sources.empty()) return absl::OkStatus();
  const absl::Status status = analysis::AppendSources(log, sources);
  if (status.ok())
    for (const auto& [name, text] : sources) kept->insert(name);
  return status;
}

}  // namespace

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
