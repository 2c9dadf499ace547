/* Marks in the instruction stream: `slti x0, x0, N`, a HINT without effect on any RISC-V machine. */
#ifndef COMMON_MARKER_H
#define COMMON_MARKER_H

enum marker {
    MARKER_REGION_BEGIN = 1,
    MARKER_REGION_END = 2,
    /* A transaction has ended, for the monitor to count. */
    MARKER_TRANSACTION = 3,
    /* Plus the status, 0 to 255, with which the command that the user asked for ended. */
    MARKER_EXIT = 0x100,
};

/* The marker's number is an immediate of the instruction. Other processors have no such marks, and the compiler keeps to their order. */
#ifdef __riscv
#define MARK(number) __asm__ volatile("slti zero, zero, %0" ::"i"(number) : "memory")
#else
#define MARK(number) __asm__ volatile("" ::"i"(number) : "memory")
#endif

/* Marks MARKER_EXIT + (status & 255), for a status known only at run time. */
void marker_exit(unsigned status);

#endif
