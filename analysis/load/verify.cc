// Checks a log chunk by chunk, in the order of the file.
#include "analysis/load/verify.h"

#include <map>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "analysis/load/internal/columns.h"
#include "analysis/load/internal/tables.h"
#include "analysis/log/decode.h"
#include "analysis/log/sources.h"

namespace memprof::analysis {
namespace {

constexpr std::size_t kMaxProblems = 100;  // more would only hide the first ones

std::string KindName(std::uint16_t kind) {
  switch (static_cast<log::ChunkKind>(kind)) {
    case log::ChunkKind::kHeader:
      return "header";
    case log::ChunkKind::kDefinitions:
      return "definitions";
    case log::ChunkKind::kEvents:
      return "events";
    case log::ChunkKind::kCounters:
      return "counters";
    case log::ChunkKind::kIndex:
      return "index";
    case log::ChunkKind::kTrailer:
      return "trailer";
    case log::ChunkKind::kSources:
      return "sources";
  }
  return absl::StrCat("unknown kind ", kind);
}

class Verifier {
 public:
  explicit Verifier(const LogReader& reader) : reader_(reader) {}

  VerifyResult Run() {
    result_.file_bytes = reader_.file_bytes();
    result_.format_version = reader_.version();
    result_.damage = reader_.damage();
    for (const Damage& damage : result_.damage)
      Problem(damage.begin, absl::StrCat(damage.end - damage.begin, " bytes lost: ", damage.what));
    if (reader_.tail_cut()) Problem(reader_.tail_offset(), "the file ends inside a chunk");
    if (reader_.chunks().front().kind() != log::ChunkKind::kHeader)
      Problem(reader_.chunks().front().offset, "the first chunk is not the header");
    std::map<std::uint16_t, ChunkKindCount> kinds;
    for (const Chunk& chunk : reader_.chunks()) {
      ChunkKindCount& kind = kinds[chunk.frame.kind];
      ++kind.chunks;
      kind.stored_bytes += chunk.frame.stored_bytes;
      kind.raw_bytes += chunk.frame.raw_bytes;
      Check(chunk);
    }
    for (auto& [number, kind] : kinds) {
      kind.kind = number;
      kind.name = KindName(number);
      result_.kinds.push_back(std::move(kind));
    }
    CheckTrailer();
    return std::move(result_);
  }

 private:
  void Problem(std::uint64_t offset, const std::string& what) {
    if (result_.problems.size() < kMaxProblems)
      result_.problems.push_back(absl::StrCat("at offset ", offset, ": ", what));
  }

  void Check(const Chunk& chunk) {
    const absl::StatusOr<std::string_view> payload = reader_.ReadPayload(chunk, &buffer_);
    if (!payload.ok()) return Problem(chunk.offset, "the payload does not decompress");
    bool decoded = true;
    switch (chunk.kind()) {
      case log::ChunkKind::kHeader: {
        HeaderRecord header;
        decoded = DecodeHeader(*payload, &header);
        result_.always_on = header.run.always_on.budget_bytes > 0;
        result_.segment = header.run.always_on.segment;
        if (std::exchange(header_seen_, true)) Problem(chunk.offset, "a second header");
        break;
      }
      case log::ChunkKind::kDefinitions:
        definition_bytes_ += chunk.frame.raw_bytes;
        if (!DefinitionsPlausible(definition_bytes_, reader_.file_bytes()))
          return Problem(chunk.offset, "the tables are larger than the file can hold");
        decoded = tables_.Add(*payload);
        break;
      case log::ChunkKind::kEvents:
        decoded = CheckEvents(chunk, *payload);
        break;
      case log::ChunkKind::kCounters: {
        CountersRecord counters;
        decoded = DecodeCounters(*payload, &counters);
        break;
      }
      case log::ChunkKind::kIndex:
        index_offset_ = chunk.offset;
        index_.clear();
        decoded = DecodeIndex(*payload, &index_);
        break;
      case log::ChunkKind::kTrailer:
        trailer_.emplace();
        trailer_offset_ = chunk.offset;
        decoded = DecodeTrailer(*payload, &*trailer_);
        break;
      case log::ChunkKind::kSources: {
        KeptSources sources;
        decoded = DecodeSources(*payload, &sources);
        break;
      }
    }
    if (!decoded)
      Problem(chunk.offset,
              absl::StrCat("the ", KindName(chunk.frame.kind), " chunk does not decode"));
  }

  bool CheckEvents(const Chunk& chunk, std::string_view payload) {
    const std::uint32_t count = chunk.frame.events;
    EventColumns columns;
    std::uint64_t unknown = 0;
    if (!DecodeEvents(payload, count, &columns, &unknown)) return false;
    result_.events += count;
    std::uint64_t undefined = 0;
    const auto check = [&](std::uint32_t id, std::uint32_t row) {
      undefined += id != 0 && row == EventId::kNone;
    };
    for (std::uint32_t i = 0; i < count; ++i) {
      const bool tensor = columns.layer[i] == Layer::kTensor;
      const std::uint32_t label = columns.label[i];
      check(columns.stack[i].value, tables_.Stack(columns.stack[i].value).value);
      check(columns.api[i].value, tables_.String(columns.api[i].value).value);
      check(columns.context[i], tables_.Context(columns.context[i]));
      check(label, tensor ? tables_.Tensor(label).value : tables_.String(label).value);
    }
    if (undefined != 0)
      Problem(chunk.offset, absl::StrCat(undefined, " ids are used before they are defined"));
    return true;
  }

  void CheckTrailer() {
    result_.has_index = index_offset_ != 0;
    result_.complete = trailer_.has_value() && !reader_.tail_cut() &&
                       reader_.chunks().back().kind() == log::ChunkKind::kTrailer;
    if (!trailer_.has_value()) return;
    if (!result_.complete) Problem(trailer_offset_, "the trailer is not the last chunk");
    if (trailer_->events != result_.events)
      Problem(trailer_offset_, absl::StrCat("the trailer counts ", trailer_->events,
                                            " events, the chunks hold ", result_.events));
    if (trailer_->index_offset != index_offset_)
      Problem(trailer_offset_, "the trailer points to another place than the index");
    if (result_.has_index) CheckIndex();
  }

  // The index lists every chunk before itself, in order.
  void CheckIndex() {
    std::size_t listed = 0;
    for (const Chunk& chunk : reader_.chunks()) {
      if (chunk.offset >= index_offset_) break;
      const bool agrees = listed < index_.size() && index_[listed].offset == chunk.offset &&
                          index_[listed].kind == chunk.frame.kind &&
                          index_[listed].events == chunk.frame.events;
      ++listed;
      if (!agrees)
        return Problem(index_offset_, absl::StrCat("the index does not agree with the ",
                                                   "chunk at offset ", chunk.offset));
    }
    if (listed != index_.size())
      Problem(index_offset_, "the index lists chunks that are not there");
  }

  const LogReader& reader_;
  VerifyResult result_;
  SessionTables tables_;
  PayloadBuffer buffer_;
  bool header_seen_ = false;
  std::optional<TrailerRecord> trailer_;
  std::vector<IndexRecord> index_;
  std::uint64_t index_offset_ = 0, trailer_offset_ = 0, definition_bytes_ = 0;
};

}  // namespace

absl::StatusOr<VerifyResult> VerifyLog(const std::string& path) {
  absl::StatusOr<std::unique_ptr<LogReader>> reader = LogReader::Open(path, LogReader::Mode::kScan);
  if (!reader.ok()) return reader.status();
  return Verifier(**reader).Run();
}

}  // namespace memprof::analysis
