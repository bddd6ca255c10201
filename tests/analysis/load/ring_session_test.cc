// The log and the ring of a killed process, read together: every event once, at every phase of a
// commit, and nothing believed that a damaged or foreign ring says.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "analysis/load/load.h"
#include "analysis/log/reader.h"
#include "analysis/log/ring_fold.h"
#include "analysis/log/ring_recovery.h"
#include "analysis/testing/column.h"
#include "analysis/testing/log_builder.h"
#include "proto/framing.h"
#include "tests/support/load_log.h"
#include "tests/support/ring_builder.h"

namespace memprof::analysis {
namespace {

using ring::DefinitionKind;
using ring::RingEvent;
using ring::SlabKind;
using testing::Column;
using testing::CountOf;
using testing::EventFields;
using testing::LogBuilder;
using testing::RingBuilder;
using testing::TempDirectory;

constexpr std::uint32_t kPid = 0x7fffffff;  // no process has it
constexpr std::uint64_t kStart = 1'000'000'000;
constexpr int kRingEventsPerChunk = 50;

// 1000 events of two threads: the program that is killed at different moments below.
void Program(LogBuilder& log) {
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
  // Of the killed process: its log of `size` bytes, and the ring.
  std::shared_ptr<const Session> LoadKilled(std::size_t size) {
    directory_.Write("dead.ring", ring_.bytes());
    return Load(bytes_.substr(0, size));
  }

  // The same, after what `memprof run` does in the end: the ring is in the log, and gone.
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

  // Where in the log the first `events` events end.
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

  // Event `i` of the whole log as it stood in the ring.
  RingEvent EventOf(std::size_t i) const {
    const EventTable& events = whole_->events();
    RingEvent event{};
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

  // Events [begin, end) into slabs, one for each thread; those before `taken` are in the log
  // already, those before `pending` in the batch that is on its way there.
  void PutEvents(std::size_t begin, std::size_t end, std::size_t taken, std::size_t pending) {
    for (const std::uint32_t thread : {2u, 1u}) {  // slabs lie in no order
      const std::uint32_t slab = ring_.AddSlab(SlabKind::kEvents, thread, thread);
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

TEST_F(RingSessionTest, KilledBetweenBatches) {
  const std::size_t committed = EndOf(600);
  PutEvents(500, 1000, 600, 600);  // slabs keep what was drained until they are full
  ring_.header()->committed = committed;
  ring_.header()->commit_at = committed;
  ExpectWholeKilledAt(committed);
}

TEST_F(RingSessionTest, KilledWhileABatchWasGathered) {
  PutEvents(600, 1000, 600, 800);
  ring_.header()->committed = EndOf(600);  // commit_at says: not yet
  ExpectWholeKilledAt(EndOf(600));
}

TEST_F(RingSessionTest, KilledInTheMiddleOfAWrite) {
  PutEvents(600, 1000, 600, 800);
  ring_.header()->committed = EndOf(600);
  ring_.header()->commit_at = EndOf(800);
  // Whole chunks of the batch and a part of one: all of it is in the ring as well.
  for (const std::size_t size : {EndOf(600) + 1, EndOf(650), EndOf(700) + 30, EndOf(800) - 1}) {
    ExpectWholeKilledAt(size);
  }
}

TEST_F(RingSessionTest, KilledAfterAWriteBeforeItWasNoted) {
  PutEvents(600, 1000, 600, 800);
  ring_.header()->committed = EndOf(600);
  ring_.header()->commit_at = EndOf(800);
  ExpectWholeKilledAt(EndOf(800));
}

TEST_F(RingSessionTest, ALogThatCannotGrowKeepsItsRing) {
  PutEvents(600, 1000, 600, 800);
  ring_.header()->committed = EndOf(600);
  ring_.header()->commit_at = EndOf(800);
  directory_.Write("dead.ring", ring_.bytes());
  // It died in the middle of a write, and folding then finds the disk full after some bytes.
  const std::size_t end = EndOf(600), size = EndOf(650) + 10;
  const std::string path = directory_.Write("a.mprof", bytes_.substr(0, size));
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{end + 500, end + 500};
    setrlimit(RLIMIT_FSIZE, &limit);
    _exit(absl::IsUnavailable(FoldRing(path).status()) ? 7 : 8);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 7);
  EXPECT_EQ(std::filesystem::file_size(path), end);
  const auto before = LoadLogs({path}, {.find_steps = false});
  ASSERT_TRUE(before.ok());
  ExpectWhole(**before);
  EXPECT_EQ(*FoldRing(path), FoldResult::kFolded);
  const auto after = LoadLogs({path}, {.find_steps = false});
  ASSERT_TRUE(after.ok());
  ExpectWhole(**after);
}

TEST_F(RingSessionTest, ACompleteLogIsNotFoldedInto) {
  PutEvents(0, 1000, 0, 0);
  directory_.Write("dead.ring", ring_.bytes());
  const std::string path = directory_.Write("a.mprof", bytes_);
  EXPECT_EQ(*FoldRing(path), FoldResult::kNothingToDo);
  EXPECT_EQ(std::filesystem::file_size(path), bytes_.size());
}

TEST_F(RingSessionTest, OnlyOrphanedRingsAreRemoved) {
  std::filesystem::create_directory(directory_.File("shm"));
  const std::string log_path = directory_.File("a.mprof");
  const auto put = [&](const char* name, const std::string& log, std::uint32_t pid) {
    std::strncpy(ring_.header()->log_path, log.c_str(), sizeof ring_.header()->log_path - 1);
    ring_.header()->pid = pid;
    return directory_.Write(std::string("shm/") + name, ring_.bytes());
  };
  constexpr std::int64_t kNow = std::int64_t{1'800'000'000} * 1'000'000'000;
  const std::string empty = put("memprof-0-a.mprof.ring", directory_.File("gone.mprof"), kPid);
  PutEvents(0, 10, 0, 0);
  const std::string gone = put("memprof-1-a.mprof.ring", directory_.File("gone.mprof"), kPid);
  const std::string alive =
      put("memprof-2-b.mprof.ring", directory_.File("gone.mprof"), std::uint32_t(getpid()));
  const std::string needed = put("memprof-3-c.mprof.ring", log_path, kPid);
  const std::string nameless = put("memprof-4-d.mprof.ring", "", kPid);
  const std::string other = directory_.Write("shm/memprof-5-e.mprof.ring", "something else");
  const std::string link = directory_.File("shm/memprof-6-f.mprof.ring");
  std::filesystem::create_symlink(needed, link);
  directory_.Write("a.mprof", bytes_.substr(0, EndOf(600)));
  const std::string shared = directory_.File("shm");
  EXPECT_EQ(RemoveOrphanedRings(shared, kNow), 1);
  EXPECT_FALSE(std::filesystem::exists(empty));
  // The log may have been moved: its ring waits for it, for some time.
  EXPECT_TRUE(std::filesystem::exists(gone));
  EXPECT_EQ(RemoveOrphanedRings(shared, kNow + kKeepForMovedLogNs), 0);
  EXPECT_TRUE(std::filesystem::exists(gone));
  EXPECT_EQ(RemoveOrphanedRings(shared, kNow + kKeepForMovedLogNs + 1), 1);
  EXPECT_FALSE(std::filesystem::exists(gone));
  for (const std::string& kept : {alive, needed, nameless, other})
    EXPECT_TRUE(std::filesystem::exists(kept)) << kept;
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  // Once the log is complete, or another's, nobody needs the ring.
  directory_.Write("a.mprof", bytes_);
  EXPECT_EQ(RemoveOrphanedRings(shared, kNow), 1);
  EXPECT_FALSE(std::filesystem::exists(needed));
  EXPECT_EQ(RemoveOrphanedRings(directory_.File("missing"), kNow), 0);
}

TEST_F(RingSessionTest, ACompleteLogNeedsNoRing) {
  PutEvents(0, 1000, 0, 0);
  const auto session = LoadKilled(bytes_.size());
  ASSERT_NE(session, nullptr);
  EXPECT_TRUE(session->run().complete);
  EXPECT_EQ(session->events().size(), 1000u);
  EXPECT_TRUE(session->anomalies().empty());
}

TEST_F(RingSessionTest, NotAskedForItIsNotRead) {
  PutEvents(600, 1000, 600, 600);
  ring_.header()->committed = EndOf(600);
  directory_.Write("dead.ring", ring_.bytes());
  const auto session = LoadLogs({directory_.Write("a.mprof", bytes_.substr(0, EndOf(600)))},
                                {.find_steps = false, .recover_ring = false});
  ASSERT_TRUE(session.ok());
  EXPECT_EQ((*session)->events().size(), 600u);
}

TEST_F(RingSessionTest, DefinitionsAndCountersComeAlong) {
  const std::uint32_t texts = ring_.AddSlab(SlabKind::kDefinitions, 0, 1);
  log::Definitions fields;
  for (const auto& [id, text] : {std::pair(100u, "Late"), {101u, "late.py"}, {102u, "later"}}) {
    log::StringDef* string = fields.add_string();
    string->set_id(id);
    string->set_value(text);
  }
  ring_.AddDefinition(texts, DefinitionKind::kFields, fields.SerializeAsString());
  fields.Clear();
  for (const std::uint32_t id : {50u, 51u}) {
    log::PythonFrame* frame = fields.add_python_frame();
    frame->set_id(id);
    frame->set_function(id == 50 ? 100 : 102);
    frame->set_file(101);
    frame->set_line(id);
  }
  ring_.AddDefinition(texts, DefinitionKind::kFields, fields.SerializeAsString());
  // Native nodes and Python's in turns, below the two that the log has.
  ring_.AddNode(texts, {.address = 0x5000, .id = 3, .parent = 2, .kind = log::FRAME_NATIVE});
  ring_.AddNode(texts, {.address = 50, .id = 4, .parent = 3, .kind = log::FRAME_PYTHON});
  ring_.AddNode(texts, {.address = 0x4000, .id = 5, .parent = 4, .kind = log::FRAME_NATIVE});
  ring_.AddNode(texts, {.address = 51, .id = 6, .parent = 5, .kind = log::FRAME_PYTHON});
  PutEvents(600, 1000, 600, 600);
  const std::uint32_t slab = ring_.AddSlab(SlabKind::kEvents, 1, 9);
  RingEvent event = EventOf(600);
  event.time_ns = whole_->events().last_time() + 5;
  event.stack = 6;
  ring_.AddEvent(slab, event);
  ring_.header()->committed = EndOf(600);
  ring_.header()->events_written = 600;
  ring_.header()->hook_time_ns = 77;
  ring_.header()->anomalies[static_cast<int>(log::Anomaly::kEventsLost)] = 13;
  const auto session = LoadKilled(EndOf(600));
  ASSERT_NE(session, nullptr);
  EXPECT_EQ(session->events().size(), 1001u);
  EXPECT_EQ(session->self().events, 1001u);
  EXPECT_EQ(session->self().events_written, 600u);
  EXPECT_EQ(session->self().hook_time_ns, 77u);
  EXPECT_EQ(CountOf(*session, log::Anomaly::kEventsLost), 13u);
  const auto frames = session->StackFrames(session->events().stack(1000));
  ASSERT_EQ(frames.size(), 6u);  // innermost first; the outermost two are of the log
  const auto frame = [&](int i) { return session->frame(frames[static_cast<std::size_t>(i)]); };
  EXPECT_EQ(session->string(frame(0).function), "later");
  EXPECT_EQ(frame(0).line, 51u);
  EXPECT_EQ(frame(1).address, 0x4000u);
  EXPECT_EQ(session->string(frame(2).function), "Late");
  EXPECT_EQ(session->string(frame(2).file), "late.py");
  EXPECT_EQ(frame(3).address, 0x5000u);
  EXPECT_EQ(session->string(frame(5).function), "main");
}

// ---------------------------------------------------------------------------------------------
// Rings that cannot be believed: the log alone is shown, and it is said.

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
  if (self == 0) {  // root may read everything, so somebody else tries
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
  // Slabs are taken as full, no further: the rest of their payload is zeroes.
  const std::size_t in_slabs = 2 * ring::kEventsPerSlab;
  EXPECT_EQ(session->events().size(), 600 + in_slabs);
  EXPECT_EQ(session->allocations().size(), whole_->allocations().size());
}

TEST_F(BadRingTest, AFileBeyondAllMeasureIsReadAsFarAsARingGoes) {
  // A slab of events behind the largest ring that there can be. What lies between is a hole: it
  // costs no disk, but looking through all of a larger one would cost minutes.
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
  ring_.slab(0)->taken = ring_.slab(0)->published + 1;  // more taken than there was
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
    EXPECT_EQ(session->events().size(), 1000u);  // all events, whatever befell the names
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
