// PyTorch's snapshots: what its caching allocator did, as the events that a recorder beside it
// would have seen.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "analysis/interchange/import.h"
#include "analysis/interchange/internal/constants.h"
#include "analysis/interchange/internal/torch_snapshot.h"
#include "analysis/interchange/internal/torch_state.h"
#include "analysis/log/wire.h"
#include "analysis/store/lifetime_walk.h"

namespace memprof::analysis {
namespace {

using torch::Action;

constexpr std::uint64_t kFirstNs = 1'000'000'000;  // where a snapshot names no time
constexpr std::size_t kMaxLabel = 4096;
constexpr std::string_view kStepPrefix = "ProfilerStep#";

// Stacks and words of the pickle as ids of the log. Equal objects are taken apart once.
class Names {
 public:
  Names(const Pickle& pickle, LogWriter* log) : pickle_(pickle), log_(*log) {}

  std::uint32_t Stack(PickleValue frames) {
    if (!frames.is_list()) return 0;
    const auto [at, fresh] = stacks_.try_emplace(frames.container(), 0);
    if (!fresh) return at->second;
    std::uint32_t stack = 0;
    auto items = pickle_.Items(frames);  // innermost first
    while (!items.empty() && OfTheUnwinder(items.front())) items = items.subspan(1);
    for (std::size_t i = items.size(); i-- > 0;)
      if (items[i].is_dict()) stack = log_.Stack(stack, Frame(items[i]));
    return stacks_[frames.container()] = stack;
  }

  // What a user or the compiler said about an action: text, or "key=value, …".
  std::uint32_t Label(PickleValue said) {
    if (said.is_text()) return log_.String(said.Text().substr(0, kMaxLabel));
    if (!said.is_dict()) return 0;
    const auto [at, fresh] = labels_.try_emplace(said.container(), 0);
    if (!fresh) return at->second;
    std::string text;
    const auto pairs = pickle_.Pairs(said);
    for (std::size_t i = 0; i + 1 < pairs.size() && text.size() < kMaxLabel; i += 2)
      absl::StrAppend(&text, text.empty() ? "" : ", ", Word(pairs[i]), "=", Word(pairs[i + 1]));
    return labels_[said.container()] = log_.String(text.substr(0, kMaxLabel));
  }

 private:
  // PyTorch's own walk up the stack, the same at the top of all of them.
  bool OfTheUnwinder(PickleValue frame) const {
    const std::string_view name = pickle_.At(frame, "name").Text();
    return name.starts_with("torch::unwind::unwind(") ||
           name.starts_with("torch::CapturedTraceback::gather(");
  }

  std::uint32_t Frame(PickleValue frame) {
    const auto [at, fresh] = frames_.try_emplace(frame.container(), 0);
    if (!fresh) return at->second;
    const std::string_view file = pickle_.At(frame, "filename").Text();
    const std::uint64_t line = pickle_.At(frame, "line").Unsigned();
    const std::uint32_t id =
        log_.PythonFrame(pickle_.At(frame, "name").Text(), file,
                         line > UINT32_MAX ? 0 : static_cast<std::uint32_t>(line));
    return frames_[frame.container()] = id;
  }
  static std::string Word(PickleValue value) {
    if (value.is_text()) return std::string(value.Text().substr(0, kMaxLabel));
    if (value.is_integer()) return absl::StrCat(value.Signed());
    if (value.kind() == PickleValue::Kind::kFloat) return absl::StrCat(value.Float());
    if (value.kind() == PickleValue::Kind::kBool) return value.True() ? "True" : "False";
    return value.kind() == PickleValue::Kind::kNone ? "None" : "...";
  }

  const Pickle& pickle_;
  LogWriter& log_;
  absl::flat_hash_map<std::uint32_t, std::uint32_t> stacks_, frames_, labels_;
};

// Writes the events of one device.
class DeviceWriter {
 public:
  DeviceWriter(int ordinal, const torch::Device& device, const torch::Settings& settings,
               Names* names, LogWriter* log)
      : ordinal_(ordinal),
        device_(device),
        names_(*names),
        log_(*log),
        state_(torch::Reconstruct(device, settings)),
        thread_(log->Thread(0, absl::StrCat("PyTorch, device ", ordinal))) {
    for (const torch::Segment& segment : device.segments) pools_[segment.address] = segment.pool;
    const auto cut = [this](std::uint64_t address, std::uint64_t bytes) {
      cuts_.insert(address);
      cuts_.insert(EndAddress(address, bytes));
    };
    for (const torch::Entry& entry : device.trace)
      if (entry.action == Action::kSegmentUnmap) cut(entry.address, entry.bytes);
    for (const torch::Segment& segment : state_.gone_segments)
      if (segment.expandable) cut(segment.address, segment.bytes);
  }

