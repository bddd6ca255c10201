// Decodes event chunks on several threads.
#include "analysis/load/internal/columns.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>
#include <utility>

#include "analysis/log/decode.h"
#include "analysis/log/event_columns.h"
#include "analysis/store/sampling.h"

namespace memprof::analysis {
namespace {

unsigned ThreadCount() { return std::clamp(std::thread::hardware_concurrency(), 1u, 8u); }

// The parts of chunks other than rows (kinds, details), to which all threads add theirs.
class SharedParts {
 public:
  explicit SharedParts(RawEvents* events) : events_(*events) {}

  // Adds `counts` of rows, `details`, and the kinds that are new to a thread, whose numbers are
  // appended to `numbers`. Returns the row of the first detail.
  std::uint32_t Add(const std::vector<EventKind>& kinds, std::vector<std::uint32_t>* numbers,
                    const std::vector<std::uint64_t>& counts,
                    const std::vector<RawEvents::Detail>& details) {
    const std::lock_guard lock(mutex_);
    for (std::size_t i = numbers->size(); i < kinds.size(); ++i) {
      const auto [at, fresh] =
          numbers_.try_emplace(kinds[i], static_cast<std::uint32_t>(events_.kinds.size()));
      if (fresh) {
        events_.kinds.push_back(kinds[i]);
        events_.rows_of_kind.push_back(0);
      }
      numbers->push_back(at->second);
    }
    for (std::size_t i = 0; i < counts.size(); ++i)
      events_.rows_of_kind[(*numbers)[i]] += counts[i];
    const auto first = static_cast<std::uint32_t>(events_.details.size());
    events_.details.insert(events_.details.end(), details.begin(), details.end());
    return first;
  }

 private:
  RawEvents& events_;
  std::mutex mutex_;
  absl::flat_hash_map<EventKind, std::uint32_t> numbers_;
};

// One thread's part of the decoding. Its scratch memory is that of one chunk.
class ChunkDecoder {
 public:
  ChunkDecoder(const LogReader& reader, const SessionTables& tables, SharedParts* shared)
      : reader_(reader), tables_(tables), shared_(*shared) {}

  // Writes the source's events to `out`, which has space for them. False if they cannot be decoded.
  bool Decode(const EventSource& source, RawEvents::Row* out) {
    std::string_view payload = source.message;
    if (source.chunk != nullptr) {
      const absl::StatusOr<std::string_view> got = reader_.ReadPayload(*source.chunk, &buffer_);
      if (!got.ok()) return false;
      payload = *got;
    }
    if (!DecodeEvents(payload, source.count, &columns_, &unknown_)) return false;
    details_.clear();
    counts_.assign(kinds_.size(), 0);
    for (std::uint32_t i = 0; i < source.count; ++i) {
      if (columns_.weight[i] != 0) TakeWeight(i);
      Pack(i, &out[i]);
    }
    const std::uint32_t first = shared_.Add(kinds_, &numbers_, counts_, details_);
    for (std::uint32_t i = 0; i < source.count; ++i) {
      out[i].kind = numbers_[out[i].kind];
      if (out[i].detail != EventId::kNone) out[i].detail += first;
    }
    return true;
  }
  std::uint64_t unknown() const { return unknown_; }
  std::uint64_t odd_weights() const { return odd_weights_; }

 private:
  // A drawn block is an event of its own kind, with the weight as its result (sampled.h).
  void TakeWeight(std::uint32_t i) {
    if (columns_.op[i] != Op::kAlloc || columns_.weight[i] < kWeightOfOne) {
      ++odd_weights_;
      return;
    }
    columns_.op[i] = Op::kSampled;
    columns_.result[i] = columns_.weight[i];
  }

  void Pack(std::uint32_t i, RawEvents::Row* out) {
    const bool tensor = columns_.layer[i] == Layer::kTensor;
    const std::uint32_t label = columns_.label[i] == 0 ? EventId::kNone
                                : tensor               ? tables_.Tensor(columns_.label[i]).value
                                                       : tables_.String(columns_.label[i]).value;
    *out = {.time = columns_.time[i],
            .address = columns_.address[i],
            .bytes = columns_.bytes[i],
            .kind = Kind(i),
            .stack = tables_.Stack(columns_.stack[i].value)};
    const RawEvents::Detail detail{columns_.aux0[i], columns_.aux1[i], label, columns_.result[i]};
    if (detail.aux0 == 0 && detail.aux1 == 0 && label == EventId::kNone && detail.result == 0)
      return;
    out->detail = static_cast<std::uint32_t>(details_.size());
    details_.push_back(detail);
  }

