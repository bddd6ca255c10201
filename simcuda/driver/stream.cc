// The worker threads behind streams.
#include "simcuda/driver/stream.h"

#include <atomic>
#include <chrono>
#include <thread>

#include "simcuda/common/config.h"
#include "simcuda/common/threads.h"

namespace memprof::simcuda {
namespace {

thread_local bool t_on_worker = false;

// The work that runs on any worker, and whether more may start.
struct Running {
  std::mutex mutex;
  std::condition_variable changed;
  int count = 0;
  bool stopping = false;
};

Running& AllRunning() {
  static auto* running = new Running;
  return *running;
}

// Counts one piece of running work; at the end of the process, blocks for ever instead of starting.
class RunningWork {
 public:
  RunningWork() {
    Running& running = AllRunning();
    std::unique_lock lock(running.mutex);
    running.changed.wait(lock, [&] { return !running.stopping; });
    ++running.count;
  }
  ~RunningWork() {
    Running& running = AllRunning();
    const std::lock_guard lock(running.mutex);
    if (--running.count == 0) running.changed.notify_all();
  }
  RunningWork(const RunningWork&) = delete;
  RunningWork& operator=(const RunningWork&) = delete;
};

// An idle worker ends after this time; the next work starts another.
constexpr std::chrono::milliseconds kIdle{2000};

}  // namespace

bool OnStreamWorker() { return t_on_worker; }

void StopWorkers() {
  Running& running = AllRunning();
  std::unique_lock lock(running.mutex);
  running.stopping = true;
  // Work that waits for the end of the process must not block it.
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(2);
  running.changed.wait_until(lock, deadline, [&] { return running.count == 0; });
}

bool StreamPoint::Reached() const { return stream == nullptr || stream->Reached(sequence); }

void StreamPoint::Wait() const {
  if (stream != nullptr) stream->WaitFor(sequence);
}

std::shared_ptr<Capture> Stream::capture() {
  if (!capturing_.load()) return nullptr;
  const std::lock_guard lock(mutex_);
  return capture_;
}

void Stream::set_capture(std::shared_ptr<Capture> capture) {
  const std::lock_guard lock(mutex_);
  capturing_ = capture != nullptr;
  capture_ = std::move(capture);
}

void Stream::SetAttribute(int id, const StreamAttribute& value) {
  const std::lock_guard lock(mutex_);
  attributes_[id] = value;
}

StreamAttribute Stream::GetAttribute(int id) {
  const std::lock_guard lock(mutex_);
  const auto found = attributes_.find(id);
  return found == attributes_.end() ? StreamAttribute{} : found->second;
}

void Stream::CopyAttributes(Stream& from) {
  std::map<int, StreamAttribute> attributes;
  {
    const std::lock_guard lock(from.mutex_);
    attributes = from.attributes_;
  }
  const std::lock_guard lock(mutex_);
  attributes_ = std::move(attributes);
}

StreamPoint Stream::Last() {
  const std::lock_guard lock(mutex_);
  return {shared_from_this(), enqueued_};
}

bool Stream::Idle() {
  const std::lock_guard lock(mutex_);
  return completed_ == enqueued_;
}

bool Stream::Reached(uint64_t sequence) {
  const std::lock_guard lock(mutex_);
  return completed_ >= sequence;
}

void Stream::WaitFor(uint64_t sequence) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return completed_ >= sequence; });
}

void Stream::RunHere(const std::function<void()>& work, const std::vector<StreamPoint>& after,
                     uint64_t sequence, std::unique_lock<std::mutex>& lock) {
  lock.unlock();
  for (const StreamPoint& point : after) point.Wait();
  const bool on_worker = t_on_worker;
  t_on_worker = true;
  work();
  t_on_worker = on_worker;
  lock.lock();
  completed_ = sequence;
  changed_.notify_all();
  // Work that was enqueued meanwhile is queued behind it.
  if (!queue_.empty() && !worker_running_) StartWorker(lock);
}

void Stream::Enqueue(std::function<void()> work, std::vector<StreamPoint> after, Mode mode,
                     std::unique_lock<std::mutex> order) {
  std::erase_if(after, [](const StreamPoint& point) { return point.Reached(); });
  const bool synchronous = !GlobalConfig(false).async;
  const bool wait = (mode == Mode::kWait || synchronous) && !t_on_worker;
  std::unique_lock lock(mutex_);
  const uint64_t sequence = ++enqueued_;
  const bool first = completed_ + 1 == sequence;
  const bool here = synchronous || (mode != Mode::kAsync && after.empty());
  if (!(first && here)) queue_.push_back({std::move(work), std::move(after)});
  if (order.owns_lock()) order.unlock();
  if (first && here) {
    RunHere(work, after, sequence, lock);
    return;
  }
  changed_.notify_all();
  if (!worker_running_) StartWorker(lock);
  if (wait) changed_.wait(lock, [&] { return completed_ >= sequence; });
}

void Stream::StartWorker(std::unique_lock<std::mutex>& lock) {
  worker_running_ = true;
  if (StartDetachedThread("simcuda stream",
                          [self = shared_from_this()] { self->RunWorker(kIdle); })) {
    return;
  }
  lock.unlock();
  const bool on_worker = t_on_worker;
  RunWorker(std::chrono::milliseconds(0));
  t_on_worker = on_worker;
  lock.lock();
}

void Stream::RunWorker(std::chrono::milliseconds idle) {
  t_on_worker = true;
  std::unique_lock lock(mutex_);
  // The work that was popped is the one after completed_. While a calling thread runs it, the queue
  // is shorter than the number of missing pieces.
  const auto ready = [&] { return !queue_.empty() && completed_ + queue_.size() == enqueued_; };
  while (true) {
    if (!changed_.wait_for(lock, idle, ready)) {
      if (!queue_.empty()) continue;
      worker_running_ = false;
      return;
    }
    Work work = std::move(queue_.front());
    queue_.pop_front();
    const uint64_t sequence = completed_ + 1;
    lock.unlock();
    for (const StreamPoint& point : work.after) point.Wait();
    {
      const RunningWork running;
      work.run();
    }
    // What the work owns is destroyed before the work counts as done.
    work = {};
    lock.lock();
    completed_ = sequence;
    changed_.notify_all();
  }
}

}  // namespace memprof::simcuda