  const torch::Reconstruction& state() const { return state_; }

  // What was there before the trace.
  void Begin(std::uint64_t time_ns) {
    for (const torch::Segment& segment : state_.segments) AddSegment(segment, time_ns);
    for (const torch::Block& block : state_.blocks) AddBlock(block, time_ns);
  }
  void MarkBegin(std::uint64_t time_ns) {
    LogWriter::Event event = Make(Op::kSnapshot, Layer::kUnspecified, time_ns, 0, 0);
    event.device = kNoDevice;
    event.label = log_.String(kTraceBegins);
    log_.Add(event);
  }
  void Take(std::size_t i, std::uint64_t time_ns);
  // Where the trace leads elsewhere than to the state at the end.
  void End(std::uint64_t time_ns) {
    for (const torch::Block& block : state_.gone_blocks)
      log_.Add(Make(Op::kFree, Layer::kBlock, time_ns, block.address, 0));
    for (const torch::Segment& segment : state_.gone_segments) RemoveSegment(segment, 0, time_ns);
    for (const torch::Segment& segment : state_.late_segments) AddSegment(segment, time_ns);
    for (const torch::Block& block : state_.late_blocks) AddBlock(block, time_ns);
  }

 private:
  LogWriter::Event Make(Op op, Layer layer, std::uint64_t time_ns, std::uint64_t address,
                        std::uint64_t bytes) const {
    LogWriter::Event event;
    event.op = op;
    event.layer = layer;
    event.device = ordinal_;
    event.time = time_ns;
    event.address = address;
    event.bytes = bytes;
    event.thread = thread_;
    return event;
  }
  void AddSegment(const torch::Segment& segment, std::uint64_t time_ns) {
    segment.expandable ? AddMapped(segment, names_.Stack(segment.frames), time_ns)
                       : AddLinear(segment, names_.Stack(segment.frames), time_ns);
  }
  void AddLinear(const torch::Segment& segment, std::uint32_t stack, std::uint64_t time_ns);
  void AddMapped(const torch::Segment& segment, std::uint32_t stack, std::uint64_t time_ns);
  void AddPiece(const torch::Segment& piece, std::uint32_t stack, std::uint64_t time_ns);
  void RemoveSegment(const torch::Segment& segment, std::uint32_t stack, std::uint64_t time_ns);
  void AddBlock(const torch::Block& block, std::uint64_t time_ns) {
    LogWriter::Event event = Make(Op::kAlloc, Layer::kBlock, time_ns, block.address, block.bytes);
    event.aux0 = block.requested;
    event.stack = names_.Stack(block.frames);
    const auto segment = streams_.upper_bound(block.address);
    if (segment != streams_.begin()) event.stream = std::prev(segment)->second;
    log_.Add(event);
    if (block.pending_free)
      log_.Add(Make(Op::kFreeRequested, Layer::kBlock, time_ns, block.address, block.requested));
  }
  bool FreedAtOnce(std::size_t i) const;
  void TakeOom(const torch::Entry& entry, LogWriter::Event event);

