// Sockets on which metrics are asked for, and the token of those that any local user can reach.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

#include "cli/console/text.h"
#include "cli/watch/internal/address.h"

namespace memprof::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kBacklog = 16;
constexpr std::size_t kLeastToken = 16, kMostToken = 1024;

absl::Status Failed(const std::string& what, int error) {
  return absl::FailedPreconditionError(Cat("--metrics: ", what, ": ", std::strerror(error)));
}

sockaddr_un UnixAddress(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

// A socket of this user on which nobody listens any more.
bool IsStale(const std::string& path) {
  struct stat status;
  if (lstat(path.c_str(), &status) != 0 || !S_ISSOCK(status.st_mode) || status.st_uid != geteuid())
    return false;
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const sockaddr_un address = UnixAddress(path);
  const bool refused =
      connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 &&
      errno == ECONNREFUSED;
  if (fd >= 0) close(fd);
  return fd >= 0 && refused;
}

// Nobody else may connect, at no time.
int BindUnix(int fd, const std::string& path) {
  const sockaddr_un address = UnixAddress(path);
  const mode_t before = umask(0177);
  const bool bound = bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  const int error = bound ? 0 : errno;
  umask(before);
  return error;
}

int BindTcp(int fd, const MetricsAddress& address) {
  const int on = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in four{};
  four.sin_family = AF_INET;
  four.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  four.sin_port = htons(address.port);
  sockaddr_in6 six{};
  six.sin6_family = AF_INET6;
  six.sin6_addr = in6addr_loopback;
  six.sin6_port = htons(address.port);
  const bool bound = address.host == "::1"
                         ? bind(fd, reinterpret_cast<const sockaddr*>(&six), sizeof six) == 0
                         : bind(fd, reinterpret_cast<const sockaddr*>(&four), sizeof four) == 0;
  return bound ? 0 : errno;
}

std::uint16_t PortOf(int fd) {
  sockaddr_in6 address{};  // the port of IPv4 lies at the same place
  socklen_t size = sizeof address;
  getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.sin6_port);
}

bool FitsAsToken(const std::string& token) {
  for (const char c : token)
    if (c <= ' ' || c == 127) return false;  // also bytes beyond ASCII
  return token.size() >= kLeastToken && token.size() <= kMostToken;
}

// The folder in which this user's programs keep what others must not read.
std::string PrivateFolder() {
  for (const auto& [variable, below] :
       {std::pair("XDG_RUNTIME_DIR", "memprof"), std::pair("HOME", ".cache/memprof")})
    if (const char* folder = getenv(variable); folder != nullptr && folder[0] == '/')
      return Cat(folder, "/", below);
  return "";
}

// "" if there is no such file, or it cannot be trusted.
std::string ReadToken(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  struct stat status;
  char text[kMostToken + 1];
  ssize_t size = 0;
  if (fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid() &&
      (status.st_mode & 077) == 0)
    size = read(fd, text, sizeof text);
  if (fd >= 0) close(fd);
  const std::string token(text, static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  return FitsAsToken(token) ? token : "";
}

std::string RandomToken() {
  unsigned char random[32];
  if (getrandom(random, sizeof random, 0) != sizeof random) return "";
  std::string token;
  for (const unsigned char byte : random)
    Append(token, "0123456789abcdef"[byte >> 4], "0123456789abcdef"[byte & 15]);
  return token;
}

}  // namespace

Listener::Listener(int fd, std::string path, std::uint16_t port)
    : fd_(fd), path_(std::move(path)), port_(port) {
  struct stat status;
  if (path_.empty() || lstat(path_.c_str(), &status) != 0) return;
  device_ = status.st_dev;
  inode_ = status.st_ino;
}

Listener::Listener(Listener&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      path_(std::exchange(other.path_, "")),
      device_(other.device_),
      inode_(other.inode_),
      port_(other.port_) {}

Listener::~Listener() {
  if (fd_ >= 0) close(fd_);
  struct stat status;
  if (!path_.empty() && lstat(path_.c_str(), &status) == 0 && status.st_dev == device_ &&
      status.st_ino == inode_)
    unlink(path_.c_str());
}

absl::StatusOr<Listener> Listener::Open(const MetricsAddress& address) {
  const bool local = address.kind == MetricsAddress::Kind::kUnix;
  const int family = local ? AF_UNIX : address.host == "::1" ? AF_INET6 : AF_INET;
  const std::string name = local ? address.path : Cat(address.host, " port ", address.port);
  const int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return Failed(name, errno);
  int error = local ? BindUnix(fd, address.path) : BindTcp(fd, address);
  if (local && error == EADDRINUSE && IsStale(address.path) && unlink(address.path.c_str()) == 0)
    error = BindUnix(fd, address.path);
  if (error == 0 && listen(fd, kBacklog) != 0) error = errno;
  if (error == 0) return Listener(fd, local ? address.path : "", local ? 0 : PortOf(fd));
  close(fd);
  return Failed(name, error);
}

absl::StatusOr<MetricsToken> TokenFor(std::uint16_t port) {
  if (const char* token = getenv("MEMPROF_METRICS_TOKEN"); token != nullptr) {
    if (FitsAsToken(token)) return MetricsToken{token, ""};
    return absl::InvalidArgumentError(Cat("MEMPROF_METRICS_TOKEN must be ", kLeastToken, " to ",
                                          kMostToken, " visible characters of ASCII"));
  }
  const std::string folder = PrivateFolder();
  if (folder.empty())
    return absl::FailedPreconditionError("no folder for a token: set MEMPROF_METRICS_TOKEN");
  std::error_code ignored;
  fs::create_directories(fs::path(folder).parent_path(), ignored);
  mkdir(folder.c_str(), 0700);
  const std::string file = Cat(folder, "/metrics-", port, ".token");
  if (std::string old = ReadToken(file); !old.empty()) return MetricsToken{std::move(old), file};
  const std::string token = RandomToken();
  unlink(file.c_str());
  const int fd = open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  const bool written =
      fd >= 0 && !token.empty() && write(fd, token.data(), token.size()) == std::ssize(token);
  const int error = errno;
  if (fd >= 0) close(fd);
  if (!written) return Failed(file, error);
  return MetricsToken{token, file};
}

}  // namespace memprof::cli
