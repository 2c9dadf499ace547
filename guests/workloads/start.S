/* Where Linux and vos enter a program: sp points at argc, then argv. */
    .text
    .global _start
    .type _start, @function
_start:
    .option push
    .option norelax
    lla gp, __global_pointer$
    .option pop
    ld a0, 0(sp)
    addi a1, sp, 8
    andi sp, sp, -16
    call program_main
    tail linux_exit
    .size _start, . - _start

    .section .note.GNU-stack, "", @progbits
