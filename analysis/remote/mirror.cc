// Writes the copy.
#include "analysis/remote/mirror.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "analysis/base/text.h"
#include "analysis/log/wire.h"
#include "proto/crc32c.h"

namespace memprof::analysis {
namespace {

constexpr std::size_t kMostBeforeGreeting = 64u << 10;  // start-up files of a shell may print
constexpr std::uint64_t kMostLog = std::uint64_t{1} << 46;

std::uint32_t ChecksumAt(int descriptor, std::uint64_t offset, std::uint64_t bytes) {
  std::string part(bytes, '\0');
  const ssize_t size = pread(descriptor, part.data(), part.size(), static_cast<off_t>(offset));
  return size == static_cast<ssize_t>(bytes) ? log::Crc32c(part.data(), part.size()) : 0;
}

}  // namespace

LogMirror::LogMirror(std::string file, std::shared_ptr<NamesElsewhere> names,
                     std::function<std::uint64_t()> room)
    : base_(std::move(file)), file_(base_), names_(std::move(names)), room_(std::move(room)) {}

LogMirror::~LogMirror() {
  if (descriptor_ >= 0) close(descriptor_);
}

void LogMirror::Begin() {
  greeted_ = false;
  line_.clear();
  frames_ = FrameReader();
}

CopyPosition LogMirror::Position() const {
  CopyPosition position;
  if (descriptor_ < 0 || size_ == 0) return position;
  const std::uint64_t part = std::min(size_, kTailBytes);
  position = {.bytes = size_,
              .head = ChecksumAt(descriptor_, 0, std::min(size_, kHeadBytes)),
              .tail = ChecksumAt(descriptor_, size_ - part, part),
              .sources = SourcesChecksum(sources_),
              .frames = frames_done_};
  return position;
}

absl::Status LogMirror::Take(std::string_view bytes) {
  if (!greeted_) {
    line_.append(bytes);
    if (absl::Status status = Greet(); !status.ok() || !greeted_) return status;
  } else {
    frames_.Add(bytes);
  }
  while (true) {
    auto frame = frames_.Next();
    if (!frame.ok()) return frame.status();
    if (!frame->has_value()) return absl::OkStatus();
    if (absl::Status status = TakeFrame(**frame); !status.ok()) return status;
  }
}

absl::Status LogMirror::Greet() {
  const std::string_view greeting(kServeGreeting);
  constexpr std::string_view kAny = "memprof-serve ";
  std::size_t at = line_.find(kAny);
  while (at != std::string::npos && at != 0 && line_[at - 1] != '\n') at = line_.find(kAny, at + 1);
  const std::size_t end = at == std::string::npos ? at : line_.find('\n', at);
  if (end == std::string::npos)
    return line_.size() <= kMostBeforeGreeting
               ? absl::OkStatus()
               : absl::UnimplementedError("memprof does not answer there");
  if (line_.compare(at, greeting.size(), greeting) != 0)
    return absl::UnimplementedError("memprof there is of another release");
  greeted_ = true;
  frames_.Add(std::string_view(line_).substr(end + 1));
  line_.clear();
  return absl::OkStatus();
}

absl::Status LogMirror::TakeFrame(const StreamFrame& frame) {
  const auto damaged = [] { return absl::DataLossError("the stream is damaged"); };
  VarintReader in(frame.payload);
  switch (static_cast<ServeFrame>(frame.kind)) {
    case ServeFrame::kSize:
      expected_ = in.Next();
      if (!in.ok() || expected_ > kMostLog) return damaged();
      if (expected_ > size_ && expected_ - size_ > room_())
        return absl::ResourceExhaustedError(absl::StrCat(
            "the log has ", expected_, " bytes, and the cache folder has no room for them"));
      return size_ > expected_ ? Write(expected_, "") : absl::OkStatus();
    case ServeFrame::kBytes: {
      const std::uint64_t offset = in.Next();
      return in.ok() ? Write(offset, in.Take(in.remaining())) : damaged();
    }
    case ServeFrame::kAnew:
      if (descriptor_ >= 0) close(std::exchange(descriptor_, -1));
      // Who still reads the old file keeps it.
      unlink(file_.c_str());
      if (size_ > 0) file_ = absl::StrCat(base_, ".", ++replaced_);
      size_ = frames_done_ = 0;
      sources_.clear();
      source_bytes_ = 0;
      changed_ = true;
      return absl::OkStatus();
    case ServeFrame::kNames:
      changed_ = true;
      return ReadNames(frame.payload, names_.get(), &frames_done_) ? absl::OkStatus() : damaged();
    case ServeFrame::kSources:
      changed_ = true;
      ReadText(frame.payload);
      return absl::OkStatus();
    case ServeFrame::kWhole: {
      const bool growing = in.Next() == 1;
      if (!in.ok() || size_ != expected_) return damaged();
      if (changed_ || growing != growing_ || generation_ == 0) ++generation_;
      growing_ = growing;
      changed_ = false;
      return absl::OkStatus();
    }
    case ServeFrame::kEnd: {
      const auto code = static_cast<absl::StatusCode>(in.Next() & 0xf);
      const std::string text = LogText(in.Take(in.remaining()), 1000);
      return code == absl::StatusCode::kOk || !in.ok() ? damaged() : absl::Status(code, text);
    }
    default:
      return absl::OkStatus();
  }
}

absl::Status LogMirror::Open() {
  if (descriptor_ >= 0) return absl::OkStatus();
  descriptor_ = open(file_.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
  return descriptor_ >= 0 ? absl::OkStatus()
                          : absl::ResourceExhaustedError(
                                absl::StrCat("the copy cannot be made: ", std::strerror(errno)));
}

absl::Status LogMirror::Write(std::uint64_t offset, std::string_view bytes) {
  if (offset > size_ || offset > expected_ || bytes.size() > expected_ - offset)
    return absl::DataLossError("the stream is damaged: bytes beyond the log");
  if (absl::Status status = Open(); !status.ok()) return status;
  changed_ = changed_ || offset < size_ || !bytes.empty();
  if (offset < size_ && ftruncate(descriptor_, static_cast<off_t>(offset)) != 0)
    return absl::ResourceExhaustedError("the copy cannot be cut");
  size_ = offset;
  while (!bytes.empty()) {
    const ssize_t written =
        pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(size_));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0)
      return absl::ResourceExhaustedError(
          absl::StrCat("the copy cannot be written: ", std::strerror(errno)));
    size_ += static_cast<std::uint64_t>(written);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return absl::OkStatus();
}

void LogMirror::ReadText(std::string_view payload) {
  VarintReader in(payload);
  std::string name = LogText(in.Take(in.Next()));
  const std::string_view text = in.Take(in.remaining());
  if (!in.ok() || text.size() > kMostKeptFileBytes || sources_.size() >= kMostKeptFiles ||
      text.size() > kMostKeptBytes - source_bytes_)
    return;
  if (sources_.try_emplace(std::move(name), text).second) source_bytes_ += text.size();
}

}  // namespace memprof::analysis
