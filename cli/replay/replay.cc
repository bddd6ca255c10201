// memprof replay: what the recorded requests would have taken with other allocators.
#include "cli/replay/replay.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>

#include "analysis/base/quantity.h"
#include "analysis/base/status_text.h"
#include "analysis/base/units.h"
#include "cli/console/command_line.h"
#include "cli/console/json.h"
#include "cli/console/lines.h"
#include "cli/console/options.h"
#include "cli/console/table.h"
#include "cli/console/terminal.h"
#include "cli/console/text.h"
#include "cli/replay/internal/replay_text.h"
#include "cli/shared/losses.h"
#include "cli/shared/names.h"
#include "cli/shared/run_lines.h"

namespace memprof::cli {
namespace {

using analysis::DeviceReplay;
using analysis::FormatBytes;
using analysis::FormatCount;
using analysis::FormatNumberOf;
using analysis::SpecOrigin;
using analysis::WhatIf;
using analysis::allocators::AllocatorSpec;
using analysis::allocators::kUnlimited;
using analysis::allocators::RequestSource;

// "1.5 MiB (2.3 %)" with its sign; "0" for none.
std::string Signed(std::int64_t bytes, std::uint64_t whole) {
  if (bytes == 0) return "0";
  const double size = std::abs(static_cast<double>(bytes));
  return Cat(bytes < 0 ? "-" : "+", FormatBytes(size),
             whole == 0 ? "" : Cat(" (", Percent(size, static_cast<double>(whole)), ")"));
}

std::string OneDecimal(double share) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.1f %%", 100 * share);
  return text;
}

std::vector<std::string> RowOf(const std::string& name,
                               const analysis::allocators::Figures& figures, std::uint64_t calls) {
  return {FormatBytes(figures.peak_reserved),
          FormatBytes(figures.peak_allocated),
          OneDecimal(figures.fragmentation()),
          FormatCount(figures.peak_segments),
          FormatCount(calls),
          "",
          "",
          name};
}

std::string Fits(const DeviceReplay& replay, const WhatIf& what) {
  if (!what.fits) return "no";
  return replay.capacity == kUnlimited ? "" : "yes";
}

std::string ResidualLine(const DeviceReplay& replay) {
  const std::string name = analysis::allocators::SpecName(replay.replayed.spec);
  std::string text = Cat("  Replayed as ", name);
  if (replay.origin == SpecOrigin::kGiven) text += ", as given by --recorded";
  if (replay.origin == SpecOrigin::kEnvironment) text += ", from the recorded environment";
  if (replay.unchecked) {
    return text +
           ". The log does not show the driver's rounding, and has too few samples of free memory: "
           "this replay is not checked.";
  }
  if (replay.samples > 0) {
    const std::string samples = FormatNumberOf(replay.samples, "sample");
    if (replay.residual == 0) return Cat(text, ": ", samples, " of free memory agree exactly.");
    return Cat(text, ": at the worst of ", samples, " of free memory it is off by ",
               FormatBytes(std::abs(static_cast<double>(replay.residual))), ".");
  }
  if (replay.residual == 0) return text + ": the recorded peak exactly.";
  const double share =
      std::abs(static_cast<double>(replay.residual)) /
      static_cast<double>(std::max<std::uint64_t>(1, replay.recorded.peak_reserved));
  Append(text, ": ", FormatBytes(std::abs(static_cast<double>(replay.residual))),
         replay.residual > 0 ? " more" : " less", " than the recorded peak (", OneDecimal(share),
         ")");
  text += replay.uncertain
              ? "; the recorded allocator differs from this one: savings are uncertain."
              : ": savings are uncertain by as much.";
  return text;
}

// The arrangement that knows all requests, and the lower bound of all arrangements.
void AddLimits(const DeviceReplay& replay, Table* table) {
  const auto saving = [&](std::uint64_t bytes) {
    return Signed(static_cast<std::int64_t>(replay.recorded.peak_reserved - bytes),
                  replay.recorded.peak_reserved);
  };
  if (!replay.placement.addresses.empty()) {
    const double unused = replay.placement.height == 0
                              ? 0
                              : 1 - static_cast<double>(replay.max_live) /
                                        static_cast<double>(replay.placement.height);
    table->Row({FormatBytes(replay.placement.height), FormatBytes(replay.max_live),
                OneDecimal(unused), "1", "1", saving(replay.placement.height), "",
                "offline optimum"});
  }
  table->Row({FormatBytes(replay.max_live), FormatBytes(replay.max_live), "0.0 %", "", "",
              saving(replay.max_live), "", "bound: most alive"});
}

absl::Status ParseAll(const std::vector<std::string>& texts, std::vector<AllocatorSpec>* specs) {
  for (const std::string& text : texts) {
    const auto spec = analysis::allocators::ParseSpec(text);
    if (!spec.ok()) return spec.status();
    specs->push_back(*spec);
  }
  return absl::OkStatus();
}

Json ToJson(const analysis::Session& session, const std::vector<DeviceReplay>& replays) {
  Json list = Json::array();
  for (const DeviceReplay& replay : replays) list.push_back(ReplayJson(replay));
  return {{"schema", "memprof.replay/1"},
          {"log", session.path()},
          {"complete", session.run().complete},
          {"simulated", Simulated(session)},
          {"devices", std::move(list)}};
}

struct ReplayArguments {
  bool json = false;
  std::vector<std::string> with;
  std::string recorded, capacity, seconds;
  std::int64_t device = INT64_MIN;
};

void Declare(Options* options, ReplayArguments* arguments) {
  options->Flag("json", &arguments->json, "Print one JSON object (schema memprof.replay/1).");
  options->List(
      "with", &arguments->with, "NAME[:OPTION[=VALUE],...]",
      "An allocator to compare with, in place of the usual choice; may be given several times. "
      "--with=help lists names and options.");
  options->Text("recorded", &arguments->recorded, "NAME[:OPTION[=VALUE],...]",
                "What the program used, where the log does not show it well.");
  options->Text("capacity", &arguments->capacity, "SIZE",
                "Show what fits into SIZE, e.g. 16GiB, in place of what the recorded run could "
                "have.");
  options->Integer("device", &arguments->device, "N", "Only this device.");
  options->Text("seconds", &arguments->seconds, "S",
                "Time to look for the offline optimum of each device; 0 = do without (default 2).");
  options->Example("memprof replay train.mprof", "The usual choice of allocators.");
  options->Example("memprof replay --with=caching:expandable --capacity=16GiB train.mprof",
                   "Would it fit with expandable segments?");
  options->Example("memprof replay --with=caching:max_split=64MiB,gc=0.8 train.mprof",
                   "PyTorch's allocator with two of its options.");
}

// An exit status, or -1 on success.
int Check(const ReplayArguments& arguments, analysis::ReplayOptions* options,
          std::optional<AllocatorSpec>* recorded) {
  if (const absl::Status parsed = ParseAll(arguments.with, &options->others); !parsed.ok()) {
    return UsageError("replay", "--with: " + analysis::StatusText(parsed));
  }
  if (!arguments.recorded.empty()) {
    const auto spec = analysis::allocators::ParseSpec(arguments.recorded);
    if (!spec.ok())
      return UsageError("replay", "--recorded: " + analysis::StatusText(spec.status()));
    *recorded = *spec;
    options->recorded = &**recorded;
  }
  if (!arguments.capacity.empty()) {
    const auto bytes = analysis::ParseSize(arguments.capacity);
    if (!bytes.ok())
      return UsageError("replay", "--capacity: " + analysis::StatusText(bytes.status()));
    if (*bytes == 0) return UsageError("replay", "--capacity must be larger than 0");
    options->capacity = *bytes;
  }
  if (!arguments.seconds.empty()) {
    constexpr analysis::TimeNs kSecond = 1'000'000'000;
    const auto time = analysis::ParseTime(arguments.seconds, kSecond);
    if (!time.ok() || *time > 86400 * kSecond)
      return UsageError("replay", "--seconds must be a number from 0 to 86400, or a time as 500ms");
    options->placement_seconds = static_cast<double>(*time) / 1e9;
  }
  if (arguments.device == INT64_MIN) return -1;
  if (arguments.device < 0) return UsageError("replay", "--device cannot be negative");
  options->device = static_cast<int>(std::min<std::int64_t>(arguments.device, INT32_MAX));
  return -1;
}

// The conditions under which the requests are replayed.
std::string ConditionLines(const DeviceReplay& replay) {
  std::string text;
  if (replay.refused > 0) {
    Append(text,
           Wrap(Cat("  Out of memory: ", FormatNumberOf(replay.refused, "request"),
                    " found too little when recorded; here they are made again."),
                kWidth, 2),
           "\n");
  }
  if (replay.estimated > 0) {
    Append(text,
           Wrap(Cat("  Estimated: the bytes of ", FormatNumberOf(replay.estimated, "request"),
                    ", whose blocks were kept whole."),
                kWidth, 2),
           "\n");
  }
  if (replay.capacity != kUnlimited) {
    std::string line = Cat("  Fits: into ", FormatBytes(replay.capacity),
                           replay.capacity_given ? "" : ", what the recorded run could have");
    if (replay.peak_outside > 0) {
      Append(line, "; other memory of the program takes up to ", FormatBytes(replay.peak_outside),
             " of it");
    }
    Append(text, Wrap(line + ".", kWidth, 2), "\n");
  }
  return text;
}

// Remarks on the figures of the table.
std::string RemarkLines(const DeviceReplay& replay) {
  std::string text;
  if (!replay.placement.addresses.empty()) {
    const std::string gap =
        replay.placement.height == replay.placement.bound
            ? "is at the bound, so that nothing is better"
            : Cat("is ", OneDecimal(replay.placement.gap()), " above the bound");
    Append(text, "  The offline optimum knows all lifetimes in advance and ", gap, ".\n");
  }
  if (replay.too_many_live) {
    text += Wrap("  No offline optimum was sought: too many requests live at once.", kWidth, 2);
    text += "\n";
  }
  if (replay.residual != 0) {
    Append(text, "  Savings are ± ", FormatBytes(std::abs(static_cast<double>(replay.residual))),
           ", by which the replay of what was recorded is off.\n");
  }
  return text;
}

}  // namespace

