// memprof watch: options, and the loop that reads, hands on and tells.
#include "cli/watch/watch.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "absl/strings/numbers.h"
#include "analysis/base/quantity.h"
#include "analysis/base/status_text.h"
#include "cli/console/command_line.h"
#include "cli/console/options.h"
#include "cli/console/terminal.h"
#include "cli/console/text.h"
#include "cli/console/watcher_channel.h"
#include "cli/live/live_logs.h"
#include "cli/watch/internal/alerts.h"
#include "cli/watch/internal/http.h"
#include "cli/watch/internal/metrics.h"

namespace memprof::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::steady_clock;

// The commands of the last alerts may take so long after the programs' end.
constexpr std::chrono::seconds kMostAtEnd{60};
constexpr std::chrono::seconds kPushEvery{10};

volatile sig_atomic_t g_stop = 0;

struct WatchOptions {
  std::vector<std::string> metrics;
  std::string alert, alert_above, interval;
  std::int64_t alert_after = 0, sites = 10;
  nanoseconds every{};
  std::uint64_t above = 0;
};

// The end of `memprof run` or `memprof attach` that has started this process; none for a user.
class Channel {
 public:
  Channel() {
    const char* text = getenv(kWatcherChannel);
    if (text == nullptr || !absl::SimpleAtoi(text, &fd_)) return;
    unsetenv(kWatcherChannel);
    fcntl(fd_, F_SETFD, FD_CLOEXEC);
    fcntl(fd_, F_SETFL, O_NONBLOCK);
  }
  bool open() const { return fd_ >= 0; }
  void Say(std::string_view text) const { send(fd_, text.data(), text.size(), MSG_NOSIGNAL); }
  // Adds the names that have come. False once no more will.
  bool Read(LiveLogs* logs) {
    char buffer[4096];
    ssize_t size = 0;
    while ((size = recv(fd_, buffer, sizeof buffer, 0)) > 0) text_.append(buffer, size);
    for (std::size_t end; (end = text_.find('\0')) != std::string::npos; text_.erase(0, end + 1))
      logs->Add(text_.substr(0, end));
    return size < 0 && (errno == EAGAIN || errno == EINTR);
  }

 private:
  int fd_ = -1;
  std::string text_;
};

// Everything to which metrics are handed on.
class Outlets {
 public:
  Outlets() = default;

  absl::Status Open(const std::vector<std::string>& addresses, std::size_t sites) {
    sites_ = sites;
    for (const std::string& text : addresses) {
      absl::StatusOr<MetricsAddress> address = ParseMetricsAddress(text);
      if (!address.ok()) return address.status();
      if (address->kind == MetricsAddress::Kind::kOtlp)
        collectors_.push_back(*std::move(address));
      else if (absl::Status opened = Serve(*address); !opened.ok())
        return opened;
    }
    return absl::OkStatus();
  }

  // What a client has to know.
  const std::vector<std::string>& notes() const { return notes_; }

  void Show(const LiveReading& reading) {
    if (servers_.empty() && collectors_.empty()) return;
    std::vector<MetricFamily> metrics = MetricsOf(reading, sites_);
    const std::lock_guard lock(mutex_);
    metrics_ = std::move(metrics);
    now_unix_ns_ = reading.now_unix_ns;
  }

  void Push(bool at_once) {
    if (collectors_.empty() || (!at_once && steady_clock::now() < next_push_)) return;
    next_push_ = steady_clock::now() + kPushEvery;
    if (metrics_.empty()) return;
    const char* headers = getenv("OTEL_EXPORTER_OTLP_HEADERS");
    const std::string body = OtlpText(metrics_, now_unix_ns_);
    absl::Status worst;
    for (const MetricsAddress& collector : collectors_)
      worst.Update(PostJson(collector, OtlpHeaders(headers == nullptr ? "" : headers), body));
    if (!worst.ok() && push_works_)
      PrintError(
          Cat("metrics could not be sent to ", analysis::StatusText(worst), "; it is tried on"));
    push_works_ = worst.ok();
  }

