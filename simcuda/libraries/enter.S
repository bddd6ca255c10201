/* All functions of generated stand-ins jump to standin_enter, with the address of their `struct
 * function` in a register that no argument uses. It calls standin_called of calls.c with the
 * arguments. If that returns code, the code runs in place of the called function, with its registers
 * and its stack; otherwise the result is returned. */
        .text
        .globl standin_enter
        .hidden standin_called
        .type standin_enter, %function
standin_enter:
        .cfi_startproc
#if defined(__x86_64__)
        push %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset %rbp, -16
        mov %rsp, %rbp
        .cfi_def_cfa_register %rbp
        .irp name, r9, r8, rcx, rdx, rsi, rdi
        push %\name
        .endr
        sub $64, %rsp
        .irp i, 0, 1, 2, 3, 4, 5, 6, 7
        movsd %xmm\i, 8*\i(%rsp)
        .endr
        mov %r11, %rdi
        lea 64(%rsp), %rsi
        lea 16(%rbp), %rdx
        call standin_called
        test %rax, %rax
        jz 1f
        .irp i, 0, 1, 2, 3, 4, 5, 6, 7
        movsd 8*\i(%rsp), %xmm\i
        .endr
        add $64, %rsp
        .irp name, rdi, rsi, rdx, rcx, r8, r9
        pop %\name
        .endr
        .cfi_remember_state
        pop %rbp
        .cfi_def_cfa %rsp, 8
        jmp *%rax
        .cfi_restore_state
1:      mov %rdx, %rax
        leave
        .cfi_def_cfa %rsp, 8
        ret
#elif defined(__aarch64__)
        stp x29, x30, [sp, #-160]!
        .cfi_def_cfa_offset 160
        .cfi_offset x29, -160
        .cfi_offset x30, -152
        mov x29, sp
        stp x0, x1, [sp, #16]
        stp x2, x3, [sp, #32]
        stp x4, x5, [sp, #48]
        stp x6, x7, [sp, #64]
        str x8, [sp, #80]
        stp d0, d1, [sp, #96]
        stp d2, d3, [sp, #112]
        stp d4, d5, [sp, #128]
        stp d6, d7, [sp, #144]
        mov x0, x16
        add x1, sp, #16
        add x2, sp, #160
        bl standin_called
        cbz x0, 1f
        mov x16, x0
        ldp x0, x1, [sp, #16]
        ldp x2, x3, [sp, #32]
        ldp x4, x5, [sp, #48]
        ldp x6, x7, [sp, #64]
        ldr x8, [sp, #80]
        ldp d0, d1, [sp, #96]
        ldp d2, d3, [sp, #112]
        ldp d4, d5, [sp, #128]
        ldp d6, d7, [sp, #144]
        .cfi_remember_state
        ldp x29, x30, [sp], #160
        .cfi_def_cfa_offset 0
        br x16
        .cfi_restore_state
1:      mov x0, x1
        ldp x29, x30, [sp], #160
        .cfi_def_cfa_offset 0
        ret
#else
#error "the stand-ins are for x86-64 and aarch64"
#endif
        .cfi_endproc
        .size standin_enter, . - standin_enter
        .section .note.GNU-stack, "", %progbits
