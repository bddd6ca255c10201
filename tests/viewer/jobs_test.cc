// Jobs: the latest one wins, cancelled jobs deliver nothing, and no job calls a deleted object.
#include <gtest/gtest.h>

#include <QCoreApplication>
#include <QSignalSpy>
#include <QTest>
#include <atomic>
#include <latch>
#include <memory>

#include "viewer/jobs/job_tracker.h"

namespace memprof::viewer {
namespace {

TEST(JobTracker, DeliversOnItsThread) {
  JobTracker tracker;
  QThread* worked = nullptr;
  QThread* delivered = nullptr;
  tracker.Start([](std::stop_token) { return QThread::currentThread(); },
                [&](QThread* thread) {
                  worked = thread;
                  delivered = QThread::currentThread();
                });
  EXPECT_TRUE(tracker.running());
  ASSERT_TRUE(QTest::qWaitFor([&] { return delivered != nullptr; }, 30000));
  EXPECT_EQ(delivered, QThread::currentThread());
  EXPECT_NE(worked, delivered);
  EXPECT_FALSE(tracker.running());
}

TEST(JobTracker, OnlyTheLatestCounts) {
  JobTracker tracker;
  std::latch started(1), release(1);
  std::atomic<bool> first_stopped = false;
  std::vector<int> results;
  tracker.Start(
      [&](std::stop_token stop) {
        started.count_down();
        release.wait();
        first_stopped = stop.stop_requested();
        return 1;
      },
      [&](int result) { results.push_back(result); });
  started.wait();
  tracker.Start([](std::stop_token) { return 2; }, [&](int result) { results.push_back(result); });
  release.count_down();
  ASSERT_TRUE(QTest::qWaitFor([] { return JobTracker::ActiveJobs() == 0; }, 30000));
  EXPECT_EQ(results, std::vector<int>{2});
  EXPECT_TRUE(first_stopped) << "the superseded job is asked to stop";
}

TEST(JobTracker, CancelledJobsAreSilent) {
  JobTracker tracker;
  std::latch started(1), release(1);
  bool called = false;
  tracker.Start(
      [&](std::stop_token) {
        started.count_down();
        release.wait();
        return 1;
      },
      [&](int) { called = true; });
  started.wait();
  QSignalSpy spy(&tracker, &JobTracker::RunningChanged);
  tracker.Cancel();
  EXPECT_FALSE(tracker.running());
  EXPECT_EQ(spy.count(), 1);
  release.count_down();
  ASSERT_TRUE(QTest::qWaitFor([] { return JobTracker::ActiveJobs() == 0; }, 30000));
  EXPECT_FALSE(called);
}

TEST(JobTracker, MayDieBeforeItsJobs) {
  auto tracker = std::make_unique<JobTracker>();
  auto started = std::make_shared<std::latch>(1);
  auto release = std::make_shared<std::latch>(1);
  auto called = std::make_shared<std::atomic<bool>>(false);
  const std::function<void(double)> report =
      tracker->Reporter([called](double) { *called = true; });
  tracker->Start(
      [started, release](std::stop_token) {
        started->count_down();
        release->wait();
        return 1;
      },
      [called](int) { *called = true; });
  started->wait();
  tracker.reset();
  report(0.5);
  release->count_down();
  ASSERT_TRUE(QTest::qWaitFor([] { return JobTracker::ActiveJobs() == 0; }, 30000));
  QCoreApplication::processEvents();
  EXPECT_FALSE(*called);
}

TEST(JobTracker, MayStartTheNextFromTheResult) {
  JobTracker tracker;
  int result = 0;
  tracker.Start([](std::stop_token) { return 20; },
                [&](int first) {
                  tracker.Start([first](std::stop_token) { return first + 1; },
                                [&](int second) { result = second; });
                });
  ASSERT_TRUE(QTest::qWaitFor([&] { return result == 21; }, 30000));
  EXPECT_FALSE(tracker.running());
}

TEST(JobTracker, ReportsProgressOnItsThread) {
  JobTracker tracker;
  std::vector<double> shares;
  const auto report = tracker.Reporter([&](double share) { shares.push_back(share); });
  bool done = false;
  tracker.Start(
      [report](std::stop_token) {
        report(0.25);
        report(0.5);
        return 0;
      },
      [&](int) { done = true; });
  ASSERT_TRUE(QTest::qWaitFor([&] { return done; }, 30000));
  EXPECT_EQ(shares, (std::vector<double>{0.25, 0.5}));
}

}  // namespace
}  // namespace memprof::viewer
