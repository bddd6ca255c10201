// The ways into a running program: by its Python, into a container, to another user's.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/integration/dumped.h"
#include "tests/integration/harness.h"
#include "tests/support/paths.h"

namespace memprof::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

// A program that says what it does, and ends when its input does.
class Talking {
 public:
  Talking(std::vector<std::string> words, const std::string& folder) {
    int in[2], out[2];
    if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0) std::abort();
    pid_ = fork();
    if (pid_ == 0) {
      dup2(in[0], 0);
      dup2(out[1], 1);
      std::vector<char*> arguments;
      for (std::string& word : words) arguments.push_back(word.data());
      arguments.push_back(nullptr);
      if (chdir(folder.c_str()) == 0) execvp(arguments[0], arguments.data());
      _exit(127);
    }
    close(in[0]);
    close(out[1]);
    in_ = in[1];
    out_ = fdopen(out[0], "r");
  }
  ~Talking() {
    if (pid_ > 0) kill(pid_, SIGKILL);
    End();
    fclose(out_);
  }
  Talking(const Talking&) = delete;
  Talking& operator=(const Talking&) = delete;

  pid_t pid() const { return pid_; }
  std::string Line() {
    char line[256] = "";
    if (fgets(line, sizeof line, out_) == nullptr) return "";
    return std::string(line, strcspn(line, "\n"));
  }
  // Its status.
  int End() {
    if (in_ >= 0) close(std::exchange(in_, -1));
    int status = 0;
    if (pid_ > 0) waitpid(std::exchange(pid_, 0), &status, 0);
    return status;
  }

 private:
  pid_t pid_ = 0;
  int in_ = -1;
  FILE* out_ = nullptr;
};

std::string StandIn() { return "LD_LIBRARY_PATH=" + BuildPath("simcuda"); }

class AttachWays : public ::testing::Test {
 protected:
  void SetUp() override {
    if (MEMPROF_IS_SANITIZED) GTEST_SKIP() << "sanitizers want to begin all threads themselves";
  }
  GuestResult Memprof(std::vector<std::string> arguments) {
    GuestOptions options{
        .preload = false, .standin = false, .output = "", .directory = directory_.path()};
    options.arguments = std::move(arguments);
    return RunProgram(BuildPath("bin/memprof"), options);
  }
  void Attach(pid_t pid, const std::string& log, std::vector<std::string> more = {}) {
    std::vector<std::string> words = {"attach", "-o", log, std::to_string(pid)};
    words.insert(words.end(), more.begin(), more.end());
    const GuestResult result = Memprof(words);
    ASSERT_EQ(result.status, 0) << result.err;
  }
  void Detach(pid_t pid, const std::string& log) {
    const GuestResult result = Memprof({"detach", "-o", log, std::to_string(pid)});
    ASSERT_EQ(result.status, 0) << result.err;
    EXPECT_THAT(result.out, HasSubstr(directory_.File(log)));
  }
  // The log is whole, and has what the guest did meanwhile.
  void CheckLog(const std::string& name, const std::string& way) {
    const GuestResult report = Memprof({"report", name});
    EXPECT_EQ(report.status, 0) << report.err;
    EXPECT_THAT(report.out, HasSubstr("ended cleanly"));
    EXPECT_THAT(report.out, HasSubstr("attach on (" + way + ")"));
    const Totals totals = Replay(ReadLog(directory_.File(name)).ByTime());
    EXPECT_GT(totals.allocations, 10u);
    EXPECT_LE(totals.unmatched, 1u);  // between an allocation and its free
    EXPECT_EQ(totals.peak_bytes, 4096u);
  }
  static std::vector<std::string> FoldersIn(const std::string& tmp) {
    std::vector<std::string> found;
    for (const fs::directory_entry& entry : fs::directory_iterator(tmp))
      if (fs::exists(entry.path() / "made-by-memprof-attach")) found.push_back(entry.path());
    return found;
  }

  TempDirectory directory_;
};

