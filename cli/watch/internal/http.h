// Just enough HTTP/1.1: a server that answers GET /metrics, and a client that posts. Both take what
// comes from the other side as hostile, and hold little of it.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "cli/watch/internal/address.h"

namespace memprof::cli {

// The limits of the server.
inline constexpr std::size_t kMostClients = 32, kMostRequest = 8192;
inline constexpr std::chrono::seconds kMostWait{5};  // for a whole request, and for a whole answer

// The answer to the head of a request, up to and with its empty line. `token` "" = none is needed.
// `text` makes the metrics, as OpenMetrics or not.
std::string HttpAnswer(std::string_view head, const std::string& token,
                       const std::function<std::string(bool open_metrics)>& text);

// Answers in a thread of its own until it is destroyed.
class MetricsServer {
 public:
  MetricsServer(Listener listener, std::string token,
                std::function<std::string(bool open_metrics)> text);
  ~MetricsServer();
  MetricsServer(const MetricsServer&) = delete;
  MetricsServer& operator=(const MetricsServer&) = delete;

 private:
  struct Client;
  void Serve();
  void Accept(std::vector<Client>* clients) const;
  // False if the client is done with.
  bool Go(Client* client) const;

  Listener listener_;
  const std::string token_;
  const std::function<std::string(bool)> text_;
  std::atomic<bool> end_{false};
  std::thread thread_;
};

// Posts JSON, within five seconds. Errors, one line: kUnavailable (nobody answers),
// kFailedPrecondition (another status than 2xx).
absl::Status PostJson(const MetricsAddress& to,
                      const std::vector<std::pair<std::string, std::string>>& headers,
                      const std::string& body);

}  // namespace memprof::cli
