// A growing copy of a log on another machine, made of what `memprof serve` there writes. The stream
// is not trusted: nothing but the one file is written, and that no further than the log is said to
// reach.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "analysis/log/frames.h"
#include "analysis/log/sources.h"
#include "analysis/remote/protocol.h"

namespace memprof::analysis {

class LogMirror {
 public:
  // Writes `file`, which is made for the user alone. `room` says how many bytes a file may have.
  LogMirror(std::string file, std::shared_ptr<NamesElsewhere> names,
            std::function<std::uint64_t()> room);
  ~LogMirror();
  LogMirror(const LogMirror&) = delete;
  LogMirror& operator=(const LogMirror&) = delete;

  // A new connection: what the old one left unfinished is forgotten.
  void Begin();
  // Takes bytes of the stream. Errors: kDataLoss (it is none, or damaged: try another connection),
  // kResourceExhausted (no room), kUnimplemented (no line of memprof's: another program answers);
  // or what the other side said is wrong with the log.
  absl::Status Take(std::string_view bytes);
  // Where to go on.
  CopyPosition Position() const;

  bool greeted() const { return greeted_; }
  const std::string& file() const { return file_; }
  std::uint64_t size() const { return size_; }
  std::uint64_t expected() const { return expected_; }
  // Counts whole states of the log; and those of another log than the one before.
  std::uint64_t generation() const { return generation_; }
  std::uint64_t replaced() const { return replaced_; }
  bool growing() const { return growing_; }
  const KeptSources& sources() const { return sources_; }

 private:
  absl::Status Greet();
  absl::Status TakeFrame(const StreamFrame& frame);
  absl::Status Write(std::uint64_t offset, std::string_view bytes);
  absl::Status Open();
  void ReadText(std::string_view payload);

  const std::string base_;
  std::string file_;
  const std::shared_ptr<NamesElsewhere> names_;
  const std::function<std::uint64_t()> room_;
  int descriptor_ = -1;
  bool greeted_ = false, growing_ = true;
  std::string line_;  // before the greeting
  FrameReader frames_;
  std::uint64_t size_ = 0, expected_ = 0, frames_done_ = 0, generation_ = 0, replaced_ = 0;
  bool changed_ = false;  // since the last whole state
  KeptSources sources_;
  std::size_t source_bytes_ = 0;
};

}  // namespace memprof::analysis
