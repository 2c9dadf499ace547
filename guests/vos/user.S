/* The program that vos runs, embedded as it is. */
    .section .rodata.user_program, "a", @progbits
    .balign 16
    .global user_program
user_program:
    .incbin "workloads/pagewalk-workloads"

    .section .note.GNU-stack, "", @progbits