std::string NewPython() {
  if (const char* named = std::getenv("MEMPROF_PYTHON_3_14")) return named;
  std::istringstream path(std::getenv("PATH"));
  for (std::string folder; std::getline(path, folder, ':');)
    if (access((folder + "/python3.14").c_str(), X_OK) == 0) return folder + "/python3.14";
  return "";
}

class AttachByPython : public AttachWays {
 protected:
  void SetUp() override {
    AttachWays::SetUp();
    if (IsSkipped()) return;
    if (NewPython().empty()) GTEST_SKIP() << "no python3.14 in PATH, nor MEMPROF_PYTHON_3_14";
  }
  std::vector<std::string> Words(std::vector<std::string> settings, std::string mode = "") {
    std::vector<std::string> words = {"env", StandIn()};
    words.insert(words.end(), settings.begin(), settings.end());
    words.insert(words.end(), {NewPython(), paths::kAttachGuest});
    if (!mode.empty()) words.push_back(mode);
    return words;
  }
};

TEST_F(AttachByPython, StopsNothingAndLeavesNothing) {
  const std::vector<std::string> before = FoldersIn("/tmp");
  Talking guest(Words({}), directory_.path());
  ASSERT_EQ(guest.Line(), "ready");
  for (const char* log : {"a.mprof", "b.mprof"}) {
    Attach(guest.pid(), log);
    usleep(300'000);
    Detach(guest.pid(), log);
    CheckLog(log, "remote_exec");
  }
  EXPECT_EQ(FoldersIn("/tmp"), before);
  EXPECT_EQ(guest.End(), 0);
}

TEST_F(AttachByPython, IsNotUsedWhereItIsForbiddenOrNotWanted) {
  Talking forbidden(Words({"PYTHON_DISABLE_REMOTE_DEBUG=1"}), directory_.path());
  ASSERT_EQ(forbidden.Line(), "ready");
  Attach(forbidden.pid(), "a.mprof");
  usleep(300'000);
  Detach(forbidden.pid(), "a.mprof");
  CheckLog("a.mprof", "ptrace");
  Talking guest(Words({}), directory_.path());
  ASSERT_EQ(guest.Line(), "ready");
  Attach(guest.pid(), "b.mprof", {"--no-python"});
  usleep(300'000);
  Detach(guest.pid(), "b.mprof");
  CheckLog("b.mprof", "ptrace");
}

// What it was asked is taken back: nothing is said of a file that is not there any more.
TEST_F(AttachByPython, DoesNotWaitForALongCall) {
  std::vector<std::string> words = Words({}, "asleep");
  words.insert(words.begin(), {"sh", "-c", "exec \"$@\" 2>errors", "sh"});
  Talking guest(words, directory_.path());
  ASSERT_EQ(guest.Line(), "ready");
  Attach(guest.pid(), "a.mprof");
  usleep(4'500'000);
  Detach(guest.pid(), "a.mprof");
  CheckLog("a.mprof", "ptrace");
  EXPECT_EQ(guest.End(), 0);
  EXPECT_THAT(ReadText(directory_.File("errors")), IsEmpty());
}

// A program with another root, /tmp and numbers of processes, in which nothing of memprof is.
class AttachToContainer : public AttachWays {
 protected:
  void SetUp() override {
    AttachWays::SetUp();
    if (IsSkipped()) return;
    if (geteuid() != 0) GTEST_SKIP() << "only root can make a container";
    if (std::system("unshare --mount --pid --fork true 2>/dev/null") != 0)
      GTEST_SKIP() << "no namespaces can be made here";
    for (const char* folder : {"tmp", "proc", "libraries"})
      fs::create_directories(root_ + "/" + folder);
    CopyWithLibraries(GuestPath("guest_attach_loop"), "guest");
    for (const char* library : {"libcuda.so.1", "libcupti.so.13", "libcudart.so.13"})
      CopyWithLibraries(BuildPath(std::string("simcuda/") + library),
                        std::string("libraries/") + library);
  }
  void CopyWithLibraries(const std::string& file, const std::string& name) {
    const auto copy = [](const fs::path& from, const fs::path& to) {
      fs::create_directories(to.parent_path());
      fs::copy_file(from, to, fs::copy_options::skip_existing);
    };
    copy(file, root_ + "/" + name);
    FILE* lines = popen((StandIn() + " ldd " + file).c_str(), "r");
    for (char line[1024]; fgets(line, sizeof line, lines) != nullptr;) {
      const std::string text = line;
      const std::size_t begin = text.find('/'), end = text.find(" (");
      if (begin == std::string::npos || end == std::string::npos || end < begin) continue;
      const fs::path path = text.substr(begin, end - begin);
      const bool is_loader = path.filename().string().rfind("ld-", 0) == 0;
      copy(path,
           is_loader ? root_ + path.string() : root_ + "/libraries/" + path.filename().string());
    }
    pclose(lines);
  }
  std::vector<std::string> Words(const std::string& user = "") {
    return {
        "unshare",
        "--mount",
        "--pid",
        "--fork",
        "sh",
        "-c",
        "mount -t tmpfs none $1/tmp && chmod 1777 $1/tmp && mount -t proc none $1/proc && shift && "
        "exec env LD_LIBRARY_PATH=/libraries chroot " +
            user + " \"$@\"",
        "sh",
        root_,
        root_,
        "/guest"};
  }
  // As it is numbered here.
  static pid_t Inside(pid_t unshare) {
    const std::string number = std::to_string(unshare);
    return std::atoi(ReadText("/proc/" + number + "/task/" + number + "/children").c_str());
  }

  const std::string root_ = directory_.File("root");
};

TEST_F(AttachToContainer, BringsTheLogHomeAndLeavesNothing) {
  for (const char* user : {"", "--userspec=65534:65534"}) {
    SCOPED_TRACE(user);
    Talking guest(Words(user), directory_.path());
    ASSERT_EQ(guest.Line(), "ready");
    const pid_t pid = Inside(guest.pid());
    const std::string tmp = "/proc/" + std::to_string(pid) + "/root/tmp";
    // Also a second time, when the files of the recorder are gone.
    for (const char* log : {"a.mprof", "b.mprof"}) {
      Attach(pid, log);
      EXPECT_EQ(FoldersIn(tmp).size(), 1u);
      usleep(300'000);
      Detach(pid, log);
      CheckLog(log, "ptrace");
      EXPECT_THAT(FoldersIn(tmp), IsEmpty());
    }
    Attach(pid, "c.mprof", {"--for", "1"});
    CheckLog("c.mprof", "ptrace");
    EXPECT_THAT(FoldersIn(tmp), IsEmpty());
    EXPECT_EQ(guest.End(), 0);
    EXPECT_THAT(guest.Line(), StartsWith("ended "));
  }
}

// Who is in the container can put anything there: neither links are followed, nor is anything
// written elsewhere.
TEST_F(AttachToContainer, FollowsNoLinksOfTheContainer) {
  Talking guest(Words("--userspec=65534:65534"), directory_.path());
  ASSERT_EQ(guest.Line(), "ready");
  const pid_t pid = Inside(guest.pid());
  const std::string tmp = "/proc/" + std::to_string(pid) + "/root/tmp";
  Attach(pid, "a.mprof");
  ASSERT_EQ(FoldersIn(tmp).size(), 1u);
  const std::string folder = FoldersIn(tmp)[0];
  std::ofstream(tmp + "/secret") << "secret";
  fs::rename(folder + "/log.mprof", folder + "/moved");
  fs::create_symlink("../secret", folder + "/log.mprof");
  fs::create_directory_symlink("..", folder + "/up");
  const GuestResult refused = Memprof({"detach", "-o", "a.mprof", std::to_string(pid)});
  EXPECT_EQ(refused.status, 1);
  EXPECT_THAT(refused.err, HasSubstr("log.mprof"));
  EXPECT_FALSE(fs::exists(directory_.File("a.mprof")));
  EXPECT_EQ(ReadText(tmp + "/secret"), "secret");
}

// With the container its files vanish; the log is still held.
TEST_F(AttachToContainer, AKilledProgramsLogIsBroughtHome) {
  Talking guest(Words(), directory_.path());
  ASSERT_EQ(guest.Line(), "ready");
  const std::string pid = std::to_string(Inside(guest.pid()));
  Talking memprof({BuildPath("bin/memprof"), "attach", "-o", "a.mprof", "--for", "60", pid},
                  directory_.path());
  ASSERT_THAT(memprof.Line(), StartsWith("Recording process"));
  usleep(300'000);
  kill(std::atoi(pid.c_str()), SIGKILL);
  EXPECT_THAT(memprof.Line(), HasSubstr(directory_.File("a.mprof")));
  EXPECT_EQ(memprof.End(), 0);
  EXPECT_THAT(Memprof({"report", "a.mprof"}).out, HasSubstr("ended without closing its log"));
}

// A container of which /tmp is a link is not entered.
TEST_F(AttachToContainer, RefusesATmpThatIsALink) {
  std::vector<std::string> words = Words();
  words[6] =
      "rmdir $1/tmp; mkdir $1/real; ln -s real $1/tmp; shift; "
      "exec env LD_LIBRARY_PATH=/libraries chroot \"$@\"";
  Talking guest(words, directory_.path());
  ASSERT_EQ(guest.Line(), "ready");
  const GuestResult refused =
      Memprof({"attach", "-o", "a.mprof", std::to_string(Inside(guest.pid()))});
  EXPECT_EQ(refused.status, 1);
  EXPECT_THAT(refused.err, HasSubstr("/tmp of process"));
}

// The C library is told by what is mapped: here a program has an old one mapped too.
TEST_F(AttachWays, OldGlibcIsToldBeforeAnythingIsChanged) {
  Talking guest({MEMPROF_TEST_PYTHON, "-c",
                 "import mmap, sys\n"
                 "with open(sys.argv[1], 'rb') as file:\n"
                 "  old = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ | mmap.PROT_EXEC)\n"
                 "print('ready', flush=True)\nsys.stdin.read()\n",
                 GuestPath("old_glibc/libc.so.6")},
                directory_.path());
  ASSERT_EQ(guest.Line(), "ready");
  const GuestResult refused = Memprof({"attach", "-o", "a.mprof", std::to_string(guest.pid())});
  EXPECT_EQ(refused.status, 1);
  EXPECT_THAT(refused.err, HasSubstr(", and the recorder needs "));
  EXPECT_FALSE(fs::exists(directory_.File("a.mprof")));
}

class AttachToOtherUser : public AttachWays {};

TEST_F(AttachToOtherUser, IsOneClearLine) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can act for a second user";
  Talking guest({"env", StandIn(), GuestPath("guest_attach_loop")}, directory_.path());
  ASSERT_EQ(guest.Line(), "ready");
  // Its own copy of memprof, as the folder of the build may not be readable.
  const std::string command = "setpriv --reuid 65534 --regid 65534 --clear-groups " +
                              BuildPath("bin/memprof") + " attach -o /tmp/none.mprof " +
                              std::to_string(guest.pid()) + " 2>&1";
  FILE* out = popen(command.c_str(), "r");
  char line[512] = "";
  ASSERT_NE(fgets(line, sizeof line, out), nullptr);
  EXPECT_STREQ(line, ("memprof: process " + std::to_string(guest.pid()) +
                      " belongs to user root: run memprof as that user or as root\n")
                         .c_str());
  EXPECT_EQ(fgets(line, sizeof line, out), nullptr);
  pclose(out);
}

TEST_F(AttachToOtherUser, RootBringsTheLogHome) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can act for a second user";
  Talking guest({"setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "env",
                 StandIn(), GuestPath("guest_attach_loop")},
                directory_.path());
  ASSERT_EQ(guest.Line(), "ready");
  Attach(guest.pid(), "a.mprof");
  usleep(300'000);
  Detach(guest.pid(), "a.mprof");
  CheckLog("a.mprof", "ptrace");
  EXPECT_EQ(guest.End(), 0);
}

}  // namespace
}  // namespace memprof::testing
