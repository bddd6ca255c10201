// Writes a log in which very many blocks are live at once, for benchmarks/load_log: live_log FILE
// [EVENTS [LIVE]]. It allocates until LIVE blocks are live, then alternately frees and allocates
// one at random.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include "analysis/testing/log_builder.h"

int main(int argc, char** argv) {
  using memprof::analysis::Layer;
  if (argc < 2) {
    std::fputs("usage: live_log FILE [EVENTS [LIVE]]\n", stderr);
    return 2;
  }
  const long events = argc > 2 ? std::atol(argv[2]) : 4'000'000;
  const long most = argc > 3 ? std::atol(argv[3]) : 1'000'000;
  memprof::analysis::testing::LogBuilder log;
  std::mt19937_64 random(7);
  std::vector<std::uint64_t> live;
  std::uint64_t next = 1;
  for (long i = 0; i < events; ++i) {
    if (static_cast<long>(live.size()) >= most) {
      std::swap(live[random() % live.size()], live.back());
      log.Free(live.back());
      live.pop_back();
    } else {
      live.push_back(0x1000 * next++);
      log.Alloc(Layer::kLinear, live.back(), 64 + random() % 4096);
    }
  }
  const absl::Status status = log.WriteTo(argv[1], {.events_per_chunk = 8192, .compress = true});
  if (!status.ok()) std::fprintf(stderr, "live_log: %s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
