#include "heap.h"

#include "../region/raw.h"
#include "../region/region.h"

/* In the region, with its lock: the heap's one extent, and the break in it. 0 when the kernel has the heap. */
static uint64_t heap_begin;
static uint64_t heap_end;

void heap_start(uint64_t below)
{
    struct extents *extents = &region_extents;
    uint64_t bytes = extents->end - extents->begin;

    if (below != 0) {
        extents_take(extents, below, REGION_PAGE, false);
        region_clear(extents->begin, extents->begin + below);
    }
    heap_begin = heap_end = extents_take(extents, REGION_PAGE, REGION_PAGE, false);
    /* Mappings have the upper half, so that they leave room for the heap. */
    extents->floor = region_pages(extents->begin + bytes / 2);
    if (heap_begin != 0 && extents->floor < heap_begin + REGION_PAGE)
        extents->floor = heap_begin + REGION_PAGE;
    region_clear(heap_begin, heap_begin + REGION_PAGE);
}

/* What a program takes before its allocator starts is little: thread-local storage, which the kernel writes to as it makes a child of a fork, and
 * the child has nothing of the region yet. A C library that gets no break for that takes a mapping. */
enum { LEAST_HEAP = 64 << 10 };

long heap_break(uint64_t to)
{
    if (heap_begin == 0)
        return RAW(RAW_BRK, (long)to);
    if (to < heap_begin || (heap_end == heap_begin && to - heap_begin < LEAST_HEAP))
        return (long)heap_end;
    if (to <= heap_end) {
        uint64_t kept = region_pages(to) > heap_begin + REGION_PAGE ? region_pages(to) : heap_begin + REGION_PAGE;

        if (region_pages(heap_end) > kept)
            region_give((void *)kept, region_pages(heap_end) - kept);
        heap_end = to;
    } else if (region_grow((void *)heap_begin, heap_end - heap_begin, to - heap_begin)) {
        heap_end = to;
    }
    return (long)heap_end;
}
