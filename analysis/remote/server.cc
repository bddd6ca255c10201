// Reads the log again where it changed, and writes the difference.
#include "analysis/remote/server.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "analysis/load/load.h"
#include "analysis/log/frames.h"
#include "analysis/source/kept_sources.h"
#include "analysis/symbols/symbols.h"
#include "proto/crc32c.h"

namespace memprof::analysis {
namespace {

constexpr std::uint64_t kPiece = 64u << 10;  // what a lost connection loses
constexpr std::size_t kNamesPiece = 256u << 10;

std::uint32_t Checksum(const std::string& bytes) { return log::Crc32c(bytes.data(), bytes.size()); }

// The module whose variable holds memory, of the label of a scan; "" of other texts.
std::string_view ModuleOfRoot(std::string_view label) {
  for (const std::string_view root : {"\nglobal of ", "\nthread-local variable of "}) {
    const std::size_t at = label.find(root);
    if (at == std::string_view::npos) continue;
    label.remove_prefix(at + root.size());
    return label.substr(0, label.find('\n'));
  }
  return "";
}

absl::Status Gone() { return absl::CancelledError("nobody reads any more"); }

}  // namespace

LogServer::LogServer(std::string path, const CopyPosition& position, Write write)
    : path_(std::move(path)),
      write_(std::move(write)),
      position_(position),
      names_(std::make_shared<NamesElsewhere>()) {}

LogServer::~LogServer() {
  if (descriptor_ >= 0) close(descriptor_);
}

bool LogServer::Send(ServeFrame kind, const std::string& payload) {
  std::string frame;
  AppendFrame(static_cast<std::uint16_t>(kind), payload, &frame);
  return write_(frame);
}

absl::Status LogServer::Update() {
  struct stat before {
  }, now{};
  const bool there = stat(path_.c_str(), &before) == 0;
  if (there && IsSeen(before) && !growing_ && sent_ == total_) return absl::OkStatus();
  // Without events, and so in milliseconds also of a large log.
  LoadOptions options;
  options.find_steps = options.recover_ring = false;
  options.tables_only = true;
  const auto session = LoadLogs({path_}, options);
  // A log that is replaced may be half there.
  if (!session.ok()) return first_ ? session.status() : absl::OkStatus();
  if (const int file = open(path_.c_str(), O_RDONLY | O_CLOEXEC); file >= 0) {
    if (descriptor_ >= 0) close(descriptor_);
    descriptor_ = file;
  } else {
    return first_ ? absl::NotFoundError(absl::StrCat(path_, ": cannot be read")) : absl::OkStatus();
  }
  // The length after the reading: of a log that has ended meanwhile, the next call tells that.
  if (fstat(descriptor_, &now) != 0 || now.st_ino != before.st_ino || now.st_dev != before.st_dev)
    return absl::OkStatus();
  seen_ = now;
  const bool was_growing = growing_;
  const std::uint64_t was_sent = sent_;
  FindEnd(**session, static_cast<std::uint64_t>(now.st_size));
  const bool was_same = IsSameLog();
  if (!was_same && !Send(ServeFrame::kAnew, "")) return Gone();
  if (!first_ && was_same && sent_ == was_sent && sent_ == total_ && growing_ == was_growing)
    return absl::OkStatus();
  const bool more = first_ || !was_same || (*session)->frame_count() > position_.frames;
  if (more && (!SendNames(**session) || !SendVariables(**session) || !SendSources(**session)))
    return Gone();
  if (!SendBytes()) return Gone();
  first_ = false;
  return absl::OkStatus();
}

bool LogServer::IsSeen(const struct stat& now) const {
  return now.st_ino == seen_.st_ino && now.st_dev == seen_.st_dev && now.st_size == seen_.st_size &&
         now.st_mtim.tv_sec == seen_.st_mtim.tv_sec && now.st_mtim.tv_nsec == seen_.st_mtim.tv_nsec;
}

// Whether it grows, and what of the ring of a dead process belongs to it.
void LogServer::FindEnd(const Session& session, std::uint64_t file_bytes) {
  growing_ = session.run().growing;
  end_ = {.begin = file_bytes, .chunks = {}};
  if (!session.run().complete) {
    absl::StatusOr<RingEnd> ring = ReadRingEnd(path_);
    if (ring.ok()) {
      end_ = *std::move(ring);
      growing_ = false;
    } else if (absl::IsFailedPrecondition(ring.status())) {
      growing_ = true;
    }
  }
  total_ = end_.begin + end_.chunks.size();
}

std::string LogServer::ReadAt(std::uint64_t offset, std::uint64_t bytes) const {
  std::string part;
  if (offset < end_.begin) {
    part.resize(std::min(bytes, end_.begin - offset));
    const ssize_t size = pread(descriptor_, part.data(), part.size(), static_cast<off_t>(offset));
    part.resize(size < 0 ? 0 : static_cast<std::size_t>(size));
    if (offset + part.size() < end_.begin) return part;
  }
  const std::uint64_t from = offset + part.size() - end_.begin;
  if (from < end_.chunks.size() && part.size() < bytes)
    part += end_.chunks.substr(from, bytes - part.size());
  return part;
}

// Whether what was sent before is still the log's beginning; moves back to where it is. A log
// begins with the time of its recording: with the same beginning it is the same, and only the end
// that a dead process left may be another.
bool LogServer::IsSameLog() {
  const bool resumes = first_ && position_.bytes > 0;
  if (resumes) {
    sent_ = position_.bytes;
    head_ = ReadAt(0, std::min(sent_, kHeadBytes));
    const std::uint64_t part = std::min(sent_, kTailBytes);
    tail_ = ReadAt(sent_ - part, part);
  }
  if (sent_ == 0) return true;
  const bool begins =
      resumes ? Checksum(head_) == position_.head : ReadAt(0, head_.size()) == head_;
  const bool goes_on = resumes ? Checksum(tail_) == position_.tail
                               : ReadAt(sent_ - tail_.size(), tail_.size()) == tail_;
  if (begins && goes_on && sent_ <= total_) return true;
  sent_ = begins && !growing_ && end_.begin < sent_ ? end_.begin : 0;
  const std::uint64_t part = std::min(sent_, kTailBytes);
  head_ = ReadAt(0, std::min(sent_, kHeadBytes));
  tail_ = ReadAt(sent_ - part, part);
  if (sent_ > 0) return true;
  position_ = {};
  sources_sent_.clear();
  with_variables_.clear();
  names_ = std::make_shared<NamesElsewhere>();
  return false;
}

ModuleSymbols& LogServer::SymbolsOf(const ModuleInfo& module, std::uint64_t* load_bias) {
  OneFile& file = files_[ModuleFileKey(module)];
  if (file.symbols == nullptr) file = {module.load_bias, std::make_unique<ModuleSymbols>(module)};
  *load_bias = file.load_bias;
  return *file.symbols;
}

bool LogServer::SendNames(const Session& session) {
  NamesWriter names;
  const auto count = static_cast<std::uint32_t>(session.frame_count());
  // Of a connection that goes on after another, the sources need the names sent before too.
  for (std::uint64_t i = first_ ? 0 : position_.frames; i < count; ++i) {
    const Frame& frame = session.frame(FrameId(static_cast<std::uint32_t>(i)));
    if (frame.python || frame.module >= session.modules().size()) continue;
    const ModuleInfo& module = session.modules()[frame.module];
    std::uint64_t bias = 0;
    ModuleSymbols& symbols = SymbolsOf(module, &bias);
    const std::uint64_t address = frame.address - module.load_bias;
    std::vector<SourceFrame> found = symbols.At(address + bias);
    if (i >= position_.frames && !found.empty()) names.Add(module, address, found);
    names_->Add(module, address, std::move(found));
    if (names.size() < kNamesPiece) continue;
    names.Done(i + 1);
    if (!Send(ServeFrame::kNames, names.Take())) return false;
  }
  if (count <= position_.frames) return true;
  position_.frames = count;
  names.Done(count);
  return Send(ServeFrame::kNames, names.Take());
}

// Of the modules whose variables were found to hold memory.
bool LogServer::SendVariables(const Session& session) {
  NamesWriter names;
  for (const std::string& label : session.data().strings) {
    const std::string_view path = ModuleOfRoot(label);
    if (path.empty() || !with_variables_.emplace(path).second) continue;
    for (const ModuleInfo& module : session.modules()) {
      if (module.path != path) continue;
      std::uint64_t bias = 0;
      for (const ModuleSymbols::Range& variable : SymbolsOf(module, &bias).Variables()) {
        names.Add(module, variable);
        if (names.size() >= kNamesPiece && !Send(ServeFrame::kNames, names.Take())) return false;
      }
      break;
    }
  }
  return names.size() == 0 || Send(ServeFrame::kNames, names.Take());
}

bool LogServer::SendSources(const Session& session) {
  // With the names that are known by now.
  SessionData data;
  data.run = session.run();
  data.strings = session.data().strings;
  data.frames = session.data().frames;
  data.modules = session.data().modules;
  for (ModuleInfo& module : data.modules) module.elsewhere = names_;
  const auto named = std::make_shared<const Session>(std::move(data));
  Symbols symbols(named);
  const std::uint64_t began = session.run().start_unix_ns;
  const KeptSources sources = SourcesToKeep(
      *named, symbols, began == 0 ? std::int64_t{1} << 62 : static_cast<std::int64_t>(began));
  const bool known = first_ && SourcesChecksum(sources) == position_.sources;
  for (const auto& [name, text] : sources) {
    if (!sources_sent_.insert(name).second || known) continue;
    std::string payload;
    PutText(name, &payload);
    payload += text;
    if (!Send(ServeFrame::kSources, payload)) return false;
  }
  return true;
}

bool LogServer::SendBytes() {
  std::string number;
  PutNumber(total_, &number);
  if (!Send(ServeFrame::kSize, number)) return false;
  while (sent_ < total_) {
    const std::string part = ReadAt(sent_, std::min(kPiece, total_ - sent_));
    if (part.empty()) return true;  // cut meanwhile: the next update sees that
    std::string payload;
    PutNumber(sent_, &payload);
    if (!Send(ServeFrame::kBytes, payload + part)) return false;
    if (head_.size() < kHeadBytes) head_ += part.substr(0, kHeadBytes - head_.size());
    tail_ += part;
    tail_.erase(0, tail_.size() - std::min<std::size_t>(tail_.size(), kTailBytes));
    sent_ += part.size();
  }
  number.clear();
  PutNumber(growing_ ? 1 : 0, &number);
  return Send(ServeFrame::kWhole, number);
}

}  // namespace memprof::analysis
