// Another process on the stand-in, which runs commands of a test line by line (see peer_main.cc).
#ifndef TESTS_SIMCUDA_PEER_H
#define TESTS_SIMCUDA_PEER_H

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "tests/support/paths.h"

namespace memprof::simcuda {

// Bytes as hexadecimal text, for handles that travel as a command's argument.
inline std::string Hex(const void* data, size_t bytes) {
  std::string text;
  for (size_t i = 0; i < bytes; ++i) {
    char digits[3];
    std::snprintf(digits, sizeof(digits), "%02x", static_cast<const unsigned char*>(data)[i]);
    text += digits;
  }
  return text;
}

class Peer {
 public:
  // Starts the process with this SIMCUDA. It inherits descriptors without close-on-exec.
  explicit Peer(const std::string& simcuda) {
    int to[2];
    int from[2];
    if (pipe2(to, O_CLOEXEC) != 0 || pipe2(from, O_CLOEXEC) != 0) std::abort();
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, to[0], 0);
    posix_spawn_file_actions_adddup2(&actions, from[1], 1);
    std::vector<std::string> text = {"SIMCUDA=" + simcuda};
    for (char** one = environ; *one != nullptr; ++one) {
      if (std::string(*one).rfind("SIMCUDA=", 0) != 0) text.emplace_back(*one);
    }
    std::vector<char*> environment;
    for (std::string& one : text) environment.push_back(one.data());
    environment.push_back(nullptr);
    std::string program = paths::kSimcudaPeer;
    char* arguments[] = {program.data(), nullptr};
    if (posix_spawn(&pid_, program.c_str(), &actions, nullptr, arguments, environment.data()) !=
        0) {
      pid_ = -1;
    }
    posix_spawn_file_actions_destroy(&actions);
    close(to[0]);
    close(from[1]);
    to_ = fdopen(to[1], "w");
    from_ = fdopen(from[0], "r");
  }
  ~Peer() { End(); }
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  pid_t pid() const { return pid_; }
  // Sends a command without waiting for its answer.
  void Tell(const std::string& command) {
    std::fprintf(to_, "%s\n", command.c_str());
    std::fflush(to_);
  }
  std::string Hear() {
    char line[512];
    if (std::fgets(line, sizeof(line), from_) == nullptr) return "(gone)";
    std::string answer = line;
    if (!answer.empty() && answer.back() == '\n') answer.pop_back();
    return answer;
  }
  std::string Ask(const std::string& command) {
    Tell(command);
    return Hear();
  }
  unsigned long long AskNumber(const std::string& command) {
    return std::strtoull(Ask(command).c_str(), nullptr, 0);
  }
  // Closes the input, which ends the process. Returns the exit status, or -1 after a signal.
  int End() {
    if (pid_ <= 0) return -1;
    std::fclose(to_);
    int status = 0;
    waitpid(pid_, &status, 0);
    std::fclose(from_);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  // SIGKILL, and waits until it is gone.
  void Kill() {
    kill(pid_, SIGKILL);
    End();
  }

 private:
  pid_t pid_ = -1;
  FILE* to_ = nullptr;
  FILE* from_ = nullptr;
};

}  // namespace memprof::simcuda

#endif  // TESTS_SIMCUDA_PEER_H
