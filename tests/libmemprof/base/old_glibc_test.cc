// The functions for old C libraries (cmake/old_glibc/compat.c), compiled under other names, do what
// those of this C library do.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <link.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

extern "C" {
decltype(stat) compat_stat, compat_lstat;
decltype(fstat) compat_fstat;
decltype(fstat64) compat_fstat64;
decltype(fstatat) compat_fstatat;
decltype(gettid) compat_gettid;
decltype(memfd_create) compat_memfd_create;
decltype(getrandom) compat_getrandom;
decltype(getentropy) compat_getentropy;
decltype(pthread_cond_clockwait) compat_pthread_cond_clockwait;
std::uint32_t compat_arc4random();
#ifdef DLFO_EH_SEGMENT_TYPE
decltype(_dl_find_object) compat__dl_find_object;
#endif
}

namespace memprof {
namespace {

// What a function has returned, errno, and the struct that it has filled in.
template <typename Struct = struct stat, typename Function, typename... Arguments>
std::string Outcome(Function function, Arguments... arguments) {
  Struct filled;
  std::memset(&filled, 0x5a, sizeof filled);
  errno = 0;
  const int result = function(arguments..., &filled);
  return std::to_string(result) + " " + std::to_string(errno) + " " +
         std::string(reinterpret_cast<const char*>(&filled), sizeof filled);
}

TEST(OldGlibc, FilesHaveTheSameStatus) {
  namespace fs = std::filesystem;
  const fs::path folder =
      fs::path(::testing::TempDir()) / ("old_glibc." + std::to_string(getpid()));
  fs::create_directory(folder);
  const int file = open((folder / "file").c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0640);
  fs::create_symlink("file", folder / "link");
  fs::create_symlink("nowhere", folder / "dangling");
  const int directory = open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  std::set<std::string> outcomes;
  for (const std::string name :
       {"file", "link", "dangling", "missing", "file/below", "", "/dev/null"}) {
    SCOPED_TRACE(name);
    const std::string path = folder / name;
    EXPECT_EQ(Outcome(compat_stat, path.c_str()), Outcome(stat, path.c_str()));
    EXPECT_EQ(Outcome(compat_lstat, path.c_str()), Outcome(lstat, path.c_str()));
    outcomes.insert({Outcome(stat, path.c_str()), Outcome(lstat, path.c_str())});
    for (const int flags : {0, AT_SYMLINK_NOFOLLOW, AT_EMPTY_PATH, -1}) {
      const auto at = [&](auto function) {
        return Outcome(
            [&](struct stat* status) { return function(directory, name.c_str(), status, flags); });
      };
      EXPECT_EQ(at(compat_fstatat), at(fstatat)) << flags;
    }
  }
  EXPECT_EQ(outcomes.size(), 7u);  // they do differ
  for (const int fd : {file, directory, -1}) {
    EXPECT_EQ(Outcome(compat_fstat, fd), Outcome(fstat, fd));
    EXPECT_EQ(Outcome<struct stat64>(compat_fstat64, fd), Outcome<struct stat64>(fstat64, fd));
  }
  close(file);
  close(directory);
  fs::remove_all(folder);
}

TEST(OldGlibc, EachThreadHasItsOwnNumber) {
  std::thread([] { EXPECT_EQ(compat_gettid(), gettid()); }).join();
}

TEST(OldGlibc, FilesInMemory) {
  for (const unsigned flags : {0u, unsigned{MFD_CLOEXEC}, ~0u}) {
    const auto made = [&](auto create) {
      const int fd = create("name", flags);
      if (fd < 0) return std::pair(std::string(), errno);
      const auto link = std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(fd));
      const std::pair result(link.string(), fcntl(fd, F_GETFD));
      close(fd);
      return result;
    };
    EXPECT_EQ(made(compat_memfd_create), made(memfd_create)) << flags;
  }
}

TEST(OldGlibc, RandomBytesFillExactlyWhatIsAskedFor) {
  for (const size_t count : {0, 1, 255, 256}) {
    // A random byte can be zero, but not eight times.
    std::vector<unsigned char> bytes(count + 1), random(count + 1), entropy(count + 1);
    for (int round = 0; round < 8; ++round) {
      EXPECT_EQ(compat_getrandom(bytes.data(), count, 0), static_cast<ssize_t>(count));
      for (size_t i = 0; i <= count; ++i) random[i] |= std::exchange(bytes[i], 0);
      EXPECT_EQ(compat_getentropy(bytes.data(), count), 0);
      for (size_t i = 0; i <= count; ++i) entropy[i] |= std::exchange(bytes[i], 0);
    }
    for (const auto& seen : {random, entropy})
      EXPECT_EQ(std::find(seen.begin(), seen.end(), 0) - seen.begin(), count);
  }
  std::set<std::uint32_t> values;
  for (int i = 0; i < 100; ++i) values.insert(compat_arc4random());
  EXPECT_GT(values.size(), 98u);
}

TEST(OldGlibc, RandomBytesThatCannotBeHad) {
  char bytes[257];
  for (const auto function : {compat_getentropy, getentropy}) {
    EXPECT_EQ(function(bytes, sizeof bytes), -1);
    EXPECT_EQ(std::exchange(errno, 0), EIO);
  }
  for (const auto function : {compat_getrandom, getrandom}) {
    EXPECT_EQ(function(bytes, 1, ~0u), -1);
    EXPECT_EQ(std::exchange(errno, 0), EINVAL);
  }
}

std::int64_t Ns(const timespec& time) { return time.tv_sec * 1'000'000'000 + time.tv_nsec; }
std::int64_t Now(clockid_t clock) {
  timespec time;
  clock_gettime(clock, &time);
  return Ns(time);
}

// Clocks that stand still, in the place of the machine's.
struct Clocks {
  timespec monotonic, real, waited_until;
};
Clocks* given_clocks = nullptr;

// A condition for which a thread waits by the function under test.
struct Condition {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
  bool is_set = false;

  int WaitUntil(clockid_t clock, std::int64_t ns) {
    const timespec until = {ns / 1'000'000'000, ns % 1'000'000'000};
    pthread_mutex_lock(&mutex);
    int result = 0;
    while (!is_set && result == 0)
      result = compat_pthread_cond_clockwait(&condition, &mutex, clock, &until);
    pthread_mutex_unlock(&mutex);
    return result;
  }
};

TEST(OldGlibc, AWaitEndsAtTheTimeOfItsClock) {
  for (const clockid_t clock : {CLOCK_MONOTONIC, CLOCK_REALTIME}) {
    const std::int64_t until = Now(clock) + 50'000'000;
    EXPECT_EQ(Condition().WaitUntil(clock, until), ETIMEDOUT);
    // The two clocks may drift, but by microseconds. A busy machine can be late by seconds.
    EXPECT_GT(Now(clock), until - 1'000'000);
    EXPECT_LT(Now(clock), until + 30'000'000'000);
  }
}

TEST(OldGlibc, ATimeOfOneClockBecomesTheSameMomentOfTheOther) {
  std::mt19937_64 random(1);
  const auto any = [&] {
    const long fractions[] = {0, 1, 999'999'999, long(random() % 1'000'000'000)};
    return timespec{long(random() % 5), fractions[random() % 4]};
  };
  for (int i = 0; i < 1000; ++i) {
    Clocks clocks = {any(), any(), {}};
    const std::int64_t until = Ns(any());
    given_clocks = &clocks;
    EXPECT_EQ(Condition().WaitUntil(CLOCK_MONOTONIC, until), ETIMEDOUT);
    given_clocks = nullptr;
    EXPECT_EQ(Ns(clocks.waited_until) - Ns(clocks.real), until - Ns(clocks.monotonic));
    EXPECT_GE(clocks.waited_until.tv_nsec, 0);
    EXPECT_LT(clocks.waited_until.tv_nsec, 1'000'000'000);
  }
}

TEST(OldGlibc, ASignalEndsAWait) {
  for (const clockid_t clock : {CLOCK_MONOTONIC, CLOCK_REALTIME}) {
    Condition condition;
    std::thread waits(
        [&] { EXPECT_EQ(condition.WaitUntil(clock, Now(clock) + 60'000'000'000), 0); });
    usleep(20'000);
    pthread_mutex_lock(&condition.mutex);
    condition.is_set = true;
    pthread_cond_signal(&condition.condition);
    pthread_mutex_unlock(&condition.mutex);
    waits.join();
  }
}

#ifdef DLFO_EH_SEGMENT_TYPE
// The first and the last byte of all code.
int AddCode(dl_phdr_info* module, size_t, void* addresses) {
  for (int i = 0; i < module->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = module->dlpi_phdr[i];
    if (part.p_type != PT_LOAD || !(part.p_flags & PF_X)) continue;
    for (const auto offset : {part.p_vaddr, part.p_vaddr + part.p_memsz - 1})
      static_cast<std::vector<void*>*>(addresses)->push_back(
          reinterpret_cast<void*>(module->dlpi_addr + offset));
  }
  return 0;
}

TEST(OldGlibc, TheCallFrameTableOfAFunctionIsFound) {
  const auto table = [](auto find, void* address) {
    dl_find_object found = {};
    const int result = find(address, &found);
    return std::pair(result, result == 0 ? found.dlfo_eh_frame : nullptr);
  };
  std::vector<void*> code;
  dl_iterate_phdr(AddCode, &code);
  std::set<void*> tables = {nullptr};
  for (void* address : code) {
    EXPECT_EQ(table(compat__dl_find_object, address), table(_dl_find_object, address));
    tables.insert(table(compat__dl_find_object, address).second);
  }
  EXPECT_GE(tables.size(), 5u);  // at least this program, libc, libstdc++ and the loader

  std::vector<char> heap(1 << 20);
  for (void* data : {static_cast<void*>(&tables), static_cast<void*>(&heap[1 << 19]),
                     static_cast<void*>(nullptr)}) {
    EXPECT_EQ(table(compat__dl_find_object, data), table(_dl_find_object, data));
    EXPECT_EQ(table(compat__dl_find_object, data).first, -1);
  }
}
#endif

}  // namespace

// What the tested wait calls.
extern "C" int given_clock_gettime(clockid_t clock, timespec* time) {
  if (given_clocks == nullptr) return clock_gettime(clock, time);
  *time = clock == CLOCK_REALTIME ? given_clocks->real : given_clocks->monotonic;
  return 0;
}
extern "C" int given_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                                    const timespec* until) {
  if (given_clocks == nullptr) return pthread_cond_timedwait(condition, mutex, until);
  given_clocks->waited_until = *until;
  return ETIMEDOUT;
}

}  // namespace memprof
