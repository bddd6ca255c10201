// Decodes event chunks on several threads and orders them by time.
#include "analysis/session_columns.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <queue>
#include <thread>
#include <utility>

#include "analysis/log_decode.h"

namespace memprof::analysis {
namespace {

unsigned ThreadCount() { return std::clamp(std::thread::hardware_concurrency(), 1u, 8u); }

// Puts rows of the tables in place of the log's ids. Threads come later: they may need new rows.
void MapIds(const EventRows& rows, const SessionTables& tables) {
  EventColumns& columns = *rows.columns;
  for (std::size_t i = rows.begin; i < rows.begin + rows.count; ++i) {
    columns.stack[i] = tables.Stack(columns.stack[i].value);
    columns.api[i] = tables.String(columns.api[i].value);
    columns.context[i] = tables.Context(columns.context[i]);
    const bool tensor = columns.layer[i] == Layer::kTensor;
    columns.label[i] =
        tensor ? tables.Tensor(columns.label[i]).value : tables.String(columns.label[i]).value;
  }
}

class ParallelDecoder {
 public:
  ParallelDecoder(const LogReader& reader, const std::vector<EventSource>& sources,
                  const SessionTables& tables, EventColumns* columns)
      : reader_(reader),
        sources_(sources),
        tables_(tables),
        columns_(columns),
        ok_(sources.size(), 0) {
    std::size_t rows = 0;
    for (const EventSource& source : sources) {
      begin_.push_back(rows);
      rows += source.count;
    }
    ForEachLoggedColumn(columns, [rows](auto& column) { column.resize(rows); });
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
    for (std::size_t i = 0; i < ok_.size(); ++i)
      if (!ok_[i]) result->failed.push_back(i);
    if (!result->failed.empty()) DropFailed();
  }

 private:
  void Work(const ProgressFunction* progress) {
    PayloadBuffer buffer;
    std::uint64_t unknown = 0;
    for (std::size_t i; !cancelled_ && (i = next_++) < sources_.size();) {
      const EventRows rows{columns_, begin_[i], sources_[i].count};
      std::string_view payload = sources_[i].message;
      bool read = true;
      if (sources_[i].chunk != nullptr) {
        const absl::StatusOr<std::string_view> got =
            reader_.ReadPayload(*sources_[i].chunk, &buffer);
        read = got.ok();
        if (read) payload = *got;
      }
      ok_[i] = read && DecodeEvents(payload, rows, &unknown);
      if (ok_[i]) MapIds(rows, tables_);
      if (progress != nullptr &&
          !(*progress)(static_cast<double>(i) / static_cast<double>(sources_.size())))
        cancelled_ = true;
    }
    unknown_ += unknown;
  }

  // Closes the gaps that chunks have left which did not decode.
  void DropFailed() {
    ForEachLoggedColumn(columns_, [this](auto& column) {
      std::size_t out = 0;
      for (std::size_t i = 0; i < sources_.size(); ++i) {
        if (!ok_[i]) continue;
        std::move(column.begin() + begin_[i], column.begin() + begin_[i] + sources_[i].count,
                  column.begin() + out);
        out += sources_[i].count;
      }
      column.resize(out);
    });
  }

  const LogReader& reader_;
  const std::vector<EventSource>& sources_;
  const SessionTables& tables_;
  EventColumns* const columns_;
  std::vector<std::size_t> begin_;
  std::vector<char> ok_;
  std::atomic<std::size_t> next_ = 0;
  std::atomic<std::uint64_t> unknown_ = 0;
  std::atomic<bool> cancelled_ = false;
};

}  // namespace

absl::Status DecodeColumns(const LogReader& reader, const std::vector<EventSource>& sources,
                           SessionTables* tables, const ProgressFunction& progress,
                           EventColumns* columns, DecodeResult* result) {
  ParallelDecoder decoder(reader, sources, *tables, columns);
  if (absl::Status status = decoder.Run(progress); !status.ok()) return status;
  decoder.Collect(result);
  int last_device = kNoDevice;
  for (std::size_t i = 0; i < columns->size(); ++i) {
    columns->thread[i] = tables->Thread(columns->thread[i]);
    if (columns->device[i] != last_device) tables->SeeDevice(last_device = columns->device[i]);
  }
  return absl::OkStatus();
}

namespace {

using Row = std::uint32_t;

// Holds each thread's time where it runs backwards.
std::uint64_t HoldClocks(EventColumns* columns) {
  std::vector<TimeNs> latest;
  std::uint64_t steps = 0;
  for (std::size_t i = 0; i < columns->size(); ++i) {
    const std::size_t thread = columns->thread[i] + 1u;  // none = slot 0
    if (thread >= latest.size()) latest.resize(thread + 1, 0);
    TimeNs& time = columns->time[i];
    if (time < latest[thread]) ++steps;
    time = latest[thread] = std::max(time, latest[thread]);
  }
  return steps;
}

// A stable merge sort that makes use of what order there is: it merges the rising runs of the
// input, and of two neighbouring runs only the part where they overlap.
class RunSort {
 public:
  explicit RunSort(const std::vector<TimeNs>& time) : time_(time), rows_(time.size()) {
    for (Row i = 0; i < rows_.size(); ++i) rows_[i] = i;
    runs_.push_back(0);
    for (std::size_t i = 1; i < time.size(); ++i)
      if (time[i] < time[i - 1]) runs_.push_back(i);
    runs_.push_back(time.size());
  }

