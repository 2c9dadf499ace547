/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Markers: how a program tells Pagewalk what to measure.
 *
 * A marker is one instruction, `slti x0, x0, N`. RISC-V defines it as a HINT: it changes nothing on any machine, and it needs no
 * privilege. Pagewalk counts what lies between two markers. On other architectures the macros compile to nothing.
 *
 *     #include "pagewalk.h"
 *
 *     prepare();
 *     PAGEWALK_ROI_BEGIN();
 *     work();
 *     PAGEWALK_ROI_END();
 *
 * The header needs GCC or Clang, in C or C++, and nothing else: no library, no other header.
 */
#ifndef PAGEWALK_H
#define PAGEWALK_H

/* The numbers of the markers. */
#define PAGEWALK_MARKER_ROI_BEGIN 1
#define PAGEWALK_MARKER_ROI_END 2
#define PAGEWALK_MARKER_TRANSACTION 3
#define PAGEWALK_MARKER_NAME_RANGE 4
#define PAGEWALK_MARKER_FIGURE 6
/* Plus a status from 0 to 255. */
#define PAGEWALK_MARKER_EXIT 0x100

#if defined(__riscv)

/* Executes marker `number`, a constant: it is an immediate of the instruction. No access to memory moves across it. */
#define PAGEWALK_MARK(number) __asm__ __volatile__("slti zero, zero, %0" : : "i"(number) : "memory")

/*
 * PAGEWALK_EXIT for a status that is known only at run time. A register cannot hold an immediate, so all 256 instructions are
 * laid out, each with a jump to the end: 8 bytes apiece. A program that does not use PAGEWALK_EXIT does not contain them.
 */
static __inline__ void pagewalk_exit(unsigned status)
{
    __asm__ __volatile__(".option push\n\t"
                         ".option norvc\n\t"
                         "andi %0, %0, 0xff\n\t"
                         "slli %0, %0, 3\n\t"
                         "lla t0, 1f\n\t"
                         "add t0, t0, %0\n\t"
                         "jr t0\n\t"
                         ".balign 8\n"
                         "1:\n\t"
                         ".set pagewalk_status, 0\n\t"
                         ".rept 256\n\t"
                         "slti zero, zero, 0x100 + pagewalk_status\n\t"
                         "j 2f\n\t"
                         ".set pagewalk_status, pagewalk_status + 1\n\t"
                         ".endr\n"
                         "2:\n\t"
                         ".option pop"
                         : "+r"(status)
                         :
                         : "t0", "memory");
}

/* PAGEWALK_NAME_RANGE. The name is read here first, so that its page is in memory when Pagewalk reads it. */
static __inline__ void pagewalk_name_range(const volatile void *start, unsigned long bytes, const char *name)
{
    const volatile char *character = name;

    while (*character)
        character++;
    __asm__ __volatile__("mv a0, %0\n\t"
                         "mv a1, %1\n\t"
                         "mv a2, %2\n\t"
                         "slti zero, zero, 4"
                         :
                         : "r"(start), "r"(bytes), "r"(name)
                         : "a0", "a1", "a2", "memory");
}

/* PAGEWALK_FIGURE. The name is read here first, so that its page is in memory when Pagewalk reads it. */
static __inline__ void pagewalk_figure(const char *name, unsigned long value)
{
    const volatile char *character = name;

    while (*character)
        character++;
    __asm__ __volatile__("mv a0, %0\n\t"
                         "mv a1, %1\n\t"
                         "slti zero, zero, 6"
                         :
                         : "r"(name), "r"(value)
                         : "a0", "a1", "memory");
}

#else

static __inline__ void pagewalk_name_range(const volatile void *start, unsigned long bytes, const char *name)
{
    (void)start;
    (void)bytes;
    (void)name;
}

static __inline__ void pagewalk_figure(const char *name, unsigned long value)
{
    (void)name;
    (void)value;
}

#define PAGEWALK_MARK(number) ((void)(number))

static __inline__ void pagewalk_exit(unsigned status)
{
    (void)status;
}

#endif

/* Begins the region of interest: counting starts here. Any process of the guest may begin it, and any may end it. */
#define PAGEWALK_ROI_BEGIN() PAGEWALK_MARK(PAGEWALK_MARKER_ROI_BEGIN)

/* Ends the region of interest. A later pair of markers adds its counts to the same measurement. */
#define PAGEWALK_ROI_END() PAGEWALK_MARK(PAGEWALK_MARKER_ROI_END)

/* Ends a transaction: a request, an iteration, whatever the program repeats. Where a run has 50 or more, Pagewalk compares the cost of one. */
#define PAGEWALK_TRANSACTION() PAGEWALK_MARK(PAGEWALK_MARKER_TRANSACTION)

/*
 * Gives `bytes` bytes from `start` on a name, of at most 64 characters, in profiles (`pagewalk compare --profile`). It costs the few instructions
 * that read the name, and changes nothing.
 *
 *     PAGEWALK_NAME_RANGE(table, sizeof table, "hash table");
 */
#define PAGEWALK_NAME_RANGE(start, bytes, name) pagewalk_name_range((start), (unsigned long)(bytes), (name))

/*
 * Reports a number that only the program knows, under a name of at most 64 characters. Reports of Pagewalk have it among the guest's `figures`; the
 * latest value of a name counts. A guest has at most 256 names.
 *
 *     PAGEWALK_FIGURE("requests dropped", dropped);
 */
#define PAGEWALK_FIGURE(name, value) pagewalk_figure((name), (unsigned long)(value))

/*
 * Ends the whole run with `status & 255`. Pagewalk stops the machine at this instruction. Any other machine goes on behind it,
 * so a program calls exit(status) next.
 */
#define PAGEWALK_EXIT(status) pagewalk_exit((unsigned)(status))

#endif
