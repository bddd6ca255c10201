// Builds a Session from a log file: chunks, ring recovery, columns, lifetimes, indices.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "analysis/load/internal/columns.h"
#include "analysis/load/internal/lifetimes.h"
#include "analysis/load/internal/tables.h"
#include "analysis/load/load.h"
#include "analysis/log/decode.h"
#include "analysis/log/reader.h"
#include "analysis/store/session.h"

namespace memprof::analysis {

// Builds one session. Not thread-safe.
class SessionBuilder {
 public:
  SessionBuilder(std::unique_ptr<LogReader> reader, const LoadOptions& options);

  // kDataLoss if a chunk is damaged that the index lists as sound: the caller then scans the file
  // and tries again. Other errors as LoadLogs.
  absl::StatusOr<std::shared_ptr<const Session>> Build();

 private:
  absl::Status ReadTables();
  absl::Status ReadChunk(const Chunk& chunk);
  void FindEnd();
  void RecoverRing();
  absl::Status ReadEvents();
  void TakeBefore();
  void AttributeBackward();
  void BuildLifetimes();
  void CountDamage();
  void MergeAnomalies();
  bool Report(double share) const { return !options_.progress || options_.progress(share); }
  void Count(log::Anomaly anomaly, std::uint64_t add = 1) {
    anomalies_[static_cast<std::size_t>(anomaly)] += add;
  }

  const std::unique_ptr<LogReader> reader_;
  const LoadOptions options_;
  const Elsewhere* elsewhere_ = nullptr;
  SessionData data_;
  SessionTables tables_;
  HeaderRecord header_;
  TrailerRecord trailer_;
  CountersRecord counters_;
  PayloadBuffer buffer_;
  std::vector<EventSource> sources_;
  RawEvents raw_;
  std::vector<std::uint32_t> order_;  // rows of raw_
  std::uint64_t definition_bytes_ = 0, event_count_ = 0;
  AnomalyCounts anomalies_{};
};

// Whether the process that wrote this log runs on this machine and still has its ring.
bool WriterIsAlive(const HeaderRecord& header);

}  // namespace memprof::analysis
