// Sharing between processes: memory in files, and events. A handle names a file descriptor of the
// exporting process; the importer opens it through /proc, which works between processes of one user
// and leaves nothing behind when either ends.
#ifndef SIMCUDA_DRIVER_IPC_H
#define SIMCUDA_DRIVER_IPC_H

#include <cstdint>
#include <memory>

#include "simcuda/driver/allocation.h"

namespace memprof::simcuda {

// A file descriptor of a process, with data that distinguishes it from a later one with the same
// number.
struct RemoteFile {
  int32_t process = 0;
  int32_t descriptor = -1;
  uint64_t inode = 0;
};
// Describes a descriptor of this process.
RemoteFile DescribeFile(int descriptor);
// Opens the file in this process; -1 if it is gone, or another one by now. The caller closes it.
int OpenRemote(const RemoteFile& file);

// The content of the 64 opaque bytes of a handle.
struct MemoryHandle {
  static constexpr uint32_t kMemory = 0x4d504953;  // cuIpcGetMemHandle
  static constexpr uint32_t kPooled = 0x50504953;  // cuMemPoolExportPointer
  uint32_t magic = 0;
  int32_t device = 0;
  RemoteFile file;
  uint64_t offset = 0;  // of the allocation in the file
  uint64_t requested = 0;
  uint64_t id = 0;    // of the allocation: a later allocation at the same place has another id
  uint64_t pool = 0;  // id of its pool
  uint64_t reserved = 0;
};
static_assert(sizeof(MemoryHandle) == 64);

// Makes the allocation mappable by other processes and describes it.
CUresult ExportMemory(const Allocation& allocation, uint32_t magic, MemoryHandle* handle);
// Maps `bytes` of the file from `offset`, which need not be aligned, as an allocation of this kind
// in the context, and adds it to the table.
CUresult ImportMemory(AllocationKind kind, int descriptor, uint64_t offset, uint64_t bytes,
                      const std::shared_ptr<Context>& context,
                      const std::shared_ptr<Allocation>& allocation);

// An event that several processes share, as counters in a shared page. Thread-safe.
class SharedEvent {
 public:
  static std::shared_ptr<SharedEvent> Create();
  static std::shared_ptr<SharedEvent> Open(const RemoteFile& file);
  ~SharedEvent();
  SharedEvent(const SharedEvent&) = delete;
  SharedEvent& operator=(const SharedEvent&) = delete;

  RemoteFile Describe() const { return DescribeFile(descriptor_); }
  // Begins a new recording and returns its ticket.
  uint64_t Record();
  // The work before the recording is done.
  void Complete(uint64_t ticket);
  // The ticket of the latest recording; 0: none.
  uint64_t Recorded() const;
  bool Reached(uint64_t ticket) const;
  // Waits until it is reached, or until the process that recorded last is gone.
  void Wait(uint64_t ticket) const;

 private:
  struct Page;
  SharedEvent() = default;
  int descriptor_ = -1;
  Page* page_ = nullptr;
};

}  // namespace memprof::simcuda

#endif  // SIMCUDA_DRIVER_IPC_H
