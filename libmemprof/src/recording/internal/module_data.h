// The variables of loaded modules: which module's data or thread-local data an address lies in, and
// where in the module's file it is, so that a reader of the log finds the symbol.
//
// Symbols are not looked up in the process: the log has each module's path and build-id, so that
// its readers find local symbols (.symtab) and debug files as well, and the recorder reads no
// file of the program.
#pragma once

#include <link.h>

#include <cstddef>
#include <cstdint>

#include "libmemprof/src/base/mapped_array.h"

namespace memprof::recorder {

class ModuleData {
 public:
  ModuleData() = default;
  ModuleData(const ModuleData&) = delete;
  ModuleData& operator=(const ModuleData&) = delete;

  enum class Owner : std::uint8_t {
    kProgram,
    kDriver,  // libcuda, or the stand-in
    kNobody,  // the recorder, the C library and the loader: no variables of the program
  };
  struct Module {
    std::uint64_t bias;
    std::uint64_t tls_here;  // the calling thread's thread-local data of it; 0 = none
    std::uint64_t tls_bytes;
    std::uint32_t path;  // in paths_
    Owner owner;
  };
  struct Spot {
    const Module* module = nullptr;  // null: in none
    std::uint64_t offset = 0;        // as in its symbol table
  };

  // Reads the loader's list; the caller is in a LoaderSection. False without memory for it.
  bool Read();
  Spot Find(std::uint64_t address) const;
  // Of the thread with the thread pointer `thread`, if `here` is that of the calling thread: the
  // modules that were loaded at the start have theirs at the same distance in all threads.
  Spot FindThreadLocal(std::uint64_t address, std::uint64_t thread, std::uint64_t here) const;
  // How far the thread-local data of all these modules extends below thread pointers.
  std::uint64_t StaticBytes(std::uint64_t here) const;
  // As in the log's definition of the module.
  const char* PathOf(const Module& module) const { return paths_.data() + module.path; }

 private:
  struct Range {
    std::uint64_t begin, end;
    std::uint32_t module;
  };
  static int Collect(dl_phdr_info* info, std::size_t size, void* self);

  MappedArray<Module> modules_;
  MappedArray<Range> ranges_;  // writable segments, by address
  MappedArray<char> paths_;    // NUL-terminated
};

// Whose memory a mapping of this file is.
ModuleData::Owner OwnerOfFile(const char* path);

}  // namespace memprof::recorder
