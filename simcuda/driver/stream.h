// Streams: queues of work that run in order, each on a worker thread of its own.
#ifndef SIMCUDA_DRIVER_STREAM_H
#define SIMCUDA_DRIVER_STREAM_H

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "simcuda/driver/cuda_headers.h"

namespace memprof::simcuda {

class Context;
class Stream;
struct Capture;

// A value of a stream's attribute, as large as the driver's union of them.
using StreamAttribute = std::array<char, 64>;

// A place in a stream: the work enqueued there up to and with number `sequence`.
struct StreamPoint {
  std::shared_ptr<Stream> stream;
  uint64_t sequence = 0;
  bool Reached() const;
  void Wait() const;
};

class Stream : public std::enable_shared_from_this<Stream> {
 public:
  enum class Kind { kLegacy, kPerThread, kCreated };
  Stream(Kind kind, uint32_t id, Context* context, unsigned flags, int priority)
      : kind_(kind), id_(id), context_(context), flags_(flags), priority_(priority) {}

  Kind kind() const { return kind_; }
  uint32_t id() const { return id_; }
  unsigned flags() const { return flags_; }
  int priority() const { return priority_; }
  // Valid while the stream's handle is live.
  Context* context() const { return context_; }
  // Whether it waits for the legacy default stream, and that for it.
  bool blocking() const { return (flags_ & CU_STREAM_NON_BLOCKING) == 0; }

  // Its handle was destroyed; it lives on until its work is done.
  bool retired() const { return retired_.load(); }
  void set_retired() { retired_ = true; }

  // The capture that takes the stream's work instead of running it; null: none.
  std::shared_ptr<Capture> capture();
  void set_capture(std::shared_ptr<Capture> capture);

  // By CUlaunchAttributeID; zeros until it is set.
  void SetAttribute(int id, const StreamAttribute& value);
  StreamAttribute GetAttribute(int id);
  void CopyAttributes(Stream& from);

  // The last work enqueued so far.
  StreamPoint Last();
  bool Idle();
  bool Reached(uint64_t sequence);
  void WaitFor(uint64_t sequence);

  enum class Mode {
    kAsync,  // on the worker
    kQuick,  // on the calling thread if no work precedes it, else on the worker
    kWait,   // like kQuick, and returns after it ran
  };
  // Appends work that runs after everything before it in the stream and after `after`. Use
  // Context::Enqueue, which adds what the default streams require. `order` is held on entry and
  // released as soon as the work has its place.
  void Enqueue(std::function<void()> work, std::vector<StreamPoint> after, Mode mode,
               std::unique_lock<std::mutex> order);

 private:
  struct Work {
    std::function<void()> run;
    std::vector<StreamPoint> after;
  };
  void StartWorker(std::unique_lock<std::mutex>& lock);
  void RunWorker(std::chrono::milliseconds idle);
  void RunHere(const std::function<void()>& work, const std::vector<StreamPoint>& after,
               uint64_t sequence, std::unique_lock<std::mutex>& lock);

  const Kind kind_;
  const uint32_t id_;
  Context* const context_;
  const unsigned flags_;
  const int priority_;
  std::atomic<bool> retired_{false};

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Work> queue_;
  uint64_t enqueued_ = 0;
  uint64_t completed_ = 0;
  bool worker_running_ = false;
  std::atomic<bool> capturing_{false};
  std::shared_ptr<Capture> capture_;
  std::map<int, StreamAttribute> attributes_;
};

// True on a stream's worker, where calls that wait for streams are not permitted.
bool OnStreamWorker();

// At the end of the process: lets running work finish and starts no more.
void StopWorkers();

}  // namespace memprof::simcuda

#endif  // SIMCUDA_DRIVER_STREAM_H