  int ordinal_;
  const torch::Device& device_;
  Names& names_;
  LogWriter& log_;
  torch::Reconstruction state_;
  std::uint32_t thread_;
  std::size_t ooms_ = 0;
  std::set<std::uint64_t> cuts_;                    // where mapped memory will be taken apart
  std::map<std::uint64_t, std::uint64_t> pieces_;   // mapped: address → bytes
  std::map<std::uint64_t, std::uint64_t> streams_;  // of segments, by address
  absl::flat_hash_map<std::uint64_t, std::uint64_t> pools_;
};

void DeviceWriter::AddLinear(const torch::Segment& segment, std::uint32_t stack,
                             std::uint64_t time_ns) {
  LogWriter::Event event =
      Make(Op::kAlloc, Layer::kLinear, time_ns, segment.address, segment.bytes);
  event.stack = stack;
  event.api = log_.String("cudaMalloc");
  log_.Add(event);
  event.layer = Layer::kSegment;
  event.api = 0;
  event.stream = streams_[segment.address] = segment.stream;
  event.aux1 = segment.pool != 0 ? segment.pool : pools_[segment.address];
  log_.Add(event);
}

// Pages that are unmapped together were mapped together here, so that each goes whole.
void DeviceWriter::AddMapped(const torch::Segment& segment, std::uint32_t stack,
                             std::uint64_t time_ns) {
  torch::Segment piece = segment;
  const std::uint64_t end = EndAddress(segment.address, segment.bytes);
  while (piece.address < end) {
    const auto cut = cuts_.upper_bound(piece.address);
    piece.bytes = (cut == cuts_.end() ? end : std::min(end, *cut)) - piece.address;
    AddPiece(piece, stack, time_ns);
    piece.address += piece.bytes;
  }
}

void DeviceWriter::AddPiece(const torch::Segment& piece, std::uint32_t stack,
                            std::uint64_t time_ns) {
  LogWriter::Event event =
      Make(Op::kAlloc, Layer::kVmmPhysical, time_ns, piece.address, piece.bytes);
  event.stack = stack;
  event.api = log_.String("cuMemCreate");
  log_.Add(event);
  LogWriter::Event map = Make(Op::kMap, Layer::kVmmPhysical, time_ns, piece.address, piece.bytes);
  map.aux0 = piece.address;
  map.api = log_.String("cuMemMap");
  log_.Add(map);
  event.layer = Layer::kSegment;
  event.api = 0;
  event.stream = streams_[piece.address] = piece.stream;
  event.aux1 = piece.pool;
  log_.Add(event);
  pieces_[piece.address] = piece.bytes;
}

void DeviceWriter::RemoveSegment(const torch::Segment& segment, std::uint32_t stack,
                                 std::uint64_t time_ns) {
  const auto free = [&](Layer layer, std::uint64_t address, std::string_view api) {
    LogWriter::Event event = Make(Op::kFree, layer, time_ns, address, 0);
    event.stack = stack;
    event.api = log_.String(api);
    log_.Add(event);
  };
  if (!segment.expandable) {
    free(Layer::kSegment, segment.address, "");
    free(Layer::kLinear, segment.address, "cudaFree");
    streams_.erase(segment.address);
    return;
  }
  const std::uint64_t end = EndAddress(segment.address, segment.bytes);
  auto piece = pieces_.lower_bound(segment.address);
  while (piece != pieces_.end() && piece->first < end) {
    free(Layer::kSegment, piece->first, "");
    LogWriter::Event unmap =
        Make(Op::kUnmap, Layer::kVmmPhysical, time_ns, piece->first, piece->second);
    unmap.api = log_.String("cuMemUnmap");
    log_.Add(unmap);
    free(Layer::kVmmPhysical, piece->first, "cuMemRelease");
    streams_.erase(piece->first);
    piece = pieces_.erase(piece);
  }
}

// The usual free: nothing to wait for, and both halves say the same.
bool DeviceWriter::FreedAtOnce(std::size_t i) const {
  if (i + 1 >= device_.trace.size()) return false;
  const torch::Entry& request = device_.trace[i];
  const torch::Entry& completion = device_.trace[i + 1];
  return completion.action == Action::kFreeCompleted && completion.address == request.address &&
         completion.time_us == request.time_us && completion.bytes == request.bytes;
}

void DeviceWriter::TakeOom(const torch::Entry& entry, LogWriter::Event event) {
  event.bytes = entry.bytes;
  event.address = 0;
  LogWriter::Event failed = event;
  failed.op = Op::kAllocFailed;
  failed.layer = Layer::kLinear;
  failed.result = kOutOfMemory;
  failed.aux0 = entry.address;  // here it is what was free
  // A snapshot does not say how much the device has: at least this.
  const std::uint64_t reserved = state_.reserved[ooms_];
  if (entry.address != 0 && entry.address <= ~reserved) failed.aux1 = entry.address + reserved;
  failed.api = log_.String("cudaMalloc");
  log_.Add(failed);
  event.op = Op::kFrameworkOom;
  event.aux0 = state_.allocated[ooms_];
  event.aux1 = state_.reserved[ooms_++];
  log_.Add(event);
}

void DeviceWriter::Take(std::size_t i, std::uint64_t time_ns) {
  const torch::Entry& entry = device_.trace[i];
  LogWriter::Event event =
      Make(Op::kUnspecified, Layer::kBlock, time_ns, entry.address, entry.bytes);
  event.stream = entry.stream;
  event.stack = names_.Stack(entry.frames);
  event.label = names_.Label(entry.metadata);
  torch::Segment segment;
  segment.address = entry.address;
  segment.bytes = entry.bytes;
  segment.stream = entry.stream;
  segment.expandable = entry.action == Action::kSegmentMap || entry.action == Action::kSegmentUnmap;
  switch (entry.action) {
    case Action::kAlloc:
      event.op = Op::kAlloc;
      event.aux0 = entry.bytes;
      event.bytes = state_.block_bytes[i];
      return log_.Add(event);
    case Action::kFreeRequested:
      if (FreedAtOnce(i)) return;
      event.op = Op::kFreeRequested;
      return log_.Add(event);
    case Action::kFreeCompleted:
      event.op = Op::kFree;
      event.bytes = 0;
      return log_.Add(event);
    case Action::kSegmentAlloc:
      return AddLinear(segment, event.stack, time_ns);
    case Action::kSegmentMap:
      return AddMapped(segment, event.stack, time_ns);
    case Action::kSegmentFree:
    case Action::kSegmentUnmap:
      return RemoveSegment(segment, event.stack, time_ns);
    case Action::kOom:
      event.layer = Layer::kUnspecified;
      return TakeOom(entry, event);
    case Action::kSnapshot:
      event.op = Op::kSnapshot;
      event.layer = Layer::kUnspecified;
      event.address = event.bytes = event.stream = 0;
      event.label = log_.String("torch.cuda.memory._snapshot()");
      return log_.Add(event);
    case Action::kUnknown:
      return;
  }
}

// Named ranges; those of PyTorch's profiler that name steps become steps.
class Annotations {
 public:
  Annotations(const std::vector<torch::Annotation>& all, LogWriter* log) : all_(all), log_(*log) {
    if (!all.empty()) thread_ = log->Thread(0, "PyTorch, annotations");
  }
  void Take(std::size_t i, std::uint64_t time_ns) {
    const torch::Annotation& annotation = all_[i];
    LogWriter::Event event;
    event.time = time_ns;
    event.thread = thread_;
    std::uint64_t step = 0;
    if (annotation.name.substr(0, kStepPrefix.size()) == kStepPrefix &&
        absl::SimpleAtoi(absl::string_view(annotation.name.data(), annotation.name.size())
                             .substr(kStepPrefix.size()),
                         &step)) {
      if (!annotation.start) return;
      event.op = Op::kStep;
      event.aux0 = step;
      return log_.Add(event);
    }
    // Ranges of several threads overlap as they like: each is ended by a number of its own.
    std::vector<std::uint64_t>& open = open_[std::string(annotation.name)];
    event.op = annotation.start ? Op::kRangePush : Op::kRangePop;
    if (annotation.start) {
      open.push_back(++numbers_);
      event.label = log_.String(annotation.name);
    } else if (open.empty()) {
      return log_.Count(log::Anomaly::kRangesUnbalanced);
    }
    event.aux1 = open.back();
    if (!annotation.start) open.pop_back();
    log_.Add(event);
  }

