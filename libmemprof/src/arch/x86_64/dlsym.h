// Defines dlsym and dlvsym as exports/dl.cc describes them.
#pragma once

asm(R"(
        .text
        .globl  dlsym
        .type   dlsym, @function
        .p2align 4
dlsym:
        .cfi_startproc
        endbr64
        movq    memprof_real_dlsym(%rip), %rax
        testq   %rax, %rax
        jz      .Lmemprof_find
.Lmemprof_found:
        testq   %rsi, %rsi
        jz      .Lmemprof_real
        cmpb    $'c', (%rsi)
        jne     .Lmemprof_real
        cmpb    $'u', 1(%rsi)
        jne     .Lmemprof_real
        leaq    1(%rdi), %rcx           # RTLD_NEXT (-1) and RTLD_DEFAULT (0) become 0 and 1
        cmpq    $1, %rcx
        jbe     .Lmemprof_real
        jmp     memprof_dlsym_cuda
.Lmemprof_real:
        jmp     *%rax
.Lmemprof_find:
        pushq   %rdi
        .cfi_adjust_cfa_offset 8
        pushq   %rsi
        .cfi_adjust_cfa_offset 8
        subq    $8, %rsp
        .cfi_adjust_cfa_offset 8
        call    memprof_find_real_dlsym
        addq    $8, %rsp
        .cfi_adjust_cfa_offset -8
        popq    %rsi
        .cfi_adjust_cfa_offset -8
        popq    %rdi
        .cfi_adjust_cfa_offset -8
        jmp     .Lmemprof_found
        .cfi_endproc
        .size   dlsym, .-dlsym

        .globl  dlvsym
        .type   dlvsym, @function
        .p2align 4
dlvsym:
        .cfi_startproc
        endbr64
        pushq   %rdi
        .cfi_adjust_cfa_offset 8
        pushq   %rsi
        .cfi_adjust_cfa_offset 8
        pushq   %rdx
        .cfi_adjust_cfa_offset 8
        cmpq    $-1, %rdi               # RTLD_NEXT
        jne     .Lmemprof_vreal
        movq    %rsi, %rdi
        movq    24(%rsp), %rsi          # the return address
        call    memprof_is_next_dlsym
        testl   %eax, %eax
        jnz     .Lmemprof_vours
.Lmemprof_vreal:
        movq    memprof_real_dlvsym(%rip), %rax
        testq   %rax, %rax
        jnz     .Lmemprof_vjump
        call    memprof_find_real_dlvsym
.Lmemprof_vjump:
        .cfi_remember_state
        popq    %rdx
        .cfi_adjust_cfa_offset -8
        popq    %rsi
        .cfi_adjust_cfa_offset -8
        popq    %rdi
        .cfi_adjust_cfa_offset -8
        jmp     *%rax
.Lmemprof_vours:
        .cfi_restore_state
        addq    $24, %rsp
        .cfi_adjust_cfa_offset -24
        leaq    dlsym(%rip), %rax
        ret
        .cfi_endproc
        .size   dlvsym, .-dlvsym
)");
