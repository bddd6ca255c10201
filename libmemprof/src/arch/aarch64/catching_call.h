// Defines memprof_call_catching of loader/foreign_call.h.
#pragma once

asm(R"(
        .text
        .globl  memprof_call_catching
        .hidden memprof_call_catching
        .type   memprof_call_catching, %function
        .p2align 4
memprof_call_catching:
        .cfi_startproc
        .cfi_personality 0x1b, memprof_catching_personality
        hint    #34                     // bti c
        stp     x29, x30, [sp, #-32]!
        .cfi_adjust_cfa_offset 32
        .cfi_rel_offset x29, 0
        .cfi_rel_offset x30, 8
        mov     x29, sp
        str     x19, [sp, #16]
        .cfi_rel_offset x19, 16
        mov     x19, x2
        mov     x16, x0
        mov     x0, x1
        blr     x16
        stp     x0, x1, [x19]
        mov     w0, #1
        .cfi_remember_state
        ldr     x19, [sp, #16]
        .cfi_restore x19
        ldp     x29, x30, [sp], #32
        .cfi_restore x29
        .cfi_restore x30
        .cfi_adjust_cfa_offset -32
        ret
        .globl  memprof_caught_here
        .hidden memprof_caught_here
memprof_caught_here:
        .cfi_restore_state
        hint    #36                     // bti j
        bl      memprof_end_exception
        mov     w0, wzr
        ldr     x19, [sp, #16]
        .cfi_restore x19
        ldp     x29, x30, [sp], #32
        .cfi_restore x29
        .cfi_restore x30
        .cfi_adjust_cfa_offset -32
        ret
        .cfi_endproc
        .size   memprof_call_catching, .-memprof_call_catching
)");
