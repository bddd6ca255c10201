// Names, files and modules by which plumbing and packages are known.
#include "analysis/symbols/plumbing.h"

#include <algorithm>
#include <cctype>
#include <initializer_list>
#include <iterator>

#include "analysis/base/text.h"
#include "analysis/symbols/cxx_names.h"
#include "analysis/symbols/generated_lines.h"

namespace memprof::analysis {
namespace {

bool StartsWithAny(std::string_view text, std::initializer_list<std::string_view> prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [text](std::string_view prefix) { return text.starts_with(prefix); });
}

// "a::B<int>::Allocate" → {"a", "B", "Allocate"}: scopes without their template arguments.
std::vector<std::string_view> Scopes(std::string_view function) {
  std::vector<std::string_view> scopes;
  int depth = 0;
  std::size_t begin = 0, end = std::string_view::npos;
  const auto add = [&](std::size_t i) {
    scopes.push_back(function.substr(begin, std::min(i, end) - begin));
  };
  for (std::size_t i = 0; i < function.size(); ++i) {
    if (function[i] == '<' && depth++ == 0) end = i;
    if (function[i] == '>') --depth;
    if (depth != 0 || !function.substr(i).starts_with("::")) continue;
    add(i);
    begin = i + 2;
    end = std::string_view::npos;
    ++i;
  }
  add(function.size());
  return scopes;
}

// Windows writes paths with backslashes.
bool HasBackslashes(std::string_view file) { return file.find('\\') != std::string_view::npos; }
std::string WithSlashes(std::string_view file) {
  std::string text(file);
  std::replace(text.begin(), text.end(), '\\', '/');
  return text;
}

// The interpreter and its bindings: irrelevant between two Python lines.
bool IsInterpreterModule(std::string_view module) {
  return module == "python" ||
         StartsWithAny(module, {"python3", "libpython", "_ctypes.", "libffi"});
}

// Headers of the toolkit and of memory managers: templates that become part of any program.
bool IsToolkitHeader(std::string_view file) {
  static constexpr std::string_view kFolders[] = {"/include/c++/",
                                                  "/include/cuda/",
                                                  "/cuda/std/",
                                                  "/cuda/__",
                                                  "/include/thrust/",
                                                  "/thrust/thrust/",
                                                  "/include/cub/",
                                                  "/cub/cub/",
                                                  "/cccl/",
                                                  "/include/rmm/",
                                                  "/targets/x86_64-linux/include/",
                                                  "/targets/sbsa-linux/include/"};
  return std::any_of(std::begin(kFolders), std::end(kFolders),
                     [file](std::string_view folder) { return Contains(file, folder); }) ||
         (Contains(file, "/local/cuda") && Contains(file, "/include/")) ||
         file.ends_with("/cuda_runtime.h") || file.ends_with("/cuda_runtime_api.h");
}

// Frameworks in Python, in any folder: every request passes through them.
bool IsFramework(const SourceFrame& frame) {
  const std::string_view file = frame.file;
  constexpr std::string_view kPackages = "-packages/";
  const std::size_t packages = file.find(kPackages);
  const std::size_t package =
      packages == std::string_view::npos ? frame.package_at : packages + kPackages.size();
  if (package != 0 && StartsWithAny(file.substr(package), {"torch/", "tensorflow/", "jax/",
                                                           "jaxlib/", "cupy/", "keras/"}))
    return true;
  // PyTorch run from its sources; and what Cython made of CuPy, as its debug information calls it.
  return Contains(file, "/pytorch/torch/") || Contains(file, "/torch/nn/modules/") ||
         StartsWithAny(file, {"cupy/", "cupy_backends/"});
}

bool IsPlumbingFile(const SourceFrame& frame) {
  return IsToolkitHeader(frame.file) || IsAgentFile(frame.file) || IsFramework(frame);
}

// Python's own library: modules that are called through, as functools and threading.
bool IsPythonLibrary(std::string_view file) {
  if (file.starts_with("<frozen ")) return true;
  if (Contains(file, "-packages/")) return false;
  if (Contains(file, "/lib/python3.")) return true;
  // On Windows "C:/Python311/Lib/threading.py", or that of an environment of conda's.
  const std::size_t lib = Lower(file).find("/lib/");
  if (file.size() < 3 || file[1] != ':' || lib == std::string::npos) return false;
  const std::string before = Lower(file.substr(0, lib));
  const std::string home = before.substr(before.rfind('/') + 1);
  return StartsWithAny(home, {"python3", "anaconda", "miniconda", "miniforge"}) ||
         Contains(before, "/envs/");
}

// "cudaMalloc": one of these prefixes and a capital. Without a source file, it is a function of the
// static runtime or a static library.
bool IsToolkitFunction(std::string_view function) {
  static constexpr std::string_view kPrefixes[] = {"cuda",  "cu",     "cublas",   "cudnn",
                                                   "cufft", "curand", "cusolver", "cusparse",
                                                   "nccl",  "nvrtc",  "nvml"};
  for (const std::string_view prefix : kPrefixes)
    if (function.size() > prefix.size() && function.starts_with(prefix) &&
        std::isupper(static_cast<unsigned char>(function[prefix.size()])) != 0)
      return true;
  return StartsWithAny(
      function,
      {"libcudart_static_", "__cudart", "__cuda", "cudart::", "libcublas_static_", "GOMP_", "gomp_",
       "__kmp", "_Py", "PyObject_", "PyEval_", "THP", "pybind11::", "gather_with_cpp",
       "execute_native_thread_routine", "start_thread", "clone3", "__libc_start", "_start"});
}

// Functions that only pass the request on.
bool IsAllocationWrapper(std::string_view signature) {
  const std::string_view function = BareName(signature);
  static constexpr std::string_view kNames[] = {
      "malloc",     "calloc",      "alloc",        "allocate",     "do_allocate",
      "Malloc",     "Alloc",       "Allocate",     "AllocateRaw",  "AllocRaw",
      "DoAllocate", "TryAllocate", "DeviceMalloc", "DeviceAlloc",  "DeviceAllocate",
      "CudaMalloc", "CudaAlloc",   "raw_alloc",    "raw_allocate", "checked_malloc"};
  if (StartsWithAny(function, {"std::",
                               "__gnu_cxx::",
                               "operator new",
                               "thrust::",
                               "cub::",
                               "rmm::",
                               "c10::",
                               "at::",
                               "torch::",
                               "cudaMalloc",
                               "cudaHostAlloc",
                               "cuMem",
                               "cudaMemPool",
                               "cudaHostRegister",
                               "memprof_",
                               "cuda::std::",
                               "cuda::mr::",
                               "cuda::__",
                               "cuda::experimental::",
                               "nvcuda::"}))
    return !function.starts_with("rmm::test");
  const std::vector<std::string_view> scopes = Scopes(function);
  if (std::find(std::begin(kNames), std::end(kNames), scopes.back()) != std::end(kNames))
    return true;
  return std::any_of(scopes.begin(), scopes.end() - 1, [](std::string_view scope) {
    return scope.ends_with("llocator") || scope.ends_with("MemoryPool") ||
           scope.ends_with("memory_resource") || scope.ends_with("resource_adaptor") ||
           scope.ends_with("resource_ref");
  });
}

}  // namespace

