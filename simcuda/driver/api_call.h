// One call of an exported driver function: checks of the state, configured faults, and callbacks to
// the listener (the stand-in libcupti). Nearly free without a listener and faults. The thread
// cannot be cancelled during it: locks of files and waits are points of cancellation, and the code
// around them holds locks and expects no exception.
#ifndef SIMCUDA_DRIVER_API_CALL_H
#define SIMCUDA_DRIVER_API_CALL_H

#include <pthread.h>

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

  // Whether the function may run; if not, the result is set.
  bool allowed() const { return allowed_; }
  void set_result(CUresult result) { result_ = result; }
  // Reports the result to the listener and returns it.
  CUresult Finish() {
    if (listener_ != nullptr) ReportExit();
    const CUresult result = result_;
    // Not in a destructor: where a thread is cancelled asynchronously, this throws.
    pthread_setcancelstate(cancel_state_, nullptr);
    return result;
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
  int cancel_state_;
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
// False in a child process that was forked after cuInit, and when the driver has ended.
bool IsUsable();

// While on, calls block, except those of the process checkpoint.
void HoldCalls(bool on);

// Calls the listener, if it enabled events of contexts, modules and streams.
void ReportResource(const simcuda_resource_event& event);

}  // namespace memprof::simcuda

#endif  // SIMCUDA_DRIVER_API_CALL_H
