// Configuration of the stand-in: the environment variable SIMCUDA (see simcuda/simcuda.h).
#ifndef SIMCUDA_COMMON_CONFIG_H
#define SIMCUDA_COMMON_CONFIG_H

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "simcuda/common/gpu_model.h"

namespace memprof::simcuda {

// The `nth` call (from 1) of the driver function `function` fails with `result`.
struct Fault {
  std::string function;
  uint64_t nth = 1;
  int result = 2;
};

struct Config {
  int devices = 1;
  const GpuModel* gpu = &DefaultGpuModel();
  uint64_t memory_bytes = DefaultGpuModel().memory_bytes();
  uint64_t overhead_bytes = uint64_t{256} << 20;
  bool models_code = false;  // otherwise it is part of the overhead
  std::vector<Fault> faults;
  int driver_version = 13000;
  std::string name = "memprof stand-in GPU";
  bool async = true;
  int threads = 0;                // 0: number of CPUs
  bool upward_addresses = false;  // as on Windows
  bool contents = true;           // whether device memory stores what is written to it
  std::string shared;             // the group of processes that share the devices; empty: none
};

// The prefix of groups that a launcher made for the processes of one run; the launcher removes what
// they leave behind.
constexpr std::string_view kLauncherGroup = "memprof-run.";

// Parses a comma-separated list of key=value. Never fails: invalid items are skipped, and described
// by one line each in *complaints.
Config ParseConfig(std::string_view text, std::vector<std::string>* complaints);

// Whether a group may have this name: letters, digits, '-', '_', '.', at most 64 and no '.' first,
// or
// "@group".
bool ValidGroupName(std::string_view name);

// Parses a size such as 24GiB, 1.5 GiB, 80GB, 1000000, as in options of memprof: units in any case,
// GiB a power of 1024 and GB of 1000. False if it is invalid or exceeds 2^62.
bool ParseSize(std::string_view text, uint64_t* bytes);

// Applies the items of `text` to `config` in the same way.
void ApplyConfig(std::string_view text, Config* config, std::vector<std::string>* complaints);

// The configuration in the environment, SIMCUDA_DEFAULTS and then SIMCUDA, parsed at the first
// call; with `report`, errors are printed on stderr, once.
const Config& GlobalConfig(bool report);

}  // namespace memprof::simcuda

#endif  // SIMCUDA_COMMON_CONFIG_H
