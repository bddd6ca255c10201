// The ring of a dead process: every event is recovered exactly once at every phase of a commit, and
// damaged rings are refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <thread>

#include "analysis/log/ring_recovery.h"
#include "libmemprof/include/memprof/memprof.h"
#include "libmemprof/src/lifecycle/lifecycle.h"
#include "libmemprof/src/lifecycle/start.h"
#include "libmemprof/src/recording/record_event.h"
#include "tests/libmemprof/log/log_reader.h"
#include "tests/support/read_file.h"

namespace memprof::recorder {
namespace {

namespace fs = std::filesystem;

void Write(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

// Records in this process with the writer thread stopped, so that a test decides what is drained. A
// copy of the ring under another name stands for the ring of a dead process, because no process
// maps it.
class RecoveryTest : public ::testing::Test {
 protected:
  RecoveryTest() {
    std::string pattern = ::testing::TempDir() + "memprof-recovery-XXXXXX";
    directory_ = mkdtemp(pattern.data());
    log_path_ = directory_ + "/t.mprof";
    copy_ = directory_ + "/dead.ring";
    setenv("MEMPROF_OUTPUT", log_path_.c_str(), 1);
    setenv("MEMPROF_SHM", directory_.c_str(), 1);
    setenv("MEMPROF_RING_EVENTS", "30000", 1);
    EXPECT_EQ(memprof_start(), MEMPROF_OK);
    TheRecorder()->writer()->Stop();
  }
  ~RecoveryTest() override {
    ResetForTest();
    unsetenv("MEMPROF_RING_EVENTS");
    fs::remove_all(directory_);
  }

  void Steps(std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) ASSERT_EQ(memprof_step(++last_step_), MEMPROF_OK);
  }
  std::string RingBytes() { return testing::ReadFile(TheRecorder()->ring()->path()); }
  absl::StatusOr<analysis::RecoveredRing> Recover(std::uint64_t log_bytes) {
    const log::Header header = testing::ReadLog(log_path_).header;
    return analysis::RecoverRing(copy_, header.pid(), header.start_time_ns(), log_bytes);
  }
  // The steps in the log up to the position where the ring continues, and the steps of the ring.
  std::vector<std::uint64_t> AllSteps(const analysis::RecoveredRing& ring) {
    testing::Log log = testing::ReadLog(log_path_, ring.committed_log_bytes);
    EXPECT_EQ(log.error, "");
    std::vector<std::uint64_t> steps;
    for (const testing::Event& event : log.events) steps.push_back(event.aux0);
    for (const log::Events& columns : ring.events)
      for (const testing::Event& event : testing::ExpandEvents(columns))
        steps.push_back(event.aux0);
    return steps;
  }
  void ExpectOneToLast(const std::vector<std::uint64_t>& steps) {
    ASSERT_EQ(steps.size(), last_step_);
    for (std::size_t i = 0; i < steps.size(); ++i) ASSERT_EQ(steps[i], i + 1);
  }

  std::string directory_, log_path_, copy_;
  std::uint64_t last_step_ = 0;
};

// Sets the counts of every slab as the writer does in phase A.
std::string WithPending(std::string bytes) {
  auto* header = reinterpret_cast<ring::RingHeader*>(bytes.data());
  for (std::uint32_t i = 0; i < header->slabs_ready; ++i) {
    auto* slab = reinterpret_cast<ring::SlabHeader*>(bytes.data() + ring::kRingHeaderBytes +
                                                     std::size_t{i} * ring::kSlabBytes);
    if (slab->state.load() != ring::SlabState::kFree) slab->pending = slab->published.load();
  }
  return bytes;
}

std::string WithCommitAt(std::string bytes, std::uint64_t size) {
  reinterpret_cast<ring::RingHeader*>(bytes.data())->commit_at = size;
  return bytes;
}

TEST_F(RecoveryTest, EveryPhaseOfACommitGivesEachEventOnce) {
  Steps(3000);
  ASSERT_TRUE(TheRecorder()->writer()->DrainOnce());
  Steps(2500);
  const std::uint64_t size_before = fs::file_size(log_path_);
  const std::string ring_before = RingBytes();
  ASSERT_TRUE(TheRecorder()->writer()->DrainOnce());
  const std::uint64_t size_after = fs::file_size(log_path_);
  ASSERT_GT(size_after, size_before);
  const std::string ring_after = RingBytes();

  struct Moment {
    const char* name;
    std::string ring;
    std::uint64_t log_bytes;
  };
  const std::string pending = WithPending(ring_before);
  const Moment moments[] = {
      {"before", ring_before, size_before},
      {"in phase A", WithCommitAt(pending, ring::kNotCommitted), size_before},
      {"in phase B, nothing written", WithCommitAt(pending, size_after), size_before},
      {"in phase B, half written", WithCommitAt(pending, size_after),
       (size_before + size_after) / 2},
      {"in phase B, one byte missing", WithCommitAt(pending, size_after), size_after - 1},
      {"in phase B, all written", WithCommitAt(pending, size_after), size_after},
      {"after", ring_after, size_after},
  };
  for (const Moment& moment : moments) {
    SCOPED_TRACE(moment.name);
    Write(copy_, moment.ring);
    const auto ring = Recover(moment.log_bytes);
    ASSERT_TRUE(ring.ok()) << ring.status();
    EXPECT_LE(ring->committed_log_bytes, moment.log_bytes);
    ExpectOneToLast(AllSteps(*ring));
  }
}

TEST_F(RecoveryTest, DefinitionsAndCountersComeWithTheEvents) {
  memprof_range_push("only in the ring");
  TheRecorder()->Count(log::Anomaly::kForkedChildren);
  Write(copy_, RingBytes());
  const auto ring = Recover(fs::file_size(log_path_));
  ASSERT_TRUE(ring.ok()) << ring.status();
  testing::Log log = testing::ReadLog(log_path_, ring->committed_log_bytes);
  testing::AddDefinitions(ring->definitions, &log);
  ASSERT_EQ(ring->events.size(), 1u);
  EXPECT_EQ(log.Text(testing::ExpandEvents(ring->events[0])[0].label), "only in the ring");
  ASSERT_EQ(ring->counters.counter_size(), 1);
  EXPECT_EQ(ring->counters.counter(0).name(), "forked_children");
  EXPECT_EQ(ring->counters.self().events(), 1u);
  EXPECT_EQ(ring->counters.self().events_written(), 0u);
}

TEST_F(RecoveryTest, ManyEventsComeInMessagesOfBoundedSize) {
  Steps(20000);
  Write(copy_, RingBytes());
  const auto ring = Recover(fs::file_size(log_path_));
  ASSERT_TRUE(ring.ok()) << ring.status();
  EXPECT_EQ(ring->events.size(), 5u);
  ExpectOneToLast(AllSteps(*ring));
}

TEST_F(RecoveryTest, RefusesWhatIsNotItsRing) {
  Steps(1);
  const log::Header header = testing::ReadLog(log_path_).header;
  const std::uint64_t size = fs::file_size(log_path_);
  const auto code = [&](const std::string& path, std::uint32_t pid, std::uint64_t start) {
    return analysis::RecoverRing(path, pid, start, size).status().code();
  };
  EXPECT_EQ(code(directory_ + "/missing", header.pid(), header.start_time_ns()),
            absl::StatusCode::kNotFound);
  EXPECT_EQ(code(directory_, header.pid(), header.start_time_ns()), absl::StatusCode::kDataLoss);
  EXPECT_EQ(code(log_path_, header.pid(), header.start_time_ns()), absl::StatusCode::kDataLoss);
  Write(copy_, RingBytes());
  EXPECT_EQ(code(copy_, header.pid() + 1, header.start_time_ns()), absl::StatusCode::kDataLoss);
  EXPECT_EQ(code(copy_, header.pid(), header.start_time_ns() + 1), absl::StatusCode::kDataLoss);
  EXPECT_EQ(code(copy_, header.pid(), header.start_time_ns()), absl::StatusCode::kOk);
  fs::create_symlink(copy_, directory_ + "/link");
  EXPECT_EQ(code(directory_ + "/link", header.pid(), header.start_time_ns()),
            absl::StatusCode::kDataLoss);
  // This process maps the real ring.
  EXPECT_EQ(code(TheRecorder()->ring()->path(), header.pid(), header.start_time_ns()),
            absl::StatusCode::kFailedPrecondition);
}

TEST_F(RecoveryTest, ALogShorterThanItWasIsNotMixedWithTheRing) {
  Steps(100);
  ASSERT_TRUE(TheRecorder()->writer()->DrainOnce());
  Write(copy_, RingBytes());
  EXPECT_EQ(Recover(fs::file_size(log_path_) - 1).status().code(), absl::StatusCode::kDataLoss);
}

// Any damage results in a status or in events; never in a crash or unbounded memory. The owner of
// the file may change it at any time.
TEST_F(RecoveryTest, ARingThatIsCutShortWhileItIsReadIsRefusedOrRead) {
  Steps(20000);
  const std::string whole = RingBytes();
  Write(copy_, whole);
  const std::uint64_t log_bytes = fs::file_size(log_path_);
  std::atomic<bool> stop{false};
  std::thread owner([&] {
    while (!stop) {
      EXPECT_EQ(truncate(copy_.c_str(), ring::kRingHeaderBytes), 0);
      Write(copy_, whole);
    }
  });
  for (int i = 0; i < 100; ++i) {
    const auto ring = Recover(log_bytes);
    EXPECT_TRUE(ring.ok() || ring.status().code() == absl::StatusCode::kDataLoss) << ring.status();
  }
  stop = true;
  owner.join();
  const auto ring = Recover(log_bytes);
  ASSERT_TRUE(ring.ok()) << ring.status();
  ExpectOneToLast(AllSteps(*ring));
}

class DamagedRing : public RecoveryTest, public ::testing::WithParamInterface<int> {};

TEST_P(DamagedRing, IsReadWithoutHarm) {
  Steps(1500);
  memprof_range_push("name");
  const std::string sound = RingBytes().substr(0, ring::kRingHeaderBytes + 4 * ring::kSlabBytes);
  const std::uint64_t size = fs::file_size(log_path_);
  std::mt19937 random(static_cast<unsigned>(GetParam()));
  int refused = 0;
  for (int round = 0; round < 60; ++round) {
    std::string bytes = sound;
    for (std::size_t flips = 0; flips <= random() % 8; ++flips) {
      // Damage matters most in headers and in the first records of slabs.
      const std::size_t slab = ring::kRingHeaderBytes + random() % 4 * ring::kSlabBytes;
      const std::size_t at = random() % 3 == 0 ? random() % 256 : slab + random() % 400;
      bytes[at] = static_cast<char>(random() % 4 == 0 ? 0xff : random());
    }
    if (random() % 4 == 0) bytes.resize(random() % bytes.size());
    Write(copy_, bytes);
    const auto ring = Recover(size);
    if (!ring.ok()) {
      ++refused;
      EXPECT_NE(ring.status().message(), "");
      continue;
    }
    for (const log::Events& columns : ring->events) EXPECT_LE(columns.count(), 4096u);
  }
  EXPECT_GT(refused, 0);
}

INSTANTIATE_TEST_SUITE_P(Recovery, DamagedRing, ::testing::Range(0, 6));

}  // namespace
}  // namespace memprof::recorder
