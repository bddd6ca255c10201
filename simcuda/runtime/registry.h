// What programs compiled by nvcc register: fat binaries, kernels and variables.
#ifndef SIMCUDA_RUNTIME_REGISTRY_H
#define SIMCUDA_RUNTIME_REGISTRY_H

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "simcuda/runtime/calls.h"

namespace memprof::simcuda::runtime {

struct FatBinary;

// A __global__ function. Lives as long as the process, since handles to it may.
struct Kernel {
  std::string name;
  const void* host = nullptr;
  FatBinary* binary = nullptr;
  simcuda_host_kernel host_version = nullptr;
  std::vector<size_t> sizes;
  std::map<CUcontext, CUfunction> functions;
};

// A __device__, __constant__ or __managed__ variable.
struct Variable {
  std::string name;
  size_t bytes = 0;
  void** managed = nullptr;  // where the program stores the address of a managed variable
};

struct FatBinary {
  const void* image = nullptr;
  bool unregistered = false;
  std::map<CUcontext, CUmodule> modules;
  std::map<const void*, Variable> variables;
  std::vector<Kernel*> kernels;
};

// All functions are thread-safe and return a cudaError.

// The driver's function for the kernel with this host address or handle, in the current context.
int FindFunction(const void* kernel, CUfunction* function);
// The host address of the kernel of this function; null if it is not the program's.
const void* FindHostAddress(CUfunction function);
// The kernel with this host address or handle, or null.
Kernel* FindKernel(const void* kernel);
// Memory of the variable with this host address, in the current context.
int FindVariable(const void* symbol, CUdeviceptr* address, size_t* bytes);
int RegisterHostKernel(const void* kernel, simcuda_host_kernel function, int args,
                       const size_t* sizes);

}  // namespace memprof::simcuda::runtime

#endif  // SIMCUDA_RUNTIME_REGISTRY_H
