// Turns definition records from the ring into log.Definitions messages.
//
// Not thread-safe: belongs to the writer thread.
#pragma once

#include <cstdint>

#include "libmemprof/src/base/byte_buffer.h"
#include "libmemprof/src/log/log_file.h"
#include "proto/ring.h"

namespace memprof::recorder {

class DefinitionEncoder {
 public:
  explicit DefinitionEncoder(LogFile* log) : log_(log) {}

  // Adds the records in `bytes` bytes at `records`, in the order in which they were published.
  void Add(const char* records, std::uint32_t bytes);
  // Adds the rest to the log's batch.
  void Finish();

 private:
  void AddNode(const ring::NodeRecord& node);
  void CloseTrie();

  LogFile* log_;
  ByteBuffer message_{Need::kWriter};
  ByteBuffer parents_{Need::kWriter};
  ByteBuffer addresses_{Need::kWriter};
  ByteBuffer modules_{Need::kWriter};
  ByteBuffer kinds_{Need::kWriter};
  std::uint32_t first_node_ = 0;
  std::uint32_t node_count_ = 0;
  std::uint64_t last_address_ = 0;
  bool has_kinds_ = false;
};

}  // namespace memprof::recorder
