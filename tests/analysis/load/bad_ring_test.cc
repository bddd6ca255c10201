// Rings that are damaged, from other programs or malicious.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "analysis/log/ring_recovery.h"
#include "analysis/testing/log_builder.h"
#include "proto/framing.h"
#include "tests/analysis/load/ring_session_fixture.h"
#include "tests/support/load_log.h"
#include "tests/support/ring_builder.h"

namespace memprof::analysis {
namespace {

using ring::DefinitionKind;
using ring::SlabKind;
using testing::CountOf;
using testing::kPid;
using testing::kStart;
using testing::RingSessionTest;

// ---------------------------------------------------------------------------------------------
// Rings that are not usable: only the log is shown, and the session says so.

class BadRingTest : public RingSessionTest {
 protected:
  BadRingTest() : committed_(EndOf(600)) {
    PutEvents(600, 1000, 600, 600);
    ring_.header()->committed = committed_;
  }
  void ExpectLogAlone(const char* what) {
    SCOPED_TRACE(what);
    const auto session = Load(bytes_.substr(0, committed_));
    ASSERT_NE(session, nullptr);
    EXPECT_EQ(session->events().size(), 600u);
    EXPECT_EQ(CountOf(*session, log::Anomaly::kRingGone), 1u);
    EXPECT_EQ(CountOf(*session, log::Anomaly::kRingRecovered), 0u);
    EXPECT_FALSE(session->run().growing);
  }
  absl::StatusCode Recover() {
    return RecoverRing(ring_path_, kPid, kStart, committed_).status().code();
  }
  const std::size_t committed_;
};

TEST_F(BadRingTest, ForeignContent) {
  ExpectLogAlone("no file at all");
  directory_.Write("dead.ring", std::string(1 << 20, 'x'));
  ExpectLogAlone("another file");
  EXPECT_EQ(Recover(), absl::StatusCode::kDataLoss);
  directory_.Write("dead.ring", "");
  ExpectLogAlone("an empty file");
  const std::string sound = ring_.bytes();
  directory_.Write("dead.ring", sound.substr(0, ring::kRingHeaderBytes));
  ExpectLogAlone("a header without slabs");
  for (const std::size_t field :
       {offsetof(ring::RingHeader, version), offsetof(ring::RingHeader, slab_bytes),
        offsetof(ring::RingHeader, event_bytes), offsetof(ring::RingHeader, pid),
        offsetof(ring::RingHeader, start_time_ns)}) {
    std::string other = sound;
    ++other[field];
    directory_.Write("dead.ring", other);
    ExpectLogAlone("another version or recording");
    EXPECT_EQ(Recover(), absl::StatusCode::kDataLoss);
  }
}

TEST_F(BadRingTest, LinksFoldersAndPipesAreNotFollowed) {
  const std::string real = directory_.Write("real.ring", ring_.bytes());
  std::filesystem::create_symlink(real, ring_path_);
  ExpectLogAlone("a link");
  EXPECT_EQ(Recover(), absl::StatusCode::kDataLoss);
  std::filesystem::remove(ring_path_);
  std::filesystem::create_directory(ring_path_);
  ExpectLogAlone("a folder");
  std::filesystem::remove(ring_path_);
  ASSERT_EQ(mkfifo(ring_path_.c_str(), 0600), 0);
  ExpectLogAlone("a pipe, which nobody writes to");
}

TEST_F(BadRingTest, OfAnotherUser) {
  directory_.Write("dead.ring", ring_.bytes());
  ASSERT_EQ(chmod(ring_path_.c_str(), 0), 0);
  const uid_t self = geteuid();
  if (self == 0) {  // root may read everything, so another user tries
    ASSERT_EQ(seteuid(65534), 0);
  }
  const absl::StatusCode code = Recover();
  ASSERT_EQ(seteuid(self), 0);
  EXPECT_EQ(code, absl::StatusCode::kPermissionDenied);
}

TEST_F(BadRingTest, OfALogThatBecameShorter) {
  directory_.Write("dead.ring", ring_.bytes());
  const auto session = Load(bytes_.substr(0, committed_ - 10));
  ASSERT_NE(session, nullptr);
  EXPECT_EQ(session->events().size(), 550u);
  EXPECT_EQ(CountOf(*session, log::Anomaly::kRingGone), 1u);
  EXPECT_EQ(CountOf(*session, log::Anomaly::kTailCut), 1u);
}

TEST_F(BadRingTest, OnAnotherHost) {
  log_.header().set_hostname("elsewhere");
  directory_.Write("dead.ring", ring_.bytes());
  const auto session = Load(log_.Bytes({.trailer = false}));
  ASSERT_NE(session, nullptr);
  EXPECT_EQ(session->events().size(), 1000u);
  EXPECT_EQ(CountOf(*session, log::Anomaly::kRingGone), 1u);
}

TEST_F(BadRingTest, HugeClaimsAreCutToWhatIsThere) {
  ring_.header()->slab_count = ring_.header()->slabs_ready = 0xffffffff;
  for (const std::uint32_t slab : {0u, 1u}) ring_.slab(slab)->published = 0xffffffff;
  const auto session = LoadKilled(committed_);
  ASSERT_NE(session, nullptr);
  // Slabs are read as full, but no further: the rest of their payload is zeros.
  const std::size_t in_slabs = 2 * ring::kEventsPerSlab;
  EXPECT_EQ(session->events().size(), 600 + in_slabs);
  EXPECT_EQ(session->allocations().size(), whole_->allocations().size());
}

TEST_F(BadRingTest, AFileBeyondAllMeasureIsReadAsFarAsARingGoes) {
  // A slab of events after the end of the largest possible ring. The space between is a hole in the
  // file, which takes no disk; searching all of a larger ring would take minutes.
  const std::string slab = ring_.bytes().substr(ring::kRingHeaderBytes, ring::kSlabBytes);
  ring_.header()->slab_count = ring_.header()->slabs_ready = 0xffffffff;
  std::ofstream file(directory_.Write("dead.ring", ring_.bytes()),
                     std::ios::binary | std::ios::in | std::ios::out);
  file.seekp(ring::kRingHeaderBytes + std::streamoff{ring::kMaxSlabs} * ring::kSlabBytes);
  file << slab << std::flush;
  ASSERT_TRUE(file.good());
  const auto ring = RecoverRing(ring_path_, kPid, kStart, committed_);
  ASSERT_TRUE(ring.ok()) << ring.status();
  std::size_t events = 0;
  for (const log::Events& message : ring->events) events += message.count();
  EXPECT_EQ(events, 400u);
}

TEST_F(BadRingTest, CountsThatContradictEachOtherGiveNothing) {
  ring_.slab(0)->taken = ring_.slab(0)->published + 1;  // more taken than published
  ring_.slab(1)->state = ring::SlabState::kFree;
  const auto session = LoadKilled(committed_);
  ASSERT_NE(session, nullptr);
  EXPECT_EQ(session->events().size(), 600u);
  EXPECT_EQ(CountOf(*session, log::Anomaly::kRingRecovered), 1u);
}

TEST_F(BadRingTest, ADefinitionTornInTheMiddleCostsItselfAlone) {
  log::Definitions fields;
  log::StringDef* string = fields.add_string();
  string->set_id(200);
  string->set_value("before the tear");
  const auto expect = [&](const char* what, std::size_t nodes) {
    SCOPED_TRACE(what);
    const auto session = LoadKilled(committed_);
    ASSERT_NE(session, nullptr);
    EXPECT_EQ(session->events().size(), 1000u);  // all events, whatever happened to the names
    EXPECT_EQ(session->stack_count(), 2 + nodes);
    EXPECT_EQ(CountOf(*session, log::Anomaly::kRingRecovered), 1u);
    EXPECT_EQ(CountOf(*session, log::Anomaly::kDefinitionsLost), 1u);
  };
  const std::string sound = ring_.bytes();
  const auto with_definitions = [&](auto damage) {
    ring_.bytes() = sound;
    const std::uint32_t slab = ring_.AddSlab(SlabKind::kDefinitions, 0, 1);
    ring_.AddDefinition(slab, DefinitionKind::kFields, fields.SerializeAsString());
    ring_.AddNode(slab, {.address = 0x5000, .id = 3, .parent = 2});
    const std::uint32_t last = ring_.AddNode(slab, {.address = 0x5001, .id = 4, .parent = 3});
    damage(slab, last);
  };
  with_definitions([&](std::uint32_t slab, std::uint32_t) { ring_.slab(slab)->published -= 8; });
  expect("published in the middle of a record", 1);
  with_definitions([&](std::uint32_t slab, std::uint32_t last) {
    const std::uint32_t huge = 0xfffffff0;
    std::memcpy(ring_.Payload(slab) + last + 4, &huge, sizeof huge);
  });
  expect("a record of huge size", 1);
  with_definitions([&](std::uint32_t slab, std::uint32_t last) { ring_.Payload(slab)[last] = 77; });
  expect("a record of unknown kind", 1);
  with_definitions([&](std::uint32_t slab, std::uint32_t last) {
    const std::uint32_t id = 9;  // 4 is missing
    std::memcpy(ring_.Payload(slab) + last + sizeof(ring::DefinitionRecord) +
                    offsetof(ring::NodeRecord, id),
                &id, sizeof id);
  });
  expect("nodes that are not in a row", 1);
  with_definitions([&](std::uint32_t slab, std::uint32_t) {
    std::memset(ring_.Payload(slab) + sizeof(ring::DefinitionRecord), 0xff, 8);
  });
  expect("fields that are no message", 2);
}

}  // namespace
}  // namespace memprof::analysis
