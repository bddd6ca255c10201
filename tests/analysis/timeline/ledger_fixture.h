// Shared by tests of the ledger: samples, and entries that must add up.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <numeric>

#include "analysis/report/report.h"
#include "analysis/timeline/ledger.h"
#include "tests/support/random_log.h"

namespace memprof::analysis::testing {

inline constexpr std::uint64_t kTotal = 100'000;

inline void Sample(LogBuilder& log, std::uint64_t free, const EventFields& fields = {}) {
  EventFields with_total = fields;
  with_total.aux0 = kTotal;
  log.Event(Op::kMemoryInfo, Layer::kUnspecified, 0, free, 0, with_total);
}

// The ledgers of all devices of `log`, by ordinal.
inline std::map<int, DeviceLedger> LedgersOf(const LogBuilder& log) {
  const auto session = LoadLog(log);
  std::map<int, DeviceLedger> ledgers;
  if (session == nullptr) return ledgers;
  for (const DeviceFigures& device : BuildReport(*session).devices) {
    ledgers[device.info.id] = device.ledger;
    EXPECT_EQ(device.untracked_bytes, device.ledger.last ? device.ledger.last->untracked_bytes : 0);
  }
  return ledgers;
}

inline void ExpectCloses(const LedgerEntry& entry) {
  const std::uint64_t layers =
      std::accumulate(entry.by_layer.begin(), entry.by_layer.end(), std::uint64_t{0});
  EXPECT_EQ(
      entry.sample.used_bytes() + entry.elsewhere_bytes,
      layers + entry.pools_bytes + entry.sample.others_bytes.value_or(0) + entry.untracked_bytes);
  EXPECT_TRUE(entry.untracked_bytes == 0 || entry.elsewhere_bytes == 0);
  EXPECT_LE(entry.file_cache_bytes.value_or(0), entry.untracked_bytes);
}

}  // namespace memprof::analysis::testing
