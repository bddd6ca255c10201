// Threads, devices and contexts of the runtime.
#include "simcuda/runtime/state.h"

#include <array>
#include <atomic>
#include <mutex>

namespace memprof::simcuda::runtime {
namespace {

constexpr int kMaxDevices = 64;

// Counts the resets of a device: contexts from before a reset are invalid.
std::array<std::atomic<unsigned>, kMaxDevices> g_generation;
std::array<std::atomic<CUcontext>, kMaxDevices> g_primary;
std::mutex g_primary_mutex;

struct ThreadState {
  int device = 0;
  CUcontext bound = nullptr;  // what this runtime made current
  int bound_device = 0;
  unsigned generation = 0;
  cudaError_t last_error = cudaSuccess;
};
thread_local ThreadState t_state;

// Retains the primary context once per device and reset.
int PrimaryOf(int device, CUcontext* context) {
  *context = g_primary[static_cast<size_t>(device)].load();
  if (*context != nullptr) return 0;
  const std::lock_guard lock(g_primary_mutex);
  *context = g_primary[static_cast<size_t>(device)].load();
  if (*context != nullptr) return 0;
  const int error = Library().legacy.cuDevicePrimaryCtxRetain(context, device);
  if (error == 0) g_primary[static_cast<size_t>(device)] = *context;
  return error;
}

int BindPrimary() {
  CUcontext context = nullptr;
  const int device = t_state.device;
  const unsigned generation = g_generation[static_cast<size_t>(device)];
  int error = PrimaryOf(device, &context);
  if (error != 0) return error;
  error = Library().legacy.cuCtxSetCurrent(context);
  if (error != 0) return error;
  t_state.bound = context;
  t_state.bound_device = device;
  t_state.generation = generation;
  return 0;
}

}  // namespace

cudaError_t Record(int error) {
  if (error != 0) t_state.last_error = static_cast<cudaError_t>(error);
  return static_cast<cudaError_t>(error);
}

cudaError_t LastError() { return t_state.last_error; }

cudaError_t TakeLastError() {
  const cudaError_t error = t_state.last_error;
  t_state.last_error = cudaSuccess;
  return error;
}

int RequireDriver() { return Library().status; }

int RequireContext() {
  if (const int error = RequireDriver(); error != 0) return error;
  CUcontext current = nullptr;
  if (const int error = Library().legacy.cuCtxGetCurrent(&current); error != 0) return error;
  const bool stale = current == t_state.bound &&
                     g_generation[static_cast<size_t>(t_state.bound_device)] != t_state.generation;
  if (current != nullptr && !stale) return 0;
  return BindPrimary();
}

int ThreadDevice() { return t_state.device; }

int SetThreadDevice(int device) {
  if (const int error = RequireDriver(); error != 0) return error;
  int count = 0;
  if (const int error = Library().legacy.cuDeviceGetCount(&count); error != 0) return error;
  if (device < 0 || device >= count || device >= kMaxDevices) return cudaErrorInvalidDevice;
  t_state.device = device;
  return BindPrimary();
}

int ResetDevice() {
  if (const int error = RequireDriver(); error != 0) return error;
  const auto device = static_cast<size_t>(t_state.device);
  const std::lock_guard lock(g_primary_mutex);
  g_primary[device] = nullptr;
  ++g_generation[device];
  return Library().legacy.cuDevicePrimaryCtxReset(t_state.device);
}

CUcontext CurrentHandle() {
  CUcontext current = nullptr;
  Library().legacy.cuCtxGetCurrent(&current);
  return current;
}

}  // namespace memprof::simcuda::runtime
