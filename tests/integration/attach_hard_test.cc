// `memprof attach` and `detach` with programs that leave little room for it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/integration/attach_program.h"

namespace memprof::testing {
namespace {

using ::testing::HasSubstr;

class Guest : public Program {
 public:
  Guest(const TempDirectory& directory, const std::string& how,
        const std::string& name = "guest_attach_hard")
      : Program(directory, how, false, {}, name) {}
};

class AttachHard : public AttachTest {
 protected:
  GuestResult Attach(const Program& program, std::vector<std::string> more = {}) {
    std::vector<std::string> words = {"attach", "--no-python", "-o", "a.mprof"};
    words.insert(words.end(), more.begin(), more.end());
    words.push_back(program.pid());
    return Memprof(directory_, words);
  }
  GuestResult Detach(const Program& program) {
    return Memprof(directory_, {"detach", program.pid()});
  }
  void ExpectLog() {
    const GuestResult report = Memprof(directory_, {"report", directory_.File("a.mprof")});
    EXPECT_EQ(report.status, 0) << report.err;
    EXPECT_THAT(report.out, HasSubstr("ended cleanly"));
  }
  // A program that does `how` is recorded, goes on, and its log is whole.
  void GoesOn(const std::string& how, bool detaches) {
    Guest guest(directory_, how);
    guest.Go(3);
    const GuestResult attached = Attach(guest);
    ATTACH_OR_SKIP(attached);
    guest.Go(10);
    if (detaches) {
      const GuestResult detached = Detach(guest);
      EXPECT_EQ(detached.status, 0) << detached.err;
      guest.Go(3);
    }
    EXPECT_EQ(guest.End(), 0);
    ExpectLog();
  }
  static bool Refused(const GuestResult& result, const std::string& why) {
    return result.status == 1 && result.err.find(why) != std::string::npos &&
           std::count(result.err.begin(), result.err.end(), '\n') == 1;
  }

