// The functions of PyTorch that we interpose. The version script reads this list too, so it is
// nothing but a macro.
#pragma once

// X(identifier, mangled name): c10::reportMemoryUsageToProfiler of PyTorch up to 1.9, up to 1.13,
// and from 2.0 on; c10::reportOutOfMemoryToProfiler up to 1.13, and from 2.0 on.
#define MEMPROF_TORCH_FUNCTIONS(X)                                         \
  X(kUsage1_9, _ZN3c1027reportMemoryUsageToProfilerEPvlNS_6DeviceE)        \
  X(kUsage1_13, _ZN3c1027reportMemoryUsageToProfilerEPvlllNS_6DeviceE)     \
  X(kUsage2, _ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE)        \
  X(kOutOfMemory1_13, _ZN3c1027reportOutOfMemoryToProfilerElllNS_6DeviceE) \
  X(kOutOfMemory2, _ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE)
