// Builds logs in memory with libprotobuf, independently of how the recorder writes them.
#include "analysis/testing/log_builder.h"

#include <zstd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <limits>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/crc32c.h"
#include "proto/framing.h"

namespace memprof::analysis::testing {

struct EventRow {
  Op op = Op::kUnspecified;
  Layer layer = Layer::kUnspecified;
  std::uint64_t time = 0, address = 0, bytes = 0;
  std::uint32_t label = 0, api = 0;
  EventFields fields;
};

namespace {

// Appends one chunk and returns its offset.
std::uint64_t AppendChunk(log::ChunkKind kind, const google::protobuf::MessageLite& message,
                          std::uint32_t events, bool compress, std::string* out) {
  const std::string raw = message.SerializeAsString();
  std::string stored = raw;
  if (compress) {
    stored.resize(ZSTD_compressBound(raw.size()));
    stored.resize(ZSTD_compress(stored.data(), stored.size(), raw.data(), raw.size(), 3));
  }
  log::ChunkFrame frame{};
  frame.sync = log::kChunkSync;
  frame.kind = static_cast<std::uint16_t>(kind);
  frame.flags = compress ? log::kChunkZstd : 0;
  frame.stored_bytes = static_cast<std::uint32_t>(stored.size());
  frame.raw_bytes = static_cast<std::uint32_t>(raw.size());
  frame.events = events;
  frame.crc32c = log::Crc32c(stored.data(), stored.size(),
                             log::Crc32c(&frame, offsetof(log::ChunkFrame, crc32c)));
  const std::uint64_t offset = out->size();
  out->append(reinterpret_cast<const char*>(&frame), sizeof frame);
  out->append(stored);
  return offset;
}

// One column, left out when it is all zeroes.
template <typename Field, typename Value>
void FillColumn(const std::vector<EventRow>& rows, std::size_t begin, std::size_t end, Field* field,
                Value value) {
  if (std::all_of(rows.begin() + begin, rows.begin() + end,
                  [&](const EventRow& row) { return value(row) == 0; }))
    return;
  for (std::size_t i = begin; i < end; ++i) field->Add(value(rows[i]));
}

template <typename Value>
void FillDeltas(const std::vector<EventRow>& rows, std::size_t begin, std::size_t end,
                google::protobuf::RepeatedField<std::int64_t>* field, Value value) {
  std::uint64_t before = 0;
  if (std::all_of(rows.begin() + begin, rows.begin() + end,
                  [&](const EventRow& row) { return value(row) == 0; }))
    return;
  for (std::size_t i = begin; i < end; ++i) {
    field->Add(static_cast<std::int64_t>(value(rows[i]) - before));
    before = value(rows[i]);
  }
}

log::Events MakeEvents(const std::vector<EventRow>& rows, std::size_t begin, std::size_t end) {
  log::Events events;
  events.set_base_time_ns(rows[begin].time);
  events.set_count(static_cast<std::uint32_t>(end - begin));
  const auto column = [&](auto* field, auto value) { FillColumn(rows, begin, end, field, value); };
  const auto deltas = [&](auto* field, auto value) { FillDeltas(rows, begin, end, field, value); };
  column(events.mutable_op(), [](const EventRow& r) { return static_cast<std::uint32_t>(r.op); });
  column(events.mutable_layer(),
         [](const EventRow& r) { return static_cast<std::uint32_t>(r.layer); });
  const std::uint64_t base = rows[begin].time;
  deltas(events.mutable_time_delta(), [base](const EventRow& r) { return r.time - base; });
  column(events.mutable_thread(), [](const EventRow& r) { return r.fields.thread; });
  column(events.mutable_device_plus_1(),
         [](const EventRow& r) { return static_cast<std::uint32_t>(r.fields.device + 1); });
  deltas(events.mutable_address_delta(), [](const EventRow& r) { return r.address; });
  column(events.mutable_bytes(), [](const EventRow& r) { return r.bytes; });
  column(events.mutable_stack(),
         [](const EventRow& r) { return static_cast<std::uint32_t>(r.fields.stack); });
  column(events.mutable_context(), [](const EventRow& r) { return r.fields.context; });
  column(events.mutable_stream(), [](const EventRow& r) { return r.fields.stream; });
  column(events.mutable_label(), [](const EventRow& r) { return r.label; });
  column(events.mutable_api(), [](const EventRow& r) { return r.api; });
  column(events.mutable_result(), [](const EventRow& r) { return r.fields.result; });
  deltas(events.mutable_aux0_delta(), [](const EventRow& r) { return r.fields.aux0; });
  deltas(events.mutable_aux1_delta(), [](const EventRow& r) { return r.fields.aux1; });
  column(events.mutable_weight(), [](const EventRow& r) { return r.fields.weight; });
  return events;
}

// "function (file:line)" parsed; missing parts stay empty.
struct NamedFrame {
  std::string function, file;
  std::uint32_t line = 0;
};

NamedFrame ParseFrame(const std::string& text) {
  NamedFrame frame;
  const std::size_t open = text.rfind(" (");
  if (open == std::string::npos || text.back() != ')') return {text, "", 0};
  frame.function = text.substr(0, open);
  const std::string place = text.substr(open + 2, text.size() - open - 3);
  const std::size_t colon = place.rfind(':');
  frame.file = place.substr(0, colon);
  if (colon != std::string::npos)
    frame.line = static_cast<std::uint32_t>(std::strtoul(place.c_str() + colon + 1, nullptr, 10));
  return frame;
}

}  // namespace

struct LogBuilder::State {
  log::Header header;
  log::Definitions definitions;
  log::Counters counters;
  std::vector<EventRow> rows;
  std::map<std::string, std::uint32_t> strings;
  std::map<std::string, std::uint32_t> frames;  // text → python frame id
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> nodes;  // (parent, frame) → node
  std::map<std::uint64_t, Layer> driver_layer;  // of the last driver allocation at an address
  std::uint64_t now = 1'000'000'000;

