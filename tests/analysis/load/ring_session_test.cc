// The log and the ring of a killed process, read together: every event once, at every phase of a
// commit, and no use of a damaged ring or one of another process.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "analysis/load/load.h"
#include "analysis/log/ring_fold.h"
#include "proto/framing.h"
#include "tests/analysis/load/ring_session_fixture.h"
#include "tests/support/load_log.h"
#include "tests/support/ring_builder.h"

namespace memprof::analysis {
namespace {

using ring::DefinitionKind;
using ring::RingEvent;
using ring::SlabKind;
using testing::CountOf;
using testing::kPid;
using testing::RingSessionTest;

TEST_F(RingSessionTest, KilledBetweenBatches) {
  const std::size_t committed = EndOf(600);
  PutEvents(500, 1000, 600, 600);  // slabs keep drained events until they are full
  ring_.header()->committed = committed;
  ring_.header()->commit_at = committed;
  ExpectWholeKilledAt(committed);
}

TEST_F(RingSessionTest, KilledWhileABatchWasGathered) {
  PutEvents(600, 1000, 600, 800);
  ring_.header()->committed = EndOf(600);  // commit_at is not set yet
  ExpectWholeKilledAt(EndOf(600));
}

TEST_F(RingSessionTest, KilledInTheMiddleOfAWrite) {
  PutEvents(600, 1000, 600, 800);
  ring_.header()->committed = EndOf(600);
  ring_.header()->commit_at = EndOf(800);
  // Whole chunks of the batch and a part of one were written; all of them are also in the ring.
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

// The process was killed in the middle of a write, or after it, and appending the ring then finds
// the disk full after some bytes.
TEST_F(RingSessionTest, ALogThatCannotGrowKeepsItsRing) {
  PutEvents(600, 1000, 600, 800);
  const std::uint64_t begun = EndOf(600), written = EndOf(800);
  ring_.header()->committed = begun;
  ring_.header()->commit_at = written;
  for (const auto& [size, end] : {std::pair(begun + 100, begun), std::pair(written, written)}) {
    SCOPED_TRACE(size);
    directory_.Write("dead.ring", ring_.bytes());
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
  // The log may have been moved: its ring is kept for some time.
  EXPECT_TRUE(std::filesystem::exists(gone));
  EXPECT_EQ(RemoveOrphanedRings(shared, kNow + kKeepForMovedLogNs), 0);
  EXPECT_TRUE(std::filesystem::exists(gone));
  EXPECT_EQ(RemoveOrphanedRings(shared, kNow + kKeepForMovedLogNs + 1), 1);
  EXPECT_FALSE(std::filesystem::exists(gone));
  for (const std::string& kept : {alive, needed, nameless, other})
    EXPECT_TRUE(std::filesystem::exists(kept)) << kept;
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  // A ring is not needed if the log is complete or belongs to another process.
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

TEST_F(RingSessionTest, WithoutTheOptionItIsNotRead) {
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
  // Native and Python nodes alternate, below the two nodes that the log has.
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
  ASSERT_EQ(frames.size(), 6u);  // innermost first; the outermost two are in the log
  const auto frame = [&](int i) { return session->frame(frames[static_cast<std::size_t>(i)]); };
  EXPECT_EQ(session->string(frame(0).function), "later");
  EXPECT_EQ(frame(0).line, 51u);
  EXPECT_EQ(frame(1).address, 0x4000u);
  EXPECT_EQ(session->string(frame(2).function), "Late");
  EXPECT_EQ(session->string(frame(2).file), "late.py");
  EXPECT_EQ(frame(3).address, 0x5000u);
  EXPECT_EQ(session->string(frame(5).function), "main");
}

}  // namespace
}  // namespace memprof::analysis
