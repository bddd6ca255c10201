// Who asks for metrics, and how: hostile clients, tokens, addresses.
#include "cli/watch/internal/http.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <random>

#include "cli/console/text.h"
#include "tests/cli/cli_test_support.h"

namespace memprof::cli::testing {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr char kToken[] = "0123456789abcdef";

std::string MetricsText(bool open_metrics) { return open_metrics ? "open\n" : "plain\n"; }

std::string Answer(const std::string& head, const std::string& token = "") {
  return HttpAnswer(head, token, MetricsText);
}

TEST(HttpAnswer, IsForMetricsAlone) {
  EXPECT_THAT(Answer("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"),
              AllOf(StartsWith("HTTP/1.1 200 OK\r\n"), HasSubstr("version=0.0.4"),
                    HasSubstr("Content-Length: 6\r\n"), EndsWith("\r\n\r\nplain\n")));
  EXPECT_THAT(Answer("GET /metrics?x=1 HTTP/1.0\r\n\r\n"), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(Answer("GET /metrics HTTP/1.1\r\naccept: "
                     "application/openmetrics-text;version=1.0.0,*/*;q=0.1\r\n\r\n"),
              AllOf(HasSubstr("application/openmetrics-text"), EndsWith("open\n")));
  EXPECT_THAT(Answer("HEAD /metrics HTTP/1.1\r\n\r\n"),
              AllOf(StartsWith("HTTP/1.1 200"), EndsWith("\r\n\r\n")));
  EXPECT_THAT(Answer("GET / HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 404"));
  EXPECT_THAT(Answer("GET /metrics/../x HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 404"));
  EXPECT_THAT(Answer("POST /metrics HTTP/1.1\r\n\r\n"),
              AllOf(StartsWith("HTTP/1.1 405"), HasSubstr("Allow: GET, HEAD")));
  for (const char* garbage :
       {"\r\n\r\n", "GET\r\n\r\n", "GET /metrics\r\n\r\n", "GET /metrics FTP/1.1\r\n\r\n",
        " / HTTP/1.1\r\n\r\n", "\x16\x03\x01"})
    EXPECT_THAT(Answer(garbage), StartsWith("HTTP/1.1 400")) << garbage;
}

TEST(HttpAnswer, NeedsTheToken) {
  const auto with = [](const std::string& header, const std::string& path = "/metrics") {
    return Answer(Cat("GET ", path, " HTTP/1.1\r\nHost: x\r\n", header, "\r\n"), kToken);
  };
  EXPECT_THAT(with(Cat("Authorization: Bearer ", kToken, "\r\n")), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(with(Cat("AUTHORIZATION:\tbearer ", kToken, " \r\n")), StartsWith("HTTP/1.1 200"));
  for (const std::string& header :
       {std::string(), std::string("Authorization:\r\n"), std::string("Authorization: Bearer\r\n"),
        std::string("Authorization: Bearer \r\n"), Cat("Authorization: Basic ", kToken, "\r\n"),
        Cat("Authorization: Bearer ", kToken, "0\r\n"),
        std::string("Authorization: Bearer 0123456789abcdeF\r\n"),
        std::string("Authorization: Bearer 1123456789abcdef\r\n"),
        Cat("Authorization: Bearer ", std::string(kToken).substr(1), "\r\n"),
        Cat("Authorization: Bearer ", kToken, kToken, "\r\n"),
        Cat("Authorization: Bearer x\r\nAuthorization: Bearer ", kToken, "\r\n"),
        Cat("X-Authorization: Bearer ", kToken, "\r\n")})
    for (const char* path : {"/metrics", "/"})
      EXPECT_THAT(with(header, path), StartsWith("HTTP/1.1 401")) << header;
}

TEST(HttpAnswer, TakesAnyBytes) {
  std::mt19937 random(1);
  for (int i = 0; i < 20'000; ++i) {
    std::string head = i % 2 == 0 ? "GET /metrics HTTP/1.1\r\nAuthorization: " : "";
    for (auto n = random() % 200; n > 0; --n)
      head += random() % 3 == 0 ? "\r\n: "[random() % 4] : static_cast<char>(random());
    EXPECT_THAT(Answer(head + "\r\n\r\n", kToken), Not(HasSubstr("200 OK")));
  }
}

class MetricsServerTest : public ::testing::Test {
 protected:
  void Open() {
    auto listener = Listener::Open({.kind = MetricsAddress::Kind::kUnix, .path = path_});
    ASSERT_TRUE(listener.ok()) << listener.status();
    server_ = std::make_unique<MetricsServer>(*std::move(listener), "",
                                              [this](bool) { return std::string(size_, 'x'); });
  }
  int Connect() const {
    const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strcpy(address.sun_path, path_.c_str());
    if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) return fd;
    close(fd);
    return -1;
  }
  static void Say(int fd, const std::string& text) {
    send(fd, text.data(), text.size(), MSG_NOSIGNAL);
  }
  // Until the server closes the connection.
  static std::string Hear(int fd) {
    std::string heard;
    char buffer[65536];
    ssize_t size = 0;
    while ((size = recv(fd, buffer, sizeof buffer, 0)) > 0)
      heard.append(buffer, static_cast<std::size_t>(size));
    close(fd);
    return heard;
  }
  std::string Ask() {
    const int fd = Connect();
    Say(fd, "GET /metrics HTTP/1.1\r\n\r\n");
    return Hear(fd);
  }

  analysis::testing::TempDirectory directory_;
  const std::string path_ = directory_.File("socket");
  std::size_t size_ = 10;
  std::unique_ptr<MetricsServer> server_;
};

TEST_F(MetricsServerTest, AnswersItsUserAlone) {
  Open();
  EXPECT_THAT(Ask(), EndsWith("\r\n\r\nxxxxxxxxxx"));
  struct stat status;
  ASSERT_EQ(lstat(path_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  server_.reset();
  EXPECT_NE(lstat(path_.c_str(), &status), 0) << "the socket is left";
}

TEST_F(MetricsServerTest, SendsLargeAnswersWhole) {
  size_ = 3'000'000;
  Open();
  EXPECT_GT(Ask().size(), size_);
}

TEST_F(MetricsServerTest, RefusesAHugeHeader) {
  Open();
  const int fd = Connect();
  for (int i = 0; i < 100; ++i) Say(fd, Cat("X", i, ": ", std::string(1000, 'x'), "\r\n"));
  EXPECT_THAT(Hear(fd), StartsWith("HTTP/1.1 431"));
  EXPECT_THAT(Ask(), StartsWith("HTTP/1.1 200"));
}

TEST_F(MetricsServerTest, IsNotHeldUpBySlowClients) {
  Open();
  std::vector<int> slow;
  for (std::size_t i = 0; i < kMostClients - 1; ++i) {
    slow.push_back(Connect());
    Say(slow.back(), "GET /met");
  }
  EXPECT_THAT(Ask(), StartsWith("HTTP/1.1 200"));
  for (const int fd : slow) EXPECT_EQ(Hear(fd), "") << "after five seconds";
}

TEST_F(MetricsServerTest, HoldsSoManyClientsAndNoMore) {
  Open();
  std::vector<int> clients;
  for (std::size_t i = 0; i < 3 * kMostClients; ++i) {
    clients.push_back(Connect());
    ASSERT_GE(clients.back(), 0);
    Say(clients.back(), "G");
    usleep(1000);
  }
  usleep(300'000);
  std::size_t closed = 0;
  for (const int fd : clients) {
    char byte;
    closed += recv(fd, &byte, 1, MSG_DONTWAIT) == 0 || errno == ECONNRESET;
    close(fd);
  }
  EXPECT_GE(closed, 2 * kMostClients - 1);
  usleep(300'000);
  EXPECT_THAT(Ask(), StartsWith("HTTP/1.1 200"));
}

TEST_F(MetricsServerTest, ReplacesOnlyASocketOnWhichNobodyListens) {
  const MetricsAddress address{.kind = MetricsAddress::Kind::kUnix, .path = path_};
  Open();
  EXPECT_FALSE(Listener::Open(address).ok());
  EXPECT_THAT(Ask(), StartsWith("HTTP/1.1 200"));
  server_.reset();
  std::ofstream(path_) << "mine";
  EXPECT_FALSE(Listener::Open(address).ok());
  EXPECT_EQ(unlink(path_.c_str()), 0) << "the file is gone";
  {
    const int fd = socket(AF_UNIX, SOCK_STREAM, 0);  // of a process that was killed
    sockaddr_un place{};
    place.sun_family = AF_UNIX;
    std::strcpy(place.sun_path, path_.c_str());
    ASSERT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&place), sizeof place), 0);
    close(fd);
  }
  EXPECT_TRUE(Listener::Open(address).ok());
}

// "localhost" may be ::1 first, where a collector of 127.0.0.1 does not listen, or the other way
// round.
TEST(PostJsonTest, TriesEachAddressOfAName) {
  for (const char* host : {"127.0.0.1", "::1"}) {
    auto listener = Listener::Open({.kind = MetricsAddress::Kind::kTcp, .host = host});
    if (!listener.ok()) continue;  // no such protocol here
    MetricsAddress to{.kind = MetricsAddress::Kind::kOtlp, .path = "/", .host = "localhost"};
    to.port = listener->port();
    addrinfo hints{}, *found = nullptr;
    hints.ai_socktype = SOCK_STREAM;
    ASSERT_EQ(getaddrinfo("localhost", nullptr, &hints, &found), 0);
    bool listed = false;
    for (const addrinfo* one = found; one != nullptr; one = one->ai_next)
      listed |= one->ai_family == (host[0] == ':' ? AF_INET6 : AF_INET);
    freeaddrinfo(found);
    const MetricsServer server(*std::move(listener), "", MetricsText);
    EXPECT_TRUE(!listed || absl::IsFailedPrecondition(PostJson(to, {}, "{}")))
        << host << ": it answers 404";
  }
}

TEST(MetricsAddressTest, OnlyThisMachineCanAsk) {
  for (const char* good : {"unix:/run/m.sock", "tcp:127.0.0.1:9464", "tcp:[::1]:0", "otlp",
                           "otlp:http://collector:4318", "otlp:http://[::1]/x/v1/metrics"})
    EXPECT_TRUE(ParseMetricsAddress(good).ok()) << good;
  for (const std::string& wrong :
       {std::string(), std::string("unix:"), "unix:" + std::string(108, 'x'),
        std::string("tcp:9464"), std::string("tcp:0.0.0.0:9464"), std::string("tcp:[::]:9464"),
        std::string("tcp:localhost:1"), std::string("tcp:127.0.0.1"),
        std::string("tcp:127.0.0.1:65536"), std::string("tcp:127.0.0.1:-1"),
        std::string("otlp:https://collector"), std::string("otlp:http://"),
        std::string("otlp:http://a b:1"), std::string("otlp:http://h/a\r\nX: y"),
        std::string("http://127.0.0.1:1")})
    EXPECT_FALSE(ParseMetricsAddress(wrong).ok()) << wrong;
}

TEST(MetricsAddressTest, OtlpIsWhereOpenTelemetrySays) {
  const auto path = [](const char* text) { return ParseMetricsAddress(text)->path; };
  EXPECT_EQ(path("otlp"), "/v1/metrics");
  EXPECT_EQ(path("otlp:http://h:1/"), "/v1/metrics");
  EXPECT_EQ(path("otlp:http://h:1/own"), "/own");
  setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://h:99/base/", 1);
  EXPECT_EQ(path("otlp"), "/base/v1/metrics");
  EXPECT_EQ(ParseMetricsAddress("otlp")->port, 99);
  setenv("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "http://h:98/own", 1);
  EXPECT_EQ(path("otlp"), "/own");
  unsetenv("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT");
  unsetenv("OTEL_EXPORTER_OTLP_ENDPOINT");
}

TEST(MetricsAddressTest, HeadersCannotBecomeMore) {
  using Pair = std::pair<std::string, std::string>;
  EXPECT_THAT(OtlpHeaders("api-key=a%20b%3D, X=1,bad,=2,a b=3,n=x%0d%0aEvil: 1,o=%zz"),
              ::testing::ElementsAre(Pair("api-key", "a b="), Pair("X", "1"), Pair("o", "%zz")));
}

TEST(MetricsTokenTest, IsMadeOnceForItsOwnerAlone) {
  const analysis::testing::TempDirectory directory;
  setenv("XDG_RUNTIME_DIR", directory.File("run").c_str(), 1);
  const auto first = TokenFor(9464), again = TokenFor(9464), other = TokenFor(9465);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(first->token.size(), 64u);
  EXPECT_EQ(first->token, again->token);
  EXPECT_NE(first->token, other->token);
  struct stat status;
  ASSERT_EQ(stat(first->file.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  ASSERT_EQ(chmod(first->file.c_str(), 0644), 0);
  EXPECT_NE(TokenFor(9464)->token, first->token) << "others may have read it";
  ASSERT_EQ(unlink(first->file.c_str()), 0);
  ASSERT_EQ(symlink(other->file.c_str(), first->file.c_str()), 0);
  EXPECT_NE(TokenFor(9464)->token, other->token) << "a link is followed";
  unsetenv("XDG_RUNTIME_DIR");
  setenv("MEMPROF_METRICS_TOKEN", "short", 1);
  EXPECT_FALSE(TokenFor(1).ok());
  setenv("MEMPROF_METRICS_TOKEN", kToken, 1);
  EXPECT_EQ(TokenFor(1)->token, kToken);
  unsetenv("MEMPROF_METRICS_TOKEN");
}

}  // namespace
}  // namespace memprof::cli::testing
