#include "analysis/symbols/kept_sources.h"

#include <utility>
#include <vector>

namespace memprof::analysis {
namespace {

constexpr std::size_t kMostSessionBytes = 2 * kMostKeptBytes;

}  // namespace

std::shared_ptr<const KeptSources> KeptSourcesOf(const Session& session,
                                                 std::span<const std::string> paths) {
  return session.facts().Get<KeptSources>([&] {
    KeptSources all;
    std::size_t bytes = 0;
    std::vector<std::string> logs(paths.begin(), paths.end());
    // Only logs that ended cleanly have some; in others they would be searched for.
    for (const ProcessInfo& process : session.processes())
      if (paths.empty() && process.run.complete) logs.push_back(process.path);
    for (const std::string& log : logs) {
      for (auto& [name, text] : ReadKeptSources(log)) {
        if (bytes + text.size() > kMostSessionBytes || all.contains(name)) continue;
        bytes += text.size();
        all.emplace(name, std::move(text));
      }
    }
    return all;
  });
}

}  // namespace memprof::analysis
