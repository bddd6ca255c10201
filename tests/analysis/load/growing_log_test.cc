// A log that is read while it is being written: at every length the session contains exactly what
// was written so far.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <random>
#include <set>
#include <thread>

#include "analysis/load/load.h"
#include "analysis/load/verify.h"
#include "analysis/log/reader.h"
#include "proto/framing.h"
#include "tests/support/load_log.h"

namespace memprof::analysis {
namespace {

using testing::CountOf;
using testing::LogBuilder;
using testing::TempDirectory;

constexpr int kEvents = 600, kEventsPerChunk = 40;

// Logs events [0, count). Definitions for the second half are added only then.
void WriteProgram(LogBuilder& log, int count) {
  log.Device(0, 1 << 30);
  std::set<std::uint64_t> live;
  const int early = log.Stack({"main (a.cc:1)", "Early (a.cc:2)"});
  for (int i = 0; i < count; ++i) {
    const int site = i < kEvents / 2 ? early : log.Stack({"main (a.cc:1)", "Late (b.cc:3)"});
    const auto address = 0x1000u * static_cast<std::uint64_t>(i % 97 + 1);
    if (i % 50 == 0)
      log.Step(static_cast<std::uint64_t>(i / 50));
    else if (live.erase(address) > 0)
      log.Free(address, {.stack = site});
    else if (live.insert(address).second)
      log.Alloc(Layer::kLinear, address, static_cast<std::uint64_t>(i), {.stack = site});
  }
}

struct Piece {
  std::size_t end = 0;     // end of this chunk in the log
  std::size_t events = 0;  // number of events in the log up to there
};

// The log in the order in which a recorder writes it: definitions directly before the events that
// need them. Also records where its chunks end.
class GrowingLogTest : public ::testing::Test {
 protected:
  GrowingLogTest() {
    WriteProgram(half_, kEvents / 2);
    WriteProgram(whole_, kEvents);
    const std::string first =
        half_.Bytes({.events_per_chunk = kEventsPerChunk / 2, .trailer = false});
    const std::string second =
        whole_.Bytes({.events_per_chunk = kEventsPerChunk / 2, .index = false});
    bytes_ = second.substr(0, sizeof(log::FileHeader));
    std::size_t events = 0;
    const auto take = [&](const std::string& from, std::size_t skip, bool header) {
      for (const Chunk& chunk : ChunksOf(from)) {
        if (chunk.kind() == log::ChunkKind::kHeader && !header) continue;
        if (chunk.kind() == log::ChunkKind::kEvents && skip > 0) {
          skip -= chunk.frame.events;
          continue;
        }
        bytes_ += from.substr(chunk.offset, chunk.end() - chunk.offset);
        events += chunk.frame.events;
        pieces_.push_back({bytes_.size(), events});
      }
    };
    take(first, 0, true);
    take(second, kEvents / 2, false);
  }

  std::vector<Chunk> ChunksOf(const std::string& bytes) {
    const auto reader =
        LogReader::Open(directory_.Write("whole.mprof", bytes), LogReader::Mode::kScan);
    EXPECT_TRUE(reader.ok()) << reader.status();
    return (*reader)->chunks();
  }

  // Events in the chunks that are entirely within the first `size` bytes.
  std::size_t EventsIn(std::size_t size) const {
    std::size_t events = 0;
    for (const Piece& piece : pieces_)
      if (piece.end <= size) events = piece.events;
    return events;
  }

  // The end of every chunk and lengths close to it, the first bytes of the file, and some lengths
  // between.
  std::set<std::size_t> Lengths() const {
    std::set<std::size_t> lengths;
    for (std::size_t i = 0; i <= sizeof(log::FileHeader) + 2; ++i) lengths.insert(i);
    for (const Piece& piece : pieces_)
      for (const int offset : {-1, 0, 1, 4, 24})
        if (piece.end + static_cast<std::size_t>(offset) <= bytes_.size())
          lengths.insert(piece.end + static_cast<std::size_t>(offset));
    std::mt19937 random(5);
    for (int i = 0; i < 60; ++i) lengths.insert(random() % bytes_.size());
    return lengths;
  }

  // Checks `session`, read from the first `size` bytes.
  void ExpectPrefix(const Session& session, const Session& complete, std::size_t size) {
    const std::size_t events = EventsIn(size);
    ASSERT_EQ(session.events().size(), events);
    for (std::size_t i = 0; i < events; ++i) {
      ASSERT_EQ(session.events().time(i), complete.events().time(i));
      ASSERT_EQ(session.events().address(i), complete.events().address(i));
      ASSERT_EQ(session.events().op(i), complete.events().op(i));
      // Definitions come before the events that refer to them.
      const StackId stack = session.events().stack(i), same = complete.events().stack(i);
      ASSERT_EQ(stack.valid(), same.valid());
      if (stack.valid()) {
        ASSERT_EQ(FunctionOf(session, stack), FunctionOf(complete, same));
      }
    }
  }

  static std::string_view FunctionOf(const Session& session, StackId stack) {
    return session.string(session.frame(session.StackFrame(stack)).function);
  }

