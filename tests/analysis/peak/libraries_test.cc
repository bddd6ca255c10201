// Which library requested memory: recognised by its frames, and in sums over a peak.
#include "analysis/symbols/libraries.h"

#include <gmock/gmock.h>

#include <map>

#include "analysis/peak/library_uses.h"
#include "tests/support/random_log.h"

namespace memprof::analysis {
namespace {

using testing::LoadLog;
using testing::LogBuilder;

constexpr char kSite[] = "/x/lib/python3.11/site-packages";

LibraryFrame Native(std::string_view function, std::string_view module) {
  return {function, "", module, false};
}
LibraryFrame Python(std::string_view function, std::string_view file) {
  return {function, file, "", true};
}
std::string NameOf(const std::vector<LibraryFrame>& frames, bool in_pool = false) {
  return std::string(LibraryOfFrames(frames, in_pool).name);
}

TEST(LibrariesTest, ALibraryIsKnownByItsFileOrByTheFunctionsOfItsInterface) {
  const std::map<std::string, std::string> files = {{"libcublas.so.12", "cuBLAS"},
                                                    {"libcublasLt.so.13", "cuBLAS"},
                                                    {"libcudnn_engines_precompiled.so.9", "cuDNN"},
                                                    {"libnccl.so.2", "NCCL"},
                                                    {"libcufft.so.11", "cuFFT"},
                                                    {"libcusolver.so.11", "cuSOLVER"},
                                                    {"libcusparse.so.12", "cuSPARSE"},
                                                    {"libcusparseLt.so.0", "cuSPARSELt"},
                                                    {"libcurand.so.10", "cuRAND"},
                                                    {"libcutensor.so.2", "cuTENSOR"},
                                                    {"libnvshmem_host.so.3", "NVSHMEM"},
                                                    {"libcudart.so.12", ""},
                                                    {"libcuda.so.1", ""},
                                                    {"a.out", ""}};
  for (const auto& [file, name] : files) {
    const std::string path = "/opt/lib/" + file;
    EXPECT_EQ(NameOf({Native("0x12", path), Native("main", "/bin/a.out")}), name) << file;
  }
  for (const bool in_pool : {false, true})
    EXPECT_EQ(NameOf({Native("cudaMalloc", "/x/libserver.so"),
                      Native("ncclCommInitRank", "/x/libserver.so")},
                     in_pool),
              "NCCL")
        << "linked statically";
  EXPECT_EQ(NameOf({Native("cudnnCreate", "/x/a.out")}), "cuDNN");
  EXPECT_EQ(NameOf({Native("cublasLtMatmul", "/x/a.out")}), "cuBLAS");
  EXPECT_EQ(NameOf({Native("pncclAllReduce", "/x/a.out")}), "") << "not a name of the list";
  for (const char* own : {"ncclhelper", "Trainer::ncclSetUp", "my_cublas_wrapper", "nccl"})
    EXPECT_EQ(NameOf({Native(own, "/x/a.out")}), "") << own;
  EXPECT_EQ(NameOf({Python("ncclInit", "/x/train.py")}), "") << "a function of the program";
}

TEST(LibrariesTest, TheInnermostLibraryAsked) {
  const LibraryFrame allocator =
      Native("c10::cuda::CUDACachingAllocator::Native::malloc", "/x/torch/lib/libc10_cuda.so");
  const LibraryFrame nccl = Native("ncclGroupEnd", "/x/libnccl.so.2");
  const Library library = LibraryOfFrames({nccl, allocator}, false);
  EXPECT_EQ(library, (Library{"NCCL", LibraryRole::kLibrary}));
  EXPECT_EQ(LibraryOfFrames({allocator, nccl}, false),
            (Library{"PyTorch's allocator", LibraryRole::kPool}));
  const LibraryFrame symmetric =
      Native("c10d::symmetric_memory::CUDASymmetricMemoryAllocator::alloc", "libtorch_cuda.so");
  EXPECT_EQ(LibraryOfFrames({symmetric, allocator}, false),
            (Library{"PyTorch's symmetric memory", LibraryRole::kPool}));
}

TEST(LibrariesTest, WhatIsAllocatedToCompareKernelsIsAutotuning) {
  const LibraryFrame line = Python("Model.forward", "/home/me/train.py");
  const std::string inductor = std::string(kSite) + "/torch/_inductor/";
  const auto of = [&](const std::string& function, const std::string& file, bool in_pool = true) {
    return NameOf({Native("cublasCreate_v2", "/x/libcublas.so.12"), Python(function, file), line},
                  in_pool);
  };
  EXPECT_EQ(of("InductorBenchmarker.benchmark_gpu", inductor + "runtime/benchmarking.py"),
            "autotuning");
  EXPECT_EQ(
      of("CachingAutotuner.autotune_to_one_config", inductor + "runtime/triton_heuristics.py"),
      "autotuning");
  EXPECT_EQ(of("Autotuner._bench", std::string(kSite) + "/triton/runtime/autotuner.py"),
            "autotuning");
  EXPECT_EQ(of("do_bench", std::string(kSite) + "/triton/testing.py"), "autotuning");
  EXPECT_EQ(of("CachingAutotuner.run", inductor + "runtime/triton_heuristics.py"), "cuBLAS")
      << "each launch";
  EXPECT_EQ(of("Autotuner.run", std::string(kSite) + "/triton/runtime/autotuner.py"), "cuBLAS");
  EXPECT_EQ(of("benchmark", "/home/me/bench.py"), "cuBLAS");
  EXPECT_EQ(of("benchmark", inductor + "x.py", false), "cuBLAS") << "a segment may serve others";
  const Library library = LibraryOfFrames({Python("benchmark", inductor + "x.py"), line}, true);
  EXPECT_EQ(library, (Library{"autotuning", LibraryRole::kWorkspace}));
  EXPECT_TRUE(IndicatesLibrary(Python("benchmark", inductor + "x.py")));
}

TEST(LibrariesTest, WorkspacesThatAFrameworkAllocatesForALibrary) {
  const LibraryFrame block =
      Native("c10::cuda::CUDACachingAllocator::Native::malloc", "/x/torch/lib/libc10_cuda.so");
  const LibraryFrame line = Python("forward", "/home/me/train.py");
  const auto torch = [](std::string_view function) {
    return Native(function, "/x/torch/lib/libtorch_cuda.so");
  };
  const std::vector<LibraryFrame> cublas = {
      block, torch("at::cuda::(anonymous namespace)::getNewWorkspace()"),
      torch("at::cuda::getCurrentCUDABlasHandle(bool)"), line};
  EXPECT_EQ(LibraryOfFrames(cublas, true), (Library{"cuBLAS workspace", LibraryRole::kWorkspace}));
  EXPECT_EQ(NameOf(cublas, false), "PyTorch's allocator") << "the segment is the allocator's";
  EXPECT_EQ(NameOf({block, torch("at::cuda::getCUDABlasLtWorkspace(unsigned long)"), line}, true),
            "cuBLAS workspace");
  EXPECT_EQ(NameOf({block, torch("at::native::Workspace::Workspace(unsigned long)"),
                    torch("at::native::raw_cudnn_convolution_forward_out_32bit"), line},
                   true),
            "cuDNN workspace");
  EXPECT_EQ(NameOf({block, torch("at::native::run_conv_plan(cudnnContext*)"), line}, true),
            "cuDNN workspace");
  EXPECT_EQ(
      NameOf({block, torch("at::empty"), torch("at::cuda::blas::gemm_and_bias<c10::Half>"), line},
             true),
      "cuBLAS workspace");
  EXPECT_TRUE(IndicatesLibrary(torch("at::native::run_conv_plan(cudnnContext*)")));
  EXPECT_EQ(NameOf({block, torch("at::native::Workspace::Workspace(unsigned long)"), line}, true),
            "")
      << "the library is not known";
  EXPECT_EQ(NameOf({block, torch("at::native::cudnn_convolution"), line}, true), "")
      << "the convolution's result is not a workspace";
  EXPECT_EQ(NameOf({block, line, Python("make_cublas_workspace", "/home/me/a.py")}, true), "")
      << "the program's own names mean nothing";
}

TEST(LibrariesTest, PoolsOfFrameworks) {
  const std::string cupy = std::string(kSite) + "/cupy/cuda/memory.cpython-311-x86_64.so";
  const std::string runtime =
      std::string(kSite) + "/cupy_backends/cuda/api/runtime.cpython-311-x86_64.so";
  const LibraryFrame cupy_malloc =
      Native("__pyx_f_13cupy_backends_4cuda_3api_7runtime_malloc", runtime);
  EXPECT_EQ(NameOf({Native("cudaMalloc", "/x/libcudart.so.12"), cupy_malloc,
                    Native("__pyx_f_4cupy_4cuda_6memory_10MemoryPool_malloc", cupy),
                    Python("main", "/home/me/a.py")}),
            "CuPy's memory pool");
  EXPECT_EQ(NameOf({cupy_malloc, Python("main", "/home/me/a.py")}), "CuPy") << "without the pool";
  const std::string xla = std::string(kSite) + "/jax_plugins/xla_cuda13/xla_cuda_plugin.so";
  EXPECT_EQ(NameOf({Native("stream_executor::gpu::CudaExecutor::Allocate", xla),
                    Native("tsl::BFCAllocator::Extend(unsigned long)", xla)}),
            "XLA's BFC allocator");
  EXPECT_EQ(NameOf({Native("stream_executor::gpu::CudaExecutor::Allocate", xla)}), "XLA");
  const std::string tensorflow = std::string(kSite) + "/tensorflow/libtensorflow_framework.so.2";
  EXPECT_EQ(NameOf({Native("stream_executor::gpu::CudaExecutor::Allocate", tensorflow),
                    Native("tsl::BFCAllocator::Extend", tensorflow)}),
            "TensorFlow's BFC allocator");
  EXPECT_EQ(NameOf({Native("rmm::mr::pool_memory_resource<rmm::mr::cuda>::expand", "/x/a.out")}),
            "RMM's pool");
  EXPECT_EQ(NameOf({Python("memalloc", std::string(kSite) + "/numba/cuda/cudadrv/driver.py")}),
            "Numba");
  EXPECT_EQ(NameOf({Python("train", "/home/me/cupy_tricks.py")}), "");
  EXPECT_EQ(NameOf({}), "");
}

TEST(LibrariesTest, SumsOfAPeakAreThoseOfItsBlocks) {
  LogBuilder log;
  const std::string line = "train (/home/me/train.py:3)";
  const auto stack = [&](const std::string& inner) { return log.Stack({line, inner}); };
  const std::string numba = std::string(kSite) + "/numba/cuda/cudadrv/driver.py:9";
  log.Alloc(Layer::kLinear, 0x10000, 100, {.stack = stack("memalloc (" + numba + ")")});
  log.Alloc(Layer::kLinear, 0x20000, 200, {.stack = stack("memalloc (" + numba + ")")});
  log.Alloc(Layer::kLinear, 0x30000, 5000, {.stack = stack("own (/home/me/own.py:4)")});
  log.Alloc(Layer::kLinear, 0x40000, 7, {});
  log.Alloc(Layer::kBlock, 0x30000, 64, {.stack = stack("block (" + numba + ")")});
  const auto session = LoadLog(log);
  ASSERT_NE(session, nullptr);
  Symbols symbols(session);
  const std::vector<Peak> peaks = FindPeaks(*session);
  ASSERT_EQ(peaks.size(), 1u);
  const LibraryUses uses = UsesAt(*session, symbols, DescribeInstant(*session, 0, kForever));
  ASSERT_EQ(uses.driver.size(), 2u);
  EXPECT_EQ(uses.driver[0].library, Library());
  EXPECT_EQ(uses.driver[0].bytes, 5007u);
  EXPECT_EQ(uses.driver[0].blocks, 2u);
  EXPECT_EQ(uses.driver[1].library.name, "Numba");
  EXPECT_EQ(uses.driver[1].bytes, 300u);
  ASSERT_EQ(uses.blocks.size(), 1u);
  EXPECT_EQ(uses.blocks[0].library, Library()) << "a block always belongs to the pool";
  EXPECT_TRUE(uses.worth_telling());
}

TEST(LibrariesTest, WhatIsWorthTelling) {
  const LibraryUse own{{}, 10, 1};
  const LibraryUse pool{{"PyTorch's allocator", LibraryRole::kPool}, 10, 1};
  const LibraryUse nccl{{"NCCL", LibraryRole::kLibrary}, 10, 1};
  const LibraryUse workspace{{"cuBLAS workspace", LibraryRole::kWorkspace}, 10, 1};
  const auto told = [](std::vector<LibraryUse> driver, std::vector<LibraryUse> blocks) {
    return LibraryUses{std::move(driver), std::move(blocks)}.worth_telling();
  };
  EXPECT_FALSE(told({}, {}));
  EXPECT_FALSE(told({own}, {own}));
  EXPECT_FALSE(told({pool}, {own})) << "all memory is the framework's: nothing to report";
  EXPECT_TRUE(told({nccl}, {}));
  EXPECT_TRUE(told({own, pool}, {}));
  EXPECT_TRUE(told({pool}, {own, workspace}));
}

}  // namespace
}  // namespace memprof::analysis
