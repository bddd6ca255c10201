// Other users of the machine can neither read nor change recordings, and files that they create
// cannot make the recorder, `memprof run` or a reader access files of other users.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>

#include "analysis/load/load.h"
#include "analysis/log/ring_fold.h"
#include "analysis/store/session.h"
#include "analysis/testing/column.h"
#include "proto/ring.h"
#include "tests/integration/harness.h"

namespace memprof::testing {
namespace {

using analysis::testing::Column;
using ::testing::HasSubstr;

constexpr uid_t kOther = 65534;  // nobody

// A folder like /tmp: everybody may create files, but remove only their own.
class OtherUser : public ::testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "only root can act for a second user";
    ASSERT_EQ(chmod(directory_.path().c_str(), 01777), 0);
  }

  // Whether `act` succeeds for the other user.
  template <typename Act>
  static bool Can(Act act) {
    const pid_t child = fork();
    if (child == 0) {
      if (setresgid(kOther, kOther, kOther) != 0 || setresuid(kOther, kOther, kOther) != 0)
        _exit(2);
      _exit(act() ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) != 2);
    return status == 0;
  }
  // Creates a file of the other user.
  std::string Plant(const std::string& name, const std::string& bytes) {
    const std::string path = directory_.File(name);
    std::ofstream(path, std::ios::binary) << bytes;
    EXPECT_EQ(chmod(path.c_str(), 0666), 0);
    EXPECT_EQ(chown(path.c_str(), kOther, kOther), 0);
    return path;
  }
  GuestResult Record(const std::string& output) {
    GuestOptions options{.output = output, .directory = directory_.path()};
    options.arguments = {"exit", "return"};
    return RunGuest("guest_runtime_life", options);
  }
  GuestResult MemprofRun(const std::string& output, std::vector<std::string> program) {
    GuestOptions options{
        .preload = false, .standin = false, .output = "", .directory = directory_.path()};
    options.arguments = {"run", "--sim", "-o", output, "--"};
    options.arguments.insert(options.arguments.end(), program.begin(), program.end());
    return RunProgram(BuildPath("bin/test_memprof_run"), options);
  }
  // Leaves the log and the ring of a killed process; 5000 allocations, most of them in the ring.
  log::Header Killed(const std::string& output) {
    GuestOptions options{.output = output, .directory = directory_.path()};
    options.arguments = {"loop", "5000"};
    RunningGuest guest(GuestPath("guest_runtime_life"), options);
    EXPECT_EQ(guest.ReadLine(), "done");
    kill(guest.pid(), SIGKILL);
    guest.Wait();
    return ReadLog(directory_.File(output)).header;
  }

  TempDirectory directory_;
};

TEST_F(OtherUser, CanNeitherReadNorChangeLogsAndRings) {
  // The file existed before with access for everybody: it becomes the log, with restricted access.
  std::ofstream(directory_.File("g.mprof")).close();
  ASSERT_EQ(chmod(directory_.File("g.mprof").c_str(), 0666), 0);
  GuestOptions options{.directory = directory_.path()};
  options.arguments = {"loop", "10"};
  RunningGuest guest(GuestPath("guest_runtime_life"), options);
  ASSERT_EQ(guest.ReadLine(), "done");
  const std::string log = directory_.File("g.mprof");
  const std::string ring = ReadLog(log).header.ring_path();
  ASSERT_EQ(ring.rfind(directory_.path(), 0), 0u) << ring;
  EXPECT_TRUE(Can([&] { return mkdir(directory_.File("own").c_str(), 0700) == 0; }));
  for (const std::string& path : {log, ring}) {
    SCOPED_TRACE(path);
    EXPECT_FALSE(Can([&] { return open(path.c_str(), O_RDONLY) >= 0; }));
    EXPECT_FALSE(Can([&] { return open(path.c_str(), O_WRONLY) >= 0; }));
    EXPECT_FALSE(Can([&] { return truncate(path.c_str(), 0) == 0; }));
    EXPECT_FALSE(Can([&] { return unlink(path.c_str()) == 0; }));
    EXPECT_FALSE(Can([&] { return rename(path.c_str(), (path + "x").c_str()) == 0; }));
  }
  // Nor through the process.
  const std::string map = "/proc/" + std::to_string(guest.pid()) + "/map_files";
  EXPECT_FALSE(Can([&] { return open(map.c_str(), O_RDONLY | O_DIRECTORY) >= 0; }));
}

