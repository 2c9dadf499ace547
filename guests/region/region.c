/* The region of this process: which part of it is whose. */
#include "region.h"

#include "../common/bytes.h"
#include "claim.h"
#include "raw.h"
#include "registers.h"

enum { DEFAULT_THRESHOLD = 128 << 10 };

struct extents region_extents;
bool region_is_the_machines;
static size_t threshold = DEFAULT_THRESHOLD;
/* Whether memory that was never handed out may hold another process's bytes. */
static bool used_before;
/* A word: the processor exchanges no bytes. */
static uint32_t lock_taken;
static enum { CLAIM_LATER, CLAIM_FIRST, CLAIMED } claim_state;

void region_lock(void)
{
    while (__atomic_exchange_n(&lock_taken, 1, __ATOMIC_ACQUIRE))
        RAW(RAW_SCHED_YIELD);
}

void region_unlock(void)
{
    __atomic_store_n(&lock_taken, 0, __ATOMIC_RELEASE);
}

void region_start(size_t least)
{
    if (least != 0)
        threshold = least;
    claim_state = CLAIM_FIRST;
}

bool region_claim(uint64_t place)
{
    struct claimed claimed;

    claim_state = CLAIMED;
    if (!claim_region(place, &claimed))
        return false;
    used_before = claimed.used_before;
    region_extents.begin = region_extents.floor = region_extents.fresh = claimed.begin;
    region_extents.end = claimed.begin + claimed.bytes;
    region_is_the_machines = true;
    return true;
}

void *region_serve(size_t bytes, size_t alignment, enum region_use use)
{
    struct extents *extents = &region_extents;
    uint64_t whole = region_pages(bytes);
    uint64_t memory;
    uint64_t dirty;

    if (claim_state == CLAIM_LATER || bytes < threshold || whole < bytes)
        return NULL;
    region_lock();
    /* The region goes to the first process that has a use for it, which those that only start others have not. */
    if (claim_state == CLAIM_FIRST)
        region_claim(0);
    memory = extents_take(extents, whole, alignment > REGION_PAGE_BYTES ? alignment : REGION_PAGE_BYTES,
                          use != REGION_MAPPING);
    dirty = used_before || memory == 0 ? whole : extents->fresh > memory ? extents->fresh - memory : 0;
    if (memory != 0 && memory + whole > extents->fresh)
        extents->fresh = memory + whole;
    region_unlock();
    if (memory != 0 && use != REGION_OBJECT)
        memset((void *)memory, 0, dirty < whole ? dirty : whole);
    return (void *)memory;
}

size_t region_object(const void *memory)
{
    struct extent *extent;
    size_t length;

    /* Ours begin with a page, and those of an allocator in a mapping of ours seldom do. */
    if (!region_holds(memory) || (uint64_t)memory % REGION_PAGE_BYTES != 0)
        return 0;
    region_lock();
    extent = extents_at(&region_extents, (uint64_t)memory);
    length = extent != NULL && extent->object ? extent->end - extent->begin : 0;
    region_unlock();
    return length;
}

void region_clear(uint64_t begin, uint64_t end)
{
    if (used_before)
        memset((void *)begin, 0, end - begin);
    if (end > region_extents.fresh)
        region_extents.fresh = end;
}

void region_give(void *memory, size_t bytes)
{
    region_lock();
    extents_give(&region_extents, (uint64_t)memory, (uint64_t)memory + region_pages(bytes));
    region_unlock();
}

bool region_grow(void *memory, size_t length, size_t bytes)
{
    struct extents *extents = &region_extents;
    uint64_t end = (uint64_t)memory + region_pages(bytes);
    struct extent *extent;
    bool fits;

    region_lock();
    extent = extents_at(extents, (uint64_t)memory);
    fits = extent != NULL && extents_grow(extents, extent, end);
    if (fits && end > extents->fresh)
        extents->fresh = end;
    region_unlock();
    if (fits && bytes > length)
        memset((char *)memory + length, 0, bytes - length);
    return fits;
}
