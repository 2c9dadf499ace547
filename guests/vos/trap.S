/* Entry and return. While a hart is in user mode, sscratch holds its struct hart; in the kernel, 0.
 * The kernel runs with interrupts off, so that a trap from the kernel is a bug in the kernel. */
#include "hart_offsets.h"

    .macro for_each_saved operation, base
    \operation ra, 1*8(\base)
    \operation sp, 2*8(\base)
    \operation gp, 3*8(\base)
    \operation t1, 6*8(\base)
    \operation t2, 7*8(\base)
    \operation s0, 8*8(\base)
    \operation s1, 9*8(\base)
    \operation a0, 10*8(\base)
    \operation a1, 11*8(\base)
    \operation a2, 12*8(\base)
    \operation a3, 13*8(\base)
    \operation a4, 14*8(\base)
    \operation a5, 15*8(\base)
    \operation a6, 16*8(\base)
    \operation a7, 17*8(\base)
    \operation s2, 18*8(\base)
    \operation s3, 19*8(\base)
    \operation s4, 20*8(\base)
    \operation s5, 21*8(\base)
    \operation s6, 22*8(\base)
    \operation s7, 23*8(\base)
    \operation s8, 24*8(\base)
    \operation s9, 25*8(\base)
    \operation s10, 26*8(\base)
    \operation s11, 27*8(\base)
    \operation t3, 28*8(\base)
    \operation t4, 29*8(\base)
    \operation t5, 30*8(\base)
    \operation t6, 31*8(\base)
    .endm

    .text
    .balign 4
    .global trap_entry
trap_entry:
    csrrw tp, sscratch, tp
    beqz tp, trapped_in_kernel
    sd t0, HART_SCRATCH(tp)
    ld t0, HART_CURRENT(tp)
    for_each_saved sd, t0
    ld t1, HART_SCRATCH(tp)
    sd t1, 5*8(t0)
    csrrw t1, sscratch, zero
    sd t1, 4*8(t0)
    csrr t1, sepc
    sd t1, FRAME_PC(t0)
    csrr t1, sstatus
    sd t1, FRAME_STATUS(t0)
    ld sp, HART_STACK(tp)
    call trap_from_user

    .global trap_return
trap_return:
    ld t0, HART_CURRENT(tp)
    csrw sscratch, tp
    ld t1, FRAME_PC(t0)
    csrw sepc, t1
    ld t1, FRAME_STATUS(t0)
    csrw sstatus, t1
    for_each_saved ld, t0
    ld tp, 4*8(t0)
    ld t0, 5*8(t0)
    sret

trapped_in_kernel:
    csrrw tp, sscratch, tp
    ld sp, HART_STACK(tp)
    call trap_from_kernel

/* The kernel is compiled without F and D; only these two functions touch their registers. */
    .option push
    .option arch, +f, +d

    .macro for_each_fp operation
    .irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
    \operation f\n, \n*8(a0)
    .endr
    .endm

    .global fp_save
fp_save:
    for_each_fp fsd
    frcsr t0
    sd t0, 32*8(a0)
    ret

    .global fp_restore
fp_restore:
    for_each_fp fld
    ld t0, 32*8(a0)
    fscsr t0
    ret
    .option pop

    .section .note.GNU-stack, "", @progbits
