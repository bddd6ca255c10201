// The page as text: what fits into the terminal.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "analysis/base/units.h"
#include "analysis/leaks/forecast.h"
#include "cli/console/lines.h"
#include "cli/top/internal/line.h"
#include "cli/top/internal/page.h"

namespace memprof::cli {
namespace {

using analysis::FormatBytes;
using analysis::FormatCount;
using analysis::FormatDuration;
using analysis::FormatNumberOf;
using analysis::TimeNs;

using Lines = std::vector<std::string>;

// What is younger is as good as new.
constexpr TimeNs kLongAgo = 5'000'000'000;

Style StyleOf(std::string_view tier) {
  return tier.empty() ? Style::kPlain : tier == "growing" ? Style::kYellow : Style::kRed;
}

std::string TierWords(const LiveLeak& leak) {
  if (leak.tier == "growing") return leak.in_use ? "growing, in use" : "growing";
  return Cat(leak.tier, " leak");
}

std::string Rate(double per_second) {
  char text[32];
  std::snprintf(text, sizeof text, per_second < 10 ? "%.2f" : "%.0f", per_second);
  return text;
}

// A prediction has no more than two units.
std::string Ahead(double seconds) {
  if (seconds >= 2 * 86400)
    return FormatNumberOf(static_cast<std::uint64_t>(std::min(seconds / 86400, 1e9)), "day");
  return FormatDuration(static_cast<TimeNs>(std::max(1.0, seconds)) * 1'000'000'000);
}

std::string NameOf(const LiveProcess& process) {
  return process.rank >= 0 ? Cat("rank ", process.rank) : Cat("pid ", process.pid);
}

std::string OomCell(const LiveDevice& device) {
  if (device.seconds_to_oom >= 0) return Ahead(device.seconds_to_oom);
  if (device.steps_to_oom < 0) return "-";
  return FormatNumberOf(static_cast<std::uint64_t>(std::min(device.steps_to_oom, 9e15)), "step");
}

std::string GrowthCell(const TopRow& row) {
  if (row.device->growth > 0)
    return Cat("+", FormatBytes(row.device->growth), row.process->by_time ? "/s" : "");
  return row.process->too_short ? "?" : "-";
}

// The pages' first part: what runs, and a line for each device of each process.
class TableLines {
 public:
  TableLines(const TopPage& page, const std::vector<TopRow>& rows, std::size_t chosen,
             std::size_t width)
      : page_(page), rows_(rows), chosen_(chosen), width_(width) {}

  // At most `most` rows, the chosen one among them.
  Lines Of(std::size_t most) const {
    Lines lines = {Title()};
    Line head;
    head.Add(" ").Field("process", -11).Field("gpu", 3).Field("step", 6).Field("steps/s", 7);
    head.Field("used", 8).Field("of", 5).Field("headroom", 8).Field("growth/step", 11);
    head.Field("full in", 11);
    lines.push_back(Dim(head));
    const std::size_t shown = std::min(most, rows_.size());
    const std::size_t first =
        std::min(chosen_ - std::min(chosen_, shown / 2), rows_.size() - shown);
    for (std::size_t i = first; i < first + shown; ++i) lines.push_back(RowLine(i));
    return lines;
  }

 private:
  std::string Title() const {
    std::size_t running = 0;
    for (const LiveProcess& process : page_.processes)
      running += process.state == LiveState::kRunning;
    std::string text = FormatNumberOf(page_.processes.size(), "process", "processes");
    Append(text, ", ", running == 0 ? "none running" : Cat(running, " running"));
    Line line;
    line.Add("memprof top", Style::kBold).Add(Cat("  ", text));
    if (page_.every > 0) {
      std::string every = Cat("updated every ", FormatDuration(page_.every));
      if (page_.whole_every >= 2 * page_.every)
        Append(every, ", growth every ", FormatDuration(page_.whole_every));
      if (line.columns() + Columns(every) + 2 <= width_)
        line.Add(std::string(width_ - line.columns() - Columns(every), ' '))
            .Add(every, Style::kDim);
    }
    return line.Text(width_);
  }

  std::string Dim(const Line& line) const { return Styled(Style::kDim, line.Text(width_)); }

  std::string RowLine(std::size_t index) const {
    const TopRow& row = rows_[index];
    const LiveProcess& process = *row.process;
    Line line;
    line.Add(index == chosen_ ? ">" : " ", Style::kBold);
    line.Field(CutEnd(NameOf(process), 11), -11,
               process.state == LiveState::kRunning ? Style::kPlain : Style::kDim);
    line.Field(row.device == nullptr ? "-" : Cat(row.device->device), 3);
    line.Field(process.step < 0 ? "-" : Cat(process.step), 6);
    line.Field(process.steps_per_second > 0 ? Rate(process.steps_per_second) : "-", 7);
    if (row.device == nullptr) return line.Text(width_);
    const LiveDevice& device = *row.device;
    const double share = device.capacity == 0 ? 0
                                              : static_cast<double>(device.used) /
                                                    static_cast<double>(device.capacity);
    line.Field(FormatBytes(device.used), 8);
    line.Field(device.capacity == 0 ? "-" : Percent(share, 1), 5,
               share > 0.95 ? Style::kRed : Style::kPlain);
    line.Field(device.headroom < 0 ? "-" : FormatBytes(device.headroom), 8);
    line.Field(GrowthCell(row), 11, StyleOf(device.growth_tier));
    line.Field(OomCell(device), 11, StyleOf(device.growth_tier));
    return line.Text(width_);
  }

  const TopPage& page_;
  const std::vector<TopRow>& rows_;
  std::size_t chosen_, width_;
};

// Details of one row.
class DetailLines {
 public:
  DetailLines(const TopPage& page, const TopRow& row, std::size_t width)
      : page_(page), process_(*row.process), device_(row.device), width_(width) {
    for (const LiveLeak& leak : process_.leaks)
      if (device_ == nullptr || leak.device == device_->device ||
          leak.device == analysis::kNoDevice)
        leaks_.push_back(&leak);
  }

  Lines Head() const {
    Lines lines = {Line().Add(Command(), Style::kBold).Text(width_), RunLine()};
    if (process_.simulated && width_ > 90)
      lines.back() += Styled(Style::kYellow, CutEnd("; on the stand-in GPU", 22));
    if (!process_.losses.empty()) lines.push_back(LossLine());
    if (!process_.sampling.empty())
      lines.push_back(Line().Add(Cat("  ", process_.sampling), Style::kDim).Text(width_));
    if (device_ == nullptr) return lines;
    lines.push_back(DeviceLine());
    lines.push_back(GrowthLine());
    return lines;
  }

  std::size_t parts() const { return Shown().size(); }
  std::size_t leaks() const { return leaks_.size(); }

  // With a heading, `most` lines in all.
  Lines PartLines(std::size_t most) const {
    const std::vector<LivePart>& parts = Shown();
    Lines lines = {Heading(&parts == &device_->layers ? "Memory by kind" : "Memory by purpose")};
    const std::size_t name = 30, bar = width_ > name + 20 ? width_ - name - 20 : 0;
    std::uint64_t total = 0;
    for (const LivePart& part : parts) total += part.bytes;
    for (std::size_t i = 0; i < parts.size() && lines.size() < most; ++i) {
      const LivePart& part = parts[i];
      const double share = static_cast<double>(part.bytes) / static_cast<double>(total);
      Line line;
      line.Add(" ")
          .Field(part.name, -22)
          .Field(FormatBytes(part.bytes), 8)
          .Field(Percent(share, 1), 6);
      std::string text;
      for (double column = 0.5; column < share * static_cast<double>(bar); ++column) text += "█";
      lines.push_back(line.Add("  ").Add(text, Style::kCyan).Text(width_));
    }
    return lines;
  }

  // The same; nothing if there is no curve.
  Lines CurveLines(std::size_t most) const {
    if (device_->curve.empty() || most < 2) return {};
    std::uint64_t least = UINT64_MAX, top = 0;
    for (const auto& [low, high] : device_->curve) {
      least = std::min(least, low);
      top = std::max(top, high);
    }
    if (top == 0) return {};
    // A small growth of much memory is seen only without what never changes.
    const std::uint64_t base = least > top / 2 && least < top ? least - (top - least) / 4 : 0;
    constexpr std::size_t kLabel = 11;
    Lines lines = {
        Heading(Cat("Allocated, the last ", FormatDuration(device_->curve.size() * kLiveSlot)))};
    const Lines chart = ChartLines(device_->curve, base, top,
                                   width_ > kLabel + 1 ? width_ - kLabel - 1 : 1, most - 1);
    for (std::size_t i = 0; i < chart.size(); ++i) {
      const std::string label = i == 0                  ? FormatBytes(top)
                                : i + 1 == chart.size() ? FormatBytes(base)
                                                        : "";
      lines.push_back(
          Line().Field(label, kLabel - 1).Add(" ").Add(chart[i], Style::kGreen).Text(width_));
    }
    return lines;
  }

  Lines LeakLines(std::size_t most) const {
    Lines lines = {Heading("What grows")};
    for (std::size_t i = 0; i < leaks_.size() && lines.size() < most; ++i) {
      const LiveLeak& leak = *leaks_[i];
      const std::string rate =
          leak.growth > 0 ? Cat("+", FormatBytes(leak.growth), process_.by_time ? "/s" : "/step")
                          : FormatBytes(leak.bytes);
      const std::string words =
          Cat(TierWords(leak), leak.device == analysis::kNoDevice ? ", host" : "");
      Line line;
      line.Add(" ").Field(rate, 15).Field(words, -16, StyleOf(leak.tier)).Add(" ");
      const std::size_t left = width_ > line.columns() ? width_ - line.columns() : 0;
      lines.push_back(line.Add(CutSite(leak.site, left), Style::kCyan).Text(width_));
    }
    if (lines.size() - 1 < leaks_.size() && lines.size() > 1)
      lines.back() =
          Styled(Style::kDim,
                 CutEnd(Cat("  … and ", leaks_.size() - lines.size() + 2, " more (memprof leaks)"),
                        width_));
    return lines;
  }

  Lines FailureLines() const {
    if (!process_.failure) return {};
    const LiveFailure& failure = *process_.failure;
    const TimeNs ago = process_.Elapsed(page_.now_unix_ns) -
                       std::min(process_.Elapsed(page_.now_unix_ns), failure.time);
    std::string head =
        Cat("Last failed request: ", FormatBytes(failure.bytes),
            process_.state == LiveState::kRunning ? Cat(", ", FormatDuration(ago), " ago")
                                                  : Cat(", after ", FormatDuration(failure.time)));
    if (failure.step >= 0) Append(head, ", at step ", failure.step);
    if (failure.recovered) head += ", later served";
    if (process_.failures > 1) Append(head, "; ", FormatCount(process_.failures), " in all");
    const std::size_t left = width_ - std::min<std::size_t>(width_, 2);
    return {Line().Add(head, failure.recovered ? Style::kYellow : Style::kRed).Text(width_),
            Line().Add("  ").Add(CutSite(failure.site, left), Style::kCyan).Text(width_)};
  }

 private:
  std::string Heading(std::string_view text) const {
    return Line().Add(text, Style::kBold).Text(width_);
  }

  // Where a purpose is known of nothing, the kinds of memory say more.
  const std::vector<LivePart>& Shown() const {
    for (const LivePart& part : device_->categories)
      if (part.key != "unknown" && part.key != "slack") return device_->categories;
    return device_->layers;
  }

  // Without the folder of the program.
  std::string Command() const {
    const std::string command = Printable(process_.command);
    const std::size_t slash = command.substr(0, command.find(' ')).rfind('/');
    return slash == std::string::npos ? command : command.substr(slash + 1);
  }

  std::string RunLine() const {
    Line line;
    line.Add(Cat("pid ", process_.pid, " on ", Printable(process_.host), ", "));
    const TimeNs elapsed = process_.Elapsed(page_.now_unix_ns);
    if (process_.state == LiveState::kRunning) {
      line.Add("running", Style::kGreen).Add(Cat(" for ", FormatDuration(elapsed)));
      const TimeNs idle = elapsed - process_.last_event;
      if (idle > kLongAgo) line.Add(Cat("; no event for ", FormatDuration(idle)), Style::kYellow);
      const TimeNs ago = process_.last_event - std::min(process_.last_event, process_.judged);
      if (ago > kLongAgo)
        line.Add(Cat("; growth as of ", FormatDuration(ago), " ago"), Style::kDim);
      return line.Text(width_);
    }
    const bool plain = process_.end_reason.empty() || process_.end_reason == "exit";
    line.Add(process_.state == LiveState::kKilled ? "killed or crashed"
             : plain                              ? std::string("ended")
                     : Cat("ended (", Printable(process_.end_reason), ")"),
             process_.state == LiveState::kKilled ? Style::kRed : Style::kBold);
    return line.Add(Cat(" after ", FormatDuration(elapsed))).Text(width_);
  }

  std::string LossLine() const {
    std::string text = "The recorder lost something:";
    for (const auto& [name, count] : process_.losses)
      Append(text, text.back() == ':' ? " " : ", ", name, " ", FormatCount(count));
    return Line().Add(text, Style::kRed).Text(width_);
  }

  std::string DeviceLine() const {
    Line line;
    line.Add(Cat("GPU ", device_->device));
    if (device_->capacity > 0) line.Add(Cat(" of ", FormatBytes(device_->capacity)));
    line.Add(Cat(": allocated ", FormatBytes(device_->allocated), ", at most ",
                 FormatBytes(device_->peak), "; reserved ", FormatBytes(device_->reserved)));
    if (!device_->name.empty()) line.Add(Cat("; ", Printable(device_->name)));
    return line.Text(width_);
  }

  std::string GrowthLine() const {
    if (device_->growth <= 0)
      return Line()
          .Add(process_.too_short ? "Too early to judge growth" : "Nothing grows steadily")
          .Text(width_);
    std::string text =
        Cat("Grows by ", FormatBytes(device_->growth), " a ", process_.by_time ? "second" : "step");
    if (device_->steps_to_oom >= 0)
      Append(text, ": out of memory ", analysis::StepsAhead(device_->steps_to_oom));
    if (device_->seconds_to_oom >= 0)
      Append(text, device_->steps_to_oom >= 0 ? ", " : ": out of memory in about ",
             Ahead(device_->seconds_to_oom));
    return Line().Add(text, StyleOf(device_->growth_tier)).Text(width_);
  }

  const TopPage& page_;
  const LiveProcess& process_;
  const LiveDevice* device_;
  std::size_t width_;
  std::vector<const LiveLeak*> leaks_;
};

void AddAll(Lines* to, const Lines& lines) { to->insert(to->end(), lines.begin(), lines.end()); }

// The sections below the head: what grows first, then the purposes, then the curve.
Lines Sections(const DetailLines& detail, std::size_t room) {
  const Lines failure = detail.FailureLines();
  room -= std::min(room, failure.size());
  const auto share = [&room](std::size_t wanted, std::size_t most) {
    const std::size_t given = wanted == 1 ? 0 : std::min({wanted, most, room});
    if (given < 2) return std::size_t{0};
    room -= given;
    return given;
  };
  const std::size_t leaks = share(detail.leaks() + 1, std::max<std::size_t>(4, room / 4));
  const std::size_t parts = share(detail.parts() + 1, std::max<std::size_t>(3, room / 2));
  const std::size_t curve = std::min<std::size_t>(room, 13);
  Lines lines;
  if (parts > 0) AddAll(&lines, detail.PartLines(parts));
  AddAll(&lines, detail.CurveLines(curve));
  if (leaks > 0) AddAll(&lines, detail.LeakLines(leaks));
  AddAll(&lines, failure);
  return lines;
}

}  // namespace

Lines PageLines(const TopPage& page, std::size_t chosen, std::size_t width, std::size_t height) {
  const std::vector<TopRow> rows = RowsOf(page);
  chosen = std::min(chosen, rows.empty() ? 0 : rows.size() - 1);
  constexpr std::size_t kAll = 40;  // lines of sections, where nothing limits them
  Lines lines = TableLines(page, rows, chosen, width)
                    .Of(height == 0 ? rows.size() : std::max<std::size_t>(1, height / 3));
  for (std::size_t i = 0; i < page.errors.size() && (height == 0 || i < 3); ++i)
    lines.push_back(Line().Add(Printable(page.errors[i]), Style::kRed).Text(width));
  if (!rows.empty()) {
    const DetailLines detail(page, rows[chosen], width);
    lines.emplace_back();
    AddAll(&lines, detail.Head());
    const std::size_t room = height == 0 ? kAll : height - std::min(height, lines.size());
    if (rows[chosen].device != nullptr)
      AddAll(&lines, Sections(detail, room));
    else
      AddAll(&lines, detail.FailureLines());
  }
  if (height > 0 && lines.size() > height) lines.resize(height);
  return lines;
}

}  // namespace memprof::cli
