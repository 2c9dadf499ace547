/* Counters of TLB misses and walks, if the hypervisor has the SBI's PMU. */
#ifndef SHELL_KERNEL_EVENTS_H
#define SHELL_KERNEL_EVENTS_H

#include "../shell/abi.h"

#include <stdbool.h>

/* What this hart has counted since it was asked for the first time; false where it cannot. */
bool events_read(uint64_t events[SHELL_EVENTS]);

#endif
