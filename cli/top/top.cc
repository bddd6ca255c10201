// memprof top: options, one page, or a page that is drawn again and again.
#include "cli/top/top.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <future>
#include <optional>
#include <thread>

#include "analysis/base/quantity.h"
#include "analysis/base/status_text.h"
#include "cli/console/command_line.h"
#include "cli/console/json.h"
#include "cli/console/lines.h"
#include "cli/console/options.h"
#include "cli/console/terminal.h"
#include "cli/console/text.h"
#include "cli/live/live_logs.h"
#include "cli/top/internal/page.h"
#include "cli/top/internal/screen.h"

namespace memprof::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::steady_clock;

// In a thread that no signal interrupts: handlers run where the screen is drawn.
std::future<TopPage> ReadLater(LiveLogs* logs) {
  std::packaged_task<TopPage()> task([logs] { return TopPage{logs->Read()}; });
  std::future<TopPage> page = task.get_future();
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread(std::move(task)).detach();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return page;
}

// What is seen of the pages that are read.
class Viewing {
 public:
  explicit Viewing(TopPage first) { Show(std::move(first)); }

  void Show(TopPage page) {
    page.sort = sort_;
    page_ = std::move(page);
    Find();
  }
  void Press(Key key) {
    const std::size_t rows = RowsOf(page_).size();
    if (key == Key::kUp && chosen_ > 0) --chosen_;
    if (key == Key::kDown && chosen_ + 1 < rows) ++chosen_;
    if (key == Key::kUp || key == Key::kDown) key_ = RowsOf(page_)[chosen_].key();
    if (key != Key::kSort) return;
    sort_ = kTopSorts[(static_cast<std::size_t>(sort_) + 1) % std::size(kTopSorts)];
    page_.sort = sort_;
    Find();
  }
  void SortBy(TopSort sort) {
    page_.sort = sort_ = sort;
    key_.clear();
    Find();
  }
  std::vector<std::string> Lines(std::size_t width, std::size_t height, nanoseconds every) {
    page_.now_unix_ns = static_cast<std::uint64_t>(
        std::chrono::system_clock::now().time_since_epoch() / nanoseconds(1));
    page_.every = static_cast<analysis::TimeNs>(every.count());
    std::vector<std::string> lines = PageLines(page_, chosen_, width, height - 1);
    lines.resize(height - 1);
    const std::string keys = Cat("q quit   up, down choose   s sort: ", TopSortName(sort_));
    lines.push_back(Styled(Style::kDim, CutEnd(keys, width)));
    return lines;
  }

 private:
  // The same row as before, wherever it is now.
  void Find() {
    const std::vector<TopRow> rows = RowsOf(page_);
    if (rows.empty()) return;
    const auto same = std::ranges::find(rows, key_, &TopRow::key);
    chosen_ = same != rows.end() ? static_cast<std::size_t>(same - rows.begin())
                                 : std::min(chosen_, rows.size() - 1);
    key_ = rows[chosen_].key();
  }

  TopPage page_;
  TopSort sort_ = TopSort::kRank;
  std::size_t chosen_ = 0;
  std::string key_;  // of the chosen row
};

int ShowUntilQuit(LiveLogs* logs, TopPage first, TopSort sort, nanoseconds interval) {
  Viewing viewing(std::move(first));
  viewing.SortBy(sort);
  bool quit = false;
  std::future<TopPage> reading;
  {
    Screen screen;
    auto next_read = steady_clock::now() + interval, next_draw = steady_clock::now();
    auto drawn_size = screen.size();
    while (!quit) {
      const auto now = steady_clock::now();
      if (!reading.valid() && now >= next_read) {
        reading = ReadLater(logs);
        next_read = now + interval;
      }
      if (reading.valid() && reading.wait_for(nanoseconds(0)) == std::future_status::ready) {
        viewing.Show(reading.get());
        next_draw = now;
      }
      if (screen.WasStopped() || screen.size() != drawn_size) next_draw = now;
      if (now >= next_draw) {
        drawn_size = screen.size();
        quit = !screen.Draw(viewing.Lines(drawn_size.first, drawn_size.second, interval));
        next_draw = now + std::chrono::seconds(1);
      }
      for (const Key key : screen.Keys(milliseconds(50))) {
        quit |= key == Key::kQuit;
        viewing.Press(key);
        next_draw = now;
      }
    }
  }
  if (!reading.valid()) return kExitFine;
  // Nobody waits for a log that is still being read.
  std::fflush(nullptr);
  _exit(kExitFine);
}

int PrintOnce(TopPage page, TopSort sort, bool json) {
  for (const std::string& error : page.errors) PrintError(Cat(error, "; left out"));
  page.sort = sort;
  if (json) return PrintJson(TopJson(page));
  page.errors.clear();
  std::string text;
  for (const std::string& line : PageLines(page, 0, kWidth, 0)) Append(text, line, "\n");
  return WriteOut(text) ? kExitFine : kExitFailed;
}

}  // namespace

int TopVerb(int argc, char** argv) {
  bool once = false, json = false;
  std::string interval = "1", sort = "rank";
  Options options(
      "top [OPTION...] PID|LOG...",
      "Shows the memory of programs while they run, a line for each GPU of each process: what is "
      "used, the headroom, the growth per step, and when the GPU will be full; of one of them also "
      "what the memory is for, its course, what grows and where, and the last failed request. A "
      "process stands for its log and those of the processes that it has started, a folder for the "
      "logs in it. Without a terminal, it prints one page. Keys: q or Ctrl-C ends, arrows (or p, "
      "n) choose a line, s sorts.");
  options.Flag("once", &once, "Print one page as text.");
  options.Flag("json", &json, "Print one JSON object (schema memprof.top/1).");
  options.Text(
      "interval", &interval, "SECONDS",
      "How often the page is updated. In large logs, growth and what memory is for are judged "
      "less often, such that it takes at most a fifth of a processor. Default: 1.");
  options.Choice("sort", &sort, {"rank", "used", "growth", "oom"},
                 "The order of the lines: by rank, or the most used, the fastest growing or the "
                 "soonest full first. Default: rank.");
  options.Example("memprof run -o train.mprof -- python train.py & memprof top $!",
                  "Record a program, and watch it.");
  options.Example("memprof top logs/", "All ranks of a job.");
  options.Example("memprof top --once --json 4711 | jq '.processes[0].devices[0].seconds_to_oom'",
                  "One figure of process 4711.");
  if (const int status = ParseOrExit(options, "top", argc, argv); status >= 0) return status;
  const auto every = analysis::ParseTime(interval, 1'000'000'000);
  if (!every.ok())
    return UsageError("top", Cat("--interval: ", analysis::StatusText(every.status())));
  if (*every < 100'000'000 || *every > 3'600'000'000'000)
    return UsageError("top", "--interval is 0.1 seconds to 1 hour");
  if (options.arguments().empty())
    return UsageError("top", "which program? Give the id of a process, or its log");
  LiveLogs logs(options.arguments());
  TopPage page{logs.Read(true)};
  if (page.processes.empty()) {
    for (const std::string& error : page.errors) PrintError(error);
    return kExitFailed;
  }
  const auto by =
      static_cast<TopSort>(std::ranges::find(kTopSorts, sort, TopSortName) - std::begin(kTopSorts));
  if (once || json || !Screen::Possible()) return PrintOnce(std::move(page), by, json);
  return ShowUntilQuit(&logs, std::move(page), by, nanoseconds(*every));
}

}  // namespace memprof::cli
