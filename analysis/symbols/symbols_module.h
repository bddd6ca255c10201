// Symbols of one binary on disk: its ELF symbol table and, where there is one, its DWARF.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/store/session.h"
#include "analysis/symbols/symbols.h"

namespace memprof::analysis {

// Not thread-safe. Separate debug files are found as debuggers find them (build-id folders and
// .gnu_debuglink under /usr/lib/debug; a debuginfod server only if DEBUGINFOD_URLS names one).
class ModuleSymbols {
 public:
  enum class State {
    kUsable,
    kMissing,  // no such file, or no ELF file
    kChanged,  // the file is not the one that was recorded: its build-id differs
  };

  // Opens `module.path` at once. A module that was recorded without a build-id is taken as it is.
  explicit ModuleSymbols(const ModuleInfo& module);
  ~ModuleSymbols();
  ModuleSymbols(const ModuleSymbols&) = delete;
  ModuleSymbols& operator=(const ModuleSymbols&) = delete;

  State state() const;

  // The functions at `address` (absolute, as recorded), innermost inlined one first. Empty when
  // nothing is known.
  std::vector<SourceFrame> At(std::uint64_t address);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

// Modules of the same key are one file, whose symbols are read once and asked at addresses that are
// as far from their load bias: logs may name a file ten thousand times.
std::string ModuleFileKey(const ModuleInfo& module);

// A symbol as people write it: demangled, without parameters, return type and clone suffixes.
// "_ZN2ai5Layer7ForwardEi" → "ai::Layer::Forward".
std::string ReadableName(std::string_view symbol);

}  // namespace memprof::analysis
