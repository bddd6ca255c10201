// The release of the PyTorch in this process.
#pragma once

#include <cstddef>

namespace memprof::recorder {

// Reads it from version.py, which PyTorch's package has beside the folder of its libraries:
// `library` is the path of one of them, ".../torch/lib/libc10_cuda.so". Writes "2.15.0+cu132" to
// `release`, which has space for `bytes`. False if there is no such file, or it says no release.
bool ReadTorchRelease(const char* library, char* release, std::size_t bytes);

}  // namespace memprof::recorder
