// What the recorder needs to know about the processor and its calling convention. Each folder
// beside this file defines the same names for one architecture; everything else in the recorder is
// the same for all of them. tests/libmemprof/arch/arch_test.cc checks what callers rely on.
//
// - kName: as log.Header.architecture.
// - kAddressBits: no address of the program has more, unless it asked the kernel for that.
// - kMaxPageBytes: the largest page size of kernels.
// - SpinHint(): tells the processor that this loop waits for another thread.
// - kInterruptsOnProtect: a page that loses a permission interrupts all processors that use it.
// - kThreadsPointToThemselves: glibc's description of a thread, to which its thread pointer and
//   pthread_self() point, has its own address as its first and its third word; static thread-local
//   memory lies below it.
// - CaptureRegisters(): the registers of the calling function, which must not return while they are
//   used; its return address is then on the stack.
// - CodeAddress(word): the address in a return address as it is stored.
// - kWordMask: the bits of a stored word in which addresses can differ.
// - kCall…, kDwarf…, kFrame…: the shape of frames, for stacks/frame_rule.h and its reader.
// - kUnwinder…: names in libunwind.
// - dlsym.h, catching_call.h: functions that have to be assembly.
#pragma once

#if defined(__x86_64__)
#include "libmemprof/src/arch/x86_64/arch.h"
#elif defined(__aarch64__)
#include "libmemprof/src/arch/aarch64/arch.h"
#else
#error "the recorder is written for x86-64 and aarch64"
#endif
