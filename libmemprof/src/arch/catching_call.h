// Defines memprof_call_catching of loader/foreign_call.h, with its landing pad; for foreign_call.cc
// only.
#pragma once

#if defined(__x86_64__)
#include "libmemprof/src/arch/x86_64/catching_call.h"
#else
#include "libmemprof/src/arch/aarch64/catching_call.h"
#endif
