// Defines memprof_call_catching of loader/foreign_call.h.
#pragma once

asm(R"(
        .text
        .globl  memprof_call_catching
        .hidden memprof_call_catching
        .type   memprof_call_catching, @function
        .p2align 4
memprof_call_catching:
        .cfi_startproc
        .cfi_personality 0x1b, memprof_catching_personality
        endbr64
        pushq   %rbx
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset %rbx, 0
        movq    %rdx, %rbx
        movq    %rdi, %rax
        movq    %rsi, %rdi
        call    *%rax
        movq    %rax, (%rbx)
        movq    %rdx, 8(%rbx)
        movl    $1, %eax
        .cfi_remember_state
        popq    %rbx
        .cfi_adjust_cfa_offset -8
        ret
        .globl  memprof_caught_here
        .hidden memprof_caught_here
memprof_caught_here:
        .cfi_restore_state
        endbr64
        call    memprof_end_exception
        xorl    %eax, %eax
        popq    %rbx
        .cfi_adjust_cfa_offset -8
        ret
        .cfi_endproc
        .size   memprof_call_catching, .-memprof_call_catching
)");