  const TempDirectory directory_;
};

TEST_F(AttachHard, ThreadsThatEndedByTheBareCallDoNotHinderDetach) {
  GoesOn("bare", /*detaches=*/true);
}

TEST_F(AttachHard, AMainThreadThatLeavesEndsTheProcessWithTheLastThread) {
  GoesOn("leaves", /*detaches=*/false);
}

TEST_F(AttachHard, AMainThreadThatHasLeftIsNotTheEndOfTheProcess) {
  GoesOn("left", /*detaches=*/true);
}

// It may have come in the middle of malloc, and the earlier log is kept.
TEST_F(AttachHard, AThreadInAHandlerOfASignalIsLeftAlone) {
  Guest guest(directory_, "handler");
  guest.Go(3);
  std::ofstream(directory_.File("a.mprof")) << "MEMPROF\n" << std::string(100, 'x');
  const std::string before = ReadText(directory_.File("a.mprof"));
  const GuestResult attached = Attach(guest);
  if (attached.err.find("needs an x86-64") != std::string::npos) GTEST_SKIP() << attached.err;
  EXPECT_TRUE(Refused(attached, "was at a place where it may be interrupted")) << attached.err;
  EXPECT_EQ(guest.End(), 0);
  EXPECT_EQ(ReadText(directory_.File("a.mprof")), before);
}

TEST_F(AttachHard, AThreadInAnAllocatorOfTheExecutableIsLeftAlone) {
  Guest guest(directory_, "", "guest_own_malloc");
  guest.Go(3);
  const GuestResult attached = Attach(guest);
  if (attached.err.find("needs an x86-64") != std::string::npos) GTEST_SKIP() << attached.err;
  EXPECT_TRUE(Refused(attached, "was at a place where it may be interrupted")) << attached.err;
  EXPECT_EQ(guest.End(), 0);
}

TEST_F(AttachHard, TheSecondOneIsRefusedWhileTheFirstOneWaits) {
  Guest guest(directory_, "loading");
  guest.Go(1);
  GuestResult first;
  std::thread other([&] { first = Attach(guest); });
  usleep(1'000'000);
  const GuestResult second = Memprof(directory_, {"attach", "--no-python", guest.pid()});
  const bool possible = second.err.find("needs an x86-64") == std::string::npos;
  EXPECT_TRUE(!possible || Refused(second, "is being attached to already")) << second.err;
  EXPECT_EQ(guest.End(), 0);
  other.join();
}

TEST_F(AttachHard, NothingBelowASmallStackChanges) {
  Guest guest(directory_, "small");
  guest.Go(3);
  const GuestResult attached = Attach(guest);
  ATTACH_OR_SKIP(attached);
  guest.Go(3);
  EXPECT_EQ(guest.End(), 0);
}

TEST_F(AttachHard, CallsThatOtherwiseReturnEintrGoOnWaiting) {
  for (const char* how : {"epoll", "receive"}) {
    Guest guest(directory_, how);
    guest.Go(1);
    usleep(200'000);
    const GuestResult attached = Attach(guest);
    ATTACH_OR_SKIP(attached);
    usleep(200'000);
    EXPECT_EQ(Detach(guest).status, 0);
    EXPECT_EQ(guest.End(), 0) << how;
  }
}

TEST_F(AttachHard, AFilterOfSystemCallsNeedsForce) {
  Guest guest(directory_, "filtered");
  guest.Go(3);
  const GuestResult refused = Attach(guest);
  EXPECT_TRUE(Refused(refused, "has a seccomp filter")) << refused.err;
  const GuestResult attached = Attach(guest, {"--force"});
  ATTACH_OR_SKIP(attached);
  EXPECT_EQ(Detach(guest).status, 0);
  EXPECT_EQ(guest.End(), 0);
}

// Where a stack leads through a library that is a pipe by now. It is not followed, nor waited for.
// A debugger, whose program goes on or is stopped.
class Tracer {
 public:
  Tracer(const std::string& pid, bool stops) {
    int ready[2];
    EXPECT_EQ(pipe(ready), 0);
    process_ = fork();
    if (process_ == 0) Trace(std::stoi(pid), stops, ready[1]);
    close(ready[1]);
    char done = 0;
    seized_ = read(ready[0], &done, 1) == 1;
    close(ready[0]);
  }
  ~Tracer() {
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
  }
  bool seized() const { return seized_; }
  std::string pid() const { return std::to_string(process_); }

 private:
  [[noreturn]] static void Trace(pid_t pid, bool stops, int ready) {
    if (ptrace(PTRACE_SEIZE, pid, nullptr, nullptr) != 0) _exit(1);
    if (stops) ptrace(PTRACE_INTERRUPT, pid, nullptr, nullptr);
    if (stops) waitpid(pid, nullptr, __WALL);
    if (write(ready, "", 1) != 1) _exit(1);
    for (;;) pause();
  }
  pid_t process_;
  bool seized_ = false;
};

TEST_F(AttachHard, BesideAnotherTracerItIsRefusedWithItsName) {
  Program program(directory_, "waits");
  program.Go(1);
  for (const bool stops : {false, true}) {
    const Tracer tracer(program.pid(), stops);
    if (!tracer.seized()) GTEST_SKIP() << "no process may be traced here";
    const GuestResult attached = Attach(program);
    if (attached.err.find("needs an x86-64") != std::string::npos) GTEST_SKIP() << attached.err;
    EXPECT_TRUE(Refused(attached, "process " + program.pid() + " is traced already, by process " +
                                      tracer.pid() + " ("))
        << attached.err;
  }
  const GuestResult attached = Attach(program);
  ATTACH_OR_SKIP(attached);
  EXPECT_EQ(program.End(), 0);
}

TEST_F(AttachHard, APipeInThePlaceOfALibraryIsNotOpened) {
  const std::string library = directory_.File("copy.so"), pipe = directory_.File("pipe");
  std::filesystem::copy_file(GuestPath("libguest_gate.so"), library);
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  GuestOptions options{
      .arguments = {"malloc"},
      .environment = {{"LD_PRELOAD", library}, {"GUEST_GATE", directory_.File("gate")}},
      .preload = false,
      .output = "",
      .directory = directory_.path()};
  RunningGuest guest(GuestPath("guest_hardship"), options);
  const std::string pid = std::to_string(guest.pid());
  while (ReadText("/proc/" + pid + "/maps").find("copy.so") == std::string::npos) usleep(10'000);
  if (mount(pipe.c_str(), library.c_str(), nullptr, MS_BIND, nullptr) != 0)
    GTEST_SKIP() << "only root may mount";
  const GuestResult attached = Memprof(directory_, {"attach", "--no-python", "-o", "a.mprof", pid});
  EXPECT_EQ(umount2(library.c_str(), MNT_DETACH), 0);
  std::ofstream(directory_.File("gate")).flush();
  EXPECT_EQ(guest.Wait().status, 0);
  ATTACH_OR_SKIP(attached);
}

}  // namespace
}  // namespace memprof::testing
