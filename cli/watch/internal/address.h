// Where metrics are handed on: a socket of this machine on which somebody may ask, or a collector
// to which they are sent.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace memprof::cli {

struct MetricsAddress {
  enum class Kind { kUnix, kTcp, kOtlp } kind = Kind::kUnix;
  std::string path;  // of the socket; of OTLP: of the request
  std::string host;  // 127.0.0.1 or ::1; of OTLP: any
  std::uint16_t port = 0;
};

// "unix:PATH", "tcp:127.0.0.1:PORT", "tcp:[::1]:PORT", "otlp:http://HOST[:PORT][/PATH]" or "otlp",
// which stands for OTEL_EXPORTER_OTLP_METRICS_ENDPOINT, OTEL_EXPORTER_OTLP_ENDPOINT or
// http://127.0.0.1:4318. Errors: kInvalidArgument, one line.
absl::StatusOr<MetricsAddress> ParseMetricsAddress(const std::string& text);

// OTEL_EXPORTER_OTLP_HEADERS: "name=value,…", with %XX. What could not be a header is left out.
std::vector<std::pair<std::string, std::string>> OtlpHeaders(const std::string& text);

// A socket that listens; a file at `path` is removed with it.
class Listener {
 public:
  // Replaces a socket of this user on which nobody listens. Errors are one line.
  static absl::StatusOr<Listener> Open(const MetricsAddress& address);
  Listener(Listener&& other) noexcept;
  Listener& operator=(Listener&&) = delete;
  ~Listener();

  int fd() const { return fd_; }
  std::uint16_t port() const { return port_; }

 private:
  Listener(int fd, std::string path, std::uint16_t port);

  int fd_;
  std::string path_;
  std::uint64_t device_ = 0, inode_ = 0;  // of the file
  std::uint16_t port_;
};

// What a client of the port has to know: MEMPROF_METRICS_TOKEN, else the content of a file that
// only its owner can read, made if it is not there.
struct MetricsToken {
  std::string token;
  std::string file;  // "" = of the environment
};
absl::StatusOr<MetricsToken> TokenFor(std::uint16_t port);

}  // namespace memprof::cli
