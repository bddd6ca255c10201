// Decides what of each log is read.
#include "cli/live/live_logs.h"

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <optional>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "analysis/base/status_text.h"
#include "analysis/load/load.h"
#include "analysis/log/paths.h"
#include "analysis/log/reader.h"
#include "cli/console/terminal.h"
#include "cli/console/text.h"
#include "cli/live/internal/figures.h"
#include "cli/live/internal/processes.h"
#include "cli/live/internal/tail.h"
#include "proto/run_list.h"

namespace memprof::cli {
namespace {

using std::chrono::steady_clock;

// Reading whole logs takes at most a share of one in so many of a processor's time.
constexpr int kShareOfTime = 5;
// An unchanged log is read again after so long: its process may have been killed.
constexpr std::chrono::seconds kTrust{5};

// Processes are looked through for new logs no more often.
constexpr std::chrono::milliseconds kSearchEvery{500};

// The logs of a run's list; nothing if it is none.
std::optional<std::vector<std::string>> LogsOfList(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return std::nullopt;
  std::ifstream file(path, std::ios::binary);
  std::string text(sizeof log::kRunListMagic, '\0');
  if (!file.read(text.data(), std::ssize(text)) ||
      text != std::string_view(log::kRunListMagic, sizeof log::kRunListMagic))
    return std::nullopt;
  text.resize(log::kFullRunList);
  text.resize(static_cast<std::size_t>(file.read(text.data(), std::ssize(text)).gcount()));
  std::vector<std::string> logs = absl::StrSplit(text, '\0', absl::SkipEmpty());
  std::erase(logs, log::kNoLogEntry);
  return logs;
}

absl::StatusOr<std::vector<std::string>> LogsOfName(const std::string& name) {
  if (auto logs = LogsOfList(name)) return *std::move(logs);
  pid_t pid = 0;
  if (absl::SimpleAtoi(name, &pid) && pid > 0) return LogsOfProcess(pid);
  return analysis::LogsOf({name});
}

}  // namespace

struct LiveLogs::Log {
  std::string path, canonical;
  std::uint64_t bytes = UINT64_MAX;  // when it was read as a whole
  steady_clock::time_point read;
  std::chrono::nanoseconds cost{};  // of that, in a processor's time
  std::optional<LogTail> tail;
  bool readable = false;  // it was once: `process` has its figures
  std::string error;
  LiveProcess process;
};

LiveLogs::LiveLogs(std::vector<std::string> names) : names_(std::move(names)) {}
LiveLogs::~LiveLogs() = default;

void LiveLogs::FindLogs() {
  searched_ = steady_clock::now();
  errors_.clear();
  for (const std::string& name : names_) {
    const auto paths = LogsOfName(name);
    // A process that has ended leaves its logs.
    if (!paths.ok() && !found_.contains(name))
      errors_.push_back(analysis::StatusText(paths.status()));
    if (!paths.ok()) continue;
    found_.insert(name);
    for (const std::string& path : *paths) {
      std::error_code error;
      const std::string canonical = std::filesystem::weakly_canonical(path, error).string();
      if (std::ranges::any_of(logs_, [&](const auto& log) { return log->canonical == canonical; }))
        continue;
      logs_.push_back(std::make_unique<Log>());
      logs_.back()->path = path;
      logs_.back()->canonical = canonical;
    }
  }
}

void LiveLogs::ReadLog(bool progress, bool whole, Log* log) const {
  if (log->readable && log->process.state != LiveState::kRunning) return;
  std::error_code error;
  const std::uint64_t bytes = std::filesystem::file_size(log->path, error);
  const auto age = steady_clock::now() - log->read;
  const bool due = whole || (age >= WholeEvery() && (bytes != log->bytes || age >= kTrust));
  if (due || !log->tail || !log->tail->Read(log->path, &log->process)) ReadWhole(progress, log);
}

void LiveLogs::ReadWhole(bool progress, Log* log) {
  const std::clock_t before = std::clock();
  std::error_code error;
  log->bytes = std::filesystem::file_size(log->path, error);
  std::uint64_t end = 0;
  if (const auto reader = analysis::LogReader::Open(log->path, analysis::LogReader::Mode::kScan);
      reader.ok())
    end = (*reader)->tail_cut() ? (*reader)->tail_offset() : (*reader)->file_bytes();
  analysis::LoadOptions options;
  if (progress) options.progress = ProgressOnTerminal(Cat("reading ", log->path));
  const auto session = analysis::LoadLogs({log->path}, options);
  log->error = session.ok() ? "" : analysis::StatusText(session.status());
  if (session.ok()) {
    log->process = FiguresOf(*session);
    log->tail.emplace(**session, end);
  }
  if (options.progress) ClearProgress();
  log->readable |= session.ok();
  log->cost =
      std::chrono::nanoseconds(std::chrono::seconds(1)) * (std::clock() - before) / CLOCKS_PER_SEC;
  log->read = steady_clock::now();
}

LiveReading LiveLogs::Read(bool progress) { return ReadLogs(progress, false); }

LiveReading LiveLogs::ReadAll() {
  searched_ = {};
  return ReadLogs(false, true);
}

LiveReading LiveLogs::ReadLogs(bool progress, bool whole) {
  if (steady_clock::now() - searched_ >= kSearchEvery) FindLogs();
  LiveReading reading;
  reading.errors = errors_;
  for (const auto& log : logs_) {
    ReadLog(progress, whole, log.get());
    if (!log->error.empty()) reading.errors.push_back(log->error);
    if (log->readable) reading.processes.push_back(log->process);
  }
  reading.whole_every = static_cast<analysis::TimeNs>(WholeEvery().count());
  reading.now_unix_ns = static_cast<std::uint64_t>(
      std::chrono::system_clock::now().time_since_epoch() / std::chrono::nanoseconds(1));
  return reading;
}

std::chrono::nanoseconds LiveLogs::WholeEvery() const {
  std::chrono::nanoseconds sum{};
  for (const auto& log : logs_)
    if (log->process.state == LiveState::kRunning) sum += log->cost;
  return kShareOfTime * sum;
}

}  // namespace memprof::cli
