// Decodes the messages of a log from untrusted bytes.
#include "analysis/log/decode.h"

#include <algorithm>
#include <array>

#include "analysis/log/wire.h"

namespace memprof::analysis {
namespace {

// A chunk could repeat a small text millions of times; there are not that many counters.
constexpr std::size_t kMaxTexts = 1u << 12;
// Bytes of a list of texts that is displayed as one; the rest becomes "…".
constexpr std::size_t kMaxList = 64u << 10;

// A list of texts that is displayed as one.
class TextList {
 public:
  explicit TextList(std::vector<std::string>* texts) : texts_(*texts) {}
  void Append(std::string_view text) {
    if (full_) return;
    bytes_ += text.size() + 1;
    full_ = bytes_ > kMaxList || texts_.size() == kMaxTexts;
    texts_.push_back(full_ ? "…" : ValidUtf8(text));
  }

 private:
  std::vector<std::string>& texts_;
  std::size_t bytes_ = 0;
  bool full_ = false;
};

bool DecodeAlwaysOn(std::string_view bytes, AlwaysOn* always_on) {
  WireReader reader(bytes);
  while (reader.Next()) {
    if (reader.field() == 1) always_on->budget_bytes = reader.number();
    if (reader.field() == 2) always_on->period_ns = reader.number();
    if (reader.field() == 3) always_on->segment = static_cast<std::uint32_t>(reader.number());
  }
  return reader.ok();
}

}  // namespace

bool DecodeHeader(std::string_view bytes, HeaderRecord* header) {
  RunInfo& run = header->run;
  TextList arguments(&run.arguments), environment(&run.environment);
  WireReader reader(bytes);
  while (reader.Next()) {
    switch (reader.field()) {
      case 2:
        run.recorder_version = LogText(reader.bytes());
        break;
      case 3:
        run.pid = static_cast<std::uint32_t>(reader.number());
        break;
      case 5:
        run.hostname = LogText(reader.bytes());
        break;
      case 6:
        run.executable = LogText(reader.bytes());
        break;
      case 7:
        arguments.Append(reader.bytes());
        break;
      case 8:
        run.working_directory = LogText(reader.bytes());
        break;
      case 9:
        environment.Append(reader.bytes());
        break;
      case 10:
        run.start_time = reader.number();
        break;
      case 11:
        run.start_unix_ns = reader.number();
        break;
      case 12:
        header->ring_path = std::string(reader.bytes());
        break;
      case 14:
        if (!DecodeAlwaysOn(reader.bytes(), &run.always_on)) return false;
        break;
      default:
        break;
    }
  }
  return reader.ok();
}

bool DecodeTrailer(std::string_view bytes, TrailerRecord* trailer) {
  WireReader reader(bytes);
  while (reader.Next()) {
    switch (reader.field()) {
      case 1:
        trailer->end_time_ns = reader.number();
        break;
      case 2:
        trailer->events = reader.number();
        break;
      case 3:
        trailer->reason = LogText(reader.bytes());
        break;
      case 4:
        trailer->index_offset = reader.number();
        break;
      default:
        break;
    }
  }
  return reader.ok();
}

bool DecodeIndex(std::string_view bytes, std::vector<IndexRecord>* entries) {
  WireReader reader(bytes);
  while (reader.Next()) {
    if (reader.field() != 1) continue;
    IndexRecord entry;
    WireReader fields(reader.bytes());
    while (fields.Next()) {
      switch (fields.field()) {
        case 1:
          entry.offset = fields.number();
          break;
        case 2:
          entry.kind = static_cast<std::uint32_t>(fields.number());
          break;
        case 3:
          entry.events = static_cast<std::uint32_t>(fields.number());
          break;
        case 4:
          entry.first_time_ns = fields.number();
          break;
        case 5:
          entry.last_time_ns = fields.number();
          break;
        default:
          break;
      }
    }
    if (!fields.ok()) return false;
    entries->push_back(entry);
  }
  return reader.ok();
}

namespace {

bool DecodeSelf(std::string_view bytes, SelfAccounting* self) {
  WireReader reader(bytes);
  while (reader.Next()) {
    switch (reader.field()) {
      case 1:
        self->events = reader.number();
        break;
      case 2:
        self->events_written = reader.number();
        break;
      case 3:
        self->bytes_written = reader.number();
        break;
      case 4:
        self->hook_time_ns = reader.number();
        break;
      case 5:
        self->writer_cpu_ns = reader.number();
        break;
      case 6:
        self->resident_bytes = reader.number();
        break;
      case 7:
        self->stacks = reader.number();
        break;
      default:
        break;
    }
  }
  return reader.ok();
}

}  // namespace

bool DecodeCounters(std::string_view bytes, CountersRecord* counters) {
  WireReader reader(bytes);
  while (reader.Next()) {
    if (reader.field() == 2 && !DecodeSelf(reader.bytes(), &counters->self)) return false;
    if (reader.field() != 1 || counters->counters.size() >= kMaxTexts) continue;
    std::pair<std::string, std::uint64_t> counter;
    WireReader fields(reader.bytes());
    while (fields.Next()) {
      if (fields.field() == 1) counter.first = LogText(fields.bytes());
      if (fields.field() == 2) counter.second = fields.number();
    }
    if (!fields.ok()) return false;
    counters->counters.push_back(std::move(counter));
  }
  return reader.ok();
}

namespace {

std::int64_t ZigZag(std::uint64_t value) {
  return static_cast<std::int64_t>(value >> 1) ^ -static_cast<std::int64_t>(value & 1);
}

// Decodes the columns of one Events message. A packed field may come in several pieces, so every
// column remembers how far it got and, if it holds differences, its last value.
class EventsDecoder {
 public:
  EventsDecoder(std::uint32_t count, EventColumns* columns) : rows_(count), columns_(*columns) {}

