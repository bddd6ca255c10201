// Work off the GUI thread; only the latest result counts.
#include "viewer/jobs/job_tracker.h"

#include <QElapsedTimer>
#include <QMetaObject>
#include <QThread>
#include <QThreadPool>
#include <algorithm>
#include <atomic>
#include <utility>

#include "viewer/jobs/heap.h"

namespace memprof::viewer {
namespace {

std::atomic<int> active_jobs{0};

QThreadPool& Pool() {
  static QThreadPool pool;
  static const bool configured = [] {
    // One slow job (opening debug information) must not keep the views from drawing.
    pool.setMaxThreadCount(std::max(4, QThread::idealThreadCount()));
    return true;
  }();
  static_cast<void>(configured);
  return pool;
}

}  // namespace

JobTracker::ActiveCount::ActiveCount() { active_jobs.fetch_add(1); }
JobTracker::ActiveCount::~ActiveCount() { active_jobs.fetch_sub(1); }

JobTracker::JobTracker(QObject* parent) : QObject(parent), owner_(std::make_shared<Owner>()) {
  owner_->tracker = this;
}

JobTracker::~JobTracker() {
  stop_.request_stop();
  const std::lock_guard lock(owner_->mutex);
  owner_->tracker = nullptr;
}

std::stop_token JobTracker::Begin() {
  stop_.request_stop();
  stop_ = std::stop_source();
  if (!running_) {
    running_ = true;
    emit RunningChanged(true);
  }
  return stop_.get_token();
}

void JobTracker::Cancel() {
  stop_.request_stop();
  if (!running_) return;
  running_ = false;
  emit RunningChanged(false);
}

void JobTracker::Finish(const std::stop_token& token, const std::function<void()>& deliver) {
  if (token.stop_requested()) return;
  running_ = false;
  deliver();
  // Delivering may have started the next one.
  if (!running_) emit RunningChanged(false);
}

void JobTracker::RunOnPool(std::function<void()> job) {
  Pool().start([job = std::move(job)]() mutable {
    // Only after a long job: a quick one leaves little memory, and its successor may be waiting.
    constexpr qint64 kLongMilliseconds = 200;
    QElapsedTimer watch;
    watch.start();
    job();
    job = nullptr;
    if (watch.elapsed() >= kLongMilliseconds) TrimHeap();
  });
}

void JobTracker::PostTo(const std::shared_ptr<Owner>& owner,
                        std::function<void(JobTracker*)> message) {
  const std::lock_guard lock(owner->mutex);
  JobTracker* tracker = owner->tracker;
  if (tracker == nullptr) return;
  // Destroying the tracker also removes messages that are on their way to it.
  QMetaObject::invokeMethod(
      tracker, [tracker, message = std::move(message)] { message(tracker); }, Qt::QueuedConnection);
}

std::function<void(double)> JobTracker::Reporter(std::function<void(double)> report) {
  return [owner = owner_, report = std::move(report)](double value) {
    PostTo(owner, [report, value](JobTracker*) { report(value); });
  };
}

int JobTracker::ActiveJobs() { return active_jobs.load(); }

void JobTracker::WaitForAll() { Pool().waitForDone(); }

}  // namespace memprof::viewer
