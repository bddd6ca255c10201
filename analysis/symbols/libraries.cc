// Names and places by which libraries are known.
#include "analysis/symbols/libraries.h"

#include <algorithm>
#include <cctype>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <string>

#include "analysis/base/text.h"

namespace memprof::analysis {
namespace {

// If two entries match, the longer one must come first.
struct CudaLibrary {
  std::string_view module;    // the name of its file
  std::string_view function;  // the prefix of its functions, also of statically linked ones
  std::string_view name, workspace;
};
constexpr CudaLibrary kCudaLibraries[] = {
    {"libcublas", "cublas", "cuBLAS", "cuBLAS workspace"},
    {"libcudnn", "cudnn", "cuDNN", "cuDNN workspace"},
    {"libnccl", "nccl", "NCCL", "NCCL workspace"},
    {"libcufft", "cufft", "cuFFT", "cuFFT workspace"},
    {"libcusolver", "cusolver", "cuSOLVER", "cuSOLVER workspace"},
    {"libcusparseLt", "cusparseLt", "cuSPARSELt", "cuSPARSELt workspace"},
    {"libcusparse", "cusparse", "cuSPARSE", "cuSPARSE workspace"},
    {"libcurand", "curand", "cuRAND", "cuRAND workspace"},
    {"libcutensor", "cutensor", "cuTENSOR", "cuTENSOR workspace"},
    {"libcudss", "cudss", "cuDSS", "cuDSS workspace"},
    {"libnvshmem", "nvshmem", "NVSHMEM", "NVSHMEM workspace"},
};

// "ncclCommInitRank", but not "nccl_helper" nor "Trainer::ncclSetUp": functions of the library's
// own interface are no members, and go on with a capital letter.
bool IsOf(std::string_view function, std::string_view prefix) {
  return function.starts_with(prefix) && function.size() > prefix.size() &&
         (std::isupper(static_cast<unsigned char>(function[prefix.size()])) != 0 ||
          function.substr(prefix.size()).starts_with("_"));
}

std::optional<Library> CudaLibraryOf(const LibraryFrame& frame) {
  if (frame.python) return std::nullopt;
  const std::string_view module = BaseName(frame.module_path);
  for (const CudaLibrary& library : kCudaLibraries)
    if (module.starts_with(library.module) || IsOf(frame.function, library.function))
      return Library{library.name, LibraryRole::kLibrary};
  return std::nullopt;
}

// The library that a function works for, by its name: at::cuda::getCurrentCUDABlasHandle,
// at::native::cudnn_convolution_forward.
const CudaLibrary* ServedBy(std::string_view lower_function) {
  if (Contains(lower_function, "cudablas")) return &kCudaLibraries[0];
  for (const CudaLibrary& library : kCudaLibraries)
    if (Contains(lower_function, library.function)) return &library;
  return nullptr;
}

// Functions of PyTorch that allocate a library's workspace without saying so, and nothing else: of
// a plan of cuDNN (aten/src/ATen/native/cudnn/Conv_v8.cpp), and of cuBLASLt up to 2.6
// (aten/src/ATen/cuda/CUDABlas.cpp).
const CudaLibrary* AllocatesWorkspaceFor(const LibraryFrame& frame) {
  if (frame.python) return nullptr;
  if (Contains(frame.function, "::run_conv_plan")) return ServedBy("cudnn");
  return Contains(frame.function, "at::cuda::blas::gemm_and_bias") ? ServedBy("cublas") : nullptr;
}

// Frameworks allocate workspaces in functions with such a name; that function, or a caller before
// any Python frame, names the library.
std::optional<Library> WorkspaceOf(const std::vector<LibraryFrame>& frames, std::size_t at) {
  if (const CudaLibrary* library = AllocatesWorkspaceFor(frames[at]))
    return Library{library->workspace, LibraryRole::kWorkspace};
  if (frames[at].python || !Contains(Lower(frames[at].function), "workspace")) return std::nullopt;
  for (std::size_t i = at; i < frames.size() && !frames[i].python; ++i)
    if (const CudaLibrary* library = ServedBy(Lower(frames[i].function)))
      return Library{library->workspace, LibraryRole::kWorkspace};
  return std::nullopt;
}

// A framework, by its modules or files, and its pool, by the functions of it.
struct Framework {
  std::initializer_list<std::string_view> modules;  // anywhere in the path of a native module
  std::initializer_list<std::string_view> files;    // anywhere in the path of a Python file
  std::initializer_list<std::string_view> functions;
  std::string_view name;
  std::string_view pool_function, pool;
};
const Framework kFrameworks[] = {
    {{"/libc10_cuda."},
     {},
     {"c10::cuda::CUDACachingAllocator::"},
     "PyTorch",
     "CachingAllocator",
     "PyTorch's allocator"},
    {{}, {}, {"c10d::symmetric_memory::"}, "PyTorch's symmetric memory", "", ""},
    {{"/cupy/", "/cupy_backends/"}, {"/cupy/"}, {}, "CuPy", "MemoryPool", "CuPy's memory pool"},
    {{"/tensorflow/", "libtensorflow"},
     {"/tensorflow/"},
     {"tensorflow::"},
     "TensorFlow",
     "BFCAllocator",
     "TensorFlow's BFC allocator"},
    {{"/xla_cuda_plugin.", "/libjax_common.", "/xla_extension.", "/jaxlib/", "/jax_plugins/",
      "/pjrt_c_api_gpu_plugin."},
     {"/jax/", "/jaxlib/"},
     {"xla::", "stream_executor::"},
     "XLA",
     "BFCAllocator",
     "XLA's BFC allocator"},
    {{"/librmm."}, {"/rmm/"}, {"rmm::"}, "RMM", "pool_memory_resource", "RMM's pool"},
    {{}, {"/numba/cuda/", "/numba_cuda/"}, {}, "Numba", "", "Numba"},
    {{}, {"/pycuda/"}, {}, "PyCUDA", "MemoryPool", "PyCUDA's memory pool"},
};

bool IsIn(const LibraryFrame& frame, const Framework& framework) {
  const auto path = [&](std::string_view part) {
    return Contains(frame.python ? frame.file : frame.module_path, part);
  };
  const auto function = [&](std::string_view prefix) { return frame.function.starts_with(prefix); };
  if (frame.python) return std::any_of(framework.files.begin(), framework.files.end(), path);
  return std::any_of(framework.modules.begin(), framework.modules.end(), path) ||
         std::any_of(framework.functions.begin(), framework.functions.end(), function);
}

// The framework that frame `at` belongs to: its pool, if the request came by that.
std::optional<Library> FrameworkOf(const std::vector<LibraryFrame>& frames, std::size_t at) {
  for (const Framework& framework : kFrameworks) {
    if (!IsIn(frames[at], framework)) continue;
    for (std::size_t i = at; i < frames.size() && !framework.pool_function.empty(); ++i) {
      // Cython's names have the parts of the qualified name, each after its length.
      if (IsIn(frames[i], framework) && Contains(frames[i].function, framework.pool_function))
        return Library{framework.pool, LibraryRole::kPool};
    }
    return Library{framework.name, LibraryRole::kPool};
  }
  return std::nullopt;
}

}  // namespace

std::string_view LibraryRoleName(LibraryRole role) {
  switch (role) {
    case LibraryRole::kProgram:
      return "program";
    case LibraryRole::kLibrary:
      return "library";
    case LibraryRole::kWorkspace:
      return "workspace";
    case LibraryRole::kPool:
      return "pool";
  }
  return "unknown";
}

bool ComparesKernels(const LibraryFrame& frame) {
  if (!frame.python) return false;
  if (Contains(frame.file, "/torch/_inductor/"))
    return Contains(frame.function, "bench") || Contains(frame.function, "autotune");
  return (frame.file.ends_with("/triton/runtime/autotuner.py") ||
          frame.file.ends_with("/triton/testing.py")) &&
         Contains(frame.function, "bench");
}

bool IndicatesLibrary(const LibraryFrame& frame) {
  return CudaLibraryOf(frame).has_value() || ComparesKernels(frame) ||
         AllocatesWorkspaceFor(frame) != nullptr ||
         (!frame.python && Contains(Lower(frame.function), "workspace")) ||
         std::any_of(std::begin(kFrameworks), std::end(kFrameworks),
                     [&](const Framework& framework) { return IsIn(frame, framework); });
}

Library LibraryOfFrames(const std::vector<LibraryFrame>& frames, bool in_pool) {
  // First: what is compared may be cuBLAS, with its workspace.
  if (in_pool && std::any_of(frames.begin(), frames.end(), ComparesKernels))
    return {"autotuning", LibraryRole::kWorkspace};
  for (std::size_t i = 0; i < frames.size(); ++i) {
    if (const auto library = CudaLibraryOf(frames[i])) return *library;
    if (in_pool) {
      if (const auto workspace = WorkspaceOf(frames, i)) return *workspace;
      continue;
    }
    if (const auto pool = FrameworkOf(frames, i)) return *pool;
  }
  return {};
}

}  // namespace memprof::analysis
