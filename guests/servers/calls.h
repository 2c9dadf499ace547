/* System calls that workloads/vos.h does not have: Linux's yield, and those of the kernel of servers. */
#ifndef SERVERS_CALLS_H
#define SERVERS_CALLS_H

#include <stdbool.h>

/* The order is the kernel's: guests/servers-kernel/phases.h. */
enum phase {
    PHASE_BETWEEN,
    PHASE_START,
    PHASE_STOP,
};

/* Lets other processes run. */
void yield(void);

/* A phase ends, of which the kernel reports figures, and `next` begins. False where another kernel runs this program. */
bool begin_phase(enum phase next);
/* Processes that map the section of this one later have its links copied, a table at a time, in place of one link after the other. */
void copy_links(void);

#endif
