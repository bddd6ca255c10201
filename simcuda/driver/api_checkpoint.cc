// The process checkpoint, only of the calling process: when locked, it makes no more calls; after a
// checkpoint, it uses no memory of its devices. Other processes are not supported.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <mutex>
#include <thread>

#include "driver_api.h"
#include "simcuda/driver/api_call.h"
#include "simcuda/driver/context.h"
#include "simcuda/driver/device.h"

#if CUDA_VERSION >= 12080
namespace memprof::simcuda {
namespace {

std::mutex g_checkpoint_mutex;
CUprocessState g_process_state = CU_PROCESS_STATE_RUNNING;

CUresult CheckProcess(int pid) {
  if (pid == getpid()) return CUDA_SUCCESS;
  if (pid <= 0 || (kill(pid, 0) != 0 && errno == ESRCH)) return CUDA_ERROR_INVALID_VALUE;
  return CUDA_ERROR_NOT_SUPPORTED;
}

// Waits for all work; false on a timeout in ms, 0 = none.
bool WorkEnds(unsigned timeout_ms) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms);
  const auto busy = [](Context& context) { return !context.Idle(); };
  while (!AllHandles<Context>().Select(busy).empty()) {
    if (timeout_ms != 0 && std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  return true;
}

// Devices cannot be exchanged: both of a pair must be the same.
CUresult CheckPairs(const CUcheckpointRestoreArgs* args) {
  if (args == nullptr || args->gpuPairsCount == 0) return CUDA_SUCCESS;
  if (args->gpuPairs == nullptr || args->gpuPairsCount < Devices().size()) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  for (unsigned i = 0; i < args->gpuPairsCount; ++i) {
    const CUcheckpointGpuPair& pair = args->gpuPairs[i];
    const bool known = std::any_of(Devices().begin(), Devices().end(), [&](const Device* device) {
      CUuuid uuid;
      return api::cuDeviceGetUuid_v2(&uuid, device->id()) == CUDA_SUCCESS &&
             std::memcmp(&uuid, &pair.oldUuid, sizeof(uuid)) == 0;
    });
    if (!known) return CUDA_ERROR_INVALID_VALUE;
    if (std::memcmp(&pair.oldUuid, &pair.newUuid, sizeof(CUuuid)) != 0) {
      return CUDA_ERROR_NOT_SUPPORTED;
    }
  }
  return CUDA_SUCCESS;
}

bool PutBackAll() {
  const auto& devices = Devices();
  for (auto device = devices.begin(); device != devices.end(); ++device) {
    if ((*device)->memory().PutBack()) continue;
    std::for_each(devices.begin(), device, [](Device* done) { done->memory().SetAside(); });
    return false;
  }
  return true;
}

}  // namespace

namespace api {

CUresult cuCheckpointProcessGetRestoreThreadId(int pid, int* tid) {
  const CUresult known = CheckProcess(pid);
  if (known != CUDA_SUCCESS) return known;
  // The driver has no thread that restores.
  return tid == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_NOT_SUPPORTED;
}

CUresult cuCheckpointProcessGetState(int pid, CUprocessState* state) {
  const CUresult known = CheckProcess(pid);
  if (known != CUDA_SUCCESS) return known;
  if (state == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const std::lock_guard lock(g_checkpoint_mutex);
  *state = g_process_state;
  return CUDA_SUCCESS;
}

CUresult cuCheckpointProcessLock(int pid, CUcheckpointLockArgs* args) {
  const CUresult known = CheckProcess(pid);
  if (known != CUDA_SUCCESS) return known;
  const std::lock_guard lock(g_checkpoint_mutex);
  if (g_process_state != CU_PROCESS_STATE_RUNNING) return CUDA_ERROR_ILLEGAL_STATE;
  HoldCalls(true);
  if (!WorkEnds(args == nullptr ? 0 : args->timeoutMs)) {
    HoldCalls(false);
    return CUDA_ERROR_NOT_READY;
  }
  g_process_state = CU_PROCESS_STATE_LOCKED;
  return CUDA_SUCCESS;
}

CUresult cuCheckpointProcessCheckpoint(int pid, CUcheckpointCheckpointArgs* /*args*/) {
  const CUresult known = CheckProcess(pid);
  if (known != CUDA_SUCCESS) return known;
  const std::lock_guard lock(g_checkpoint_mutex);
  if (g_process_state != CU_PROCESS_STATE_LOCKED) return CUDA_ERROR_ILLEGAL_STATE;
  for (Device* device : Devices()) device->memory().SetAside();
  g_process_state = CU_PROCESS_STATE_CHECKPOINTED;
  return CUDA_SUCCESS;
}

CUresult cuCheckpointProcessRestore(int pid, CUcheckpointRestoreArgs* args) {
  const CUresult known = CheckProcess(pid);
  if (known != CUDA_SUCCESS) return known;
  const std::lock_guard lock(g_checkpoint_mutex);
  if (g_process_state != CU_PROCESS_STATE_CHECKPOINTED) return CUDA_ERROR_ILLEGAL_STATE;
  const CUresult pairs = CheckPairs(args);
  if (pairs != CUDA_SUCCESS) return pairs;
  if (!PutBackAll()) return CUDA_ERROR_OUT_OF_MEMORY;
  g_process_state = CU_PROCESS_STATE_LOCKED;
  return CUDA_SUCCESS;
}

CUresult cuCheckpointProcessUnlock(int pid, CUcheckpointUnlockArgs* /*args*/) {
  const CUresult known = CheckProcess(pid);
  if (known != CUDA_SUCCESS) return known;
  const std::lock_guard lock(g_checkpoint_mutex);
  if (g_process_state != CU_PROCESS_STATE_LOCKED) return CUDA_ERROR_ILLEGAL_STATE;
  g_process_state = CU_PROCESS_STATE_RUNNING;
  HoldCalls(false);
  return CUDA_SUCCESS;
}

}  // namespace api
}  // namespace memprof::simcuda
#endif
