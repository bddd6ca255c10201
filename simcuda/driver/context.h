// Contexts with their streams, and the current context of each thread.
#ifndef SIMCUDA_DRIVER_CONTEXT_H
#define SIMCUDA_DRIVER_CONTEXT_H

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "simcuda/driver/context_limits.h"
#include "simcuda/driver/cuda_headers.h"
#include "simcuda/driver/handles.h"
#include "simcuda/driver/kernel_code.h"
#include "simcuda/driver/stream.h"

namespace memprof::simcuda {

class Device;

class Context : public std::enable_shared_from_this<Context> {
 public:
  Context(Device* device, bool primary, unsigned flags);

  // Creates a context on the device and charges its overhead. Null if there is too little memory.
  static std::shared_ptr<Context> Create(Device* device, bool primary, unsigned flags);
  // A green context of the device's primary context: takes no further memory, and ends with it.
  static std::shared_ptr<Context> CreateGreen(Device* device);
  // Calls the listener, which may query the driver about the context: no lock may be held.
  void ReportCreated();
  // Waits for its work and frees everything in it. Only the first call has an effect.
  void Destroy();

  Device& device() const { return *device_; }
  uint32_t uid() const { return uid_; }
  bool primary() const { return primary_; }
  bool alive() const { return alive_.load(); }
  CUcontext handle() const { return reinterpret_cast<CUcontext>(const_cast<Context*>(this)); }

  std::atomic<unsigned> flags;
  std::atomic<CUfunc_cache> cache_config{CU_FUNC_CACHE_PREFER_NONE};

  // The stream of a handle in a call: null and the reserved values are default streams. Null if the
  // handle is not a live stream of this context.
  std::shared_ptr<Stream> ResolveStream(CUstream handle);
  std::shared_ptr<Stream> CreateStream(unsigned stream_flags, int priority);
  // Removes the stream from the context; its remaining work is completed.
  void RetireStream(const std::shared_ptr<Stream>& stream);

  // Appends work to the stream, after the work that the rules of the default streams put before it.
  void Enqueue(const std::shared_ptr<Stream>& stream, std::function<void()> work, Stream::Mode mode,
               std::vector<StreamPoint> after = {});
  // Waits for everything enqueued so far.
  void Synchronize();
  bool Idle();
  // Blocks the enqueueing of new work while the lock lives.
  std::unique_lock<std::mutex> HoldWork() { return std::unique_lock(order_mutex_); }
  // Whether no work is running or queued; call it while new work is blocked.
  bool IdleWhileHeld() const;
  // Whether the legacy default stream has nothing to wait for.
  bool BlockingIdle();

  // Enables or disables access to memory of another context; false if it was so already.
  bool EnablePeer(uint32_t uid);
  bool DisablePeer(uint32_t uid);

  ContextLimits& limits() { return limits_; }
  KernelCode& code() { return code_; }

 private:
  std::vector<std::shared_ptr<Stream>> LiveStreams();
  std::shared_ptr<Stream> ThreadStream();
  void ReportStream(uint32_t cbid, const std::shared_ptr<Stream>& stream);

  Device* const device_;
  const uint32_t uid_;
  const bool primary_;
  bool green_ = false;
  std::atomic<bool> destroying_{false};
  std::atomic<bool> alive_{true};

  std::mutex order_mutex_;  // held while work gets its place in a stream; guards streams_
  std::vector<std::shared_ptr<Stream>> streams_;  // includes the default ones
  std::shared_ptr<Stream> legacy_;
  uint32_t next_stream_ = 2;

  std::mutex peers_mutex_;
  std::set<uint32_t> peers_;

  ContextLimits limits_;
  KernelCode code_;
};

// Runs `body` while no stream of any context has work, or can get any. False if the running work
// does not end within seconds.
bool WhileIdle(const std::function<void()>& body);

// The calling thread's stack of current contexts.
std::shared_ptr<Context> CurrentContext();
void SetCurrentContext(std::shared_ptr<Context> context);  // replaces the top; null empties it
void PushContext(std::shared_ptr<Context> context);
std::shared_ptr<Context> PopContext();

// The current context in *context, or the error to return.
CUresult RequireContext(std::shared_ptr<Context>* context);
// The current context, and the stream of `handle` in it.
CUresult RequireStream(CUstream handle, std::shared_ptr<Context>* context,
                       std::shared_ptr<Stream>* stream);

}  // namespace memprof::simcuda

#endif  // SIMCUDA_DRIVER_CONTEXT_H
