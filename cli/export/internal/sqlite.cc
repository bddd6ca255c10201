// memprof export --to=sqlite: the log as a database, with views that answer common questions.
// docs/export.md describes the tables.
#include <vector>

#include "analysis/leaks/leaks.h"
#include "analysis/peak/peak.h"
#include "analysis/symbols/symbols.h"
#include "cli/console/terminal.h"
#include "cli/console/text.h"
#include "cli/export/internal/format.h"
#include "cli/export/internal/sqlite_file.h"
#include "cli/export/internal/sqlite_schema.h"
#include "cli/export/internal/sqlite_stacks.h"
#include "cli/shared/event_view.h"
#include "cli/shared/names.h"

namespace memprof::cli {
namespace {

using analysis::Session;
using analysis::StackId;

template <typename Id>
SqliteRows& AddId(SqliteRows& rows, Id id) {
  return id.valid() ? rows.Add(std::int64_t{id.value}) : rows.Null();
}

std::string Shape(const analysis::TensorInfo& tensor) {
  std::string shape;
  for (const std::uint64_t size : tensor.shape) Append(shape, shape.empty() ? "" : "x", size);
  return shape;
}

void WriteRun(const Session& session, SqliteFile& file) {
  SqliteRows rows(file, "run", 2);
  const analysis::RunInfo& run = session.run();
  std::string arguments;
  for (const std::string& argument : run.arguments) {
    Append(arguments, arguments.empty() ? "" : " ", argument);
  }
  const auto text = [&rows](std::string_view key, std::string_view value) {
    rows.Add(key).Add(value).End();
  };
  const auto number = [&rows](std::string_view key, std::uint64_t value) {
    rows.Add(key).AddSize(value).End();
  };
  text("log", session.path());
  text("executable", run.executable);
  text("arguments", arguments);
  text("working_directory", run.working_directory);
  text("hostname", run.hostname);
  text("recorder_version", run.recorder_version);
  text("end_reason", run.end_reason);
  number("pid", run.pid);
  number("start_time_ns", run.start_time);
  number("end_time_ns", run.end_time);
  number("start_unix_ns", run.start_unix_ns);
  number("complete", run.complete ? 1 : 0);
  number("simulated", Simulated(session) ? 1 : 0);
}

void WriteLayers(SqliteFile& file) {
  SqliteRows rows(file, "layers", 4);
  for (int i = 0; i < analysis::kLayerCount; ++i) {
    const auto layer = static_cast<analysis::Layer>(i);
    const std::string_view name = analysis::LayerName(layer);
    if (name == "unknown") continue;  // numbers without a name
    rows.Add(name)
        .Add(std::int64_t{analysis::OccupiesDevice(layer)})
        .Add(std::int64_t{analysis::OccupiesHost(layer)})
        .Add(std::int64_t{analysis::IsFrameworkLayer(layer)})
        .End();
  }
}

void WriteSmallTables(const Session& session, SqliteFile& file) {
  SqliteRows devices(file, "devices", 4);
  for (const analysis::DeviceInfo& d : session.devices()) {
    devices.Add(std::int64_t{d.id}).Add(d.name).AddSize(d.capacity_bytes);
    devices.Add(std::int64_t{d.simulated}).End();
  }
  SqliteRows processes(file, "processes", 6);
  std::int64_t row = 0;
  for (const analysis::ProcessInfo& p : session.processes()) {
    processes.Add(row++).Add(p.path).Add(std::int64_t{p.run.pid}).Add(p.run.hostname);
    p.rank < 0 ? processes.Null() : processes.Add(std::int64_t{p.rank});
    processes.AddSize(p.clock_shift_ns).End();
  }
  SqliteRows threads(file, "threads", 4);
  row = 0;
  for (const analysis::ThreadInfo& t : session.threads()) {
    threads.Add(row++).Add(std::int64_t{t.tid}).AddName(t.name).Add(std::int64_t{t.process}).End();
  }
  SqliteRows steps(file, "steps", 4);
  for (const analysis::StepInfo& s : session.steps()) {
    steps.Add(s.number).AddSize(s.begin).AddSize(s.end);
    AddId(steps, s.event).End();
  }
  SqliteRows ranges(file, "ranges", 5);
  for (const analysis::RangeInfo& r : session.ranges()) {
    ranges.Add(session.string(r.name)).Add(std::int64_t{r.thread}).AddSize(r.begin);
    ranges.AddSize(r.end).Add(std::int64_t{r.depth}).End();
  }
  SqliteRows snapshots(file, "snapshots", 3);
  for (const analysis::SnapshotInfo& s : session.snapshots()) {
    AddId(snapshots.Add(s.label).AddSize(s.time), s.event).End();
  }
}

void WriteTensors(const Session& session, SqliteFile& file) {
  std::vector<bool> written;
  SqliteRows rows(file, "tensors", 4);
  for (const analysis::AllocationRecord& record : session.records()) {
    if (record.layer != analysis::Layer::kTensor) continue;
    const auto id = record.tensor().value;
    const analysis::TensorInfo* tensor = session.tensor(analysis::TensorId(id));
    if (tensor == nullptr) continue;
    if (written.size() <= id) written.resize(std::size_t{id} + 1);
    if (written[id]) continue;
    written[id] = true;
    const std::string shape = Shape(*tensor);
    rows.Add(std::int64_t{id}).Add(tensor->name).Add(tensor->dtype).Add(shape).End();
  }
}

void WriteAllocations(const Session& session, SqliteFile& file) {
  SqliteRows rows(file, "allocations", 22);
  std::int64_t id = 0;
  for (const analysis::Allocation& a : session.allocations()) {
    const bool known = session.tensor(a.tensor) != nullptr;
    rows.Add(id++).Add(analysis::LayerName(a.layer)).Add(std::int64_t{a.device});
    rows.AddBits(a.address).AddSize(a.bytes).AddSize(a.requested);
    AddId(rows.AddSize(a.birth_time), a.birth).Add(a.birth_step);
    a.alive() ? rows.Null().Null().Null()
              : AddId(rows.AddSize(a.death_time), a.death).Add(a.death_step);
    rows.Add(EndReasonName(a.end_reason));
    a.thread < session.threads().size() ? rows.Add(std::int64_t{a.thread}) : rows.Null();
    rows.AddBits(a.stream).AddBits(a.pool).AddName(session.string(a.api));
    AddId(AddId(rows, a.parent), known ? a.tensor : analysis::TensorId());
    AddId(rows, a.stack).Add(analysis::ImportKindName(a.import_kind));
    rows.Add(std::int64_t{analysis::OccupiesDevice(a.layer)}).End();
  }
}

void WriteEvents(const Session& session, SqliteFile& file) {
  SqliteRows rows(file, "events", 16);
  const analysis::EventTable& events = session.events();
  EventView view(session);
  for (std::uint32_t e = 0; e < events.size(); ++e) {
    view.Seek(e);
    rows.Add(std::int64_t{e}).AddSize(events.time(e));
    events.thread(e) < session.threads().size() ? rows.Add(std::int64_t{events.thread(e)})
                                                : rows.Null();
    rows.Add(view.step()).Add(analysis::OpName(events.op(e)));
    rows.Add(analysis::LayerName(events.layer(e))).Add(std::int64_t{events.device(e)});
    rows.AddBits(events.address(e)).AddSize(events.bytes(e)).AddBits(events.stream(e));
    rows.AddName(session.string(events.api(e))).Add(std::int64_t{events.result(e)});
    rows.AddName(view.name()).AddBits(events.aux0(e)).AddBits(events.aux1(e));
    AddId(rows, events.allocation(e)).End();
  }
}

void WriteVerdicts(const Session& session, SqliteFile& file) {
  SqliteRows peaks(file, "peaks", 5);
  for (const analysis::Peak& peak : analysis::FindPeaks(session)) {
    peaks.Add(std::int64_t{peak.device}).AddSize(peak.bytes).AddSize(peak.time).Add(peak.step);
    AddId(peaks, peak.event).End();
  }
  SqliteRows rows(file, "leaks", 11);
  for (const analysis::Leak& leak : analysis::FindLeaks(session).leaks) {
    rows.Add(analysis::LeakTierName(leak.tier)).Add(leak.score).Add(std::int64_t{leak.device});
    rows.Add(analysis::LayerName(leak.layer));
    AddId(rows, leak.stack).AddSize(leak.bytes).AddSize(leak.blocks).Add(leak.bytes_per_step);
    rows.Add(leak.first_step).Add(leak.why).Add(leak.disproof).End();
  }
}

}  // namespace

bool ExportSqlite(const ExportInput& input, OutputFile& output) {
  const Session& session = *input.session;
  analysis::Symbols symbols(input.session);
  SqliteFile file(output.writing());
  file.Run(kSqliteTables);
  WriteRun(session, file);
  WriteLayers(file);
  WriteSmallTables(session, file);
  SqliteStacks(session, symbols).Write(file);
  WriteTensors(session, file);
  WriteAllocations(session, file);
  WriteEvents(session, file);
  WriteVerdicts(session, file);
  file.Run(kSqliteIndexesAndViews);
  if (file.Finish()) return true;
  PrintError(Cat(output.path(), ": ", file.error()));
  return false;
}

}  // namespace memprof::cli
