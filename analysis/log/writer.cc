// Frames chunks, fills columns, and keeps the tables of definitions.
#include "analysis/log/writer.h"

#include <zstd.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "analysis/log/wire.h"
#include "proto/crc32c.h"

namespace memprof::analysis {
namespace {

constexpr std::size_t kMaxString = 64u << 10;
constexpr std::size_t kFlushDefinitions = 4u << 20;
constexpr int kZstdLevel = 3;

// Readers refuse an extreme compression ratio as a decompression bomb (docs/log-format.md): such a
// payload is stored uncompressed.
bool WorthCompressing(std::size_t raw, std::size_t stored, std::uint32_t events) {
  return stored < raw && raw / 32 <= stored + (64u << 10) && events / 2 <= stored;
}

std::string Compressed(const std::string& raw) {
  std::string stored(ZSTD_compressBound(raw.size()), '\0');
  const std::size_t size =
      ZSTD_compress(stored.data(), stored.size(), raw.data(), raw.size(), kZstdLevel);
  stored.resize(ZSTD_isError(size) ? raw.size() : size);  // no smaller: not used
  return stored;
}

using Rows = std::vector<LogWriter::Event>;

// One column, left out when it is all zeroes.
template <typename Field, typename Value>
void Fill(const Rows& rows, Field* field, Value value) {
  if (std::all_of(rows.begin(), rows.end(), [&](const auto& row) { return value(row) == 0; }))
    return;
  field->Reserve(static_cast<int>(rows.size()));
  for (const LogWriter::Event& row : rows) field->Add(value(row));
}

template <typename Value>
void FillDeltas(const Rows& rows, google::protobuf::RepeatedField<std::int64_t>* field,
                Value value) {
  std::uint64_t before = 0;
  Fill(rows, field, [&](const LogWriter::Event& row) { return value(row) != 0 ? 1 : 0; });
  for (int i = 0; i < field->size(); ++i) {
    const std::uint64_t now = value(rows[static_cast<std::size_t>(i)]);
    field->Set(i, static_cast<std::int64_t>(now - before));
    before = now;
  }
}

log::Events Columns(const Rows& rows) {
  using Event = LogWriter::Event;
  log::Events events;
  const std::uint64_t base = rows.front().time;
  events.set_base_time_ns(base);
  events.set_count(static_cast<std::uint32_t>(rows.size()));
  Fill(rows, events.mutable_op(), [](const Event& e) { return static_cast<std::uint32_t>(e.op); });
  Fill(rows, events.mutable_layer(),
       [](const Event& e) { return static_cast<std::uint32_t>(e.layer); });
  FillDeltas(rows, events.mutable_time_delta(), [base](const Event& e) { return e.time - base; });
  Fill(rows, events.mutable_thread(), [](const Event& e) { return e.thread; });
  Fill(rows, events.mutable_device_plus_1(),
       [](const Event& e) { return static_cast<std::uint32_t>(e.device + 1); });
  FillDeltas(rows, events.mutable_address_delta(), [](const Event& e) { return e.address; });
  Fill(rows, events.mutable_bytes(), [](const Event& e) { return e.bytes; });
  Fill(rows, events.mutable_stack(), [](const Event& e) { return e.stack; });
  Fill(rows, events.mutable_context(), [](const Event& e) { return e.context; });
  Fill(rows, events.mutable_stream(), [](const Event& e) { return e.stream; });
  Fill(rows, events.mutable_label(), [](const Event& e) { return e.label; });
  Fill(rows, events.mutable_api(), [](const Event& e) { return e.api; });
  Fill(rows, events.mutable_result(), [](const Event& e) { return e.result; });
  FillDeltas(rows, events.mutable_aux0_delta(), [](const Event& e) { return e.aux0; });
  FillDeltas(rows, events.mutable_aux1_delta(), [](const Event& e) { return e.aux1; });
  return events;
}

}  // namespace

LogWriter::LogWriter(Sink sink) : sink_(std::move(sink)) {
  header_.set_format_version(log::kFormatVersion);
  header_.set_architecture("x86_64");
  counts_.resize(std::size(log::kAnomalyNames));
  rows_.reserve(log::kEventsPerChunk);
}

void LogWriter::Put(std::string_view bytes) {
  ok_ = ok_ && sink_(bytes);
  offset_ += bytes.size();
}

std::uint64_t LogWriter::WriteChunk(log::ChunkKind kind,
                                    const google::protobuf::MessageLite& message,
                                    std::uint32_t events) {
  std::string payload = message.SerializeAsString();
  log::ChunkFrame frame{};
  frame.sync = log::kChunkSync;
  frame.kind = static_cast<std::uint16_t>(kind);
  frame.raw_bytes = static_cast<std::uint32_t>(payload.size());
  frame.events = events;
  if (std::string stored = Compressed(payload);
      WorthCompressing(payload.size(), stored.size(), events)) {
    frame.flags = log::kChunkZstd;
    payload = std::move(stored);
  }
  frame.stored_bytes = static_cast<std::uint32_t>(payload.size());
  frame.crc32c = log::Crc32c(payload.data(), payload.size(),
                             log::Crc32c(&frame, offsetof(log::ChunkFrame, crc32c)));
  const std::uint64_t offset = offset_;
  Put({reinterpret_cast<const char*>(&frame), sizeof frame});
  Put(payload);
  if (kind == log::ChunkKind::kIndex || kind == log::ChunkKind::kTrailer) return offset;
  log::IndexEntry* entry = index_.add_chunk();
  entry->set_offset(offset);
  entry->set_kind(static_cast<std::uint32_t>(kind));
  entry->set_events(events);
  return offset;
}

void LogWriter::Begin() {
  if (std::exchange(begun_, true)) return;
  log::FileHeader file{};
  std::memcpy(file.magic, log::kMagic, sizeof file.magic);
  file.version = file.reader_version = log::kFormatVersion;
  Put({reinterpret_cast<const char*>(&file), sizeof file});
  WriteChunk(log::ChunkKind::kHeader, header_);
}

// Definitions are kept until events need them, or until they fill a chunk.
void LogWriter::Grown(std::size_t bytes) {
  definition_bytes_ += bytes;
  if (definition_bytes_ >= kFlushDefinitions) FlushDefinitions();
}

void LogWriter::FlushDefinitions() {
  Begin();
  if (definition_bytes_ == 0) return;
  WriteChunk(log::ChunkKind::kDefinitions, definitions_);
  definitions_.Clear();
  definition_bytes_ = 0;
}

void LogWriter::FlushEvents() {
  FlushDefinitions();
  if (rows_.empty()) return;
  const auto count = static_cast<std::uint32_t>(rows_.size());
  WriteChunk(log::ChunkKind::kEvents, Columns(rows_), count);
  const auto [first, last] = std::minmax_element(
      rows_.begin(), rows_.end(), [](const Event& a, const Event& b) { return a.time < b.time; });
  log::IndexEntry* entry = index_.mutable_chunk(index_.chunk_size() - 1);
  entry->set_first_time_ns(first->time);
  entry->set_last_time_ns(last->time);
  events_written_ += count;
  rows_.clear();
}

std::uint32_t LogWriter::String(std::string_view value) {
  if (value.empty()) return 0;
  std::string text = ValidUtf8(value.substr(0, kMaxString));
  const auto [at, fresh] =
      strings_.try_emplace(std::move(text), static_cast<std::uint32_t>(strings_.size() + 1));
  if (fresh) {
    log::StringDef* definition = definitions_.add_string();
    definition->set_id(at->second);
    definition->set_value(at->first);
    Grown(at->first.size() + 16);
  }
  return at->second;
}

std::uint32_t LogWriter::PythonFrame(std::string_view function, std::string_view file,
                                     std::uint32_t line) {
  const std::uint32_t function_id = String(function), file_id = String(file);
  const auto [at, fresh] = frames_.try_emplace({std::uint64_t{function_id} << 32 | file_id, line},
                                               static_cast<std::uint32_t>(frames_.size() + 1));
  if (fresh) {
    log::PythonFrame* frame = definitions_.add_python_frame();
    frame->set_id(at->second);
    frame->set_function(function_id);
    frame->set_file(file_id);
    frame->set_line(line);
    Grown(24);
  }
  return at->second;
}

std::uint32_t LogWriter::Stack(std::uint32_t caller, std::uint32_t python_frame) {
  const auto [at, fresh] =
      stacks_.try_emplace({caller, python_frame}, static_cast<std::uint32_t>(stacks_.size() + 1));
  if (fresh) {
    log::StackTrie* trie = definitions_.mutable_trie();
    if (trie->parent_size() == 0) trie->set_first_id(at->second);
    trie->add_parent(caller);
    trie->add_address_delta(python_frame);
    trie->add_module(0);
    trie->add_kind(log::FRAME_PYTHON);
    Grown(16);
  }
  return at->second;
}

std::uint32_t LogWriter::Thread(std::uint32_t tid, std::string_view name) {
  log::Thread* thread = definitions_.add_thread();
  thread->set_id(++threads_);
  thread->set_tid(tid);
  thread->set_name(ValidUtf8(name.substr(0, kMaxString)));
  Grown(thread->name().size() + 16);
  return threads_;
}

void LogWriter::Device(const log::Device& device) {
  *definitions_.add_device() = device;
  Grown(64);
}

void LogWriter::Source(std::string_view name, log::SourceState state, std::string_view detail,
                       std::uint64_t time_ns) {
  log::Source* source = definitions_.add_source();
  source->set_name(ValidUtf8(name));
  source->set_state(state);
  source->set_detail(ValidUtf8(detail.substr(0, kMaxString)));
  source->set_time_ns(time_ns);
  Grown(source->detail().size() + 32);
}

void LogWriter::Add(const Event& event) {
  rows_.push_back(event);
  if (rows_.size() >= log::kEventsPerChunk) FlushEvents();
}

void LogWriter::Count(log::Anomaly anomaly, std::uint64_t count) {
  counts_[static_cast<std::size_t>(anomaly)] += count;
}

void LogWriter::WriteCounters() {
  log::Counters counters;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    if (counts_[i] == 0) continue;
    log::Counter* counter = counters.add_counter();
    counter->set_name(std::string(log::kAnomalyNames[i]));
    counter->set_value(counts_[i]);
  }
  log::SelfAccounting* self = counters.mutable_self();
  self->set_events(events_written_);
  self->set_events_written(events_written_);
  self->set_bytes_written(offset_);
  self->set_stacks(stacks_.size());
  WriteChunk(log::ChunkKind::kCounters, counters);
}

bool LogWriter::Finish(std::uint64_t end_time_ns, std::string_view reason) {
  FlushEvents();
  WriteCounters();
  log::Trailer trailer;
  trailer.set_index_offset(WriteChunk(log::ChunkKind::kIndex, index_));
  trailer.set_end_time_ns(end_time_ns);
  trailer.set_events(events_written_);
  trailer.set_reason(ValidUtf8(reason));
  WriteChunk(log::ChunkKind::kTrailer, trailer);
  return ok_;
}

}  // namespace memprof::analysis
