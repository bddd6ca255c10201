// Programs that are hard to attach to. Each prints a line now and then, and ends when its standard
// input does; status 3 if something went wrong.
//
//   bare      threads on stacks of the program's own end by the bare system call; the stacks are
//             unmapped
//   leaves    main leaves by pthread_exit when the input ends; the last thread a moment later
//   left      main leaves by pthread_exit at once
//   handler   a handler of a signal waits, and the signal came in the middle of malloc
//   loading   a thread holds the loader's lock
//   small     waits on a stack of 2 KiB; what lies below must not change
//   epoll     waits in epoll_wait
//   receive   waits in recv, with SO_RCVTIMEO
//   filtered  has a filter of system calls, which allows all
#include <cuda_runtime_api.h>
#include <errno.h>
#include <link.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

namespace {

constexpr int kWrong = 3;

bool InputHasEnded(int wait_ms = 0) {
  pollfd input{0, POLLIN, 0};
  char byte;
  return poll(&input, 1, wait_ms) > 0 && read(0, &byte, 1) <= 0;
}

void Say(const char* what) {
  std::printf("%s\n", what);
  std::fflush(stdout);
}

void Allocate() {
  void* block = nullptr;
  if (cudaMalloc(&block, 4096) != cudaSuccess || cudaFree(block) != cudaSuccess) std::_Exit(kWrong);
}

void* EndBarely(void*) {
  Allocate();
  syscall(SYS_exit, 0);
  return nullptr;
}

int Bare() {
  constexpr std::size_t kBytes = 1 << 20;
  while (!InputHasEnded(10)) {
    void* stack = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, stack, kBytes);
    pthread_t thread;
    if (pthread_create(&thread, &attributes, EndBarely, nullptr) != 0) return kWrong;
    pthread_join(thread, nullptr);
    munmap(stack, kBytes);
    Say("a thread has ended");
  }
  return 0;
}

int Leave(bool at_once) {
  std::thread([] {
    while (!InputHasEnded(10)) {
      Allocate();
      Say("allocates");
    }
    usleep(300'000);
    Allocate();
  }).detach();
  if (!at_once) {
    // Not read: the other thread has to see the end.
    for (pollfd input{0, POLLIN, 0}; poll(&input, 1, 10) == 0;) continue;
  }
  pthread_exit(nullptr);
}

void WaitInHandler(int) {
  while (!InputHasEnded(10)) {
    constexpr char kText[] = "in the handler\n";
    if (write(1, kText, sizeof kText - 1) < 0) std::_Exit(kWrong);
  }
}

int Handler() {
  signal(SIGUSR1, WaitInHandler);
  raise(SIGUSR1);
  return 0;
}

int HoldLoader() {
  std::thread sleeper([] {
    while (!InputHasEnded(10)) usleep(10'000);
  });
  dl_iterate_phdr(
      [](dl_phdr_info*, std::size_t, void*) {
        Say("holds the lock");
        for (pollfd input{0, POLLIN, 0}; poll(&input, 1, 10) == 0;) continue;
        return 1;
      },
      nullptr);
  sleeper.join();
  return 0;
}

constexpr std::size_t kBelow = 65536, kSmallStack = 2048;
constexpr unsigned char kByte = 0xa5;
ucontext_t g_outer, g_fiber;
unsigned char* g_below;
bool g_changed = false, g_over = false;

// One call of the system, and nothing of the C library: that may need more stack.
void WaitOnSmallStack() {
  timespec time{0, 20'000'000};
  while (!g_over) {
#if defined(__x86_64__)
    long result;
    register const timespec* first asm("rdi") = &time;
    register long second asm("rsi") = 0;
    asm volatile("syscall"
                 : "=a"(result)
                 : "a"(SYS_nanosleep), "r"(first), "r"(second)
                 : "rcx", "r11", "memory");
#endif
    swapcontext(&g_fiber, &g_outer);
  }
}

int SmallStack() {
  void* memory = mmap(nullptr, kBelow + kSmallStack, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return kWrong;
  g_below = static_cast<unsigned char*>(memory);
  std::memset(g_below, kByte, kBelow);
  getcontext(&g_fiber);
  g_fiber.uc_stack.ss_sp = g_below + kBelow;
  g_fiber.uc_stack.ss_size = kSmallStack;
  g_fiber.uc_link = &g_outer;
  makecontext(&g_fiber, WaitOnSmallStack, 0);
  for (;;) {
    swapcontext(&g_outer, &g_fiber);
    for (std::size_t i = 0; i < kBelow; ++i) g_changed |= g_below[i] != kByte;
    if (g_changed) return kWrong;
    if (InputHasEnded()) return 0;
    Say("nothing has changed");
  }
}

int EpollWait() {
  epoll_event event{};
  event.events = EPOLLIN;
  const int epoll = epoll_create1(0);
  if (epoll_ctl(epoll, EPOLL_CTL_ADD, 0, &event) != 0) return kWrong;
  Say("waits");
  return epoll_wait(epoll, &event, 1, -1) == 1 ? 0 : kWrong;
}

int Receive() {
  int ends[2];
  const timeval limit{2, 0};
  char byte;
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0 ||
      setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) != 0)
    return kWrong;
  while (!InputHasEnded()) {
    Say("waits");
    if (recv(ends[0], &byte, 1, 0) >= 0 || errno != EAGAIN) return kWrong;
  }
  return 0;
}

int Filtered() {
  sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  const sock_fprog program{1, &allow};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) return kWrong;
  while (!InputHasEnded(10)) Say("waits");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string how = argc > 1 ? argv[1] : "";
  if (how == "bare") return Bare();
  if (how == "leaves" || how == "left") return Leave(how == "left");
  if (how == "handler") return Handler();
  if (how == "loading") return HoldLoader();
  if (how == "small") return SmallStack();
  if (how == "epoll") return EpollWait();
  if (how == "receive") return Receive();
  if (how == "filtered") return Filtered();
  return 9;
}