bool IsAgentFile(std::string_view file) { return Contains(file, "/memprof/_agent/"); }

bool IsPlumbingModule(std::string_view module) {
  return StartsWithAny(module, {"libcuda.",
                                "libcuda-",
                                "libcudart",
                                "libcudadevrt",
                                "libcudnn",
                                "libcudss",
                                "libcublas",
                                "libcufft",
                                "libcufile",
                                "libcurand",
                                "libcusolver",
                                "libcusparse",
                                "libcupti",
                                "libcutensor",
                                "libcutlass",
                                "libnv",
                                "libnccl",
                                "libmemprof",
                                "libstdc++",
                                "libc.so",
                                "libc++",
                                "libgcc_s",
                                "libgomp",
                                "libomp.",
                                "libomp5",
                                "libiomp",
                                "libpthread",
                                "libtbb",
                                "libtorch",
                                "libc10",
                                "libsimcuda",
                                "ld-linux",
                                "libtensorflow",
                                "libjax",
                                "libxla",
                                "xla_",
                                "librmm",
                                "_pywrap_tensorflow",
                                "lib_pywrap_tensorflow"}) ||
         IsInterpreterModule(module);
}

bool IsPlumbing(const SourceFrame& frame) {
  if (frame.found) return frame.found->plumbing;
  if (HasBackslashes(frame.file)) {
    SourceFrame same = frame;
    same.file = WithSlashes(frame.file);
    return IsPlumbing(same);
  }
  // Generated code whose line of the user's is known.
  if (frame.python && frame.inlined) return true;
  return !frame.symbolised || (!frame.python && IsPlumbingModule(frame.module)) ||
         IsPlumbingFile(frame) || (frame.python && IsPythonLibrary(frame.file)) ||
         frame.file == "??" || IsAllocationWrapper(frame.function) ||
         (!IsPythonCode(frame) && (frame.python || frame.file.empty()) &&
          IsToolkitFunction(frame.function));
}

bool IsPackage(const SourceFrame& frame) {
  if (frame.installed || frame.package_at != 0) return true;
  if (HasBackslashes(frame.file)) {
    SourceFrame same = frame;
    same.file = WithSlashes(frame.file);
    return IsPackage(same);
  }
  const std::string_view file = frame.file;
  if (Contains(file, "-packages/") || Contains(file, "/torchinductor_") || IsGeneratedFile(file) ||
      StartsWithAny(file, {"<eval_with_key>", "<decorator-gen", "<__array_function__"}))
    return true;
  if (!IsPythonCode(frame)) return StartsWithAny(file, {"/usr/include/", "/usr/local/include/"});
  // Scripts that installers write to start a package: ".../bin/accelerate".
  const std::size_t slash = file.rfind('/');
  if (slash == std::string_view::npos || Contains(file.substr(slash), ".")) return false;
  const std::string_view folder = file.substr(0, slash);
  return folder.ends_with("/bin") || folder.ends_with("/Scripts");
}

bool IsPythonCode(const SourceFrame& frame) {
  if (!frame.python || frame.file.empty() || frame.file == "??") return false;
  const std::string_view file = frame.file;
  if (file.starts_with("<")) return true;  // "<string>", or a cell of a notebook
  const std::size_t dot = file.rfind('.');
  if (dot == std::string_view::npos || file.find_first_of("/\\", dot) != std::string_view::npos)
    return true;  // a script
  const std::string_view ending = file.substr(dot);
  return ending == ".py" || ending == ".pyw" || ending == ".ipynb";
}

std::string FileInPackage(const SourceFrame& frame) {
  if (frame.package_at != 0) return frame.file.substr(frame.package_at);
  const std::string file = HasBackslashes(frame.file) ? WithSlashes(frame.file) : frame.file;
  constexpr std::string_view kPackages = "-packages/";
  const std::size_t at = file.rfind(kPackages);
  return at == std::string::npos ? file : file.substr(at + kPackages.size());
}

}  // namespace memprof::analysis
