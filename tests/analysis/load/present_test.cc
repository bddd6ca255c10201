// Programs to which memprof was attached: what was there before is listed while they run on.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>

#include "analysis/symbols/symbols.h"
#include "analysis/testing/log_builder.h"
#include "tests/support/load_log.h"

namespace memprof::analysis {
namespace {

using testing::LogBuilder;
using Blocks = std::map<std::uint64_t, std::uint64_t>;  // bytes by address

constexpr std::uint64_t kBegin = 1'000'000;
constexpr std::uint32_t kOwnThread = 9;

void BeAttached(LogBuilder* log) {
  log->header().set_start_time_ns(kBegin);
  log->SetTime(kBegin + 10);
  log->SourceState("attach", 1, "ptrace");
}

void List(LogBuilder* log, Layer layer, std::uint64_t address, std::uint64_t bytes) {
  log->Event(Op::kPresent, layer, address, bytes, 0, {.thread = kOwnThread});
}

// Live blocks after each event of the session.
class LiveBlocks {
 public:
  explicit LiveBlocks(const Session& session) : session_(session) {}
  Blocks After(std::size_t event) const {
    Blocks live;
    for (const AllocationRecord& record : session_.records())
      if (record.layer == Layer::kBlock && record.birth.value <= event &&
          (!record.death.valid() || record.death.value > event))
        live[record.address] += record.bytes;
    return live;
  }

 private:
  const Session& session_;
};

// A random program: blocks of some addresses, allocated and freed. After `attach` operations it is
// recorded; after `list` more, its live blocks are listed, which takes the program by surprise.
class Program {
 public:
  explicit Program(unsigned seed) : random_(seed) {}

  void Run(int operations) {
    for (int i = 0; i < operations; ++i) Change();
  }
  void Record(LogBuilder* log) {
    log_ = log;
    states_.push_back(live_);
  }
  void Remember() { listed_ = live_; }
  void WriteList() {
    for (const auto& [address, bytes] : listed_) List(log_, Layer::kBlock, address, bytes);
  }
  const std::vector<Blocks>& states() const { return states_; }

 private:
  void Change() {
    const std::uint64_t address = 0x1000 * (1 + random_() % 12);
    const auto at = live_.find(address);
    EventFields fields;
    fields.thread = 1 + random_() % 3;
    if (at != live_.end()) {
      if (log_ != nullptr) log_->Event(Op::kFree, Layer::kBlock, address, at->second, 0, fields);
      live_.erase(at);
    } else {
      live_[address] = 512 * (1 + random_() % 8);
      if (log_ != nullptr) log_->Alloc(Layer::kBlock, address, live_[address], fields);
    }
    if (log_ != nullptr) states_.push_back(live_);
  }

  using EventFields = testing::EventFields;
  std::mt19937 random_;
  LogBuilder* log_ = nullptr;
  Blocks live_, listed_;
  std::vector<Blocks> states_;  // at the beginning of the log and after each of its events
};

// The list is as of one moment between the beginning and its place in the log.
TEST(PresentTest, AtEveryEventTheLiveBlocksAreThoseOfTheProgram) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    LogBuilder log;
    BeAttached(&log);
    Program program(seed);
    program.Run(30);
    program.Record(&log);
    program.Run(static_cast<int>(seed % 17));
    program.Remember();
    program.Run(static_cast<int>(seed % 13));
    program.WriteList();
    program.Run(60);
    const auto session = testing::LoadLog(log);
    ASSERT_NE(session, nullptr);
    std::size_t before = 0;
    while (before < session->events().size() && session->events().time(before) <= kBegin) ++before;
    const LiveBlocks live(*session);
    const std::vector<Blocks>& truth = program.states();
    ASSERT_EQ(session->events().size(), before + truth.size() - 1);
    if (before > 0) {
      EXPECT_EQ(live.After(before - 1), truth[0]);
    }
    for (std::size_t i = 1; i < truth.size(); ++i)
      ASSERT_EQ(live.After(before + i - 1), truth[i]) << "after event " << i;
    for (const AnomalyCount& anomaly : session->anomalies()) EXPECT_EQ(anomaly.count, 0u);
  }
}

TEST(PresentTest, OldSegmentsAreMetAgainAndNewOnesAreNew) {
  LogBuilder log;
  BeAttached(&log);
  log.Alloc(Layer::kSegment, 0x100000, 0x20000);  // met by its first block, not new
  log.Alloc(Layer::kLinear, 0x300000, 0x20000);   // new, and listed
  log.Alloc(Layer::kSegment, 0x300000, 0x20000);
  log.Alloc(Layer::kSegment, 0x508000, 0x8000);  // a page of an expandable segment
  for (const std::uint64_t address : {0x100000, 0x300000}) {
    List(&log, Layer::kLinear, address, 0x20000);
    List(&log, Layer::kSegment, address, 0x20000);
  }
  List(&log, Layer::kSegment, 0x500000, 0x20000);
  const auto session = testing::LoadLog(log);
  ASSERT_NE(session, nullptr);
  std::map<std::pair<Layer, std::uint64_t>, TimeNs> born;
  for (const AllocationRecord& record : session->records())
    EXPECT_TRUE(born.emplace(std::pair(record.layer, record.address),
                             session->events().time(record.birth.value))
                    .second);
  ASSERT_EQ(born.size(), 5u);
  EXPECT_LE(born.at({Layer::kSegment, 0x100000}), kBegin);
  EXPECT_LE(born.at({Layer::kLinear, 0x100000}), kBegin);
  EXPECT_GT(born.at({Layer::kSegment, 0x300000}), kBegin);
  EXPECT_GT(born.at({Layer::kLinear, 0x300000}), kBegin);
  EXPECT_LE(born.at({Layer::kSegment, 0x500000}), kBegin);
}

TEST(PresentTest, StacksAreThoseOfTheListOrSaySo) {
  LogBuilder log;
  BeAttached(&log);
  log.Event(Op::kPresent, Layer::kBlock, 0x1000, 512,
            log.String("inner (/a b/c.py:12)\nouter (d:e.py)\nodd"));
  List(&log, Layer::kBlock, 0x2000, 512);
  const auto session = testing::LoadLog(log);
  ASSERT_NE(session, nullptr);
  ASSERT_EQ(session->records().size(), 2u);
  Symbols symbols(session);
  const std::vector<SourceFrame> known = symbols.ResolveStack(session->records()[0].stack);
  ASSERT_EQ(known.size(), 3u);
  EXPECT_EQ(known[0].function, "inner");
  EXPECT_EQ(known[0].file, "/a b/c.py");
  EXPECT_EQ(known[0].line, 12);
  EXPECT_EQ(known[1].function, "outer");
  EXPECT_EQ(known[1].file, "d:e.py");
  EXPECT_EQ(known[2].function, "odd");
  const std::vector<SourceFrame> unknown = symbols.ResolveStack(session->records()[1].stack);
  ASSERT_EQ(unknown.size(), 1u);
  EXPECT_EQ(unknown[0].function, "before memprof was attached");
}

TEST(PresentTest, WithoutAnAttachedRecorderFreesOfUnknownBlocksAreAnomalies) {
  LogBuilder log;
  log.Event(Op::kFree, Layer::kBlock, 0x1000, 512, 0);
  const auto session = testing::LoadLog(log);
  ASSERT_NE(session, nullptr);
  EXPECT_EQ(session->records().size(), 0u);
  ASSERT_EQ(session->anomalies().size(), 1u);
  EXPECT_EQ(session->anomalies()[0].anomaly, log::Anomaly::kUnmatchedFrees);
}

}  // namespace
}  // namespace memprof::analysis
