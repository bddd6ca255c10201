// Pools that programs divide by themselves, such as the KV cache of a server: how many blocks were
// in use when, and the settings that give a pool its size. From OP_POOL_USAGE.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "analysis/store/session.h"

namespace memprof::analysis {

// What the program said at one instant; it holds until the next one.
struct BlocksInUse {
  TimeNs time = 0;
  std::uint32_t blocks = 0, slots = 0;  // in use; slots are 0 where they are not known
};

struct PoolUsage {
  std::string name;                             // "vLLM KV cache"
  std::map<std::string, std::string> settings;  // "gpu_memory_utilization": "0.92"
  std::uint32_t process = 0;                    // row of Session::processes()
  int device = kNoDevice;                       // kNoDevice: the program did not say
  std::uint64_t bytes = 0;                      // of all blocks; 0 = unknown
  // As last said.
  std::uint32_t blocks = 0, block_slots = 0;
  std::vector<BlocksInUse> uses;  // in order of time, at least one
  BlocksInUse most;               // the first with the most blocks in use
  BlocksInUse most_slots;

  BlocksInUse At(TimeNs time) const;  // all 0 before the first
};

// In order of their first event. O(events). Texts are as the log has them, not yet safe to print.
std::vector<PoolUsage> FindPoolUsages(const Session& session);

}  // namespace memprof::analysis
