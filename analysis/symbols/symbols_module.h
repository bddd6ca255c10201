// Symbols of one binary on disk: its ELF symbol table and, if it has one, its DWARF.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/store/session.h"
#include "analysis/symbols/symbols.h"

namespace memprof::analysis {

// Not thread-safe. Separate debug files are searched as debuggers do (build-id folders and
// .gnu_debuglink under /usr/lib/debug; a debuginfod server only if DEBUGINFOD_URLS names one).
class ModuleSymbols {
 public:
  enum class State {
    kUsable,
    kMissing,  // no such file, or no ELF file
    kChanged,  // the file is not the one that was recorded: its build-id differs
  };

  // Opens `module.path`. A module that was recorded without a build-id is accepted without a check.
  explicit ModuleSymbols(const ModuleInfo& module);
  ~ModuleSymbols();
  ModuleSymbols(const ModuleSymbols&) = delete;
  ModuleSymbols& operator=(const ModuleSymbols&) = delete;

  State state() const;

  // The functions at `address` (absolute, as recorded), innermost inlined one first. Empty if none
  // is known.
  std::vector<SourceFrame> At(std::uint64_t address);

  // The variable that lies at `address`, as in the file's symbol table (recorded address - load
  // bias); of thread-local ones, at this place of the thread-local segment. No name if none is
  // known.
  struct Variable {
    std::string name;  // demangled: "app::Trainer::instance", "Registry()::registry"
    std::uint64_t offset = 0;
  };
  Variable VariableAt(std::uint64_t address, bool thread_local_data);

  // All variables, for another machine that has not the file.
  struct Range {
    std::uint64_t begin = 0, end = 0;
    bool thread_local_data = false;
    std::string name;
  };
  std::vector<Range> Variables();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;  // null for a module of another machine
  ModuleInfo elsewhere_;
};

// Modules with the same key are the same file: its symbols are read once, and looked up relative to
// each module's load bias. A log may name a file ten thousand times.
std::string ModuleFileKey(const ModuleInfo& module);

// A readable name: demangled, without parameters, return type and clone suffixes.
// "_ZN2ai5Layer7ForwardEi" → "ai::Layer::Forward".
std::string ReadableName(std::string_view symbol);

}  // namespace memprof::analysis