  // This thread's number of the event's kind. Kinds keep the log's ids of threads until the end,
  // because some threads may have no row yet.
  std::uint32_t Kind(std::uint32_t i) {
    EventKind kind;
    kind.op = columns_.op[i];
    kind.layer = columns_.layer[i];
    kind.device = columns_.device[i];
    kind.thread = columns_.thread[i];
    kind.context = columns_.context[i];
    kind.api = columns_.api[i];
    kind.stream = columns_.stream[i];
    std::uint32_t& row = recent_.Of(kind);
    if (row != RecentKinds::kNone) {
      ++counts_[row];
      return row;
    }
    const auto [at, fresh] = logged_.try_emplace(kind, static_cast<std::uint32_t>(kinds_.size()));
    if (fresh) {
      kind.context = tables_.Context(kind.context);
      kind.api = tables_.String(kind.api.value);
      kinds_.push_back(kind);
      counts_.push_back(0);
    }
    ++counts_[at->second];
    return row = at->second;
  }

  const LogReader& reader_;
  const SessionTables& tables_;
  SharedParts& shared_;
  PayloadBuffer buffer_;
  EventColumns columns_;
  absl::flat_hash_map<EventKind, std::uint32_t> logged_;  // with the log's ids
  RecentKinds recent_;                                    // likewise
  std::vector<EventKind> kinds_;
  std::vector<std::uint32_t> numbers_;  // of kinds_ among all
  std::vector<std::uint64_t> counts_;   // of kinds_ in this chunk
  std::vector<RawEvents::Detail> details_;
  std::uint64_t unknown_ = 0, odd_weights_ = 0;
};

class ParallelDecoder {
 public:
  ParallelDecoder(const LogReader& reader, const std::vector<EventSource>& sources,
                  const SessionTables& tables, RawEvents* events)
      : reader_(reader),
        sources_(sources),
        tables_(tables),
        events_(*events),
        shared_(events),
        ok_(sources.size(), 0) {
    std::size_t rows = 0;
    for (const EventSource& source : sources) {
      begin_.push_back(rows);
      rows += source.count;
    }
    events_.rows.resize(rows);
  }

  absl::Status Run(const ProgressFunction& progress) {
    std::vector<std::thread> helpers;
    const std::size_t wanted = std::min<std::size_t>(ThreadCount(), sources_.size());
    for (std::size_t i = 1; i < wanted; ++i) helpers.emplace_back([this] { Work(nullptr); });
    Work(progress ? &progress : nullptr);
    for (std::thread& helper : helpers) helper.join();
    return cancelled_ ? absl::CancelledError("cancelled") : absl::OkStatus();
  }

  void Collect(DecodeResult* result) {
    result->unknown = unknown_;
    result->odd_weights = odd_weights_;
    for (std::size_t i = 0; i < ok_.size(); ++i)
      if (!ok_[i]) result->failed.push_back(i);
    if (!result->failed.empty()) DropFailed();
  }

 private:
  void Work(const ProgressFunction* progress) {
    ChunkDecoder decoder(reader_, tables_, &shared_);
    for (std::size_t i; !cancelled_ && (i = next_++) < sources_.size();) {
      ok_[i] = decoder.Decode(sources_[i], events_.rows.data() + begin_[i]);
      if (progress != nullptr &&
          !(*progress)(static_cast<double>(i) / static_cast<double>(sources_.size())))
        cancelled_ = true;
    }
    unknown_ += decoder.unknown();
    odd_weights_ += decoder.odd_weights();
  }

  // Closes the gaps that chunks have left which did not decode.
  void DropFailed() {
    std::vector<RawEvents::Row>& rows = events_.rows;
    std::size_t out = 0;
    for (std::size_t i = 0; i < sources_.size(); ++i) {
      if (!ok_[i]) continue;
      std::move(rows.begin() + begin_[i], rows.begin() + begin_[i] + sources_[i].count,
                rows.begin() + out);
      out += sources_[i].count;
    }
    rows.resize(out);
  }

  const LogReader& reader_;
  const std::vector<EventSource>& sources_;
  const SessionTables& tables_;
  RawEvents& events_;
  SharedParts shared_;
  std::vector<std::size_t> begin_;
  std::vector<char> ok_;
  std::atomic<std::size_t> next_ = 0;
  std::atomic<std::uint64_t> unknown_ = 0, odd_weights_ = 0;
  std::atomic<bool> cancelled_ = false;
};

// Replaces the log's ids of threads by rows. New threads get rows in the order of their ids.
void MapThreads(SessionTables* tables, RawEvents* events) {
  std::vector<std::uint32_t> ids;
  for (const EventKind& kind : events->kinds) ids.push_back(kind.thread);
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  for (const std::uint32_t id : ids) tables->Thread(id);
  for (EventKind& kind : events->kinds) {
    kind.thread = tables->Thread(kind.thread);
    tables->SeeDevice(kind.device);
  }
}

}  // namespace

absl::Status DecodeColumns(const LogReader& reader, const std::vector<EventSource>& sources,
                           SessionTables* tables, const ProgressFunction& progress,
                           RawEvents* events, DecodeResult* result) {
  ParallelDecoder decoder(reader, sources, *tables, events);
  if (absl::Status status = decoder.Run(progress); !status.ok()) return status;
  decoder.Collect(result);
  MapThreads(tables, events);
  return absl::OkStatus();
}

}  // namespace memprof::analysis