  std::vector<Row> Sort() && {
    Merge(0, runs_.size() - 1);
    return std::move(rows_);
  }

 private:
  void Merge(std::size_t first_run, std::size_t end_run) {
    if (end_run - first_run < 2) return;
    const std::size_t middle_run = first_run + (end_run - first_run) / 2;
    Merge(first_run, middle_run);
    Merge(middle_run, end_run);
    const auto earlier = [this](Row a, Row b) { return time_[a] < time_[b]; };
    const auto middle = rows_.begin() + runs_[middle_run];
    const auto begin = std::upper_bound(rows_.begin() + runs_[first_run], middle, *middle, earlier);
    const auto end =
        std::lower_bound(middle, rows_.begin() + runs_[end_run], *(middle - 1), earlier);
    if (begin < middle && middle < end) std::inplace_merge(begin, middle, end, earlier);
  }

  const std::vector<TimeNs>& time_;
  std::vector<Row> rows_;
  std::vector<std::size_t> runs_;
};

// Orders rows of the same instant: each thread's in their order, frees as early as that allows.
class InstantOrder {
 public:
  explicit InstantOrder(const EventColumns& columns) : columns_(columns) {}

  void Apply(Row* begin, Row* end) {
    if (!NeedsOrder(begin, end)) return;
    absl::flat_hash_map<std::uint32_t, std::deque<Row>> threads;
    std::priority_queue<Row, std::vector<Row>, std::greater<Row>> frees, others;
    for (const Row* row = begin; row != end; ++row) threads[Thread(*row)].push_back(*row);
    const auto offer = [&](Row row) { (IsFree(row) ? frees : others).push(row); };
    for (const auto& [thread, rows] : threads) offer(rows.front());
    for (Row* out = begin; out != end; ++out) {
      auto& heads = frees.empty() ? others : frees;
      const Row row = heads.top();
      heads.pop();
      *out = row;
      std::deque<Row>& rest = threads[Thread(row)];
      rest.pop_front();
      if (!rest.empty()) offer(rest.front());
    }
  }

 private:
  std::uint32_t Thread(Row row) const { return columns_.thread[row]; }
  bool IsFree(Row row) const { return columns_.op[row] == Op::kFree; }

  bool NeedsOrder(const Row* begin, const Row* end) const {
    bool several = false, late_free = false;
    for (const Row* row = begin + 1; row < end; ++row) {
      several |= Thread(*row) != Thread(*begin);
      late_free |= IsFree(*row) && !IsFree(*(row - 1));
    }
    return several && late_free;
  }

  const EventColumns& columns_;
};

}  // namespace

std::uint64_t OrderByTime(EventColumns* columns) {
  const std::uint64_t steps = HoldClocks(columns);
  std::vector<Row> rows = RunSort(columns->time).Sort();
  InstantOrder instant(*columns);
  for (std::size_t begin = 0, end = 0; begin < rows.size(); begin = end) {
    for (end = begin + 1;
         end < rows.size() && columns->time[rows[end]] == columns->time[rows[begin]];)
      ++end;
    if (end - begin > 1) instant.Apply(rows.data() + begin, rows.data() + end);
  }
  bool in_order = true;
  for (Row i = 0; i < rows.size() && in_order; ++i) in_order = rows[i] == i;
  if (in_order) return steps;
  ForEachLoggedColumn(columns, [&rows](auto& column) {
    auto ordered = column;
    for (std::size_t i = 0; i < rows.size(); ++i) ordered[i] = column[rows[i]];
    column = std::move(ordered);
  });
  return steps;
}

}  // namespace memprof::analysis