  log::StackTrie* trie() {
    if (!definitions.has_trie()) definitions.mutable_trie()->set_first_id(1);
    return definitions.mutable_trie();
  }
  void DefineThread(std::uint32_t id, std::uint32_t tid, const std::string& name) {
    log::Thread* thread = nullptr;
    for (log::Thread& known : *definitions.mutable_thread())
      if (known.id() == id) thread = &known;
    if (thread == nullptr) thread = definitions.add_thread();
    thread->set_id(id);
    thread->set_tid(tid);
    thread->set_name(name);
  }
};

LogBuilder::LogBuilder() : state_(std::make_unique<State>()) {
  log::Header& header = state_->header;
  header.set_format_version(log::kFormatVersion);
  header.set_recorder_version("0.1.0");
  header.set_pid(std::numeric_limits<std::int32_t>::max());  // no process has this id
  header.set_hostname("test-host");
  header.set_executable("/opt/example/train");
  header.add_argument("train");
  header.set_working_directory("/opt/example");
  header.set_start_time_ns(state_->now);
  header.set_start_unix_ns(1'700'000'000'000'000'000);
  header.set_architecture("x86_64");
  state_->DefineThread(1, 1001, "main");
}
LogBuilder::~LogBuilder() = default;

void LogBuilder::Device(int ordinal, std::uint64_t capacity_bytes, const std::string& name) {
  log::Device* device = state_->definitions.add_device();
  device->set_ordinal(static_cast<std::uint32_t>(ordinal));
  device->set_capacity_bytes(capacity_bytes);
  device->set_name(name);
  device->set_simulated(true);
  device->set_driver_version(13000);
}

void LogBuilder::Thread(std::uint32_t id, std::uint32_t tid, const std::string& name) {
  state_->DefineThread(id, tid, name);
}

void LogBuilder::Context(std::uint32_t id, int device) {
  log::Context* context = state_->definitions.add_context();
  context->set_id(id);
  context->set_handle(0xc0000000ull + id);
  context->set_device(static_cast<std::uint32_t>(device));
  context->set_primary(true);
}

std::uint32_t LogBuilder::String(const std::string& value) {
  if (value.empty()) return 0;
  const auto [at, fresh] =
      state_->strings.emplace(value, static_cast<std::uint32_t>(state_->strings.size() + 1));
  if (fresh) {
    log::StringDef* definition = state_->definitions.add_string();
    definition->set_id(at->second);
    definition->set_value(value);
  }
  return at->second;
}

int LogBuilder::Stack(const std::vector<std::string>& frames_outermost_first) {
  std::uint32_t node = 0;
  for (const std::string& text : frames_outermost_first) {
    const auto [frame, fresh_frame] =
        state_->frames.emplace(text, static_cast<std::uint32_t>(state_->frames.size() + 1));
    if (fresh_frame) {
      const NamedFrame named = ParseFrame(text);
      log::PythonFrame* python = state_->definitions.add_python_frame();
      python->set_id(frame->second);
      python->set_function(String(named.function));
      python->set_file(String(named.file));
      python->set_line(named.line);
    }
    const auto [child, fresh_node] = state_->nodes.emplace(
        std::pair(node, frame->second), static_cast<std::uint32_t>(state_->nodes.size() + 1));
    if (fresh_node) {
      state_->trie()->add_parent(node);
      state_->trie()->add_address_delta(frame->second);
      state_->trie()->add_module(0);
      state_->trie()->add_kind(log::FRAME_PYTHON);
    }
    node = child->second;
  }
  return static_cast<int>(node);
}

int LogBuilder::Tensor(const std::string& name, const std::string& dtype,
                       const std::vector<std::uint64_t>& shape) {
  const std::uint32_t name_id = String(name), dtype_id = String(dtype);
  log::Tensor* tensor = state_->definitions.add_tensor();
  tensor->set_id(static_cast<std::uint32_t>(state_->definitions.tensor_size()));
  tensor->set_name(name_id);
  tensor->set_dtype(dtype_id);
  tensor->mutable_shape()->Add(shape.begin(), shape.end());
  return static_cast<int>(tensor->id());
}

void LogBuilder::Event(Op op, Layer layer, std::uint64_t address, std::uint64_t bytes,
                       std::uint32_t label, const EventFields& fields) {
  EventRow row{op, layer, state_->now, address, bytes, label, String(fields.api), fields};
  if (OccupiesHost(layer)) row.fields.device = kNoDevice;
  state_->rows.push_back(std::move(row));
  state_->now += 1000;
}

void LogBuilder::Alloc(Layer layer, std::uint64_t address, std::uint64_t bytes,
                       const EventFields& fields) {
  if (!IsFrameworkLayer(layer)) state_->driver_layer[address] = layer;
  Event(Op::kAlloc, layer, address, bytes, 0, fields);
}

void LogBuilder::Free(std::uint64_t address, const EventFields& fields) {
  const auto known = state_->driver_layer.find(address);
  Free(known == state_->driver_layer.end() ? Layer::kLinear : known->second, address, fields);
}

void LogBuilder::Free(Layer layer, std::uint64_t address, const EventFields& fields) {
  Event(Op::kFree, layer, address, 0, 0, fields);
}

void LogBuilder::AllocFailed(Layer layer, std::uint64_t bytes, const EventFields& fields) {
  Event(Op::kAllocFailed, layer, 0, bytes, 0, fields);
}

void LogBuilder::TensorCreate(std::uint64_t address, std::uint64_t bytes, int tensor,
                              const EventFields& fields) {
  Event(Op::kAlloc, Layer::kTensor, address, bytes, static_cast<std::uint32_t>(tensor), fields);
}

void LogBuilder::Step(std::uint64_t number) {
  Event(Op::kStep, Layer::kUnspecified, 0, 0, 0, {.device = kNoDevice, .aux0 = number});
}

void LogBuilder::RangePush(const std::string& name, std::uint32_t thread) {
  Event(Op::kRangePush, Layer::kUnspecified, 0, 0, String(name),
        {.device = kNoDevice, .thread = thread});
}

void LogBuilder::RangePop(std::uint32_t thread) {
  Event(Op::kRangePop, Layer::kUnspecified, 0, 0, 0, {.device = kNoDevice, .thread = thread});
}

void LogBuilder::Snapshot(const std::string& label) {
  Event(Op::kSnapshot, Layer::kUnspecified, 0, 0, String(label), {.device = kNoDevice});
}

void LogBuilder::SetTime(std::uint64_t ns) { state_->now = ns; }
void LogBuilder::AdvanceTime(std::uint64_t ns) { state_->now += ns; }

void LogBuilder::Count(const std::string& anomaly, std::uint64_t value) {
  log::Counter* counter = state_->counters.add_counter();
  counter->set_name(anomaly);
  counter->set_value(value);
}

void LogBuilder::SourceState(const std::string& name, int state, const std::string& detail) {
  log::Source* source = state_->definitions.add_source();
  source->set_name(name);
  source->set_state(static_cast<log::SourceState>(state));
  source->set_detail(detail);
  source->set_time_ns(state_->now);
}

log::SelfAccounting& LogBuilder::self() { return *state_->counters.mutable_self(); }
log::Header& LogBuilder::header() { return state_->header; }
log::Definitions& LogBuilder::definitions() { return state_->definitions; }

std::string LogBuilder::Bytes(const WriteOptions& options) const {
  log::FileHeader file{};
  std::memcpy(file.magic, log::kMagic, sizeof file.magic);
  file.version = file.reader_version = log::kFormatVersion;
  std::string out(reinterpret_cast<const char*>(&file), sizeof file);
  log::Index index;
  const auto append = [&](log::ChunkKind kind, const google::protobuf::MessageLite& message,
                          std::uint32_t events = 0) {
    log::IndexEntry* entry = index.add_chunk();
    entry->set_offset(AppendChunk(kind, message, events, options.compress, &out));
    entry->set_kind(static_cast<std::uint32_t>(kind));
    entry->set_events(events);
    return entry;
  };
  append(log::ChunkKind::kHeader, state_->header);
  append(log::ChunkKind::kDefinitions, state_->definitions);
  const std::vector<EventRow>& rows = state_->rows;
  const std::size_t step = static_cast<std::size_t>(std::max(1, options.events_per_chunk));
  for (std::size_t begin = 0; begin < rows.size(); begin += step) {
    const std::size_t end = std::min(rows.size(), begin + step);
    log::IndexEntry* entry = append(log::ChunkKind::kEvents, MakeEvents(rows, begin, end),
                                    static_cast<std::uint32_t>(end - begin));
    const auto [first, last] =
        std::minmax_element(rows.begin() + begin, rows.begin() + end,
                            [](const EventRow& a, const EventRow& b) { return a.time < b.time; });
    entry->set_first_time_ns(first->time);
    entry->set_last_time_ns(last->time);
  }
  log::Counters counters = state_->counters;
  if (counters.self().events() == 0) counters.mutable_self()->set_events(rows.size());
  if (counters.self().events_written() == 0)
    counters.mutable_self()->set_events_written(rows.size());
  append(log::ChunkKind::kCounters, counters);
  log::Trailer trailer;
  if (options.index && options.trailer)
    trailer.set_index_offset(AppendChunk(log::ChunkKind::kIndex, index, 0, options.compress, &out));
  if (!options.trailer) return out;
  trailer.set_end_time_ns(state_->now);
  trailer.set_events(rows.size());
  trailer.set_reason("exit");
  AppendChunk(log::ChunkKind::kTrailer, trailer, 0, options.compress, &out);
  return out;
}

absl::Status LogBuilder::WriteTo(const std::string& path, const WriteOptions& options) const {
  const std::string bytes = Bytes(options);
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) return absl::UnavailableError(absl::StrCat(path, ": cannot be created"));
  const bool written = std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
  if (std::fclose(file) != 0 || !written)
    return absl::UnavailableError(absl::StrCat(path, ": cannot be written"));
  return absl::OkStatus();
}

}  // namespace memprof::analysis::testing
