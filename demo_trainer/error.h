// Errors of the trainer. It is a program, not a library: functions throw, main() prints one line.
#ifndef DEMO_TRAINER_ERROR_H_
#define DEMO_TRAINER_ERROR_H_

#include <cuda_runtime_api.h>

#include <stdexcept>
#include <string>

namespace memprof::demo {

// An error of the user or of the machine; what() is the line to print. Exit status 1.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Wrong usage of the command line. Exit status 2.
class UsageError : public Error {
 public:
  using Error::Error;
};

// The device is full even after the allocator has released all that it could.
class OutOfMemory : public Error {
 public:
  using Error::Error;
};

// Throws Error "while <doing>: <CUDA's text>" unless `result` is success.
inline void Check(cudaError_t result, const char* doing) {
  if (result == cudaSuccess) return;
  throw Error(std::string("while ") + doing + ": " + cudaGetErrorString(result) + " (" +
              cudaGetErrorName(result) + ")");
}

}  // namespace memprof::demo

#endif  // DEMO_TRAINER_ERROR_H_
