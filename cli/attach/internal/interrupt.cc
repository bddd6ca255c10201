// ptrace: stops a thread, changes where it goes on, lets it go. If memprof ends at any moment, the
// system lets the thread go: either nothing was changed yet, or the stub puts everything back.
#include "cli/attach/internal/interrupt.h"

#include <errno.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cli/attach/internal/safe_stack.h"
#include "cli/console/text.h"

#if defined(__x86_64__)
namespace memprof::cli {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// Calls that the system begins again by itself after a stop, so that the program does not notice:
// those that threads wait in most.
constexpr std::array kRestarted = {SYS_futex,    SYS_poll,   SYS_ppoll,     SYS_select,
                                   SYS_pselect6, SYS_wait4,  SYS_nanosleep, SYS_clock_nanosleep,
                                   SYS_read,     SYS_waitid, SYS_recvfrom,  SYS_recvmsg,
                                   SYS_accept,   SYS_accept4};
// Calls that return EINTR instead, those on sockets if these have a time limit (SO_RCVTIMEO). They
// have done nothing then: we begin them again, and their time begins again too.
constexpr std::array kInterrupted = {
    SYS_epoll_wait, SYS_epoll_pwait, SYS_epoll_pwait2,    SYS_semop,   SYS_semtimedop,
    SYS_read,       SYS_recvfrom,    SYS_recvmsg,         SYS_accept,  SYS_accept4,
    SYS_recvmmsg,   SYS_msgrcv,      SYS_rt_sigtimedwait, SYS_sendmsg, SYS_sendto};
// Codes of the system for a call that is to begin again; never seen by programs.
enum : long {
  kRestartSys = -512,
  kRestartNoIntr = -513,
  kRestartNoHand = -514,
  kRestartBlock = -516
};

template <std::size_t kCount>
bool IsOneOf(const std::array<int, kCount>& calls, long number) {
  return std::find(calls.begin(), calls.end(), number) != calls.end();
}

// What the thread is in, without stopping it: the lower, the less it notices.
int Rank(pid_t pid, pid_t thread) {
  std::ifstream file(Cat("/proc/", pid, "/task/", thread, "/syscall"));
  long number = -1;
  if (!(file >> number)) return 1;  // "running"
  return IsOneOf(kRestarted, number) ? 0 : IsOneOf(kInterrupted, number) ? 2 : 3;
}

std::vector<pid_t> Ranked(pid_t pid) {
  std::vector<std::pair<int, pid_t>> ranked;
  for (const pid_t thread : ThreadsOf(pid)) ranked.emplace_back(Rank(pid, thread), thread);
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<pid_t> threads;
  for (const auto& [rank, thread] : ranked) threads.push_back(thread);
  return threads;
}

// A thread that is stopped as long as this lives.
class Stopped {
 public:
  explicit Stopped(pid_t thread) : thread_(thread) {
    if (ptrace(PTRACE_SEIZE, thread, nullptr, nullptr) != 0) {
      error_ = errno;
      return;
    }
    seized_ = true;
    if (ptrace(PTRACE_INTERRUPT, thread, nullptr, nullptr) == 0) Wait();
  }
  ~Stopped() {
    if (stopped_) ptrace(PTRACE_DETACH, thread_, nullptr, signal_);
  }
  Stopped(const Stopped&) = delete;
  Stopped& operator=(const Stopped&) = delete;

  // Stopped by us; not on the way to a handler of a signal, or in a stop of the whole process.
  bool usable() const { return stopped_ && signal_ == 0; }
  // Seized, and does not stop: in the kernel, without an end in sight. It stays ours.
  bool stuck() const { return seized_ && !stopped_ && !gone_; }
  int error() const { return error_; }

