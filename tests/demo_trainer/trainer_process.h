// Runs the trainer as a separate process on a stand-in, and reads its output.
#ifndef TESTS_DEMO_TRAINER_TRAINER_PROCESS_H_
#define TESTS_DEMO_TRAINER_TRAINER_PROCESS_H_

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/paths.h"

namespace memprof::demo {

struct Outcome {
  int status = -1;
  std::string out;
  std::string err;
};

inline std::string ReadAll(const std::filesystem::path& path) {
  std::ifstream stream(path);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

// Runs the trainer on a stand-in with this SIMCUDA.
class TrainerProcess {
 public:
  explicit TrainerProcess(std::vector<std::string> arguments,
                          const std::string& simcuda = "devices=2") {
    char folder[] = "/tmp/demo_trainer_XXXXXX";
    if (mkdtemp(folder) == nullptr) return;
    place_ = folder;
    arguments.insert(arguments.begin(), paths::kDemoTrainer);
    pid_ = fork();
    if (pid_ != 0) return;
    setenv("SIMCUDA", simcuda.c_str(), 1);
    dup2(open((place_ / "out").c_str(), O_CREAT | O_WRONLY, 0600), 1);
    dup2(open((place_ / "err").c_str(), O_CREAT | O_WRONLY, 0600), 2);
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    execv(argv[0], argv.data());
    _exit(127);
  }
  ~TrainerProcess() { std::filesystem::remove_all(place_); }
  TrainerProcess(const TrainerProcess&) = delete;
  TrainerProcess& operator=(const TrainerProcess&) = delete;

  pid_t pid() const { return pid_; }
  std::string out() const { return ReadAll(place_ / "out"); }

  Outcome Wait() {
    int status = 0;
    waitpid(pid_, &status, 0);
    return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), out(),
            ReadAll(place_ / "err")};
  }
  // Returns true when the program has printed a step, and false if it ended before.
  bool WaitForAStep() const {
    while (out().find("step 1:") == std::string::npos) {
      siginfo_t info{};
      waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT);
      if (info.si_pid == pid_) return false;
      usleep(1000);
    }
    return true;
  }
  // Process ids of the ranks.
  std::vector<pid_t> Children() const {
    const std::string id = std::to_string(pid_);
    std::ifstream stream("/proc/" + id + "/task/" + id + "/children");
    return {std::istream_iterator<pid_t>(stream), {}};
  }

 private:
  std::filesystem::path place_;
  pid_t pid_ = -1;
};

inline Outcome RunTrainer(const std::vector<std::string>& arguments,
                          const std::string& simcuda = "devices=2") {
  return TrainerProcess(arguments, simcuda).Wait();
}

inline std::vector<std::string> Small(const std::vector<std::string>& extra) {
  std::vector<std::string> arguments = {"--layers",  "2",  "--dim",   "32", "--heads",       "2",
                                        "--context", "32", "--batch", "8",  "--print-every", "1",
                                        "--steps",   "8"};
  arguments.insert(arguments.end(), extra.begin(), extra.end());
  return arguments;
}

inline Outcome TrainSmall(const std::vector<std::string>& extra,
                          const std::string& simcuda = "devices=2") {
  return RunTrainer(Small(extra), simcuda);
}

// The number after each mention of `words`, in the order printed.
inline std::vector<double> Numbers(const std::string& out, const std::string& words) {
  std::vector<double> numbers;
  for (size_t at = out.find(words); at != std::string::npos; at = out.find(words, at)) {
    at += words.size();
    numbers.push_back(std::strtod(&out[at], nullptr));
  }
  return numbers;
}

inline std::vector<double> Losses(const std::string& out) { return Numbers(out, ": loss "); }

// A figure of the first device, or -1.
inline int64_t Stat(const std::string& out, const std::string& when, const std::string& key) {
  const size_t line = out.find("stats when=" + when + " ");
  if (line == std::string::npos) return -1;
  const std::vector<double> numbers = Numbers(out.substr(line), " " + key + "=");
  return numbers.empty() ? -1 : static_cast<int64_t>(numbers[0]);
}

}  // namespace memprof::demo

#endif  // TESTS_DEMO_TRAINER_TRAINER_PROCESS_H_
