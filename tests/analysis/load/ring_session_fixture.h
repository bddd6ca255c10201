// The log and the ring of a killed program, written without running one.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "analysis/load/load.h"
#include "analysis/log/reader.h"
#include "analysis/log/ring_fold.h"
#include "analysis/testing/column.h"
#include "analysis/testing/log_builder.h"
#include "proto/framing.h"
#include "tests/support/load_log.h"
#include "tests/support/ring_builder.h"

namespace memprof::analysis::testing {

inline constexpr std::uint32_t kPid = 0x7fffffff;  // no process has this pid
inline constexpr std::uint64_t kStart = 1'000'000'000;
inline constexpr int kRingEventsPerChunk = 50;

// 1000 events of two threads. The tests below kill the program at different moments.
inline void Program(LogBuilder& log) {
  log.Device(0, 1 << 30);
  log.Thread(2, 1002, "worker");
  const int site = log.Stack({"main (a.cc:1)", "Keep (b.cc:2)"});
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const EventFields fields = {.stack = i % 4 == 0 ? site : 0,
                                .thread = static_cast<std::uint32_t>(1 + i / 7 % 2),
                                .api = "cuMemAlloc_v2"};
    if (i % 3 == 2)
      log.Free(0x1000 * (i - 1), fields);
    else
      log.Alloc(Layer::kLinear, 0x1000 * i, i + 1, fields);
  }
}

class RingSessionTest : public ::testing::Test {
 protected:
  RingSessionTest() : ring_(kPid, kStart), ring_path_(directory_.File("dead.ring")) {
    char host[256] = {};
    EXPECT_EQ(gethostname(host, sizeof host - 1), 0);
    log_.header().set_hostname(host);
    log_.header().set_pid(kPid);
    log_.header().set_start_time_ns(kStart);
    log_.header().set_ring_path(ring_path_);
    Program(log_);
    bytes_ = log_.Bytes({.events_per_chunk = kRingEventsPerChunk});
    whole_ = Load(bytes_);
  }

  std::shared_ptr<const Session> Load(const std::string& bytes) {
    const auto session = LoadLogs({directory_.Write("a.mprof", bytes)}, {.find_steps = false});
    EXPECT_TRUE(session.ok()) << session.status();
    return session.ok() ? *session : nullptr;
  }
  // Loads the killed process's log of `size` bytes, together with the ring.
  std::shared_ptr<const Session> LoadKilled(std::size_t size) {
    directory_.Write("dead.ring", ring_.bytes());
    return Load(bytes_.substr(0, size));
  }

  // The same after the last action of `memprof run`: the ring is appended to the log and deleted.
  std::shared_ptr<const Session> LoadFolded(std::size_t size) {
    directory_.Write("dead.ring", ring_.bytes());
    const std::string path = directory_.Write("a.mprof", bytes_.substr(0, size));
    const absl::StatusOr<FoldResult> folded = FoldRing(path);
    EXPECT_TRUE(folded.ok()) << folded.status();
    EXPECT_EQ(*folded, FoldResult::kFolded);
    EXPECT_FALSE(std::filesystem::exists(ring_path_));
    EXPECT_EQ(*FoldRing(path), FoldResult::kNothingToDo);
    const auto session = LoadLogs({path}, {.find_steps = false});
    EXPECT_TRUE(session.ok()) << session.status();
    return session.ok() ? *session : nullptr;
  }

  // The position in the log after the first `events` events.
  std::size_t EndOf(int events) {
    const auto reader =
        LogReader::Open(directory_.Write("a.mprof", bytes_), LogReader::Mode::kScan);
    int chunks = 0;
    for (const Chunk& chunk : (*reader)->chunks())
      if (chunk.kind() == log::ChunkKind::kEvents && ++chunks * kRingEventsPerChunk == events)
        return chunk.end();
    ADD_FAILURE() << "no chunk ends after event " << events;
    return 0;
  }

  // Event `i` of the whole log in the ring's format.
  ring::RingEvent EventOf(std::size_t i) const {
    const EventTable& events = whole_->events();
    ring::RingEvent event{};
    event.time_ns = events.time(i);
    event.address = events.address(i);
    event.bytes = events.op(i) == Op::kAlloc ? events.bytes(i) : 0;
    event.stack = events.stack(i).valid() ? events.stack(i).value + 1 : 0;
    event.api = events.api(i).value + 1;
    event.device_plus_1 = 1;
    event.op = static_cast<std::uint8_t>(events.op(i));
    event.layer = static_cast<std::uint8_t>(Layer::kLinear);
    return event;
  }

  // Puts events [begin, end) into slabs, one for each thread. Those before `taken` are already in
  // the log, those before `pending` in the batch being written.
  void PutEvents(std::size_t begin, std::size_t end, std::size_t taken, std::size_t pending) {
    for (const std::uint32_t thread : {2u, 1u}) {  // slabs are in no particular order
      const std::uint32_t slab = ring_.AddSlab(ring::SlabKind::kEvents, thread, thread);
      for (std::size_t i = begin; i < end; ++i) {
        if (whole_->events().thread(i) + 1 != thread) continue;
        ring_.AddEvent(slab, EventOf(i));
        const std::uint32_t published = ring_.slab(slab)->published;
        if (i < taken) ring_.slab(slab)->taken = published;
        if (i < pending) ring_.slab(slab)->pending = published;
      }
    }
  }

  void ExpectWhole(const Session& session) {
    const EventTable &events = session.events(), &whole = whole_->events();
    EXPECT_EQ(Column(events, &EventTable::time), Column(whole, &EventTable::time));
    EXPECT_EQ(Column(events, &EventTable::op), Column(whole, &EventTable::op));
    EXPECT_EQ(Column(events, &EventTable::address), Column(whole, &EventTable::address));
    EXPECT_EQ(Column(events, &EventTable::bytes), Column(whole, &EventTable::bytes));
    EXPECT_EQ(Column(events, &EventTable::thread), Column(whole, &EventTable::thread));
    EXPECT_EQ(Column(events, &EventTable::stack), Column(whole, &EventTable::stack));
    EXPECT_EQ(Column(events, &EventTable::api), Column(whole, &EventTable::api));
    EXPECT_EQ(Column(events, &EventTable::device), Column(whole, &EventTable::device));
    EXPECT_EQ(session.allocations().size(), whole_->allocations().size());
    EXPECT_EQ(CountOf(session, log::Anomaly::kRingRecovered), 1u);
    EXPECT_EQ(session.anomalies().size(), 1u);
    EXPECT_FALSE(session.run().complete);
    EXPECT_FALSE(session.run().growing);
  }

  void ExpectWholeKilledAt(std::size_t size) {
    for (const auto& session : {LoadKilled(size), LoadFolded(size)}) {
      ASSERT_NE(session, nullptr);
      ExpectWhole(*session);
    }
  }

  const TempDirectory directory_;
  LogBuilder log_;
  RingBuilder ring_;
  std::string ring_path_, bytes_;
  std::shared_ptr<const Session> whole_;
};

}  // namespace memprof::analysis::testing
