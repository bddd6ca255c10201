// openat and its relatives, from /proc/PID/root on.
#include "cli/attach/internal/program_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <vector>

#include "cli/console/text.h"

namespace memprof::cli {
namespace {

constexpr char kPrefix[] = "memprof-";
constexpr std::size_t kNameBytes = sizeof kPrefix - 1 + 6;
constexpr char kMark[] = "made-by-memprof-attach";
constexpr int kMostDepth = 16;
constexpr int kFolder = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

// A descriptor that is closed at the end.
struct Opened {
  int fd;
  explicit Opened(int descriptor) : fd(descriptor) {}
  ~Opened() {
    if (fd >= 0) close(fd);
  }
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;
};

absl::Status Failed(const std::string& what) {
  const int error = errno;
  const std::string text = Cat(what, ": ", std::strerror(error));
  return error == EACCES || error == EPERM ? absl::PermissionDeniedError(text)
                                           : absl::UnavailableError(text);
}

int OpenTmp(pid_t pid) {
  const Opened root(open(Cat("/proc/", pid, "/root").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  return root.fd < 0 ? -1 : openat(root.fd, "tmp", kFolder);
}

std::string RandomName() {
  static constexpr char kLetters[] =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
  unsigned char random[6] = {};
  if (getrandom(random, sizeof random, 0) != sizeof random) return "";
  std::string name = kPrefix;
  for (const unsigned char byte : random) name += kLetters[byte % (sizeof kLetters - 1)];
  return name;
}

bool IsOurName(const std::string& name) {
  return name.size() == kNameBytes && name.rfind(kPrefix, 0) == 0 &&
         name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789",
                                sizeof kPrefix - 1) == std::string::npos;
}

// At most as much as the file has at first: it may grow forever.
bool CopyBytes(int from, int to) {
  struct stat found;
  if (fstat(from, &found) != 0) return false;
  std::vector<char> buffer(1 << 18);
  for (off_t left = found.st_size; left > 0;) {
    const ssize_t bytes =
        read(from, buffer.data(), std::min(buffer.size(), static_cast<std::size_t>(left)));
    if (bytes == 0) break;
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0) return false;
    left -= bytes;
    for (ssize_t done = 0; done < bytes;) {
      const ssize_t written =
          write(to, buffer.data() + done, static_cast<std::size_t>(bytes - done));
      if (written < 0 && errno != EINTR) return false;
      if (written > 0) done += written;
    }
  }
  return true;
}

// Not through a mount either: what is mounted there is not ours to remove.
int OpenBelow(int folder, const char* name) {
  open_how how{};
  how.flags = kFolder;
  how.resolve = RESOLVE_NO_XDEV | RESOLVE_NO_SYMLINKS | RESOLVE_BENEATH;
  return static_cast<int>(syscall(SYS_openat2, folder, name, &how, sizeof how));
}

void Empty(int folder, int depth) {
  DIR* entries = fdopendir(dup(folder));
  if (entries == nullptr) return;
  while (const dirent* entry = readdir(entries)) {
    const char* name = entry->d_name;
    if (std::strcmp(name, ".") == 0 || std::strcmp(name, "..") == 0) continue;
    if (unlinkat(folder, name, 0) == 0 || depth >= kMostDepth) continue;
    const Opened below(OpenBelow(folder, name));
    if (below.fd < 0) continue;
    Empty(below.fd, depth + 1);
    unlinkat(folder, name, AT_REMOVEDIR);
  }
  closedir(entries);
}

absl::Status CopyInto(int folder, const std::string& from, const std::string& name, mode_t mode) {
  const Opened source(open(from.c_str(), O_RDONLY | O_CLOEXEC));
  if (source.fd < 0) return Failed(from);
  const Opened copy(
      openat(folder, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (copy.fd < 0 || !CopyBytes(source.fd, copy.fd) || fchmod(copy.fd, mode) != 0)
    return Failed(Cat("the copy of ", from, " for the program"));
  return absl::OkStatus();
}

absl::Status CopyTree(int folder, const std::string& from, const std::string& name, int depth) {
  if (mkdirat(folder, name.c_str(), 0700) != 0) return Failed(name);
  const Opened copy(openat(folder, name.c_str(), kFolder));
  DIR* entries = copy.fd < 0 ? nullptr : opendir(from.c_str());
  if (entries == nullptr) return Failed(from);
  absl::Status status = absl::OkStatus();
  while (const dirent* entry = status.ok() ? readdir(entries) : nullptr) {
    const std::string below = entry->d_name, path = Cat(from, "/", below);
    struct stat found;
    if (below[0] == '.' || below == "__pycache__" || stat(path.c_str(), &found) != 0) continue;
    if (S_ISDIR(found.st_mode) && depth < kMostDepth)
      status = CopyTree(copy.fd, path, below, depth + 1);
    else if (S_ISREG(found.st_mode) && below.size() > 3 && below.substr(below.size() - 3) == ".py")
      status = CopyInto(copy.fd, path, below, 0644);
  }
  closedir(entries);
  if (status.ok() && fchmod(copy.fd, 0755) != 0) status = Failed(name);
  return status;
}

}  // namespace

uid_t UserOf(pid_t pid, gid_t* group) {
  std::ifstream file(Cat("/proc/", pid, "/status"));
  uid_t user = static_cast<uid_t>(-1);
  for (std::string word; file >> word;) {
    if (word != "Uid:" && word != "Gid:") continue;
    long ids[4] = {-1, -1, -1, -1};  // real, effective, saved, of the file system
    for (long& id : ids) file >> id;
    if (word == "Uid:")
      user = static_cast<uid_t>(ids[3]);
    else if (group != nullptr)
      *group = static_cast<gid_t>(ids[3]);
  }
  return user;
}

bool SeesSameFile(pid_t pid, const std::string& path) {
  struct stat ours, theirs;
  return stat(path.c_str(), &ours) == 0 &&
         stat(Cat("/proc/", pid, "/root", path).c_str(), &theirs) == 0 &&
         ours.st_dev == theirs.st_dev && ours.st_ino == theirs.st_ino;
}

ProgramFolder::ProgramFolder(ProgramFolder&& other) noexcept
    : pid_(other.pid_),
      tmp_(std::exchange(other.tmp_, -1)),
      folder_(std::exchange(other.folder_, -1)),
      name_(std::move(other.name_)) {}

ProgramFolder::~ProgramFolder() {
  if (folder_ >= 0) close(folder_);
  if (tmp_ >= 0) close(tmp_);
}

absl::StatusOr<ProgramFolder> ProgramFolder::Make(pid_t pid, const std::string& preferred) {
  const int tmp = OpenTmp(pid);
  if (tmp < 0) return Failed(Cat("/tmp of process ", pid));
  ProgramFolder folder(pid, tmp, preferred);
  constexpr int kMostNames = 20;
  for (int i = 0; i < kMostNames; ++i) {
    if (IsOurName(folder.name_) && mkdirat(tmp, folder.name_.c_str(), 0700) == 0) {
      folder.folder_ = openat(tmp, folder.name_.c_str(), kFolder);
      struct stat made;
      if (folder.folder_ < 0 || fstat(folder.folder_, &made) != 0 || made.st_uid != geteuid())
        return Failed(Cat("/tmp of process ", pid));
      if (absl::Status marked = folder.Write(kMark, ""); !marked.ok()) return marked;
      return folder;
    }
    if (IsOurName(folder.name_) && errno != EEXIST) break;
    folder.name_ = RandomName();
  }
  return Failed(Cat("/tmp of process ", pid));
}

absl::StatusOr<ProgramFolder> ProgramFolder::OfFile(pid_t pid, const std::string& path) {
  constexpr char kTmp[] = "/tmp/";
  constexpr std::size_t kTmpBytes = sizeof kTmp - 1;
  if (path.rfind(kTmp, 0) != 0 || path.size() < kTmpBytes + kNameBytes + 2 ||
      path[kTmpBytes + kNameBytes] != '/' || !IsOurName(path.substr(kTmpBytes, kNameBytes)))
    return absl::NotFoundError("none of ours");
  const int tmp = OpenTmp(pid);
  if (tmp < 0) return Failed(Cat("/tmp of process ", pid));
  ProgramFolder folder(pid, tmp, path.substr(kTmpBytes, kNameBytes));
  folder.folder_ = openat(tmp, folder.name_.c_str(), kFolder);
  struct stat found;
  if (folder.folder_ < 0 || fstat(folder.folder_, &found) != 0) return Failed(folder.path());
  // The path is what the program says: it must not be that of another user, nor of other use.
  if (found.st_uid != UserOf(pid) ||
      fstatat(folder.folder_, kMark, &found, AT_SYMLINK_NOFOLLOW) != 0)
    return absl::NotFoundError("none of ours");
  return folder;
}

std::string ProgramFolder::here() const { return Cat("/proc/", pid_, "/root", path()); }

absl::Status ProgramFolder::Write(const std::string& name, const std::string& bytes) {
  const Opened file(
      openat(folder_, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (file.fd < 0 ||
      write(file.fd, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()) ||
      fchmod(file.fd, 0644) != 0)
    return Failed(Cat(path(), "/", name));
  return absl::OkStatus();
}

absl::Status ProgramFolder::CopyFile(const std::string& from, const std::string& name) {
  return CopyInto(folder_, from, name, 0755);
}

absl::Status ProgramFolder::CopyPython(const std::string& from, const std::string& name) {
  return CopyTree(folder_, from, name, 0);
}

absl::Status ProgramFolder::HandOver() {
  gid_t group = 0;
  const uid_t user = UserOf(pid_, &group);
  struct stat now;
  if (fstat(folder_, &now) != 0 || fchmod(folder_, 0755) != 0 ||
      (now.st_uid != user && fchown(folder_, user, group) != 0))
    return Failed(path());
  return absl::OkStatus();
}

absl::Status ProgramFolder::BringHome(const std::string& name, const std::string& to) const {
  const Opened log(openat(folder_, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat found;
  if (name.find('/') != std::string::npos || log.fd < 0 || fstat(log.fd, &found) != 0 ||
      !S_ISREG(found.st_mode))
    return Failed(Cat(here(), "/", name));
  const Opened copy(open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (copy.fd < 0 || !CopyBytes(log.fd, copy.fd)) return Failed(to);
  return absl::OkStatus();
}

bool ProgramFolder::Has(const std::string& name) const {
  struct stat found;
  return fstatat(folder_, name.c_str(), &found, AT_SYMLINK_NOFOLLOW) == 0;
}

void ProgramFolder::Remove() {
  Empty(folder_, 0);
  unlinkat(tmp_, name_.c_str(), AT_REMOVEDIR);
}

}  // namespace memprof::cli
