// Takes the dictionaries of a snapshot apart.
#include "analysis/interchange/internal/torch_snapshot.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"

namespace memprof::analysis::torch {
namespace {

constexpr std::uint64_t kMaxDevices = 1024;
// Times in microseconds whose nanoseconds fit 63 bits: until the year 2262.
constexpr std::uint64_t kMaxTimeUs = std::numeric_limits<std::int64_t>::max() / 1000;

struct ActionName {
  std::string_view name;
  Action action;
};
constexpr ActionName kActions[] = {
    {"alloc", Action::kAlloc},
    {"free_requested", Action::kFreeRequested},
    {"free_completed", Action::kFreeCompleted},
    {"segment_alloc", Action::kSegmentAlloc},
    {"segment_free", Action::kSegmentFree},
    {"segment_map", Action::kSegmentMap},
    {"segment_unmap", Action::kSegmentUnmap},
    {"snapshot", Action::kSnapshot},
    {"oom", Action::kOom},
};

Action ActionOf(std::string_view name) {
  for (const ActionName& known : kActions)
    if (known.name == name) return known.action;
  return Action::kUnknown;
}

class Reader {
 public:
  explicit Reader(const Pickle& pickle) : pickle_(pickle) {}

  absl::StatusOr<Snapshot> Read() {
    const PickleValue root = pickle_.root();
    // Before 2.0 a snapshot was the bare list of segments.
    const PickleValue segments = root.is_list() ? root : pickle_.At(root, "segments");
    if (!segments.is_list())
      return absl::InvalidArgumentError(
          "is a pickle, but no memory snapshot of PyTorch: it has no list 'segments'");
    const PickleValue traces = pickle_.At(root, "device_traces");
    for (const PickleValue segment : pickle_.Items(segments))
      if (absl::Status status = AddSegment(segment); !status.ok()) return status;
    if (pickle_.Items(traces).size() > kMaxDevices) return TooMany("devices");
    int device = 0;
    for (const PickleValue trace : pickle_.Items(traces))
      if (absl::Status status = AddTrace(device++, trace); !status.ok()) return status;
    for (const PickleValue annotation : pickle_.Items(pickle_.At(root, "external_annotations"))) {
      if (!Visit(annotation)) return TooMany("annotations");
      AddAnnotation(annotation);
    }
    ReadSettings(pickle_.At(root, "allocator_settings"));
    return std::move(snapshot_);
  }

 private:
  static absl::Status TooMany(std::string_view what) {
    const std::string text(what);
    return absl::InvalidArgumentError(absl::StrCat("names more ", text, " than it holds"));
  }
  // In a real snapshot, every entry is a separate object. In a hostile one, the memo of the pickle
  // could refer to one object very often, so that a small file gives a huge log.
  bool Visit(PickleValue dict) {
    if (!dict.is_dict()) return true;
    return ++visited_ <= pickle_.container_count();
  }
  Device& DeviceAt(std::uint64_t ordinal) {
    if (ordinal >= snapshot_.devices.size()) snapshot_.devices.resize(ordinal + 1);
    return snapshot_.devices[ordinal];
  }

  absl::Status AddSegment(PickleValue value);
  void AddBlock(PickleValue value, std::uint64_t* cursor, std::vector<Block>* blocks);
  absl::Status AddTrace(int device, PickleValue trace);
  Entry ReadEntry(PickleValue value);
  void AddAnnotation(PickleValue value);
  void ReadSettings(PickleValue value);
  std::uint64_t PoolOf(PickleValue id) const;

