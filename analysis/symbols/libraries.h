// Which library asked for memory: those of CUDA that allocate behind the program's back (cuBLAS,
// cuDNN, NCCL, ...), the workspaces that frameworks allocate for them, and the pools of frameworks
// that suballocate up what they take from the driver.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace memprof::analysis {

enum class LibraryRole : std::uint8_t {
  kProgram,    // the program itself, or what nobody knows
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
// Whether the place that people know is only whom it was for: "NCCL for main (train.py:12)".
constexpr bool AsksForOthers(LibraryRole role) {
  return role == LibraryRole::kLibrary || role == LibraryRole::kWorkspace;
}

// A frame as libraries are told by it.
struct LibraryFrame {
  std::string_view function, file, module_path;
  bool python = false;
};
// False where LibraryOfFrames() is none for any stack of such frames alone.
bool SpeaksOfLibrary(const LibraryFrame& frame);
// What the frames say, innermost first. `in_pool`: the memory is a part of what a pool has, so that
// the pool is no answer.
Library LibraryOfFrames(const std::vector<LibraryFrame>& frames, bool in_pool);

}  // namespace memprof::analysis
