/* Functions of vos that go through the kernel of time sharing. */
#ifndef TIMESHARING_KERNEL_WRAPPED_H
#define TIMESHARING_KERNEL_WRAPPED_H

#include "../common/wrapped.h"
#include "../vos/options.h"
#include "../vos/space.h"

#include <stdbool.h>
#include <stdint.h>

struct process;

/* Also takes this kernel's keys off the command line. */
WRAPPED(void, options_parse, struct options *options, char *line);
/* Also keeps the length of a tick. */
WRAPPED(void, timer_set_ticks, unsigned per_second);
/* Also keeps when the tick ends, and sets the timer to the first process to be woken, where that is earlier. */
WRAPPED(void, timer_arm, void);
/* The hart idles from here on. It wakes its processes meanwhile, and returns when an IPI is pending. */
WRAPPED(void, timer_disarm, void);
/* Also what can wake a process: the timer. */
WRAPPED(bool, disk_is_busy, void);
/* Also gives the processes that sleep on this hart to another. */
WRAPPED(_Noreturn void, spin_leave, void);
/* Also counts the process. */
WRAPPED(void, sched_add, struct process *process);
/* Also ends the machine where all other processes have logged off. */
WRAPPED(void, sched_exit, unsigned status);
/* Also wakes processes. */
WRAPPED(void, trap_from_user, void);
/* A process whose page is brought in also waits for as long as the paging device takes. */
WRAPPED(enum fault_result, space_fault, struct space *space, uint64_t virtual, enum access access);
/* Also keeps accounts, and has the calls of calls.c. */
WRAPPED(void, syscall, struct process *process);

#endif
