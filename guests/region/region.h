/* The primary region of this process, as the preload library serves it. */
#ifndef REGION_REGION_H
#define REGION_REGION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "extents.h"

/* All but the names that programs call is hidden: see Makefile. */
#define PUBLIC __attribute__((visibility("default")))

/* Which parts of the region are taken. begin = end: the process has none. Changed with the lock held. */
extern struct extents region_extents;
/* Whether that is the machine's memory: in the child of a fork it is a copy, and the child's own. */
extern bool region_is_the_machines;

/* From here on large allocations are served, those of `least` bytes and more (0: the usual threshold). */
void region_start(size_t least);
/* Comes to the region, at an address of `place` unless that is 0. At the first allocation that is large enough if no code calls it. */
bool region_claim(uint64_t place);

void region_lock(void);
void region_unlock(void);

static inline bool region_holds(const void *memory)
{
    return (uint64_t)memory >= region_extents.begin && (uint64_t)memory < region_extents.end;
}

enum { REGION_PAGE = 4096 };

static inline uint64_t region_pages(uint64_t bytes)
{
    return (bytes + 4095) & ~(uint64_t)4095;
}

/* What memory is taken for. */
enum region_use {
    /* An allocation, which malloc does not clear. */
    REGION_OBJECT,
    REGION_OBJECT_ZEROED,
    /* A mapping, which is zero. */
    REGION_MAPPING,
};

/* NULL when the region has no room, or the request is too small to be served from there. */
void *region_serve(size_t bytes, size_t alignment, enum region_use use);
/* Bytes of the allocation at `memory`; 0 when none of ours begins there. Where another allocator has cut up a mapping of the region, it is
 * asked about each of that one's. */
size_t region_object(const void *memory);
/* Makes memory zero that may hold what another process left, and counts it as handed out. */
void region_clear(uint64_t begin, uint64_t end);
/* Takes back whole pages. */
void region_give(void *memory, size_t bytes);
/* Makes a mapping longer where it lies; what is added is zero. */
bool region_grow(void *memory, size_t length, size_t bytes);

/* To be called before anybody else's handlers of fork are registered: fork.c. */
void fork_start(void);

#endif