 private:
  absl::Status Serve(const MetricsAddress& address) {
    absl::StatusOr<Listener> listener = Listener::Open(address);
    if (!listener.ok()) return listener.status();
    std::string token;
    if (address.kind == MetricsAddress::Kind::kTcp) {
      absl::StatusOr<MetricsToken> made = TokenFor(listener->port());
      if (!made.ok()) return made.status();
      token = made->token;
      const bool six = address.host == "::1";
      notes_.push_back(Cat("metrics at http://", six ? "[::1]" : address.host, ":",
                           listener->port(), "/metrics, with the token of ",
                           made->file.empty() ? "MEMPROF_METRICS_TOKEN" : made->file));
    }
    servers_.push_back(std::make_unique<MetricsServer>(
        *std::move(listener), std::move(token), [this](bool open_metrics) {
          const std::lock_guard lock(mutex_);
          return PrometheusText(metrics_, open_metrics);
        }));
    return absl::OkStatus();
  }

  std::size_t sites_ = 0;
  std::vector<std::string> notes_;
  std::mutex mutex_;
  std::vector<MetricFamily> metrics_;  // only this thread changes it
  std::uint64_t now_unix_ns_ = 0;
  std::vector<MetricsAddress> collectors_;
  steady_clock::time_point next_push_;
  bool push_works_ = true;
  std::vector<std::unique_ptr<MetricsServer>> servers_;  // first to go
};

bool Runs(const LiveReading& reading, const std::vector<std::string>& names) {
  for (const LiveProcess& process : reading.processes)
    if (process.state == LiveState::kRunning && std::filesystem::exists(process.path)) return true;
  for (const std::string& name : names) {
    pid_t pid = 0;
    if (absl::SimpleAtoi(name, &pid) && pid > 0 && (kill(pid, 0) == 0 || errno == EPERM))
      return true;
  }
  return false;
}

class Watcher {
 public:
  Watcher(const WatchOptions& options, std::vector<std::string> names, Channel* channel,
          Outlets* outlets)
      : options_(options),
        names_(names),
        channel_(*channel),
        outlets_(*outlets),
        logs_(std::move(names)),
        rules_(options.above, options.alert_after) {
    if (!options.alert.empty()) runner_.emplace(options.alert);
  }

  int Run() {
    for (bool first = true; g_stop == 0; first = false) {
      const auto next = steady_clock::now() + options_.every;
      const bool more = channel_.open() && channel_.Read(&logs_);
      const bool last = channel_.open() && !more;
      const LiveReading reading = last ? logs_.ReadAll() : logs_.Read();
      if (first && !channel_.open() && reading.processes.empty()) {
        for (const std::string& error : reading.errors) PrintError(error);
        return kExitFailed;
      }
      Tell(reading);
      if (!more && !Runs(reading, names_)) break;
      while (g_stop == 0 && steady_clock::now() < next) Pause(next);
    }
    outlets_.Push(true);
    const auto end = steady_clock::now() + kMostAtEnd;
    while (runner_ && runner_->Go() && g_stop == 0 && steady_clock::now() < end)
      std::this_thread::sleep_for(milliseconds(20));
    return kExitFine;
  }

 private:
  void Tell(const LiveReading& reading) {
    outlets_.Show(reading);
    if (runner_)
      for (Alert& alert : rules_.Check(reading)) runner_->Add(std::move(alert));
    if (runner_) runner_->Go();
    outlets_.Push(false);
  }
  void Pause(steady_clock::time_point next) {
    // Commands follow each other closely.
    const milliseconds most(runner_ && runner_->Go() ? 5 : 50);
    std::this_thread::sleep_for(std::min<nanoseconds>(most, next - steady_clock::now()));
  }

  const WatchOptions& options_;
  const std::vector<std::string> names_;
  Channel& channel_;
  Outlets& outlets_;
  LiveLogs logs_;
  AlertRules rules_;
  std::optional<AlertRunner> runner_;
};

