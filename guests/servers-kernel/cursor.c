#include "cursor.h"

#include "../vos/hart.h"
#include "../vos/memory.h"
#include "wrapped.h"

#include <stddef.h>

enum { ENTRIES = 512 };

/* Of the hart that holds the lock of memory maps; no other uses it. */
static struct {
    const struct hart *hart;
    page_table table;
    /* The leaf table of the 2M at this address, NULL for none. */
    uint64_t leaves_begin;
    pte *leaves;
    /* The table above the leaf tables of the 1G at this address, NULL for none. */
    uint64_t above_begin;
    pte *above;
} cursor;

void cursor_begin(void)
{
    cursor.leaves = NULL;
    cursor.above = NULL;
    __atomic_store_n(&cursor.hart, hart_this(), __ATOMIC_RELAXED);
}

void cursor_end(void)
{
    __atomic_store_n(&cursor.hart, NULL, __ATOMIC_RELAXED);
}

static bool is_own(page_table table)
{
    if (__atomic_load_n(&cursor.hart, __ATOMIC_RELAXED) != hart_this())
        return false;
    if (cursor.table != table) {
        cursor.table = table;
        cursor.leaves = NULL;
        cursor.above = NULL;
    }
    return true;
}

/* The entry of a base page; NULL where no leaf table is known. */
static pte *leaf_of(uint64_t virtual)
{
    if (cursor.leaves == NULL || cursor.leaves_begin != virtual / MEGAPAGE_BYTES)
        return NULL;
    return &cursor.leaves[virtual / PAGE_BYTES % ENTRIES];
}

static void remember_leaves(uint64_t virtual)
{
    cursor.leaves_begin = virtual / MEGAPAGE_BYTES;
    cursor.leaves = page_table_entry(cursor.table, virtual - virtual % MEGAPAGE_BYTES);
}

pte *table_above_leaves(page_table table, uint64_t virtual)
{
    for (unsigned level = (unsigned)page_table_mode() - PAGING_SV39 + 2; level > 1; level--) {
        pte entry = ((pte *)linear(table))[virtual >> (12 + 9 * level) & (ENTRIES - 1)];

        if ((entry & PTE_V) == 0 || (entry & (PTE_R | PTE_W | PTE_X)) != 0)
            return NULL;
        table = pte_physical(entry);
    }
    return linear(table);
}

/* The entry that leads to the leaf table of an address; NULL where the table above is not there. */
static pte *above_of(uint64_t virtual)
{
    if (cursor.above == NULL || cursor.above_begin != virtual / GIGAPAGE_BYTES) {
        cursor.above = table_above_leaves(cursor.table, virtual);
        cursor.above_begin = virtual / GIGAPAGE_BYTES;
    }
    return cursor.above != NULL ? &cursor.above[virtual / MEGAPAGE_BYTES % ENTRIES] : NULL;
}

bool __wrap_page_table_map(page_table table, uint64_t virtual, uint64_t physical, enum page_size size,
                           unsigned flags)
{
    pte *entry = size == PAGE_4K && is_own(table) ? leaf_of(virtual) : NULL;
    bool mapped;

    if (entry != NULL) {
        if ((*entry & PTE_V) != 0)
            return false;
        *entry = pte_make(physical, flags | PTE_V);
        return true;
    }
    mapped = __real_page_table_map(table, virtual, physical, size, flags);
    if (mapped && size == PAGE_4K && is_own(table))
        remember_leaves(virtual);
    return mapped;
}

pte *__wrap_page_table_find(page_table table, uint64_t virtual, enum page_size *size)
{
    if (!is_own(table))
        return __real_page_table_find(table, virtual, size);
    if (leaf_of(virtual) == NULL)
        remember_leaves(virtual);
    if (cursor.leaves == NULL)
        return __real_page_table_find(table, virtual, size);
    *size = PAGE_4K;
    return (*leaf_of(virtual) & PTE_V) != 0 ? leaf_of(virtual) : NULL;
}

bool __wrap_page_table_link(page_table table, uint64_t virtual, page_table leaves)
{
    pte *entry = is_own(table) ? above_of(virtual) : NULL;

    if (entry == NULL)
        return __real_page_table_link(table, virtual, leaves);
    if ((*entry & PTE_V) != 0)
        return false;
    *entry = pte_make(leaves, PTE_V);
    return true;
}

void __wrap_page_table_unlink(page_table table, uint64_t virtual)
{
    pte *entry = is_own(table) ? above_of(virtual) : NULL;

    if (entry != NULL)
        *entry = 0;
    else
        __real_page_table_unlink(table, virtual);
}
