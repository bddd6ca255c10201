// The handler only leaves a request: a signal may interrupt anything.
#include "libmemprof/src/lifecycle/signal_switch.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include <atomic>

#include "libmemprof/src/base/sys.h"
#include "libmemprof/src/lifecycle/start.h"

namespace memprof::recorder {
namespace {

constexpr std::uint64_t kMaxWaitNs = 1'000'000'000;

std::atomic<int> g_signal{0};
std::atomic<std::uint32_t> g_came{0};
struct sigaction g_next;  // written before our handler is in place
sigset_t g_mask_of_program;

void OnSignal(int number, siginfo_t* info, void* context) {
  {
    SystemSection section;
    RequestToggle();
    g_came.fetch_add(1, std::memory_order_release);
    FutexWake(&g_came, 1);
  }
  if ((g_next.sa_flags & SA_SIGINFO) != 0) {
    if (g_next.sa_sigaction != nullptr) g_next.sa_sigaction(number, info, context);
  } else if (g_next.sa_handler != SIG_DFL && g_next.sa_handler != SIG_IGN) {
    g_next.sa_handler(number);
  }
}

void* Await(void*) {
  pthread_setname_np(pthread_self(), "memprof-signal");
  for (;;) {
    const std::uint32_t seen = g_came.load(std::memory_order_acquire);
    if (!ServeLateStart()) return nullptr;
    FutexWait(&g_came, seen, kMaxWaitNs);
    int status = 0;
    if (LastThreadsLeft(1, &status) != 0) continue;
    if (status != 0) EndLike(status);
    pthread_sigmask(SIG_SETMASK, &g_mask_of_program, nullptr);
    return nullptr;  // and the process ends with it, as it would without
  }
}

}  // namespace

void AwaitSignal() {
  if (g_signal.load() <= 0 || !ServeLateStart()) return;
  // No handler of the program may run on this thread.
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &g_mask_of_program);
  pthread_t thread;
  if (pthread_create(&thread, nullptr, Await, nullptr) == 0) pthread_detach(thread);
  pthread_sigmask(SIG_SETMASK, &g_mask_of_program, nullptr);
}

int SignalNumber(const char* name) {
  static constexpr struct {
    const char* name;
    int number;
  } kNames[] = {{"HUP", SIGHUP}, {"USR1", SIGUSR1}, {"USR2", SIGUSR2}, {"WINCH", SIGWINCH}};
  if (strncmp(name, "SIG", 3) == 0) name += 3;
  for (const auto& known : kNames)
    if (strcmp(known.name, name) == 0) return known.number;
  char* end = nullptr;
  const long number = strtol(name, &end, 10);
  if (end == name || *end != '\0' || number < 1 || number > SIGRTMAX) return 0;
  for (const auto& known : kNames)
    if (known.number == number) return known.number;
  return number >= SIGRTMIN ? static_cast<int>(number) : 0;
}

void InstallSignalSwitch(const char* name) {
  if (name == nullptr || name[0] == '\0') return;
  SystemSection section;
  const int number = SignalNumber(name);
  if (number == 0) {
    if (g_signal.exchange(-1) == 0)
      Message("MEMPROF_SIGNAL=%.60s is none of HUP, USR1, USR2, WINCH and real-time signals", name);
    return;
  }
  struct sigaction now;
  if (sigaction(number, nullptr, &now) != 0) return;
  if ((now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == OnSignal) return;
  g_next = now;
  struct sigaction ours = now;
  ours.sa_sigaction = OnSignal;
  ours.sa_flags = (now.sa_flags & ~SA_RESETHAND) | SA_SIGINFO;
  // If nobody else handles the signal, no call of the program may be interrupted by it.
  if ((now.sa_flags & SA_SIGINFO) == 0 && (now.sa_handler == SIG_DFL || now.sa_handler == SIG_IGN))
    ours.sa_flags |= SA_RESTART;
  if (sigaction(number, &ours, nullptr) == 0) g_signal.store(number);
}

}  // namespace memprof::recorder
