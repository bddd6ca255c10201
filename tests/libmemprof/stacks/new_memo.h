// A memo on the heap, which returns its memory before it is deleted.
#pragma once

#include <memory>

#include "libmemprof/src/stacks/stack_memo.h"

namespace memprof::recorder {

struct ReleaseMemo {
  void operator()(StackMemo* memo) const {
    memo->Release();
    delete memo;
  }
};
using MemoPointer = std::unique_ptr<StackMemo, ReleaseMemo>;

inline MemoPointer NewMemo() { return MemoPointer(new StackMemo()); }

}  // namespace memprof::recorder
