// One pass over both stacks, innermost first.
#include "libmemprof/src/python/merge.h"

#include "libmemprof/src/stacks/stack_table.h"

namespace memprof::recorder {
namespace {

class Merger {
 public:
  Merger(const NativeStack& native, const PythonStack& python, const std::uint32_t* ids,
         const InterpreterCode& code, void** merged, int room)
      : native_(native), python_(python), ids_(ids), code_(code), merged_(merged), room_(room) {}

  int Run(bool* truncated) {
    for (int i = 0; i < native_.count; ++i) {
      // Skips the loops of frames further in.
      while (next_ < python_.count && IsBelow(i)) AddLoop();
      if (next_ < python_.count && IsLoop(i))
        AddLoop();
      else if (python_.count == 0 || !code_.all.Contains(AddressOf(i)))
        Add(native_.frames[i]);
    }
    while (next_ < python_.count) AddLoop();
    *truncated = full_ || native_.truncated || python_.cut;
    return count_;
  }

 private:
  // In the call, not after it.
  std::uint64_t AddressOf(int i) const {
    return reinterpret_cast<std::uint64_t>(native_.frames[i]) - 1;
  }
  std::uint64_t Begin(int i) const { return native_.start + native_.offsets[i]; }
  bool ByAddress() const { return native_.offsets != nullptr && python_.frames[next_].loop != 0; }
  bool IsBelow(int i) const { return ByAddress() && python_.frames[next_].loop < Begin(i); }
  bool IsLoop(int i) const {
    if (!ByAddress()) {
      return code_.evaluation.Contains(AddressOf(i));
    }
    // The extent of the outermost frame is not known.
    if (i + 1 == native_.count) return !native_.truncated;
    return python_.frames[next_].loop < Begin(i + 1);
  }
  // Adds the frames of one loop. Without addresses and marks, each frame has its own loop.
  void AddLoop() {
    const std::uint64_t loop = python_.frames[next_].loop;
    do {
      if (ids_[next_] != 0) Add(PythonElement(ids_[next_]));
      ++next_;
    } while (loop != 0 && next_ < python_.count && python_.frames[next_].loop == loop);
  }
  void Add(void* element) {
    if (count_ < room_)
      merged_[count_++] = element;
    else
      full_ = true;
  }

  const NativeStack& native_;
  const PythonStack& python_;
  const std::uint32_t* ids_;
  const InterpreterCode& code_;
  void** merged_;
  const int room_;
  int count_ = 0;
  int next_ = 0;  // of python
  bool full_ = false;
};

}  // namespace

int MergeStacks(const NativeStack& native, const PythonStack& python, const std::uint32_t* ids,
                const InterpreterCode& code, void** merged, int room, bool* truncated) {
  return Merger(native, python, ids, code, merged, room).Run(truncated);
}

}  // namespace memprof::recorder
