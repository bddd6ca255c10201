// What PyTorch's own kernels write, for device memory without contents: sizes that ranks exchange,
// the parts of objects, the steps of an optimizer. A few are computed, if their data is small; of
// others it is known what they overwrite. Arguments are found by the kernels' names, as
// PyTorch 2.15 compiles them; others of its releases were not tried.
#ifndef SIMCUDA_DRIVER_TORCH_KERNELS_H
#define SIMCUDA_DRIVER_TORCH_KERNELS_H

#include <cstddef>
#include <string_view>

namespace memprof::simcuda {

struct TorchKernel {
  enum class Family { kOther, kElementwise, kReduction, kForeach, kConcatenation };
  enum class Result { kUnknown, kFill, kAdd, kAddNumber, kCompare, kSum, kLargest, kSmallest };
  Family family = Family::kOther;
  Result result = Result::kUnknown;
  char type = 0;         // of the elements, as in mangled names: i, l, f, d
  size_t bytes = 8;      // of an element of the output, at most
  int operands = 0;      // arrays with the output, or lists of tensors
  bool scalars = false;  // there is a number for each tensor
};

// By the mangled name.
TorchKernel ReadTorchKernel(std::string_view name);

// Does what the kernel would do to the known bytes. False if it may write anywhere.
bool RunTorchKernel(const TorchKernel& kernel, const unsigned* grid, void* const* arguments);

}  // namespace memprof::simcuda

#endif  // SIMCUDA_DRIVER_TORCH_KERNELS_H
