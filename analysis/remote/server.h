// The other side of a LogMirror: reads a log on this machine, and writes what changed.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "analysis/log/ring_fold.h"
#include "analysis/remote/protocol.h"
#include "analysis/store/session.h"

namespace memprof::analysis {

// Not thread-safe.
class LogServer {
 public:
  // `write` gets whole frames; false: nobody reads any more.
  using Write = std::function<bool(const std::string& frames)>;
  LogServer(std::string path, const CopyPosition& position, Write write);
  ~LogServer();

  // Writes what is new since the last call, and at the first since the position: the names of
  // frames, sources, then the log, the ring of a dead process as part of it. Errors: of the log, as
  // LoadLogs; kCancelled if nobody reads.
  absl::Status Update();
  bool growing() const { return growing_; }

 private:
  bool Send(ServeFrame kind, const std::string& payload);
  bool SendNames(const Session& session);
  bool SendVariables(const Session& session);
  bool SendSources(const Session& session);
  bool SendBytes();
  bool IsSameLog();
  std::string ReadAt(std::uint64_t offset, std::uint64_t bytes) const;
  ModuleSymbols& SymbolsOf(const ModuleInfo& module, std::uint64_t* load_bias);
  void FindEnd(const Session& session, std::uint64_t file_bytes);

  const std::string path_;
  const Write write_;
  CopyPosition position_;
  int descriptor_ = -1;
  std::uint64_t inode_ = 0, device_ = 0;
  std::uint64_t seen_bytes_ = 0;  // of the file, at the last update
  std::int64_t seen_time_ = 0;
  bool first_ = true, growing_ = true;
  RingEnd end_;  // the log as served: the file up to `begin`, then these chunks
  std::uint64_t sent_ = 0, total_ = 0;
  std::string head_, tail_;  // of what was sent
  std::shared_ptr<NamesElsewhere> names_;
  struct OneFile {
    std::uint64_t load_bias = 0;
    std::unique_ptr<ModuleSymbols> symbols;
  };
  std::map<std::string, OneFile> files_;
  std::map<std::string, bool> with_variables_;  // paths of modules whose variables were sent
};

}  // namespace memprof::analysis
