#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "cli/console/text.h"
#include "cli/watch/internal/http.h"

namespace memprof::cli {
namespace {

using Clock = std::chrono::steady_clock;

class Connection {
 public:
  explicit Connection(Clock::time_point until) : until_(until) {}
  ~Connection() { Close(); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // To the first of these addresses that answers: "localhost" is ::1, too, where nothing may
  // listen.
  bool Connect(const addrinfo* to) {
    for (; to != nullptr; to = to->ai_next) {
      Close();
      fd_ = socket(to->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
      if (fd_ >= 0 && ConnectTo(*to)) return true;
    }
    return false;
  }
  bool Send(std::string_view text) {
    while (!text.empty()) {
      const ssize_t sent = send(fd_, text.data(), text.size(), MSG_NOSIGNAL);
      if (sent < 0 && (errno != EAGAIN || !Ready(POLLOUT))) return false;
      text.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(sent, 0)));
    }
    return true;
  }
  // The first line of the answer.
  std::string ReadLine() {
    std::string line;
    while (line.find('\n') == std::string::npos && line.size() < 1024) {
      char buffer[256];
      const ssize_t size = recv(fd_, buffer, sizeof buffer, 0);
      if (size == 0 || (size < 0 && (errno != EAGAIN || !Ready(POLLIN)))) break;
      line.append(buffer, static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
    }
    return line.substr(0, line.find_first_of("\r\n"));
  }

 private:
  void Close() {
    if (fd_ >= 0) close(fd_);
  }
  bool ConnectTo(const addrinfo& to) {
    if (connect(fd_, to.ai_addr, to.ai_addrlen) == 0) return true;
    if (errno != EINPROGRESS || !Ready(POLLOUT)) return false;
    int error = 0;
    socklen_t size = sizeof error;
    getsockopt(fd_, SOL_SOCKET, SO_ERROR, &error, &size);
    errno = error;
    return error == 0;
  }
  bool Ready(short events) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(until_ - Clock::now()).count();
    pollfd polled{fd_, events, 0};
    const int ready = left <= 0 ? 0 : poll(&polled, 1, static_cast<int>(left));
    if (ready == 0) errno = ETIMEDOUT;
    return ready > 0;
  }

  int fd_ = -1;
  const Clock::time_point until_;
};

}  // namespace

absl::Status PostJson(const MetricsAddress& to,
                      const std::vector<std::pair<std::string, std::string>>& headers,
                      const std::string& body) {
  const std::string place = Cat(to.host, ":", to.port, to.path);
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  if (const int error = getaddrinfo(to.host.c_str(), Cat(to.port).c_str(), &hints, &found);
      error != 0)
    return absl::UnavailableError(Cat(place, ": ", gai_strerror(error)));
  Connection connection(Clock::now() + kMostWait);
  const bool connected = connection.Connect(found);
  freeaddrinfo(found);
  const bool six = to.host.find(':') != std::string::npos;
  std::string head = Cat("POST ", to.path, " HTTP/1.1\r\nHost: ", six ? "[" : "", to.host,
                         six ? "]:" : ":", to.port,
                         "\r\nContent-Type: application/json\r\nUser-Agent: memprof"
                         "\r\nConnection: close\r\nContent-Length: ",
                         body.size(), "\r\n");
  for (const auto& [name, value] : headers) Append(head, name, ": ", value, "\r\n");
  if (!connected || !connection.Send(Cat(head, "\r\n", body)))
    return absl::UnavailableError(Cat(place, ": ", std::strerror(errno)));
  const std::string line = connection.ReadLine();
  if (line.starts_with("HTTP/1.") && line.size() > 9 && line[9] == '2') return absl::OkStatus();
  if (line.empty()) return absl::UnavailableError(Cat(place, ": no answer"));
  return absl::FailedPreconditionError(Cat(place, ": ", Printable(line)));
}

}  // namespace memprof::cli
