#include "analysis/symbols/kept_sources.h"

#include <vector>

namespace memprof::analysis {
namespace {

constexpr std::size_t kMostSessionBytes = 2 * kMostKeptBytes;

}  // namespace

std::shared_ptr<const KeptSources> KeptSourcesOf(
    const Session& session, std::span<const std::string> paths,
    std::span<const std::shared_ptr<const KeptSources>> more) {
  return session.facts().Get<KeptSources>([&] {
    KeptSources all;
    std::size_t bytes = 0;
    std::vector<std::string> logs(paths.begin(), paths.end());
    // Only logs that ended cleanly have some; in others they would be searched for.
    for (const ProcessInfo& process : session.processes())
      if (paths.empty() && process.run.complete) logs.push_back(process.path);
    const auto add = [&](const KeptSources& sources) {
      for (const auto& [name, text] : sources) {
        if (bytes + text.size() > kMostSessionBytes || !all.emplace(name, text).second) continue;
        bytes += text.size();
      }
    };
    for (const std::string& log : logs) add(ReadKeptSources(log));
    for (const auto& sources : more) add(*sources);
    return all;
  });
}

}  // namespace memprof::analysis
