/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A kernel of two arrays: one is read in random order, the other from its beginning to its end. A profile is to tell which of them costs what.
 * It runs with translation off, so that all of what a walk reads is the hypervisor's.
 */
#include "pagewalk.h"

#define WORDS (8u << 20 >> 3)
#define READS 200000u

static unsigned long hostile[WORDS] __attribute__((aligned(4096)));
static unsigned long sequential[WORDS] __attribute__((aligned(4096)));
/* Some of its bytes have a name of their own. */
static unsigned long named[4096] __attribute__((aligned(4096)));

__attribute__((noinline)) static unsigned long read_at_random(void)
{
    unsigned long sum = 0;
    unsigned long state = 88172645463325252;

    for (unsigned read = 0; read < READS; read++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        sum += hostile[state % WORDS];
    }
    return sum;
}

__attribute__((noinline)) static unsigned long read_in_order(void)
{
    unsigned long sum = 0;

    for (unsigned read = 0; read < READS; read++)
        sum += sequential[read % WORDS];
    return sum;
}

__attribute__((noinline)) static unsigned long read_named(void)
{
    unsigned long sum = 0;

    for (unsigned read = 0; read < READS / 100; read++)
        sum += named[read * 512 % 4096];
    return sum;
}

void two_arrays(void);

void two_arrays(void)
{
    /* Every page is there before anything is measured. */
    for (unsigned word = 0; word < WORDS; word += 512)
        hostile[word] = sequential[word] = word;
    for (unsigned word = 0; word < 4096; word += 512)
        named[word] = 1;
    PAGEWALK_NAME_RANGE(named, sizeof named, "named by the program");
    PAGEWALK_ROI_BEGIN();
    hostile[0] = read_at_random() + read_in_order() + read_named();
    PAGEWALK_ROI_END();
    PAGEWALK_EXIT(0);
}

__asm__(".section .text.start, \"ax\"\n"
        ".globl start\n"
        ".type start, @function\n"
        "start:\n"
        "    lla sp, stack_end\n"
        "    call two_arrays\n"
        "1:  wfi\n"
        "    j 1b\n"
        ".size start, . - start\n"
        ".bss\n"
        ".balign 16\n"
        "    .skip 4096\n"
        "stack_end:\n");
