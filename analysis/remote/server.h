// The other side of a LogMirror: reads a log on this machine, and writes what changed.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
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
  bool IsSeen(const struct stat& now) const;
  std::string ReadAt(std::uint64_t offset, std::uint64_t bytes) const;
  ModuleSymbols& SymbolsOf(const ModuleInfo& module, std::uint64_t* load_bias);
  void FindEnd(const Session& session, std::uint64_t file_bytes);

  const std::string path_;
  const Write write_;
  CopyPosition position_;
  int descriptor_ = -1;
  struct stat seen_ {};  // of the file, at the last update
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
  std::set<std::string, std::less<>> with_variables_;  // modules whose variables were sent
  std::set<std::string> sources_sent_;
};

}  // namespace memprof::analysis
