/* Primary regions: the part of a process's heap that lies in one piece of guest physical memory, which
 * the hypervisor keeps apart from the kernel's, and that segment registers translate where the processor
 * has some (docs/segments.md). Where it has none, or a page escapes, the page table does. */
#ifndef VOS_REGION_H
#define VOS_REGION_H

#include "platform.h"

#include <stdbool.h>
#include <stdint.h>

enum region_use {
    REGION_ON,
    REGION_OFF,
};

/* Divides the memory that is kept apart among so many processes, each with one region at most: of whole
 * pages of the heap. */
void region_start(bool wanted, unsigned processes, uint64_t page_bytes);
/* A region that no process has: zeroed guest physical memory. Empty when there is none left. */
struct range region_take(void);
/* Gives one back of which the first `used` bytes were touched at most. */
void region_give(struct range region, uint64_t used);
/* Has this hart translate virtual addresses from `begin` up to `end` to those from `target` on; none
 * at all where both are equal. False when the hypervisor refuses. */
bool region_load(uint64_t begin, uint64_t end, uint64_t target);
/* Asks for segments that no hypervisor may set, and prints what it answers; for tests. */
void region_ask_for_trouble(void);

#endif
