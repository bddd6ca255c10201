// The copy is made by a process of its own, in a session of its own, so that neither this process
// nor a signal to its group has to wait for it.
#include "cli/run/upload.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <iostream>
#include <thread>

#include "cli/run/python.h"

namespace memprof::cli {
namespace {

[[noreturn]] void BecomeUploader(const std::vector<std::string>& logs, const std::string& folder,
                                 const std::string& uri) {
  setsid();
  if (const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC); nothing >= 0) {
    dup2(nothing, STDIN_FILENO);
    dup2(nothing, STDOUT_FILENO);
  }
  // It is no part of the program that was recorded.
  unsetenv("LD_PRELOAD");
  setenv("MEMPROF_DISABLE", "1", 1);
  std::vector<std::string> words = {"--below", folder, "--to", uri, "--"};
  words.insert(words.end(), logs.begin(), logs.end());
  _exit(BecomePython("memprof._fleet.upload", words));
}

// Whether the process has ended within the time; then its status.
bool EndsInTime(pid_t child, std::int64_t most_s, int* status) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(most_s);
  while (true) {
    const pid_t ended = waitpid(child, status, WNOHANG);
    if (ended == child || (ended < 0 && errno != EINTR)) return true;
    if (std::chrono::steady_clock::now() >= end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

}  // namespace

void UploadLogs(const std::vector<std::string>& logs, const std::string& folder,
                const std::string& uri, std::int64_t most_s) {
  if (logs.empty()) return;
  std::cout.flush();
  const pid_t child = fork();
  if (child == 0) BecomeUploader(logs, folder, uri);
  int status = 0;
  if (child < 0) {
    std::cerr << "memprof: no process could be started to upload the logs; they are kept\n";
  } else if (!EndsInTime(child, most_s, &status)) {
    std::cerr << "memprof: the upload to " << uri << " goes on in the background (process " << child
              << ")\n";
  } else if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
    std::cerr << "memprof: uploaded " << logs.size() << (logs.size() == 1 ? " log" : " logs")
              << " to " << uri << "\n";
  } else {
    std::cerr << "memprof: the upload to " << uri << " failed; the logs are kept\n";
  }
}

}  // namespace memprof::cli
