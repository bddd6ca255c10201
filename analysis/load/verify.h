// Checks whether a log is sound: the verb `memprof verify`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "analysis/log/reader.h"

namespace memprof::analysis {

struct ChunkKindCount {
  std::uint16_t kind = 0;
  std::string name;  // "events", "definitions", …, "unknown kind 9"
  std::uint64_t chunks = 0, stored_bytes = 0, raw_bytes = 0;
};

struct VerifyResult {
  std::uint64_t file_bytes = 0;
  std::uint32_t format_version = 0;
  std::vector<ChunkKindCount> kinds;  // by kind
  std::uint64_t events = 0;           // in sound chunks
  bool complete = false;              // a trailer ends the file
  bool has_index = false;
  bool always_on = false;      // the header says so
  std::uint32_t segment = 0;   // then
  std::vector<Damage> damage;  // bytes outside of sound chunks
  // One line each, with the offset of the chunk. None = the log is sound. A log that was not closed
  // (`complete` is false) or still grows can be sound.
  std::vector<std::string> problems;

  bool sound() const { return problems.empty(); }
};

// Reads the whole file and checks every chunk: checksums, decoding, that ids are defined before
// they are used, and that trailer and index match the chunks. Errors: those of LogReader::Open.
// Thread-safe.
absl::StatusOr<VerifyResult> VerifyLog(const std::string& path);

}  // namespace memprof::analysis
