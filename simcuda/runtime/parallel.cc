// simcuda_parallel_for: the workers of host kernels.
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>

#include "simcuda/common/config.h"
#include "simcuda/common/threads.h"
#include "simcuda/simcuda.h"

namespace memprof::simcuda::runtime {
namespace {

using Function = void (*)(void*, size_t, size_t);

// One call: its caller and the workers take chunks until none is left.
struct Job {
  size_t count = 0;
  size_t grain = 1;
  Function function = nullptr;
  void* context = nullptr;
  std::atomic<size_t> next{0};
  std::atomic<size_t> left{0};  // items not yet done

  bool RunChunk() {
    const size_t begin = next.fetch_add(grain);
    if (begin >= count) return false;
    const size_t end = std::min(begin + grain, count);
    function(context, begin, end);
    left.fetch_sub(end - begin);
    return true;
  }
};

class Workers {
 public:
  static Workers& Get() {
    static auto* workers = new Workers;
    return *workers;
  }

  void Run(const std::shared_ptr<Job>& job) {
    {
      const std::lock_guard lock(mutex_);
      StartThreads();
      jobs_.push_back(job);
      changed_.notify_all();
    }
    while (job->RunChunk()) {
    }
    std::unique_lock lock(mutex_);
    std::erase(jobs_, job);
    done_.wait(lock, [&] { return job->left.load() == 0; });
  }

 private:
  void StartThreads() {
    const int wanted = GlobalConfig(false).threads != 0 ? GlobalConfig(false).threads : CpuCount();
    for (; threads_ < wanted - 1; ++threads_) {
      if (!StartDetachedThread("simcuda kernel", [this] { Loop(); })) return;
    }
  }

  void Loop() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [&] { return !jobs_.empty(); });
      const std::shared_ptr<Job> job = jobs_.front();
      lock.unlock();
      while (job->RunChunk()) {
      }
      lock.lock();
      std::erase(jobs_, job);
      if (job->left.load() == 0) done_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::condition_variable done_;
  std::deque<std::shared_ptr<Job>> jobs_;
  int threads_ = 0;
};

}  // namespace
}  // namespace memprof::simcuda::runtime

extern "C" void simcuda_parallel_for(size_t count, size_t grain,
                                     void (*function)(void* context, size_t begin, size_t end),
                                     void* context) {
  if (count == 0 || function == nullptr) return;
  grain = std::max<size_t>(grain, 1);
  if (count <= grain) {
    function(context, 0, count);
    return;
  }
  auto job = std::make_shared<memprof::simcuda::runtime::Job>();
  job->count = count;
  job->grain = grain;
  job->function = function;
  job->context = context;
  job->left = count;
  memprof::simcuda::runtime::Workers::Get().Run(job);
}
