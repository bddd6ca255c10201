// Processes, golden files and the logs that tests use.
#include "tests/cli/cli_test_support.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <utility>

#include "tests/support/paths.h"
#include "tests/support/read_file.h"

namespace memprof::cli::testing {
namespace {

using memprof::testing::ReadFile;

// One output stream of the child: a file, or a terminal whose other end is `master`.
struct Stream {
  std::string path;
  int master = -1;
  int child = -1;
};

Stream OpenFile(const std::string& path) {
  return {path, -1, open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)};
}

Stream OpenTerminal() {
  const int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  EXPECT_TRUE(master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0);
  char name[64] = {};
  EXPECT_EQ(ptsname_r(master, name, sizeof name), 0);
  return {"", master, open(name, O_RDWR | O_NOCTTY | O_CLOEXEC)};
}

Stream OpenOut(Streams::Out kind, const std::string& path) {
  switch (kind) {
    case Streams::Out::kTerminal:
      return OpenTerminal();
    case Streams::Out::kFullDisk:
      return {"", -1, open("/dev/full", O_WRONLY | O_CLOEXEC)};
    case Streams::Out::kClosedPipe: {
      int ends[2] = {-1, -1};
      EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
      close(ends[0]);
      return {"", -1, ends[1]};
    }
    case Streams::Out::kClosed:
      return {};
    case Streams::Out::kFile:
      break;
  }
  return OpenFile(path);
}

[[noreturn]] void Child(const std::vector<std::string>& arguments, const std::string& directory,
                        const std::vector<std::string>& environment, const Stream& out,
                        const Stream& err, const Streams& streams) {
  out.child < 0 ? close(STDOUT_FILENO) : dup2(out.child, STDOUT_FILENO);
  dup2(err.child, STDERR_FILENO);
  unsetenv("FORCE_COLOR");
  unsetenv("NO_COLOR");
  for (const std::string& entry : environment) putenv(const_cast<char*>(entry.c_str()));
  if (chdir(directory.c_str()) != 0) _exit(125);
  const auto limit = [](auto resource, std::uint64_t most) {
    const rlimit limits = {most, most};
    if (most != 0 && setrlimit(resource, &limits) != 0) _exit(124);
  };
  limit(RLIMIT_FSIZE, streams.file_limit);
  limit(RLIMIT_CPU, streams.cpu_limit);
  limit(RLIMIT_AS, streams.address_limit);
  std::vector<char*> argv = {const_cast<char*>("memprof")};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  execv(paths::kCommand, argv.data());
  _exit(126);
}

// Reads the output on terminals until the child has closed them.
void ReadTerminals(Stream& out, Stream& err, Result* result) {
  pollfd ends[] = {{out.master, POLLIN, 0}, {err.master, POLLIN, 0}};
  std::string* const texts[] = {&result->out, &result->err};
  while (ends[0].fd >= 0 || ends[1].fd >= 0) {
    if (poll(ends, 2, -1) < 0) return;
    for (int i = 0; i < 2; ++i) {
      if (ends[i].revents == 0) continue;
      char buffer[4096];
      const ssize_t size = read(ends[i].fd, buffer, sizeof buffer);
      if (size > 0)
        texts[i]->append(buffer, static_cast<std::size_t>(size));
      else
        close(std::exchange(ends[i].fd, -1));
    }
  }
}

}  // namespace

Result MemprofOn(const Streams& streams, const std::vector<std::string>& arguments,
                 const std::string& directory, const std::vector<std::string>& environment) {
  const analysis::testing::TempDirectory temporary;
  Stream out = OpenOut(streams.out, temporary.File("out"));
  Stream err = streams.err_terminal ? OpenTerminal() : OpenFile(temporary.File("err"));
  const pid_t child = fork();
  if (child == 0) Child(arguments, directory, environment, out, err, streams);
  if (out.child >= 0) close(out.child);
  close(err.child);
  Result result;
  ReadTerminals(out, err, &result);
  int status = 0;
  if (waitpid(child, &status, 0) != child) return result;
  result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  if (!out.path.empty()) result.out = ReadFile(out.path);
  if (!err.path.empty()) result.err = ReadFile(err.path);
  return result;
}

Result Memprof(const std::vector<std::string>& arguments, const std::string& directory,
               const std::vector<std::string>& environment) {
  return MemprofOn({}, arguments, directory, environment);
}

void ExpectGolden(const std::string& name, const std::string& text) {
  const std::string path = std::string(paths::kGolden) + "/" + name;
  const char* update = std::getenv("MEMPROF_UPDATE_GOLDEN");
  if (update != nullptr && *update == '1') {
    std::ofstream(path, std::ios::binary) << text;
    return;
  }
  std::ifstream file(path);
  ASSERT_TRUE(file.good()) << path << " is missing; run with MEMPROF_UPDATE_GOLDEN=1 and review it";
  EXPECT_EQ(text, ReadFile(path)) << "If this is meant, run with MEMPROF_UPDATE_GOLDEN=1";
}

}  // namespace memprof::cli::testing
