/* One lock for all changes of memory maps, after OpenVMS's memory management spinlock (Noel and Karkhanis 1998, "Application Start-up and
 * Shut-down Times"). A hart that handles a page fault, maps a section, or deletes an address space holds it. */
#ifndef SERVERS_KERNEL_MAP_LOCK_H
#define SERVERS_KERNEL_MAP_LOCK_H

#include <stdint.h>

/* What the lock has cost all harts together. Times are in units of the platform's clock. */
struct map_lock_counts {
    /* How often it was taken, and how often that took waiting. */
    uint64_t takes;
    uint64_t waits;
    uint64_t time_waited;
    uint64_t time_held;
};

struct map_lock_counts map_lock_counts(void);

#endif