 private:
  void Wait() {
    constexpr auto kMost = std::chrono::milliseconds(200);
    for (const auto end = Clock::now() + kMost; Clock::now() < end;) {
      int status = 0;
      const pid_t changed = waitpid(thread_, &status, __WALL | WNOHANG);
      if (changed == thread_ && WIFSTOPPED(status)) {
        stopped_ = true;
        if (status >> 16 != PTRACE_EVENT_STOP)
          signal_ = WSTOPSIG(status);
        else if (WSTOPSIG(status) != SIGTRAP)
          signal_ = WSTOPSIG(status);
        return;
      }
      if (changed < 0 || (changed == thread_ && !WIFSTOPPED(status))) {
        gone_ = true;
        return;
      }
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }

  pid_t thread_;
  int error_ = 0;
  long signal_ = 0;  // is delivered when the thread goes on
  bool seized_ = false, stopped_ = false, gone_ = false;
};

// So that the thread goes on as the system would have let it: a call that was to begin again begins
// again. No handler has run if it says EINTR here: only we have interrupted it.
void LeaveCall(user_regs_struct* registers) {
  constexpr std::uint64_t kCallBytes = 2;  // of the instruction `syscall`
  const std::uint64_t call = std::exchange(registers->orig_rax, ~0ull);  // left to us
  if (static_cast<long>(call) < 0) return;
  switch (static_cast<long>(registers->rax)) {
    case kRestartSys:
    case kRestartNoIntr:
    case kRestartNoHand:
      registers->rax = call;
      break;
    case kRestartBlock:
      registers->rax = SYS_restart_syscall;
      break;
    case -EINTR:
      if (!IsOneOf(kInterrupted, static_cast<long>(call))) return;
      registers->rax = call;
      break;
    default:
      return;
  }
  registers->rip -= kCallBytes;
}

bool Write(pid_t thread, std::uint64_t address, const std::string& bytes) {
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(long)) {
    long word = 0;
    std::memcpy(&word, bytes.data() + at, std::min(sizeof word, bytes.size() - at));
    if (ptrace(PTRACE_POKEDATA, thread, address + at, word) != 0) return false;
  }
  return true;
}

absl::Status NotAllowed(pid_t pid) {
  return absl::PermissionDeniedError(Cat("process ", pid, " may not be traced"));
}

absl::Status Enter(const Target& target, pid_t thread, StubParts parts, std::uint64_t gap) {
  user_regs_struct registers{};
  if (ptrace(PTRACE_GETREGS, thread, nullptr, &registers) != 0)
    return absl::UnavailableError("its registers cannot be read");
  LeaveCall(&registers);
  static_assert(offsetof(user_regs_struct, rsp) + sizeof registers.rsp == sizeof parts.registers);
  std::memcpy(parts.registers.data(), &registers, sizeof parts.registers);
  if (!Write(thread, gap, MakeStub(parts, gap)))
    return absl::UnavailableError(
        Cat("the memory of process ", target.pid(), " cannot be written: ", strerror(errno)));
  registers.rip = gap;
  if (ptrace(PTRACE_SETREGS, thread, nullptr, &registers) != 0)
    return absl::UnavailableError("its registers cannot be set");
  return absl::OkStatus();
}

absl::Status InUse(pid_t pid) {
  return absl::FailedPreconditionError(Cat("process ", pid,
                                           " is being attached to already: the code of an earlier "
                                           "'memprof attach' still waits in it"));
}

bool IsInUse(const Target& target, std::uint64_t gap) {
  return StubIsInUse(gap, [&](std::uint64_t address, void* to, std::size_t bytes) {
    return target.Read(address, to, bytes);
  });
}

absl::Status TryThreads(const Target& target, const StubParts& parts, std::uint64_t gap,
                        milliseconds limit) {
  SafeStacks stacks(target.task());
  std::set<pid_t> stuck;
  const auto begin = Clock::now(), end = begin + limit;
  for (auto now = begin; now < end; now = Clock::now()) {
    const bool whole = now < begin + limit / 2;
    for (const pid_t thread : Ranked(target.pid())) {
      if (stuck.count(thread) != 0) continue;
      const Stopped stopped(thread);
      if (stopped.error() == EPERM && Lives(thread)) {
        absl::Status traced = CheckTracer(target.pid(), thread);
        return traced.ok() ? NotAllowed(target.pid()) : traced;
      }
      if (stopped.stuck()) stuck.insert(thread);
      if (!stopped.usable() || !stacks.MayInterrupt(thread, whole)) continue;
      return IsInUse(target, gap) ? InUse(target.pid()) : Enter(target, thread, parts, gap);
    }
    std::this_thread::sleep_for(milliseconds(3));
  }
  return absl::DeadlineExceededError(Cat("no thread of process ", target.pid(),
                                         " was at a place where it may be interrupted; try "
                                         "again"));
}

absl::Status Lost() { return absl::InternalError("the process that traces ended early"); }

}  // namespace

absl::StatusOr<std::uint64_t> FindFreeGap(const Target& target, const StubParts& parts,
                                          std::chrono::milliseconds limit) {
  const std::size_t bytes = MakeStub(parts, 0).size();
  const std::optional<std::uint64_t> gap = target.FindGap(bytes);
  if (!gap)
    return absl::FailedPreconditionError(Cat("no library of process ", target.pid(), " has ", bytes,
                                             " unused bytes beside its code"));
  for (const auto end = Clock::now() + limit; IsInUse(target, *gap);) {
    if (Clock::now() >= end) return InUse(target.pid());
    std::this_thread::sleep_for(milliseconds(5));
  }
  return *gap;
}

// In a child: with its end, the system lets go of every thread, also of those that did not stop in
// time.
absl::Status RunStub(const Target& target, const StubParts& parts, std::uint64_t gap,
                     std::chrono::milliseconds limit) {
  int ends[2];
  if (pipe(ends) != 0) return Lost();
  const pid_t child = fork();
  if (child == 0) {
    const absl::Status status = TryThreads(target, parts, gap, limit);
    const std::string text =
        Cat(std::string(1, static_cast<char>('0' + static_cast<int>(status.code()))),
            std::string(status.message()));
    _exit(write(ends[1], text.data(), text.size()) == static_cast<ssize_t>(text.size()) ? 0 : 1);
  }
  close(ends[1]);
  char text[1024];
  const ssize_t bytes = child < 0 ? 0 : read(ends[0], text, sizeof text);
  close(ends[0]);
  if (child > 0) waitpid(child, nullptr, 0);
  if (bytes < 1) return Lost();
  return {static_cast<absl::StatusCode>(text[0] - '0'),
          std::string(text + 1, static_cast<std::size_t>(bytes - 1))};
}

}  // namespace memprof::cli
#else
namespace memprof::cli {

absl::StatusOr<std::uint64_t> FindFreeGap(const Target&, const StubParts&,
                                          std::chrono::milliseconds) {
  return absl::UnimplementedError("there is no stub for this processor");
}
absl::Status RunStub(const Target&, const StubParts&, std::uint64_t, std::chrono::milliseconds) {
  return absl::UnimplementedError("there is no stub for this processor");
}

}  // namespace memprof::cli
#endif
