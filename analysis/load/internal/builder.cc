// Turns a log file into a Session.
#include "analysis/load/internal/builder.h"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <map>
#include <string_view>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "analysis/load/internal/backward_stacks.h"
#include "analysis/load/internal/marks.h"
#include "analysis/load/internal/merge.h"
#include "analysis/load/internal/present.h"
#include "analysis/load/internal/sampled.h"
#include "analysis/load/internal/step_gaps.h"
#include "analysis/log/ring_recovery.h"
#include "analysis/steps/found.h"
#include "analysis/symbols/symbols_module.h"

namespace memprof::analysis {
namespace {

bool OnThisHost(const std::string& hostname) {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 && hostname == name;
}

bool IsRegularFile(const std::string& path) {
  struct stat info {};
  return !path.empty() && stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
}

}  // namespace

bool WriterIsAlive(const HeaderRecord& header) {
  // kill() would take an invalid pid for a group, or for all processes.
  const auto pid = static_cast<pid_t>(header.run.pid);
  if (pid <= 0 || !OnThisHost(header.run.hostname) || !IsRegularFile(header.ring_path))
    return false;
  if (kill(pid, 0) != 0 && errno != EPERM) return false;
  std::ifstream file(absl::StrCat("/proc/", header.run.pid, "/stat"));
  const std::string stat(std::istreambuf_iterator<char>(file), {});
  const std::size_t name_end = stat.rfind(')');  // then " S", the state
  const char state = name_end + 2 < stat.size() ? stat[name_end + 2] : '?';
  return state != 'Z' && state != 'X';  // dead, and not yet waited for by its parent
}

SessionBuilder::SessionBuilder(std::unique_ptr<LogReader> reader, const LoadOptions& options)
    : reader_(std::move(reader)), options_(options) {
  data_.path = options_.name ? options_.name(reader_->path()) : reader_->path();
  elsewhere_ = options_.elsewhere ? options_.elsewhere(reader_->path()) : nullptr;
}

absl::StatusOr<std::shared_ptr<const Session>> SessionBuilder::Build() {
  if (absl::Status status = ReadTables(); !status.ok()) return status;
  FindEnd();
  tables_.Finish();
  if (absl::Status status = ReadEvents(); !status.ok()) return status;
  Count(log::Anomaly::kSamplingOdd,
        ResolveSampled(data_.run.start_time, data_.run.complete, &raw_, &order_));
  TakeBefore();
  if (!options_.tables_only) AttributeBackward();
  BuildLifetimes();
  if (!Report(0.95)) return absl::CancelledError("cancelled");
  data_.processes = {{.path = data_.path, .run = data_.run, .rank = RankOf(data_.run)}};
  CountDamage();
  MergeAnomalies();
  const bool marked = !data_.steps.empty();
  if (marked) data_.step_origin = {.source = StepSource::kMarks, .confidence = 1};
  auto session = std::make_shared<Session>(std::move(data_));
  if (!marked && options_.find_steps) session->SetSteps(FindStepsToUse(*session));
  return session;
}

// Everything but events, on one thread and in the order of the file.
absl::Status SessionBuilder::ReadTables() {
  for (const Chunk& chunk : reader_->chunks()) {
    // Sources are only read by who shows them (analysis/source/kept_sources.h).
    if (chunk.kind() == log::ChunkKind::kEvents || chunk.kind() == log::ChunkKind::kSources)
      continue;
    if (absl::Status status = ReadChunk(chunk); !status.ok()) return status;
  }
  if (elsewhere_ != nullptr)
    for (ModuleInfo& module : tables_.modules) module.elsewhere = elsewhere_->names;
  return absl::OkStatus();
}

absl::Status SessionBuilder::ReadChunk(const Chunk& chunk) {
  if (chunk.frame.kind == 0 || chunk.kind() > log::ChunkKind::kSources ||
      (chunk.frame.flags & ~log::kChunkZstd) != 0) {
    Count(log::Anomaly::kChunksUnknown);
    return absl::OkStatus();
  }
  const bool definitions = chunk.kind() == log::ChunkKind::kDefinitions;
  if (definitions) definition_bytes_ += chunk.frame.raw_bytes;
  if (!DefinitionsPlausible(definition_bytes_, reader_->file_bytes()))
    return absl::InvalidArgumentError(
        absl::StrCat(reader_->path(), ": is damaged: its tables are larger than it can hold"));
  const absl::StatusOr<std::string_view> payload = reader_->ReadPayload(chunk, &buffer_);
  if (!payload.ok() && reader_->used_index()) return payload.status();
  bool decoded = payload.ok();
  if (decoded) {
    switch (chunk.kind()) {
      case log::ChunkKind::kHeader:
        decoded = DecodeHeader(*payload, &header_);
        break;
      case log::ChunkKind::kDefinitions:
        decoded = tables_.Add(*payload);
        break;
      case log::ChunkKind::kCounters:
        counters_ = {};
        decoded = DecodeCounters(*payload, &counters_);
        break;
      case log::ChunkKind::kTrailer:
        decoded = DecodeTrailer(*payload, &trailer_);
        data_.run.complete = decoded;
        break;
      default:
        break;
    }
  }
  if (!decoded) Count(log::Anomaly::kChunksCorrupt);
  return absl::OkStatus();
}

// Whether the log ended cleanly, is still growing, or was left behind by a process that died.
void SessionBuilder::FindEnd() {
  RunInfo& run = data_.run;
  // What follows a trailer, and may be cut, is of no recorder: kept sources.
  const bool complete = run.complete;
  run = header_.run;
  run.complete = complete;
  run.end_reason = trailer_.reason;
  run.growing = !complete && (elsewhere_ != nullptr ? elsewhere_->growing : WriterIsAlive(header_));
  data_.self = counters_.self;
  // If `memprof run` has already appended the ring to the log, the last counters record that.
  const bool folded = std::any_of(
      counters_.counters.begin(), counters_.counters.end(),
      [](const auto& counter) { return counter.first == "ring_recovered" && counter.second > 0; });
  if (!run.complete && !folded && options_.recover_ring && !header_.ring_path.empty())
    RecoverRing();
  for (const Chunk& chunk : reader_->chunks())
    if (chunk.kind() == log::ChunkKind::kEvents) event_count_ += chunk.frame.events;
}

void SessionBuilder::RecoverRing() {
  RunInfo& run = data_.run;
  if (elsewhere_ != nullptr) return Count(log::Anomaly::kRingGone, run.growing ? 0 : 1);
  if (!OnThisHost(run.hostname) || !IsRegularFile(header_.ring_path))
    return Count(log::Anomaly::kRingGone);
  absl::StatusOr<RecoveredRing> ring = analysis::RecoverRing(
      header_.ring_path, run.pid, run.start_time, reader_->file_bytes(), reader_->owner());
  // RecoverRing decides whether the process is alive: it checks whether the process still has the
  // ring mapped.
  if (absl::IsFailedPrecondition(ring.status())) run.growing = true;
  if (!ring.ok()) return Count(log::Anomaly::kRingGone, run.growing ? 0 : 1);
  run.growing = false;
  // Later bytes were being written at the end; the ring has their content.
  reader_->DropBehind(ring->committed_log_bytes);
  tables_.Add(ring->definitions.SerializeAsString());
  CountersRecord counters;
  if (DecodeCounters(ring->counters.SerializeAsString(), &counters)) {
    data_.self = counters.self;
    counters_ = std::move(counters);
  }
  for (const log::Events& events : ring->events) {
    sources_.push_back({.message = events.SerializeAsString(), .count = events.count()});
    event_count_ += events.count();
  }
  Count(log::Anomaly::kRingRecovered);
}

absl::Status SessionBuilder::ReadEvents() {
  // A real event takes more than a byte. A small file that claims very many events is damaged or
  // hostile.
  if (event_count_ > (4u << 20) + 4 * reader_->file_bytes() || event_count_ > EventTable::kMax)
    return absl::InvalidArgumentError(
        absl::StrCat(reader_->path(), ": is damaged: it claims ", event_count_, " events"));
  std::vector<EventSource> recovered = std::exchange(sources_, {});
  std::uint64_t taken = 0;
  for (const Chunk& chunk : reader_->chunks()) {
    if (chunk.kind() != log::ChunkKind::kEvents || chunk.frame.flags > log::kChunkZstd) continue;
    if (options_.max_events != 0 && taken >= options_.max_events) break;
    taken += chunk.frame.events;
    sources_.push_back({.chunk = &chunk, .count = chunk.frame.events});
  }
  if (options_.tables_only) {
    sources_.clear();
  } else if (options_.max_events == 0 || taken < options_.max_events)
    std::move(recovered.begin(), recovered.end(), std::back_inserter(sources_));
  DecodeResult result;
  const auto progress = [this](double share) { return Report(0.6 * share); };
  if (absl::Status status = DecodeColumns(*reader_, sources_, &tables_, progress, &raw_, &result);
      !status.ok())
    return status;
  if (!result.failed.empty() && reader_->used_index())
    return absl::DataLossError(absl::StrCat(reader_->path(), ": is damaged"));
  Count(log::Anomaly::kChunksCorrupt, result.failed.size());
  Count(log::Anomaly::kEventsUnknown, result.unknown);
  Count(log::Anomaly::kSamplingOdd, result.odd_weights);
  if (!Report(0.6)) return absl::CancelledError("cancelled");
  std::uint64_t clock_steps = 0;
  order_ = OrderByTime(&raw_, data_.run.always_on.budget_bytes == 0, &clock_steps);
  Count(log::Anomaly::kClockSteps, clock_steps);
  return Report(0.75) ? absl::OkStatus() : absl::CancelledError("cancelled");
}

// What was there before the recorder was attached, as allocations at the beginning. Imports and
// later segments of a recording always on have it there already.
void SessionBuilder::TakeBefore() {
  RunInfo& run = data_.run;
  const auto attach =
      std::find_if(tables_.sources.begin(), tables_.sources.end(),
                   [](const SourceInfo& source) { return source.name == "attach"; });
  run.attached = attach != tables_.sources.end();
  if (run.imported() || run.always_on.segment > 1) run.before_attach = run.start_time;
  const std::size_t before = ResolvePresent(run.attached, run.start_time, &raw_, &order_);
  if (before == 0) return;
  run.before_attach = raw_.rows[order_.front()].time;
  const StackId unknown = tables_.AddNamedStack("before memprof was attached (<attach>)");
  absl::flat_hash_map<std::uint32_t, StackId> known;  // by the text of the stack
  for (std::size_t i = 0; i < before; ++i) {
    RawEvents::Row& row = raw_.rows[order_[i]];
    const std::uint32_t text =
        row.detail == RawEvents::kNone ? EventId::kNone : raw_.details[row.detail].label;
    row.stack = unknown;
    if (text >= tables_.strings.size()) continue;
    const auto [at, is_new] = known.try_emplace(text);
    if (is_new) at->second = tables_.AddNamedStack(std::string(tables_.strings[text]));
    if (at->second.valid()) row.stack = at->second;
  }
}

// Adds to allocations of autograd's threads the frames of the forward code that caused them.
void SessionBuilder::AttributeBackward() {
  struct OneFile {
    std::uint64_t load_bias = 0;
    std::unique_ptr<ModuleSymbols> symbols;
  };
  std::map<std::string, OneFile> files;
  absl::flat_hash_map<std::uint32_t, OneFile*> modules;
  BackwardStacks stacks(&tables_, [&](std::uint32_t number, std::uint64_t address) {
    const ModuleInfo& module = tables_.modules[number];
    OneFile*& file = modules[number];
    if (file == nullptr) file = &files[ModuleFileKey(module)];
    if (file->symbols == nullptr)
      *file = {module.load_bias, std::make_unique<ModuleSymbols>(module)};
    const std::vector<SourceFrame> frames =
        file->symbols->At(address - module.load_bias + file->load_bias);
    return frames.empty() ? std::string() : frames.back().function;
  });
  stacks.Attribute(order_, &raw_);
}

void SessionBuilder::BuildLifetimes() {
  data_.devices = std::move(tables_.devices);
  std::sort(data_.devices.begin(), data_.devices.end(),
            [](const DeviceInfo& a, const DeviceInfo& b) { return a.id < b.id; });
  data_.threads = std::move(tables_.threads);
  data_.contexts = std::move(tables_.contexts);
  data_.pools = std::move(tables_.pools);
  data_.modules = std::move(tables_.modules);
  data_.sources = std::move(tables_.sources);
  data_.strings = std::move(tables_.strings);
  data_.tensors = std::move(tables_.tensors);
  data_.stack_parent = std::move(tables_.stack_parent);
  data_.stack_frame = std::move(tables_.stack_frame);
  data_.frames = std::move(tables_.frames);

  RunInfo& run = data_.run;
  run.torch_release = std::move(tables_.torch_release);
  FindLifetimes(std::move(raw_), order_, data_.contexts, &data_.events, &anomalies_);
  order_ = {};
  const EventTable& events = data_.events;
  run.end_time = std::max(run.start_time, trailer_.end_time_ns);
  if (!events.empty()) run.end_time = std::max(run.end_time, events.time(events.size() - 1));
  Marks marks = CollectMarks(data_.events, data_.strings, run.end_time);
  data_.steps = std::move(marks.steps);
  FillStepGaps(data_.events, &data_.steps);
  data_.ranges = std::move(marks.ranges);
  data_.snapshots = std::move(marks.snapshots);
  Count(log::Anomaly::kRangesUnbalanced, marks.unbalanced_pops);
  // A process that was killed, or still runs, could not close its ranges.
  if (run.complete) Count(log::Anomaly::kRangesUnbalanced, marks.open_ranges);
}

void SessionBuilder::CountDamage() {
  Count(log::Anomaly::kChunksCorrupt, reader_->damage().size());
  Count(log::Anomaly::kStacksTruncated, tables_.stacks_truncated);
  if (reader_->tail_cut() && !data_.run.growing) Count(log::Anomaly::kTailCut);
}

// Counts of the recorder and of the reader; the larger one if both count.
void SessionBuilder::MergeAnomalies() {
  for (const auto& [name, value] : counters_.counters) {
    const auto* const at = std::ranges::find(log::kAnomalyNames, name);
    if (at == std::end(log::kAnomalyNames)) continue;
    std::uint64_t& count = anomalies_[static_cast<std::size_t>(at - log::kAnomalyNames)];
    count = std::max(count, value);
  }
  for (std::size_t i = 0; i < anomalies_.size(); ++i)
    if (anomalies_[i] != 0)
      data_.anomalies.push_back({static_cast<log::Anomaly>(i), anomalies_[i]});
}

}  // namespace memprof::analysis
