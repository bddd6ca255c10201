// memprof dump: the events of a log, one a line.
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <set>

#include "analysis/store/private_pools.h"
#include "cli/console/command_line.h"
#include "cli/console/options.h"
#include "cli/console/terminal.h"
#include "cli/console/text.h"
#include "cli/log/log.h"
#include "cli/shared/event_view.h"
#include "cli/shared/names.h"
#include "cli/shared/open_log.h"
#include "cli/shared/sampling_lines.h"

namespace memprof::cli {
namespace {

using analysis::EventTable;
using analysis::Layer;
using analysis::Op;
using analysis::Session;

struct Filter {
  std::set<std::string, std::less<>> ops, layers;
  std::int64_t device = INT64_MIN, from_step = INT64_MIN, to_step = INT64_MAX;
  std::uint64_t address = 0;
  bool by_address = false;

  bool Accepts(const EventTable& events, const EventView& view) const {
    const std::uint32_t e = view.seq();
    if (device != INT64_MIN && events.device(e) != device) return false;
    if (view.step() < from_step || view.step() > to_step) return false;
    if (!ops.empty() && !ops.contains(analysis::OpName(events.op(e)))) return false;
    if (!layers.empty() && !layers.contains(analysis::LayerName(events.layer(e)))) return false;
    if (!by_address) return true;
    const std::uint64_t offset = address - events.address(e);
    return events.address(e) <= address && (offset == 0 || offset < events.bytes(e));
  }
};

struct DumpOptions {
  bool json = false, symbols = false;
  std::int64_t limit = 0;
};

class Dumper {
 public:
  Dumper(const Session& session, analysis::Symbols& symbols, const DumpOptions& options)
      : session_(session),
        options_(options),
        stacks_(session, symbols),
        view_(session),
        start_(StartTime(session)) {}

  // Returns false if nobody reads the output any more.
  bool Run(const Filter& filter) {
    if (!options_.json)
      out_ += "seq\ttime_s\tthread\tstep\top\tlayer\tdevice\taddress\tbytes\tdetail\n";
    const EventTable& events = session_.events();
    std::int64_t printed = 0;
    for (std::uint32_t e = 0; e < events.size(); ++e) {
      view_.Seek(e);
      if (!filter.Accepts(events, view_)) continue;
      if (options_.limit > 0 && printed++ == options_.limit) break;
      options_.json ? AddJson(e) : AddText(e);
      if (out_.size() < kFlushBytes) continue;
      if (!WriteOut(out_)) return false;
      out_.clear();
    }
    return WriteOut(out_);
  }

 private:
  // The private pool of a segment or a block, or the one that was made; 0 = none.
  std::uint64_t PoolOf(std::uint32_t e) const {
    const EventTable& events = session_.events();
    if (events.op(e) == Op::kFrameworkPool) return events.address(e);
    const analysis::AllocationId id = events.allocation(e);
    if (!id.valid() || !analysis::IsFrameworkLayer(events.layer(e))) return 0;
    return analysis::PrivatePoolOf(session_, id);
  }

  std::string Weight(std::uint32_t e) const {
    return Json(analysis::DrawnAt(session_, analysis::EventId(e)).weight).dump();
  }

  void AddText(std::uint32_t e) {
    const EventTable& events = session_.events();
    char time[48];
    const auto elapsed = static_cast<std::int64_t>(events.time(e) - start_);
    std::snprintf(time, sizeof time, "%.9f", static_cast<double>(elapsed) / 1e9);
    Append(out_, e, '\t', time, '\t', view_.tid(), '\t', view_.step(), '\t',
           analysis::OpName(events.op(e)), '\t', analysis::LayerName(events.layer(e)), '\t',
           static_cast<int>(events.device(e)), '\t', Hex(events.address(e)), '\t', events.bytes(e),
           '\t');
    std::string detail;
    const auto add = [&detail](std::string_view word, std::string_view value) {
      Append(detail, detail.empty() ? "" : " ", word, value);
    };
    if (events.op(e) == Op::kStep) add("number=", std::to_string(events.aux0(e)));
    if (!view_.name().empty()) add("name=", Printable(view_.name()));
    if (const auto* tensor = view_.tensor()) add("shape=", TensorShape(tensor));
    if (events.stream(e) != 0) add("stream=", Hex(events.stream(e)));
    if (const std::uint64_t pool = PoolOf(e)) add("", analysis::PrivatePoolName(pool));
    if (events.op(e) == Op::kSampled) {
      add("weight=", Weight(e));
      add("lived=", Cat(events.aux1(e), "ns"));
    } else if (events.result(e) != 0) {
      add("result=", std::to_string(events.result(e)));
    }
    if (events.api(e).valid()) add("api=", Printable(session_.string(events.api(e))));
    if (options_.symbols && events.stack(e).valid()) add("at ", stacks_.Site(events.stack(e)));
    Append(out_, detail, '\n');
  }

