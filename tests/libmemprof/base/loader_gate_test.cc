// The gate that prevents forks during unwinding.
#include "libmemprof/src/base/loader_gate.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

namespace memprof::recorder {
namespace {

TEST(LoaderGate, NoThreadIsInsideWhileItIsClosed) {
  constexpr int kThreads = 4;
  std::vector<std::unique_ptr<LoaderFlag>> flags;
  std::atomic<int> inside{0};
  std::atomic<bool> stop{false}, closed{false};
  std::atomic<int> violations{0};  // in the current round
  int all_violations = 0;
  std::atomic<long> entered{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    flags.push_back(std::make_unique<LoaderFlag>());
    RegisterLoaderFlag(flags.back().get());
    threads.emplace_back([&, flag = flags.back().get()] {
      while (!stop) {
        const std::uint64_t came = NowNs();
        const LoaderSection section(flag);
        ++entered;
        // A thread waits for at most 500 ms. That time may pass while the thread is not scheduled
        // and the gate closes again.
        if (NowNs() - came > 400'000'000) continue;
        ++inside;
        if (closed) ++violations;
        --inside;
      }
    });
  }
  for (int i = 0; i < 30; ++i) {
    const long before = entered;
    violations = 0;
    const std::uint64_t start = NowNs();
    CloseLoaderGate();
    // Closing gives up when a thread in the section is not scheduled for 50 ms.
    const bool gave_up = NowNs() - start > 40'000'000;
    closed = !gave_up;
    for (int look = 0; look < 100 && !gave_up; ++look) {
      std::this_thread::yield();  // threads arrive and wait
      if (inside != 0) ++violations;
    }
    closed = false;
    // Threads wait for at most 500 ms. On a busy machine this thread may be descheduled for longer.
    if (NowNs() - start < 400'000'000) all_violations += violations;
    OpenLoaderGate();
    while (entered == before) std::this_thread::yield();  // threads continue
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  ResetLoaderGate();
  EXPECT_EQ(all_violations, 0);
}

TEST(LoaderGate, AThreadThatStaysInsideDelaysAForkButDoesNotPreventIt) {
  LoaderFlag flag;
  RegisterLoaderFlag(&flag);
  {
    const LoaderSection stays(&flag);
    CloseLoaderGate();  // returns although the section is occupied
    OpenLoaderGate();
    EXPECT_EQ(flag.inside.load(), 1u);
  }
  EXPECT_EQ(flag.inside.load(), 0u);
  ResetLoaderGate();
}

TEST(LoaderGate, AChildForgetsItsParentsThreads) {
  auto flag = std::make_unique<LoaderFlag>();
  RegisterLoaderFlag(flag.get());
  flag->inside = 1;  // a thread that does not exist in the child
  CloseLoaderGate();
  ResetLoaderGate();
  LoaderFlag own;
  RegisterLoaderFlag(&own);
  const LoaderSection section(&own);  // the gate is open, and the other flag is not in the list
  EXPECT_EQ(own.next, nullptr);
  ResetLoaderGate();
}

}  // namespace
}  // namespace memprof::recorder
