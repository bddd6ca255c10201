#include "cli/watch/internal/address.h"

#include <cstdlib>
#include <string_view>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "cli/console/text.h"

namespace memprof::cli {
namespace {

absl::Status Refuse(const std::string& text, std::string_view why) {
  return absl::InvalidArgumentError(Cat("--metrics: '", text, "' ", why));
}

// "HOST:PORT" or "[HOST]:PORT"; without a port the default, unless that is 0.
bool ReadHostAndPort(std::string text, std::uint16_t port, MetricsAddress* address) {
  address->port = port;
  const std::size_t bracket = text.rfind(']'), colon = text.rfind(':');
  if (colon != std::string::npos && (bracket == std::string::npos || colon > bracket)) {
    std::uint32_t number = 0;
    if (!absl::SimpleAtoi(text.substr(colon + 1), &number) || number > 65535) return false;
    address->port = static_cast<std::uint16_t>(number);
    text.resize(colon);
  } else if (port == 0) {
    return false;
  }
  if (text.size() > 2 && text.front() == '[' && text.back() == ']')
    text = text.substr(1, text.size() - 2);
  address->host = text;
  for (const char c : text)
    if (static_cast<unsigned char>(c) <= ' ' || c == '/' || c == '[' || c == ']' || c == '@')
      return false;
  return !text.empty();
}

std::string Variable(const char* name) {
  const char* value = getenv(name);
  return value == nullptr ? "" : value;
}

absl::StatusOr<MetricsAddress> Otlp(const std::string& text, std::string url) {
  std::string path;
  if (url.empty()) url = Variable("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT");
  const bool whole = !url.empty();
  if (url.empty()) url = Variable("OTEL_EXPORTER_OTLP_ENDPOINT");
  if (url.empty()) url = "http://127.0.0.1:4318";
  constexpr std::string_view kScheme = "http://";
  if (!std::string_view(url).starts_with(kScheme))
    return Refuse(text,
                  "is not http://HOST:PORT: send to a collector on this machine, which adds TLS");
  url = url.substr(kScheme.size());
  const std::size_t slash = url.find('/');
  if (slash != std::string::npos) {
    path = url.substr(slash);
    url.resize(slash);
  }
  // A path that is given for metrics alone is the whole one.
  if (!whole || path.empty() || path == "/") {
    while (!path.empty() && path.back() == '/') path.pop_back();
    path += "/v1/metrics";
  }
  MetricsAddress address{.kind = MetricsAddress::Kind::kOtlp, .path = path};
  for (const char c : path)
    if (static_cast<unsigned char>(c) <= ' ') return Refuse(text, "has a path with a space");
  if (!ReadHostAndPort(url, 4318, &address)) return Refuse(text, "is not http://HOST:PORT");
  return address;
}

}  // namespace

absl::StatusOr<MetricsAddress> ParseMetricsAddress(const std::string& text) {
  const std::size_t colon = text.find(':');
  const std::string kind = text.substr(0, colon);
  const std::string rest = colon == std::string::npos ? "" : text.substr(colon + 1);
  if (kind == "otlp") return Otlp(text, rest);
  if (kind == "unix") {
    if (rest.empty()) return Refuse(text, "names no path");
    if (rest.size() >= 108) return Refuse(text, "is longer than the 107 bytes of a socket's path");
    return MetricsAddress{.kind = MetricsAddress::Kind::kUnix, .path = rest};
  }
  if (kind != "tcp")
    return Refuse(text, "is not unix:PATH, tcp:127.0.0.1:PORT or otlp:http://HOST:PORT");
  MetricsAddress address{.kind = MetricsAddress::Kind::kTcp};
  if (!ReadHostAndPort(rest, 0, &address)) return Refuse(text, "is not tcp:127.0.0.1:PORT");
  if (address.host != "127.0.0.1" && address.host != "::1")
    return Refuse(text, "would be open to other machines: only 127.0.0.1 and [::1] are allowed");
  return address;
}

std::vector<std::pair<std::string, std::string>> OtlpHeaders(const std::string& text) {
  const auto decoded = [](std::string_view coded) {
    std::string value;
    for (std::size_t i = 0; i < coded.size(); ++i) {
      unsigned char byte = 0;
      const auto digit = [&](char c) {
        const std::size_t at = std::string_view("0123456789abcdef").find(static_cast<char>(c | 32));
        byte = static_cast<unsigned char>(byte * 16 + at);
        return at != std::string_view::npos;
      };
      if (coded[i] == '%' && i + 2 < coded.size() && digit(coded[i + 1]) && digit(coded[i + 2])) {
        value += static_cast<char>(byte);
        i += 2;
      } else {
        value += coded[i];
      }
    }
    return value;
  };
  std::vector<std::pair<std::string, std::string>> headers;
  for (const auto piece : absl::StrSplit(text, ',')) {
    const std::string pair(piece);
    const std::size_t equals = pair.find('=');
    if (equals == std::string::npos) continue;
    std::string name = pair.substr(0, equals), value = decoded(pair.substr(equals + 1));
    while (!name.empty() && name.front() == ' ') name.erase(0, 1);
    while (!name.empty() && name.back() == ' ') name.pop_back();
    bool fits = !name.empty() && pair.size() < 4096;
    for (const char c : name)
      fits &= isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_';
    for (const char c : value) fits &= static_cast<unsigned char>(c) >= ' ' && c != 127;
    if (fits) headers.emplace_back(std::move(name), std::move(value));
  }
  return headers;
}

}  // namespace memprof::cli
