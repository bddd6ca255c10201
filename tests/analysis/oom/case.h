// A log with failed requests and the analysis of the last one, for tests of the explanation.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "analysis/base/sizes.h"
#include "analysis/oom/oom.h"
#include "tests/support/random_log.h"

namespace memprof::analysis::testing {

inline constexpr std::uint64_t kBase = 0x700000000000;

// A log, its failed requests and the explanation of the last one.
struct Case {
  std::shared_ptr<const Session> session;
  std::unique_ptr<Symbols> symbols;
  std::unique_ptr<SiteGroups> sites;
  std::vector<FailedRequest> failures;
  FailureReport last;

  const Remedy* Find(RemedyKind kind) const {
    for (const Remedy& remedy : last.remedies)
      if (remedy.kind == kind) return &remedy;
    return nullptr;
  }
  std::string SiteName(std::uint32_t site) const {
    return symbols->Site(sites->Example(site)).function;
  }
};

inline Case Load(const LogBuilder& log) {
  Case c;
  c.session = LoadLog(log);
  c.symbols = std::make_unique<Symbols>(c.session);
  c.sites = std::make_unique<SiteGroups>(*c.session, *c.symbols);
  c.failures = FindFailures(*c.session);
  if (!c.failures.empty())
    c.last = FailureExplainer(*c.session, *c.symbols, *c.sites).Explain(c.failures.back());
  return c;
}

inline std::uint64_t Sum(const DeviceSpace& space) {
  std::uint64_t sum = space.free + space.blocks + space.rounding + space.own_pool.bytes +
                      space.other_pools.bytes + space.private_pools.bytes + space.foreign.bytes +
                      space.cached.bytes + space.modules + space.pools + space.others.value_or(0) +
                      space.untracked;
  for (const std::uint64_t bytes : space.direct) sum += bytes;
  return sum;
}

inline void Segment(LogBuilder& log, std::uint64_t address, std::uint64_t bytes,
                    const EventFields& fields = {}) {
  log.Alloc(Layer::kLinear, address, bytes, fields);
  log.Alloc(Layer::kSegment, address, bytes, fields);
}

// Two holes of 4 MiB with a small block between them.
inline void TwoHoles(LogBuilder& log, int pin, std::uint64_t stream = 0) {
  const EventFields fields{.stack = pin, .stream = stream};
  Segment(log, kBase, 10 * kMiB, {.stream = stream});
  log.Alloc(Layer::kBlock, kBase, kMiB, fields);
  log.Alloc(Layer::kBlock, kBase + kMiB, 4 * kMiB, fields);
  log.Alloc(Layer::kBlock, kBase + 5 * kMiB, 512, fields);
  log.Alloc(Layer::kBlock, kBase + 5 * kMiB + 512, 5 * kMiB - 512, fields);
  log.Free(Layer::kBlock, kBase + kMiB);
  log.Free(Layer::kBlock, kBase + 5 * kMiB + 512);
}

inline void DriverRefuses(LogBuilder& log, std::uint64_t bytes, std::uint64_t free,
                          std::uint64_t total, int stack = 0) {
  log.AllocFailed(Layer::kLinear, bytes,
                  {.stack = stack, .aux0 = free, .aux1 = total, .result = 2});
}

inline void AllocatorGivesUp(LogBuilder& log, std::uint64_t bytes, int stack = 0) {
  log.Event(Op::kFrameworkOom, Layer::kBlock, 0, bytes, 0, {.stack = stack});
}

}  // namespace memprof::analysis::testing
