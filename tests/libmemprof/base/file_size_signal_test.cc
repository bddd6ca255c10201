// Writes beyond RLIMIT_FSIZE: they fail, and the program lives.
#include <errno.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "libmemprof/src/base/sys.h"

namespace memprof::recorder {
namespace {

bool IsPending() {
  sigset_t pending;
  return sigpending(&pending) == 0 && sigismember(&pending, SIGXFSZ) == 1;
}

bool IsBlocked() {
  sigset_t mask;
  return pthread_sigmask(SIG_SETMASK, nullptr, &mask) == 0 && sigismember(&mask, SIGXFSZ) == 1;
}

// In a process of its own, with a file that can take nothing.
template <typename Body>
int InChild(Body body) {
  const pid_t child = fork();
  if (child == 0) {
    char path[] = "/tmp/memprof_limit_XXXXXX";
    const int file = mkstemp(path);
    unlink(path);
    const rlimit none{};
    setrlimit(RLIMIT_FSIZE, &none);
    _exit(body(file));
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

TEST(FileSizeSignal, AWriteOnlyFails) {
  const int status = InChild([](int file) {
    bool failed = false;
    {
      const FileSizeSignalOff off;
      failed = write(file, "x", 1) == -1 && errno == EFBIG && IsPending();
    }
    return failed && !IsPending() && !IsBlocked() ? 7 : 8;
  });
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7) << status;
}

TEST(FileSizeSignal, WhatTheProgramBlockedStays) {
  const int status = InChild([](int file) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &set, nullptr);
    { const FileSizeSignalOff off; }
    bool right = IsBlocked() && !IsPending();
    right = write(file, "x", 1) == -1 && IsPending() && right;
    { const FileSizeSignalOff off; }
    return right && IsBlocked() && IsPending() ? 7 : 8;
  });
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7) << status;
}

TEST(FileSizeSignal, AMessageToAFullFileDoesNotEndTheProgram) {
  const int status = InChild([](int file) {
    dup2(file, STDERR_FILENO);
    Message("nowhere to go");
    return 7;
  });
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7) << status;
}

}  // namespace
}  // namespace memprof::recorder
