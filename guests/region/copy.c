#include "copy.h"

#include "../common/bytes.h"
#include "claim.h"
#include "raw.h"
#include "region.h"
#include "registers.h"

#include <linux/errno.h>
#include <linux/mman.h>

enum { NO_MEMORY_STATUS = 127 };

static bool is_zero(const uint64_t *page)
{
    for (unsigned i = 0; i < REGION_PAGE_BYTES / sizeof(*page); i++)
        if (page[i] != 0)
            return false;
    return true;
}

/* To the same place relative to `to`; what is zero stays untouched there. */
static void copy_extent(char *to, const struct extent *extent)
{
    for (uint64_t at = extent->begin; at < extent->end; at += REGION_PAGE_BYTES)
        if (!is_zero((const uint64_t *)at))
            memcpy(to + (at - region_extents.begin), (const void *)at, REGION_PAGE_BYTES);
}

static uint64_t region_bytes(void)
{
    return region_extents.end - region_extents.begin;
}

long copy_take(void)
{
    long copy = raw_map(0, region_bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    for (size_t i = 0; !raw_failed(copy) && i < region_extents.count; i++)
        copy_extent((char *)copy, &region_extents.taken[i]);
    return copy;
}

void copy_drop(long copy)
{
    if (!raw_failed(copy))
        RAW(RAW_MUNMAP, copy, (long)region_bytes());
}

void copy_move_in(long copy)
{
    long place = (long)region_extents.begin;
    long bytes = (long)region_bytes();

    if (!region_is_the_machines)
        return;
    region_is_the_machines = false;
    if (raw_failed(copy) || RAW(RAW_MREMAP, copy, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, place) != place) {
        claim_say("a child ends: no memory for its copy of the region, error ", ENOMEM);
        RAW(RAW_EXIT_GROUP, NO_MEMORY_STATUS);
    }
}
