// Merges Python frames into the native ones: they replace the C frame of the evaluation loop that
// runs them.
//
//   native                         python              merged
//   cudaMalloc                                         cudaMalloc
//   method_vectorcall
//   _PyEval_EvalFrameDefault  <--  grow (train.py:7)   grow (train.py:7)
//                                  step (train.py:9)   step (train.py:9)
//   PyEval_EvalCode           <--
//   ...                                                ...
//
// Other functions of the interpreter are left out. They say nothing, and are not the same each
// time: from 3.11 on a call that was made some times needs fewer, and one line had two stacks.
//
// From 3.10 on a loop has data on its own C frame to which the interpreter points: this gives its
// exact position, whatever the function's name is. In older versions, loops are found by the
// function's addresses, and each runs one frame. Parts of the function that the compiler has moved
// elsewhere (".cold") are not known, so that frames may then be too far out.
//
// A pure function of its arguments.
#pragma once

#include <cstdint>

#include "libmemprof/src/python/walk.h"
#include "libmemprof/src/stacks/stack_walk.h"

namespace memprof::recorder {

struct NativeStack {
  void* const* frames = nullptr;  // return addresses, innermost first
  // Where each frame begins, in bytes above `start`; null = not known.
  const std::uint32_t* offsets = nullptr;
  std::uint64_t start = 0;
  int count = 0;
  bool truncated = false;
};

// `ids[i]` names python.frames[i]; 0 = leave it out. Writes at most `room` elements in the form of
// StackTable::Intern to `merged`, and returns their number; sets `*truncated` when there were more.
int MergeStacks(const NativeStack& native, const PythonStack& python, const std::uint32_t* ids,
                const InterpreterCode& code, void** merged, int room, bool* truncated);

}  // namespace memprof::recorder
