// The memory of a device at one instant as a budget: every byte once, by what it is for, up to the
// capacity of the device. The figures are those of the ledger (analysis/timeline/ledger.h), divided
// further.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "analysis/budget/pool_usage.h"
#include "analysis/budget/purpose.h"
#include "analysis/store/session.h"
#include "analysis/timeline/ledger.h"

namespace memprof::analysis {

// The memory of one graph pool: PyTorch's private pool, which captures of CUDA graphs share.
struct GraphPool {
  std::uint64_t pool = 0;  // private_pools.h; 0 = memory of the driver's graphs
  std::uint64_t bytes = 0;
};

// The rows, which add up to `total_bytes`, minus `elsewhere_bytes`.
struct DeviceBudget {
  int device = 0;
  LedgerEntry ledger;
  std::uint64_t total_bytes = 0;  // as the driver reports it
  std::array<std::uint64_t, kPurposeCount> by_purpose{};
  std::vector<GraphPool> graphs;   // largest first
  std::uint64_t cached_bytes = 0;  // of frameworks' allocators, in no block
  std::uint64_t driver_pools_bytes = 0;
  std::uint64_t code_bytes = 0;
  // In use by unknown owners already at the first sample: the CUDA context.
  std::uint64_t context_bytes = 0;
  std::uint64_t others_bytes = 0;  // other processes
  std::uint64_t unexplained_bytes = 0;
  std::uint64_t free_bytes = 0;
  // Known memory that is not on the device, as in the ledger, beyond what `code` was reduced by.
  std::uint64_t elsewhere_bytes = 0;

  std::uint64_t kv_cache_bytes() const {
    return by_purpose[static_cast<std::size_t>(Purpose::kKvCache)];
  }
  // What the program uses outside of its KV cache.
  std::uint64_t outside_bytes() const;
};

struct MostActivations {
  std::uint64_t bytes = 0;
  TimeNs time = 0;
};

// Budgets of devices, for several instants.
class Budgets {
 public:
  Budgets(const Session& session, Symbols& symbols);

  // The pools on a device: those of which the program said so, and of the others those of the
  // processes that have memory there. Where the process has none at all (the scheduler of vLLM with
  // several workers), its pools are on every device.
  std::vector<const PoolUsage*> PoolsOf(int device) const;
  // Devices that have samples of their memory, without which there is no budget.
  std::vector<int> devices() const;
  // At the highest use of the device, when most of it was in blocks, or at `time`; none for a
  // device without samples.
  std::optional<DeviceBudget> Of(int device, std::optional<TimeNs> time = std::nullopt);
  // When activations outside of graphs' pools took most. O(events).
  MostActivations ActivationsOf(int device);

 private:
  void Divide(DeviceBudget* budget);

  const Session& session_;
  Purposes purposes_;
  std::vector<PoolUsage> pools_;
  std::vector<std::set<int>> devices_of_process_;  // only if there are pools
};

}  // namespace memprof::analysis
