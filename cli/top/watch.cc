// Decides what of each log is read.
#include "cli/top/internal/watch.h"

#include <algorithm>
#include <ctime>
#include <filesystem>

#include "absl/strings/numbers.h"
#include "analysis/base/status_text.h"
#include "analysis/load/load.h"
#include "analysis/log/paths.h"
#include "analysis/log/reader.h"
#include "cli/console/terminal.h"
#include "cli/console/text.h"
#include "cli/top/internal/figures.h"
#include "cli/top/internal/processes.h"

namespace memprof::cli {
namespace {

using std::chrono::steady_clock;

// Reading whole logs takes at most a share of one in so many of a processor's time.
constexpr int kShareOfTime = 5;
// An unchanged log is read again after so long: its process may have been killed.
constexpr std::chrono::seconds kTrust{5};

absl::StatusOr<std::vector<std::string>> LogsOfName(const std::string& name) {
  pid_t pid = 0;
  if (absl::SimpleAtoi(name, &pid) && pid > 0) return LogsOfProcess(pid);
  return analysis::LogsOf({name});
}

}  // namespace

void Watch::FindLogs(std::vector<std::string>* errors) {
  for (const std::string& name : names_) {
    const auto paths = LogsOfName(name);
    // A process that has ended leaves its logs.
    if (!paths.ok() && !found_.contains(name))
      errors->push_back(analysis::StatusText(paths.status()));
    if (!paths.ok()) continue;
    found_.insert(name);
    for (const std::string& path : *paths) {
      std::error_code error;
      const std::string canonical = std::filesystem::weakly_canonical(path, error).string();
      if (std::ranges::find(logs_, canonical, &Log::canonical) == logs_.end())
        logs_.push_back({.path = path, .canonical = canonical});
    }
  }
}

void Watch::ReadLog(bool progress, Log* log) const {
  if (log->readable && log->process.state != TopState::kRunning) return;
  std::error_code error;
  const std::uint64_t bytes = std::filesystem::file_size(log->path, error);
  const auto age = steady_clock::now() - log->read;
  const bool due = age >= WholeEvery() && (bytes != log->bytes || age >= kTrust);
  if (due || !log->tail || !log->tail->Read(log->path, &log->process)) ReadWhole(progress, log);
}

void Watch::ReadWhole(bool progress, Log* log) {
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

TopPage Watch::Read(bool progress) {
  TopPage page;
  FindLogs(&page.errors);
  for (Log& log : logs_) {
    ReadLog(progress, &log);
    if (!log.error.empty()) page.errors.push_back(log.error);
    if (log.readable) page.processes.push_back(log.process);
  }
  page.whole_every = static_cast<analysis::TimeNs>(WholeEvery().count());
  page.now_unix_ns = static_cast<std::uint64_t>(
      std::chrono::system_clock::now().time_since_epoch() / std::chrono::nanoseconds(1));
  return page;
}

std::chrono::nanoseconds Watch::WholeEvery() const {
  std::chrono::nanoseconds sum{};
  for (const Log& log : logs_)
    if (log.process.state == TopState::kRunning) sum += log.cost;
  return kShareOfTime * sum;
}

}  // namespace memprof::cli
