// Which library allocated memory: CUDA libraries that allocate by themselves (cuBLAS, cuDNN, NCCL,
// ...), workspaces that frameworks allocate for them, and pools of frameworks, which divide what
// they take from the driver.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace memprof::analysis {

enum class LibraryRole : std::uint8_t {
  kProgram,    // the program itself, or unknown code
  kLibrary,    // a library of CUDA, for its own use
  kWorkspace,  // a framework, on behalf of such a library
  kPool,       // a framework, for its own pool
};
struct Library {
  std::string_view name;  // "NCCL", "cuBLAS workspace", "CuPy's memory pool"; of static storage
  LibraryRole role = LibraryRole::kProgram;
  bool operator==(const Library&) const = default;
};
std::string_view LibraryRoleName(LibraryRole role);
// Whether the user's place is only the one on whose behalf it allocated: "NCCL for main
// (train.py:12)".
constexpr bool AllocatesForUser(LibraryRole role) {
  return role == LibraryRole::kLibrary || role == LibraryRole::kWorkspace;
}

// The properties of a frame by which libraries are found.
struct LibraryFrame {
  std::string_view function, file, module_path;
  bool python = false;
};
// Whether the frame is of a compiler that compares kernels ("autotuning"), by its functions for
// that (PyTorch 2.4 to 2.15, Triton 2.1 to 3.9). CachingAutotuner.run is none: it launches every
// kernel.
bool ComparesKernels(const LibraryFrame& frame);
// False if LibraryOfFrames() finds no library in any stack of only such frames.
bool IndicatesLibrary(const LibraryFrame& frame);
// The library of the frames, innermost first. `in_pool`: the memory is part of a pool, so the pool
// is not returned.
Library LibraryOfFrames(const std::vector<LibraryFrame>& frames, bool in_pool);

}  // namespace memprof::analysis
