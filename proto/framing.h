// How chunks are framed in a log file. Plain data only: included by the recorder, which links no
// library, and by the readers. docs/log-format.md describes the format with a diagram.
#pragma once

#include <cstdint>

namespace memprof::log {

// File: FileHeader, then chunks back to back. All integers are little-endian.
struct FileHeader {
  char magic[8];                 // "MEMPROF\n"
  std::uint32_t version;         // kFormatVersion of the writer
  std::uint32_t reader_version;  // smallest format version a reader must support to read it
};
static_assert(sizeof(FileHeader) == 16);

inline constexpr char kMagic[8] = {'M', 'E', 'M', 'P', 'R', 'O', 'F', '\n'};
inline constexpr std::uint32_t kFormatVersion = 1;

// Every chunk begins with this frame; `stored_bytes` of payload follow. A file that ends inside
// a frame or a payload was cut there: everything before it is valid.
struct ChunkFrame {
  std::uint32_t sync;          // kChunkSync: lets a scan find the next chunk after damage
  std::uint16_t kind;          // ChunkKind; readers skip kinds they do not know
  std::uint16_t flags;         // kChunkZstd
  std::uint32_t stored_bytes;  // of the payload as stored
  std::uint32_t raw_bytes;     // of the payload once decompressed
  std::uint32_t events;        // number of events, for kind kEvents; else 0
  std::uint32_t crc32c;        // of the 20 bytes above and of the stored payload
};
static_assert(sizeof(ChunkFrame) == 24);

inline constexpr std::uint32_t kChunkSync = 0x4b484350;  // "PCHK"
inline constexpr std::uint16_t kChunkZstd = 1;

enum class ChunkKind : std::uint16_t {
  kHeader = 1,       // log.Header
  kDefinitions = 2,  // log.Definitions
  kEvents = 3,       // log.Events
  kCounters = 4,     // log.Counters
  kIndex = 5,        // log.Index
  kTrailer = 6,      // log.Trailer
  kSources = 7,      // log.KeptSources
};

// Limits that a reader enforces before it allocates; a writer stays below them.
inline constexpr std::uint32_t kMaxRawBytes = 64u << 20;
inline constexpr std::uint32_t kMaxStoredBytes = 64u << 20;
inline constexpr std::uint32_t kMaxEventsPerChunk = 1u << 16;
inline constexpr std::uint32_t kEventsPerChunk = 4096;  // the recorder's usual size of a chunk

}  // namespace memprof::log