  void AddJson(std::uint32_t e) {
    const EventTable& events = session_.events();
    Append(out_, "{\"seq\":", e, ",\"time_ns\":", events.time(e), ",\"thread\":", view_.tid(),
           ",\"step\":", view_.step(), ",\"op\":\"", analysis::OpName(events.op(e)),
           "\",\"layer\":\"", analysis::LayerName(events.layer(e)),
           "\",\"device\":", static_cast<int>(events.device(e)), ",\"address\":\"",
           Hex(events.address(e)), "\",\"bytes\":", events.bytes(e), ",\"stack\":");
    stacks_.AppendJson(events.stack(e), out_);
    if (events.op(e) == Op::kStep) Append(out_, ",\"number\":", events.aux0(e));
    if (!view_.name().empty()) {
      out_ += ",\"name\":";
      AppendJsonString(view_.name(), out_);
    }
    if (const auto* tensor = view_.tensor()) {
      out_ += ",\"dtype\":";
      AppendJsonString(tensor->dtype, out_);
      out_ += ",\"shape\":[";
      for (std::size_t i = 0; i < tensor->shape.size(); ++i) {
        Append(out_, i == 0 ? "" : ",", tensor->shape[i]);
      }
      out_ += ']';
    }
    if (events.stream(e) != 0) Append(out_, ",\"stream\":\"", Hex(events.stream(e)), '"');
    if (const std::uint64_t pool = PoolOf(e)) Append(out_, ",\"private_pool\":\"", Hex(pool), '"');
    if (events.op(e) == Op::kSampled)
      Append(out_, ",\"weight\":", Weight(e), ",\"lived_ns\":", events.aux1(e));
    else if (events.result(e) != 0)
      Append(out_, ",\"result\":", events.result(e));
    if (events.api(e).valid()) {
      out_ += ",\"api\":";
      AppendJsonString(session_.string(events.api(e)), out_);
    }
    if (events.aux0(e) != 0) Append(out_, ",\"aux0\":", events.aux0(e));
    if (events.aux1(e) != 0 && events.op(e) != Op::kSampled)
      Append(out_, ",\"aux1\":", events.aux1(e));
    if (events.allocation(e).valid()) {
      Append(out_, ",\"allocation\":", events.allocation(e).value);
    }
    out_ += "}\n";
  }

  const Session& session_;
  const DumpOptions& options_;
  StackTexts stacks_;
  EventView view_;
  analysis::TimeNs start_;
  std::string out_;
};

// The known names: a misspelt filter is an error, not an empty result.
template <typename Enum>
std::vector<std::string> AllNames(int count, std::string_view (*name)(Enum)) {
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i) {
    const std::string text(name(static_cast<Enum>(i)));
    if (text != "unknown") names.push_back(text);
  }
  return names;
}

std::string CheckNames(const std::vector<std::string>& given, const std::vector<std::string>& known,
                       std::string_view what) {
  for (const std::string& name : given) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    const auto nearest = Nearest(name, known);
    return Cat("there is no ", what, " '", name, "'",
               nearest ? Cat("; did you mean '", *nearest, "'?") : "");
  }
  return "";
}

bool ParseAddress(std::string_view text, std::uint64_t* address) {
  const bool hex = text.starts_with("0x") || text.starts_with("0X");
  if (hex) text.remove_prefix(2);
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), *address, hex ? 16 : 10);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

}  // namespace

int DumpVerb(int argc, char** argv) {
  DumpOptions dump;
  Filter filter;
  std::vector<std::string> ops, layers;
  std::string address;
  std::int64_t from_step = INT64_MIN, to_step = INT64_MAX;
  Options options("dump [OPTION...] LOG...",
                  "Prints the events of a log in order of time, one a line: as tab-separated text "
                  "with times in seconds since the log began, or as JSON with everything that is "
                  "known.");
  options.Flag("json", &dump.json, "Print one JSON object a line, call stacks included.");
  options.Flag("symbols", &dump.symbols, "Name the call site of each event in the text.");
  options.List("op", &ops, "OP",
               "Only events of this kind: alloc, free, alloc_failed, step, "
               "launch, …; may be given several times.");
  options.List("layer", &layers, "LAYER",
               "Only memory of this layer: linear, managed, pinned, "
               "stream-ordered, segment, block, tensor, …; may be given "
               "several times.");
  options.Integer("device", &filter.device, "N", "Only events of this device; -1 = the host's.");
  options.Integer("from-step", &from_step, "N", "Only events of step N and later.");
  options.Integer("to-step", &to_step, "N", "Only events of step N and earlier.");
  options.Text("address", &address, "ADDRESS", "Only events that concern this address.");
  options.Integer("limit", &dump.limit, "N", "At most N events; 0 = all (default).");
  options.Example("memprof dump --op=alloc --op=free train.mprof | head", "The first allocations.");
  options.Example("memprof dump --json --layer=tensor --from-step=10 --to-step=10 train.mprof",
                  "The tensors that step 10 made and dropped.");
  options.Example("memprof dump --address=0x7f0000200000 --symbols train.mprof",
                  "The history of one address.");
  if (const int status = ParseOrExit(options, "dump", argc, argv); status >= 0) return status;
  std::string error = CheckNames(ops, AllNames<Op>(256, analysis::OpName), "op");
  if (error.empty()) {
    error =
        CheckNames(layers, AllNames<Layer>(analysis::kLayerCount, analysis::LayerName), "layer");
  }
  if (error.empty() && !address.empty() && !ParseAddress(address, &filter.address)) {
    error = Cat("'", address, "' is no address");
  }
  if (error.empty() && dump.limit < 0) error = "--limit cannot be negative";
  if (error.empty() && from_step > to_step) error = "--from-step is greater than --to-step";
  if (!error.empty()) return UsageError("dump", error);
  filter.ops = {ops.begin(), ops.end()};
  filter.layers = {layers.begin(), layers.end()};
  filter.by_address = !address.empty();
  filter.from_step = from_step;
  filter.to_step = to_step;
  int status = kExitFine;
  const auto session = OpenLogs(options, "dump", &status);
  if (!session) return status;
  NoteSampling(*session);
  analysis::Symbols symbols(session);
  return Dumper(*session, symbols, dump).Run(filter) ? kExitFine : kExitFailed;
}

}  // namespace memprof::cli
