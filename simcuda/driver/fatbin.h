// The GPUs for which an image was compiled: architectures of a fat binary, a cubin or PTX.
#ifndef SIMCUDA_DRIVER_FATBIN_H
#define SIMCUDA_DRIVER_FATBIN_H

#include <cstddef>
#include <string_view>

namespace memprof::simcuda {

// As cuFuncGetAttribute gives them: 10 * major + minor.
struct ImageVersions {
  int ptx = 0;     // the virtual architecture that the code was compiled for
  int binary = 0;  // that of the code that runs
};

// The part of the image that a GPU of this capability would run: the best matching binary code,
// else the best PTX, compiled for the GPU. If nothing matches, which a real driver refuses, any
// part; if nothing can be read, the capability itself. `bytes` may be 0 for a fat binary, which
// contains its size.
ImageVersions VersionsOf(const void* image, size_t bytes, int capability);

}  // namespace memprof::simcuda

#endif  // SIMCUDA_DRIVER_FATBIN_H