  const Pickle& pickle_;
  Snapshot snapshot_;
  std::uint64_t visited_ = 0;
};

std::uint64_t Reader::PoolOf(PickleValue id) const {
  const auto numbers = pickle_.Items(id);
  if (numbers.size() != 2) return 0;
  return numbers[0].Unsigned() << 32 | (numbers[1].Unsigned() & UINT32_MAX);
}

absl::Status Reader::AddSegment(PickleValue value) {
  if (!Visit(value)) return TooMany("segments");
  const std::uint64_t device = pickle_.At(value, "device").Unsigned();
  if (!value.is_dict() || device >= kMaxDevices)
    return absl::InvalidArgumentError(value.is_dict()
                                          ? absl::StrCat("a segment lies on device ", device)
                                          : std::string("a segment is no dictionary"));
  Segment segment;
  segment.address = pickle_.At(value, "address").Unsigned();
  segment.bytes = pickle_.At(value, "total_size").Unsigned();
  segment.stream = pickle_.At(value, "stream").Unsigned();
  segment.pool = PoolOf(pickle_.At(value, "segment_pool_id"));
  segment.expandable = pickle_.At(value, "is_expandable").True();
  segment.frames = pickle_.At(value, "frames");
  Device& place = DeviceAt(device);
  std::uint64_t cursor = segment.address;
  for (const PickleValue block : pickle_.Items(pickle_.At(value, "blocks"))) {
    if (!Visit(block)) return TooMany("blocks");
    AddBlock(block, &cursor, &place.blocks);
  }
  if (segment.bytes > 0) place.segments.push_back(segment);
  return absl::OkStatus();
}

// Blocks tile their segment; versions before 2.1 do not have their addresses.
void Reader::AddBlock(PickleValue value, std::uint64_t* cursor, std::vector<Block>* blocks) {
  Block block;
  block.bytes = pickle_.At(value, "size").Unsigned();
  block.address = pickle_.At(value, "address").Unsigned(*cursor);
  *cursor = block.address + block.bytes;
  const std::string_view state = pickle_.At(value, "state").Text();
  if (state != "active_allocated" && state != "active_pending_free" &&
      state != "active_awaiting_free")
    return;
  block.pending_free = state != "active_allocated";
  block.requested = pickle_.At(value, "requested_size").Unsigned(block.bytes);
  block.frames = pickle_.At(value, "frames");
  const auto history = pickle_.Items(pickle_.At(value, "history"));
  if (!block.frames.is_list() && !history.empty()) {
    block.frames = pickle_.At(history.front(), "frames");
    block.requested = pickle_.At(history.front(), "real_size").Unsigned(block.bytes);
  }
  if (block.bytes > 0) blocks->push_back(block);
}

Entry Reader::ReadEntry(PickleValue value) {
  Entry entry;
  const auto pairs = pickle_.Pairs(value);
  PickleValue context;
  for (std::size_t i = 0; i + 1 < pairs.size(); i += 2) {
    const std::string_view key = pairs[i].Text();
    const PickleValue field = pairs[i + 1];
    if (key == "action") entry.action = ActionOf(field.Text());
    if (key == "addr" || key == "device_free") entry.address = field.Unsigned();
    if (key == "size") entry.bytes = field.Unsigned();
    if (key == "stream") entry.stream = field.Unsigned();
    if (key == "time_us") entry.time_us = std::min(field.Unsigned(), kMaxTimeUs);
    if (key == "frames") entry.frames = field;
    if (key == "user_metadata") entry.metadata = field;
    if (key == "compile_context") context = field;
  }
  const bool user = !entry.metadata.Text().empty() || !pickle_.Pairs(entry.metadata).empty();
  if (!user) entry.metadata = context.Text() == "N/A" ? PickleValue() : context;
  return entry;
}

absl::Status Reader::AddTrace(int device, PickleValue trace) {
  const auto items = pickle_.Items(trace);
  if (items.empty()) return absl::OkStatus();
  std::vector<Entry>& entries = DeviceAt(static_cast<std::uint64_t>(device)).trace;
  for (const PickleValue item : items) {
    if (!Visit(item)) return TooMany("actions");
    Entry entry = ReadEntry(item);
    if (pickle_.At(item, "action").Text() == "free") {  // both halves, as the viewer merges them
      entry.action = Action::kFreeRequested;
      entries.push_back(entry);
      entry.action = Action::kFreeCompleted;
    }
    if (entry.action == Action::kUnknown) {
      ++snapshot_.unknown_actions;
    } else {
      entries.push_back(entry);
    }
  }
  return absl::OkStatus();
}

void Reader::AddAnnotation(PickleValue value) {
  Annotation annotation;
  annotation.name = pickle_.At(value, "name").Text();
  annotation.start = pickle_.At(value, "stage").Text() == "START";
  annotation.device =
      static_cast<int>(std::min(pickle_.At(value, "device").Unsigned(), kMaxDevices));
  annotation.time_us = std::min(pickle_.At(value, "time_us").Unsigned(), kMaxTimeUs);
  if (!annotation.name.empty()) snapshot_.annotations.push_back(annotation);
}

void Reader::ReadSettings(PickleValue value) {
  Settings& settings = snapshot_.settings;
  settings.configuration = pickle_.At(value, "PYTORCH_CUDA_ALLOC_CONF").Text();
  settings.max_split_bytes = pickle_.At(value, "max_split_size").Unsigned(~std::uint64_t{0});
  settings.expandable_segments = pickle_.At(value, "expandable_segments").True();
  settings.trace_overflowed = pickle_.At(value, "trace_alloc_overflowed").True();
  settings.trace_max_entries = pickle_.At(value, "trace_alloc_max_entries").Unsigned();
  const PickleValue divisions = pickle_.At(value, "roundup_power2_divisions");
  for (std::size_t i = 0; i < settings.roundup_divisions.size(); ++i)
    settings.roundup_divisions[i] =
        pickle_.At(divisions, absl::StrCat(std::uint64_t{1} << i)).Unsigned();
}

}  // namespace

absl::StatusOr<Snapshot> ReadSnapshot(const Pickle& pickle) { return Reader(pickle).Read(); }

}  // namespace memprof::analysis::torch
