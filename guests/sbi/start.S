/* Entries of the program, all at physical addresses without translation. */
#include "context.h"

    .section .text.start, "ax", @progbits
    .global start
start:
    csrw sie, zero
    lla t0, bss_begin
    lla t1, bss_end
1:  bgeu t0, t1, 2f
    sd zero, 0(t0)
    addi t0, t0, 8
    j 1b
2:  lla sp, boot_stack_end
    lla t0, trap_entry
    csrw stvec, t0
    call main
    tail marker_exit

    .text
/* A hart that was started: a0 = hart id, a1 = physical address of its struct worker. */
    .global worker_start
worker_start:
    csrr a2, satp
    csrr a3, sstatus
    ld sp, WORKER_STACK(a1)
    lla t0, trap_entry
    csrw stvec, t0
    tail worker_main

/* Sleeps by an SBI call: a0 = EID, a1 = FID, a2 = type, a3 = struct context, a4 = address to go on at.
 * Returns a0 = the call's error if the call returns, or SLEPT if the hart goes on at `sleep_resume`. */
    .global sleep_call
sleep_call:
    sd ra, CONTEXT_RA(a3)
    sd sp, CONTEXT_SP(a3)
    sd gp, CONTEXT_GP(a3)
    sd tp, CONTEXT_TP(a3)
    .set saved, 0
    .irp register, s0, s1, s2, s3, s4, s5, s6, s7, s8, s9, s10, s11
    sd \register, CONTEXT_SAVED + saved(a3)
    .set saved, saved + 8
    .endr
    mv a7, a0
    mv a6, a1
    mv a0, a2
    mv a1, a4
    mv a2, a3
    ecall
    ret

    .global sleep_resume
sleep_resume:
    sd a0, CONTEXT_HART(a1)
    csrr t0, satp
    sd t0, CONTEXT_SATP(a1)
    csrr t0, sstatus
    sd t0, CONTEXT_SSTATUS(a1)
    ld ra, CONTEXT_RA(a1)
    ld sp, CONTEXT_SP(a1)
    ld gp, CONTEXT_GP(a1)
    ld tp, CONTEXT_TP(a1)
    .set saved, 0
    .irp register, s0, s1, s2, s3, s4, s5, s6, s7, s8, s9, s10, s11
    ld \register, CONTEXT_SAVED + saved(a1)
    .set saved, saved + 8
    .endr
    lla t0, trap_entry
    csrw stvec, t0
    li a0, SLEPT
    ret

/* Calls trap(cause, value, pc), which returns where to go on. */
    .balign 4
    .global trap_entry
trap_entry:
    addi sp, sp, -FRAME_BYTES
    .set saved, 0
    .irp register, ra, t0, t1, t2, t3, t4, t5, t6, a0, a1, a2, a3, a4, a5, a6, a7
    sd \register, saved(sp)
    .set saved, saved + 8
    .endr
    csrr a0, scause
    csrr a1, stval
    csrr a2, sepc
    call trap
    csrw sepc, a0
    .set saved, 0
    .irp register, ra, t0, t1, t2, t3, t4, t5, t6, a0, a1, a2, a3, a4, a5, a6, a7
    ld \register, saved(sp)
    .set saved, saved + 8
    .endr
    addi sp, sp, FRAME_BYTES
    sret

    .bss
    .balign 16
    .space 16384
boot_stack_end:

    .section .note.GNU-stack, "", @progbits
