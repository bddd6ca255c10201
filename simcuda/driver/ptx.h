// Reads the parts of PTX that the stand-in needs: names and parameters of kernels, and variables.
#ifndef SIMCUDA_DRIVER_PTX_H
#define SIMCUDA_DRIVER_PTX_H

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace memprof::simcuda {

struct PtxContents {
  std::map<std::string, std::vector<size_t>> kernels;  // name -> bytes of each parameter
  std::map<std::string, size_t> globals;               // name -> bytes
};

// Whether the text looks like PTX.
bool LooksLikePtx(std::string_view text);
// Skips what it cannot parse; never fails.
PtxContents ReadPtx(std::string_view text);

}  // namespace memprof::simcuda

#endif  // SIMCUDA_DRIVER_PTX_H
