// Reads both outputs until they end, or the time is over.
#include "cli/doctor/internal/started.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>

namespace memprof::cli::doctor {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t kMostOutput = 1 << 20;

int MillisecondsTo(Clock::time_point end) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
  return static_cast<int>(std::max<std::int64_t>(left.count(), 0));
}

[[noreturn]] void Become(const std::vector<std::string>& arguments,
                         const std::map<std::string, std::string>& added, int out, int err) {
  setpgid(0, 0);
  const int input = open("/dev/null", O_RDONLY);
  if (input >= 0) dup2(input, STDIN_FILENO);
  dup2(out, STDOUT_FILENO);
  dup2(err, STDERR_FILENO);
  for (const auto& [name, value] : added) setenv(name.c_str(), value.c_str(), 1);
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  execv(argv[0], argv.data());
  _exit(127);
}

// Whether both ended in time.
bool ReadBoth(pollfd (&ends)[2], std::string* (&texts)[2], Clock::time_point end) {
  while (ends[0].fd >= 0 || ends[1].fd >= 0) {
    const int ready = poll(ends, 2, MillisecondsTo(end));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return false;
    for (int i = 0; i < 2; ++i) {
      if (ends[i].fd < 0 || ends[i].revents == 0) continue;
      char buffer[4096];
      const ssize_t count = read(ends[i].fd, buffer, sizeof buffer);
      if (count > 0 && texts[i]->size() < kMostOutput)
        texts[i]->append(buffer, static_cast<std::size_t>(count));
      if (count <= 0) {
        close(ends[i].fd);
        ends[i].fd = -1;
      }
    }
  }
  return true;
}

// Waits for the end; false if it does not come in time. Then even the kernel may be unable to end
// the process, which is left alone.
bool WaitUntil(pid_t child, Clock::time_point end, int* status) {
  pid_t ended = 0;
  while ((ended = waitpid(child, status, WNOHANG)) == 0 && MillisecondsTo(end) > 0) usleep(2000);
  return ended == child;
}

}  // namespace

Started Start(const std::vector<std::string>& arguments,
              const std::map<std::string, std::string>& added, int seconds) {
  Started started;
  int out[2], err[2];
  if (pipe2(out, O_CLOEXEC) != 0) return started;
  if (pipe2(err, O_CLOEXEC) != 0) {
    close(out[0]);
    close(out[1]);
    return started;
  }
  const pid_t child = fork();
  if (child == 0) Become(arguments, added, out[1], err[1]);
  close(out[1]);
  close(err[1]);
  pollfd ends[2] = {{out[0], POLLIN, 0}, {err[0], POLLIN, 0}};
  std::string* texts[2] = {&started.out, &started.err};
  const Clock::time_point end = Clock::now() + std::chrono::seconds(seconds);
  int status = 0;
  started.ended = child > 0 && ReadBoth(ends, texts, end) && WaitUntil(child, end, &status);
  if (child > 0 && !started.ended) {
    kill(-child, SIGKILL);
    kill(child, SIGKILL);
    WaitUntil(child, Clock::now() + std::chrono::seconds(1), &status);
  }
  for (const pollfd& one : ends)
    if (one.fd >= 0) close(one.fd);
  if (started.ended)
    started.status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return started;
}

}  // namespace memprof::cli::doctor