TEST_F(OtherUser, WhatLiesAtTheLogsPlaceIsLeftAlone) {
  const std::string victim = directory_.File("victim");
  const std::string precious = "precious";
  Killed("real.mprof");
  const std::string real_log = ReadText(directory_.File("real.mprof"));
  std::ofstream(victim) << precious;
  struct Planted {
    const char* name;
    std::function<void(const std::string&)> plant;
  };
  const Planted kinds[] = {
      {"link to a file",
       [&](const std::string& at) { std::filesystem::create_symlink(victim, at); }},
      {"link to nowhere",
       [&](const std::string& at) {
         std::filesystem::create_symlink(directory_.File("nowhere"), at);
       }},
      {"empty file of theirs", [&](const std::string&) { Plant("g.mprof", ""); }},
      {"file of theirs", [&](const std::string&) { Plant("g.mprof", "text"); }},
      {"log of theirs", [&](const std::string&) { Plant("g.mprof", real_log); }},
      {"pipe", [&](const std::string& at) {
         EXPECT_EQ(mkfifo(at.c_str(), 0666), 0);
         EXPECT_EQ(chown(at.c_str(), kOther, kOther), 0);
       }}};
  for (const Planted& kind : kinds) {
    SCOPED_TRACE(kind.name);
    const std::string at = directory_.File("g.mprof");
    std::filesystem::remove(at);
    kind.plant(at);
    struct stat before, after;
    ASSERT_EQ(lstat(at.c_str(), &before), 0);
    // The recorder uses another name.
    const GuestResult guest = Record("g.mprof");
    EXPECT_EQ(guest.status, 7);
    EXPECT_EQ(guest.err, "");
    const Log log = ReadLog(directory_.File("g." + std::to_string(guest.pid) + ".mprof"));
    EXPECT_TRUE(log.has_trailer);
    EXPECT_EQ(log.WithOp(log::OP_ALLOC).size(), 1u);
    // `memprof run` refuses before the program starts, or uses another name too.
    const GuestResult run =
        MemprofRun("g.mprof", {GuestPath("guest_runtime_life"), "exit", "return"});
    if (run.status == 1) {
      EXPECT_EQ(run.out, "");
      EXPECT_THAT(run.err, HasSubstr("left as it is"));
    } else {
      EXPECT_EQ(run.status, 7) << run.err;
    }
    ASSERT_EQ(lstat(at.c_str(), &after), 0);
    EXPECT_EQ(before.st_ino, after.st_ino);
    EXPECT_EQ(before.st_size, after.st_size);
    EXPECT_EQ(before.st_mtim.tv_nsec, after.st_mtim.tv_nsec);
    EXPECT_EQ(before.st_mode, after.st_mode);
    EXPECT_TRUE(ReadText(victim) == precious);
    EXPECT_FALSE(std::filesystem::exists(directory_.File("nowhere")));
  }
}

// Sets fields of a ring's header and of its first slabs to harmful values.
std::string Forged(std::string ring, const std::string& log_path) {
  auto* header = reinterpret_cast<ring::RingHeader*>(ring.data());
  std::strncpy(header->log_path, log_path.c_str(), sizeof header->log_path - 1);
  header->slabs_ready = 0xffffffff;
  header->slab_count = 0xffffffff;
  header->committed = 1;
  header->commit_at = 1;
  for (std::size_t at = ring::kRingHeaderBytes; at + ring::kSlabBytes <= ring.size();
       at += ring::kSlabBytes) {
    auto* slab = reinterpret_cast<ring::SlabHeader*>(ring.data() + at);
    slab->state = ring::SlabState::kSealed;
    slab->published = 0xffffffff;
  }
  return ring;
}

