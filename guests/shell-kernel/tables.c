#include "tables.h"

#include "../vos/memory.h"

enum { ENTRIES = 512 };

static unsigned root_level(void)
{
    return (unsigned)page_table_mode() - PAGING_SV39 + 2;
}

static bool is_leaf(pte entry)
{
    return (entry & (PTE_R | PTE_W | PTE_X)) != 0;
}

uint64_t tables_resident_of(const struct space *space, const struct area *area)
{
    uint64_t at = area->begin;
    uint64_t bytes = 0;

    while (at < area->end) {
        enum page_size size = PAGE_4K;

        if (page_table_find(space->table, at, &size) != NULL)
            bytes += page_bytes(size);
        at = round_down(at, page_bytes(size)) + page_bytes(size);
    }
    return bytes;
}

uint64_t tables_resident_bytes(const struct space *space)
{
    uint64_t bytes = 0;

    for (unsigned i = 0; i < space->area_count; i++)
        bytes += tables_resident_of(space, &space->areas[i]);
    return bytes;
}

static uint64_t bytes_below(page_table table, unsigned level, unsigned entries)
{
    uint64_t bytes = PAGE_BYTES;

    for (unsigned i = 0; level > 0 && i < entries; i++) {
        pte entry = ((const pte *)linear(table))[i];

        if ((entry & PTE_V) != 0 && !is_leaf(entry))
            bytes += bytes_below(pte_physical(entry), level - 1, ENTRIES);
    }
    return bytes;
}

uint64_t tables_bytes(const struct space *space)
{
    return bytes_below(space->table, root_level(), ENTRIES / 2);
}

bool tables_step(const struct space *space, uint64_t virtual, unsigned below_root,
                 struct shell_step *step)
{
    page_table table = space->table;

    step->levels = root_level() + 1;
    step->root = space->table;
    step->asid = space->asid;
    for (unsigned level = root_level();; level--) {
        uint64_t index = (virtual >> (12 + 9 * level)) % ENTRIES;

        step->address = table + index * sizeof(pte);
        step->entry = *(const pte *)linear(step->address);
        if (root_level() - level == below_root)
            return true;
        if ((step->entry & PTE_V) == 0 || is_leaf(step->entry) || level == 0)
            return false;
        table = pte_physical(step->entry);
    }
}
