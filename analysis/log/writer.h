// Writes a memprof log chunk by chunk, for tools that convert other recordings to logs. (The
// recorder has a writer of its own, which brings no library into other people's processes.)
//
//     LogWriter log([&](std::string_view bytes) { return file.Write(bytes); });
//     log.header().add_argument("train.py");
//     const std::uint32_t main = log.Stack(0, log.PythonFrame("main", "train.py", 7));
//     log.Add({.op = Op::kAlloc, .layer = Layer::kLinear, .time = t, .address = a, .stack = main});
//     if (!log.Finish(t_end)) …the sink failed…
//
// Ids of strings, frames, stacks and threads are those of the log, counted from 1; 0 is none.
// Memory stays bounded by a few MiB and the tables of distinct strings, frames and stacks.
// Not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "analysis/base/types.h"
#include "proto/anomalies.h"
#include "proto/framing.h"
#include "proto/memprof.pb.h"

namespace memprof::analysis {

class LogWriter {
 public:
  // Writes the next bytes of the file; false = it failed, and nothing more is written.
  using Sink = std::function<bool(std::string_view)>;

  // One event, as in proto/memprof.proto. Times of one thread must not go backwards.
  struct Event {
    Op op = Op::kUnspecified;
    Layer layer = Layer::kUnspecified;
    int device = kNoDevice;
    std::uint64_t time = 0;
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
    std::uint64_t stream = 0;
    std::uint64_t aux0 = 0, aux1 = 0;
    std::uint32_t stack = 0;
    std::uint32_t thread = 0;
    std::uint32_t context = 0;
    std::uint32_t label = 0;
    std::uint32_t api = 0;
    std::uint32_t result = 0;
  };

  explicit LogWriter(Sink sink);

  // Fill it before the first event or Finish; format and architecture are set already.
  log::Header& header() { return header_; }

  // Definitions. Equal ones get equal ids. Text is cut at 64 KiB and made valid UTF-8.
  std::uint32_t String(std::string_view value);
  std::uint32_t PythonFrame(std::string_view function, std::string_view file, std::uint32_t line);
  // The stack of `caller` (0 = none), one Python frame deeper.
  std::uint32_t Stack(std::uint32_t caller, std::uint32_t python_frame);
  // A new thread each time.
  std::uint32_t Thread(std::uint32_t tid, std::string_view name);
  void Device(const log::Device& device);
  void Source(std::string_view name, log::SourceState state, std::string_view detail,
              std::uint64_t time_ns);

  void Add(const Event& event);
  // Adds to the counter of an anomaly.
  void Count(log::Anomaly anomaly, std::uint64_t count = 1);

  // Writes the rest, the index and the trailer. False if the sink has failed.
  bool Finish(std::uint64_t end_time_ns, std::string_view reason = "exit");

  std::uint64_t events() const { return events_written_ + rows_.size(); }

 private:
  std::uint64_t WriteChunk(log::ChunkKind kind, const google::protobuf::MessageLite& message,
                           std::uint32_t events = 0);
  void Begin();
  void FlushDefinitions();
  void FlushEvents();
  void WriteCounters();
  void Put(std::string_view bytes);
  void Grown(std::size_t bytes);

  Sink sink_;
  bool ok_ = true, begun_ = false;
  std::uint64_t offset_ = 0, events_written_ = 0;
  log::Header header_;
  log::Definitions definitions_;
  std::size_t definition_bytes_ = 0;  // roughly, of definitions_
  log::Index index_;
  std::vector<Event> rows_;  // of the next chunk
  std::vector<std::uint64_t> counts_;
  std::uint32_t threads_ = 0;
  absl::flat_hash_map<std::string, std::uint32_t> strings_;
  absl::flat_hash_map<std::pair<std::uint64_t, std::uint32_t>, std::uint32_t> frames_;
  absl::flat_hash_map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> stacks_;
};

}  // namespace memprof::analysis