std::string_view RequestSourceName(RequestSource source) {
  switch (source) {
    case RequestSource::kBlocks:
      return "framework blocks";
    case RequestSource::kStreamOrdered:
      return "stream-ordered allocations";
    case RequestSource::kDriver:
      break;
  }
  return "driver allocations";
}

std::string_view SpecOriginName(SpecOrigin origin) {
  switch (origin) {
    case SpecOrigin::kGiven:
      return "given";
    case SpecOrigin::kEnvironment:
      return "environment";
    case SpecOrigin::kLog:
      break;
  }
  return "log";
}

std::string ReplayText(const analysis::Session& session, const DeviceReplay& replay) {
  const std::string process =
      session.processes().size() < 2
          ? ""
          : Cat(" of process ", session.processes()[replay.process].run.pid);
  std::string text = Heading(
      Cat("Device ", replay.device, process, ": ", FormatNumberOf(replay.requests, "request"), " (",
          RequestSourceName(replay.source), ") on ", FormatNumberOf(replay.streams, "stream")));
  Append(text, Wrap(ResidualLine(replay), kWidth, 2), "\n");
  Append(text, ConditionLines(replay), "\n");
  Table table({Align::kRight, Align::kRight, Align::kRight, Align::kRight, Align::kRight,
               Align::kRight, Align::kLeft, Align::kLeft});
  table.Header(
      {"reserved", "allocated", "unused", "segments", "calls", "saving", "fits", "allocator"});
  table.Row(RowOf("as recorded", replay.recorded, replay.recorded_driver_calls));
  for (const WhatIf& what : replay.others) {
    std::vector<std::string> row =
        RowOf(analysis::allocators::SpecName(what.spec), what.figures, what.driver_calls);
    row[5] = what.fits ? Signed(what.saving, replay.recorded.peak_reserved) : "";
    row[6] = Fits(replay, what);
    table.Row(row);
  }
  AddLimits(replay, &table);
  text += table.Text(kWidth);
  return text + RemarkLines(replay);
}

