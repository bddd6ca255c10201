// The calling thread's stack, native and Python, as one id.
#pragma once

#include <cstdint>

#include "libmemprof/src/log/definitions.h"
#include "libmemprof/src/log/ring_buffer.h"
#include "libmemprof/src/python/merge.h"
#include "libmemprof/src/python/stacks.h"
#include "libmemprof/src/recording/thread.h"
#include "libmemprof/src/stacks/modules.h"
#include "libmemprof/src/stacks/stack_memo.h"
#include "libmemprof/src/stacks/stack_table.h"

namespace memprof::recorder {

// Of one recording. Thread-safe, except Create.
class CallStacks {
 public:
  CallStacks(Definitions* definitions, RingBuffer* ring);
  CallStacks(const CallStacks&) = delete;
  CallStacks& operator=(const CallStacks&) = delete;

  // Stacks of up to `depth` frames, in a table of a size that fits `memory_bytes`.
  void Create(int depth, std::uint64_t memory_bytes);
  // Id of the calling thread's stack; 0 when stacks are off.
  std::uint32_t Intern(ThreadState* state) {
    if (depth_ == 0) return 0;
    const Registers start = CaptureRegisters();
    StackMemo::Result known;
    if (python_.on())
      known = InternWithPython(state, start);
    else if (state->memo.generation() != MemoGeneration(MemoContent::kNodes) ||
             !state->memo.Find(start, &known))
      known = WalkAndIntern(state, start);
    if (known.truncated) ring_->Count(log::Anomaly::kStacksTruncated);
    return known.stack;
  }
  // At the start of a thread.
  void Reset(StackMemo* memo) const { memo->Reset(MemoGeneration(MemoContent::kNodes)); }
  // Reads which libraries were loaded and unloaded; on one thread, within a LoaderSection.
  void Refresh();

  const Modules& modules() const { return modules_; }
  const StackTable& table() const { return table_; }
  PythonStacks* python() { return &python_; }

 private:
  // What memos store of a stack: its node in the trie; or, as long as Python frames may have to be
  // merged into it, a number of the native stack.
  enum class MemoContent : std::uint32_t { kNodes = 0, kNumbers = 1 };
  std::uint32_t MemoGeneration(MemoContent what) const {
    return modules_.generation() << 1 | static_cast<std::uint32_t>(what);
  }
  StackMemo::Result WalkAndIntern(ThreadState* state, const Registers& start);
  StackMemo::Result InternWithPython(ThreadState* state, const Registers& start);
  PythonThread::Entry Merge(PythonThread* python, const NativeStack& native, ThreadState* state,
                            int depth);
  int MergedDepth() const;

  int depth_ = 0;
  RingBuffer* ring_;
  Modules modules_;
  StackTable table_;
  PythonStacks python_;
  std::uint32_t seen_generation_ = 0;  // by Refresh
};

}  // namespace memprof::recorder
