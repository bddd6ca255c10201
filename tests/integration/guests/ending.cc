// A guest whose threads are cancelled, and whose main thread ends before the others. It looks the
// driver up by name, so that a driver without locks can replace it: threads are cancelled at any
// instruction, and a lock of the driver must not be the cause of a hang.
//
//   ending cancel HOW    HOW: deferred, or async. Threads are cancelled anywhere in allocations
//                        while others continue; at the end all that continue are counted
//   ending first WHO     the main thread ends by pthread_exit; another thread allocates before
//                        that (WHO = before) or for a time after it (after); an exit handler
//                        allocates too
//   ending alone HOW     the last thread ends with status 38 by the bare system call (raw), or is
//                        killed by a filter of system calls (killed); it is the main thread, or
//                        another one that ends 0.2 s after it, with status 5 (other)
//   ending leave HOW     handlers of signals leave wherever they came: by siglongjmp, while another
//                        thread allocates (jump), or the first by exit(3) (exit)
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "../../families/driver.h"

namespace {

decltype(&cuMemAlloc_v2) g_allocate = nullptr;
decltype(&cuMemFree_v2) g_free = nullptr;
CUcontext g_context = nullptr;

void Open() {
  OpenDriver();
  MUST(SYMBOL(cuDevicePrimaryCtxRetain)(&g_context, 0));
  MUST(SYMBOL(cuCtxSetCurrent)(g_context));
  g_allocate = SYMBOL(cuMemAlloc_v2);
  g_free = SYMBOL(cuMemFree_v2);
}

void Pair(std::size_t bytes) {
  CUdeviceptr pointer = 0;
  MUST(g_allocate(&pointer, bytes));
  MUST(g_free(pointer));
}

// Every call has a new stack, which the recorder does not know yet.
__attribute__((noinline)) void PairFrom(unsigned way) {
  if (way == 0) return Pair(16);
  if ((way & 1) != 0) PairFrom(way >> 1);
  if ((way & 1) == 0) PairFrom(way >> 1);  // a separate call site
  asm volatile("" : : "r"(way));
}

std::atomic<int> g_ready{0};
// the C library itself sometimes loses an asynchronous cancellation
std::atomic<bool> g_stop{false};

// Cancels itself; the cancellation takes effect at the next cancellation point, at the end.
void* Deferred(void*) {
  SYMBOL(cuCtxSetCurrent)(g_context);
  pthread_cancel(pthread_self());
  Pair(1 << 10);
  pthread_testcancel();
  std::_Exit(7);
}

void* Asynchronous(void*) {
  SYMBOL(cuCtxSetCurrent)(g_context);
  pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, nullptr);
  ++g_ready;
  for (unsigned i = 1; !g_stop; i = i * 5 + 1) PairFrom(i & 0xffff);
  return nullptr;
}

int Cancel(bool deferred) {
  for (int round = 0; round < 20; ++round) {
    std::vector<pthread_t> threads(10);
    g_ready = 0;
    g_stop = false;
    for (pthread_t& thread : threads)
      if (pthread_create(&thread, nullptr, deferred ? Deferred : Asynchronous, nullptr) != 0)
        return 5;
    while (!deferred && g_ready < static_cast<int>(threads.size())) usleep(50);
    unsigned delay = 1;
    for (pthread_t thread : threads) {
      if (!deferred) {
        usleep(delay = (delay * 7 + static_cast<unsigned>(round)) % 300);
        pthread_cancel(thread);
      }
    }
    g_stop = true;
    for (pthread_t thread : threads) pthread_join(thread, nullptr);
    Pair(100);
  }
  std::printf("went on\n");
  return 0;
}

void AtExit() {
  Pair(3000);
  std::printf("exit handler\n");
  std::fflush(stdout);
}

void LeaveFirst(bool before) {
  std::atexit(AtExit);
  Pair(1000);
  std::thread other([before] {
    SYMBOL(cuCtxSetCurrent)(g_context);
    if (!before) usleep(50'000);
    Pair(2000);
  });
  if (before)
    other.join();
  else
    other.detach();
  pthread_exit(nullptr);
}

[[noreturn]] void LeaveAnother() {
  std::thread([] {
    SYMBOL(cuCtxSetCurrent)(g_context);
    usleep(200'000);
    Pair(2000);
    syscall(SYS_exit, 5);
  }).detach();
  for (;;) syscall(SYS_exit, 38);
}

int EndAlone(bool killed) {
  Pair(1000);
  if (!killed) syscall(SYS_exit, 38);
  sock_filter code[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
                        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_THREAD),
                        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  const sock_fprog program{4, code};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
    return 6;
  syscall(SYS_getppid);
  return 7;
}

sigjmp_buf g_back;
volatile int g_left = 0;
volatile unsigned g_way = 1;

unsigned NextWay() {
  g_way = g_way * 5 + 1;
  return g_way & 0xffff;
}

void JumpOut(int) {
  g_left = g_left + 1;
  siglongjmp(g_back, 1);
}
void Exit(int) { exit(3); }

void EveryMicroseconds(long interval) {
  itimerval timer{};
  timer.it_value.tv_usec = timer.it_interval.tv_usec = interval;
  setitimer(ITIMER_REAL, &timer, nullptr);
}

int Leave(bool jump) {
  struct sigaction action {};
  action.sa_handler = jump ? JumpOut : Exit;
  if (jump) action.sa_flags = SA_NODEFER;  // an exit within an exit would wait for its lock
  sigset_t alarm;
  sigemptyset(&alarm);
  sigaddset(&alarm, SIGALRM);
  pthread_sigmask(SIG_BLOCK, &alarm, nullptr);
  std::thread other([] {
    SYMBOL(cuCtxSetCurrent)(g_context);
    for (unsigned way = 1; !g_stop; way = way * 5 + 3) PairFrom(way & 0xffff);
  });
  sigaction(SIGALRM, &action, nullptr);
  pthread_sigmask(SIG_UNBLOCK, &alarm, nullptr);
  EveryMicroseconds(jump ? 200 : 3000 + getpid() % 1000);
  sigsetjmp(g_back, 1);
  while (g_left < 3000) PairFrom(NextWay());
  EveryMicroseconds(0);
  g_stop = true;
  other.join();
  Pair(100);
  std::printf("went on\n");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 9;
  const std::string what = argv[1], how = argv[2];
  Open();
  if (what == "cancel") return Cancel(how == "deferred");
  if (what == "alone" && how == "other") LeaveAnother();
  if (what == "alone") return EndAlone(how == "killed");
  if (what == "leave") return Leave(how == "jump");
  LeaveFirst(how == "before");
}
