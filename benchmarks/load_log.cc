// Loads a log as every verb does, and answers some questions. Prints one line of JSON; times in
// seconds.
//
//   load_log LOG
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <random>
#include <vector>

#include "analysis/load/load.h"
#include "analysis/report/report.h"
#include "analysis/store/session.h"
#include "benchmarks/peak_bytes.h"

namespace {

class Stopwatch {
 public:
  double Lap() {
    const auto now = std::chrono::steady_clock::now();
    const double seconds = std::chrono::duration<double>(now - since_).count();
    since_ = now;
    return seconds;
  }

 private:
  std::chrono::steady_clock::time_point since_ = std::chrono::steady_clock::now();
};

// Of the live sets at random events.
std::vector<double> LiveSetTimes(const memprof::analysis::Session& session, std::size_t* largest) {
  std::mt19937_64 random(5);
  std::vector<double> times;
  for (int i = 0; i < 200; ++i) {
    const memprof::analysis::EventId event(
        static_cast<std::uint32_t>(random() % session.events().size()));
    Stopwatch watch;
    *largest = std::max(*largest, session.LiveAfter(event).size());
    times.push_back(watch.Lap());
  }
  std::sort(times.begin(), times.end());
  return times;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  Stopwatch watch;
  const auto session = memprof::analysis::LoadLogs({argv[1]}, {.find_steps = false});
  const double load = watch.Lap();
  if (!session.ok() || (*session)->events().empty()) {
    std::fprintf(stderr, "load_log: %s: nothing to load\n", argv[1]);
    return 1;
  }
  const long peak = memprof::benchmarks::PeakBytes();
  const double events = static_cast<double>((*session)->events().size());
  watch.Lap();
  const auto report = memprof::analysis::BuildReport(**session);
  const double reported = watch.Lap();
  std::size_t largest = 0;
  const std::vector<double> live = LiveSetTimes(**session, &largest);
  std::printf(
      "{\"events\": %.0f, \"load\": %.4f, \"bytes_per_event\": %.2f, \"peak_rss\": %ld, "
      "\"report\": %.4f, \"live_median\": %.6f, \"live_most\": %.6f, \"live_largest\": %zu, "
      "\"allocations\": %llu}\n",
      events, load, static_cast<double>((*session)->memory_bytes()) / events, peak, reported,
      live[live.size() / 2], live.back(), largest,
      static_cast<unsigned long long>(report.events.allocations));
  return 0;
}
