/* Accounting: a record of each system call, in a buffer of all harts. The hart that finds it full adds the records up, with interrupts off. A
 * partner that has a record to queue meanwhile waits for that process of the system to end: the second of the three causes of spins (Umeno, Amano
 * and Saijo 1995, section 2.2, Fig. 2). */
#ifndef TIMESHARING_KERNEL_ACCOUNT_H
#define TIMESHARING_KERNEL_ACCOUNT_H

#include <stdbool.h>
#include <stdint.h>

enum accounting {
    ACCOUNTING_OFF,
    ACCOUNTING_ON,
};

void account_start(enum accounting wanted);
/* Queues a record of this hart's process and its system call. */
void account_call(uint64_t call);
/* The calls of process `id` that were recorded; 0 without accounting. */
uint64_t account_calls_of(unsigned id);

#endif
