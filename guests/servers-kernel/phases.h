/* The phases of a load of servers, and what is reported of each: how long it took, and what the lock of memory maps cost meanwhile. */
#ifndef SERVERS_KERNEL_PHASES_H
#define SERVERS_KERNEL_PHASES_H

/* The order is known to guests/servers/calls.h. */
enum phase {
    /* Nothing is reported of it. */
    PHASE_BETWEEN,
    PHASE_START,
    PHASE_STOP,
    PHASES,
};

/* A process has given its memory back. */
void phases_count_destroyed(void);

#endif
