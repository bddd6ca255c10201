// Exact new peaks of a log of random traffic: without each call site, and without each single
// allocation. Prints one line of JSON; times in seconds.
//
//   peak_changes EVENTS SITES
//
// Up to 4,096 allocations of up to 1 MiB live at a time; each site makes every kind.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "analysis/load/load.h"
#include "analysis/peak/savings.h"
#include "analysis/store/session.h"
#include "analysis/testing/log_builder.h"

namespace {

namespace analysis = memprof::analysis;

template <typename Work>
double SecondsOf(Work work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

std::size_t CountSites(const analysis::Session& session) {
  std::vector<bool> seen(session.stack_count());
  for (const analysis::AllocationRecord& a : session.records())
    if (a.stack.valid() && analysis::PeakLayerOf(a.layer)) seen[a.stack.value] = true;
  return static_cast<std::size_t>(std::count(seen.begin(), seen.end(), true));
}

// The log described above, written to a file that is removed after loading.
std::shared_ptr<const analysis::Session> MakeSession(long events, int sites) {
  analysis::testing::LogBuilder log;
  std::mt19937_64 random(7);
  std::vector<int> stacks;
  for (int i = 0; i < sites; ++i)
    stacks.push_back(log.Stack({"main (a.cc:1)", "Site" + std::to_string(i) + " (a.cc:2)"}));
  std::vector<std::uint64_t> live;
  for (long e = 0; e < events; ++e) {
    if (live.empty() || (live.size() < 4096 && random() % 2 == 0)) {
      live.push_back(static_cast<std::uint64_t>(e + 1) << 20);
      log.Alloc(analysis::Layer::kLinear, live.back(), 1 + random() % (1 << 20),
                {.stack = stacks[random() % stacks.size()]});
    } else {
      std::swap(live[random() % live.size()], live.back());
      log.Free(live.back());
      live.pop_back();
    }
  }
  const auto path = std::filesystem::temp_directory_path() /
                    ("peak_changes." + std::to_string(getpid()) + ".mprof");
  const bool written = log.WriteTo(path.string()).ok();
  auto session = written ? analysis::LoadLogs({path.string()}, {.find_steps = false})
                         : absl::UnknownError("no log");
  std::filesystem::remove(path);
  return session.ok() ? *session : nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  const long events = argc == 3 ? std::atol(argv[1]) : 0;
  const int site_count = argc == 3 ? std::atoi(argv[2]) : 0;
  if (events < 2 || site_count < 1) {
    std::fprintf(stderr, "usage: peak_changes EVENTS SITES\n");
    return 2;
  }
  const auto loaded = MakeSession(events, site_count);
  if (!loaded) {
    std::fprintf(stderr, "peak_changes: the log could not be written\n");
    return 1;
  }
  const analysis::Session& session = *loaded;
  std::vector<analysis::PeakSavings> made;
  const double build = SecondsOf([&] { made.emplace_back(session); });
  const analysis::PeakSavings& savings = made.front();
  unsigned long long saved = 0;
  const double sites = SecondsOf([&] {
    for (const auto& [key, level] : savings.levels().all()) {
      const auto without =
          savings.Without(key.first, key.second, session.stack_count(),
                          [](analysis::AllocationId, const analysis::AllocationRecord& a) {
                            return a.stack.valid() ? a.stack.value : analysis::kNoGroup;
                          });
      for (const analysis::PeakSaving& saving : without) saved += saving.saves_bytes;
    }
  });
  const double single = SecondsOf([&] {
    for (std::uint32_t i = 0; i < session.records().size(); ++i)
      saved += savings.WithoutOne(analysis::AllocationId(i)).saves_bytes;
  });
  std::printf(
      "{\"events\": %zu, \"allocations\": %zu, \"sites\": %zu, \"build\": %.4f, \"all_sites\": "
      "%.4f, \"all_allocations\": %.4f, \"saved\": %llu}\n",
      session.events().size(), session.records().size(), CountSites(session), build, sites, single,
      saved);
  return 0;
}
