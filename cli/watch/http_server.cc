#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <optional>

#include "cli/console/text.h"
#include "cli/watch/internal/http.h"

namespace memprof::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kPollMs = 100;
constexpr char kOpenMetrics[] = "application/openmetrics-text; version=1.0.0; charset=utf-8";
constexpr char kPlain[] = "text/plain; version=0.0.4; charset=utf-8";

std::string Response(std::string_view status, std::string_view type, std::string_view body,
                     std::string_view more = "", bool with_body = true) {
  return Cat("HTTP/1.1 ", status, "\r\nContent-Type: ", type, "\r\nContent-Length: ", body.size(),
             "\r\nConnection: close\r\nCache-Control: no-store\r\n", more, "\r\n",
             with_body ? body : "");
}

std::string Error(std::string_view status, std::string_view more = "") {
  return Response(status, "text/plain", Cat(status, "\n"), more);
}

// The value of a header that occurs once; nothing if it is missing or there are several.
std::optional<std::string_view> Header(std::string_view head, std::string_view name) {
  std::optional<std::string_view> found;
  for (std::size_t at = head.find("\r\n"); at != std::string_view::npos;) {
    const std::size_t begin = at + 2, end = head.find("\r\n", begin);
    if (end == std::string_view::npos) break;
    std::string_view line = head.substr(begin, end - begin);
    at = end;
    if (line.size() <= name.size() || line[name.size()] != ':') continue;
    bool same = true;
    for (std::size_t i = 0; i < name.size(); ++i) same &= (line[i] | 32) == (name[i] | 32);
    if (!same) continue;
    if (found) return std::nullopt;
    line.remove_prefix(name.size() + 1);
    while (!line.empty() && (line.front() == ' ' || line.front() == '\t')) line.remove_prefix(1);
    while (!line.empty() && (line.back() == ' ' || line.back() == '\t')) line.remove_suffix(1);
    found = line;
  }
  return found;
}

// Takes as long whatever the first difference is.
bool SameSecret(std::string_view given, std::string_view secret) {
  volatile unsigned char difference = given.size() != secret.size();
  for (std::size_t i = 0; i < secret.size(); ++i)
    difference = static_cast<unsigned char>(
        difference | (secret[i] ^ (given.empty() ? 0 : given[i % given.size()])));
  return difference == 0;
}

bool IsAllowed(std::string_view head, const std::string& token) {
  if (token.empty()) return true;
  const auto given = Header(head, "Authorization");
  constexpr std::string_view kScheme = "bearer ";
  if (!given || given->size() < kScheme.size()) return false;
  for (std::size_t i = 0; i < kScheme.size(); ++i)
    if (((*given)[i] | 32) != kScheme[i]) return false;
  return SameSecret(given->substr(kScheme.size()), token);
}

}  // namespace

std::string HttpAnswer(std::string_view head, const std::string& token,
                       const std::function<std::string(bool)>& text) {
  const std::string_view line = head.substr(0, head.find("\r\n"));
  const std::size_t first = line.find(' '), last = line.rfind(' ');
  if (first == std::string_view::npos || first == last || first == 0 ||
      !line.substr(last + 1).starts_with("HTTP/1."))
    return Error("400 Bad Request");
  const std::string_view method = line.substr(0, first);
  std::string_view target = line.substr(first + 1, last - first - 1);
  // Who has no token learns nothing.
  if (!IsAllowed(head, token))
    return Error("401 Unauthorized", "WWW-Authenticate: Bearer realm=\"memprof\"\r\n");
  target = target.substr(0, target.find('?'));
  if (target != "/metrics") return Error("404 Not Found");
  if (method != "GET" && method != "HEAD")
    return Error("405 Method Not Allowed", "Allow: GET, HEAD\r\n");
  const auto accept = Header(head, "Accept");
  const bool open =
      accept && accept->find("application/openmetrics-text") != std::string_view::npos;
  return Response("200 OK", open ? kOpenMetrics : kPlain, text(open), "", method == "GET");
}

struct MetricsServer::Client {
  int fd = -1;
  Clock::time_point until;
  std::string request, answer;
  std::size_t sent = 0;
};

MetricsServer::MetricsServer(Listener listener, std::string token,
                             std::function<std::string(bool)> text)
    : listener_(std::move(listener)), token_(std::move(token)), text_(std::move(text)) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { Serve(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

MetricsServer::~MetricsServer() {
  end_ = true;
  thread_.join();
}

void MetricsServer::Accept(std::vector<Client>* clients) const {
  for (;;) {
    const int fd = accept4(listener_.fd(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) return;
    if (clients->size() >= kMostClients)
      close(fd);
    else
      clients->push_back({.fd = fd, .until = Clock::now() + kMostWait});
  }
}

bool MetricsServer::Go(Client* client) const {
  if (Clock::now() >= client->until) return false;
  if (client->answer.empty()) {
    char buffer[2048];
    const ssize_t size = recv(client->fd, buffer, sizeof buffer, 0);
    if (size < 0) return errno == EAGAIN || errno == EINTR;
    if (size == 0) return false;
    client->request.append(buffer, static_cast<std::size_t>(size));
    const std::size_t end = client->request.find("\r\n\r\n");
    if (end != std::string::npos)
      client->answer =
          HttpAnswer(std::string_view(client->request).substr(0, end + 4), token_, text_);
    else if (client->request.size() > kMostRequest)
      client->answer = Error("431 Request Header Fields Too Large");
    else
      return true;
    client->until = Clock::now() + kMostWait;
  }
  const ssize_t size = send(client->fd, client->answer.data() + client->sent,
                            client->answer.size() - client->sent, MSG_NOSIGNAL);
  if (size < 0) return errno == EAGAIN || errno == EINTR;
  client->sent += static_cast<std::size_t>(size);
  if (client->sent < client->answer.size()) return true;
  // What was sent and not read would reset the connection before the answer is read.
  shutdown(client->fd, SHUT_WR);
  char rest[4096];
  for (int i = 0; i < 16 && recv(client->fd, rest, sizeof rest, 0) > 0; ++i) continue;
  return false;
}

void MetricsServer::Serve() {
  std::vector<Client> clients;
  while (!end_) {
    std::vector<pollfd> polled = {{listener_.fd(), POLLIN, 0}};
    for (const Client& client : clients)
      polled.push_back(
          {client.fd, static_cast<short>(client.answer.empty() ? POLLIN : POLLOUT), 0});
    poll(polled.data(), polled.size(), kPollMs);
    std::vector<Client> kept;
    for (std::size_t i = 0; i < clients.size(); ++i) {
      const bool idle = polled[i + 1].revents == 0 && Clock::now() < clients[i].until;
      if (idle || Go(&clients[i]))
        kept.push_back(std::move(clients[i]));
      else
        close(clients[i].fd);
    }
    clients = std::move(kept);
    Accept(&clients);
  }
  for (const Client& client : clients) close(client.fd);
}

}  // namespace memprof::cli
