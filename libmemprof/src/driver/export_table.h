// What this process has exported, so that it is not taken for somebody else's when it comes back:
// VMM handles by file descriptor or fabric handle, and addresses by IPC or pool.
//
// Fabric, IPC and pool exports are 64 bytes that name one memory in the world: they are compared. A
// file descriptor is a number that is soon reused, and all of the real driver's may have one inode;
// but all descriptors of one export share an open file description, also when they were
// duplicated or sent through a socket. That is marked: its owner for signals becomes this process,
// and its signal a number from 1 on. Neither has an effect unless O_ASYNC is set, which makes no
// sense for these files; both vanish with the description.
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
  static constexpr std::size_t kDescriptors = 64;   // as many signals as there are
  static constexpr std::size_t kContents = 512;     // the oldest are forgotten

  // What was exported. A VMM handle of 0 stands for memory that has ended, as far as handles and
  // maps go: whoever imports it has it anew.
  struct Memory {
    std::uint64_t handle = 0;  // or address
    std::uint64_t bytes = 0;
    std::int32_t device = -1;
    std::uint8_t layer = 0;
  };
  enum class Kind : std::uint8_t { kPhysical, kAddress };

  // Marks what `descriptor` stands for; not when kDescriptors others are in use, or it has a mark.
  void AddDescriptor(int descriptor, const Memory& memory);
  void AddContent(Kind kind, const void* content, const Memory& memory);
  // False when this process has not exported it.
  bool FindDescriptor(int descriptor, Memory* memory);
  bool FindContent(Kind kind, const void* content, Memory* memory);
  // The memory of the handle has ended.
  void End(std::uint64_t handle);
  // It was imported again, under this handle.
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