Options Describe(WatchOptions* values) {
  Options options(
      "watch [OPTION...] PID|LOG...",
      "Watches programs while they run, as top does, without a page: hands on their figures to "
      "Prometheus or OpenTelemetry, and runs a command when memory leaks, a budget is passed or "
      "memory is out. Ends with the programs. 'memprof run' and 'memprof attach' start it with the "
      "same options (docs/watch.md).");
  options.List("metrics", &values->metrics, "ADDRESS",
               "unix:PATH or tcp:127.0.0.1:PORT: answer Prometheus there, at /metrics; a port only "
               "with the token of MEMPROF_METRICS_TOKEN, or of a file that is named. "
               "otlp:http://127.0.0.1:4318: send to that collector every 10 s, as OTLP in JSON; "
               "otlp alone asks OTEL_EXPORTER_OTLP_ENDPOINT. May be given several times.");
  options.Integer("metrics-sites", &values->sites, "N",
                  "How many leaks of a log have their place in a label; the rest is one sum. 0 to "
                  "100. Default: 10.");
  options.Text("alert", &values->alert, "CMD",
               "Run CMD by /bin/sh, once for each leak, budget that is passed, failure for lack of "
               "memory, and loss of the recorder's. MEMPROF_ALERT is leak, budget, oom or lost, "
               "MEMPROF_ALERT_TEXT a line about it.");
  options.Text("alert-above", &values->alert_above, "SIZE",
               "With --alert: a budget for the memory that a program reserves of each GPU.");
  options.Integer("alert-after", &values->alert_after, "STEPS",
                  "With --alert: tell a leak once it has been suspected for so many steps. More "
                  "means fewer false alerts, and later ones. Default: 0.");
  options.Text("interval", &values->interval, "SECONDS",
               "How often logs are looked at; large ones are judged less often, such that it takes "
               "at most a fifth of a processor. Default: 1; 0.1 with --alert.");
  options.Example("memprof watch --metrics unix:/run/user/1000/memprof.sock 4711",
                  "The figures of process 4711, for Prometheus.");
  options.Example("memprof watch --alert 'echo \"$MEMPROF_ALERT_TEXT\" | mail -s memprof me' logs/",
                  "A mail for each leak of a job.");
  return options;
}

// An error of the options; "" if there is none.
std::string Check(WatchOptions* values) {
  if (values->metrics.empty() && values->alert.empty())
    return "what for? Give --metrics or --alert";
  if (values->alert.empty() && !values->alert_above.empty()) return "--alert-above needs --alert";
  if (values->alert_after < 0) return "--alert-after is 0 steps or more";
  if (values->sites < 0 || values->sites > kMostSites)
    return Cat("--metrics-sites is 0 to ", kMostSites);
  if (values->interval.empty()) values->interval = values->alert.empty() ? "1" : "0.1";
  const auto every = analysis::ParseTime(values->interval, 1'000'000'000);
  if (!every.ok()) return Cat("--interval: ", analysis::StatusText(every.status()));
  if (*every < 100'000'000 || *every > 3'600'000'000'000)
    return "--interval is 0.1 seconds to 1 hour";
  values->every = nanoseconds(*every);
  if (values->alert_above.empty()) return "";
  const auto above = analysis::ParseSize(values->alert_above);
  if (!above.ok()) return Cat("--alert-above: ", analysis::StatusText(above.status()));
  if (*above == 0) return "--alert-above is a size of more than 0";
  values->above = *above;
  return "";
}

}  // namespace

int WatchVerb(int argc, char** argv) {
  WatchOptions values;
  Options options = Describe(&values);
  if (const int status = ParseOrExit(options, "watch", argc, argv); status >= 0) return status;
  Channel channel;
  std::string wrong = Check(&values);
  if (wrong.empty() && !channel.open() && options.arguments().empty())
    wrong = "which program? Give the id of a process, or its log";
  if (wrong.empty())
    for (const std::string& address : values.metrics)
      if (const auto parsed = ParseMetricsAddress(address); !parsed.ok())
        wrong = analysis::StatusText(parsed.status());
  if (!wrong.empty()) {
    if (!channel.open()) return UsageError("watch", wrong);
    channel.Say(wrong);
    return kExitUsage;
  }
  struct sigaction action {};
  action.sa_handler = [](int) { g_stop = 1; };
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaction(number, &action, nullptr);
  Outlets outlets;
  if (const absl::Status opened =
          outlets.Open(values.metrics, static_cast<std::size_t>(values.sites));
      !opened.ok()) {
    if (channel.open())
      channel.Say(analysis::StatusText(opened));
    else
      PrintError(analysis::StatusText(opened));
    return kExitFailed;
  }
  std::string ready;
  for (const std::string& note : outlets.notes())
    channel.open() ? Append(ready, note, "\n") : PrintNote(note);
  if (channel.open()) channel.Say(ready + kWatcherReady);
  return Watcher(values, options.arguments(), &channel, &outlets).Run();
}

}  // namespace memprof::cli
