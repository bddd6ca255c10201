// For which GPUs a compiled image is: architectures of a fat binary, a cubin or PTX.
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

// What a GPU of this capability would run of the image: the best fitting binary code, or else the
// best PTX, compiled for the GPU. Where nothing fits, which a real driver refuses, what there is;
// where nothing can be read, the capability itself. `bytes` may be 0 for a fat binary, which tells
// its own size.
ImageVersions VersionsOf(const void* image, size_t bytes, int capability);

}  // namespace memprof::simcuda

#endif  // SIMCUDA_DRIVER_FATBIN_H
