// memprof export --to=csv: comma-separated values (RFC 4180), for spreadsheets and data frames.
#include "analysis/log/wire.h"
#include "analysis/symbols/symbols.h"
#include "cli/console/terminal.h"
#include "cli/console/text.h"
#include "cli/export/internal/format.h"
#include "cli/shared/event_view.h"
#include "cli/shared/names.h"

namespace memprof::cli {
namespace {

using analysis::Allocation;
using analysis::Session;

// Writes rows, with quotes where a cell needs them.
class Csv {
 public:
  explicit Csv(OutputFile& output) : output_(output) {}
  void Cell(std::string_view text) {
    // The limit of spreadsheets for a cell; other readers refuse four times that.
    constexpr std::size_t kMaxBytes = 32'767;
    const std::string cut = text.size() > kMaxBytes ? analysis::LogText(text, kMaxBytes) : "";
    if (!cut.empty()) text = cut;
    Separate();
    if (text.find_first_of(",\"\r\n") == std::string_view::npos) {
      out_ += text;
      return;
    }
    out_ += '"';
    for (const char c : text) {
      if (c == '"') out_ += '"';
      out_ += c;
    }
    out_ += '"';
  }
  template <std::integral T>
  void Cell(T value) {
    Separate();
    Append(out_, value);
  }
  void Empty() { Separate(); }
  bool EndRow() {
    out_ += "\r\n";
    first_ = true;
    return out_.size() < kFlushBytes || Flush();
  }
  bool Flush() {
    const bool written = output_.Write(out_);
    out_.clear();
    return written;
  }

 private:
  void Separate() {
    if (!first_) out_ += ',';
    first_ = false;
  }
  OutputFile& output_;
  std::string out_;
  bool first_ = true;
};

void HeaderCells(Csv& csv, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) csv.Cell(name);
}

bool ExportEvents(const Session& session, StackTexts& stacks, Csv& csv) {
  HeaderCells(csv, {"seq", "time_ns", "thread", "step", "op", "layer", "device", "address", "bytes",
                    "stream", "api", "result", "name", "aux0", "aux1", "allocation", "site"});
  if (!csv.EndRow()) return false;
  const analysis::EventTable& events = session.events();
  EventView view(session);
  for (std::uint32_t e = 0; e < events.size(); ++e) {
    view.Seek(e);
    csv.Cell(e);
    csv.Cell(events.time(e));
    csv.Cell(view.tid());
    csv.Cell(view.step());
    csv.Cell(analysis::OpName(events.op(e)));
    csv.Cell(analysis::LayerName(events.layer(e)));
    csv.Cell(static_cast<int>(events.device(e)));
    csv.Cell(Hex(events.address(e)));
    csv.Cell(events.bytes(e));
    csv.Cell(Hex(events.stream(e)));
    csv.Cell(session.string(events.api(e)));
    csv.Cell(events.result(e));
    csv.Cell(view.name());
    csv.Cell(events.aux0(e));
    csv.Cell(events.aux1(e));
    events.allocation(e).valid() ? csv.Cell(events.allocation(e).value) : csv.Empty();
    events.stack(e).valid() ? csv.Cell(stacks.Site(events.stack(e))) : csv.Empty();
    if (!csv.EndRow()) return false;
  }
  return csv.Flush();
}

bool ExportAllocations(const Session& session, StackTexts& stacks, Csv& csv) {
  HeaderCells(csv, {"allocation", "layer",         "device",        "address",    "bytes",
                    "requested",  "birth_time_ns", "death_time_ns", "birth_step", "death_step",
                    "end",        "thread",        "stream",        "pool",       "api",
                    "parent",     "name",          "dtype",         "shape",      "site"});
  if (!csv.EndRow()) return false;
  const auto allocations = session.allocations();
  for (std::uint32_t i = 0; i < allocations.size(); ++i) {
    const Allocation& a = allocations[i];
    const analysis::TensorInfo* tensor = session.tensor(a.tensor);
    csv.Cell(i);
    csv.Cell(analysis::LayerName(a.layer));
    csv.Cell(static_cast<int>(a.device));
    csv.Cell(Hex(a.address));
    csv.Cell(a.bytes);
    csv.Cell(a.requested);
    csv.Cell(a.birth_time);
    a.alive() ? csv.Empty() : csv.Cell(a.death_time);
    csv.Cell(a.birth_step);
    a.alive() ? csv.Empty() : csv.Cell(a.death_step);
    csv.Cell(EndReasonName(a.end_reason));
    csv.Cell(a.thread < session.threads().size() ? session.threads()[a.thread].tid : 0u);
    csv.Cell(Hex(a.stream));
    csv.Cell(Hex(a.pool));
    csv.Cell(session.string(a.api));
    a.parent.valid() ? csv.Cell(a.parent.value) : csv.Empty();
    csv.Cell(tensor == nullptr ? std::string_view() : std::string_view(tensor->name));
    csv.Cell(tensor == nullptr ? std::string_view() : std::string_view(tensor->dtype));
    std::string shape;
    for (std::size_t d = 0; tensor != nullptr && d < tensor->shape.size(); ++d) {
      Append(shape, d == 0 ? "" : "x", tensor->shape[d]);
    }
    csv.Cell(shape);
    a.stack.valid() ? csv.Cell(stacks.Site(a.stack)) : csv.Empty();
    if (!csv.EndRow()) return false;
  }
  return csv.Flush();
}

}  // namespace

bool ExportCsv(const ExportInput& input, OutputFile& output) {
  analysis::Symbols symbols(input.session);
  StackTexts stacks(*input.session, symbols);
  Csv csv(output);
  return input.table == "events" ? ExportEvents(*input.session, stacks, csv)
                                 : ExportAllocations(*input.session, stacks, csv);
}

}  // namespace memprof::cli