TEST_F(OtherUser, ForgedRingsAreNeitherBelievedNorRemoved) {
  const log::Header header = Killed("g.mprof");
  const std::string log = directory_.File("g.mprof");
  const std::string log_before = ReadText(log);
  const std::string evil = Forged(ReadText(header.ring_path()), log);
  // One beside the real ring, and one of a process that no longer exists, whose log is gone.
  const std::string beside = Plant("memprof-1-00.mprof.ring", evil);
  const std::string alone = Plant("memprof-2-00.mprof.ring",
                                  Forged(ReadText(header.ring_path()), directory_.File("gone")));
  EXPECT_EQ(MemprofRun("next.mprof", {"/bin/true"}).status, 0);
  EXPECT_TRUE(ReadText(log) == log_before);
  EXPECT_TRUE(ReadText(beside) == evil);
  EXPECT_TRUE(std::filesystem::exists(alone));
  EXPECT_EQ(analysis::RemoveOrphanedRings(directory_.path(), std::int64_t{1} << 62), 0);
  // Now in place of the real ring.
  std::filesystem::remove(header.ring_path());
  const std::string instead =
      Plant(std::filesystem::path(header.ring_path()).filename().string(), evil);
  ASSERT_EQ(instead, header.ring_path());
  const auto folded = analysis::FoldRing(log);
  ASSERT_TRUE(folded.ok()) << folded.status();
  EXPECT_EQ(*folded, analysis::FoldResult::kNothingToDo);
  EXPECT_TRUE(ReadText(log) == log_before);
  EXPECT_TRUE(ReadText(instead) == evil);
  const auto session = analysis::LoadLogs({log}, {.find_steps = false});
  ASSERT_TRUE(session.ok()) << session.status();
  const auto& anomalies = (*session)->anomalies();
  EXPECT_EQ(
      std::ranges::count(anomalies, log::Anomaly::kRingGone, &analysis::AnomalyCount::anomaly), 1);
  EXPECT_EQ((*session)->events().size(), ReadLog(log).events.size());
}

TEST_F(OtherUser, FoldingFollowsNoLinkAndWritesToNoForeignLog) {
  const log::Header header = Killed("g.mprof");
  const std::string log = directory_.File("g.mprof");
  const std::string log_before = ReadText(log), ring_before = ReadText(header.ring_path());
  // A log of the other user that names this user's ring.
  const std::string theirs = Plant("theirs.mprof", log_before);
  EXPECT_FALSE(analysis::FoldRing(theirs).ok());
  EXPECT_TRUE(ReadText(theirs) == log_before);
  // A link of the other user to this user's log.
  const std::string link = directory_.File("link.mprof");
  std::filesystem::create_symlink(log, link);
  EXPECT_FALSE(analysis::FoldRing(link).ok());
  EXPECT_TRUE(ReadText(log) == log_before);
  // A link in place of the ring.
  std::filesystem::rename(header.ring_path(), directory_.File("moved"));
  std::filesystem::create_symlink(directory_.File("moved"), header.ring_path());
  const auto folded = analysis::FoldRing(log);
  EXPECT_TRUE(folded.ok() && *folded == analysis::FoldResult::kNothingToDo) << folded.status();
  EXPECT_TRUE(ReadText(log) == log_before);
  EXPECT_TRUE(ReadText(directory_.File("moved")) == ring_before);
  // A user may read another user's log if its permissions allow, and root also finds its ring.
  std::filesystem::remove(header.ring_path());
  std::filesystem::rename(directory_.File("moved"), header.ring_path());
  ASSERT_EQ(chown(log.c_str(), kOther, kOther), 0);
  ASSERT_EQ(chown(header.ring_path().c_str(), kOther, kOther), 0);
  const auto session = analysis::LoadLogs({log}, {.find_steps = false});
  ASSERT_TRUE(session.ok()) << session.status();
  EXPECT_EQ(std::ranges::count(Column((*session)->events(), &analysis::EventTable::op),
                               analysis::Op::kAlloc),
            5000);
}

TEST_F(OtherUser, ReadersDoNotWaitForAPipe) {
  const std::string pipe = directory_.File("pipe.mprof");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0666), 0);
  EXPECT_FALSE(analysis::LoadLogs({pipe}, {.find_steps = false}).ok());
  EXPECT_FALSE(analysis::FoldRing(pipe).ok());
}

}  // namespace
}  // namespace memprof::testing