 private:
  const std::vector<torch::Annotation>& all_;
  LogWriter& log_;
  std::uint32_t thread_ = 0;
  std::uint64_t numbers_ = 0;
  absl::flat_hash_map<std::string, std::vector<std::uint64_t>> open_;
};

// One action or annotation in the order of time.
struct Moment {
  std::uint64_t time_ns = 0;
  std::size_t lane = 0;  // device, or the number of devices for annotations
  std::size_t index = 0;
};

// Lanes keep their own order: where their clock steps back, time is held.
class Order {
 public:
  explicit Order(const torch::Snapshot& snapshot) {
    bool timed = false;
    for (const torch::Device& device : snapshot.devices)
      for (const torch::Entry& entry : device.trace) timed |= entry.time_us != 0;
    for (std::size_t d = 0; d < snapshot.devices.size(); ++d) {
      std::uint64_t latest = 0;
      const std::vector<torch::Entry>& trace = snapshot.devices[d].trace;
      for (std::size_t i = 0; i < trace.size(); ++i) {
        const std::uint64_t time = timed ? trace[i].time_us * kNsPerUs : kFirstNs + i * kNsPerUs;
        held_ += time < latest;
        latest = std::max(latest, time);
        moments_.push_back({latest, d, i});
      }
    }
    for (std::size_t i = 0; i < snapshot.annotations.size(); ++i)
      moments_.push_back({snapshot.annotations[i].time_us * kNsPerUs, snapshot.devices.size(), i});
    std::stable_sort(moments_.begin(), moments_.end(),
                     [](const Moment& a, const Moment& b) { return a.time_ns < b.time_ns; });
  }
  const std::vector<Moment>& moments() const { return moments_; }
  std::uint64_t held() const { return held_; }
  std::uint64_t first() const {
    return std::max(moments_.empty() ? kFirstNs : moments_.front().time_ns, 2 * kNsPerUs);
  }

