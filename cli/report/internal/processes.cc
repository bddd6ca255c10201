// The memory of each process of a job, and how even it is.
#include "cli/report/internal/processes.h"

#include <algorithm>
#include <cmath>

#include "analysis/base/units.h"
#include "analysis/report/process_figures.h"
#include "cli/console/json.h"
#include "cli/console/lines.h"
#include "cli/console/table.h"
#include "cli/console/terminal.h"
#include "cli/console/text.h"
#include "cli/shared/names.h"
#include "cli/shared/run_lines.h"

namespace memprof::cli {
namespace {

using analysis::FormatBytes;
using analysis::FormatCount;
using analysis::ProcessFigures;
using analysis::Session;
using analysis::Spread;
using Member = std::uint64_t ProcessFigures::*;

// A figure whose evenness is reported.
struct Measure {
  Member member;
  std::string_view name;
  std::string_view key;
};
constexpr Measure kMeasures[] = {
    {&ProcessFigures::driver_peak_bytes, "peak of driver memory", "driver_peak"},
    {&ProcessFigures::in_use_peak_bytes, "peak in use", "in_use_peak"},
    {&ProcessFigures::driver_end_bytes, "memory at the end", "driver_end"},
};

std::string ProcessName(const Session& session, std::uint32_t process) {
  const int rank = session.processes()[process].rank;
  return rank >= 0 ? Cat("rank ", rank) : Cat("process ", process + 1);
}

std::vector<ProcessFigures> ProcessFiguresOf(const Session& session,
                                             const std::vector<analysis::Leak>& leaks) {
  analysis::ProcessQuery query;
  query.leaks = leaks;
  return FindProcessFigures(session, query);
}

Spread SpreadOf(const std::vector<ProcessFigures>& figures, Member member) {
  std::vector<std::uint64_t> values;
  for (const ProcessFigures& process : figures) values.push_back(process.*member);
  return analysis::SpreadOf(values);
}

// "12.0 MiB ▲" for an outlier.
std::string Marked(const Spread& spread, std::uint32_t process, std::uint64_t value) {
  const auto& odd = spread.outliers;
  const bool stands_out = std::find(odd.begin(), odd.end(), process) != odd.end();
  const bool high = static_cast<double>(value) > spread.median;
  return Cat(FormatBytes(value), !stands_out ? "" : high ? " ▲" : " ▼");
}

std::string DeviceList(const std::vector<int>& devices) {
  std::string text;
  for (const int device : devices) Append(text, text.empty() ? "" : ", ", device);
  return text.empty() ? "-" : text;
}

std::string ProcessTable(const Session& session, const std::vector<ProcessFigures>& figures) {
  const auto any = [&](Member member) {
    return std::any_of(figures.begin(), figures.end(),
                       [member](const ProcessFigures& process) { return process.*member > 0; });
  };
  const bool framework = any(&ProcessFigures::in_use_peak_bytes);
  const bool leaked = any(&ProcessFigures::leaked_bytes);
  const bool imported = any(&ProcessFigures::imported_peak_bytes);
  std::vector<std::string> header = {"process", "pid", "device", "peak"};
  if (framework) header.insert(header.end(), {"in use", "reserved"});
  header.push_back("at the end");
  if (leaked) header.push_back("leaked");
  if (imported) header.push_back("of others");
  header.push_back("events");
  std::vector<Align> columns(header.size(), Align::kRight);
  columns[0] = columns[2] = Align::kLeft;
  Table table(std::move(columns));
  table.Header(header);
  const Spread peak = SpreadOf(figures, &ProcessFigures::driver_peak_bytes);
  const Spread in_use = SpreadOf(figures, &ProcessFigures::in_use_peak_bytes);
  const Spread end = SpreadOf(figures, &ProcessFigures::driver_end_bytes);
  for (const ProcessFigures& process : figures) {
    const std::uint32_t i = process.process;
    std::vector<std::string> row = {ProcessName(session, i), Cat(session.processes()[i].run.pid),
                                    DeviceList(process.devices),
                                    Marked(peak, i, process.driver_peak_bytes)};
    if (framework)
      row.insert(row.end(), {Marked(in_use, i, process.in_use_peak_bytes),
                             FormatBytes(process.reserved_peak_bytes)});
    row.push_back(Marked(end, i, process.driver_end_bytes));
    if (leaked) row.push_back(FormatBytes(process.leaked_bytes));
    if (imported) row.push_back(FormatBytes(process.imported_peak_bytes));
    row.push_back(FormatCount(process.events));
    table.Row(std::move(row));
  }
  return table.Text(kWidth);
}

// "Peak of driver memory: 12.0 MiB to 16.0 MiB, imbalance 14 %."
std::string SpreadSentence(std::string_view what, const Spread& spread) {
  std::string name(what);
  name[0] = static_cast<char>(name[0] - 'a' + 'A');
  if (spread.least == spread.most) return Cat(name, ": ", FormatBytes(spread.most), " in each.");
  return Cat(name, ": ", FormatBytes(spread.least), " to ", FormatBytes(spread.most),
             ", imbalance ", Percent(spread.imbalance, 1), ".");
}

std::string OutlierSentence(const Session& session, const std::vector<ProcessFigures>& figures) {
  if (figures.size() < 3) return "";  // of two, neither can be called the outlier
  std::string names;
  for (const ProcessFigures& process : figures) {
    const bool odd = std::any_of(std::begin(kMeasures), std::end(kMeasures), [&](const Measure& m) {
      const Spread spread = SpreadOf(figures, m.member);
      return std::find(spread.outliers.begin(), spread.outliers.end(), process.process) !=
             spread.outliers.end();
    });
    if (odd) Append(names, names.empty() ? "" : ", ", ProcessName(session, process.process));
  }
  return names.empty()
             ? " None stands out."
             : Cat(" Marked, because further from the median than 3 scaled median deviations and "
                   "than 5 %: ",
                   names, ".");
}

}  // namespace

std::string ProcessesText(const Session& session, const std::vector<analysis::Leak>& leaks) {
  if (CountProcesses(session) < 2) return "";
  const std::vector<ProcessFigures> figures = ProcessFiguresOf(session, leaks);
  std::string text;
  std::uint64_t imported = 0;
  for (const Measure& measure : kMeasures) {
    const Spread spread = SpreadOf(figures, measure.member);
    if (spread.most > 0)
      Append(text, text.empty() ? "" : " ", SpreadSentence(measure.name, spread));
  }
  text += OutlierSentence(session, figures);
  for (const ProcessFigures& process : figures)
    imported = std::max(imported, process.imported_peak_bytes);
  if (imported > 0)
    Append(text, " Memory of others, up to ", FormatBytes(imported),
           ", is counted once, where it was allocated.");
  return Cat(ProcessTable(session, figures), text.empty() ? "" : Paragraph(text));
}

Json ProcessesJson(const Session& session, const std::vector<analysis::Leak>& leaks) {
  const std::vector<ProcessFigures> figures = ProcessFiguresOf(session, leaks);
  Json list = Json::array();
  for (const ProcessFigures& process : figures) {
    list.push_back({{"rank", session.processes()[process.process].rank},
                    {"pid", session.processes()[process.process].run.pid},
                    {"devices", process.devices},
                    {"driver_peak_bytes", process.driver_peak_bytes},
                    {"driver_peak_time_ns", process.driver_peak_time},
                    {"in_use_peak_bytes", process.in_use_peak_bytes},
                    {"reserved_peak_bytes", process.reserved_peak_bytes},
                    {"driver_end_bytes", process.driver_end_bytes},
                    {"in_use_end_bytes", process.in_use_end_bytes},
                    {"host_peak_bytes", process.host_peak_bytes},
                    {"imported_peak_bytes", process.imported_peak_bytes},
                    {"leaked_bytes", process.leaked_bytes},
                    {"events", process.events},
                    {"allocations", process.allocations}});
  }
  Json json = {{"list", std::move(list)}};
  for (const Measure& measure : kMeasures) {
    const Spread spread = SpreadOf(figures, measure.member);
    json[std::string(measure.key)] = {
        {"mean_bytes", Number(spread.mean)},     {"median_bytes", Number(spread.median)},
        {"least_bytes", spread.least},           {"most_bytes", spread.most},
        {"imbalance", Number(spread.imbalance)}, {"outliers", spread.outliers}};
  }
  return json;
}

}  // namespace memprof::cli
