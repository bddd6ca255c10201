// Starts guests, collects what they print, replays what was recorded.
#include "tests/integration/harness.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>

#include "tests/support/paths.h"
#include "tests/support/read_file.h"

namespace memprof::testing {
namespace {

std::vector<std::string> Environment(const GuestOptions& options) {
  std::map<std::string, std::string> variables;
  for (char** at = environ; *at != nullptr; ++at) {
    const std::string text = *at;
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos) continue;
    if (text.rfind("MEMPROF_", 0) == 0 || text.rfind("SIMCUDA", 0) == 0) continue;
    variables[text.substr(0, equals)] = text.substr(equals + 1);
  }
  if (options.standin) variables["LD_LIBRARY_PATH"] = BuildPath("simcuda");
  if (options.preload) variables["LD_PRELOAD"] = BuildPath("lib/libmemprof.so");
  if (!options.output.empty())
    variables["MEMPROF_OUTPUT"] = options.directory + "/" + options.output;
  // Rings of killed guests are deleted with the directory.
  variables["MEMPROF_SHM"] = options.directory;
  // Recorder and guests may both be built with the address sanitizer.
  variables["ASAN_OPTIONS"] = "verify_asan_link_order=0:detect_leaks=0";
  for (const auto& [name, value] : options.environment) variables[name] = value;
  std::vector<std::string> environment;
  for (const auto& [name, value] : variables)
    if (!value.empty()) environment.push_back(name + "=" + value);
  return environment;
}

// A program that was built for another processor than that of this machine runs in an emulator.
// What is for its loader must not reach the emulator's own.
std::vector<std::string> Emulated(std::vector<std::string>* environment) {
  std::vector<std::string> command;
  std::istringstream words(MEMPROF_TEST_EMULATOR);
  for (std::string word; words >> word;) command.push_back(word);
  const auto of_loader = [](const std::string& variable) { return variable.starts_with("LD_"); };
  for (const std::string& variable : *environment)
    if (of_loader(variable)) command.insert(command.end(), {"-E", variable});
  std::erase_if(*environment, of_loader);
  return command;
}

std::vector<char*> Pointers(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

pid_t Spawn(const std::string& program, const GuestOptions& options, int out, int err) {
  std::vector<std::string> environment = Environment(options);
  std::vector<std::string> command;
  if (*MEMPROF_TEST_EMULATOR != '\0' && program.starts_with(paths::kBuild))
    command = Emulated(&environment);
  command.push_back(program);
  command.insert(command.end(), options.arguments.begin(), options.arguments.end());
  const std::vector<char*> arguments = Pointers(command), variables = Pointers(environment);
  const pid_t pid = fork();
  if (pid != 0) return pid;
  if (chdir(options.directory.c_str()) != 0) _exit(126);
  if (options.input >= 0) dup2(options.input, STDIN_FILENO);
  dup2(out, STDOUT_FILENO);
  dup2(err, STDERR_FILENO);
  execvpe(arguments[0], arguments.data(), variables.data());
  _exit(127);
}

int StatusOf(int wait_status) {
  return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

int WaitFor(pid_t pid, int longest_s) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(longest_s);
  int status = 0;
  while (waitpid(pid, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > deadline) {
      kill(pid, SIGKILL);
      waitpid(pid, &status, 0);
      ADD_FAILURE() << "guest did not end";
      break;
    }
    usleep(2000);
  }
  return StatusOf(status);
}

bool OnDriverLayer(log::Layer layer) { return layer > 0 && layer < log::LAYER_SEGMENT; }

}  // namespace

std::string ReadText(const std::string& path) { return testing::ReadFile(path); }

TempDirectory::TempDirectory() {
  std::string pattern = ::testing::TempDir() + "memprof-XXXXXX";
  if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp");
  path_ = pattern;
}

TempDirectory::~TempDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::vector<std::string> TempDirectory::Files(const std::string& suffix) const {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(path_)) {
    const std::string name = entry.path().filename().string();
    if (name.size() >= suffix.size() &&
        name.compare(name.size() - suffix.size(), suffix.size(), suffix) == 0)
      names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> GuestResult::lines() const {
  std::vector<std::string> lines;
  std::istringstream text(out);
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  return lines;
}

std::string BuildPath(const std::string& relative) {
  return std::string(paths::kBuild) + "/" + relative;
}
std::string GuestPath(const std::string& name) { return std::string(paths::kGuests) + "/" + name; }

GuestResult RunProgram(const std::string& program, const GuestOptions& options) {
  TempDirectory output;
  const int out = open(output.File("out").c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
  const int err = open(output.File("err").c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
  GuestResult result;
  result.pid = Spawn(program, options, out, err);
  close(out);
  close(err);
  result.status = WaitFor(result.pid, options.longest_s);
  result.out = ReadText(output.File("out"));
  result.err = ReadText(output.File("err"));
  return result;
}

GuestResult RunGuest(const std::string& name, const GuestOptions& options) {
  return RunProgram(GuestPath(name), options);
}

RunningGuest::RunningGuest(const std::string& program, const GuestOptions& options) {
  error_file_ = options.directory + "/stderr";
  longest_s_ = options.longest_s;
  const int err = open(error_file_.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("pipe");
  pid_ = Spawn(program, options, ends[1], err);
  close(ends[1]);
  close(err);
  out_ = ends[0];
}

RunningGuest::~RunningGuest() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  if (out_ >= 0) close(out_);
}

std::string RunningGuest::ReadLine() {
  std::size_t end;
  while ((end = buffered_.find('\n')) == std::string::npos) {
    char bytes[4096];
    const ssize_t count = read(out_, bytes, sizeof bytes);
    if (count <= 0) return "";
    buffered_.append(bytes, static_cast<std::size_t>(count));
  }
  const std::string line = buffered_.substr(0, end);
  buffered_.erase(0, end + 1);
  return line;
}

GuestResult RunningGuest::Wait() {
  GuestResult result;
  result.pid = pid_;
  char bytes[4096];
  ssize_t count;
  while ((count = read(out_, bytes, sizeof bytes)) > 0)
    buffered_.append(bytes, static_cast<std::size_t>(count));
  result.status = WaitFor(pid_, longest_s_);
  pid_ = 0;
  result.out = buffered_;
  result.err = ReadText(error_file_);
  return result;
}

std::string LayerName(log::Layer layer) {
  std::string name = log::Layer_Name(layer).substr(std::strlen("LAYER_"));
  std::transform(name.begin(), name.end(), name.begin(), ::tolower);
  return name;
}

std::vector<PrintedCall> PrintedCalls(const GuestResult& result) {
  std::vector<PrintedCall> calls;
  for (const std::string& line : result.lines()) {
    std::istringstream words(line);
    PrintedCall call;
    if (words >> call.op >> call.layer && (call.op == "alloc" || call.op == "free") &&
        words >> std::hex >> call.address >> std::dec >> call.bytes)
      calls.push_back(call);
  }
  return calls;
}

std::vector<PrintedCall> RecordedCalls(const std::vector<Event>& events) {
  std::vector<PrintedCall> calls;
  for (const Event& event : events) {
    if (!OnDriverLayer(event.layer)) continue;
    if (event.op == log::OP_ALLOC)
      calls.push_back({"alloc", LayerName(event.layer), event.address, event.bytes});
    else if (event.op == log::OP_FREE)
      calls.push_back({"free", LayerName(event.layer), event.address, 0});
  }
  return calls;
}

std::string DifferenceOf(std::vector<PrintedCall> recorded, std::vector<PrintedCall> printed) {
  std::ostringstream text;
  const auto list = [&text](const char* who, const auto& these, const auto& those) {
    std::vector<PrintedCall> alone;
    std::ranges::set_difference(these, those, std::back_inserter(alone));
    for (const PrintedCall& call : alone)
      text << who << call.op << ' ' << call.layer << " 0x" << std::hex << call.address << std::dec
           << ' ' << call.bytes << '\n';
  };
  std::ranges::sort(recorded);
  std::ranges::sort(printed);
  list("only recorded: ", recorded, printed);
  list("only printed: ", printed, recorded);
  return text.str();
}

Totals Replay(const std::vector<Event>& by_time) {
  Totals totals;
  std::map<std::uint64_t, std::uint64_t> live;
  for (const Event& event : by_time) {
    if (!OnDriverLayer(event.layer)) continue;
    if (event.op == log::OP_ALLOC_FAILED) ++totals.failed;
    if (event.op == log::OP_ALLOC) {
      ++totals.allocations;
      live[event.address] = event.bytes;
      totals.live_bytes += event.bytes;
      totals.peak_bytes = std::max(totals.peak_bytes, totals.live_bytes);
    }
    if (event.op != log::OP_FREE) continue;
    const auto found = live.find(event.address);
    if (found == live.end()) {
      ++totals.unmatched;
      continue;
    }
    ++totals.frees;
    totals.live_bytes -= found->second;
    live.erase(found);
  }
  totals.live_blocks = live.size();
  return totals;
}

}  // namespace memprof::testing
