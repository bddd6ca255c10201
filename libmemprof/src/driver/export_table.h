// What this process has exported, so that it is recognised when it is imported again: VMM handles
// by file descriptor or fabric handle, and addresses by IPC or pool.
//
// Fabric, IPC and pool exports are 64 bytes that identify one memory globally: they are compared.
// File descriptors are numbers that are soon reused, and all of the real driver's may have the same
// inode. But all descriptors of one export share an open file description, also when they were
// duplicated or sent through a socket. So the description is marked: this process becomes its owner
// for signals, and its signal a number from 1 on. Neither has an effect without O_ASYNC, which
// makes no sense for these files; both vanish with the description.
//
// Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>

#include "libmemprof/src/base/locks.h"
#include "libmemprof/src/base/mapped_array.h"

namespace memprof::recorder {

class ExportTable {
 public:
  static constexpr std::size_t kContentBytes = 64;  // of CUipcMemHandle and the like
  static constexpr std::size_t kDescriptors = 64;   // as many as there are signals
  static constexpr std::size_t kContents = 512;     // beyond that the oldest are dropped

  // What was exported. A VMM handle of 0: the memory has lost all handles and mappings of this
  // process; an import makes a new handle.
  struct Memory {
    std::uint64_t handle = 0;  // or address
    std::uint64_t bytes = 0;
    std::int32_t device = -1;
    std::uint8_t layer = 0;
  };
  enum class Kind : std::uint8_t { kPhysical, kAddress };

  // Marks the file description of `descriptor`; not when kDescriptors others are in use, or it has
  // a mark.
  void AddDescriptor(int descriptor, const Memory& memory);
  // Returns whether it was not known with this handle or address.
  bool AddContent(Kind kind, const void* content, const Memory& memory);
  // False when this process has not exported it.
  bool FindDescriptor(int descriptor, Memory* memory);
  bool FindContent(Kind kind, const void* content, Memory* memory);
  // The memory of the handle was freed.
  void End(std::uint64_t handle);
  // It was imported again, with this handle.
  void ReviveDescriptor(int descriptor, std::uint64_t handle);
  void ReviveContent(Kind kind, const void* content, std::uint64_t handle);

 private:
  struct Content {
    Kind kind;
    unsigned char bytes[kContentBytes];
    Memory memory;
  };
  static int SlotOf(int descriptor);  // -1 = not marked by this process
  Content* Find(Kind kind, const void* content);

  Mutex<LockRank::kExports> mutex_;
  Memory descriptors_[kDescriptors] = {};
  bool used_[kDescriptors] = {};
  std::size_t next_ = 0;  // slot to try
  MappedArray<Content> contents_;
};

}  // namespace memprof::recorder