int ReplayVerb(int argc, char** argv) {
  ReplayArguments arguments;
  Options options(
      "replay [OPTION...] LOG...",
      "Repeats the recorded requests with other allocators, and shows for each how much "
      "it would have reserved, what of that would have been unused at the peak, and "
      "whether it would have fitted. Methods: docs/replay.md.");
  Declare(&options, &arguments);
  if (const int status = ParseOrExit(options, "replay", argc, argv); status >= 0) return status;
  analysis::ReplayOptions what;
  std::optional<AllocatorSpec> recorded;
  if (std::ranges::find(arguments.with, "help") != arguments.with.end()) {
    return WriteOut(analysis::allocators::SpecHelp()) ? kExitFine : kExitFailed;
  }
  if (const int status = Check(arguments, &what, &recorded); status >= 0) return status;
  int status = kExitFine;
  const auto session = OpenWholeLogs(options, "replay", &status);
  if (!session) return status;
  const std::vector<DeviceReplay> replays = analysis::ReplayAllocators(*session, what);
  if (replays.empty() && what.device != analysis::kNoDevice) {
    PrintError(Cat(session->path(), ": no requests on device ", what.device));
    return kExitFailed;
  }
  if (arguments.json) return PrintJson(WithSampling(*session, ToJson(*session, replays)));
  std::string text = RunLines(*session);
  if (replays.empty()) text += "\nNothing was allocated on a device: there is nothing to replay.\n";
  for (const DeviceReplay& replay : replays) text += ReplayText(*session, replay);
  return WriteOut(text) ? kExitFine : kExitFailed;
}

}  // namespace memprof::cli
