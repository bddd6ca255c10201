// Starts ranks, and averages among them.
#include "demo_trainer/train/ranks.h"

#include <linux/futex.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "demo_trainer/error.h"

namespace memprof::demo {
namespace {

constexpr size_t kHeaderBytes = 4096;

// In the child. A rank ends with the process that started it, however that ends: nothing else would
// end it, and other ranks would wait for it for ever.
[[noreturn]] void ExecRank(const std::vector<std::string>& arguments, int rank, int fd,
                           pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(1);  // the parent ended before the line above
  std::vector<std::string> words = {"demo_trainer"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  words.push_back("--rank=" + std::to_string(rank));
  words.push_back("--rank-fd=" + std::to_string(fd));
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  execv("/proc/self/exe", argv.data());
  _exit(127);
}

// Ranks of one machine share its devices. On the stand-in every process has devices of its own,
// unless SIMCUDA names a group; a real CUDA does not read it.
void ShareStandIn() {
  const char* given = getenv("SIMCUDA");
  std::string setting = given == nullptr ? "" : given;
  if (("," + setting).find(",shared=") != std::string::npos) return;
  if (!setting.empty()) setting += ',';
  setting += "shared=demo_trainer." + std::to_string(getpid());
  setenv("SIMCUDA", setting.c_str(), 1);
}

// Waits for all; ends the rest as soon as one fails.
int WaitForRanks(std::vector<pid_t> running) {
  int status_of_all = 0;
  while (!running.empty()) {
    int status = 0;
    const pid_t pid = waitpid(-1, &status, 0);
    if (pid < 0) {
      if (errno == EINTR) continue;
      return 1;
    }
    if (std::erase(running, pid) == 0) continue;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) continue;
    if (status_of_all == 0) {
      if (WIFSIGNALED(status)) {
        std::fprintf(stderr, "demo_trainer: a rank was ended by signal %d\n", WTERMSIG(status));
      }
      for (const pid_t other : running) kill(other, SIGTERM);
    }
    status_of_all = 1;
  }
  return status_of_all;
}

}  // namespace

int RunRanks(const Options& options, const std::vector<std::string>& arguments) {
  const int fd = memfd_create("demo_trainer.ranks", 0);
  if (fd < 0) throw Error("cannot create the ranks' shared memory");
  std::fflush(nullptr);
  ShareStandIn();
  const pid_t self = getpid();
  std::vector<pid_t> running;
  for (int rank = 0; rank < options.ranks; ++rank) {
    const pid_t pid = fork();
    if (pid == 0) ExecRank(arguments, rank, fd, self);
    if (pid < 0) {
      for (const pid_t other : running) kill(other, SIGTERM);
      WaitForRanks(running);
      throw Error(std::string("cannot start a rank: ") + std::strerror(errno));
    }
    running.push_back(pid);
  }
  close(fd);
  return WaitForRanks(running);
}

// At the start of the shared memory; initially zero.
struct RankGroup::Shared {
  std::atomic<uint32_t> arrived;
  std::atomic<uint32_t> generation;
};

RankGroup::RankGroup(const Options& options, int64_t count)
    : rank_(options.rank), ranks_(options.ranks), count_(count) {
  if (ranks_ == 1) return;
  bytes_ = kHeaderBytes + static_cast<size_t>(count) * sizeof(float) * static_cast<size_t>(ranks_);
  // Every rank sets the same size; only the first call has an effect.
  if (ftruncate(options.rank_fd, static_cast<off_t>(bytes_)) != 0) {
    throw Error("cannot size the ranks' shared memory");
  }
  void* memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, options.rank_fd, 0);
  if (memory == MAP_FAILED) throw Error("cannot map the ranks' shared memory");
  shared_ = static_cast<Shared*>(memory);
  close(options.rank_fd);
}

RankGroup::~RankGroup() {
  if (shared_ != nullptr) munmap(shared_, bytes_);
}

float* RankGroup::Slot(int rank) const {
  char* const base = reinterpret_cast<char*>(shared_) + kHeaderBytes;
  return reinterpret_cast<float*>(base) + static_cast<int64_t>(rank) * count_;
}

void RankGroup::Barrier() {
  static_assert(std::atomic<uint32_t>::is_always_lock_free);
  auto* word = reinterpret_cast<uint32_t*>(&shared_->generation);
  const uint32_t generation = shared_->generation.load();
  if (shared_->arrived.fetch_add(1) + 1 == static_cast<uint32_t>(ranks_)) {
    shared_->arrived.store(0);
    shared_->generation.store(generation + 1);
    syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
    return;
  }
  while (shared_->generation.load() == generation) {
    syscall(SYS_futex, word, FUTEX_WAIT, generation, nullptr, nullptr, 0);
  }
}

void RankGroup::Average(std::vector<float>* values) {
  if (ranks_ == 1) return;
  std::memcpy(Slot(rank_), values->data(), values->size() * sizeof(float));
  Barrier();
  const float factor = 1.0f / static_cast<float>(ranks_);
  for (size_t i = 0; i < values->size(); ++i) {
    float sum = 0.0f;
    for (int rank = 0; rank < ranks_; ++rank) sum += Slot(rank)[i];
    (*values)[i] = sum * factor;
  }
  Barrier();  // no rank overwrites a slot that is still read
}

}  // namespace memprof::demo