  const TempDirectory directory_;
  LogBuilder half_, whole_;
  std::string bytes_;
  std::vector<Piece> pieces_;
};

TEST_F(GrowingLogTest, EveryLengthSaysWhatWasWrittenUntilThen) {
  const auto complete = LoadLogs({directory_.Write("a.mprof", bytes_)}, {.find_steps = false});
  ASSERT_TRUE(complete.ok()) << complete.status();
  ASSERT_EQ((*complete)->events().size(), static_cast<std::size_t>(kEvents));
  EXPECT_TRUE((*complete)->run().complete);
  for (const std::size_t size : Lengths()) {
    SCOPED_TRACE(size);
    const auto session =
        LoadLogs({directory_.Write("b.mprof", bytes_.substr(0, size))}, {.find_steps = false});
    if (size < pieces_[0].end) {  // too short for any information
      EXPECT_EQ(session.status().code(), size < sizeof(log::FileHeader)
                                             ? absl::StatusCode::kInvalidArgument
                                             : absl::StatusCode::kDataLoss);
      continue;
    }
    ASSERT_TRUE(session.ok()) << session.status();
    ExpectPrefix(**session, **complete, size);
    const bool cut = std::none_of(pieces_.begin(), pieces_.end(),
                                  [size](const Piece& piece) { return piece.end == size; });
    EXPECT_EQ(CountOf(**session, log::Anomaly::kTailCut), cut ? 1u : 0u);
    EXPECT_EQ((*session)->anomalies().size(), cut ? 1u : 0u);
    EXPECT_EQ((*session)->run().complete, size == bytes_.size());
    const auto verified = VerifyLog(directory_.File("b.mprof"));
    ASSERT_TRUE(verified.ok()) << verified.status();
    EXPECT_EQ(verified->complete, size == bytes_.size());
  }
}

TEST_F(GrowingLogTest, IsReadWhileAThreadWritesIt) {
  const std::string path = directory_.Write("growing.mprof", bytes_.substr(0, pieces_[0].end));
  std::atomic<std::size_t> begun = pieces_[0].end, written = pieces_[0].end;
  std::atomic<int> loads = 0;
  std::thread writer([&] {
    std::ofstream file(path, std::ios::binary | std::ios::app);
    std::mt19937 random(6);
    while (written < bytes_.size()) {
      const std::size_t size = std::min<std::size_t>(1 + random() % 400, bytes_.size() - written);
      begun = written + size;
      file.write(bytes_.data() + written, static_cast<std::streamsize>(size)).flush();
      written += size;
      // Waits sometimes, so that the reader reads at least once, however slow the machine is.
      if (random() % 4 == 0)
        for (const int seen = loads; loads == seen;) std::this_thread::yield();
    }
  });
  std::size_t last = 0;
  for (bool whole = false; !whole;) {
    whole = written == bytes_.size();
    const std::size_t before = written;
    const auto session = LoadLogs({path}, {.find_steps = false});
    const std::size_t after = begun;
    ++loads;
    EXPECT_TRUE(session.ok()) << session.status();
    if (!session.ok()) continue;
    const std::size_t events = (*session)->events().size();
    EXPECT_GE(events, EventsIn(before));
    EXPECT_LE(events, EventsIn(after));
    EXPECT_GE(events, last);
    EXPECT_EQ(CountOf(**session, log::Anomaly::kChunksCorrupt), 0u);
    last = events;
  }
  loads = -1;  // releases a writer that still waits for the reader
  writer.join();
  EXPECT_EQ(last, static_cast<std::size_t>(kEvents));
}

TEST_F(GrowingLogTest, OfALivingProcessACutTailIsNoAnomaly) {
  LogBuilder log;
  WriteProgram(log, kEvents);
  char host[256] = {};
  ASSERT_EQ(gethostname(host, sizeof host - 1), 0);
  log.header().set_hostname(host);
  log.header().set_pid(static_cast<std::uint32_t>(getpid()));
  log.header().set_ring_path(directory_.Write("ring", "its ring"));
  const std::string bytes = log.Bytes({.events_per_chunk = kEventsPerChunk, .trailer = false});
  for (const std::size_t cut : {0u, 1u, 30u}) {
    const auto session = LoadLogs(
        {directory_.Write("c.mprof", bytes.substr(0, bytes.size() - cut))}, {.find_steps = false});
    ASSERT_TRUE(session.ok()) << session.status();
    EXPECT_TRUE((*session)->run().growing);
    EXPECT_TRUE((*session)->anomalies().empty());
  }
}

TEST_F(GrowingLogTest, NoProcessHasAnImpossibleId) {
  LogBuilder log;
  char host[256] = {};
  ASSERT_EQ(gethostname(host, sizeof host - 1), 0);
  log.header().set_hostname(host);
  log.header().set_ring_path(directory_.Write("ring", "its ring"));
  // kill() treats these as process groups
  for (const std::uint32_t pid : {0u, 0x80000000u, 0xffffffffu}) {
    log.header().set_pid(pid);
    const auto session = LoadLogs({directory_.Write("d.mprof", log.Bytes({.trailer = false}))},
                                  {.find_steps = false});
    ASSERT_TRUE(session.ok()) << session.status();
    EXPECT_FALSE((*session)->run().growing) << pid;
  }
}

}  // namespace
}  // namespace memprof::analysis