 private:
  std::vector<Moment> moments_;
  std::uint64_t held_ = 0;
};

void FillHeader(const torch::Settings& settings, std::string_view name, std::uint64_t first,
                LogWriter* log) {
  log::Header& header = log->header();
  header.set_executable(absl::StrCat("PyTorch memory snapshot ", ValidUtf8(name)));
  header.set_start_time_ns(first);
  header.set_start_unix_ns(first);  // a snapshot's times are those of the calendar
  if (!settings.configuration.empty())
    header.add_environment(
        absl::StrCat("PYTORCH_CUDA_ALLOC_CONF=", ValidUtf8(settings.configuration)));
}

}  // namespace

absl::StatusOr<ImportSummary> ImportTorchSnapshot(std::string_view bytes, std::string_view name,
                                                  LogWriter* log) {
  const absl::StatusOr<Pickle> pickle = Pickle::Parse(bytes);
  if (!pickle.ok()) return pickle.status();
  const absl::StatusOr<torch::Snapshot> snapshot = torch::ReadSnapshot(*pickle);
  if (!snapshot.ok()) return snapshot.status();
  const Order order(*snapshot);
  const std::uint64_t before = order.first() - kNsPerUs;
  FillHeader(snapshot->settings, name, before, log);

  ImportSummary summary;
  summary.format = ImportFormat::kTorchSnapshot;
  summary.unknown_actions = snapshot->unknown_actions;
  summary.overflowed = snapshot->settings.trace_overflowed;
  Names names(*pickle, log);
  std::vector<DeviceWriter> writers;
  writers.reserve(snapshot->devices.size());
  for (std::size_t d = 0; d < snapshot->devices.size(); ++d) {
    const torch::Device& device = snapshot->devices[d];
    summary.actions += device.trace.size();
    summary.devices += !device.trace.empty() || !device.segments.empty();
    log::Device definition;
    definition.set_ordinal(static_cast<std::uint32_t>(d));
    if (!device.trace.empty() || !device.segments.empty()) log->Device(definition);
    writers.emplace_back(static_cast<int>(d), device, snapshot->settings, &names, log);
    const torch::Reconstruction& state = writers.back().state();
    summary.segments_before += state.segments.size();
    summary.blocks_before += state.blocks.size();
    summary.contradictions += state.contradictions;
  }
  Annotations annotations(snapshot->annotations, log);

  for (DeviceWriter& writer : writers) writer.Begin(before);
  const bool truncated = summary.segments_before + summary.blocks_before > 0;
  if (truncated) writers.front().MarkBegin(before + kNsPerUs / 2);
  summary.end_time_ns = order.first();
  for (const Moment& moment : order.moments()) {
    summary.end_time_ns = std::max(summary.end_time_ns, moment.time_ns);
    moment.lane < writers.size() ? writers[moment.lane].Take(moment.index, moment.time_ns)
                                 : annotations.Take(moment.index, moment.time_ns);
  }
  summary.end_time_ns += kNsPerUs;
  for (DeviceWriter& writer : writers) writer.End(summary.end_time_ns);
  if (truncated)
    log->Count(log::Anomaly::kTraceTruncated, summary.segments_before + summary.blocks_before);
  if (summary.contradictions > 0)
    log->Count(log::Anomaly::kTraceContradictions, summary.contradictions);
  if (order.held() > 0) log->Count(log::Anomaly::kClockSteps, order.held());
  if (summary.unknown_actions > 0)
    log->Count(log::Anomaly::kEventsUnknown, summary.unknown_actions);
  log->Source("torch", log::SOURCE_ON, absl::StrCat("imported from ", ValidUtf8(name)), before);
  return summary;
}

}  // namespace memprof::analysis
