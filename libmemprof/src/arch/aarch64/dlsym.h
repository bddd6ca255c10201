// Defines dlsym and dlvsym as exports/dl.cc describes them.
#pragma once

asm(R"(
        .text
        .globl  dlsym
        .type   dlsym, %function
        .p2align 4
dlsym:
.Lmemprof_dlsym:
        .cfi_startproc
        hint    #34                     // bti c
        adrp    x16, memprof_real_dlsym
        ldr     x16, [x16, :lo12:memprof_real_dlsym]
        cbz     x16, .Lmemprof_find
.Lmemprof_found:
        cbz     x1, .Lmemprof_real
        ldrb    w17, [x1]
        cmp     w17, #'c'
        b.ne    .Lmemprof_real
        ldrb    w17, [x1, #1]
        cmp     w17, #'u'
        b.ne    .Lmemprof_real
        add     x17, x0, #1             // RTLD_NEXT (-1) and RTLD_DEFAULT (0) become 0 and 1
        cmp     x17, #1
        b.ls    .Lmemprof_real
        b       memprof_dlsym_cuda
.Lmemprof_real:
        br      x16
.Lmemprof_find:
        stp     x29, x30, [sp, #-32]!
        .cfi_adjust_cfa_offset 32
        .cfi_rel_offset x29, 0
        .cfi_rel_offset x30, 8
        mov     x29, sp
        stp     x0, x1, [sp, #16]
        bl      memprof_find_real_dlsym
        mov     x16, x0
        ldp     x0, x1, [sp, #16]
        ldp     x29, x30, [sp], #32
        .cfi_restore x29
        .cfi_restore x30
        .cfi_adjust_cfa_offset -32
        b       .Lmemprof_found
        .cfi_endproc
        .size   dlsym, .-dlsym

        .globl  dlvsym
        .type   dlvsym, %function
        .p2align 4
dlvsym:
        .cfi_startproc
        hint    #34                     // bti c
        stp     x29, x30, [sp, #-48]!
        .cfi_adjust_cfa_offset 48
        .cfi_rel_offset x29, 0
        .cfi_rel_offset x30, 8
        mov     x29, sp
        stp     x0, x1, [sp, #16]
        str     x2, [sp, #32]
        cmn     x0, #1                  // RTLD_NEXT
        b.ne    .Lmemprof_vreal
        mov     x0, x1
        mov     x1, x30                 // the return address
        bl      memprof_is_next_dlsym
        cbnz    w0, .Lmemprof_vours
.Lmemprof_vreal:
        adrp    x16, memprof_real_dlvsym
        ldr     x16, [x16, :lo12:memprof_real_dlvsym]
        cbnz    x16, .Lmemprof_vjump
        bl      memprof_find_real_dlvsym
        mov     x16, x0
.Lmemprof_vjump:
        .cfi_remember_state
        ldr     x2, [sp, #32]
        ldp     x0, x1, [sp, #16]
        ldp     x29, x30, [sp], #48
        .cfi_restore x29
        .cfi_restore x30
        .cfi_adjust_cfa_offset -48
        br      x16
.Lmemprof_vours:
        .cfi_restore_state
        ldp     x29, x30, [sp], #48
        .cfi_restore x29
        .cfi_restore x30
        .cfi_adjust_cfa_offset -48
        adr     x0, .Lmemprof_dlsym
        ret
        .cfi_endproc
        .size   dlvsym, .-dlvsym
)");
