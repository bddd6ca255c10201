// The names of frames and variables as another machine knows them: of a log that is there, the
// files of this machine may be others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "analysis/store/session_data.h"
#include "analysis/symbols/call_site.h"
#include "analysis/symbols/symbols_module.h"

namespace memprof::analysis {

// By the path and the build-id of modules; addresses are relative to load biases. Names are only
// added, and of bounded size together, because the other machine is not trusted. Thread-safe.
class NamesElsewhere {
 public:
  // Of frames that are added twice, the first counts. False if there is no room.
  bool Add(const ModuleInfo& module, std::uint64_t address, std::vector<SourceFrame> frames);
  bool Add(const ModuleInfo& module, ModuleSymbols::Range variable);

  // As ModuleSymbols answers.
  std::vector<SourceFrame> At(const ModuleInfo& module, std::uint64_t address) const;
  ModuleSymbols::Variable VariableAt(const ModuleInfo& module, std::uint64_t address,
                                     bool thread_local_data) const;

 private:
  struct File {
    std::map<std::uint64_t, std::vector<SourceFrame>> frames;
    std::map<std::uint64_t, ModuleSymbols::Range>
        variables[2];  // of all threads, of each; by begin
  };
  // Both with mutex_. Null if there is no room for another file.
  bool Take(std::size_t bytes);
  File* FileOf(const ModuleInfo& module);

  mutable std::mutex mutex_;
  std::map<std::pair<std::string, std::string>, File> files_;
  std::size_t bytes_ = 0;
};

}  // namespace memprof::analysis
