// memprof source: memory by line of the program's source.
#include "cli/source/source.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/base/status_text.h"
#include "analysis/base/units.h"
#include "analysis/source/line_bytes.h"
#include "analysis/source/source_text.h"
#include "analysis/symbols/kept_sources.h"
#include "cli/console/command_line.h"
#include "cli/console/json.h"
#include "cli/console/lines.h"
#include "cli/console/options.h"
#include "cli/console/table.h"
#include "cli/console/terminal.h"
#include "cli/console/text.h"
#include "cli/shared/instants.h"
#include "cli/shared/losses.h"
#include "cli/shared/names.h"
#include "cli/shared/run_lines.h"

namespace memprof::cli {
namespace {

using analysis::FormatBytes;
using analysis::LineBytes;
using analysis::Peak;
using analysis::Session;

struct SourceArguments {
  bool json = false;
  std::int64_t top = 20, device = kAllDevices;
  std::string file, at = "peak";
  std::vector<std::string> maps;
};

void Declare(Options* options, SourceArguments* arguments) {
  options->Flag("json", &arguments->json, "Print one JSON object (schema memprof.source/1).");
  options->Text("file", &arguments->file, "FILE",
                "The lines of this file, by its name or the end of its path; without, the files of "
                "all call sites.");
  options->Text("at", &arguments->at, "WHEN",
                "When memory was live: at the peak (default), end, step=N, oom, event=N or "
                "snapshot=LABEL.");
  options->Integer("device", &arguments->device, "N", "Only this device.");
  options->Integer("top", &arguments->top, "N", "Rows of files; 0 = all (default 20).");
  options->List("source-map", &arguments->maps, "FROM=TO",
                "Sources that were recorded below FROM are below TO. TO alone is a checkout, in "
                "which the longest common end of a path is searched. Any number of times.");
  options->Example("memprof source train.mprof", "Which files hold the peak, and which leak.");
  options->Example("memprof source --file=train.py train.mprof", "The lines of one of them.");
}

LineBytes TotalOf(const std::vector<analysis::StackBytes>& stacks) {
  LineBytes total;
  for (const analysis::StackBytes& stack : stacks) total += stack.bytes;
  return total;
}

std::string LeakedText(const LineBytes& bytes) {
  return bytes.leaked > 0 ? FormatBytes(bytes.leaked) : "";
}

std::string FilesText(const std::vector<analysis::FileBytes>& files, std::size_t top) {
  if (files.empty()) return "  No call site of it has a file and a line.\n";
  Table table({Align::kRight, Align::kRight, Align::kLeft});
  table.Header({"live", "leaked", "file"});
  const std::size_t shown = Shown(files.size(), top);
  for (std::size_t i = 0; i < shown; ++i)
    table.Row(
        {FormatBytes(files[i].self.live), LeakedText(files[i].self), Printable(files[i].file)});
  return table.Text(kWidth) + MoreLine(shown, files.size());
}

std::string Trimmed(const std::string& line) {
  return line.substr(std::min(line.size(), line.find_first_not_of(' ')));
}

// The lines with bytes, and their text if it is known.
std::string LinesText(const std::vector<analysis::SourceLine>& lines,
                      const absl::StatusOr<analysis::SourceText>& text) {
  if (lines.empty()) return "  No memory of it is of this file.\n";
  Table table({Align::kRight, Align::kRight, Align::kRight, Align::kRight, Align::kLeft});
  table.Header({"self", "inclusive", "leaked", "line", ""});
  for (const analysis::SourceLine& line : lines) {
    const auto number = static_cast<std::size_t>(line.line);
    const bool known = text.ok() && number <= text->lines.size();
    table.Row({line.self.live > 0 ? FormatBytes(line.self.live) : "",
               FormatBytes(line.inclusive.live), LeakedText(line.inclusive), Cat(line.line),
               known ? Trimmed(text->lines[number - 1]) : ""});
  }
  return table.Text(kWidth);
}

Json BytesJson(const LineBytes& bytes) {
  return {{"live_bytes", bytes.live}, {"leaked_bytes", bytes.leaked}};
}

// One device of the output, as text and as JSON.
class DeviceSource {
 public:
  DeviceSource(const Session& session, analysis::Symbols& symbols, const Peak& peak)
      : session_(session), symbols_(symbols), peak_(peak) {
    stacks_ = analysis::BytesByStack(session, {peak.device, peak.time, peak.time, nullptr});
  }
  std::vector<analysis::FileBytes> Files() const {
    return analysis::FilesOfSites(symbols_, stacks_);
  }
  std::vector<analysis::SourceLine> Lines(const std::string& file) const {
    return analysis::LinesOfFile(session_, symbols_, stacks_, file);
  }
  std::string Title(const std::string& words) const {
    return Heading(Cat("Device ", peak_.device, ": ", FormatBytes(TotalOf(stacks_).live),
                       " with a call stack at ", words.empty() ? "the peak" : words));
  }
  // Its files; if `file` is not empty, the lines of that.
  Json ToJson(const std::string& file) const {
    return {{"device", peak_.device},
            {"time_ns", peak_.time},
            {"step", peak_.step},
            {"total", BytesJson(TotalOf(stacks_))},
            {file.empty() ? "files" : "lines", file.empty() ? FilesJson() : LinesJson(file)}};
  }

 private:
  Json FilesJson() const {
    Json list = Json::array();
    for (const analysis::FileBytes& each : Files()) {
      Json one = Json::object();
      one["file"] = each.file;
      one.update(BytesJson(each.self));
      list.push_back(std::move(one));
    }
    return list;
  }
  Json LinesJson(const std::string& file) const {
    Json list = Json::array();
    for (const analysis::SourceLine& line : Lines(file))
      list.push_back({{"line", line.line},
                      {"self", BytesJson(line.self)},
                      {"inclusive", BytesJson(line.inclusive)},
                      {"stacks", line.stacks}});
    return list;
  }

