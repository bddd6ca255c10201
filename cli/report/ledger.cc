// The sections on the ledger of each device, and on the recorder's cost and losses.
#include "cli/report/ledger.h"

#include <algorithm>
#include <cstdio>
#include <optional>
#include <utility>

#include "analysis/base/units.h"
#include "cli/console/lines.h"
#include "cli/console/table.h"
#include "cli/console/terminal.h"
#include "cli/console/text.h"
#include "cli/shared/names.h"

namespace memprof::cli {
namespace {

using analysis::DeviceFigures;
using analysis::FormatBytes;
using analysis::FormatCount;
using analysis::FormatDuration;
using analysis::FormatNumberOf;
using analysis::Layer;
using analysis::LedgerEntry;
using analysis::Session;

// "2.00 ms earlier": a sample relative to the instant that it stands for.
std::string Distance(analysis::TimeNs sample, analysis::TimeNs instant) {
  return sample < instant ? Cat(FormatDuration(instant - sample), " earlier")
                          : Cat(FormatDuration(sample - instant), " later");
}

// The rows of the table; a part that is 0 at both instants is left out unless `always`.
struct LedgerRows {
  Table* table;
  const LedgerEntry &highest, &last;

  template <typename Part>
  void Add(std::string name, Part part, bool always = false) const {
    const std::uint64_t a = part(highest), b = part(last);
    if (a == 0 && b == 0 && !always) return;
    table->Row({std::move(name), FormatBytes(a),
                Percent(static_cast<double>(a), static_cast<double>(highest.sample.used_bytes())),
                FormatBytes(b),
                Percent(static_cast<double>(b), static_cast<double>(last.sample.used_bytes()))});
  }
};

// By how much free memory fell during loads of code beyond what counts as code (docs:
// what-uses-the-rest.md).
std::uint64_t NotCountedAsCode(const Session& session, int device) {
  std::uint64_t bytes = 0;
  for (const analysis::AllocationRecord& record : session.records())
    if (record.layer == Layer::kModule && record.device == device)
      bytes += session.events().aux0(record.birth.value) - record.bytes;
  return bytes;
}

std::string DeviceLedgerText(const Session& session, const DeviceFigures& device) {
  const analysis::DeviceLedger& ledger = device.ledger;
  const LedgerEntry &highest = *ledger.highest, &last = *ledger.last;
  Table table({Align::kLeft, Align::kRight, Align::kRight, Align::kRight, Align::kRight});
  table.Header({Cat("device ", device.info.id), "highest use", "", "last sample", ""});
  const LedgerRows rows{&table, highest, last};
  for (std::size_t i = 0; i < highest.by_layer.size(); ++i)
    rows.Add(static_cast<Layer>(i) == Layer::kModule
                 ? "kernels' code"
                 : std::string(analysis::LayerName(static_cast<Layer>(i))),
             [i](const LedgerEntry& entry) { return entry.by_layer[i]; });
  rows.Add("held by pools", [](const LedgerEntry& entry) { return entry.pools_bytes; });
  const bool others = highest.sample.others_bytes || last.sample.others_bytes;
  rows.Add(
      "other processes",
      [](const LedgerEntry& entry) { return entry.sample.others_bytes.value_or(0); }, others);
  rows.Add(
      "untracked", [](const LedgerEntry& entry) { return entry.untracked_bytes; }, true);
  rows.Add(
      "  of it, file cache",
      [](const LedgerEntry& entry) { return entry.file_cache_bytes.value_or(0); },
      highest.file_cache_bytes || last.file_cache_bytes);
  table.Row({"used", FormatBytes(highest.sample.used_bytes()), "",
             FormatBytes(last.sample.used_bytes()), ""});
  table.Row({"free", FormatBytes(highest.sample.free_bytes), "",
             FormatBytes(last.sample.free_bytes), ""});
  std::string text = table.Text(kWidth);
  const auto place = [&session](const LedgerEntry& entry) {
    return Cat(Since(session, entry.sample.time), StepLabel(session, entry.step));
  };
  std::string words =
      ledger.highest_sample_time == highest.sample.time
          ? Cat("Highest use was at the sample after ", place(highest))
          : Cat("Highest use, after ", place(highest),
                ", is computed: what the log knew of then, and ", "what the sample ",
                Distance(ledger.highest_sample_time, highest.sample.time), " showed beyond that");
  Append(words, ". The last of ", FormatNumberOf(ledger.samples, "sample"), " was after ",
         place(last), ".");
  if (const std::uint64_t most = std::max(highest.elsewhere_bytes, last.elsewhere_bytes)) {
    Append(words, " Up to ", FormatBytes(most),
           " of these layers was not on the device: managed memory lives where it is used, and a "
           "checkpoint sets all memory aside.");
  }
  if (const std::uint64_t bytes = NotCountedAsCode(session, device.info.id)) {
    Append(words, " Free memory fell by ", FormatBytes(bytes),
           " while code was loaded that is not counted as kernels' code: memory of other processes "
           "grew then, or is not known of then.");
  }
  if (device.info.uses_system_memory) {
    Append(words,
           " This GPU uses the system's memory: what it counts as used, and what is untracked, can "
           "include ",
           "memory of the system, such as its page cache",
           last.file_cache_bytes ? ", which the system gives up when memory is asked for." : ".");
  }
  return Cat(text, Paragraph(words));
}

std::uint64_t CountOf(const Session& session, log::Anomaly anomaly) {
  for (const analysis::AnomalyCount& count : session.anomalies())
    if (count.anomaly == anomaly) return count.count;
  return 0;
}

std::string SourcesLine(const Session& session) {
  std::string text;
  for (const analysis::SourceInfo& source : session.sources()) {
    Append(text, text.empty() ? "" : ", ", Printable(source.name), " ",
           SourceStateName(source.state),
           source.detail.empty() ? "" : Cat(" (", CutEnd(Printable(source.detail), 60), ")"));
  }
  if (text.empty()) text = "none named";
  return Wrap(Cat("..Sources: ", text), kWidth, 11).replace(0, 2, "  ") + "\n";
}

// "device 0", "devices 0-3, 6".
std::string DeviceRanges(const std::vector<int>& devices) {
  std::string text = devices.size() == 1 ? "device " : "devices ";
  for (std::size_t i = 0, last = 0; i < devices.size(); i = last + 1) {
    for (last = i; last + 1 < devices.size() && devices[last + 1] == devices[last] + 1;) ++last;
    Append(text, i == 0 ? "" : ", ", devices[i]);
    if (last != i) Append(text, "-", devices[last]);
  }
  return text;
}

std::string EstimateText(const std::string& devices, const analysis::Report& report,
                         const analysis::DeviceEstimates& device) {
  const auto figures =
      std::find_if(report.devices.begin(), report.devices.end(),
                   [&](const DeviceFigures& one) { return one.info.id == device.device; });
  Table table({Align::kLeft, Align::kRight, Align::kLeft});
  table.Header({Cat(devices, "  ", CutEnd(Printable(figures->info.name), 28)), "estimate", ""});
  for (const analysis::Estimate& part : device.parts)
    table.Row({std::string(EstimateName(part.kind)), FormatBytes(part.bytes),
               part.error_bytes ? Cat("± ", FormatBytes(*part.error_bytes)) : "at most at once"});
  const std::string fit =
      device.fit == analysis::Fit::kDoesNotFit ? "It does not fit: memory ran out at"
      : device.fit == analysis::Fit::kClose    ? "Too close to say whether it fits:"
                                               : "It fits:";
  return Cat(table.Text(kWidth),
             Paragraph(Cat(
                 fit, " ", FormatBytes(device.peak_bytes), " of ",
                 FormatBytes(device.capacity_bytes), ", ± ", FormatBytes(device.peak_error_bytes),
                 device.framework
                     ? " (nine of ten trainings that were compared with an RTX 3060 and an RTX "
                       "4060). The rest, PyTorch and the program requested themselves."
                     : ". The rest, the program requested itself.")));
}

}  // namespace

std::string LedgerText(const Session& session, const std::vector<DeviceFigures>& devices) {
  std::string text;
  for (const DeviceFigures& device : devices) {
    if (!text.empty()) text += "\n";
    if (device.ledger.samples == 0) {
      Append(text, "  device ", device.info.id,
             ": no sample of its free memory is in the log, so what else was used is unknown.\n");
    } else {
      Append(text, DeviceLedgerText(session, device));
    }
  }
  return text.empty() ? "  No device was seen in this log.\n" : text;
}

std::string EstimatesText(const analysis::Report& report,
                          const std::vector<analysis::DeviceEstimates>& estimates) {
  std::vector<std::pair<std::string, std::vector<std::size_t>>> alike;  // by what is said of them
  for (std::size_t i = 0; i < estimates.size(); ++i) {
    const std::string said = EstimateText("", report, estimates[i]);
    auto same = std::find_if(alike.begin(), alike.end(),
                             [&](const auto& group) { return group.first == said; });
    if (same == alike.end()) same = alike.insert(same, {said, {}});
    same->second.push_back(i);
  }
  std::string text;
  for (const auto& [said, rows] : alike) {
    std::vector<int> devices;
    for (const std::size_t row : rows) devices.push_back(estimates[row].device);
    Append(text, text.empty() ? "" : "\n",
           EstimateText(DeviceRanges(devices), report, estimates[rows[0]]));
  }
  return text;
}

std::string RecorderText(const Session& session, const analysis::EventTotals& events) {
  std::string text = SourcesLine(session);
  const analysis::SelfAccounting& self = session.self();
  Append(text, "  Events:  ", FormatCount(events.total), " (",
         FormatNumberOf(events.allocations, "allocation"), ", ",
         FormatNumberOf(events.frees, "free"), ", ", FormatCount(events.failed), " failed)\n");
  Append(text, "  Dropped: ", FormatNumberOf(events.lost, "event"), ", ",
         FormatNumberOf(CountOf(session, log::Anomaly::kDefinitionsLost), "name or stack",
                        "names or stacks"),
         "\n");
  if (self.bytes_written > 0 && self.events_written > 0) {
    char per_event[32];
    std::snprintf(
        per_event, sizeof per_event, "%.1f",
        static_cast<double>(self.bytes_written) / static_cast<double>(self.events_written));
    Append(text, "  Log:     ", FormatBytes(self.bytes_written), ", ", per_event,
           " bytes per event, ", FormatNumberOf(self.stacks, "stack node"), "\n");
  }
  if (self.events == 0 || self.writer_cpu_ns + self.hook_time_ns == 0) {
    Append(text, "  Cost:    unknown: the log holds no account of it\n");
    return text;
  }
  const analysis::TimeNs begin = StartTime(session);
  const analysis::TimeNs length = std::max(begin, session.run().end_time) - begin;
  const std::string hooks =
      self.hook_time_ns == 0
          ? "too few events to time the hooks"
          : Cat(FormatDuration(self.hook_time_ns), " in the program's threads (",
                FormatDuration(self.hook_time_ns / self.events), " per event, ",
                Percent(static_cast<double>(self.hook_time_ns), static_cast<double>(length)),
                " of one thread's time)");
  const std::string cost =
      Cat(std::string(11, '.'), hooks, ", ", FormatDuration(self.writer_cpu_ns),
          " of CPU in the writer, ", FormatBytes(self.resident_bytes), " of memory");
  return Cat(text, "  Cost:    ", Wrap(cost, kWidth, 11).substr(11), "\n");
}

}  // namespace memprof::cli
