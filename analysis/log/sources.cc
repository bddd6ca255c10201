// Kept sources: decodes them, and appends them to a whole log.
#include "analysis/log/sources.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "analysis/log/decode.h"
#include "analysis/log/internal/append.h"
#include "analysis/log/reader.h"
#include "analysis/log/wire.h"
#include "proto/memprof.pb.h"

namespace memprof::analysis {
namespace {

// The last two chunks of a log that ended cleanly, and its header.
struct LogEnd {
  HeaderRecord header;
  log::Index index;
  log::Trailer trailer;
};

absl::Status NotNow(const std::string& why) { return absl::FailedPreconditionError(why); }

// The recorder of a process that was stopped may go on, and then writes over the log's end.
bool MayStillRun(const RunInfo& run) {
  const auto pid = static_cast<pid_t>(run.pid);
  return pid > 0 && (kill(pid, 0) == 0 || errno != ESRCH);
}

bool IsOfThisHost(const RunInfo& run) {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 && run.hostname == name;
}

absl::StatusOr<LogEnd> ReadEnd(const LogReader& reader) {
  LogEnd end;
  if (!reader.used_index()) return NotNow("it did not end cleanly");
  PayloadBuffer buffer;
  for (const Chunk& chunk : reader.chunks()) {
    const log::ChunkKind kind = chunk.kind();
    if (kind == log::ChunkKind::kSources) return NotNow("it has its sources already");
    if (kind != log::ChunkKind::kHeader && kind != log::ChunkKind::kIndex &&
        kind != log::ChunkKind::kTrailer)
      continue;
    const auto payload = reader.ReadPayload(chunk, &buffer);
    if (!payload.ok()) return payload.status();
    const auto bytes = static_cast<int>(payload->size());
    if (kind == log::ChunkKind::kHeader)
      DecodeHeader(*payload, &end.header);
    else if (kind == log::ChunkKind::kIndex ? !end.index.ParseFromArray(payload->data(), bytes)
                                            : !end.trailer.ParseFromArray(payload->data(), bytes))
      return NotNow("its end is damaged");
  }
  if (!IsOfThisHost(end.header.run)) return NotNow("it was recorded on another host");
  if (MayStillRun(end.header.run)) return NotNow("its process still runs");
  return end;
}

void AddEntry(log::ChunkKind kind, std::uint64_t offset, log::Index* index) {
  log::IndexEntry* entry = index->add_chunk();
  entry->set_offset(offset);
  entry->set_kind(static_cast<std::uint32_t>(kind));
}

// The sources, an index of everything before itself, and a trailer.
std::string NewEnd(const LogReader& reader, const KeptSources& sources, LogEnd end) {
  log::KeptSources message;
  for (const auto& [name, text] : sources) {
    log::KeptSource* file = message.add_file();
    file->set_name(name);
    file->set_text(text);
  }
  std::string chunks;
  AppendChunk(log::ChunkKind::kSources, message.SerializeAsString(), 0, &chunks);
  const std::size_t listed = reader.chunks().size();
  for (std::size_t i = listed - 2; i < listed; ++i)
    AddEntry(reader.chunks()[i].kind(), reader.chunks()[i].offset, &end.index);
  AddEntry(log::ChunkKind::kSources, reader.file_bytes(), &end.index);
  end.trailer.set_index_offset(reader.file_bytes() + chunks.size());
  AppendChunk(log::ChunkKind::kIndex, end.index.SerializeAsString(), 0, &chunks);
  AppendChunk(log::ChunkKind::kTrailer, end.trailer.SerializeAsString(), 0, &chunks);
  return chunks;
}

bool WithinLimits(const KeptSources& sources) {
  std::size_t bytes = 0;
  for (const auto& [name, text] : sources) {
    if (text.size() > kMostKeptFileBytes) return false;
    bytes += text.size();
  }
  return bytes <= kMostKeptBytes && sources.size() <= kMostKeptFiles;
}

absl::Status Unwritten(int error) {
  return absl::UnavailableError(absl::StrCat("it cannot be written: ", std::strerror(error)));
}

}  // namespace

bool DecodeSources(std::string_view bytes, KeptSources* sources) {
  std::size_t total = 0;
  for (const auto& [name, text] : *sources) total += text.size();
  WireReader reader(bytes);
  while (reader.Next()) {
    if (reader.field() != 1) continue;
    std::string name;
    std::string_view text;
    WireReader fields(reader.bytes());
    while (fields.Next()) {
      if (fields.field() == 1) name = LogText(fields.bytes());
      if (fields.field() == 2) text = fields.bytes();
    }
    total += text.size();
    if (!fields.ok() || text.size() > kMostKeptFileBytes || total > kMostKeptBytes ||
        sources->size() >= kMostKeptFiles)
      return false;
    sources->try_emplace(std::move(name), text);
  }
  return reader.ok();
}

KeptSources ReadKeptSources(const std::string& log_path) {
  KeptSources sources;
  const auto reader = LogReader::Open(log_path, LogReader::Mode::kUseIndex);
  if (!reader.ok()) return sources;
  PayloadBuffer buffer;
  for (const Chunk& chunk : (*reader)->chunks()) {
    if (chunk.kind() != log::ChunkKind::kSources) continue;
    const auto payload = (*reader)->ReadPayload(chunk, &buffer);
    if (!payload.ok() || !DecodeSources(*payload, &sources)) break;
  }
  return sources;
}

absl::Status AppendSources(const std::string& log_path, const KeptSources& sources) {
  if (!WithinLimits(sources)) return absl::InvalidArgumentError("the sources are too large");
  const auto reader = LogReader::Open(log_path, LogReader::Mode::kUseIndex);
  if (!reader.ok()) return absl::UnavailableError("it cannot be read");
  absl::StatusOr<LogEnd> end = ReadEnd(**reader);
  if (!end.ok()) return end.status();
  const OwnFile file(log_path, O_WRONLY);
  if (!file.ok()) return Unwritten(errno);
  const std::uint64_t size = (*reader)->file_bytes();
  if (file.bytes() != size) return NotNow("it has grown meanwhile");
  if (WriteAll(file.fd(), NewEnd(**reader, sources, *std::move(end)), size))
    return absl::OkStatus();
  const int error = errno;
  // Where this fails, readers leave out the cut end.
  [[maybe_unused]] const int cut = ftruncate(file.fd(), static_cast<off_t>(size));
  return Unwritten(error);
}

}  // namespace memprof::analysis
