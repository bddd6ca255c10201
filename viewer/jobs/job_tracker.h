// Work off the GUI thread; only the latest job counts.
//
//     tracker.Start([=](std::stop_token stop) { return Expensive(stop); },
//                   [this](Result result) { Show(std::move(result)); });
//
// A second Start requests the first job to stop, and drops its result. The result function runs on
// the tracker's thread, and never after the tracker was destroyed; jobs may outlive their tracker.
#pragma once

#include <QObject>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <utility>

namespace memprof::viewer {

class JobTracker : public QObject {
  Q_OBJECT

 public:
  explicit JobTracker(QObject* parent = nullptr);
  ~JobTracker() override;

  // `work(std::stop_token)` runs on a pool thread and owns its captures; `done(result)` runs on
  // this object's thread, unless a newer job was started or the job was cancelled.
  template <typename Work, typename Done>
  void Start(Work work, Done done);

  // Requests the running job to stop and drops its result.
  void Cancel();

  // Returns a function that jobs may call from any thread, also after the tracker is gone: `report`
  // then runs on this object's thread with the latest value.
  std::function<void(double)> Reporter(std::function<void(double)> report);

  // Whether a result is still expected.
  bool running() const { return running_; }

  // The number of jobs, of all trackers, without a result yet: 0 = every view shows its data.
  static int ActiveJobs();
  // Waits until no job runs, without stopping any. For the end of the program.
  static void WaitForAll();

 signals:
  void RunningChanged(bool running);

 private:
  // The tracker as its jobs refer to it: null once it is gone.
  struct Owner {
    std::mutex mutex;
    JobTracker* tracker = nullptr;
  };
  // Counts one job in ActiveJobs() for as long as it lives.
  struct ActiveCount {
    ActiveCount();
    ~ActiveCount();
    ActiveCount(const ActiveCount&) = delete;
    ActiveCount& operator=(const ActiveCount&) = delete;
  };

  std::stop_token Begin();
  void Finish(const std::stop_token& token, const std::function<void()>& deliver);
  static void RunOnPool(std::function<void()> job);
  static void PostTo(const std::shared_ptr<Owner>& owner, std::function<void(JobTracker*)> message);

  std::shared_ptr<Owner> owner_;
  std::stop_source stop_{std::nostopstate};
  bool running_ = false;
};

template <typename Work, typename Done>
void JobTracker::Start(Work work, Done done) {
  const std::stop_token token = Begin();
  auto count = std::make_shared<ActiveCount>();
  RunOnPool([owner = owner_, token, count = std::move(count), work = std::move(work),
             done = std::move(done)]() mutable {
    if (token.stop_requested()) return;
    using Result = decltype(work(token));
    // std::function requires copies, but results may be movable only: shares them.
    auto result = std::make_shared<std::optional<Result>>(work(token));
    PostTo(owner, [token, result, count = std::move(count),
                   done = std::move(done)](JobTracker* tracker) mutable {
      tracker->Finish(token, [&] { done(std::move(**result)); });
    });
  });
}

}  // namespace memprof::viewer
