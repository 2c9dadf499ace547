#include "links.h"

#include "../vos/memory.h"
#include "cursor.h"
#include "wrapped.h"

#include <stddef.h>

enum { ENTRIES = 512 };

/* Guarded by the lock of memory maps. */
static struct {
    const struct space *space;
    uint64_t address;
    uint64_t bytes;
    unsigned sections;
} first;
static bool copying;

void links_note(const struct space *space, uint64_t address, uint64_t bytes)
{
    first.space = space;
    first.address = address;
    first.bytes = bytes;
    first.sections = space->sections;
}

void links_start_copying(void)
{
    __atomic_store_n(&copying, first.space != NULL, __ATOMIC_RELAXED);
}

/* The links of the 1G that begins at `begin`. */
static bool copy_gigabyte(page_table table, uint64_t begin)
{
    const pte *from = table_above_leaves(first.space->table, begin);
    unsigned entry = 0;
    pte *to;

    while (entry < ENTRIES && from[entry] == 0)
        entry++;
    /* The first link makes the tables above. */
    if (entry == ENTRIES || !__real_page_table_link(table, begin + (uint64_t)entry * MEGAPAGE_BYTES, pte_physical(from[entry])))
        return entry == ENTRIES;
    to = table_above_leaves(table, begin);
    for (entry++; entry < ENTRIES; entry++)
        to[entry] = from[entry];
    return true;
}

uint64_t links_copy(struct space *space, uint64_t *bytes)
{
    if (!__atomic_load_n(&copying, __ATOMIC_RELAXED))
        return 0;
    for (uint64_t begin = round_down(first.address, GIGAPAGE_BYTES); begin < first.address + first.bytes; begin += GIGAPAGE_BYTES)
        if (!copy_gigabyte(space->table, begin))
            return 0;
    space->sections = first.sections;
    *bytes = first.bytes;
    return first.address;
}
