/* Waiting for a partner with interrupts off: a hart that cannot go on looks again and again, as on a
 * real machine, or calls the hypervisor, where that is better (docs/paravirtual.md). */
#ifndef VOS_SPIN_H
#define VOS_SPIN_H

#include <stdbool.h>
#include <stdint.h>

/* What for; the hypervisor's codes. */
enum spin_reason {
    SPIN_LOCK = 0,
    SPIN_PROCESS = 1,
    SPIN_REQUEST = 2,
};

/* How the kernel learns whether its processors are shared. */
enum spin_handshake {
    /* Not at all: it spins. */
    HANDSHAKE_NONE,
    /* A flag in memory, which the hypervisor keeps up to date. */
    HANDSHAKE_AREA,
    /* The return code of a call at boot. */
    HANDSHAKE_CODES,
    /* An interrupt at each change. */
    HANDSHAKE_INTERRUPT,
};

/* One wait. */
struct spin {
    enum spin_reason reason;
    /* Hart ID of who ends it, -1 for unknown. */
    int64_t partner;
    unsigned count;
};

/* Before this, and where the hypervisor knows nothing of it, every wait is a loop. A wait that takes `limit`
 * rounds is excessive: it is reported, and the hart goes off line; 0 for no limit. */
void spin_start(enum spin_handshake handshake, unsigned limit);
/* One round of a wait: the caller looks at its condition before and after. */
void spin_once(struct spin *spin);
/* The hypervisor's interrupt, on the hart that takes external interrupts. */
void spin_interrupt(uint32_t source);
/* Stops this hart, which holds no lock and runs no process. */
_Noreturn void spin_leave(void);

#endif
