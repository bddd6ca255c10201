// Numbers are varints, texts have their length before them.
#include "analysis/remote/protocol.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "analysis/log/wire.h"
#include "proto/crc32c.h"

namespace memprof::analysis {
namespace {

enum Entry : std::uint64_t { kModule = 1, kFrames = 2, kVariable = 3, kDone = 4 };
constexpr std::uint64_t kPython = 1, kInlined = 2, kSymbolised = 4, kInstalled = 8;
constexpr std::uint64_t kMostInlined = 256;
constexpr std::size_t kMostNameBytes = 64u << 10;  // as in a log
constexpr std::size_t kMostEntryBytes = 2u << 20;  // so that a payload fits into a frame

void PutName(std::string_view name, std::string* to) {
  PutText(name.substr(0, kMostNameBytes), to);
}

std::string Text(VarintReader* in) { return LogText(in->Take(in->Next())); }

bool ReadFrames(VarintReader* in, std::vector<SourceFrame>* frames) {
  const std::uint64_t count = in->Next();
  if (!in->ok() || count > kMostInlined) return false;
  for (std::uint64_t i = 0; i < count && in->ok(); ++i) {
    SourceFrame frame;
    frame.function = Text(in);
    frame.file = Text(in);
    frame.line = static_cast<int>(in->Next() & 0x7fffffff);
    frame.module = Text(in);
    const std::uint64_t flags = in->Next();
    frame.python = (flags & kPython) != 0;
    frame.inlined = (flags & kInlined) != 0;
    frame.symbolised = (flags & kSymbolised) != 0;
    frame.installed = (flags & kInstalled) != 0;
    frames->push_back(std::move(frame));
  }
  return in->ok();
}

}  // namespace

std::string PositionText(const CopyPosition& position) {
  return absl::StrCat(absl::Hex(position.bytes), ",", absl::Hex(position.head), ",",
                      absl::Hex(position.tail), ",", absl::Hex(position.sources), ",",
                      absl::Hex(position.frames));
}

absl::StatusOr<CopyPosition> ParsePosition(std::string_view text) {
  CopyPosition position;
  int end = 0;
  const std::string copy(text);
  if (copy.size() > 80 ||
      std::sscanf(copy.c_str(),
                  "%16" SCNx64 ",%8" SCNx32 ",%8" SCNx32 ",%8" SCNx32 ",%16" SCNx64 "%n",
                  &position.bytes, &position.head, &position.tail, &position.sources,
                  &position.frames, &end) != 5 ||
      static_cast<std::size_t>(end) != copy.size())
    return absl::InvalidArgumentError("not a position that memprof-viewer writes");
  return position;
}

std::uint32_t SourcesChecksum(const KeptSources& sources) {
  std::uint32_t crc = 0;
  for (const auto& [name, text] : sources) {
    crc = log::Crc32c(name.data(), name.size() + 1, crc);
    crc = log::Crc32c(text.data(), text.size(), crc);
  }
  return crc;
}

void PutNumber(std::uint64_t number, std::string* to) {
  for (; number >= 0x80; number >>= 7) to->push_back(static_cast<char>(number | 0x80));
  to->push_back(static_cast<char>(number));
}

void PutText(std::string_view text, std::string* to) {
  PutNumber(text.size(), to);
  to->append(text);
}

void NamesWriter::Switch(const ModuleInfo& module) {
  if (!bytes_.empty() && module.path == path_ && module.build_id == build_id_) return;
  path_ = module.path;
  build_id_ = module.build_id;
  PutNumber(kModule, &bytes_);
  PutText(path_, &bytes_);
  PutText(build_id_, &bytes_);
}

void NamesWriter::Add(const ModuleInfo& module, std::uint64_t address,
                      const std::vector<SourceFrame>& frames) {
  Switch(module);
  PutNumber(kFrames, &bytes_);
  PutNumber(address, &bytes_);
  std::size_t count = 0, bytes = 0;
  for (; count < std::min<std::size_t>(frames.size(), kMostInlined) && bytes < kMostEntryBytes;
       ++count)
    bytes += frames[count].function.size() + frames[count].file.size();
  PutNumber(count, &bytes_);
  for (std::size_t i = 0; i < count; ++i) {
    const SourceFrame& frame = frames[i];
    PutName(frame.function, &bytes_);
    PutName(frame.file, &bytes_);
    PutNumber(static_cast<std::uint64_t>(frame.line), &bytes_);
    PutName(frame.module, &bytes_);
    PutNumber((frame.python ? kPython : 0) | (frame.inlined ? kInlined : 0) |
                  (frame.symbolised ? kSymbolised : 0) | (frame.installed ? kInstalled : 0),
              &bytes_);
  }
}

void NamesWriter::Add(const ModuleInfo& module, const ModuleSymbols::Range& variable) {
  Switch(module);
  PutNumber(kVariable, &bytes_);
  PutNumber(variable.begin, &bytes_);
  PutNumber(variable.end, &bytes_);
  PutNumber(variable.thread_local_data ? 1 : 0, &bytes_);
  PutName(variable.name, &bytes_);
}

void NamesWriter::Done(std::uint64_t frames) {
  PutNumber(kDone, &bytes_);
  PutNumber(frames, &bytes_);
}

std::string NamesWriter::Take() { return std::exchange(bytes_, {}); }

bool ReadNames(std::string_view payload, NamesElsewhere* names, std::uint64_t* frames_done) {
  VarintReader in(payload);
  ModuleInfo module;
  while (!in.done()) {
    const std::uint64_t entry = in.Next();
    if (entry == kModule) {
      module.path = Text(&in);
      module.build_id = std::string(in.Take(in.Next()));  // bytes, not a text
    } else if (entry == kFrames) {
      const std::uint64_t address = in.Next();
      std::vector<SourceFrame> frames;
      if (!ReadFrames(&in, &frames)) return false;
      names->Add(module, address, std::move(frames));
    } else if (entry == kVariable) {
      ModuleSymbols::Range variable;
      variable.begin = in.Next();
      variable.end = in.Next();
      variable.thread_local_data = in.Next() != 0;
      variable.name = Text(&in);
      if (in.ok()) names->Add(module, std::move(variable));
    } else if (entry == kDone) {
      *frames_done = in.Next();
    } else {
      return false;
    }
    if (!in.ok()) return false;
  }
  return true;
}

}  // namespace memprof::analysis
