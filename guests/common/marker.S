/* marker_exit(status): an immediate cannot come from a register, so all 256 instructions are laid
 * out, each followed by its return: 8 bytes apiece. */
    .option norvc
    .text
    .balign 8
    .global marker_exit
    .type marker_exit, @function
marker_exit:
    andi a0, a0, 0xff
    slli a0, a0, 3
    lla t0, markers
    add t0, t0, a0
    jr t0

    .balign 8
markers:
    .set status, 0
    .rept 256
    slti zero, zero, 0x100 + status
    jr ra
    .set status, status + 1
    .endr
    .size marker_exit, . - marker_exit

    .section .note.GNU-stack, "", @progbits