  const Session& session_;
  analysis::Symbols& symbols_;
  const Peak& peak_;
  std::vector<analysis::StackBytes> stacks_;
};

// The file of the log that `name` means. Errors: one line.
absl::StatusOr<std::string> FileOf(const Session& session, analysis::Symbols& symbols,
                                   const std::string& name) {
  const std::vector<std::string> files = analysis::FilesNamed(session, symbols, name);
  const std::string shown = Printable(name);
  if (files.empty())
    return absl::NotFoundError(
        Cat("--file: no call stack of ", session.path(), " has the file ", shown));
  if (files.size() > 1)
    return absl::NotFoundError(Cat("--file: ", shown, " may be ", Printable(files[0]), " or ",
                                   Printable(files[1]), ": name more of its path"));
  return files[0];
}

// The lines of `file` as the log keeps them; null if it does not. Reads no file of this machine.
Json KeptLines(const Session& session, const std::string& file) {
  analysis::SourcePlaces places;
  places.kept = analysis::KeptSourcesOf(session);
  if (!places.kept->contains(file)) return nullptr;
  const auto text = analysis::ReadSource(file, places, 0);
  return text.ok() ? Json(text->lines) : Json(nullptr);
}

std::string Text(const Session& session, analysis::Symbols& symbols, const Instants& instants,
                 const SourceArguments& arguments, const std::string& file,
                 const analysis::SourcePlaces& places) {
  std::string text = RunLines(session);
  if (instants.of_devices.empty()) text += "\nNo device memory was allocated in this log.\n";
  std::vector<DeviceSource> devices;
  int last_line = 0;
  for (const Peak& peak : instants.of_devices) {
    devices.emplace_back(session, symbols, peak);
    if (file.empty()) continue;
    const std::vector<analysis::SourceLine> lines = devices.back().Lines(file);
    if (!lines.empty()) last_line = std::max(last_line, lines.back().line);
  }
  if (file.empty()) {
    for (const DeviceSource& device : devices)
      Append(text, device.Title(instants.words),
             FilesText(device.Files(), static_cast<std::size_t>(arguments.top)));
    return text;
  }
  const auto source = analysis::ReadSource(file, places, last_line);
  if (source.ok())
    Append(text, "\n", Printable(source->path), source->kept ? ", kept in the log" : "", "\n",
           source->doubt, source->doubt.empty() ? "" : "\n");
  else
    Append(text, "\n", Printable(analysis::StatusText(source.status())),
           absl::IsNotFound(source.status()) ? " Name its place with --source-map.\n" : "\n");
  for (const DeviceSource& device : devices)
    Append(text, device.Title(instants.words), LinesText(device.Lines(file), source));
  return text;
}

}  // namespace

int SourceVerb(int argc, char** argv) {
  SourceArguments arguments;
  Options options("source [OPTION...] LOG...",
                  "Shows the program's source files with the memory that was allocated in them, or "
                  "the lines of one file: what is allocated at a line (self), what with the line "
                  "anywhere on the call stack (inclusive), and what of that leaks.");
  Declare(&options, &arguments);
  if (const int status = ParseOrExit(options, "source", argc, argv); status >= 0) return status;
  if (arguments.top < 0) return UsageError("source", "--top cannot be negative");
  if (arguments.device != kAllDevices && arguments.device < 0)
    return UsageError("source", "--device cannot be negative");
  const std::optional<When> when = ParseWhen(arguments.at);
  if (!when)
    return UsageError("source", "--at takes peak, end, step=N, oom, event=N or snapshot=LABEL");
  analysis::SourcePlaces places;
  for (const std::string& text : arguments.maps) {
    auto map = analysis::ParseSourceMap(text);
    if (!map.ok()) return UsageError("source", "--source-map takes FROM=TO or a folder");
    places.maps.push_back(*std::move(map));
  }
  int status = kExitFine;
  const auto session = OpenWholeLogs(options, "source", &status);
  if (!session) return status;
  const absl::StatusOr<Instants> instants = FindInstants(*session, arguments.device, *when);
  analysis::Symbols symbols(session);
  absl::StatusOr<std::string> file(arguments.file);
  if (!arguments.file.empty()) file = FileOf(*session, symbols, arguments.file);
  for (const absl::Status& wrong : {instants.status(), file.status()}) {
    if (wrong.ok()) continue;
    PrintError(analysis::StatusText(wrong));
    return kExitFailed;
  }
  if (arguments.json) {
    Json devices = Json::array();
    for (const Peak& peak : instants->of_devices)
      devices.push_back(DeviceSource(*session, symbols, peak).ToJson(*file));
    Json object = {{"schema", "memprof.source/1"},
                   {"log", session->path()},
                   {"complete", session->run().complete},
                   {"simulated", Simulated(*session)}};
    if (!file->empty()) {
      object["file"] = *file;
      if (Json lines = KeptLines(*session, *file); !lines.is_null())
        object["kept_lines"] = std::move(lines);
    }
    object["devices"] = std::move(devices);
    return PrintJson(WithSampling(*session, std::move(object)));
  }
  places.working_directory = session->run().working_directory;
  places.executable = session->run().executable;
  places.run_unix_ns = session->run().start_unix_ns;
  places.kept = analysis::KeptSourcesOf(*session);
  const std::string text = Text(*session, symbols, *instants, arguments, *file, places);
  return WriteOut(text) ? kExitFine : kExitFailed;
}

}  // namespace memprof::cli
