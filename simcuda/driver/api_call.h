// One call of an exported driver function: state checks, faults on demand, and what the listener
// (the stand-in libcupti) hears of it. Nearly free when nobody listens and no fault is set.
#ifndef SIMCUDA_DRIVER_API_CALL_H
#define SIMCUDA_DRIVER_API_CALL_H

#include <cstdint>

#include "simcuda/callbacks.h"
#include "simcuda/driver/cuda_headers.h"

namespace memprof::simcuda {

class ApiCall {
 public:
  // `index` is the function's row in kExports; `launched` the function handle of a launch.
  ApiCall(int index, uint32_t cbid, const char* name, const void* params, const void* launched);
  ApiCall(const ApiCall&) = delete;
  ApiCall& operator=(const ApiCall&) = delete;

  // Whether the function may run; if not, the result is set already.
  bool allowed() const { return allowed_; }
  void set_result(CUresult result) { result_ = result; }
  // Tells the listener the result and hands it back.
  CUresult Finish() {
    if (listener_ != nullptr) ReportExit();
    return result_;
  }

 private:
  void Check(int index);
  void ReportEntry();
  void ReportExit();

  const char* name_;
  const void* params_;
  const void* launched_;
  const simcuda_listener* listener_ = nullptr;
  uint64_t correlation_data_ = 0;
  uint32_t cbid_;
  uint32_t correlation_id_ = 0;
  CUresult result_ = CUDA_SUCCESS;
  bool allowed_ = true;
};

// While one lives, stream 0 means the calling thread's own default stream.
class PerThreadDefaultStream {
 public:
  PerThreadDefaultStream();
  ~PerThreadDefaultStream();
};
bool UsesPerThreadDefaultStream();

// The driver is ready from the first successful cuInit until the process forks or ends.
void SetInitialised();
bool IsInitialised();
void SetDeinitialised();
// False in a child process that forked after cuInit, and when the driver has ended.
bool IsUsable();

// While on, calls wait until it is off again, but for those of the process checkpoint.
void HoldCalls(bool on);

// Tells the listener, if it wants to hear of contexts, modules and streams.
void ReportResource(const simcuda_resource_event& event);

}  // namespace memprof::simcuda

#endif  // SIMCUDA_DRIVER_API_CALL_H
