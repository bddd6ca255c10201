// Writes to a file beside an existing one, and then replaces it.
#include "cli/console/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

#include "cli/console/terminal.h"
#include "cli/console/text.h"

namespace memprof::cli {
namespace {

bool SameFile(const struct stat& a, const std::string& path) {
  struct stat b {};
  return stat(path.c_str(), &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

// Links are followed, not replaced.
std::string RealPath(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> real(realpath(path.c_str(), nullptr),
                                                         &std::free);
  return real == nullptr ? path : real.get();
}

}  // namespace

OutputFile::~OutputFile() {
  if (file_ >= 0) close(file_);
  if (!written_.empty()) unlink(written_.c_str());
}

bool OutputFile::Fail(std::string_view why) {
  PrintError(Cat(path_, ": ", why));
  return false;
}

bool OutputFile::Open(const std::string& path, bool force, const std::vector<std::string>& inputs) {
  path_ = path;
  if (path == "-") return true;
  // At a limit of the file size, writing must fail as on a full disk, not end the process.
  std::signal(SIGXFSZ, SIG_IGN);
  struct stat existing {};
  if (stat(path.c_str(), &existing) == 0) {
    if (!S_ISREG(existing.st_mode)) return Fail("not a regular file");
    for (const std::string& input : inputs) {
      if (SameFile(existing, input)) return Fail("is the log itself");
    }
    if (!force) return Fail("exists already; --force overwrites it");
    target_ = RealPath(path);
    written_ = target_ + ".XXXXXX";
    file_ = mkostemp(written_.data(), O_CLOEXEC);
    if (file_ >= 0) fchmod(file_, existing.st_mode & 07777);
  } else {
    file_ = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    written_ = path;
  }
  if (file_ >= 0) return true;
  const int error = errno;
  written_.clear();
  return Fail(std::strerror(error));
}

bool OutputFile::Write(std::string_view text) {
  if (path_ == "-") return WriteOut(text);
  while (!text.empty()) {
    const ssize_t written = write(file_, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return Fail(std::strerror(errno));
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

bool OutputFile::Finish() {
  if (path_ == "-") return true;
  const int file = std::exchange(file_, -1);
  if (close(file) != 0) return Fail(std::strerror(errno));  // a full disk may only be reported here
  if (!target_.empty() && std::rename(written_.c_str(), target_.c_str()) != 0)
    return Fail(std::strerror(errno));
  written_.clear();
  return true;
}

}  // namespace memprof::cli
