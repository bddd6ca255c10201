// Groups by kind of memory.
#pragma once

#include "analysis/filter/timeline_stack.h"

namespace memprof::analysis {

// As in BuildKindStacks. `framework`: a framework's allocator was seen on the device.
StackGroups KindGroups(int device, bool framework);

}  // namespace memprof::analysis
