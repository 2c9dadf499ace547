/* Where the kernel starts the loader of static programs, and where their system calls come in. */

    .section .text.start, "ax"
    .globl _start
_start:
    mv      s0, sp
    mv      a0, sp
    andi    sp, sp, -16
    call    loader_start
    mv      sp, s0
    mv      t0, a0
    /* What a program finds there is a function for it to call at its end: none. */
    li      a0, 0
    jr      t0

/* Called by the island of a site (islands.c): all registers are the program's but for ra and sp; ra is where the island goes on when the call is
 * done, and 8 behind that is where it makes the call itself. */
    .text
    .globl calls_enter
calls_enter:
    addi    sp, sp, -144
    sd      a0, 0(sp)
    sd      a1, 8(sp)
    sd      a2, 16(sp)
    sd      a3, 24(sp)
    sd      a4, 32(sp)
    sd      a5, 40(sp)
    sd      a6, 48(sp)
    sd      a7, 56(sp)
    sd      t0, 64(sp)
    sd      t1, 72(sp)
    sd      t2, 80(sp)
    sd      t3, 88(sp)
    sd      t4, 96(sp)
    sd      t5, 104(sp)
    sd      t6, 112(sp)
    sd      ra, 120(sp)
    mv      a0, sp
    call    calls_serve
    ld      ra, 120(sp)
    bnez    a0, 1f
    addi    ra, ra, 8
1:
    ld      a0, 0(sp)
    ld      a1, 8(sp)
    ld      a2, 16(sp)
    ld      a3, 24(sp)
    ld      a4, 32(sp)
    ld      a5, 40(sp)
    ld      a6, 48(sp)
    ld      a7, 56(sp)
    ld      t0, 64(sp)
    ld      t1, 72(sp)
    ld      t2, 80(sp)
    ld      t3, 88(sp)
    ld      t4, 96(sp)
    ld      t5, 104(sp)
    ld      t6, 112(sp)
    addi    sp, sp, 144
    ret

    .section .note.GNU-stack, "", @progbits
