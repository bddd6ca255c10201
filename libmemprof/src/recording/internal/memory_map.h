// What lies where in this process, as far as a pointer's place is concerned: variables of modules,
// thread-local memory, stacks, blocks of malloc, files, other memory.
//
// The stacks of other threads are known by the stack pointers that /proc/self/task/*/syscall has of
// threads that wait; below them, words are left over from calls that have returned. Thread-local
// memory lies above a thread's stack, at the thread's own description, which begins with its own
// address (x86-64; elsewhere, only the calling thread's is known). Where there is none, the stack
// is a coroutine's, say, in memory that has other uses too.
#pragma once

#include <cstddef>
#include <cstdint>

#include "libmemprof/src/base/mapped_array.h"
#include "libmemprof/src/recording/internal/heap_blocks.h"
#include "libmemprof/src/recording/internal/module_data.h"

namespace memprof::recorder {

struct Spot {
  enum class Kind : std::uint8_t {
    kGlobal,       // `offset` in `module`
    kThreadLocal,  // likewise; no module: data of pthread_setspecific
    kStack,        // of the thread `number`
    kFile,         // the mapping `number`
    kHeap,         // in a heap, it is not known in which block
    kAnonymous,    // the mapping `number`, without a name
    kBlock,        // `block` of malloc
    kDriver,       // the driver's own memory
    kNothing,      // what holds nothing: free, dead, the C library's, the recorder's
  };
  Kind kind = Kind::kNothing;
  std::uint32_t number = 0;
  const ModuleData::Module* module = nullptr;
  std::uint64_t offset = 0;
  HeapBlock block{};
};

class MemoryMap {
 public:
  explicit MemoryMap(std::uint64_t deadline_ns) : heap_(deadline_ns) {}
  MemoryMap(const MemoryMap&) = delete;
  MemoryMap& operator=(const MemoryMap&) = delete;

  // `frame`: the caller's, below which its stack is dead. False if something could not be read.
  bool Read(std::uint64_t frame, const MappedChunk* chunks, std::size_t chunk_count);
  // Before a series of Find, which is fast for addresses in ascending order.
  void Forget() { heap_.Forget(); }
  // Whether the deadline has passed: answers may be wrong.
  bool late() const { return heap_.late(); }
  Spot Find(std::uint64_t address);

  const ModuleData& modules() const { return modules_; }
  const char* PathOf(std::uint32_t mapping) const { return paths_.data() + lines_[mapping].path; }
  std::uint64_t BytesOf(std::uint32_t mapping) const {
    return lines_[mapping].end - lines_[mapping].begin;
  }

 private:
  struct Line {
    std::uint64_t begin, end;
    std::uint32_t path;  // in paths_
  };
  struct Thread {
    std::uint64_t sp;       // 0: it runs, or has a stack of its own making
    std::uint64_t pointer;  // 0: not known
    std::uint32_t tid;
  };
  bool ReadLines();
  void AddThread(const Thread& thread);
  bool ReadThreads(std::uint64_t frame);
  const Line* LineOf(std::uint64_t address) const;
  std::uint64_t FindThreadPointer(std::uint64_t from, std::uint64_t end);
  std::uint64_t FindMainThreadPointer();
  bool FindInThreads(std::uint64_t address, const Line& line, Spot* spot) const;
  Spot OfModule(const ModuleData::Spot& found, Spot::Kind kind) const;

  ModuleData modules_;
  HeapBlocks heap_;
  MappedArray<Line> lines_;
  MappedArray<char> paths_;
  MappedArray<Thread> threads_;  // the calling one first
  std::uint64_t static_bytes_ = 0;
};

}  // namespace memprof::recorder
