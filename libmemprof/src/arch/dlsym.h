// Defines dlsym and dlvsym as exports/dl.cc describes them; for that file only.
#pragma once

#if defined(__x86_64__)
#include "libmemprof/src/arch/x86_64/dlsym.h"
#else
#include "libmemprof/src/arch/aarch64/dlsym.h"
#endif
