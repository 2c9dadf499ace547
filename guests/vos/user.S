/* The program that vos runs, embedded as it is. */
#ifndef USER_PROGRAM
#define USER_PROGRAM "workloads/pagewalk-workloads"
#endif

    .section .rodata.user_program, "a", @progbits
    .balign 16
    .global user_program
user_program:
    .incbin USER_PROGRAM

    .section .note.GNU-stack, "", @progbits