  bool Run(std::string_view bytes) {
    WireReader reader(bytes);
    while (reader.Next()) {
      if (reader.field() == 1)
        base_time_ = reader.number();
      else if (reader.field() == 2)
        count_ = reader.number();
      else if (reader.field() < filled_.size() && !Column(reader))
        return false;
    }
    return reader.ok() && Complete();
  }

 private:
  template <typename Put>
  bool Fill(const WireReader& reader, Put put) {
    std::uint32_t& row = filled_[reader.field()];
    if (!reader.packed()) {
      if (row >= rows_) return false;
      put(row++, reader.number());
      return true;
    }
    VarintReader in(reader.bytes());
    while (!in.done()) {
      if (row >= rows_) return false;
      put(row++, in.Next());
    }
    return in.ok();
  }

  template <typename T>
  bool Plain(const WireReader& reader, std::vector<T>* column) {
    T* const out = column->data();
    return Fill(reader, [out](std::size_t i, std::uint64_t v) { out[i] = static_cast<T>(v); });
  }

  template <typename T>
  bool Ids(const WireReader& reader, std::vector<T>* column) {
    T* const out = column->data();
    return Fill(reader, [out](std::size_t i, std::uint64_t v) {
      out[i] = T(static_cast<std::uint32_t>(v));
    });
  }

  // Differences of one chunk add up modulo 2^64.
  bool Deltas(const WireReader& reader, std::vector<std::uint64_t>* column) {
    std::uint64_t* const out = column->data();
    std::uint64_t& last = last_[reader.field()];
    return Fill(reader, [out, &last](std::size_t i, std::uint64_t v) {
      out[i] = last += static_cast<std::uint64_t>(ZigZag(v));
    });
  }

  bool Column(const WireReader& reader) {
    switch (reader.field()) {
      case 3:
        return Fill(reader, [this](std::size_t i, std::uint64_t v) {
          columns_.op[i] = static_cast<Op>(std::min<std::uint64_t>(v, 255));
        });
      case 4:
        return Fill(reader, [this](std::size_t i, std::uint64_t v) {
          columns_.layer[i] = static_cast<Layer>(std::min<std::uint64_t>(v, 255));
        });
      case 5:
        return Deltas(reader, &columns_.time);
      case 6:
        return Plain(reader, &columns_.thread);
      case 7:
        return Fill(reader, [this](std::size_t i, std::uint64_t v) {
          columns_.device[i] = static_cast<std::int16_t>(v > 0 && v <= kMaxDevices ? v - 1 : -1);
        });
      case 8:
        return Deltas(reader, &columns_.address);
      case 9:
        return Plain(reader, &columns_.bytes);
      case 10:
        return Ids(reader, &columns_.stack);
      case 11:
        return Plain(reader, &columns_.context);
      case 12:
        return Plain(reader, &columns_.stream);
      case 13:
        return Plain(reader, &columns_.label);
      case 14:
        return Ids(reader, &columns_.api);
      case 15:
        return Plain(reader, &columns_.result);
      case 16:
        return Deltas(reader, &columns_.aux0);
      case 17:
        return Deltas(reader, &columns_.aux1);
      case 18:
        return Plain(reader, &columns_.weight);
      default:
        return true;
    }
  }

  // All columns that are there have one entry per event; the others are all zeroes.
  bool Complete() {
    if (count_ != rows_ || (rows_ > 0 && filled_[3] == 0)) return false;
    for (const std::uint32_t filled : filled_)
      if (filled != 0 && filled != rows_) return false;
    for (TimeNs& time : columns_.time) time += base_time_;
    if (filled_[7] == 0) std::fill(columns_.device.begin(), columns_.device.end(), kNoDevice);
    return true;
  }

  static constexpr std::uint64_t kMaxDevices = 1024;

  const std::uint32_t rows_;
  EventColumns& columns_;
  std::uint64_t base_time_ = 0, count_ = 0;
  std::array<std::uint32_t, 19> filled_{};
  std::array<std::uint64_t, 19> last_{};
};

bool IsKnown(Op op) {
  return op != Op::kUnspecified && op != Op::kSampled && OpName(op) != "unknown";
}
bool IsKnown(Layer layer) { return LayerName(layer) != "unknown"; }

template <typename T>
std::array<bool, 256> KnownTable() {
  std::array<bool, 256> known{};
  for (int i = 0; i < 256; ++i) known[i] = IsKnown(static_cast<T>(i));
  return known;
}

}  // namespace

bool DecodeEvents(std::string_view bytes, std::uint32_t count, EventColumns* columns,
                  std::uint64_t* unknown) {
  static const std::array<bool, 256> known_op = KnownTable<Op>();
  static const std::array<bool, 256> known_layer = KnownTable<Layer>();
  columns->Clear(count);
  if (!EventsDecoder(count, columns).Run(bytes)) return false;
  for (std::size_t i = 0; i < count; ++i) {
    const bool layer_known = known_layer[static_cast<std::uint8_t>(columns->layer[i])];
    if (known_op[static_cast<std::uint8_t>(columns->op[i])] && layer_known) continue;
    ++*unknown;
    columns->op[i] = Op::kUnspecified;
    if (!layer_known) columns->layer[i] = Layer::kUnspecified;
  }
  return true;
}

}  // namespace memprof::analysis
